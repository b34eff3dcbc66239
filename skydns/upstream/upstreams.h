/* The nameservers, and what is known of each: one that failed twice in succession is left for the
 * others until a probe has had an answer from it; one that leads back to this program is not used.
 * Plain data, no I/O; the resolver's thread. Servers are told by their address, since the list may
 * be replaced while questions are under way. */
#ifndef SKYDNS_UPSTREAM_UPSTREAMS_H
#define SKYDNS_UPSTREAM_UPSTREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"

enum {
    UPSTREAMS_MAX = 16, /* a resolv.conf has 3, a long -nameservers list a handful */
    UPSTREAM_FAILURES_MAX = 2,
};

struct upstream {
    struct addr address;
    unsigned failures; /* in succession */
    bool is_looping;
};

struct upstreams {
    size_t count;
    struct upstream items[UPSTREAMS_MAX];
};

/* Replaces the list. Of servers that stay their failures are kept; whether they lead back is to be
 * found out again. At most UPSTREAMS_MAX. */
void upstreams_set(struct upstreams *upstreams, const struct addr *servers, size_t count);

/* NULL: it is not in the list (any more). */
struct upstream *upstreams_find(struct upstreams *upstreams, const struct addr *server);

bool upstream_is_dead(const struct upstream *upstream);

/* The servers in the order in which they are to be tried: from number `first` on (modulo the
 * count) those that live, then those that are dead. Returns how many. */
size_t upstreams_order(const struct upstreams *upstreams, size_t first,
                       struct addr ret_order[UPSTREAMS_MAX]);

/* True when the server died (came back) by that. */
bool upstream_note_failure(struct upstream *upstream);
bool upstream_note_answer(struct upstream *upstream);

size_t upstreams_dead(const struct upstreams *upstreams);

#endif
