/* Shares state between dnssec.c (keys by zone) and dnssec_sign.c (their signatures). */
#ifndef SKYDNS_DNSSEC_DNSSEC_INTERNAL_H
#define SKYDNS_DNSSEC_DNSSEC_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/dns/dns.h"
#include "skydns/dnssec/dnssec.h"
#include "skydns/dnssec/signature_cache_internal.h"

/* Number of locks for making signatures. Signatures whose IDs have the same low bits are made one
 * after another, so that threads that miss the same one make it once. With so many locks others are
 * unlikely to wait: signers are a few. */
enum { DNSSEC_MAKING = 64 };

struct dnssec_room {
    struct dnssec_zone zone;
    uint8_t ds[DNSSEC_ZONE_KEYS_MAX][SIGNING_KEY_DS_SIZE]; /* what its ds and cds point to */
};

struct dnssec {
    atomic_uint references;
    struct signature_cache *cache; /* owned */
    pthread_mutex_t
        making[DNSSEC_MAKING]; /* held while a signature is looked for, made and cached */
    size_t zone_count;
    struct dnssec_room rooms[]; /* longest name first; they own the keys */
};

/* Returns whether this key of the zone signs RRsets of this type. */
static inline bool dnssec_key_signs(const struct dnssec_zone *zone, const struct signing_key *key,
                                    uint16_t type)
{
    bool is_of_keys = type == DNS_TYPE_DNSKEY || type == DNS_TYPE_CDS || type == DNS_TYPE_CDNSKEY;
    return !zone->has_both || key->is_sep == is_of_keys;
}

/* Count what all struct dnssec of a process do (dnssec_counts.c); any thread. */
void dnssec_count_made(bool is_made, int64_t cpu_ns);
/* Counts signatures found and given. */
void dnssec_count_reused(size_t count);
/* Notes when the first signature of a response given now ends. */
void dnssec_note_end(int64_t end_s, int64_t now_s);

#endif
