/* Asks nameservers that were given up, until they answer: `. NS`, first after half a second, then
 * at doubling distances up to five seconds. Any reply will do. Recursion is not desired: a resolver
 * that is well but cut off from the root, as in many clusters, answers that at once, too. On the
 * resolver's loop and thread. */
#ifndef SKYDNS_UPSTREAM_UPSTREAM_PROBES_INTERNAL_H
#define SKYDNS_UPSTREAM_UPSTREAM_PROBES_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/addr.h"

struct forwarder_counts;
struct upstream_probes;

struct upstream_probes_config {
    struct ev_loop *loop;
    struct forwarder_counts *counts; /* borrowed */
    /* Asked before each probe: false ends them. */
    bool (*is_wanted)(void *data, const struct addr *server);
    void (*answered)(void *data, const struct addr *server); /* the probes end with it */
    void *data;
};

struct upstream_probes *upstream_probes_new(const struct upstream_probes_config *config);
void upstream_probes_free(struct upstream_probes *probes); /* NULL is fine */

/* Nothing happens when the server is being probed already. */
void upstream_probes_start(struct upstream_probes *probes, const struct addr *server);

#endif
