#include "skydns/wire/question.h"

#include <assert.h>
#include <string.h>

#include "common/base/cursor.h"
#include "common/dns/dns.h"
#include "skydns/wire/rr_step.h"

struct counts {
    uint16_t questions, answers, authorities, additionals;
};

/* Reads one question. Its name is uncompressed: no name precedes it that a pointer could refer to.
 */
static bool read_question(struct reader *r, struct question *q)
{
    size_t start = r->pos;
    struct dname name;
    if (!dname_read(r, &name) || r->pos - start != name.len) {
        return false;
    }
    uint16_t type = reader_u16(r), qclass = reader_u16(r);
    if (r->failed) {
        return false;
    }
    q->name = name;
    q->type = type;
    q->qclass = qclass;
    return true;
}

/* Moves past the questions. Returns false when a query has not exactly one or none, or when one is
 * malformed. */
static bool read_questions(struct reader *r, unsigned count, struct question *q)
{
    const bool is_query = q->opcode == DNS_OPCODE_QUERY;
    struct reader one = *r;
    if (is_query && count == 1 && read_question(&one, q)) {
        *r = one;
        return true;
    }
    for (unsigned i = 0; i < count && rr_step_question(r); i++) {
    }
    return is_query && count == 0;
}

/* Checks a client subnet (RFC 7871 6): as many bytes of an address as the prefix needs, none of its
 * other bits set, and no scope, which is for responses. Family 0: no network is told. */
static bool is_subnet(const uint8_t *data, size_t len)
{
    enum { SUBNET_HEAD = 4 };
    if (len < SUBNET_HEAD) {
        return false;
    }
    unsigned family = (unsigned)data[0] << 8 | data[1], bits = data[2], scope = data[3];
    unsigned bits_max = family == 1 ? 32 : family == 2 ? 128 : 0;
    if (family > 2 || bits > bits_max || scope != 0 || len != SUBNET_HEAD + (bits + 7) / 8) {
        return false;
    }
    return bits % 8 == 0 || (data[len - 1] & 0xff >> bits % 8) == 0;
}

/* Reads a cookie. Of several, the first counts (RFC 7873 5.2). */
static bool read_cookie(const uint8_t *data, size_t len, struct question *q)
{
    if (!cookie_has_sound_length(len)) {
        return false;
    }
    if (q->cookie.len == 0) {
        q->cookie.len = (uint8_t)len;
        memcpy(q->cookie.bytes, data, len);
    }
    return true;
}

/* Reads an option; `option` is all of it. Returns false when it is malformed. */
static bool read_option(const uint8_t *option, uint16_t code, size_t len, struct question *q)
{
    const uint8_t *data = option + EDNS_OPTION_HEAD;
    q->asks |= (uint8_t)edns_asks(code, len);
    if (code == EDNS_OPTION_STUB) {
        q->is_from_stub = q->is_from_stub || (len == 1 && data[0] == 1);
    } else if (code == EDNS_OPTION_SUBNET) {
        if (!is_subnet(data, len)) {
            return false;
        }
        q->subnet_len = (uint8_t)(EDNS_OPTION_HEAD + len);
        memcpy(q->subnet, option, q->subnet_len);
    } else if (code == EDNS_OPTION_COOKIE) {
        return read_cookie(data, len, q);
    }
    return true;
}

/* Reads the options, which must fill the record exactly; most are ignored. */
static bool read_options(const uint8_t *data, size_t len, struct question *q)
{
    struct reader r = reader_of(data, len);
    uint16_t code;
    struct slice option;
    while (edns_option_next(&r, &code, &option)) {
        if (!read_option((const uint8_t *)option.ptr - EDNS_OPTION_HEAD, code, (uint16_t)option.len,
                         q)) {
            return false;
        }
    }
    return !r.failed;
}

/* Reads OPT: only one, in the additional section and owned by the root. */
static bool question_read_opt(const uint8_t *owner, const uint8_t *data, const struct rr_step *opt,
                              struct question *q, uint8_t *ret_version)
{
    enum { VERSION_BEFORE = 5, FLAGS_BEFORE = 4 }; /* of the rdata */
    if (q->has_edns || owner[0] != 0 || !read_options(data, opt->data_len, q)) {
        return false;
    }
    q->has_edns = true;
    q->udp_size = opt->rr_class;
    q->dnssec_ok = (data[-FLAGS_BEFORE] & DNS_EDNS_DO >> 8) != 0;
    *ret_version = data[-VERSION_BEFORE];
    return true;
}

/* Reads the records after the question: OPT, and the offset of TSIG. Any other record is skipped,
 * whatever its name. In a message that is already malformed (is_sound), only TSIG counts. */
static bool question_read_records(struct reader *r, const struct counts *counts, bool is_sound,
                                  struct question *q, uint8_t *ret_version)
{
    const unsigned before = (unsigned)counts->answers + counts->authorities;
    const unsigned total = before + counts->additionals;
    for (unsigned i = 0; i < total; i++) {
        const size_t at = r->pos;
        struct rr_step record;
        if (!rr_step_next(r, &record)) {
            q->asks = is_sound ? 0 : q->asks; /* a message that is cut off asks for nothing */
            q->tsig = (struct tsig_place){0};
            return false;
        }
        if (record.type == DNS_TYPE_TSIG && counts->additionals > 0) {
            q->tsig.is_misplaced = q->tsig.at > 0 || i + 1 < total;
            q->tsig.at = (uint16_t)at;
        } else if (record.type == DNS_TYPE_OPT && is_sound) {
            is_sound = i >= before && question_read_opt(r->data + at, r->data + record.data_at,
                                                        &record, q, ret_version);
        }
    }
    return is_sound && reader_left(r) == 0;
}

enum question_verdict question_parse(const uint8_t *wire, size_t len, struct question *ret_question)
{
    struct reader r = reader_of(wire, len);
    struct question *q = ret_question;
    (void)reader_u16(&r); /* the id */
    uint16_t flags = reader_u16(&r);
    struct counts counts = {.questions = reader_u16(&r)};
    counts.answers = reader_u16(&r);
    counts.authorities = reader_u16(&r);
    counts.additionals = reader_u16(&r);
    if (r.failed || (flags & DNS_FLAG_QR)) {
        *q = (struct question){0};
        return QUESTION_DROP;
    }
    *q = question_of_header(wire);
    uint8_t version = 0;
    const bool is_none = counts.questions == 0;
    bool is_sound = read_questions(&r, counts.questions, q);
    is_sound = question_read_records(&r, &counts, is_sound, q, &version);
    if (q->opcode != DNS_OPCODE_QUERY) {
        return QUESTION_NOTIMP;
    }
    if (!is_sound || (is_none && q->cookie.len == 0)) {
        q->asks &= (uint8_t)~EDNS_ASKS_COOKIE;
        return QUESTION_FORMERR;
    }
    if (version != 0) {
        return QUESTION_BADVERS;
    }
    return is_none ? QUESTION_NONE : QUESTION_OK;
}

bool question_is_there(const uint8_t *wire, size_t len)
{
    enum { COUNTS_AFTER = 6, LABEL_MAX = 63 };
    struct reader r = reader_of(wire, len);
    (void)reader_u16(&r); /* any id */
    uint16_t flags = reader_u16(&r), questions = reader_u16(&r);
    (void)reader_take(&r, COUNTS_AFTER); /* a failure shows below */
    uint8_t label;
    while ((label = reader_u8(&r)) > 0 && label <= LABEL_MAX) {
        (void)reader_take(&r, label);
    }
    (void)reader_take(&r, DNS_QUESTION_TAIL);
    return !r.failed && label == 0 && questions > 0 && (flags & DNS_FLAG_QR) == 0;
}

size_t question_write(const struct question *question, uint8_t out[QUESTION_WIRE_MAX])
{
    const struct question *q = question;
    struct writer w = writer_of(out, QUESTION_WIRE_MAX);
    writer_u16(&w, q->id);
    writer_u16(&w, (q->recursion_desired ? DNS_FLAG_RD : 0) |
                       (q->wants_authentic ? DNS_FLAG_AD : 0) |
                       (q->checking_disabled ? DNS_FLAG_CD : 0));
    writer_u16(&w, 1); /* the question */
    writer_u16(&w, 0);
    writer_u32(&w, 0);
    writer_bytes(&w, q->name.wire, q->name.len);
    writer_u16(&w, q->type);
    writer_u16(&w, q->qclass);
    assert(!w.failed);
    return w.pos;
}
