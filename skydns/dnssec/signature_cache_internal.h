/* Caches signatures, which are found again by the content of what they sign. Any thread looks up
 * without a lock, an allocation or a system call, while others add. A found signature is a copy.
 *
 * Clients that may want to harm the others, and what stops them:
 *   - A client that asks for many names: memory is fixed, and signatures found never again push out
 *     each other before those found again (S3-FIFO).
 *   - A client that picks names, or somebody who picks records, such that two RRsets have one ID,
 *     or many share a bucket: IDs are 128 bits of a hash with a secret. */
#ifndef SKYDNS_DNSSEC_SIGNATURE_CACHE_INTERNAL_H
#define SKYDNS_DNSSEC_SIGNATURE_CACHE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "skydns/dnssec/dnssec.h"

struct signature_cache;

/* Makes a cache of `entries_max` signatures of at most `len_max` bytes, from 1 to
 * SIGNING_KEY_SIGNATURE_MAX. Fails only if the kernel has no random numbers. */
int signature_cache_new(size_t entries_max, size_t len_max, struct signature_cache **ret_cache,
                        struct err *err) MUST_CHECK;
/* Frees it when all threads are gone; NULL is fine. */
void signature_cache_free(struct signature_cache *cache);

struct signature_id {
    uint64_t low, high;
};

/* Returns the ID of the RRset's content; any thread. */
struct signature_id signature_cache_id(const struct signature_cache *cache,
                                       const struct dnssec_rrset *rrset);

/* Returns the ID of the RRset's signature with the key of this number. */
static inline struct signature_id signature_id_with_key(struct signature_id rrset, size_t key)
{
    return (struct signature_id){rrset.low + (uint64_t)key * 0x9e3779b97f4a7c15, rrset.high};
}

struct signature_found {
    int64_t made_s;
    size_t len;
    uint32_t entry; /* for signature_cache_claim */
};

/* Copies the signature to `out`, of SIGNING_KEY_SIGNATURE_MAX bytes; false: it is not cached, or is
 * being replaced. Any thread. */
bool signature_cache_find(const struct signature_cache *cache, struct signature_id id,
                          struct signature_found *ret_found, uint8_t *out) MUST_CHECK;

/* Notes that the found signature was used, so that it stays. Any thread. */
void signature_cache_use(struct signature_cache *cache, const struct signature_found *found);

/* Returns whether the caller is to have the signature renewed: true for one caller, or a few at the
 * same time, in each DNSSEC_RENEW_AGAIN_S. Any thread. */
bool signature_cache_claim(struct signature_cache *cache, const struct signature_found *found,
                           int64_t now_s) MUST_CHECK;

/* Caches a signature, in place of an older one with this ID or of another. Any thread; holds a lock
 * for a microsecond, and as many more as there are entries that it spares, a thousand at most. */
void signature_cache_put(struct signature_cache *cache, struct signature_id id, int64_t made_s,
                         struct slice signature);

size_t signature_cache_cached(const struct signature_cache *cache);
size_t signature_cache_max(const struct signature_cache *cache);

#endif
