/* Holds the stub zones that flags and documents name: zone by zone, a later source replaces an
 * earlier one. Shared by copies of the options, hence counted; main thread. */
#ifndef SKYDNS_SETTINGS_STUB_ZONES_H
#define SKYDNS_SETTINGS_STUB_ZONES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/attributes.h"
#include "skydns/external/zone_table.h"

struct stub_zones;

/* Returns a copy to change, with one reference; of NULL: none. */
struct stub_zones *stub_zones_copy(const struct stub_zones *zones);
struct stub_zones *stub_zones_ref(struct stub_zones *zones);
void stub_zones_unref(struct stub_zones *zones); /* NULL is fine */

/* Sets a zone, in place of one with its name. Returns false if there is no room (ZONE_TABLE_MAX).
 */
bool stub_zones_set(struct stub_zones *zones, const struct forward_zone *zone) MUST_CHECK;

/* Returns the zone of this name, or NULL; borrowed until the next change. */
struct forward_zone *stub_zones_find(const struct stub_zones *zones, const struct dname *name);

/* Returns all zones; NULL has none. */
const struct forward_zone *stub_zones_items(const struct stub_zones *zones, size_t *ret_count);

#endif
