/* A thread that answers UDP: receives a batch, answers it from one version of the store, sends the
 * replies, and sleeps until the next one. It never waits for anything else: what cannot be answered
 * at once goes to the resolver. Asleep it holds no version. */
#ifndef SKYDNS_WORKER_H
#define SKYDNS_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/attributes.h"
#include "common/err.h"

struct engine;
struct resolver;
struct snapshot_reader;
struct udp_server;
struct worker;

/* All borrowed until worker_join ends; engine, reader and udp are this worker's alone. */
struct worker_config {
    unsigned index; /* its ring at the resolver */
    struct udp_server *udp;
    struct engine *engine;
    struct snapshot_reader *reader;
    struct resolver *resolver;
    bool verbose;
};

/* Since the thread started. Written by the worker, once a batch; any thread may read. */
struct worker_counts {
    uint64_t queries;  /* packets received */
    uint64_t replies;  /* answered by the worker */
    uint64_t deferred; /* handed to the resolver */
    uint64_t refused;  /* SERVFAIL because the resolver had no room */
    uint64_t unsent;   /* replies the kernel did not take */
};

/* Main thread. */
int worker_start(const struct worker_config *config, struct worker **ret_worker,
                 struct err *err) MUST_CHECK;

/* Main thread, after udp_server_stop: waits until the last batch is answered. */
void worker_join(struct worker *worker);

void worker_free(struct worker *worker); /* joined; NULL is fine */

/* Any thread: adds the worker's counts to the sum. */
void worker_counts_add(const struct worker *worker, struct worker_counts *sum);

#endif
