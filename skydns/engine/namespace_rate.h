/* Limits the queries that all clients of a namespace together may send in a second
 * (-rate-namespace). All transports count, whatever cookies say. A client is a pod's address.
 *
 * Each namespace is a queue that is only computed: what it has taken and not yet paid for, at most
 * `burst` queries, drained at its rate. A client may have as much of the queue as is free. So one
 * client that floods has half of it, two have a third each, and so on, and as much is free for
 * everybody else: clients that send less than their even share lose nothing, and those that send
 * more get even shares. A client alone gets the whole rate, but at most half of the burst at once.
 *
 *     burst  |= = = = a = = = =|= b =|. . . . . . free . . . . . .|   a may have no more than that
 *
 * A client's part of the queue leaves in proportion to the parts of the others, as from a queue
 * that is served in order. No list of clients is needed for that, only its part and when it was
 * last computed: one word. All threads share two tables (rate_table_internal.h) without locks.
 * Threads that charge one client at the same moment may let it have a query more each; the
 * namespace is exact.
 *
 * Clients enter only with addresses of pods, which nobody forges by the million as those of
 * rate_limit.h. So the client heard longest ago is evicted, and starts without a part: the table
 * has room for all that send within a few seconds. */
#ifndef SKYDNS_ENGINE_NAMESPACE_RATE_H
#define SKYDNS_ENGINE_NAMESPACE_RATE_H

#include <stdint.h>

#include "common/base/addr.h"
#include "skydns/clients/client_index.h"
#include "skydns/engine/rate_limit.h"

struct namespace_rate;
struct rate_entry;

enum {
    NAMESPACE_RATE_SPACES = 16 * 1024,  /* more than a cluster has (10,000): 256 KiB */
    NAMESPACE_RATE_CLIENTS = 64 * 1024, /* that send within a few seconds: 1 MiB */
};

struct namespace_rate *namespace_rate_new(void);
void namespace_rate_free(struct namespace_rate *limit); /* NULL is fine */

/* Queue of a namespace at one moment, as time that it takes to drain. */
struct namespace_queue {
    uint64_t now_ns;
    uint64_t cost_ns;  /* of a query */
    uint64_t max_ns;   /* of the burst */
    uint64_t ahead_ns; /* what is in it */
};

/* Charges at one moment, one after the other: begun cheaper than each by itself. Any thread. */
struct namespace_charges {
    struct namespace_rate *limit;
    struct namespace_queue queue;
    const struct client_space *space; /* the last client's; NULL: none yet */
    struct rate_entry *of_space;
};

/* Begins them at clock_monotonic_us; the client index may not retire namespaces until the last. */
void namespace_charges_begin(struct namespace_charges *charges, struct namespace_rate *limit,
                             const struct rate *rate, int64_t now_us);

/* Charges as namespace_rate_take. */
int64_t namespace_charges_take(struct namespace_charges *charges, const struct client_space *space,
                               const struct ip *client);

/* Charges the client and its namespace for a query, at clock_monotonic_us. Returns 0, or how many
 * us later it is worth trying again: then nothing was charged. Any thread. */
int64_t namespace_rate_take(struct namespace_rate *limit, const struct client_space *space,
                            const struct ip *client, const struct rate *rate, int64_t now_us);

/* Returns how many queries the client may send now, for display. Changes nothing. Any thread. */
uint32_t namespace_rate_left(const struct namespace_rate *limit, const struct client_space *space,
                             const struct ip *client, const struct rate *rate, int64_t now_us);

#endif
