/* A nameserver's reply taken apart, for kept_reply: its header checked against the question, and
 * where each record of its answer and authority sections lies. Pure.
 *
 * A record is found by the hash of its owner, so that following a chain costs comparisons of
 * numbers, not of names: a reply of 64 KiB has 5,957 records at most. */
#ifndef SKYDNS_EXTERNAL_KEPT_MESSAGE_INTERNAL_H
#define SKYDNS_EXTERNAL_KEPT_MESSAGE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/cursor.h"
#include "skydns/external/cache.h"

/* Types that only what is kept depends on; no other part of the program knows them. */
enum {
    KEPT_TYPE_DNAME = 39,
    KEPT_TYPE_RRSIG = 46,
    KEPT_TYPE_NSEC = 47,
    KEPT_TYPE_NSEC3 = 50,
};

struct kept_rr {
    size_t owner_at;
    uint32_t owner_hash;
    uint16_t type, rr_class;
    uint32_t ttl_s; /* RFC 2181 8: 0 if its top bit is set */
    size_t rdata_at;
    uint16_t rdata_len;
};

struct kept_message {
    const uint8_t *bytes;
    size_t len;
    uint16_t flags;
    size_t answers, count; /* records: of the answer section, of both */
    struct kept_rr *rrs;   /* owned: the answer section's, then the authority section's */
    uint32_t ttl_min_s;    /* of all of them; UINT32_MAX: there are none */
};

/* CACHE_KEPT: parsed, and may hold an answer; the caller frees it. CACHE_MALFORMED,
 * CACHE_TRUNCATED, CACHE_NO_ANSWER: nothing to free. */
enum cache_verdict kept_message_parse(const struct cache_key *key, const uint8_t *bytes, size_t len,
                                      struct kept_message *ret_message) MUST_CHECK;
void kept_message_free(struct kept_message *message);

/* Any spelling has the same hash. */
uint32_t kept_name_hash(const struct dname *name);

/* The owner's name: it has been read before. */
struct dname kept_rr_owner(const struct kept_message *message, const struct kept_rr *rr);
bool kept_rr_is_of(const struct kept_message *message, const struct kept_rr *rr,
                   const struct dname *name, uint32_t hash);

/* A name within a record's data, `offset` bytes into it. False: there is none. */
bool kept_rr_name(const struct kept_message *message, const struct kept_rr *rr, size_t offset,
                  struct dname *ret_name) MUST_CHECK;

/* What an RRSIG says (RFC 4034 3.1): the type it covers, the labels of the name that was signed,
 * and whose key it was made with. False: not one. */
struct kept_signature {
    uint16_t covered;
    uint8_t labels;
    struct dname signer;
};
bool kept_rr_signature(const struct kept_message *message, const struct kept_rr *rr,
                       struct kept_signature *ret) MUST_CHECK;

#endif
