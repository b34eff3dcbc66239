/* Places for exchanges over TCP, shared: a client gets no further one when it has as many as are
 * free (fair_queue.h), nor does, with stub zones, a zone. So neither one client, nor a zone whose
 * nameservers are slow over TCP, takes what others need. Beyond that, the truncated reply must do.
 * For the forwarder's exchanges, on the resolver's thread. */
#ifndef SKYDNS_UPSTREAM_TCP_PLACES_INTERNAL_H
#define SKYDNS_UPSTREAM_TCP_PLACES_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"

struct client_loads;
struct forwarder_counts;

/* 64 KiB each while a slow server sends, so 16 MiB; enough for 256 long replies a second of servers
 * that take a second. */
enum { TCP_PLACES_MAX = 256 };

/* Of these exchanges, those that go on listening to UDP as well, for a right reply after a
 * malformed one, which somebody may have forged: few, since that is a second descriptor, and
 * process_limits.c counts one. The others do with what TCP brings. */
enum { TCP_LISTENERS_MAX = 12 };

/* How many one zone has. */
struct tcp_zone {
    size_t taken, listening;
};

struct tcp_places {
    struct forwarder_counts *counts; /* borrowed */
    struct client_loads *loads;
    size_t listening;
    struct client_loads *listening_loads;
    bool are_zones_many; /* the owner's to set: zones have shares, too */
};

void tcp_places_init(struct tcp_places *places, struct forwarder_counts *counts);
void tcp_places_fini(struct tcp_places *places);

/* False: there is none for this client or zone. */
bool tcp_places_take(struct tcp_places *places, struct tcp_zone *zone,
                     const struct addr *client) MUST_CHECK;
void tcp_places_return(struct tcp_places *places, struct tcp_zone *zone, const struct addr *client);

/* The same, to listen. */
bool tcp_places_listen(struct tcp_places *places, struct tcp_zone *zone,
                       const struct addr *client) MUST_CHECK;
void tcp_places_unlisten(struct tcp_places *places, struct tcp_zone *zone,
                         const struct addr *client);

#endif
