#include "skydns/foreign/zone_table.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/xalloc.h"

struct zone_table {
    atomic_uint references;
    size_t count;
    struct foreign_zone zones[]; /* the root first */
};

/* Main thread. */
static uint32_t next_serial(void)
{
    static uint32_t serial;
    return ++serial;
}

static bool same_servers(const struct foreign_zone *a, const struct foreign_zone *b)
{
    if (a->server_count != b->server_count) {
        return false;
    }
    for (size_t i = 0; i < a->server_count; i++) {
        if (!addr_equal(&a->servers[i], &b->servers[i])) {
            return false;
        }
    }
    return true;
}

static uint32_t serial_of(const struct foreign_zone *zone, const struct zone_table *previous)
{
    for (size_t i = 0; previous && i < previous->count; i++) {
        const struct foreign_zone *old = &previous->zones[i];
        if (dname_equal(&old->name, &zone->name) && same_servers(old, zone)) {
            return old->serial;
        }
    }
    return next_serial();
}

static void add(struct zone_table *table, size_t at, const struct foreign_zone *zone,
                const struct zone_table *previous)
{
    table->zones[at] = *zone;
    table->zones[at].serial = serial_of(zone, previous);
}

struct zone_table *zone_table_new(const struct foreign_zone *zones, size_t count,
                                  const struct zone_table *previous)
{
    const struct foreign_zone no_root = {.name = {.len = 1}};
    struct zone_table *table =
        xcalloc(1, sizeof(*table) + (ZONE_TABLE_MAX + 1) * sizeof(table->zones[0]));
    atomic_init(&table->references, 1);
    table->count = 1;
    add(table, 0, &no_root, previous);
    for (size_t i = 0; i < count; i++) {
        if (!zone_is_stub(&zones[i])) {
            add(table, 0, &zones[i], previous);
        } else if (table->count <= ZONE_TABLE_MAX) {
            add(table, table->count++, &zones[i], previous);
        }
    }
    return table;
}

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
        free(table);
    }
}

const struct foreign_zone *zone_table_find(const struct zone_table *table, const struct dname *name)
{
    const struct foreign_zone *found = &table->zones[0];
    for (size_t i = 1; i < table->count; i++) {
        const struct foreign_zone *zone = &table->zones[i];
        if (zone->name.len > found->name.len && dname_is_within(name, &zone->name)) {
            found = zone;
        }
    }
    return found;
}

const struct foreign_zone *zone_table_items(const struct zone_table *table, size_t *ret_count)
{
    *ret_count = table->count;
    return table->zones;
}
