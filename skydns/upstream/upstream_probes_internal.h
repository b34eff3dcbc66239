/* Probes dead or suspected upstreams until they answer. A probe is the question `. NS`, first after
 * half a second, then once a second for a minute, since most outages are short, then every five
 * seconds.
 *
 * Any response counts. RD is not set: even a healthy resolver that cannot reach the root, as in
 * many clusters, answers that at once. On the resolver's loop and thread. Each zone has its own. */
#ifndef SKYDNS_UPSTREAM_UPSTREAM_PROBES_INTERNAL_H
#define SKYDNS_UPSTREAM_UPSTREAM_PROBES_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skydns/external/nameserver.h"

struct dnstap;
struct forwarder_counts;
struct upstream_probes;

/* Bounds the probes under way at once, in all zones; process_limits.c reserves their descriptors.
 * Stub zones have half of them, so that the general upstreams are probed however many zones are
 * dead. A probe without room waits for its next turn. One that was unanswered then leaves the room
 * to others. */
enum { UPSTREAM_PROBES_MAX = 32, UPSTREAM_STUB_PROBES_MAX = UPSTREAM_PROBES_MAX / 2 };

struct upstream_probes_config {
    struct ev_loop *loop;
    struct tls_pool *tls;            /* as forwarder.h */
    struct dnstap *dnstap;           /* likewise */
    struct forwarder_counts *counts; /* borrowed */
    size_t under_way_max;            /* one of the limits above */
    /* Called before each probe; false ends them. */
    bool (*is_wanted)(void *data, const struct nameserver *server);
    void (*answered)(void *data, const struct nameserver *server); /* ends the probes */
    void (*unanswered)(void *data, const struct nameserver *server);
    void *data;
};

struct upstream_probes *upstream_probes_new(const struct upstream_probes_config *config);
void upstream_probes_free(struct upstream_probes *probes); /* NULL is fine */

/* Starts to probe the server. Does nothing if that has begun. */
void upstream_probes_start(struct upstream_probes *probes, const struct nameserver *server);

#endif
