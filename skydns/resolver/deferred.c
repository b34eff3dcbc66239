#include "skydns/resolver/deferred.h"

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/fair_queue.h"
#include "common/base/xalloc.h"

/* Two rings: queries on their way, and back the clients of those popped. The counts only grow; the
 * ring holds the difference of `pushed` and `popped`. */
struct deferred_ring {
    _Atomic size_t pushed; /* the producer's */
    _Atomic size_t popped; /* the consumer's */
    struct deferred *slots[DEFERRED_RING_SIZE];
    struct addr clients[DEFERRED_RING_SIZE]; /* of those popped, in that order */

    /* The producer's alone: the clients of what the ring holds. Those popped are discounted at the
     * next push. */
    size_t discounted;
    struct client_loads *loads;

    /* The consumer's alone: what it has seen in the slots and not popped. */
    size_t seen;
    struct fair_queue queue;
};

struct deferred *deferred_new(const struct engine_query *query, enum engine_deferral_kind kind,
                              const struct deferred_origin *origin)
{
    union owned_query_room room;
    const size_t size = owned_query_take(&room.query, query);
    assert(offsetof(struct deferred, query) + size >= sizeof(struct deferred));
    struct deferred *d = xmalloc(offsetof(struct deferred, query) + size);
    *d = (struct deferred){.wait.turn.net = client_net_of(query->client),
                           .kind = kind,
                           .origin = *origin,
                           .begun_us = clock_monotonic_us()};
    memcpy(&d->query, &room.query, size);
    return d;
}

void deferred_free(struct deferred *deferred)
{
    free(deferred);
}

struct deferred_ring *deferred_ring_new(void)
{
    struct deferred_ring *ring = xcalloc(1, sizeof(*ring));
    ring->loads = client_loads_new();
    fair_queue_init(&ring->queue);
    return ring;
}

void deferred_ring_free(struct deferred_ring *ring)
{
    if (ring) {
        struct deferred *d;
        while ((d = deferred_ring_pop(ring))) {
            deferred_free(d);
        }
        fair_queue_fini(&ring->queue);
        client_loads_free(ring->loads);
        free(ring);
    }
}

/* Returns the room. The load acquires: the consumer has read a slot's pointer before it is
 * overwritten, and written a client before it is read. */
size_t deferred_ring_room(const struct deferred_ring *ring)
{
    size_t pushed = atomic_load_explicit(&ring->pushed, memory_order_relaxed);
    size_t popped = atomic_load_explicit(&ring->popped, memory_order_acquire);
    return DEFERRED_RING_SIZE - (pushed - popped);
}

static void discount_popped(struct deferred_ring *ring, size_t popped)
{
    for (; ring->discounted != popped; ring->discounted++) {
        client_loads_drop(ring->loads, &ring->clients[ring->discounted % DEFERRED_RING_SIZE]);
    }
}

bool deferred_ring_push(struct deferred_ring *ring, struct deferred *deferred)
{
    size_t pushed = atomic_load_explicit(&ring->pushed, memory_order_relaxed);
    const size_t room = deferred_ring_room(ring);
    discount_popped(ring, pushed - (DEFERRED_RING_SIZE - room));
    if (!client_loads_take(ring->loads, &deferred->query.client, room)) {
        return false;
    }
    ring->slots[pushed % DEFERRED_RING_SIZE] = deferred;
    atomic_store_explicit(&ring->pushed, pushed + 1, memory_order_release);
    return true;
}

static void queue_pushed(struct deferred_ring *ring)
{
    const size_t pushed = atomic_load_explicit(&ring->pushed, memory_order_acquire);
    for (; ring->seen != pushed; ring->seen++) {
        fair_queue_push(&ring->queue, &ring->slots[ring->seen % DEFERRED_RING_SIZE]->wait.turn);
    }
}

/* A client that has been popped may not be overwritten before it is discounted: of those not
 * discounted, there are never more than the ring has places. */
struct deferred *deferred_ring_pop(struct deferred_ring *ring)
{
    queue_pushed(ring);
    struct deferred *d =
        (struct deferred *)(void *)fair_queue_pop(&ring->queue); /* first members */
    if (d) {
        size_t popped = atomic_load_explicit(&ring->popped, memory_order_relaxed);
        ring->clients[popped % DEFERRED_RING_SIZE] = d->query.client;
        atomic_store_explicit(&ring->popped, popped + 1, memory_order_release);
    }
    return d;
}
