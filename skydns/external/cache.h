/* Nameservers' replies, kept and found again: the response cache. Keeps only other domains' names;
 * ours change by events. One thread fills it (the resolver's); any thread reads it, without a lock,
 * an allocation or a system call, while it is being filled.
 *
 * A kept reply is what answers the question and nothing else (cache_image.h): the CNAMEs from the
 * name asked for, the records of the type at their end, or the SOA (and, with DO, the proof) of a
 * denial. Its names point into a question at offset 12 of the message, so that its bytes can follow
 * any client's spelling of the name.
 *
 * Who may want to harm the others, and what stops them:
 *   - A nameserver that says things about names it was not asked for: only records on the way from
 *     the question's name are kept, and shown only to those who ask for that name.
 *   - A nameserver that sends much: a reply is taken apart in time that grows with its length, 64
 *     KiB at most, on the filling thread; 16 CNAMEs, 64 DNAMEs and 32 proofs of it are looked at.
 *   - A client that asks for many names: memory is fixed, and names asked for once push out each
 *     other before popular ones (SIEVE). One insertion passes over 1,024 entries at most.
 *   - A client that asks for names with long replies: those over about 900 bytes have a quarter of
 *     the memory, and push out short ones only within it.
 *   - A client that asks for names that fail: failures of names without a reply have their own
 *     memory, for an eighth as many as replies, and push out only each other.
 *   - A client that mixes names that fail with good ones, so that their zone seems to recover: each
 *     name is still asked for at most once a second.
 *   - A client that asks without RD, or for networks: such questions fail for themselves, however
 *     many networks there are, and wait with those that others ask.
 *   - A client that picks names whose hashes collide: the hash is seeded.
 *
 * Times are clock_monotonic_ms: a wall clock that jumps neither keeps nor drops anything. */
#ifndef SKYDNS_EXTERNAL_CACHE_H
#define SKYDNS_EXTERNAL_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/dns/dname.h"

enum {
    CACHE_ENTRIES_MAX = 1000000,
    CACHE_REFRESH_HITS = 3,        /* a reply hit so often is refreshed before its time is over */
    CACHE_NEGATIVE_MAX_S = 1800,   /* a denial is kept no longer */
    CACHE_STALE_TTL_S = 30,        /* of records of a reply that has expired: RFC 8767 4 */
    CACHE_FAILURE_FIRST_MS = 1000, /* RFC 9520 3.2: no question again for so long, */
    CACHE_FAILURE_MAX_MS = 30000,  /* doubled by each failure up to this */
};

struct cache;
struct cache_counts;
struct cache_image;

/* `entries` replies at most, from 1 to CACHE_ENTRIES_MAX; of memory, 1,200 bytes for each and 80
 * KB, touched only as it is used. seeded_hash_init comes first. Starts with one reference. */
struct cache *cache_new(size_t entries);
/* Any thread; the last unref frees. NULL is fine. */
struct cache *cache_ref(struct cache *cache);
void cache_unref(struct cache *cache);

struct cache_key {
    struct dname name; /* lower case */
    uint16_t type;
    uint16_t qclass;
    bool dnssec_ok;         /* DO */
    bool checking_disabled; /* CD */
    uint32_t zone_serial;   /* of the nameservers (zone_table.h): replies of others do not count */
    uint32_t hash;          /* of cache_prepare; 0: not known */
};

/* What counts as too old; from the configuration. */
struct cache_limits {
    uint32_t ttl_max_s; /* -rcache-ttl: nothing is kept, and no TTL shown, that is longer */
    int64_t stale_ms;   /* -rcache-stale; 0: expired replies are of no use */
};

enum cache_state {
    CACHE_MISS,
    CACHE_FRESH,
    CACHE_STALE,  /* expired, but usable if nameservers fail */
    CACHE_FAILED, /* nothing usable, and the question failed so recently that it is not asked again
                   */
};

struct cache_hit {
    enum cache_state state;
    bool is_failing;    /* STALE: the question failed recently: do not ask again, use it now */
    bool wants_refresh; /* FRESH: this call is the one that should have it refreshed */
    /* The rest: FRESH and STALE only. */
    bool is_negative;
    bool is_authentic;             /* the nameserver set AD */
    uint8_t rcode;                 /* NOERROR or NXDOMAIN */
    uint16_t answers, authorities; /* records */
    uint32_t answers_len, len;     /* bytes: of the answer section, of both sections */
    /* The part of them that fits the room: both sections, the answer section, or some of it. */
    uint16_t shown_answers, shown_authorities;
    uint32_t shown_len;
    uint32_t cached_s;      /* how long ago the reply came */
    uint32_t left_s;        /* until it expires; STALE: 0 */
    struct addr nameserver; /* that sent it; CACHE_PEEK only */
};

enum cache_use {
    CACHE_ANSWER, /* for a client: counts as a hit, for eviction and refreshing */
    CACHE_PEEK,   /* to explain: changes nothing */
};

/* Copies the records, TTLs as they are to be shown now, to `records`, of `room` bytes. If both
 * sections do not fit, copies the answer section alone; if that does not fit, as many of its
 * records as do. With `shuffle` != 0, addresses in a random order. */
void cache_read(struct cache *cache, const struct cache_key *key, const struct cache_limits *limits,
                int64_t now_ms, enum cache_use use, uint32_t shuffle, uint8_t *records, size_t room,
                struct cache_hit *ret_hit);

/* For callers with several queries, so that they wait for memory together: first for each, works
 * out the key's hash and has the memory fetched that says where the entry is, */
void cache_prepare(const struct cache *cache, struct cache_key *key);
/* then for each, that of the entry itself. */
void cache_look_ahead(const struct cache *cache, const struct cache_key *key);

enum cache_verdict {
    CACHE_HIT,
    CACHE_NO_TIME,   /* a TTL is 0 */
    CACHE_NO_SOA,    /* a denial that does not say for how long */
    CACHE_TRUNCATED, /* part of an answer */
    CACHE_NO_ANSWER, /* neither an answer nor a denial: an error, a referral, a broken chain */
    CACHE_MALFORMED, /* not a message, or not to this question */
    CACHE_TOO_LARGE, /* longer than a message, decompressed, or than the share of long replies */
};

/* ---- The filling thread ---- */

/* Keeps what was made of the response to a question with this name, type and class
 * (cache_image_make), in place of an older one, and forgets failures. Evicts what it must. */
enum cache_verdict cache_put(struct cache *cache, const struct cache_key *key,
                             const struct cache_image *image, const struct addr *nameserver,
                             int64_t now_ms);

/* How a question was asked. Replies are kept of plain ones alone; failures of each kind for itself,
 * since nameservers may refuse one kind only, as many do without RD. */
enum cache_asking {
    CACHE_PLAIN = 0, /* with RD, for no client's network in particular; else one or both of: */
    CACHE_WITHOUT_RD = 1,
    CACHE_FOR_SUBNET = 2, /* whichever: a client may name any */
};

/* Every nameserver failed: the question is not to be asked again for 1 s, doubling up to 30 s while
 * this goes on: until a reply is put, the zone recovers, or 30 s pass after that time without
 * another failure. One that comes in the first second of that time belongs to the same attempt; a
 * later one, of a trial, begins it again. What is kept stays. */
void cache_fail(struct cache *cache, const struct cache_key *key, enum cache_asking asking,
                int64_t now_ms);

/* Whether a question is not asked now, since it has failed like this or as a plain one. Of plain
 * ones alone, cache_read tells any thread. */
bool cache_is_failing(struct cache *cache, const struct cache_key *key, enum cache_asking asking,
                      int64_t now_ms);

/* The zone's nameservers gave a good reply, to any question of theirs. If two or more of its names
 * had failed since the one before, the zone has recovered: every question that failed earlier may
 * be asked again a second after its last failure, and doubling starts over. Until then, if four or
 * more have failed, one failing question a second is a trial: cache_read lets it be asked, from a
 * second after its last failure on. */
void cache_zone_answered(struct cache *cache, uint32_t zone_serial, int64_t now_ms);

/* A nameserver of the zone that was dead answers, whatever it says: the zone has recovered, if the
 * server could not be reached by anybody (`was_away`), or two names or more had failed since the
 * last good reply. Else it is silent for one name only, which waits on. */
void cache_zone_revived(struct cache *cache, uint32_t zone_serial, bool was_away, int64_t now_ms);

/* A refresh that was wanted is not under way any more: the next hit may want another. */
void cache_refresh_over(struct cache *cache, const struct cache_key *key);

/* ---- Figures; any thread ---- */

struct cache_figures {
    uint64_t entries, bytes, entries_max; /* now */
    uint64_t insertions, evictions;       /* since this cache was made */
};
struct cache_figures cache_figures(const struct cache *cache);

#endif
