#include "skydns/resolver/deferred.h"

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/fair_queue.h"
#include "common/base/xalloc.h"

/* The ring. Head and tail only grow; the ring holds their difference. */
struct deferred_ring {
    _Atomic size_t head; /* next to pop; the consumer's */
    _Atomic size_t tail; /* next to push; the producer's */
    struct deferred *slots[DEFERRED_RING_SIZE];

    /* The producer's alone: the clients of the queries from `counted` to the tail. Those up to the
     * head are discounted at the next push. */
    size_t counted;
    struct client_loads *loads;
    struct addr clients[DEFERRED_RING_SIZE];
};

struct deferred *deferred_new(const struct engine_query *query, enum engine_deferral_kind kind,
                              const struct deferred_origin *origin)
{
    union owned_query_room room;
    const size_t size = owned_query_take(&room.query, query);
    assert(offsetof(struct deferred, query) + size >= sizeof(struct deferred));
    struct deferred *d = xmalloc(offsetof(struct deferred, query) + size);
    *d = (struct deferred){.kind = kind, .origin = *origin, .begun_us = clock_monotonic_us()};
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
    return ring;
}

void deferred_ring_free(struct deferred_ring *ring)
{
    if (ring) {
        struct deferred *d;
        while ((d = deferred_ring_pop(ring))) {
            deferred_free(d);
        }
        client_loads_free(ring->loads);
        free(ring);
    }
}

/* Returns the room. The load acquires: the consumer has read a slot's pointer before it is
 * overwritten. */
size_t deferred_ring_room(const struct deferred_ring *ring)
{
    size_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    size_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    return DEFERRED_RING_SIZE - (tail - head);
}

static void discount_popped(struct deferred_ring *ring, size_t head)
{
    for (; ring->counted != head; ring->counted++) {
        client_loads_drop(ring->loads, &ring->clients[ring->counted % DEFERRED_RING_SIZE]);
    }
}

bool deferred_ring_push(struct deferred_ring *ring, struct deferred *deferred)
{
    size_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    const size_t room = deferred_ring_room(ring);
    discount_popped(ring, tail - (DEFERRED_RING_SIZE - room));
    if (!client_loads_take(ring->loads, &deferred->query.client, room)) {
        return false;
    }
    ring->clients[tail % DEFERRED_RING_SIZE] = deferred->query.client;
    ring->slots[tail % DEFERRED_RING_SIZE] = deferred;
    atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
    return true;
}

struct deferred *deferred_ring_pop(struct deferred_ring *ring)
{
    size_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    size_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
    if (head == tail) {
        return NULL;
    }
    struct deferred *d = ring->slots[head % DEFERRED_RING_SIZE];
    atomic_store_explicit(&ring->head, head + 1, memory_order_release);
    return d;
}
