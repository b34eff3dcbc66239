#include "skydns/upstream/external.h"

#include "common/dns/dns.h"

struct cname {
    const struct response_rr *rr;
    struct dname target;
};

/* The answer section, and its CNAMEs. */
struct chain {
    const struct parsed_response *response;
    struct response_span answers;
    uint32_t ttl_max_s;
    size_t count;
    struct cname items[EXTERNAL_CNAMES_MAX];
};

static uint32_t packed_ttl_s(const struct chain *chain, const struct response_rr *rr)
{
    return rr->ttl_s < chain->ttl_max_s ? rr->ttl_s : chain->ttl_max_s;
}

/* Returns whether the response is to this question and its answer section is whole. Others are of
 * no use here. */
static bool external_is_readable(const struct external_question *question,
                                 const struct parsed_response *response,
                                 struct response_span answers)
{
    const struct response_head *head = &response->head;
    return (head->flags & DNS_FLAG_QR) && !(head->flags & DNS_MASK_OPCODE) &&
           response_head_asks(head, &question->name, question->type, DNS_CLASS_IN) &&
           answers.to - answers.from == head->counts[RESPONSE_ANSWER];
}

static bool read_target(const struct chain *chain, const struct response_rr *rr, struct dname *ret)
{
    size_t end;
    return response_rr_name(chain->response, rr, 0, ret, &end) &&
           end == (size_t)rr->data_at + rr->data_len;
}

/* Collects the CNAMEs. Returns false when one is malformed, or when there are more than in any sane
 * chain. */
static bool collect_cnames(struct chain *chain)
{
    for (size_t i = chain->answers.from; i < chain->answers.to; i++) {
        const struct response_rr *rr = &chain->response->rrs[i];
        if (rr->rr_class != DNS_CLASS_IN || rr->type != DNS_TYPE_CNAME) {
            continue;
        }
        if (chain->count == EXTERNAL_CNAMES_MAX ||
            !read_target(chain, rr, &chain->items[chain->count].target)) {
            return false;
        }
        chain->items[chain->count++].rr = rr;
    }
    return true;
}

static const struct cname *find_cname(const struct chain *chain, const struct dname *owner)
{
    struct response_name name = response_name_of(owner);
    for (size_t i = 0; i < chain->count; i++) {
        if (response_rr_is_of(chain->response, chain->items[i].rr, &name)) {
            return &chain->items[i];
        }
    }
    return NULL;
}

/* Appends the CNAMEs that begin at the name to `packed` (NULL: nowhere), in any order of the
 * section. The name becomes the last one's target. Returns false in a loop. */
static bool external_follow(const struct chain *chain, struct dname *name, struct buf *packed)
{
    const struct cname *cname;
    for (size_t hops = 0; (cname = find_cname(chain, name)); hops++) {
        if (hops == chain->count) {
            return false;
        }
        if (packed) {
            external_answer_put(packed, DNS_TYPE_CNAME, packed_ttl_s(chain, cname->rr),
                                slice_of(cname->target.wire, cname->target.len));
        }
        *name = cname->target;
    }
    return true;
}

/* Appends the addresses of the name. Returns false when one is malformed. */
static bool collect_addresses(const struct chain *chain, const struct dname *name, uint16_t type,
                              struct buf *packed)
{
    const size_t size = type == DNS_TYPE_A ? 4 : 16;
    struct response_name owner = response_name_of(name);
    for (size_t i = chain->answers.from; i < chain->answers.to; i++) {
        const struct response_rr *rr = &chain->response->rrs[i];
        if (rr->rr_class != DNS_CLASS_IN || rr->type != type ||
            !response_rr_is_of(chain->response, rr, &owner)) {
            continue;
        }
        if (rr->data_len != size) {
            return false;
        }
        external_answer_put(packed, type, packed_ttl_s(chain, rr),
                            slice_of(chain->response->bytes + rr->data_at, size));
    }
    return true;
}

static enum external_outcome external_fail(struct buf *packed, size_t start)
{
    packed->len = start;
    return EXTERNAL_FAILED;
}

enum external_outcome external_read(const struct external_question *question,
                                    const struct parsed_response *response, uint32_t ttl_max_s,
                                    struct buf *packed)
{
    struct dname name = question->name;
    struct chain chain = {
        .response = response,
        .answers = response_section_span(response, RESPONSE_ANSWER),
        .ttl_max_s = ttl_max_s,
    };
    const size_t start = packed->len;
    if (!external_is_readable(question, response, chain.answers) || !collect_cnames(&chain)) {
        return EXTERNAL_FAILED;
    }
    unsigned rcode = response->head.flags & DNS_MASK_RCODE;
    if (rcode != DNS_RCODE_NOERROR) {
        return rcode == DNS_RCODE_NXDOMAIN ? EXTERNAL_DENIED : EXTERNAL_FAILED;
    }
    if (!external_follow(&chain, &name, packed)) {
        return external_fail(packed, start);
    }
    const size_t addresses_at = packed->len;
    if (!collect_addresses(&chain, &name, question->type, packed)) {
        return external_fail(packed, start);
    }
    if (packed->failed || (response->head.flags & DNS_FLAG_TC)) {
        return EXTERNAL_TRUNCATED;
    }
    return packed->len > addresses_at ? EXTERNAL_ANSWERED : EXTERNAL_DENIED;
}

bool external_chain_end(const struct parsed_response *response, struct dname *ret_end)
{
    struct chain chain = {.response = response,
                          .answers = response_section_span(response, RESPONSE_ANSWER)};
    *ret_end = response->head.name;
    if (!collect_cnames(&chain) || chain.count == 0 || !external_follow(&chain, ret_end, NULL)) {
        return false;
    }
    dname_lower(ret_end);
    return !dname_equal(ret_end, &response->head.name);
}

/* Returns for how many seconds a denial holds; 0: it has no SOA. */
static uint32_t denial_ttl_s(const struct parsed_response *response, uint32_t ttl_max_s)
{
    const struct response_span span = response_section_span(response, RESPONSE_AUTHORITY);
    for (size_t i = span.from; i < span.to; i++) {
        const struct response_rr *rr = &response->rrs[i];
        if (rr->rr_class == DNS_CLASS_IN && rr->type == DNS_TYPE_SOA) {
            const uint32_t ttl_s = response_rr_denial_ttl_s(response, rr);
            return ttl_s < ttl_max_s ? ttl_s : ttl_max_s;
        }
    }
    return 0;
}

/* ---- Shared forms ---- */

void reply_forms_fini(struct reply_forms *forms)
{
    buf_fini(&forms->packed);
    cache_image_fini(&forms->image);
    *forms = (struct reply_forms){0};
}

size_t reply_forms_bytes(const struct reply_forms *forms)
{
    return forms->packed.cap + forms->image.size;
}

void reply_forms_external(struct reply_forms *forms, const struct external_question *question,
                          const struct parsed_response *response, uint32_t ttl_max_s)
{
    if (forms->has_external && forms->ttl_max_s == ttl_max_s) {
        return;
    }
    if (!forms->has_external) {
        buf_init(&forms->packed, EXTERNAL_PACKED_MAX); /* one response always fits */
    }
    buf_clear(&forms->packed);
    forms->has_external = true;
    forms->ttl_max_s = ttl_max_s;
    forms->outcome = external_read(question, response, ttl_max_s, &forms->packed);
    const bool is_denied = forms->outcome == EXTERNAL_DENIED;
    forms->is_nxdomain = is_denied && (response->head.flags & DNS_MASK_RCODE) == DNS_RCODE_NXDOMAIN;
    forms->denial_ttl_s = is_denied ? denial_ttl_s(response, ttl_max_s) : 0;
}
