/* Defers a query from the thread that received it to the resolver's thread, which can wait: with
 * its own data (owned_query.h), never a pointer into the store. It travels through a bounded ring
 * with one producer and one consumer; neither ever waits for the other. Clients leave it in turns,
 * so that another's burst delays a query by one of each such client. */
#ifndef SKYDNS_RESOLVER_DEFERRED_H
#define SKYDNS_RESOLVER_DEFERRED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/base/attributes.h"
#include "skydns/upstream/forwarder.h"
#include "skydns/wire/deferral.h"
#include "skydns/wire/owned_query.h"

struct lookup;
struct pooled_query;
struct resolver;
struct response;

/* A connection of a TCP server, recognised even if its slot has been reused since. */
struct tcp_ref {
    uint32_t slot;
    uint32_t generation;
};

/* Packs it as one number, for code that stores it without knowing what it is. */
static inline uint64_t tcp_ref_pack(struct tcp_ref ref)
{
    return (uint64_t)ref.generation << 32 | ref.slot;
}

static inline struct tcp_ref tcp_ref_unpack(uint64_t packed)
{
    return (struct tcp_ref){.slot = (uint32_t)packed, .generation = (uint32_t)(packed >> 32)};
}

struct deferred;

/* Takes late responses to the queries' origins: a worker's socket, the connections of a loop.
 * Outlives the queries that name it. */
struct reply_to {
    /* Sends a response; length 0: there is none after all. Returns false when it is known to be
     * lost. The resolver's thread. */
    bool (*send)(void *data, const struct deferred *deferred, const struct response *response);
    void *data;
    /* Returns whether a client may still have a response, as far as one look tells, before work is
     * done for it. NULL: always. The same thread. */
    bool (*is_there)(void *data, const struct deferred *deferred);
};

/* The destination of the response. */
struct deferred_origin {
    const struct reply_to *to;
    struct tcp_ref tcp; /* set for all but UDP */
    uint64_t tag;       /* tcp_server_reply's */
};

struct deferred {
    /* Its turn is the ring's; then the wait is the resolver's, for the response to FORWARD. */
    struct forwarder_wait wait;
    /* The resolver's: its list of deferred queries, and their outstanding external
     * questions. */
    TAILQ_ENTRY(deferred) entry;
    struct resolver *resolver;
    struct lookup *lookup;
    struct pooled_query *pooled; /* the copy that the walker or the signers have of it; else NULL */
    TAILQ_ENTRY(deferred) timeout_entry; /* while is_patient */
    bool is_patient;                     /* in time, a stale answer will do */
    bool is_scan;                        /* `pooled` is the walker's */
    uint16_t mapped_at; /* the place in its search list, counted from 1, whose IPv4 addresses have
                         * been asked for instead of IPv6 ones (DNS64); 0: none */
    enum engine_deferral_kind
        kind; /* the reason why it is not answered yet; changed by the resolver */

    /* Set once, by deferred_new: */
    struct deferred_origin origin;
    int64_t begun_us; /* when it was deferred; clock_monotonic_us */
    struct owned_query query;
};

/* Bounds the size of one, of which there may be ten thousand: with the longest name and all EDNS
 * options, and with TSIG. */
enum {
    DEFERRED_PLAIN_MAX = offsetof(struct deferred, query) + OWNED_QUERY_PLAIN_MAX,
    DEFERRED_MAX = offsetof(struct deferred, query) + OWNED_QUERY_MAX,
};
_Static_assert((size_t)DEFERRED_PLAIN_MAX <= 600, "what a deferred query owns");
_Static_assert((size_t)DEFERRED_MAX <= 1024, "what a signed one owns");

/* Takes a query that the engine has parsed (owned_query_take). */
struct deferred *deferred_new(const struct engine_query *query, enum engine_deferral_kind kind,
                              const struct deferred_origin *origin);
void deferred_free(struct deferred *deferred); /* NULL is fine */

/* Bounds the queries that one thread may have in its ring; a thread whose ring is full answers
 * SERVFAIL itself. It is a tenth of a second's worth of the external names that a resolver thread
 * can forward; 1.5 MB, at worst 3 MB. A client (client_net.h) gets no further place when it has as
 * many as are free. So it may have half of them alone, and there is always one for another. */
enum { DEFERRED_RING_SIZE = 4096 };

struct deferred_ring;

struct deferred_ring *deferred_ring_new(void);
void deferred_ring_free(struct deferred_ring *ring); /* frees its contents, too; NULL is fine */

/* Pushes a query. Returns false when the ring is full, or the client has its share; then the caller
 * keeps `deferred`. The producer's thread. */
bool deferred_ring_push(struct deferred_ring *ring, struct deferred *deferred) MUST_CHECK;

/* Returns how many more fit. The producer's thread. */
size_t deferred_ring_room(const struct deferred_ring *ring);

/* Takes the oldest query of the client whose turn it is. NULL: the ring is empty. The consumer's
 * thread. */
struct deferred *deferred_ring_pop(struct deferred_ring *ring);

#endif
