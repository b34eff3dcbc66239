/* A query deferred by the thread that received it to the resolver's thread, which can wait: a copy
 * of its addresses and of those bytes that matter (question_shorten), never a pointer into the
 * store. And the ring it travels through: one
 * producer, one consumer, bounded; neither ever waits for the other. */
#ifndef SKYDNS_RESOLVER_DEFERRED_H
#define SKYDNS_RESOLVER_DEFERRED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "skydns/upstream/forwarder.h"
#include "skydns/wire/deferral.h"
#include "skydns/wire/query.h"

struct lookup;
struct pooled_query;
struct resolver;
struct resolver_pool;
struct response;

/* A connection of a TCP server, recognised even if its slot has been reused since. */
struct tcp_ref {
    uint32_t slot;
    uint32_t generation;
};

struct deferred;

/* What takes late replies to where their queries came from: a worker's socket, the connections of a
 * loop. Outlives the queries that name it. */
struct reply_to {
    /* The resolver's thread; length 0: there is no response after all. False: it is known to be
     * lost. */
    bool (*send)(void *data, const struct deferred *deferred, const struct response *response);
    void *data;
};

/* Where the reply goes. */
struct deferred_origin {
    enum engine_transport transport;
    const struct reply_to *to;
    struct tcp_ref tcp; /* of all but UDP */
    uint64_t tag;       /* tcp_server_reply's */
};

struct deferred {
    /* The resolver's: its list of queries in hand, and the external questions in flight. */
    TAILQ_ENTRY(deferred) entry;
    struct resolver *resolver;
    struct lookup *lookup;
    struct resolver_pool *pool;           /* the walker or the signers have a copy of it: this */
    struct pooled_query *pooled;          /* one; else NULL */
    struct forwarder_wait wait;           /* for the reply to FORWARD */
    TAILQ_ENTRY(deferred) patience_entry; /* while is_patient */
    bool is_patient;                      /* an expired reply will be the answer, in time */
    bool is_allowed;                      /* engine_query's, like the next two */
    uint8_t path_seen;
    uint8_t path_at;
    uint64_t path_serial; /* engine_query's, too */

    enum engine_deferral_kind kind; /* why it could not be answered yet; changed by the resolver */

    /* Set once, by deferred_new. */
    struct deferred_origin origin;
    int64_t begun_us;    /* when it was deferred; clock_monotonic_us */
    int64_t received_ns; /* engine_query's, like the next one */
    uint32_t idle_ms;
    struct addr client;
    struct addr local;
    size_t len; /* at most QUESTION_WIRE_MAX, however long the query was; signed: TSIG_QUERY_MAX */
    uint8_t wire[];
};

struct deferred *deferred_new(const struct engine_query *query, enum engine_deferral_kind kind,
                              const struct deferred_origin *origin);
void deferred_free(struct deferred *deferred); /* NULL is fine */

/* Queries one thread may have in its ring; beyond that, it answers SERVFAIL itself. A tenth of a
 * second's worth of the external names a resolver thread can forward; 1 MB, at worst 2 MB. A client
 * (client_net.h) gets no further place when it has as many as are free: alone it may have half of
 * them, and there is always one for another. */
enum { DEFERRED_RING_SIZE = 4096 };

struct deferred_ring;

struct deferred_ring *deferred_ring_new(void);
void deferred_ring_free(struct deferred_ring *ring); /* and its contents; NULL is fine */

/* The producer's thread. False: the ring is full, or the client has its share; the caller keeps
 * `deferred`. */
bool deferred_ring_push(struct deferred_ring *ring, struct deferred *deferred) MUST_CHECK;

/* The producer's thread: how many more fit. */
size_t deferred_ring_room(const struct deferred_ring *ring);

/* The consumer's thread. NULL: the ring is empty. */
struct deferred *deferred_ring_pop(struct deferred_ring *ring);

#endif
