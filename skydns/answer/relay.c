#include "skydns/answer/relay.h"

#include <string.h>

#include "common/base/cursor.h"
#include "common/dns/dns.h"
#include "skydns/wire/edns.h"

/* Taken from the nameserver's reply. RD and CD come from the client's query; we offer recursion,
 * and have no authority for the name: AA would be the nameserver's, which may be a resolver itself.
 */
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

/* Up to OPT. Records after it could point into it, and are dropped with it. */
static void find_sections(const struct parsed_response *upstream, struct relay_parts *parts)
{
    const struct response_span answers = response_section_span(upstream, RESPONSE_ANSWER),
                               authorities = response_section_span(upstream, RESPONSE_AUTHORITY);
    struct response_span additionals = response_section_span(upstream, RESPONSE_ADDITIONAL);
    if (upstream->opt) {
        additionals.to = (size_t)(upstream->opt - upstream->rrs);
        parts->extended_rcode = response_rr_extended_rcode(upstream, upstream->opt);
        find_subnet(upstream, parts);
    }
    parts->question_end = upstream->head.records_at;
    parts->answers = upstream->head.counts[RESPONSE_ANSWER];
    parts->answer_end = response_span_end(upstream, answers);
    parts->authorities = upstream->head.counts[RESPONSE_AUTHORITY];
    parts->authority_end = response_span_end(upstream, authorities);
    parts->additionals = (uint16_t)(additionals.to - additionals.from);
    parts->additional_end = response_span_end(upstream, additionals);
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

/* Drops what does not fit; true: all records, and the reply needs TC. */
static bool shrink(struct relay_parts *p, size_t limit)
{
    if (p->additional_end > limit) {
        p->additionals = 0;
        p->additional_end = p->authority_end;
    }
    if (p->additional_end > limit && p->answers > 0) {
        p->authorities = 0;
        p->additional_end = p->answer_end;
    }
    if (p->additional_end <= limit) {
        return false;
    }
    p->answers = p->authorities = 0;
    p->additional_end = p->question_end;
    return true;
}

bool relay_write(const struct question *question, const struct parsed_response *upstream,
                 const struct relay_parts *parts, uint16_t udp_size, size_t limit,
                 struct response *response)
{
    struct relay_parts p = *parts;
    if (p.extended_rcode && !question->has_edns) {
        return false;
    }
    size_t question_end = DNS_HEADER_SIZE + (size_t)question->name.len + DNS_QUESTION_TAIL;
    if (p.question_end == 0) {
        p.question_end = p.answer_end = p.authority_end = p.additional_end = question_end;
    }
    size_t subnet_len = question->subnet_len > 0 ? p.subnet_len : 0;
    bool may_say_ad = question->wants_authentic || question->dnssec_ok; /* RFC 6840 5.8 */
    bool is_cut = shrink(&p, limit - (question->has_edns ? EDNS_OPT_SIZE + subnet_len : 0));
    uint16_t flags =
        (uint16_t)(DNS_FLAG_QR | DNS_FLAG_RA | (question->recursion_desired ? DNS_FLAG_RD : 0) |
                   (question->checking_disabled ? DNS_FLAG_CD : 0) |
                   (p.flags & (FLAGS_PASSED | (may_say_ad ? DNS_FLAG_AD : 0) | DNS_MASK_RCODE)) |
                   (is_cut ? DNS_FLAG_TC : 0));
    struct writer w = writer_of(response->bytes, limit);
    writer_u16(&w, question->id);
    writer_u16(&w, flags);
    writer_u16(&w, 1); /* the question */
    writer_u16(&w, p.answers);
    writer_u16(&w, p.authorities);
    writer_u16(&w, (uint16_t)(p.additionals + question->has_edns));
    writer_bytes(&w, question->name.wire, question->name.len); /* as the client spells it */
    writer_u16(&w, question->type);
    writer_u16(&w, question->qclass);
    if (p.additional_end > question_end) {
        writer_bytes(&w, upstream->bytes + question_end, p.additional_end - question_end);
    }
    response->opt_at = question->has_edns ? w.pos : 0;
    if (question->has_edns) {
        edns_append_opt(&w, udp_size, p.extended_rcode, question->dnssec_ok);
        edns_append_option(&w, response->opt_at, upstream->bytes + p.subnet_at, subnet_len);
    }
    response->len = w.pos;
    response->name_len = question->name.len;
    return !w.failed;
}
