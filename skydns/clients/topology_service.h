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

struct topology_service;

/* Makes the block, of a name in wire form and lower case. Of equal addresses the first counts. */
struct topology_service *topology_service_new(struct slice name,
                                              const struct topology_entry *entries, size_t count);

struct slice topology_service_name(const struct topology_service *service);
size_t topology_service_bytes(const struct topology_service *service);

/* Returns the next address, in no order; false at the end. *at starts at 0. Borrowed. */
bool topology_service_next(const struct topology_service *service, size_t *at,
                           struct topology_entry *ret_entry);

/* Returns the number of a zone; TOPOLOGY_NO_ZONE: no address is known to be in it. */
uint8_t topology_service_zone(const struct topology_service *service, struct slice zone);

/* Returns whether an address of 4 or 16 bytes is near clients of the zone with this number. */
bool topology_service_is_near(const struct topology_service *service, uint8_t zone,
                              const uint8_t *bytes, unsigned family_bytes);

#endif
