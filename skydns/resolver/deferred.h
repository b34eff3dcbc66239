/* A query deferred by the thread that received it to the resolver's thread, which can wait: what it
 * owns (owned_query.h), never a pointer into the store. And the ring it travels through: one
 * producer, one consumer, bounded; neither ever waits for the other. */
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

/* As one number, for who keeps it without knowing what it is. */
static inline uint64_t tcp_ref_pack(struct tcp_ref ref)
{
    return (uint64_t)ref.generation << 32 | ref.slot;
}

static inline struct tcp_ref tcp_ref_unpack(uint64_t packed)
{
    return (struct tcp_ref){.slot = (uint32_t)packed, .generation = (uint32_t)(packed >> 32)};
}

struct deferred;

/* What takes late replies to where their queries came from: a worker's socket, the connections of a
 * loop. Outlives the queries that name it. */
struct reply_to {
    /* The resolver's thread; length 0: there is no response after all. False: it is known to be
     * lost. */
    bool (*send)(void *data, const struct deferred *deferred, const struct response *response);
    void *data;
    /* The same thread: whether anybody may still have a response, as far as is known, at the cost
     * of a look; before work is done for it. NULL: always. */
    bool (*is_there)(void *data, const struct deferred *deferred);
};

/* Where the reply goes. */
struct deferred_origin {
    const struct reply_to *to;
    struct tcp_ref tcp; /* of all but UDP */
    uint64_t tag;       /* tcp_server_reply's */
};

struct deferred {
    /* The resolver's: its list of queries in hand, and the external questions in flight. */
    TAILQ_ENTRY(deferred) entry;
    struct resolver *resolver;
    struct lookup *lookup;
    struct pooled_query *pooled; /* the walker or the signers have a copy of it: this; else NULL */
    struct forwarder_wait wait;  /* for the reply to FORWARD */
    TAILQ_ENTRY(deferred) timeout_entry; /* while is_patient */
    bool is_patient;                     /* an expired reply will be the answer, in time */
    bool is_scan;                        /* `pooled` is the walker's */
    uint16_t mapped_at; /* the place of its search path, from 1, where IPv4 addresses have been
                         * asked for in place of IPv6 ones (DNS64); 0: none */
    enum engine_deferral_kind kind; /* why it could not be answered yet; changed by the resolver */

    /* Set once, by deferred_new. */
    struct deferred_origin origin;
    int64_t begun_us; /* when it was deferred; clock_monotonic_us */
    struct owned_query query;
};

/* What one takes, ten thousand of them in hand: with the longest name and all EDNS options, and
 * signed. */
enum {
    DEFERRED_PLAIN_MAX = offsetof(struct deferred, query) + OWNED_QUERY_PLAIN_MAX,
    DEFERRED_MAX = offsetof(struct deferred, query) + OWNED_QUERY_MAX,
};
_Static_assert((size_t)DEFERRED_PLAIN_MAX <= 600, "what a deferred query owns");
_Static_assert((size_t)DEFERRED_MAX <= 1024, "what a signed one owns");

/* Takes a query that the engine has read (owned_query_take). */
struct deferred *deferred_new(const struct engine_query *query, enum engine_deferral_kind kind,
                              const struct deferred_origin *origin);
void deferred_free(struct deferred *deferred); /* NULL is fine */

/* Queries one thread may have in its ring; beyond that, it answers SERVFAIL itself. A tenth of a
 * second's worth of the external names a resolver thread can forward; 1.5 MB, at worst 3 MB. A
 * client (client_net.h) gets no further place when it has as many as are free: alone it may have
 * half of them, and there is always one for another. */
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
