#include "skydns/upstream/external.h"

#include <string.h>

#include "common/base/cursor.h"
#include "common/dns/dns.h"

/* Resolvers give up after 11 (unbound) to 17 (BIND). */
enum { CNAMES_MAX = 16 };

/* One record of the answer section; the reader moves past it. The rdata stays in the message, since
 * its names may point back into it. */
struct rr {
    struct dname owner;
    uint16_t type;
    uint16_t class;
    uint32_t ttl_s;
    size_t rdata_at;
    uint16_t rdata_len;
};

static bool read_rr(struct reader *r, struct rr *ret)
{
    if (!dname_read(r, &ret->owner)) {
        return false;
    }
    ret->type = reader_u16(r);
    ret->class = reader_u16(r);
    ret->ttl_s = reader_u32(r);
    ret->rdata_len = reader_u16(r);
    ret->rdata_at = r->pos;
    (void)reader_take(r, ret->rdata_len); /* the reader remembers the failure */
    if (ret->ttl_s > INT32_MAX) {
        ret->ttl_s = 0; /* RFC 2181 8 */
    }
    return !r->failed;
}

/* Moves the reader past the question section. False: the reply is unusable. */
static bool open_reply(const struct external_question *question, struct reader *r,
                       uint16_t *ret_answers)
{
    struct dname name;
    (void)reader_u16(r); /* id: the receiver has checked it */
    uint16_t flags = reader_u16(r);
    uint16_t questions = reader_u16(r);
    *ret_answers = reader_u16(r);
    (void)reader_u32(r); /* authority, additional */
    return !r->failed && (flags & DNS_FLAG_QR) && !(flags & DNS_MASK_OPCODE) &&
           !(flags & DNS_MASK_RCODE) && questions == 1 && dname_read(r, &name) &&
           dname_equal(&name, &question->name) && reader_u16(r) == question->type &&
           reader_u16(r) == DNS_CLASS_IN && !r->failed;
}

static bool read_target(const struct reader *message, const struct rr *rr, struct dname *ret)
{
    struct reader r = *message;
    r.pos = rr->rdata_at;
    return dname_read(&r, ret) && r.pos == rr->rdata_at + rr->rdata_len;
}

static bool read_address(const struct reader *message, const struct rr *rr, struct ip *ret)
{
    uint8_t family_bytes = rr->type == DNS_TYPE_A ? 4 : 16;
    if (rr->rdata_len != family_bytes) {
        return false;
    }
    *ret = (struct ip){.family_bytes = family_bytes};
    memcpy(ret->bytes, message->data + rr->rdata_at, family_bytes);
    return true;
}

/* Walks the answer section once and collects the records of `name`: addresses of the type asked
 * for, and the first CNAME. False: the section is malformed. */
static bool collect(const struct reader *section, uint16_t count, const struct dname *name,
                    struct external_answer *answer, struct external_rr *ret_cname)
{
    struct reader r = *section;
    struct rr rr;
    ret_cname->type = 0;
    for (unsigned i = 0; i < count; i++) {
        if (!read_rr(&r, &rr)) {
            return false;
        }
        if (rr.class != DNS_CLASS_IN || !dname_equal(&rr.owner, name)) {
            continue;
        }
        struct external_rr found = {.owner = rr.owner, .type = rr.type, .ttl_s = rr.ttl_s};
        if (rr.type == answer->question.type) {
            if (!read_address(section, &rr, &found.ip)) {
                return false;
            }
            if (answer->count < EXTERNAL_RRS_MAX) {
                answer->rrs[answer->count++] = found;
            }
        } else if (rr.type == DNS_TYPE_CNAME && ret_cname->type == 0) {
            if (!read_target(section, &rr, &found.target)) {
                return false;
            }
            *ret_cname = found;
        }
    }
    return true;
}

bool external_read(const struct external_question *question, const uint8_t *reply, size_t len,
                   struct external_answer *ret_answer)
{
    struct reader r = reader_of(reply, len);
    uint16_t count;
    struct dname name = question->name;
    struct external_rr cname;
    ret_answer->question = *question;
    ret_answer->count = 0;
    if (!open_reply(question, &r, &count)) {
        return false;
    }
    for (unsigned hops = 0; hops <= CNAMES_MAX; hops++) {
        size_t before = ret_answer->count;
        if (!collect(&r, count, &name, ret_answer, &cname)) {
            ret_answer->count = 0;
            return false;
        }
        if (ret_answer->count > before || cname.type == 0) {
            return true;
        }
        ret_answer->rrs[ret_answer->count++] = cname; /* at most CNAMES_MAX + 1 of them */
        name = cname.target;
    }
    ret_answer->count = 0; /* a loop, or longer than any sane chain */
    return true;
}
