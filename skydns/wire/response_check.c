#include "skydns/wire/response_check.h"

#include "common/dns/dns.h"
#include "skydns/wire/rdata_layout.h"
#include "skydns/wire/rr_step.h"

static void pass_string(struct reader *r)
{
    (void)reader_take(r, reader_u8(r)); /* the reader remembers the failure */
}

/* Checks a type bitmap: windows of 256 types, in order; none has more bytes than it needs, 32 at
 * most. */
static bool is_bitmap(struct reader *r)
{
    enum { WINDOW_BYTES_MAX = 32 };
    int last = -1;
    while (!r->failed && reader_left(r) > 0) {
        const int window = reader_u8(r);
        const uint8_t len = reader_u8(r);
        if (window <= last || len == 0 || len > WINDOW_BYTES_MAX) {
            return false;
        }
        (void)reader_take(r, len);
        last = window;
    }
    return !r->failed;
}

/* Checks a list of code, length, data. `in_order`: each code is larger than the one before. */
static bool is_list(struct reader *r, bool in_order)
{
    int last = -1;
    while (!r->failed && reader_left(r) > 0) {
        const int code = reader_u16(r);
        (void)reader_take(r, reader_u16(r));
        if (in_order && code <= last) {
            return false;
        }
        last = code;
    }
    return !r->failed;
}

static bool is_service(struct reader *r)
{
    const size_t name_at = r->pos;
    uint8_t label;
    while ((label = reader_u8(r)) > 0 && label <= DNAME_LABEL_MAX) {
        (void)reader_take(r, label);
    }
    return label == 0 && !r->failed && r->pos - name_at <= DNAME_MAX && is_list(r, true);
}

static bool is_rest_sound(struct reader *r, const struct rdata_layout *layout)
{
    if (layout->rest != RDATA_REST_ANY) {
        (void)reader_take(r, layout->rest);
        return !r->failed && reader_left(r) == 0;
    }
    switch ((enum rdata_form)layout->form) {
    case RDATA_STRINGS:
        while (!r->failed && reader_left(r) > 0) {
            pass_string(r);
        }
        break;
    case RDATA_BITMAP:
        return is_bitmap(r);
    case RDATA_OPTIONS:
        return is_list(r, false);
    case RDATA_SERVICE:
        return is_service(r);
    case RDATA_BYTES:
        break;
    }
    return !r->failed;
}

static bool is_rdata_sound(const struct parsed_response *response, const struct response_rr *rr)
{
    const struct rdata_layout *layout = rdata_layout_of(rr->type);
    const bool is_address = rr->type == DNS_TYPE_A || rr->type == DNS_TYPE_AAAA;
    const bool is_known = layout->head || layout->strings || layout->names || layout->rest;
    struct reader r = reader_of(response->bytes, (size_t)rr->data_at + rr->data_len);
    if (!is_known || (is_address && rr->rr_class != DNS_CLASS_IN)) {
        return true;
    }
    reader_seek(&r, rr->data_at);
    (void)reader_take(&r, layout->head);
    for (unsigned i = 0; i < layout->strings; i++) {
        pass_string(&r);
    }
    for (unsigned i = 0; i < layout->names && !r.failed; i++) {
        struct dname name;
        if (!dname_read(&r, &name)) {
            return false;
        }
    }
    return !r.failed && is_rest_sound(&r, layout);
}

static bool is_class_sound(const struct response_head *head, const struct response_rr *rr)
{
    enum { TYPE_SIG = 24, CLASS_ANY = 255 };
    return rr->rr_class == head->qclass || head->qclass == CLASS_ANY ||
           dns_type_is_meta(rr->type) || rr->type == TYPE_SIG;
}

bool response_is_sound(const struct parsed_response *response)
{
    for (size_t i = 0; i < response->count; i++) {
        const struct response_rr *rr = &response->rrs[i];
        if (!is_class_sound(&response->head, rr) || !is_rdata_sound(response, rr)) {
            return false;
        }
    }
    return response->is_whole;
}

static bool response_is_referral(const struct parsed_response *response)
{
    enum { BITS = DNS_FLAG_RD | DNS_FLAG_TC | DNS_FLAG_AA | DNS_MASK_RCODE };
    const struct response_span section = response_section_span(response, RESPONSE_AUTHORITY);
    bool has_ns = false, has_soa = false;
    for (size_t i = section.from; i < section.to; i++) {
        has_ns |= response->rrs[i].type == DNS_TYPE_NS;
        has_soa |= response->rrs[i].type == DNS_TYPE_SOA;
    }
    return has_ns && !has_soa && response->head.counts[RESPONSE_ANSWER] == 0 &&
           (response->head.flags & BITS) == (DNS_FLAG_RD | DNS_RCODE_NOERROR);
}

bool response_is_usable(const struct parsed_response *response)
{
    const unsigned rcode = response->head.flags & DNS_MASK_RCODE;
    return rcode != DNS_RCODE_SERVFAIL && rcode != DNS_RCODE_REFUSED &&
           response->head.questions > 0 && !response_is_referral(response) &&
           !response_has_extended_rcode(response);
}
