#include "skydns/upstream/external.h"

#include <stdbool.h>

#include "common/base/cursor.h"
#include "common/dns/dns.h"

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

struct cname {
    struct dname owner;
    struct dname target;
    uint32_t ttl_s;
};

/* The answer section's CNAMEs. */
struct chain {
    uint32_t ttl_max_s;
    size_t count;
    struct cname items[EXTERNAL_CNAMES_MAX];
};

static uint32_t kept_ttl_s(uint32_t ttl_s, uint32_t ttl_max_s)
{
    if (ttl_s > INT32_MAX) {
        return 0; /* RFC 2181 8 */
    }
    return ttl_s < ttl_max_s ? ttl_s : ttl_max_s;
}

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
    return !r->failed;
}

struct header {
    uint16_t flags;
    uint16_t answers;
};

/* Moves the reader past the question section. False: not a reply to this question. */
static bool open_reply(const struct external_question *question, struct reader *r,
                       struct header *ret)
{
    struct dname name;
    (void)reader_u16(r); /* id: the receiver has checked it */
    ret->flags = reader_u16(r);
    uint16_t questions = reader_u16(r);
    ret->answers = reader_u16(r);
    (void)reader_u32(r); /* authority, additional */
    return !r->failed && (ret->flags & DNS_FLAG_QR) && !(ret->flags & DNS_MASK_OPCODE) &&
           questions == 1 && dname_read(r, &name) && dname_equal(&name, &question->name) &&
           reader_u16(r) == question->type && reader_u16(r) == DNS_CLASS_IN && !r->failed;
}

static bool read_target(const struct reader *message, const struct rr *rr, struct dname *ret)
{
    struct reader r = *message;
    r.pos = rr->rdata_at;
    return dname_read(&r, ret) && r.pos == rr->rdata_at + rr->rdata_len;
}

/* False: the section is malformed, or has more CNAMEs than any sane chain. */
static bool collect_cnames(const struct reader *section, uint16_t count, struct chain *ret)
{
    struct reader r = *section;
    struct rr rr;
    ret->count = 0;
    for (unsigned i = 0; i < count; i++) {
        if (!read_rr(&r, &rr)) {
            return false;
        }
        if (rr.class != DNS_CLASS_IN || rr.type != DNS_TYPE_CNAME) {
            continue;
        }
        if (ret->count == EXTERNAL_CNAMES_MAX) {
            return false;
        }
        struct cname *cname = &ret->items[ret->count++];
        cname->owner = rr.owner;
        cname->ttl_s = kept_ttl_s(rr.ttl_s, ret->ttl_max_s);
        if (!read_target(section, &rr, &cname->target)) {
            return false;
        }
    }
    return true;
}

static const struct cname *find_cname(const struct chain *chain, const struct dname *owner)
{
    for (size_t i = 0; i < chain->count; i++) {
        if (dname_equal(&chain->items[i].owner, owner)) {
            return &chain->items[i];
        }
    }
    return NULL;
}

/* Appends the CNAMEs that lead on from the name, which becomes the last one's target. They may come
 * in any order. False: a loop. */
static bool follow(const struct chain *chain, struct dname *name, struct buf *packed)
{
    const struct cname *cname;
    for (size_t hops = 0; (cname = find_cname(chain, name)); hops++) {
        if (hops == chain->count) {
            return false;
        }
        external_answer_put(packed, DNS_TYPE_CNAME, cname->ttl_s,
                            slice_of(cname->target.wire, cname->target.len));
        *name = cname->target;
    }
    return true;
}

/* Appends the addresses of the name. False: one is malformed. The section has been read before. */
static bool collect_addresses(const struct reader *section, uint16_t count,
                              const struct dname *name, uint16_t type, uint32_t ttl_max_s,
                              struct buf *packed)
{
    const size_t size = type == DNS_TYPE_A ? 4 : 16;
    struct reader r = *section;
    struct rr rr;
    for (unsigned i = 0; i < count && read_rr(&r, &rr); i++) {
        if (rr.class != DNS_CLASS_IN || rr.type != type || !dname_equal(&rr.owner, name)) {
            continue;
        }
        if (rr.rdata_len != size) {
            return false;
        }
        external_answer_put(packed, type, kept_ttl_s(rr.ttl_s, ttl_max_s),
                            slice_of(section->data + rr.rdata_at, size));
    }
    return true;
}

static enum external_outcome fail(struct buf *packed, size_t start)
{
    packed->len = start;
    return EXTERNAL_FAILED;
}

enum external_outcome external_read(const struct external_question *question, const uint8_t *reply,
                                    size_t len, uint32_t ttl_max_s, struct buf *packed)
{
    struct reader r = reader_of(reply, len);
    struct header header;
    struct dname name = question->name;
    struct chain chain = {.ttl_max_s = ttl_max_s};
    const size_t start = packed->len;
    if (!open_reply(question, &r, &header) || !collect_cnames(&r, header.answers, &chain)) {
        return EXTERNAL_FAILED;
    }
    unsigned rcode = header.flags & DNS_MASK_RCODE;
    if (rcode != DNS_RCODE_NOERROR) {
        return rcode == DNS_RCODE_NXDOMAIN ? EXTERNAL_DENIED : EXTERNAL_FAILED;
    }
    if (!follow(&chain, &name, packed)) {
        return fail(packed, start);
    }
    const size_t addresses_at = packed->len;
    if (!collect_addresses(&r, header.answers, &name, question->type, ttl_max_s, packed)) {
        return fail(packed, start);
    }
    if (packed->failed || (header.flags & DNS_FLAG_TC)) {
        return EXTERNAL_TRUNCATED;
    }
    return packed->len > addresses_at ? EXTERNAL_ANSWERED : EXTERNAL_DENIED;
}
