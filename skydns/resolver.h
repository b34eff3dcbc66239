/* The thread that waits: TCP, and every query that cannot be answered from memory at once (another
 * domain's name, a record that points to one, a walk over thousands of records). It calls the same
 * engine_answer as the workers, on the store of that moment:
 *
 *     worker -- ring --> resolver: engine_answer --> reply
 *                          |  FORWARD: forwarder, then engine_forwarded --> reply
 *                          `  LOOKUP: forwarder for each name, then engine_answer again --> reply
 *
 * Walks take milliseconds each, all of this thread's time: they wait in a queue of their own, and
 * between two of them everything else gets its turn.
 *
 * Whatever fails ends in SERVFAIL; every query taken is answered once. Made, started, stopped and
 * freed on the main thread; the loop is its own. */
#ifndef SKYDNS_RESOLVER_H
#define SKYDNS_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/addr.h"
#include "common/attributes.h"
#include "common/err.h"
#include "skydns/engine.h"
#include "skydns/query_counts.h"

struct deferred_origin;
struct resolver;
struct snapshot_reader;

enum {
    /* Queries in hand, from all workers and connections; 0.2-1.7 KB each. */
    RESOLVER_IN_HAND_MAX = 10000,
    /* Of these, the ones that look up external names, which keep up to 16 replies of 1.2 KB. */
    RESOLVER_LOOKUPS_MAX = 1000,
    /* And the ones that wait for a walk over thousands of records: half a second's worth of a
     * headless service with 5,000 addresses. */
    RESOLVER_WALKS_MAX = 256,
    /* How long resolver_stop lets what is in hand be finished. */
    RESOLVER_DRAIN_MS = 1000,
};

/* All borrowed until resolver_free; engine and reader are the resolver's alone. */
struct resolver_config {
    const struct addr *address; /* for TCP */
    size_t connections_max;     /* at most TCP_CONNECTIONS_MAX; descriptors decide */
    const struct addr *nameservers;
    size_t nameserver_count;
    bool rotate;
    uint32_t timeout_ms;    /* of one try at one nameserver */
    size_t outstanding_max; /* at most FORWARDER_OUTSTANDING_MAX; descriptors decide */
    struct engine *engine;
    struct snapshot_reader *reader;
    unsigned workers; /* they are producers 0 to workers - 1 of resolver_defer */
    bool verbose;
};

/* Opens the TCP socket; an error names the address. */
int resolver_new(const struct resolver_config *config, struct resolver **ret_resolver,
                 struct err *err) MUST_CHECK;

int resolver_start(struct resolver *resolver, struct err *err) MUST_CHECK;

/* Worker threads, each with its own number. Copies the query. False when there is no room: the
 * caller answers SERVFAIL. */
bool resolver_defer(struct resolver *resolver, unsigned producer, const struct engine_query *query,
                    enum engine_deferral_kind kind,
                    const struct deferred_origin *origin) MUST_CHECK;

/* When no worker runs any more: takes no more connections, finishes what is in hand or the time
 * allows, ends the thread. Nothing happens when it never started. */
void resolver_stop(struct resolver *resolver);

void resolver_free(struct resolver *resolver); /* stopped; NULL is fine */

struct resolver_sums {
    /* Since the start */
    struct query_sums udp; /* the late replies; the queries are the workers' */
    struct query_sums tcp;
    uint64_t forwarded; /* clients' queries sent on */
    uint64_t lookups;   /* questions of our own sent */
    uint64_t failures;  /* of both: not answered usefully, or not sent */

    /* When the thread last went to sleep */
    uint64_t waiting;     /* questions that nameservers have not answered */
    uint64_t in_hand;     /* deferred queries */
    uint64_t connections; /* TCP */
};

/* Any thread. */
void resolver_sums(const struct resolver *resolver, struct resolver_sums *ret_sums);

#endif
