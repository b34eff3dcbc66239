/* Shares the places for exchanges over TCP among clients and zones. A client gets no further one
 * when it has as many as are free (fair_queue.h), nor does, with stub zones, a zone.
 *
 * So neither one client, nor a zone whose upstreams are slow over TCP, takes the places that others
 * need. Without a place, the truncated response must do; a question to an upstream for TCP alone is
 * not sent. For the forwarder's exchanges, on the
 * resolver's thread. */
#ifndef SKYDNS_UPSTREAM_TCP_PLACES_INTERNAL_H
#define SKYDNS_UPSTREAM_TCP_PLACES_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"

struct client_loads;
struct forwarder_counts;

/* 64 KiB each while a slow server sends, so 16 MiB. It allows 256 long responses a second of
 * servers that take a second. */
enum { TCP_PLACES_MAX = 256 };

/* Bounds the exchanges over TCP that go on listening to UDP for a right response after a malformed
 * one, which may be forged. They are few, since each takes a second descriptor, and
 * process_limits.c counts one. The others use only TCP's response. */
enum { TCP_LISTENERS_MAX = 12 };

/* One zone's use. */
struct tcp_zone {
    size_t taken, listening;
};

struct tcp_places {
    struct forwarder_counts *counts; /* borrowed */
    struct client_loads *loads;
    size_t listening;
    struct client_loads *listening_loads;
    bool are_zones_many; /* set by the owner: zones have shares, too */
};

void tcp_places_init(struct tcp_places *places, struct forwarder_counts *counts);
void tcp_places_fini(struct tcp_places *places);

/* Takes a place. Returns false when there is none for this client or zone. */
bool tcp_places_take(struct tcp_places *places, struct tcp_zone *zone,
                     const struct addr *client) MUST_CHECK;
void tcp_places_return(struct tcp_places *places, struct tcp_zone *zone, const struct addr *client);

/* Do the same for a place to listen. */
bool tcp_places_listen(struct tcp_places *places, struct tcp_zone *zone,
                       const struct addr *client) MUST_CHECK;
void tcp_places_unlisten(struct tcp_places *places, struct tcp_zone *zone,
                         const struct addr *client);

#endif
