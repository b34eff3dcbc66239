#include "skydns/answer/relay.h"

#include "common/base/cursor.h"
#include "common/dns/dns.h"
#include "skydns/external/cache_image_writer.h"
#include "skydns/wire/edns.h"
#include "skydns/wire/response.h"

/* The flags taken from the upstream's response. RD and CD come from the client's query. RA is ours.
 * AA stays clear: it would be the upstream's, which may be a resolver itself. */
enum { FLAGS_PASSED = DNS_FLAG_TC };

static void find_subnet(const struct parsed_response *upstream, struct relay_parts *parts)
{
    struct reader options = response_options(upstream);
    struct slice data;
    uint16_t code;
    while (parts->subnet_len == 0 && edns_option_next(&options, &code, &data)) {
        const size_t len = EDNS_OPTION_HEAD + data.len;
        if (code == EDNS_OPTION_SUBNET && len <= EDNS_SUBNET_MAX) {
            parts->subnet_at = options.pos - len;
            parts->subnet_len = (uint8_t)len;
        }
    }
}

/* Finds the sections, the additional one up to OPT: records after OPT are dropped with it. */
static void find_sections(const struct parsed_response *upstream, struct relay_parts *parts)
{
    for (unsigned i = 0; i < RESPONSE_SECTIONS; i++) {
        parts->sections[i] = response_section_span(upstream, (enum response_section)i);
    }
    if (upstream->opt) {
        parts->sections[RESPONSE_ADDITIONAL].to = (size_t)(upstream->opt - upstream->rrs);
        parts->extended_rcode = response_rr_extended_rcode(upstream, upstream->opt);
        find_subnet(upstream, parts);
    }
}

bool relay_read(const struct question *question, const struct parsed_response *upstream,
                struct relay_parts *ret_parts)
{
    const struct response_head *head = &upstream->head;
    struct relay_parts *p = ret_parts;
    *p = (struct relay_parts){.flags = head->flags};
    if (!(p->flags & DNS_FLAG_QR) || (p->flags & DNS_MASK_OPCODE) != DNS_OPCODE_QUERY << 11) {
        return false;
    }
    if (head->questions == 0) {
        p->flags &= (uint16_t)~DNS_FLAG_TC;
        return (p->flags & DNS_MASK_RCODE) != DNS_RCODE_NOERROR;
    }
    if (!response_head_asks(head, &question->name, question->type, question->qclass) ||
        !upstream->is_whole) {
        return false;
    }
    find_sections(upstream, p);
    return true;
}

/* A response's records being written. */
struct relay_records {
    const struct parsed_response *upstream;
    struct cache_image_writer writer;
    uint16_t counts[RESPONSE_SECTIONS];
    uint32_t ttl_s; /* TTL of the search list's CNAME; UINT32_MAX: nothing sets it */
    bool is_sound;
};

static void note_relayed_ttl(struct relay_records *r, enum response_section section,
                             const struct response_rr *rr)
{
    const bool is_soa = section == RESPONSE_AUTHORITY && rr->type == DNS_TYPE_SOA;
    const uint32_t ttl_s = is_soa                       ? response_rr_denial_ttl_s(r->upstream, rr)
                           : section == RESPONSE_ANSWER ? rr->ttl_s
                                                        : UINT32_MAX;
    r->ttl_s = ttl_s < r->ttl_s ? ttl_s : r->ttl_s;
}

/* Writes as many records as fit. Returns true when that is all. */
static bool put_relayed(struct relay_records *r, const struct relay_parts *parts,
                        enum response_section section)
{
    const struct response_span span = parts->sections[section];
    struct writer *out = &r->writer.out;
    struct dname owner;
    uint16_t owner_at = 0; /* of the owner; 0: none yet */
    for (size_t i = span.from; i < span.to; i++) {
        const struct response_rr *rr = &r->upstream->rrs[i];
        bool is_sound = true;
        if (rr->owner_at != owner_at) {
            owner = response_rr_owner(r->upstream, rr);
            owner_at = rr->owner_at;
        }
        const size_t at =
            cache_image_writer_put(&r->writer, r->upstream, rr, &owner, rr->ttl_s, &is_sound);
        r->is_sound = r->is_sound && (is_sound || out->failed);
        if (out->failed) {
            out->failed = false;
            out->pos = at;
            return false;
        }
        note_relayed_ttl(r, section, rr);
        r->counts[section]++;
    }
    return true;
}

/* Writes all records of the section or none: part of an address set would look like the whole set.
 * Nothing may follow withdrawn records, because the writer may still point at their names. */
static bool put_relayed_whole(struct relay_records *r, const struct relay_parts *parts,
                              enum response_section section)
{
    const size_t start = r->writer.out.pos;
    const bool is_whole = put_relayed(r, parts, section);
    if (!is_whole) {
        r->writer.out.pos = start;
        r->counts[section] = 0;
    }
    return is_whole;
}

/* Writes the sections. Returns true when a part of the answer is missing. */
static bool put_sections(struct relay_records *r, const struct relay_parts *parts)
{
    if (!put_relayed(r, parts, RESPONSE_ANSWER)) {
        return true;
    }
    if (!put_relayed_whole(r, parts, RESPONSE_AUTHORITY)) {
        return r->counts[RESPONSE_ANSWER] == 0;
    }
    (void)put_relayed_whole(r, parts, RESPONSE_ADDITIONAL);
    return false;
}

static void write_relayed_head(const struct question *question, const struct relay_parts *p,
                               const struct relay_records *r, bool is_cut,
                               const struct response *response)
{
    const bool has_alias = response->asked.len > 0;
    const bool may_say_ad = !has_alias && /* the CNAME has no signature */
                            (question->wants_authentic || question->dnssec_ok); /* RFC 6840 5.8 */
    struct writer w = writer_of(response->bytes, DNS_HEADER_SIZE);
    writer_u16(&w, question->id);
    writer_u16(
        &w,
        (uint16_t)(DNS_FLAG_QR | DNS_FLAG_RA | (question->recursion_desired ? DNS_FLAG_RD : 0) |
                   (question->checking_disabled ? DNS_FLAG_CD : 0) |
                   (p->flags & (FLAGS_PASSED | (may_say_ad ? DNS_FLAG_AD : 0) | DNS_MASK_RCODE)) |
                   (is_cut ? DNS_FLAG_TC : 0)));
    writer_u16(&w, 1); /* the question */
    writer_u16(&w, (uint16_t)(r->counts[RESPONSE_ANSWER] + has_alias));
    writer_u16(&w, r->counts[RESPONSE_AUTHORITY]);
    writer_u16(&w, (uint16_t)(r->counts[RESPONSE_ADDITIONAL] + question->has_edns));
}

/* Writes the question in the client's spelling; or, for a candidate name, the client's own question
 * and the CNAME. */
static void write_relayed_question(const struct question *q, const struct relay_records *r,
                                   struct response *response)
{
    const struct slice asked = response->asked;
    response->name_len = asked.len > 0 ? (uint8_t)asked.len : q->name.len;
    if (asked.len > 0) {
        const struct slice name = slice_of(q->name.wire, q->name.len);
        search_alias_write(response->bytes, asked, name, q->type, q->qclass);
        search_alias_set_ttl(response->bytes, asked, r->ttl_s == UINT32_MAX ? 0 : r->ttl_s);
        return;
    }
    struct writer w = writer_of(response->bytes + DNS_HEADER_SIZE, DNAME_MAX + DNS_QUESTION_TAIL);
    writer_bytes(&w, q->name.wire, q->name.len);
    writer_u16(&w, q->type);
    writer_u16(&w, q->qclass);
}

bool relay_write(const struct question *question, const struct parsed_response *upstream,
                 const struct relay_parts *parts, uint16_t udp_size, size_t limit,
                 struct response *response)
{
    const size_t subnet_len = question->subnet_len > 0 ? parts->subnet_len : 0;
    const size_t opt_len = question->has_edns ? EDNS_OPT_SIZE + subnet_len : 0;
    const struct response_start start = response_start_of(response->asked, question->name.len);
    struct relay_records r = {.upstream = upstream, .ttl_s = UINT32_MAX, .is_sound = true};
    if (parts->extended_rcode && !question->has_edns) {
        return false;
    }
    struct dname name = question->name; /* the client's capitals in signed data would not verify */
    dname_lower(&name);
    cache_image_writer_init(&r.writer, &name, &start, response->bytes, limit - opt_len);
    const bool is_cut = put_sections(&r, parts);
    write_relayed_question(question, &r, response);
    write_relayed_head(question, parts, &r, is_cut, response);
    struct writer w = writer_of(response->bytes, limit);
    w.pos = r.writer.out.pos;
    response->opt_at = question->has_edns ? w.pos : 0;
    if (question->has_edns) {
        edns_append_opt(&w, udp_size, parts->extended_rcode, question->dnssec_ok);
        edns_append_option(&w, response->opt_at, upstream->bytes + parts->subnet_at, subnet_len);
    }
    response->len = w.pos;
    return r.is_sound && !w.failed;
}
