/* Tracks whole zones for the response cache: which of them fail, and when they recovered, so that
 * their questions need not wait out earlier backoffs.
 *
 * A name that fails while others of its zone are answered waits out its backoff. But when the zone
 * as a whole recovers, each of its questions may be asked again, one second after its own last
 * failure at the earliest.
 *
 * One question a second of a zone that fails as a whole is a probe, whichever client asks it: so
 * the recovery is soon noticed. The zone's upstreams get at most one more question a second,
 * however many clients and names there are. The filling thread writes; any thread reads, and begins
 * probes. */
#ifndef SKYDNS_EXTERNAL_CACHE_ZONES_INTERNAL_H
#define SKYDNS_EXTERNAL_CACHE_ZONES_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    /* Thresholds of different names that failed since the zone's last good response. From
     * ZONE_TROUBLED_NAMES on, a good response means that the zone recovered. From
     * ZONE_FAILING_NAMES on, there are probes. One name, of whatever types, causes neither. */
    ZONE_TROUBLED_NAMES = 2,
    ZONE_FAILING_NAMES = 4,
    /* A zone's slot goes by its serial. A zone that finds another there takes the slot over. The
     * other then has neither probes nor recoveries until its next failure: its questions wait out
     * their backoffs. */
    CACHE_ZONES = 256,
    ZONE_PROBE_MS = 1000, /* between probes */
};

struct cache_zone {
    _Atomic uint64_t failing; /* the zone's serial; how many names have failed */
    _Atomic int64_t recovered_at_ms;
    _Atomic uint64_t probe; /* hash of the last probe's key; when it began, in ms, its lower half */
    uint32_t names[ZONE_FAILING_NAMES]; /* the filling thread's: hashes of those that failed */
};

struct cache_zones {
    struct cache_zone items[CACHE_ZONES];
};

void cache_zones_init(struct cache_zones *zones);

/* Records that a question of the zone failed; name_hash is its name's. The filling thread. */
void cache_zones_fail(struct cache_zones *zones, uint32_t serial, uint32_t name_hash);

/* Records that the zone gave a good response. The filling thread. */
void cache_zones_answer(struct cache_zones *zones, uint32_t serial, int64_t now_ms);

/* Records that one of its dead upstreams answers (cache_zone_revived). The filling thread. */
void cache_zones_recover(struct cache_zones *zones, uint32_t serial, bool was_away, int64_t now_ms);

/* Returns whether the zone has recovered since then. Any thread. */
bool cache_zones_recovered(const struct cache_zones *zones, uint32_t serial, int64_t since_ms);

/* Returns whether the question with this hash is the zone's probe now. With `may_begin`, it becomes
 * the probe if one is due. Any thread. */
bool cache_zones_try(struct cache_zones *zones, uint32_t serial, uint32_t hash, int64_t now_ms,
                     bool may_begin);

#endif
