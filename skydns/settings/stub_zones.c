#include "skydns/settings/stub_zones.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

struct stub_zones {
    unsigned references;
    size_t count, cap;
    struct forward_zone *items;
};

struct stub_zones *stub_zones_copy(const struct stub_zones *zones)
{
    struct stub_zones *copy = xcalloc(1, sizeof(*copy));
    copy->references = 1;
    if (zones) {
        copy->count = copy->cap = zones->count;
        copy->items = xcalloc(zones->count, sizeof(*copy->items));
        memcpy(copy->items, zones->items, zones->count * sizeof(*copy->items));
    }
    return copy;
}

struct stub_zones *stub_zones_ref(struct stub_zones *zones)
{
    if (zones) {
        zones->references++;
    }
    return zones;
}

void stub_zones_unref(struct stub_zones *zones)
{
    if (zones && --zones->references == 0) {
        free(zones->items);
        free(zones);
    }
}

static struct forward_zone *settings_stub_zones_find(const struct stub_zones *zones,
                                                     const struct dname *name)
{
    for (size_t i = 0; i < zones->count; i++) {
        if (dname_equal(&zones->items[i].name, name)) {
            return &zones->items[i];
        }
    }
    return NULL;
}

struct forward_zone *stub_zones_find(const struct stub_zones *zones, const struct dname *name)
{
    return zones ? settings_stub_zones_find(zones, name) : NULL;
}

bool stub_zones_set(struct stub_zones *zones, const struct forward_zone *zone)
{
    struct forward_zone *same = settings_stub_zones_find(zones, &zone->name);
    if (same) {
        *same = *zone;
        return true;
    }
    if (zones->count == ZONE_TABLE_MAX) {
        return false;
    }
    zones->items = xgrow_array(zones->items, zones->count, &zones->cap, sizeof(*zones->items));
    zones->items[zones->count++] = *zone;
    return true;
}

const struct forward_zone *stub_zones_items(const struct stub_zones *zones, size_t *ret_count)
{
    *ret_count = zones ? zones->count : 0;
    return zones ? zones->items : NULL;
}
