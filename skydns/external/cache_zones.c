#include "skydns/external/cache_zones_internal.h"

#include <stddef.h>

static struct cache_zone *cache_zones_place_of(struct cache_zones *zones, uint32_t serial)
{
    return &zones->items[serial % CACHE_ZONES];
}

/* Returns how many names failed; 0 also for a zone without a slot. */
static uint32_t names_failed(const struct cache_zone *zone, uint32_t serial)
{
    uint64_t failing = atomic_load_explicit(&zone->failing, memory_order_acquire);
    return failing >> 32 == serial ? (uint32_t)failing : 0;
}

static void cache_zones_set_failed(struct cache_zone *zone, uint32_t serial, uint32_t names)
{
    atomic_store_explicit(&zone->failing, (uint64_t)serial << 32 | names, memory_order_release);
}

static void set_recovered(struct cache_zone *zone, int64_t at_ms)
{
    atomic_store_explicit(&zone->recovered_at_ms, at_ms, memory_order_release);
}

void cache_zones_init(struct cache_zones *zones)
{
    for (size_t i = 0; i < CACHE_ZONES; i++) {
        set_recovered(&zones->items[i], INT64_MIN);
    }
}

void cache_zones_fail(struct cache_zones *zones, uint32_t serial, uint32_t name_hash)
{
    struct cache_zone *zone = cache_zones_place_of(zones, serial);
    uint64_t failing = atomic_load_explicit(&zone->failing, memory_order_relaxed);
    uint32_t names = names_failed(zone, serial);
    if (failing >> 32 != serial) {
        set_recovered(zone, INT64_MIN);
    }
    for (uint32_t i = 0; i < names; i++) {
        if (zone->names[i] == name_hash) {
            return;
        }
    }
    if (names < ZONE_FAILING_NAMES) {
        zone->names[names] = name_hash;
        cache_zones_set_failed(zone, serial, names + 1);
    }
}

void cache_zones_answer(struct cache_zones *zones, uint32_t serial, int64_t now_ms)
{
    struct cache_zone *zone = cache_zones_place_of(zones, serial);
    uint32_t names = names_failed(zone, serial);
    if (names >= ZONE_TROUBLED_NAMES) {
        set_recovered(zone, now_ms);
    }
    if (names > 0) {
        cache_zones_set_failed(zone, serial, 0);
    }
}

void cache_zones_recover(struct cache_zones *zones, uint32_t serial, bool was_away, int64_t now_ms)
{
    struct cache_zone *zone = cache_zones_place_of(zones, serial);
    if (atomic_load_explicit(&zone->failing, memory_order_relaxed) >> 32 == serial &&
        (was_away || names_failed(zone, serial) >= ZONE_TROUBLED_NAMES)) {
        set_recovered(zone, now_ms);
    }
}

bool cache_zones_recovered(const struct cache_zones *zones, uint32_t serial, int64_t since_ms)
{
    const struct cache_zone *zone = &zones->items[serial % CACHE_ZONES];
    return atomic_load_explicit(&zone->failing, memory_order_acquire) >> 32 == serial &&
           atomic_load_explicit(&zone->recovered_at_ms, memory_order_acquire) >= since_ms;
}

bool cache_zones_try(struct cache_zones *zones, uint32_t serial, uint32_t hash, int64_t now_ms,
                     bool may_begin)
{
    struct cache_zone *zone = cache_zones_place_of(zones, serial);
    if (names_failed(zone, serial) < ZONE_FAILING_NAMES) {
        return false;
    }
    uint64_t probe = atomic_load_explicit(&zone->probe, memory_order_relaxed);
    /* Threads' times differ: a probe may begin after another thread's now. */
    int32_t since_ms = (int32_t)((uint32_t)now_ms - (uint32_t)probe);
    if (probe != 0 && since_ms < ZONE_PROBE_MS && since_ms > -ZONE_PROBE_MS) {
        return (uint32_t)(probe >> 32) == hash;
    }
    uint64_t next = (uint64_t)hash << 32 | (uint32_t)now_ms;
    return may_begin && atomic_compare_exchange_strong_explicit(
                            &zone->probe, &probe, next, memory_order_relaxed, memory_order_relaxed);
}
