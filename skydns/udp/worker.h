/* The fast path, a thread that answers UDP: receives a batch, answers it from one version of the
 * store, sends the replies, and sleeps until the next batch. It never waits for anything else:
 * queries that it cannot answer at once go to the resolver. It holds no version while asleep.
 *
 * Queries beyond their client's rate (rate_limit.h) are picked out of the batch first: they cost a
 * look at the client's address, at most one at their cookie, and half of them an empty reply.
 *
 * An answer that takes more than ENGINE_BRIEF_MAX visits is put aside until the others of its batch
 * are sent; such answers take half a millisecond in all, and what is left goes to the resolver. */
#ifndef SKYDNS_UDP_WORKER_H
#define SKYDNS_UDP_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/err.h"

struct engine;
struct engine_counts;
struct query_sums;
struct rate_limit;
struct resolver;
struct publisher_reader;
struct query_tap;
struct transfers;
struct udp_server;
struct worker;

/* All borrowed until worker_join ends; engine, reader and udp are this worker's alone. */
struct worker_config {
    unsigned index; /* the number of its ring at the resolver */
    struct udp_server *udp;
    struct engine *engine;
    struct publisher_reader *reader;
    struct resolver *resolver;
    struct transfers *transfers;   /* NULL: none */
    struct rate_limit *rate_limit; /* of all workers */
    const struct query_tap *tap;
    bool want_skydns_metrics;
};

/* Main thread. */
int worker_start(const struct worker_config *config, struct worker **ret_worker,
                 struct err *err) MUST_CHECK;

/* Main thread, after udp_server_stop: waits until the last batch is answered. */
void worker_join(struct worker *worker);

void worker_free(struct worker *worker); /* joined; NULL is fine */

/* Any thread: adds the worker's counts since its start (query_counts.h). */
void worker_sums_add(const struct worker *worker, struct query_sums *sums);

/* Any thread: what its engine counts. Borrowed. */
const struct engine_counts *worker_engine_counts(const struct worker *worker);

#endif
