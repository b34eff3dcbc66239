#include "skydns/upstream/upstream_zones_internal.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/key_table.h"
#include "common/base/xalloc.h"
#include "skydns/upstream/forwarder_counts.h"
#include "skydns/upstream/upstream_health_internal.h"

enum { PLACES = ZONE_TABLE_MAX + 1, NO_PLACE = PLACES };

/* A zone's serial and states, in one word, so that they belong together. */
typedef _Atomic uint64_t state_word;

/* The times that go with it, for display: a reader that comes while the slot changes hands may find
 * times of both zones. */
struct state_times {
    _Atomic uint32_t asked; /* a bit for each server */
    _Atomic uint32_t turned_s[UPSTREAMS_MAX];
    _Atomic uint32_t failed_s[UPSTREAMS_MAX];
    _Atomic uint32_t plain_until_s[UPSTREAMS_MAX];
};

struct upstream_zones {
    struct upstream_zones_config config;
    struct key_table items; /* by name; not those that are gone */
    bool is_place_used[PLACES];
    state_word states[PLACES];
    struct state_times times[PLACES];
};

static struct slice upstream_zones_key_of(const void *thing)
{
    const struct upstream_zone *zone = thing;
    return slice_of(zone->name.wire, zone->name.len);
}

/* ---- States ---- */

static size_t upstream_zones_take_place(struct upstream_zones *zones)
{
    for (size_t i = 0; i < PLACES; i++) {
        if (!zones->is_place_used[i]) {
            zones->is_place_used[i] = true;
            return i;
        }
    }
    return NO_PLACE; /* removed zones still have outstanding questions: the new one is not shown */
}

static void write_state(const struct upstream_zone *zone, uint64_t word)
{
    if (zone->place != NO_PLACE) {
        atomic_store_explicit(&zone->owner->states[zone->place], word, memory_order_relaxed);
    }
}

static void write_times(const struct upstream_zone *zone, const struct upstreams *servers)
{
    uint32_t asked = 0;
    if (zone->place == NO_PLACE) {
        return;
    }
    struct state_times *times = &zone->owner->times[zone->place];
    for (size_t i = 0; i < servers->count; i++) {
        const struct upstream *server = &servers->items[i];
        asked |= (uint32_t)(server->has_answered || server->failed_s > 0) << i;
        atomic_store_explicit(&times->turned_s[i], server->turned_s, memory_order_relaxed);
        atomic_store_explicit(&times->failed_s[i], server->failed_s, memory_order_relaxed);
        atomic_store_explicit(&times->plain_until_s[i], server->plain_until_s,
                              memory_order_relaxed);
    }
    atomic_store_explicit(&times->asked, asked, memory_order_relaxed);
}

static void upstream_zones_publish(const struct upstream_zone *zone)
{
    const struct upstreams *servers = upstream_health_servers(zone->health);
    uint64_t word = (uint64_t)zone->serial << 32;
    static_assert(UPSTREAMS_MAX <= 16, "a bit for each server");
    for (size_t i = 0; i < servers->count; i++) {
        const struct upstream *server = &servers->items[i];
        word |= (uint64_t)upstream_is_dead(server) << (16 + i);
        word |= (uint64_t)server->is_looping << i;
    }
    write_times(zone, servers);
    write_state(zone, word);
}

static void count_general(const struct upstream_zone *zone)
{
    const struct upstreams *servers = upstream_health_servers(zone->health);
    struct forwarder_counts *counts = zone->owner->config.counts;
    counter_set(&counts->servers, servers->count);
    counter_set(&counts->dead, upstreams_dead(servers));
    counter_set(&counts->looping, upstreams_looping(servers));
}

static bool is_general(const struct upstream_zone *zone)
{
    return zone->name.len == 1;
}

static void upstream_zones_on_changed(void *data)
{
    const struct upstream_zone *zone = data;
    if (zone->serial == 0) {
        return;
    }
    upstream_zones_publish(zone);
    if (is_general(zone)) {
        count_general(zone);
    }
}

static void upstream_zones_on_revived(void *data, bool was_away)
{
    const struct upstream_zone *zone = data;
    forwarder_on_revived(zone->owner->config.forwarder, zone, was_away);
}

static void read_times(const struct state_times *times, struct upstream_states *ret)
{
    ret->asked = (uint16_t)atomic_load_explicit(&times->asked, memory_order_relaxed);
    for (size_t i = 0; i < UPSTREAMS_MAX; i++) {
        ret->turned_s[i] = atomic_load_explicit(&times->turned_s[i], memory_order_relaxed);
        ret->failed_s[i] = atomic_load_explicit(&times->failed_s[i], memory_order_relaxed);
        ret->plain_until_s[i] =
            atomic_load_explicit(&times->plain_until_s[i], memory_order_relaxed);
    }
}

bool upstream_zones_state(const struct upstream_zones *zones, uint32_t serial,
                          struct upstream_states *ret)
{
    for (size_t i = 0; i < PLACES; i++) {
        uint64_t word = atomic_load_explicit(&zones->states[i], memory_order_relaxed);
        if (word >> 32 == serial && serial != 0) {
            *ret =
                (struct upstream_states){.dead = (uint16_t)(word >> 16), .looping = (uint16_t)word};
            read_times(&zones->times[i], ret);
            return true;
        }
    }
    return false;
}

/* ---- Zones ---- */

static struct upstream_zone *upstream_zones_add(struct upstream_zones *zones,
                                                const struct dname *name)
{
    struct upstream_zone *zone = xcalloc(1, sizeof(*zone));
    const struct upstream_health_config health = {
        .loop = zones->config.loop,
        .tls = zones->config.tls,
        .dnstap = zones->config.dnstap,
        .counts = zones->config.counts,
        .is_stub = name->len > 1,
        .changed = upstream_zones_on_changed,
        .revived = upstream_zones_on_revived,
        .data = zone,
    };
    zone->owner = zones;
    zone->name = *name;
    zone->place = upstream_zones_take_place(zones);
    zone->health = upstream_health_new(&health);
    (void)key_table_put(&zones->items, zone); /* there was none */
    return zone;
}

static void free_zone(struct upstream_zone *zone)
{
    write_state(zone, 0);
    if (zone->place != NO_PLACE) {
        zone->owner->is_place_used[zone->place] = false;
    }
    upstream_health_free(zone->health);
    free(zone);
}

static void upstream_zones_set(struct upstream_zone *zone, const struct forward_zone *now)
{
    zone->serial = now->serial;
    upstream_health_set(zone->health, now->servers, now->server_count);
}

struct upstream_zone *upstream_zones_get(struct upstream_zones *zones,
                                         const struct forward_zone *zone)
{
    struct slice key = slice_of(zone->name.wire, zone->name.len);
    struct upstream_zone *found = key_table_find(&zones->items, key);
    found = found ? found : upstream_zones_add(zones, &zone->name);
    if (found->serial != zone->serial) {
        upstream_zones_set(found, zone);
    }
    return found;
}

struct upstream_zone *upstream_zones_root(const struct upstream_zones *zones)
{
    return key_table_find(&zones->items, slice_of("", 1));
}

/* Forgets the state of the zone's servers, so that none is probed. */
static void upstream_zones_drop(struct upstream_zone *zone)
{
    zone->serial = 0;
    write_state(zone, 0);
    upstream_health_set(zone->health, NULL, 0);
    if (zone->questions == 0) {
        free_zone(zone);
    }
}

void upstream_zones_update(struct upstream_zones *zones, const struct zone_table *table)
{
    size_t at = 0;
    struct upstream_zone *zone;
    while ((zone = key_table_next(&zones->items, &at))) {
        const struct forward_zone *now = zone_table_find(table, &zone->name);
        if (!dname_equal(&now->name, &zone->name)) {
            upstream_zones_drop(key_table_take(
                &zones->items,
                upstream_zones_key_of(zone))); /* the next zone moves to this index */
        } else {
            (void)upstream_zones_get(zones, now);
            at++;
        }
    }
}

void upstream_zone_ref(struct upstream_zone *zone)
{
    zone->questions++;
}

void upstream_zone_unref(struct upstream_zone *zone)
{
    if (--zone->questions == 0 && zone->serial == 0) {
        free_zone(zone);
    }
}

/* ---- Setup and teardown ---- */

struct upstream_zones *upstream_zones_new(const struct upstream_zones_config *config)
{
    struct upstream_zones *zones = xcalloc(1, sizeof(*zones));
    zones->config = *config;
    key_table_init(&zones->items, upstream_zones_key_of);
    return zones;
}

void upstream_zones_free(struct upstream_zones *zones)
{
    if (zones) {
        size_t at = 0;
        struct upstream_zone *zone;
        while ((zone = key_table_next(&zones->items, &at))) {
            free_zone(key_table_take(&zones->items, upstream_zones_key_of(zone)));
        }
        key_table_fini(&zones->items);
        free(zones);
    }
}
