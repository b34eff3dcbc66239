/* Answers UDP on a thread of its own, the fast path: receives a batch, answers it from one version
 * of the record store, sends the responses, and sleeps until the next batch. Never waits for
 * anything else: queries that it cannot answer at once go to the resolver. Holds no version while
 * asleep.
 *
 * Picks rate-limited queries out of the batch first. Those beyond their client's rate
 * (rate_limit.h) cost a look at its address, at most one at their cookie, and half of them an empty
 * response; those beyond their namespace's (namespace_rate.h), a look at the address.
 *
 * Puts an answer that takes more than ENGINE_BRIEF_MAX visits aside until the others of its batch
 * are sent. Such answers take half a millisecond in all, and the rest goes to the resolver. */
#ifndef SKYDNS_UDP_WORKER_H
#define SKYDNS_UDP_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/err.h"

struct client_counts;
struct engine;
struct engine_counts;
struct namespace_rate;
struct query_sums;
struct rate_limit;
struct resolver;
struct publisher_reader;
struct query_tap;
struct transfers;
struct udp_server;
struct worker;

/* Parts of the program, all borrowed until worker_join ends; engine, reader and udp are this
 * worker's alone. */
struct worker_config {
    unsigned index; /* the number of its ring at the resolver */
    struct udp_server *udp;
    struct engine *engine;
    struct publisher_reader *reader;
    struct resolver *resolver;
    struct transfers *transfers;           /* NULL: none */
    struct rate_limit *rate_limit;         /* of all workers */
    struct namespace_rate *namespace_rate; /* of all threads */
    const struct query_tap *tap;
    struct client_counts *clients; /* this worker's; NULL: the tap never counts them */
    bool want_skydns_metrics;
};

/* Starts the thread. Main thread. */
int worker_start(const struct worker_config *config, struct worker **ret_worker,
                 struct err *err) MUST_CHECK;

/* Waits until the last batch is answered. Main thread, after udp_server_stop. */
void worker_join(struct worker *worker);

void worker_free(struct worker *worker); /* joined; NULL is fine */

/* Adds the worker's counts since its start (query_counts.h). Any thread. */
void worker_sums_add(const struct worker *worker, struct query_sums *sums);

/* Returns the processor time of its thread since the start. Main thread, before worker_join. */
int64_t worker_cpu_ns(const struct worker *worker);

/* Returns the counts of its engine; borrowed. Any thread. */
const struct engine_counts *worker_engine_counts(const struct worker *worker);

#endif
