#include "exechealthz/dns_message.h"

#include "common/base/cursor.h"
#include "common/dns/dns_names.h"

bool dns_question_type(struct slice text, uint16_t *ret_type)
{
    static const uint16_t worth_asking[] = {
        DNS_TYPE_A,     DNS_TYPE_AAAA, DNS_TYPE_ANY, DNS_TYPE_SRV, DNS_TYPE_TXT,
        DNS_TYPE_CNAME, DNS_TYPE_PTR,  DNS_TYPE_NS,  DNS_TYPE_SOA, DNS_TYPE_MX,
    };
    uint16_t type;
    if (!dns_type_from_name(text, &type)) {
        return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(worth_asking); i++) {
        if (worth_asking[i] == type) {
            *ret_type = type;
            return true;
        }
    }
    return false;
}

size_t dns_query_write(const struct dns_question *question, uint16_t id, uint8_t out[DNS_QUERY_MAX])
{
    struct writer w = writer_of(out, DNS_QUERY_MAX);
    writer_u16(&w, id);
    writer_u16(&w, DNS_FLAG_RD);
    writer_u16(&w, 1); /* one question, no records */
    writer_u16(&w, 0);
    writer_u16(&w, 0);
    writer_u16(&w, 0);
    writer_bytes(&w, question->name.wire, question->name.len);
    writer_u16(&w, question->type);
    writer_u16(&w, question->qclass);
    return w.pos;
}

/* Compares the question; the reader is past the header. */
static bool is_question_repeated(struct reader *r, const struct dns_question *question)
{
    struct dname name;
    if (!dname_read(r, &name) || !dname_equal(&name, &question->name)) {
        return false;
    }
    uint16_t type = reader_u16(r);
    uint16_t qclass = reader_u16(r);
    return !r->failed && type == question->type && qclass == question->qclass;
}

/* Returns false unless the rdata is one string of decimal digits that fits 64 bits. */
static bool is_number_text(const uint8_t *rdata, size_t len, uint64_t *ret)
{
    uint64_t number = 0;
    if (len < 2 || rdata[0] != len - 1) {
        return false;
    }
    for (size_t i = 1; i < len; i++) {
        if (rdata[i] < '0' || rdata[i] > '9' || number > (UINT64_MAX - 9) / 10) {
            return false;
        }
        number = number * 10 + rdata[i] - '0';
    }
    *ret = number;
    return true;
}

static void dns_message_read_record(struct reader *r, struct dns_reply *reply)
{
    struct dname owner;
    if (!dname_read(r, &owner)) {
        return;
    }
    uint16_t type = reader_u16(r);
    (void)reader_take(r, 2 + 4); /* class, TTL */
    uint16_t len = reader_u16(r);
    const uint8_t *rdata = reader_take(r, len);
    reply->has_number = rdata && reply->answers == 1 && type == DNS_TYPE_TXT &&
                        is_number_text(rdata, len, &reply->number);
}

enum dns_reply_kind dns_reply_read(const struct dns_question *question, uint16_t id,
                                   const uint8_t *bytes, size_t len, struct dns_reply *ret_reply)
{
    struct reader r = reader_of(bytes, len);
    bool is_ours = reader_u16(&r) == id;
    uint16_t flags = reader_u16(&r);
    uint16_t questions = reader_u16(&r);
    uint16_t answers = reader_u16(&r);
    (void)reader_take(&r, 4); /* counts of the other sections */
    uint8_t rcode = flags & DNS_MASK_RCODE;
    bool may_omit_question = questions == 0 && rcode != DNS_RCODE_NOERROR;
    if (r.failed || !is_ours || !(flags & DNS_FLAG_QR) || (flags & DNS_MASK_OPCODE) ||
        (!may_omit_question && (questions != 1 || !is_question_repeated(&r, question)))) {
        return DNS_REPLY_UNRELATED;
    }
    struct dns_reply reply = {
        .rcode = rcode,
        .is_truncated = (flags & DNS_FLAG_TC) != 0,
        .answers = answers,
    };
    /* Each record consumes bytes, which bounds the count. */
    for (unsigned i = 0; i < answers && !r.failed; i++) {
        dns_message_read_record(&r, &reply);
    }
    if (r.failed) {
        return DNS_REPLY_MALFORMED;
    }
    *ret_reply = reply;
    return DNS_REPLY_READ;
}
