#include "skydns/external/kept_message_internal.h"

#include <stdlib.h>

#include "common/base/seeded_hash.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"

enum { RR_SIZE_MIN = 11 }; /* root owner, type, class, TTL, length */

uint32_t kept_name_hash(const struct dname *name)
{
    struct dname lower = *name;
    dname_lower(&lower);
    return seeded_hash(slice_of(lower.wire, lower.len));
}

static bool read_rr(struct reader *r, struct kept_rr *ret)
{
    struct dname owner;
    ret->owner_at = r->pos;
    if (!dname_read(r, &owner)) {
        return false;
    }
    ret->owner_hash = kept_name_hash(&owner);
    ret->type = reader_u16(r);
    ret->rr_class = reader_u16(r);
    uint32_t ttl_s = reader_u32(r);
    ret->ttl_s = ttl_s > INT32_MAX ? 0 : ttl_s;
    ret->rdata_len = reader_u16(r);
    ret->rdata_at = r->pos;
    return reader_take(r, ret->rdata_len) != NULL;
}

/* An OPT record holds the upper bits of the rcode (RFC 6891 6.1.3): with any, the lower ones mean
 * something else. False: malformed. */
static bool read_additionals(struct reader *r, unsigned count, bool *ret_is_extended)
{
    struct kept_rr rr;
    *ret_is_extended = false;
    for (unsigned i = 0; i < count; i++) {
        if (!read_rr(r, &rr)) {
            return false;
        }
        enum { TTL_BEFORE_RDATA = 6 };
        bool is_opt = rr.type == DNS_TYPE_OPT;
        *ret_is_extended |= is_opt && r->data[rr.rdata_at - TTL_BEFORE_RDATA] != 0;
    }
    return true;
}

static bool read_question(const struct cache_key *key, struct reader *r)
{
    struct dname name;
    return dname_read(r, &name) && dname_equal(&name, &key->name) && reader_u16(r) == key->type &&
           reader_u16(r) == key->qclass && !r->failed;
}

static enum cache_verdict read_records(struct reader *r, unsigned additionals,
                                       struct kept_message *message)
{
    bool is_extended;
    for (size_t i = 0; i < message->count; i++) {
        struct kept_rr *rr = &message->rrs[i];
        if (!read_rr(r, rr)) {
            return CACHE_MALFORMED;
        }
        message->ttl_min_s = rr->ttl_s < message->ttl_min_s ? rr->ttl_s : message->ttl_min_s;
    }
    if (!read_additionals(r, additionals, &is_extended)) {
        return CACHE_MALFORMED;
    }
    return is_extended ? CACHE_NO_ANSWER : CACHE_KEPT;
}

enum cache_verdict kept_message_parse(const struct cache_key *key, const uint8_t *bytes, size_t len,
                                      struct kept_message *ret_message)
{
    struct reader r = reader_of(bytes, len);
    (void)reader_u16(&r); /* id: the receiver has checked it */
    unsigned flags = reader_u16(&r), questions = reader_u16(&r);
    size_t answers = reader_u16(&r), count = answers + reader_u16(&r);
    unsigned additionals = reader_u16(&r), rcode = flags & DNS_MASK_RCODE;
    if (r.failed || !(flags & DNS_FLAG_QR) || (flags & DNS_MASK_OPCODE)) {
        return CACHE_MALFORMED;
    }
    if (flags & DNS_FLAG_TC) {
        return CACHE_TRUNCATED;
    }
    if (rcode != DNS_RCODE_NOERROR && rcode != DNS_RCODE_NXDOMAIN) {
        return CACHE_NO_ANSWER; /* perhaps without the question */
    }
    if (questions != 1 || !read_question(key, &r) || count > reader_left(&r) / RR_SIZE_MIN) {
        return CACHE_MALFORMED;
    }
    struct kept_message message = {
        .bytes = bytes,
        .len = len,
        .flags = (uint16_t)flags,
        .answers = answers,
        .count = count,
        .rrs = xcalloc(count + 1, sizeof(message.rrs[0])),
        .ttl_min_s = UINT32_MAX,
    };
    enum cache_verdict verdict = read_records(&r, additionals, &message);
    if (verdict != CACHE_KEPT) {
        kept_message_free(&message);
        return verdict;
    }
    *ret_message = message;
    return CACHE_KEPT;
}

void kept_message_free(struct kept_message *message)
{
    free(message->rrs);
    message->rrs = NULL;
}

struct dname kept_rr_owner(const struct kept_message *message, const struct kept_rr *rr)
{
    struct reader r = reader_of(message->bytes, message->len);
    struct dname owner;
    r.pos = rr->owner_at;
    return dname_read(&r, &owner) ? owner : (struct dname){0}; /* never: it has been read before */
}

bool kept_rr_is_of(const struct kept_message *message, const struct kept_rr *rr,
                   const struct dname *name, uint32_t hash)
{
    if (rr->owner_hash != hash) {
        return false;
    }
    struct dname owner = kept_rr_owner(message, rr);
    return dname_equal(&owner, name);
}

bool kept_rr_name(const struct kept_message *message, const struct kept_rr *rr, size_t offset,
                  struct dname *ret_name)
{
    struct reader r = reader_of(message->bytes, rr->rdata_at + rr->rdata_len);
    r.pos = rr->rdata_at;
    (void)reader_take(&r, offset); /* the reader remembers the failure */
    return dname_read(&r, ret_name);
}

bool kept_rr_signature(const struct kept_message *message, const struct kept_rr *rr,
                       struct kept_signature *ret)
{
    enum { LABELS_AT = 3, SIGNER_AT = 18 };
    const uint8_t *rdata = message->bytes + rr->rdata_at;
    if (rr->type != KEPT_TYPE_RRSIG || !kept_rr_name(message, rr, SIGNER_AT, &ret->signer)) {
        return false;
    }
    ret->covered = (uint16_t)(rdata[0] << 8 | rdata[1]);
    ret->labels = rdata[LABELS_AT];
    return true;
}
