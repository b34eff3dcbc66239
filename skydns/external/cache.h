/* Caches upstreams' responses: the response cache. It holds external names only; ours change by
 * events. One thread fills it, the resolver's. Any thread reads it, without a lock, an allocation
 * or a system call, while it is being filled.
 *
 * A cached response is what answers the question and nothing else (cache_image.h): the CNAMEs from
 * the question's name, the records of the type at their end, or the SOA (and, with DO, the proof)
 * of a denial. Its names point into a question at offset 12 of the message, so that its bytes can
 * follow any client's spelling of the name.
 *
 * The threats, and what stops them:
 *   - An upstream that says things about names it was not asked about: only records on the way from
 *     the question's name are cached, and shown only to clients that ask about that name.
 *   - An upstream that sends much: parsing a response takes time in proportion to its length, at
 *     most 64 KiB, on the filling thread. 16 CNAMEs, 64 DNAMEs and 32 proofs of it are looked at.
 *   - A client that asks about many names: memory is fixed, and names asked about once evict each
 *     other before popular ones (SIEVE). One insertion passes over 1,024 entries at most.
 *   - A client that asks about names with long responses: those over about 900 bytes have a quarter
 *     of the memory, and evict short ones only within it.
 *   - A client that asks about names that fail: failures of names without a response have their own
 *     memory, for an eighth as many as responses, and evict only each other.
 *   - A client that mixes names that fail with good ones, so that their zone seems to recover: each
 *     name is still asked at most once a second.
 *   - A client that asks without RD, or for networks: such questions fail for themselves, however
 *     many networks there are, and wait with those of other clients.
 *   - A client that picks names whose hashes collide: the hash is seeded.
 *
 * Times are clock_monotonic_ms, so a jump of the wall clock changes no expiry. */
#ifndef SKYDNS_EXTERNAL_CACHE_H
#define SKYDNS_EXTERNAL_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/dns/dname.h"

enum {
    CACHE_ENTRIES_MAX = 1000000,
    CACHE_REFRESH_HITS = 3,        /* an entry hit so often is refreshed before it expires */
    CACHE_NEGATIVE_MAX_S = 1800,   /* a denial is cached no longer */
    CACHE_STALE_TTL_S = 30,        /* TTL of a stale answer's records: RFC 8767 4 */
    CACHE_FAILURE_FIRST_MS = 1000, /* RFC 9520 3.2: the first backoff of a question, */
    CACHE_FAILURE_MAX_MS = 30000,  /* which each failure doubles up to this */
};

struct cache;
struct cache_counts;
struct cache_image;

/* Makes a cache of at most `entries` responses, from 1 to CACHE_ENTRIES_MAX. It takes 1,200 bytes
 * for each and 80 KB, touched only as they are used. seeded_hash_init comes first. Starts with one
 * reference. */
struct cache *cache_new(size_t entries);
/* Any thread. The last unref frees. NULL is fine. */
struct cache *cache_ref(struct cache *cache);
void cache_unref(struct cache *cache);

struct cache_key {
    struct dname name; /* lower case */
    uint16_t type;
    uint16_t qclass;
    bool dnssec_ok;         /* DO */
    bool checking_disabled; /* CD */
    uint32_t zone_serial; /* of the upstreams (zone_table.h): other zones' responses do not count */
    uint32_t hash;        /* set by cache_prepare; 0: not known */
};

/* The age limits, from the configuration. */
struct cache_limits {
    uint32_t ttl_max_s; /* -rcache-ttl: the longest time in the cache, and the largest TTL shown */
    int64_t stale_ms;   /* -rcache-stale; 0: there are no stale answers */
};

enum cache_state {
    CACHE_MISS,
    CACHE_FRESH,
    CACHE_STALE,  /* expired, but usable if upstreams fail */
    CACHE_FAILED, /* nothing usable, and the question failed so recently that it is not asked again
                   */
};

struct cache_hit {
    enum cache_state state;
    bool is_failing;    /* STALE: the question failed recently: do not ask again, use this now */
    bool wants_refresh; /* FRESH: this call is the one that should have the entry refreshed */
    /* The rest: FRESH and STALE only. */
    bool is_negative;
    bool is_authentic;             /* the upstream set AD */
    uint8_t rcode;                 /* NOERROR or NXDOMAIN */
    uint16_t answers, authorities; /* records */
    uint32_t answers_len, len;     /* bytes: of the answer section, of both sections */
    /* The part of them that fits the room: both sections, the answer section, or some of it. */
    uint16_t shown_answers, shown_authorities;
    uint32_t shown_len;
    uint32_t cached_s;      /* seconds since the response came */
    uint32_t left_s;        /* seconds until it expires; STALE: 0 */
    struct addr nameserver; /* the sender; CACHE_PEEK only */
};

enum cache_use {
    CACHE_ANSWER, /* for a client: counts as a hit, for eviction and refreshing */
    CACHE_PEEK,   /* to explain: changes nothing */
};

/* Copies the records, with the TTLs to show now, to `records`, of `room` bytes. If both sections do
 * not fit, it copies the answer section alone; if that does not fit, as many of its records as do.
 * With `shuffle` != 0, addresses come in a random order. */
void cache_read(struct cache *cache, const struct cache_key *key, const struct cache_limits *limits,
                int64_t now_ms, enum cache_use use, uint32_t shuffle, uint8_t *records, size_t room,
                struct cache_hit *ret_hit);

/* Fetch memory for callers with several queries, so that they wait for all of it together. The
 * first computes the key's hash and fetches the memory that locates the entry; call it for each
 * query, */
void cache_prepare(const struct cache *cache, struct cache_key *key);
/* then call this for each query: it fetches the entry itself. */
void cache_look_ahead(const struct cache *cache, const struct cache_key *key);

enum cache_verdict {
    CACHE_HIT,
    CACHE_NO_TIME,   /* a TTL is 0 */
    CACHE_NO_SOA,    /* a denial that does not say for how long */
    CACHE_TRUNCATED, /* part of an answer */
    CACHE_NO_ANSWER, /* neither an answer, nor NXDOMAIN or NODATA: an error, a referral, a broken
                        chain */
    CACHE_MALFORMED, /* not a message, or not a response to this question */
    CACHE_TOO_LARGE, /* longer than a message when decompressed, or than the share of long responses
                      */
};

/* ---- The filling thread ---- */

/* Caches the image of a response to a question with this name, type and class (cache_image_make),
 * in place of an older one, and forgets failures. Evicts what it must. */
enum cache_verdict cache_put(struct cache *cache, const struct cache_key *key,
                             const struct cache_image *image, const struct addr *nameserver,
                             int64_t now_ms);

/* Says how a question was asked. Only responses to plain questions are cached. Failures of each
 * kind count for themselves: upstreams may refuse one kind only, as many do without RD. */
enum cache_asking {
    CACHE_PLAIN = 0, /* with RD, and not for a client's network; else one or both of: */
    CACHE_WITHOUT_RD = 1,
    CACHE_FOR_SUBNET = 2, /* for any network: a client may name any */
};

/* Records that every upstream failed. The question is not to be asked again for 1 s, doubling up to
 * 30 s while failures go on.
 *
 * That ends when a response is put, when the zone recovers, or 30 s after the backoff without
 * another failure. A failure in the first second of the backoff belongs to the same attempt; a
 * later one, of a probe, restarts it. A cached response stays. */
void cache_fail(struct cache *cache, const struct cache_key *key, enum cache_asking asking,
                int64_t now_ms);

/* Returns whether a question is not asked now, since it has failed like this or as a plain one. For
 * plain ones alone, cache_read tells any thread. */
bool cache_is_failing(struct cache *cache, const struct cache_key *key, enum cache_asking asking,
                      int64_t now_ms);

/* Records that the zone's upstreams gave a good response, to any question of theirs.
 *
 * If two or more of its names had failed since the one before, the zone has recovered. Every
 * question that failed earlier may be asked again a second after its last failure, and doubling
 * starts over. Until then, if four or more have failed, one failing question a second is a probe:
 * cache_read lets it be asked, from a second after its last failure on. */
void cache_zone_answered(struct cache *cache, uint32_t zone_serial, int64_t now_ms);

/* Records that an upstream of the zone that was dead answers, whatever it says. The zone has
 * recovered if no client could reach the server (`was_away`), or if two names or more had failed
 * since the last good response. Else it is silent for one name only, whose backoff goes on. */
void cache_zone_revived(struct cache *cache, uint32_t zone_serial, bool was_away, int64_t now_ms);

/* Names what cache_flush drops. */
struct cache_flush {
    struct dname name; /* lower case */
    bool is_zone;      /* the names below it, too */
};

/* Drops the responses and failures of a name: a part of the entries, from *at on, which is 0 at
 * first. Returns whether all have been looked at; adds the responses dropped. CACHE_FLUSH_STEP
 * places of entries take half a millisecond. */
enum { CACHE_FLUSH_STEP = 4096 };
bool cache_flush(struct cache *cache, const struct cache_flush *flush, size_t *at,
                 uint64_t *dropped);

/* Records that a wanted refresh is over: the next hit may want another. */
void cache_refresh_over(struct cache *cache, const struct cache_key *key);

/* ---- Figures; any thread ---- */

struct cache_figures {
    uint64_t entries, bytes, entries_max; /* now */
    uint64_t insertions, evictions;       /* since this cache was made */
};
struct cache_figures cache_figures(const struct cache *cache);

#endif
