#include "skydns/external/zone_table.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/key_table.h"
#include "common/base/xalloc.h"

struct zone_table {
    atomic_uint references;
    struct key_table stubs;               /* by name */
    bool has_depth[DNAME_LABELS_MAX + 1]; /* some stub zone has so many labels */
    unsigned depth_max;
    size_t count;
    struct forward_zone zones[]; /* the root first */
};

static struct slice zone_table_name_of(const struct dname *name, size_t from)
{
    return slice_of(name->wire + from, name->len - from);
}

static struct slice zone_table_key_of(const void *thing)
{
    const struct forward_zone *zone = thing;
    return zone_table_name_of(&zone->name, 0);
}

/* ---- Building ---- */

/* Returns a serial that no zone had before. Main thread. */
static uint32_t zone_table_next_serial(void)
{
    static uint32_t serial;
    return ++serial;
}

static bool is_answered_alike(const struct forward_zone *a, const struct forward_zone *b)
{
    if (a->server_count != b->server_count || a->fallback != b->fallback) {
        return false;
    }
    for (size_t i = 0; i < a->server_count; i++) {
        if (!nameserver_equal(&a->servers[i], &b->servers[i])) {
            return false;
        }
    }
    return true;
}

static uint32_t serial_of(const struct forward_zone *zone, const struct zone_table *previous,
                          uint32_t general_serial)
{
    const struct forward_zone *old = NULL;
    if (previous) {
        old = zone_is_stub(zone) ? key_table_find(&previous->stubs, zone_table_key_of(zone))
                                 : &previous->zones[0];
    }
    /* A zone with a fallback has responses of the general upstreams, too. */
    const bool is_general_new =
        old && zone->fallback != ZONE_ENDS && general_serial != previous->zones[0].serial;
    return old && is_answered_alike(old, zone) && !is_general_new ? old->serial
                                                                  : zone_table_next_serial();
}

/* Adds a zone. Among several zones with one name, one of the strongest origin stays. */
static void zone_table_add(struct zone_table *table, const struct forward_zone *zone)
{
    struct forward_zone *same = key_table_find(&table->stubs, zone_table_key_of(zone));
    if (same) {
        *same = zone->origin > same->origin ? *zone : *same;
    } else if (table->count <= ZONE_TABLE_MAX) {
        struct forward_zone *added = &table->zones[table->count++];
        unsigned depth = dname_label_count(&zone->name);
        *added = *zone;
        (void)key_table_put(&table->stubs, added); /* there was none */
        table->has_depth[depth] = true;
        table->depth_max = depth > table->depth_max ? depth : table->depth_max;
    }
}

struct zone_table *zone_table_new(const struct forward_zone *zones, size_t count,
                                  const struct zone_table *previous)
{
    struct zone_table *table = xcalloc(1, sizeof(*table) + (count + 1) * sizeof(table->zones[0]));
    atomic_init(&table->references, 1);
    key_table_init(&table->stubs, zone_table_key_of);
    table->count = 1;
    table->zones[0].name.len = 1;
    for (size_t i = 0; i < count; i++) {
        if (zone_is_stub(&zones[i])) {
            zone_table_add(table, &zones[i]);
        } else {
            table->zones[0] = zones[i];
        }
    }
    for (size_t i = 0; i < table->count; i++) {
        table->zones[i].serial = serial_of(&table->zones[i], previous, table->zones[0].serial);
    }
    return table;
}

/* ---- References ---- */

struct zone_table *zone_table_ref(struct zone_table *table)
{
    if (table) {
        atomic_fetch_add_explicit(&table->references, 1, memory_order_relaxed);
    }
    return table;
}

void zone_table_unref(struct zone_table *table)
{
    if (table && atomic_fetch_sub_explicit(&table->references, 1, memory_order_acq_rel) == 1) {
        key_table_fini(&table->stubs);
        free(table);
    }
}

/* ---- Reading ---- */

const struct forward_zone *zone_table_find(const struct zone_table *table, const struct dname *name)
{
    struct dname_labels labels;
    if (table->count == 1) {
        return &table->zones[0];
    }
    dname_labels(name, &labels);
    unsigned depth = labels.count < table->depth_max ? labels.count : table->depth_max;
    for (; depth > 0; depth--) {
        size_t from = labels.offsets[labels.count - depth];
        const struct forward_zone *zone =
            table->has_depth[depth] ? key_table_find(&table->stubs, zone_table_name_of(name, from))
                                    : NULL;
        if (zone) {
            return zone;
        }
    }
    return &table->zones[0];
}

const struct forward_zone *zone_table_find_above(const struct zone_table *table,
                                                 const struct dname *name)
{
    struct dname above = *name;
    dname_strip(&above, 1);
    return zone_table_find(table, &above);
}

const struct forward_zone *zone_table_items(const struct zone_table *table, size_t *ret_count)
{
    *ret_count = table->count;
    return table->zones;
}
