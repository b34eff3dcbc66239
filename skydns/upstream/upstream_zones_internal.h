/* The nameservers of each zone and what is known of them, while there are questions for them: a
 * zone comes into being when it is first asked, keeps what it knows of servers that stay when the
 * list changes, and goes when the table has it no more and its last question has ended. For the
 * forwarder, on the resolver's loop and thread, but for upstream_zones_state.
 *
 * A zone takes 6 KB: ZONE_TABLE_MAX of them, all asked, 6 MB. */
#ifndef SKYDNS_UPSTREAM_UPSTREAM_ZONES_INTERNAL_H
#define SKYDNS_UPSTREAM_UPSTREAM_ZONES_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/dns/dname.h"
#include "skydns/external/zone_table.h"
#include "skydns/upstream/tcp_places_internal.h"
#include "skydns/upstream/tls_pool.h"
#include "skydns/upstream/upstreams.h"

struct dnstap;
struct forwarder_counts;
struct upstream_health;
struct upstream_zones;

struct upstream_zone {
    struct upstream_zones *owner;
    struct dname name; /* the root: the general nameservers */
    uint32_t serial;   /* of its nameservers now; 0: the zone is gone from the table */
    struct upstream_health *health;
    size_t sockets; /* open to its servers: the forwarder's */
    struct tcp_zone tcp;
    struct tls_zone tls;
    size_t questions; /* in flight: upstream_zone_ref */
    size_t place;     /* of its state, for other threads */
};

struct upstream_zones_config {
    struct ev_loop *loop;
    struct tls_pool *tls;            /* as forwarder.h */
    struct dnstap *dnstap;           /* the same */
    struct forwarder_counts *counts; /* borrowed: the servers of the root, the probes of all */
    /* A dead server of the zone answers; was_away: probes had not reached it. */
    void (*revived)(void *data, const struct upstream_zone *zone, bool was_away);
    void *data;
};

struct upstream_zones *upstream_zones_new(const struct upstream_zones_config *config);
void upstream_zones_free(struct upstream_zones *zones); /* no question in flight; NULL is fine */

/* The zone with these nameservers from now on. */
struct upstream_zone *upstream_zones_get(struct upstream_zones *zones,
                                         const struct forward_zone *zone);

/* That of the general nameservers; NULL: there is none yet. */
struct upstream_zone *upstream_zones_root(const struct upstream_zones *zones);

/* Takes over what changed in the table, and drops the zones that it lacks. */
void upstream_zones_update(struct upstream_zones *zones, const struct zone_table *table);

/* A question begins, or ends; the last one's end frees a zone that is gone. */
void upstream_zone_ref(struct upstream_zone *zone);
void upstream_zone_unref(struct upstream_zone *zone);

/* Any thread: forwarder_zone_state. */
bool upstream_zones_state(const struct upstream_zones *zones, uint32_t serial,
                          struct upstream_states *ret);

#endif
