#include "skydns/engine/namespace_rate.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/seeded_hash.h"
#include "common/base/xalloc.h"
#include "skydns/engine/rate_table_internal.h"
#include "skydns/publish/engine_config.h"

/* Units of a client's word: when its part was computed, in 65 us, in the upper half; its part of
 * the queue, in 1024ths of a query, in the lower. So the smallest word is the oldest. */
enum { TICK_BITS = 16, PART_BITS = 32, PART_OF_ONE = 1024 };
_Static_assert((uint64_t)ENGINE_RATE_MAX *PART_OF_ONE <= UINT32_MAX, "the largest part fits");

/* Bounds how far a thread's clock may be behind another's: a word from later than that is one of
 * 78 hours ago. */
enum { SKEW_TICKS = 1 << 14 };

struct namespace_rate {
    struct rate_table spaces;  /* words: until when the namespace has paid, monotonic ns */
    struct rate_table clients; /* words as above */
};

struct namespace_rate *namespace_rate_new(void)
{
    struct namespace_rate *limit = xcalloc(1, sizeof(*limit));
    rate_table_init(&limit->spaces, NAMESPACE_RATE_SPACES);
    rate_table_init(&limit->clients, NAMESPACE_RATE_CLIENTS);
    return limit;
}

void namespace_rate_free(struct namespace_rate *limit)
{
    if (limit) {
        rate_table_fini(&limit->spaces);
        rate_table_fini(&limit->clients);
        free(limit);
    }
}

/* Return keys that are not 0, and are their own hashes. */
static uint64_t namespace_rate_key_of_space(const struct client_space *space)
{
    return seeded_hash64(client_space_label(space)) | 1;
}

static uint64_t namespace_rate_key_of_client(const struct ip *client)
{
    return seeded_hash64(slice_of(client->bytes, client->family_bytes)) | 1;
}

/* Returns the hash that chooses the set: the lower bits are those of a key that is not 0. */
static uint32_t namespace_rate_hash(uint64_t key)
{
    return (uint32_t)(key >> 32);
}

/* ---- The queue ---- */

/* Sets what all queues with this rate have in common at one moment. */
static void namespace_queue_begin(struct namespace_queue *queue, const struct rate *rate,
                                  int64_t now_us)
{
    queue->now_ns = (uint64_t)now_us * 1000;
    queue->cost_ns = UINT64_C(1000000000) / rate->per_s;
    queue->max_ns = (uint64_t)rate->burst * queue->cost_ns;
}

/* Sets what is in the queue, by the namespace's word. After a change of the rate, it is at most
 * full. */
static void namespace_queue_fill(struct namespace_queue *queue, uint64_t paid_ns)
{
    uint64_t ahead_ns = paid_ns > queue->now_ns ? paid_ns - queue->now_ns : 0;
    queue->ahead_ns = ahead_ns < queue->max_ns ? ahead_ns : queue->max_ns;
}

static uint64_t age_ns_of(const struct namespace_queue *queue, uint64_t word)
{
    const uint32_t now = (uint32_t)(queue->now_ns >> TICK_BITS);
    const uint32_t ticks = now - (uint32_t)(word >> PART_BITS);
    return ticks > UINT32_MAX - SKEW_TICKS ? 0 : (uint64_t)ticks << TICK_BITS;
}

/* Returns the word of a client that was heard longest ago: ticks begin anew every 78 hours. */
static uint64_t oldest_word(const struct namespace_queue *queue)
{
    const uint32_t now = (uint32_t)(queue->now_ns >> TICK_BITS);
    return (uint64_t)(now + SKEW_TICKS + 1) << PART_BITS;
}

/* Returns what is left of the client's part, in PART_OF_ONE of a query. If the queue has stayed as
 * long as it is for `age`, ahead / (ahead + age) is a little more than what has not left; if
 * nothing came in, it is exact. */
static uint32_t part_left(const struct namespace_queue *queue, uint64_t word)
{
    const uint32_t part = (uint32_t)word;
    if (queue->ahead_ns == 0 || part == 0) {
        return 0;
    }
    const double ahead_ns = (double)queue->ahead_ns;
    return (uint32_t)(part * (ahead_ns / (ahead_ns + (double)age_ns_of(queue, word))));
}

static uint64_t ns_of_part(const struct namespace_queue *queue, uint32_t part)
{
    return (uint64_t)part * queue->cost_ns / PART_OF_ONE;
}

/* Returns by how much a further query of the client is too much for what is free; 0: it fits. */
static uint64_t namespace_queue_excess(const struct namespace_queue *queue, uint64_t clients_word)
{
    const uint64_t wanted_ns =
        ns_of_part(queue, part_left(queue, clients_word)) + queue->cost_ns + queue->ahead_ns;
    return wanted_ns > queue->max_ns ? wanted_ns - queue->max_ns : 0;
}

/* ---- Charging ---- */

/* Adds a query to the client's part; `queue` is as before it. */
static void charge_client(struct rate_entry *client, const struct namespace_queue *queue)
{
    const uint64_t now = (uint64_t)(uint32_t)(queue->now_ns >> TICK_BITS) << PART_BITS;
    uint64_t old = atomic_load_explicit(&client->word, memory_order_relaxed), new;
    do {
        new = now | (part_left(queue, old) + PART_OF_ONE);
    } while (!atomic_compare_exchange_weak_explicit(&client->word, &old, new, memory_order_relaxed,
                                                    memory_order_relaxed));
}

/* Charges the namespace, if the query fits. Returns by how much it does not. */
static uint64_t charge_space(struct rate_entry *space, const struct rate_entry *client,
                             struct namespace_queue *queue)
{
    uint64_t old = atomic_load_explicit(&space->word, memory_order_relaxed);
    for (;;) {
        namespace_queue_fill(queue, old);
        const uint64_t excess_ns = namespace_queue_excess(
            queue, atomic_load_explicit(&client->word, memory_order_relaxed));
        if (excess_ns > 0 ||
            atomic_compare_exchange_weak_explicit(&space->word, &old,
                                                  queue->now_ns + queue->ahead_ns + queue->cost_ns,
                                                  memory_order_relaxed, memory_order_relaxed)) {
            return excess_ns;
        }
    }
}

void namespace_charges_begin(struct namespace_charges *charges, struct namespace_rate *limit,
                             const struct rate *rate, int64_t now_us)
{
    charges->limit = limit;
    charges->space = NULL;
    charges->of_space = NULL;
    namespace_queue_begin(&charges->queue, rate, now_us);
}

/* Finds the entry of a namespace, which is often that of the last client's. */
static struct rate_entry *namespace_charges_find(struct namespace_charges *charges,
                                                 const struct client_space *space)
{
    if (space != charges->space) {
        const uint64_t key = namespace_rate_key_of_space(space);
        charges->space = space;
        charges->of_space = rate_table_find(&charges->limit->spaces, namespace_rate_hash(key), key,
                                            charges->queue.now_ns, 0);
    }
    return charges->of_space;
}

int64_t namespace_charges_take(struct namespace_charges *charges, const struct client_space *space,
                               const struct ip *client)
{
    const uint64_t key = namespace_rate_key_of_client(client);
    struct rate_entry *of_space = namespace_charges_find(charges, space);
    struct rate_entry *of_client = rate_table_find(
        &charges->limit->clients, namespace_rate_hash(key), key, 0, oldest_word(&charges->queue));
    if (!of_space || !of_client) {
        return 0; /* too many others want an entry at this moment */
    }
    const uint64_t excess_ns = charge_space(of_space, of_client, &charges->queue);
    if (excess_ns > 0) {
        return (int64_t)(excess_ns / 2000) + 1; /* the queue and the client's part both shrink */
    }
    charge_client(of_client, &charges->queue);
    return 0;
}

int64_t namespace_rate_take(struct namespace_rate *limit, const struct client_space *space,
                            const struct ip *client, const struct rate *rate, int64_t now_us)
{
    struct namespace_charges charges;
    namespace_charges_begin(&charges, limit, rate, now_us);
    return namespace_charges_take(&charges, space, client);
}

/* Counts what fits: each query takes from what is free, and adds to the client's part. */
uint32_t namespace_rate_left(const struct namespace_rate *limit, const struct client_space *space,
                             const struct ip *client, const struct rate *rate, int64_t now_us)
{
    struct namespace_queue queue;
    const uint64_t key = namespace_rate_key_of_space(space),
                   client_key = namespace_rate_key_of_client(client);
    namespace_queue_begin(&queue, rate, now_us);
    namespace_queue_fill(&queue, rate_table_word(&limit->spaces, namespace_rate_hash(key), key));
    const uint64_t word =
        rate_table_word(&limit->clients, namespace_rate_hash(client_key), client_key);
    const uint64_t taken_ns = ns_of_part(&queue, part_left(&queue, word)) + queue.ahead_ns;
    return taken_ns + queue.cost_ns > queue.max_ns
               ? 0
               : (uint32_t)((queue.max_ns - taken_ns + queue.cost_ns) / (2 * queue.cost_ns));
}
