/* Implements quiescent-state reclamation. `epoch` counts publications. A reader announces the epoch
 * it finds when it enters, and 0 when it leaves. Garbage carries the epoch that began after its
 * version was replaced: a reader that has announced that epoch or a later one can only have loaded
 * the newer version.
 *
 *     publisher                       reader
 *     current = v2                    announced = epoch
 *     epoch++                         load current
 *     load announced
 *
 * The announcement must not move after the load of `current`, nor the loads of announcements before
 * the store of `current`. Then a reader that reclaim finds outside has not loaded yet, and will
 * load v2. Sequential consistency guarantees this, so those accesses use it. Fences would do, but
 * the thread sanitizer does not support them. `config` is published the same way. */
#include "skydns/publish/publisher.h"

#include <assert.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "skydns/publish/engine_config.h"
#include "skydns/records/store_garbage.h"

/* No two readers write to the same cache line: 64 bytes, plus the adjacent line that the processor
 * fetches with it. */
enum { CACHE_LINE_PAIR = 128, OUTSIDE = 0 };

struct publisher_reader {
    alignas(CACHE_LINE_PAIR) _Atomic uint64_t announced; /* epoch, or OUTSIDE */
    struct publisher *publisher;
};

struct retired {
    struct retired *next;
    struct store_garbage *garbage; /* one of these three is set, the others are NULL */
    struct engine_config *config;
    void *block;
    void (*free_block)(void *block);
    uint64_t epoch; /* readers of this epoch or later cannot hold it */
};

struct publisher {
    struct publisher_reader readers[PUBLISHER_READERS_MAX];
    alignas(CACHE_LINE_PAIR) _Atomic(const struct store *) current;
    _Atomic(struct engine_config *) config;
    _Atomic uint64_t epoch;

    /* Main thread only. The list grows only while a reader stays inside. Every batch comes to an
     * end, so the list holds what was published during one batch. */
    alignas(CACHE_LINE_PAIR) size_t reader_count;
    uint64_t config_serial; /* of the newest configuration */
    struct retired *oldest;
    struct retired **end;

    struct store_pin pins[PUBLISHER_PINS_MAX]; /* by version, oldest first */
    size_t pin_count;
    struct store_garbage *unpinned; /* of pins that have ended: freed part by part */
};

struct publisher *publisher_new(void)
{
    struct publisher *publisher = aligned_alloc(CACHE_LINE_PAIR, sizeof(*publisher));
    if (!publisher) {
        xalloc_out_of_memory();
    }
    atomic_init(&publisher->current, NULL);
    atomic_init(&publisher->config, NULL);
    atomic_init(&publisher->epoch, OUTSIDE + 1);
    publisher->reader_count = 0;
    publisher->config_serial = 0;
    publisher->oldest = NULL;
    publisher->end = &publisher->oldest;
    publisher->pin_count = 0;
    publisher->unpinned = NULL;
    return publisher;
}

/* Frees the oldest entry, except for what pins need. */
static void free_oldest(struct publisher *publisher)
{
    struct retired *retired = publisher->oldest;
    publisher->oldest = retired->next;
    if (!publisher->oldest) {
        publisher->end = &publisher->oldest;
    }
    store_garbage_keep(retired->garbage, publisher->pins, publisher->pin_count);
    store_garbage_free(retired->garbage);
    engine_config_free(retired->config);
    if (retired->free_block) {
        retired->free_block(retired->block);
    }
    free(retired);
}

void publisher_free(struct publisher *publisher)
{
    if (!publisher) {
        return;
    }
    for (size_t i = 0; i < publisher->pin_count; i++) {
        store_garbage_free(publisher->pins[i].kept);
    }
    publisher->pin_count = 0;
    store_garbage_free(publisher->unpinned);
    while (publisher->oldest) {
        free_oldest(publisher);
    }
    engine_config_free(atomic_load_explicit(&publisher->config, memory_order_relaxed));
    free(publisher);
}

struct publisher_reader *publisher_reader_new(struct publisher *publisher)
{
    assert(publisher->reader_count < PUBLISHER_READERS_MAX);
    struct publisher_reader *reader = &publisher->readers[publisher->reader_count++];
    atomic_init(&reader->announced, OUTSIDE);
    reader->publisher = publisher;
    return reader;
}

const struct store *publisher_enter(struct publisher_reader *reader)
{
    struct publisher *publisher = reader->publisher;
    uint64_t epoch = atomic_load_explicit(&publisher->epoch, memory_order_seq_cst);
    assert(atomic_load_explicit(&reader->announced, memory_order_relaxed) == OUTSIDE);
    atomic_store_explicit(&reader->announced, epoch, memory_order_seq_cst);
    return atomic_load_explicit(&publisher->current, memory_order_seq_cst);
}

void publisher_leave(struct publisher_reader *reader)
{
    atomic_store_explicit(&reader->announced, OUTSIDE, memory_order_release);
}

const struct engine_config *publisher_config(const struct publisher_reader *reader)
{
    return atomic_load_explicit(&reader->publisher->config, memory_order_seq_cst);
}

const struct engine_config *publisher_newest_config(const struct publisher *publisher)
{
    return atomic_load_explicit(&publisher->config, memory_order_relaxed);
}

/* Begins an epoch. Only readers of earlier ones can see what the last publication replaced. */
static void publish_publisher_retire(struct publisher *publisher, const struct retired *what)
{
    uint64_t epoch = 1 + atomic_fetch_add_explicit(&publisher->epoch, 1, memory_order_seq_cst);
    if (what->garbage || what->config || what->free_block) {
        struct retired *retired = xmalloc(sizeof(*retired));
        *retired = *what;
        retired->epoch = epoch;
        *publisher->end = retired;
        publisher->end = &retired->next;
    }
    (void)publisher_reclaim(publisher); /* the caller's timer retries what is still pending */
}

void publisher_publish(struct publisher *publisher, const struct store *store,
                       struct store_garbage *garbage)
{
    atomic_store_explicit(&publisher->current, store, memory_order_seq_cst);
    publish_publisher_retire(publisher, &(struct retired){.garbage = garbage});
}

void publisher_configure(struct publisher *publisher, struct engine_config *config)
{
    config->serial = ++publisher->config_serial;
    struct engine_config *old =
        atomic_exchange_explicit(&publisher->config, config, memory_order_seq_cst);
    publish_publisher_retire(publisher, &(struct retired){.config = old});
}

void publisher_retire(struct publisher *publisher, void *block, void (*fn)(void *block))
{
    publish_publisher_retire(publisher, &(struct retired){.block = block, .free_block = fn});
}

/* Returns the oldest epoch announced; UINT64_MAX when all readers are outside. */
static uint64_t oldest_announced(const struct publisher *publisher)
{
    uint64_t oldest = UINT64_MAX;
    for (size_t i = 0; i < publisher->reader_count; i++) {
        uint64_t epoch =
            atomic_load_explicit(&publisher->readers[i].announced, memory_order_seq_cst);
        if (epoch != OUTSIDE && epoch < oldest) {
            oldest = epoch;
        }
    }
    return oldest;
}

uint64_t publisher_epoch(const struct publisher *publisher)
{
    return atomic_load_explicit(&publisher->epoch, memory_order_relaxed);
}

/* Returns the oldest epoch that a reader may still be in. A reader that announced an epoch entered
 * after the publication that began it was stored. */
uint64_t publisher_seen(const struct publisher *publisher)
{
    uint64_t oldest = oldest_announced(publisher), newest = publisher_epoch(publisher);
    return oldest < newest ? oldest : newest;
}

bool publisher_reclaim(struct publisher *publisher)
{
    uint64_t oldest = publisher->oldest ? oldest_announced(publisher) : 0;
    while (publisher->oldest && publisher->oldest->epoch <= oldest) {
        free_oldest(publisher);
    }
    if (publisher->unpinned) {
        store_garbage_free_part(&publisher->unpinned, publisher->pins, publisher->pin_count);
    }
    return publisher->oldest || publisher->unpinned;
}

/* ---- Pins ---- */

const struct store *publisher_pin(struct publisher *publisher)
{
    const struct store *store = atomic_load_explicit(&publisher->current, memory_order_relaxed);
    struct store_pin *newest =
        publisher->pin_count > 0 ? &publisher->pins[publisher->pin_count - 1] : NULL;
    if (newest && newest->store == store) {
        newest->count++;
        return store;
    }
    if (!store || publisher->pin_count == PUBLISHER_PINS_MAX) {
        return NULL;
    }
    publisher->pins[publisher->pin_count++] = (struct store_pin){.store = store, .count = 1};
    return store;
}

static struct store_pin *publisher_find_pin(struct publisher *publisher, const struct store *store)
{
    struct store_pin *pin = publisher->pins;
    while (pin->store != store) {
        pin++;
        assert(pin < publisher->pins + publisher->pin_count);
    }
    return pin;
}

void publisher_unpin(struct publisher *publisher, const struct store *store)
{
    struct store_pin *pin = publisher_find_pin(publisher, store);
    if (--pin->count > 0) {
        return;
    }
    size_t behind = (size_t)(publisher->pins + publisher->pin_count - (pin + 1));
    store_garbage_join(&publisher->unpinned, pin->kept);
    memmove(pin, pin + 1, behind * sizeof(*pin));
    publisher->pin_count--;
}
