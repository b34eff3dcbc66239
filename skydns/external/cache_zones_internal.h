/* Holds what the cache knows of whole zones: which of them fail, and when they recovered, so that
 * their questions need not wait out what earlier failures began. A name that fails while others of
 * its zone are answered waits as long as it must; but once the zone as a whole was in trouble and
 * is not any more, each of its questions may be asked again, one second after its own last failure
 * at the earliest.
 *
 * To notice that soon, one question a second of a zone that fails as a whole is let through,
 * whoever asks it: a trial. So its nameservers get one more question a second at most, however many
 * clients and names there are.
 *
 * The filling thread writes; any thread reads, and begins trials. */
#ifndef SKYDNS_EXTERNAL_CACHE_ZONES_INTERNAL_H
#define SKYDNS_EXTERNAL_CACHE_ZONES_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    /* Different names that failed since the zone's last good reply: so many, and a good reply means
     * that the zone recovered; so many, and there are trials. One name, of whatever types, has
     * neither. */
    ZONE_TROUBLED_NAMES = 2,
    ZONE_FAILING_NAMES = 4,
    /* A zone's place goes by its serial. One that finds another there takes it over, and the other
     * has neither trials nor recoveries until its next failure: its questions wait as they would
     * without. */
    CACHE_ZONES = 256,
    ZONE_PROBE_MS = 1000, /* between trials */
};

struct cache_zone {
    _Atomic uint64_t failing; /* serial; how many names have failed */
    _Atomic int64_t recovered_at_ms;
    _Atomic uint64_t probe; /* hash of the last one's key; when it began, in ms, its lower half */
    uint32_t names[ZONE_FAILING_NAMES]; /* the filling thread's: hashes of those that failed */
};

struct cache_zones {
    struct cache_zone items[CACHE_ZONES];
};

void cache_zones_init(struct cache_zones *zones);

/* The filling thread: a question of the zone failed, with this hash of its name. */
void cache_zones_fail(struct cache_zones *zones, uint32_t serial, uint32_t name_hash);

/* The filling thread: the zone gave a good reply. */
void cache_zones_answer(struct cache_zones *zones, uint32_t serial, int64_t now_ms);

/* The filling thread: one of its dead nameservers answers; cache_zone_revived. */
void cache_zones_recover(struct cache_zones *zones, uint32_t serial, bool was_away, int64_t now_ms);

/* Any thread: whether the zone has recovered since then. */
bool cache_zones_recovered(const struct cache_zones *zones, uint32_t serial, int64_t since_ms);

/* Any thread: whether the question with this hash is the zone's trial now; with `may_begin`, makes
 * it that if one is due. */
bool cache_zones_try(struct cache_zones *zones, uint32_t serial, uint32_t hash, int64_t now_ms,
                     bool may_begin);

#endif
