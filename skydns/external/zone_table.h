/* Finds the upstreams of an external name: those of the longest stub zone that contains the name,
 * or else the general ones, which are those of the root. The main thread builds the table and
 * publishes it with the configuration (engine_config.h). Every answering thread reads it; it never
 * changes afterwards. */
#ifndef SKYDNS_EXTERNAL_ZONE_TABLE_H
#define SKYDNS_EXTERNAL_ZONE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/dns/dname.h"
#include "common/dns/dns.h"
#include "skydns/external/nameserver.h"

enum {
    ZONE_TABLE_MAX = 1024, /* stub zones: ten times as many as a large company delegates */
    ZONE_SERVERS_MAX = 16, /* per zone: a resolv.conf has at most 3, -nameservers a handful */
};

/* The source of a zone's upstreams; a later one wins. */
enum zone_origin { ZONE_FROM_KEYS, ZONE_FROM_FLAG, ZONE_FROM_DOCUMENT };

/* Says which denials of a stub zone's upstreams are asked again of the general ones. */
enum zone_fallback { ZONE_ENDS, ZONE_FALLBACK_NXDOMAIN, ZONE_FALLBACK_NODATA /* both */ };

struct forward_zone {
    struct dname name; /* lower case; the root: the general upstreams */
    enum zone_origin origin;
    enum zone_fallback fallback;
    size_t server_count; /* 0: there are none, or none is usable: SERVFAIL */
    struct nameserver servers[ZONE_SERVERS_MAX];
    uint32_t serial; /* set by zone_table_new. It stays the same as long as the zone's upstreams and
                      * fallback do, and no other zone ever has it. The response cache keys on it */
};

struct zone_table;

/* Copies the zones, of which one at most is the root. If several have one name, the first of the
 * last origin counts. Zones as in `previous` (NULL: none) keep their serial. Leaves out zones
 * beyond ZONE_TABLE_MAX: the caller reports them. Starts with one reference. Main thread. */
struct zone_table *zone_table_new(const struct forward_zone *zones, size_t count,
                                  const struct zone_table *previous);

/* Any thread. The last unref frees. NULL is fine. */
struct zone_table *zone_table_ref(struct zone_table *table);
void zone_table_unref(struct zone_table *table);

/* Returns the longest zone that contains a lower-cased name: the root if no other does. Never NULL.
 * Any thread. It looks in a hash table once for each number of labels that stub zones have. The
 * number of zones and the name's length cost nothing, and neither does a table without stub zones.
 */
const struct forward_zone *zone_table_find(const struct zone_table *table,
                                           const struct dname *name);

/* Returns the longest zone that contains the parent of a lower-cased name. Never NULL. Any thread.
 */
const struct forward_zone *zone_table_find_above(const struct zone_table *table,
                                                 const struct dname *name);

/* Returns the zone whose upstreams have the records of a lower-cased name: the longest that
 * contains it. A zone's DS is in its parent (RFC 4035 3.1.4.1). Never NULL. Any thread. */
static inline const struct forward_zone *zone_table_find_for(const struct zone_table *table,
                                                             const struct dname *name,
                                                             uint16_t type)
{
    return type == DNS_TYPE_DS ? zone_table_find_above(table, name) : zone_table_find(table, name);
}

static inline bool zone_is_stub(const struct forward_zone *zone)
{
    return zone->name.len > 1;
}

/* Returns all zones, the root first. */
const struct forward_zone *zone_table_items(const struct zone_table *table, size_t *ret_count);

#endif
