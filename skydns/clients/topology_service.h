/* Says in which zone each address of one headless Service is. Immutable once readers can find it
 * (topology.h); one block of memory.
 *
 * An address that it does not have is near every client. So are addresses of zones beyond
 * TOPOLOGY_ZONES_MAX: a search compares the client's zone with each. */
#ifndef SKYDNS_CLIENTS_TOPOLOGY_SERVICE_H
#define SKYDNS_CLIENTS_TOPOLOGY_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/addr.h"
#include "common/base/slice.h"

enum {
    TOPOLOGY_ZONES_MAX = 64, /* clouds have at most six in a region */
    TOPOLOGY_NO_ZONE = 255,  /* that of a client in none of the Service's zones */
};

/* An address and its zone, of 1 to CLIENT_NAME_MAX bytes. */
struct topology_entry {
    struct ip ip;
    struct slice zone;
};

struct client_name;

/* The addresses of one family: open addressing by a multiplication. `zones` of a free slot is
 * TOPOLOGY_NO_ZONE. */
struct topology_v4 {
    uint32_t multiplier; /* odd, and random */
    uint8_t shift;       /* of the product, which leaves the slot */
    uint32_t mask;
    const uint32_t *keys; /* as in the address's bytes */
    const uint8_t *zones;
};

struct topology_service {
    struct topology_v4 v4;
    struct slice name;
    uint32_t v6_mask; /* by the seeded hash */
    const uint8_t (*v6_keys)[16];
    const uint8_t *v6_zones;
    size_t bytes; /* of the block */
    unsigned zone_count;
    struct topology_zone {
        const struct client_name *name; /* the index's, by which clients' zones are known again */
        struct slice text;
    } zones[]; /* then all that is pointed to */
};

/* Makes the block, of a name in wire form and lower case. Of equal addresses the first counts. */
struct topology_service *topology_service_new(struct slice name,
                                              const struct topology_entry *entries, size_t count);

static inline struct slice topology_service_name(const struct topology_service *service)
{
    return service->name;
}

size_t topology_service_bytes(const struct topology_service *service);

/* Returns the next address, in no order; false at the end. *at starts at 0. Borrowed. */
bool topology_service_next(const struct topology_service *service, size_t *at,
                           struct topology_entry *ret_entry);

/* Returns the number of a zone; TOPOLOGY_NO_ZONE: no address is known to be in it. */
static inline uint8_t topology_service_zone(const struct topology_service *service,
                                            const struct client_name *zone)
{
    for (unsigned i = 0; i < service->zone_count; i++) {
        if (service->zones[i].name == zone) {
            return (uint8_t)i;
        }
    }
    return TOPOLOGY_NO_ZONE;
}

/* Returns the number of an IPv6 address's zone; TOPOLOGY_NO_ZONE: it has none. */
uint8_t topology_service_zone_of_v6(const struct topology_service *service,
                                    const uint8_t bytes[16]);

static inline uint8_t topology_service_zone_of_v4(const struct topology_v4 *v4, uint32_t key)
{
    uint32_t at = key * v4->multiplier >> v4->shift;
    while (v4->zones[at] != TOPOLOGY_NO_ZONE && v4->keys[at] != key) {
        at = (at + 1) & v4->mask;
    }
    return v4->zones[at];
}

/* Returns whether an address of 4 or 16 bytes is near clients of the zone with this number: it is
 * in that zone, or in none. */
static inline bool topology_service_is_near(const struct topology_service *service, uint8_t zone,
                                            const uint8_t *bytes, unsigned family_bytes)
{
    uint32_t key;
    uint8_t found;
    if (family_bytes == sizeof(key)) {
        memcpy(&key, bytes, sizeof(key));
        found = topology_service_zone_of_v4(&service->v4, key);
    } else {
        found = topology_service_zone_of_v6(service, bytes);
    }
    return found == zone || found == TOPOLOGY_NO_ZONE;
}

#endif
