#include "skydns/answer/question.h"

#include "common/base/cursor.h"
#include "common/dns/dns.h"

struct counts {
    uint16_t questions, answers, authorities, additionals;
};

/* One question, its name uncompressed: nothing precedes it that a pointer could refer to. */
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

/* The options are ignored, but they must fill the record exactly. */
static bool options_are_whole(const uint8_t *data, size_t len)
{
    struct reader r = reader_of(data, len);
    while (reader_left(&r) > 0) {
        (void)reader_u16(&r); /* the option's code */
        (void)reader_take(&r, reader_u16(&r));
    }
    return !r.failed;
}

/* A record after the question. Only OPT matters, once, in the additional section and owned by the
 * root; any other record is skipped. */
static bool read_record(struct reader *r, bool is_additional, struct question *q,
                        uint8_t *ret_version)
{
    struct dname owner;
    if (!dname_read(r, &owner)) {
        return false;
    }
    uint16_t type = reader_u16(r), rclass = reader_u16(r);
    uint32_t ttl = reader_u32(r);
    uint16_t len = reader_u16(r);
    const uint8_t *data = reader_take(r, len);
    if (r->failed) {
        return false;
    }
    if (type != DNS_TYPE_OPT) {
        return true;
    }
    if (!is_additional || q->has_edns || owner.len != 1 || !options_are_whole(data, len)) {
        return false;
    }
    q->has_edns = true;
    q->udp_size = rclass;
    q->dnssec_ok = (ttl & DNS_EDNS_DO) != 0;
    *ret_version = (uint8_t)(ttl >> 16);
    return true;
}

static bool read_records(struct reader *r, const struct counts *counts, struct question *q,
                         uint8_t *ret_version)
{
    unsigned before = (unsigned)counts->answers + counts->authorities;
    unsigned total = before + counts->additionals;
    for (unsigned i = 0; i < total; i++) {
        if (!read_record(r, i >= before, q, ret_version)) {
            return false;
        }
    }
    return reader_left(r) == 0;
}

enum question_verdict question_parse(const uint8_t *wire, size_t len, struct question *ret_question)
{
    struct reader r = reader_of(wire, len);
    struct question *q = ret_question;
    *q = (struct question){.id = reader_u16(&r)};
    uint16_t flags = reader_u16(&r);
    struct counts counts = {.questions = reader_u16(&r)};
    counts.answers = reader_u16(&r);
    counts.authorities = reader_u16(&r);
    counts.additionals = reader_u16(&r);
    if (r.failed || (flags & DNS_FLAG_QR)) {
        return QUESTION_DROP;
    }
    q->opcode = (flags & DNS_MASK_OPCODE) >> 11;
    q->recursion_desired = (flags & DNS_FLAG_RD) != 0;
    if (q->opcode != DNS_OPCODE_QUERY) {
        return QUESTION_NOTIMP;
    }
    uint8_t version = 0;
    if (counts.questions != 1 || !read_question(&r, q) || !read_records(&r, &counts, q, &version)) {
        return QUESTION_FORMERR;
    }
    return version == 0 ? QUESTION_OK : QUESTION_BADVERS;
}

size_t question_shorten(const uint8_t *wire, size_t len, uint8_t out[QUESTION_WIRE_MAX])
{
    enum { ID_AND_FLAGS = 4 };
    struct question q;
    if (question_parse(wire, len, &q) != QUESTION_OK) {
        return 0;
    }
    struct writer w = writer_of(out, QUESTION_WIRE_MAX);
    writer_bytes(&w, wire, ID_AND_FLAGS);
    writer_u16(&w, 1); /* the question */
    writer_u16(&w, 0);
    writer_u16(&w, 0);
    writer_u16(&w, q.has_edns);
    writer_bytes(&w, q.name.wire, q.name.len);
    writer_u16(&w, q.type);
    writer_u16(&w, q.qclass);
    if (q.has_edns) {
        edns_append_opt(&w, q.udp_size, 0, q.dnssec_ok);
    }
    return w.pos;
}
