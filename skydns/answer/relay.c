#include "skydns/answer/relay.h"

#include <string.h>

#include "common/base/cursor.h"
#include "common/dns/dns.h"
#include "skydns/wire/edns.h"

/* Taken from the nameserver's reply. RD and CD come from the client's query; we offer recursion,
 * and have no authority for the name: AA would be the nameserver's, which may be a resolver itself.
 */
enum { FLAGS_PASSED = DNS_FLAG_TC };

/* The reader stands behind OPT's data afterwards. Options that do not fill it are none. */
static void find_subnet(const struct reader *after, size_t len, struct relay_parts *parts)
{
    struct reader r = reader_of(after->data, after->pos);
    reader_seek(&r, after->pos - len);
    while (reader_left(&r) > 0) {
        size_t at = r.pos;
        uint16_t code = reader_u16(&r), option_len = reader_u16(&r);
        (void)reader_take(&r, option_len);
        if (!r.failed && code == EDNS_OPTION_SUBNET && r.pos - at <= EDNS_SUBNET_MAX) {
            parts->subnet_at = at;
            parts->subnet_len = (uint8_t)(r.pos - at);
            return;
        }
        if (r.failed) {
            return;
        }
    }
}

static bool read_record(struct reader *r, uint16_t *ret_type, uint8_t *ret_extended_rcode,
                        uint16_t *ret_len)
{
    struct dname owner;
    if (!dname_read(r, &owner)) {
        return false;
    }
    *ret_type = reader_u16(r);
    (void)reader_u16(r); /* class */
    *ret_extended_rcode = (uint8_t)(reader_u32(r) >> 24);
    *ret_len = reader_u16(r);
    (void)reader_take(r, *ret_len);
    return !r->failed;
}

static bool read_section(struct reader *r, uint16_t count, size_t *ret_end)
{
    uint16_t type, len;
    uint8_t unused;
    for (unsigned i = 0; i < count; i++) {
        if (!read_record(r, &type, &unused, &len)) {
            return false;
        }
    }
    *ret_end = r->pos;
    return true;
}

/* Up to OPT. Records after it could point into it, and are dropped with it. */
static bool read_additional(struct reader *r, uint16_t count, struct relay_parts *parts)
{
    bool has_opt = false;
    parts->additional_end = r->pos;
    for (unsigned i = 0; i < count; i++) {
        uint16_t type, len;
        uint8_t extended_rcode;
        if (!read_record(r, &type, &extended_rcode, &len)) {
            return false;
        }
        if (type == DNS_TYPE_OPT && !has_opt) {
            has_opt = true;
            parts->extended_rcode = extended_rcode;
            find_subnet(r, len, parts);
        }
        if (!has_opt) {
            parts->additionals++;
            parts->additional_end = r->pos;
        }
    }
    return true;
}

static bool read_question(struct reader *r, const struct question *question)
{
    struct dname name;
    return dname_read(r, &name) && dname_equal(&name, &question->name) &&
           reader_u16(r) == question->type && reader_u16(r) == question->qclass && !r->failed &&
           r->pos == DNS_HEADER_SIZE + (size_t)question->name.len + 4;
}

bool relay_read(const struct question *question, const uint8_t *upstream, size_t len,
                struct relay_parts *ret_parts)
{
    struct relay_parts *p = ret_parts;
    struct reader r = reader_of(upstream, len);
    *p = (struct relay_parts){0};
    (void)reader_u16(&r); /* the exchange has checked the id */
    p->flags = reader_u16(&r);
    uint16_t questions = reader_u16(&r);
    p->answers = reader_u16(&r);
    p->authorities = reader_u16(&r);
    uint16_t additionals = reader_u16(&r);
    if (r.failed || !(p->flags & DNS_FLAG_QR) ||
        (p->flags & DNS_MASK_OPCODE) != DNS_OPCODE_QUERY << 11) {
        return false;
    }
    if (questions == 0) {
        p->answers = p->authorities = 0;
        p->flags &= (uint16_t)~DNS_FLAG_TC;
        return (p->flags & DNS_MASK_RCODE) != DNS_RCODE_NOERROR;
    }
    if (questions != 1 || !read_question(&r, question)) {
        return false;
    }
    p->question_end = r.pos;
    return read_section(&r, p->answers, &p->answer_end) &&
           read_section(&r, p->authorities, &p->authority_end) &&
           read_additional(&r, additionals, p);
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

bool relay_write(const struct question *question, const uint8_t *upstream,
                 const struct relay_parts *parts, uint16_t udp_size, size_t limit,
                 struct response *response)
{
    struct relay_parts p = *parts;
    if (p.extended_rcode && !question->has_edns) {
        return false;
    }
    size_t question_end = DNS_HEADER_SIZE + (size_t)question->name.len + 4;
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
        writer_bytes(&w, upstream + question_end, p.additional_end - question_end);
    }
    response->opt_at = question->has_edns ? w.pos : 0;
    if (question->has_edns) {
        edns_append_opt(&w, udp_size, p.extended_rcode, question->dnssec_ok);
        edns_append_option(&w, response->opt_at, upstream + p.subnet_at, subnet_len);
    }
    response->len = w.pos;
    response->name_len = question->name.len;
    return !w.failed;
}
