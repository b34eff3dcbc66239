/* Keeps each zone's upstreams and their state while there are questions for them. For the
 * forwarder, on the resolver's loop and thread, but for upstream_zones_state.
 *
 * A zone is made when it is first asked. When the list changes, servers that stay keep their state.
 * The zone is freed when the table has it no more and its last question has ended. It takes 6 KB:
 * ZONE_TABLE_MAX of them, all asked, 6 MB. */
#ifndef SKYDNS_UPSTREAM_UPSTREAM_ZONES_INTERNAL_H
#define SKYDNS_UPSTREAM_UPSTREAM_ZONES_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/dns/dname.h"
#include "skydns/external/zone_table.h"
#include "skydns/upstream/exchange_channel_internal.h"
#include "skydns/upstream/tls_pool.h"
#include "skydns/upstream/upstreams.h"

struct dnstap;
struct forwarder;
struct forwarder_counts;
struct upstream_health;
struct upstream_zones;

struct upstream_zone {
    struct upstream_zones *owner;
    struct dname name; /* the root: the general upstreams */
    uint32_t serial;   /* of its upstreams now; 0: the zone is gone from the table */
    struct upstream_health *health;
    size_t sockets; /* open to its servers: the forwarder's */
    struct tcp_zone tcp;
    struct tls_zone tls;
    size_t questions; /* outstanding: upstream_zone_ref */
    size_t place;     /* index of its state, for other threads */
};

struct upstream_zones_config {
    struct ev_loop *loop;
    struct tls_pool *tls;            /* as forwarder.h */
    struct dnstap *dnstap;           /* likewise */
    struct forwarder_counts *counts; /* borrowed: the servers of the root, the probes of all */
    struct forwarder *forwarder;     /* the owner */
};

struct upstream_zones *upstream_zones_new(const struct upstream_zones_config *config);
void upstream_zones_free(
    struct upstream_zones *zones); /* no question is outstanding; NULL is fine */

/* Returns the zone, with these upstreams from now on. */
struct upstream_zone *upstream_zones_get(struct upstream_zones *zones,
                                         const struct forward_zone *zone);

/* Returns the zone of the general upstreams; NULL: there is none yet. */
struct upstream_zone *upstream_zones_root(const struct upstream_zones *zones);

/* Takes over the table's changes, and drops the zones that it lacks. */
void upstream_zones_update(struct upstream_zones *zones, const struct zone_table *table);

/* Count a question's begin and end. The last one's end frees a zone that is gone. */
void upstream_zone_ref(struct upstream_zone *zone);
void upstream_zone_unref(struct upstream_zone *zone);

/* Reads a zone's state: forwarder_zone_state. Any thread. */
bool upstream_zones_state(const struct upstream_zones *zones, uint32_t serial,
                          struct upstream_states *ret);

/* ---- forwarder.c ---- */

/* Called when a dead server of the zone answers; was_away: probes had not reached it. */
void forwarder_on_revived(struct forwarder *forwarder, const struct upstream_zone *zone,
                          bool was_away);

#endif
