/* Quiescent-state reclamation. `epoch` counts publications; a reader announces the epoch it finds
 * when it enters, and 0 when it leaves. Garbage carries the epoch that began after its version was
 * replaced: a reader that has announced that epoch or a later one can only have loaded the newer
 * version.
 *
 *     publisher                       reader
 *     current = v2                    announced = epoch
 *     epoch++                         load current
 *     load announced
 *
 * The announcement must not move after the load of `current`, nor the loads of announcements before
 * the store of `current`: then a reader that reclaim finds outside has not loaded yet and will load
 * v2. Sequential consistency guarantees this, so those accesses use it; fences would do, but the
 * thread sanitizer does not support them. `config` is published the same way. */
#include "skydns/store/snapshot.h"

#include <assert.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "skydns/store/engine_config.h"

/* No two readers write to the same cache line: 64 bytes, plus the adjacent line that the processor
 * fetches with it. */
enum { CACHE_LINE_PAIR = 128, OUTSIDE = 0 };

struct snapshot_reader {
    alignas(CACHE_LINE_PAIR) _Atomic uint64_t announced; /* epoch, or OUTSIDE */
    struct snapshot *snapshot;
};

struct retired {
    struct retired *next;
    struct store_garbage *garbage; /* this or config, the other is NULL */
    struct engine_config *config;
    uint64_t epoch; /* readers of this epoch or later cannot hold it */
};

struct snapshot {
    struct snapshot_reader readers[SNAPSHOT_READERS_MAX];
    alignas(CACHE_LINE_PAIR) _Atomic(const struct store *) current;
    _Atomic(struct engine_config *) config;
    _Atomic uint64_t epoch;

    /* Main thread only. The list grows only while a reader stays inside: every batch comes to an
     * end, so the list holds what was published during one batch. */
    alignas(CACHE_LINE_PAIR) size_t reader_count;
    uint64_t config_serial; /* of the newest configuration */
    struct retired *oldest;
    struct retired **end;
};

struct snapshot *snapshot_new(void)
{
    struct snapshot *snapshot = aligned_alloc(CACHE_LINE_PAIR, sizeof(*snapshot));
    if (!snapshot) {
        xalloc_out_of_memory();
    }
    atomic_init(&snapshot->current, NULL);
    atomic_init(&snapshot->config, NULL);
    atomic_init(&snapshot->epoch, OUTSIDE + 1);
    snapshot->reader_count = 0;
    snapshot->config_serial = 0;
    snapshot->oldest = NULL;
    snapshot->end = &snapshot->oldest;
    return snapshot;
}

/* Frees the oldest entry. */
static void free_oldest(struct snapshot *snapshot)
{
    struct retired *retired = snapshot->oldest;
    snapshot->oldest = retired->next;
    if (!snapshot->oldest) {
        snapshot->end = &snapshot->oldest;
    }
    store_garbage_free(retired->garbage);
    engine_config_free(retired->config);
    free(retired);
}

void snapshot_free(struct snapshot *snapshot)
{
    if (!snapshot) {
        return;
    }
    while (snapshot->oldest) {
        free_oldest(snapshot);
    }
    engine_config_free(atomic_load_explicit(&snapshot->config, memory_order_relaxed));
    free(snapshot);
}

struct snapshot_reader *snapshot_reader_new(struct snapshot *snapshot)
{
    assert(snapshot->reader_count < SNAPSHOT_READERS_MAX);
    struct snapshot_reader *reader = &snapshot->readers[snapshot->reader_count++];
    atomic_init(&reader->announced, OUTSIDE);
    reader->snapshot = snapshot;
    return reader;
}

const struct store *snapshot_enter(struct snapshot_reader *reader)
{
    struct snapshot *snapshot = reader->snapshot;
    uint64_t epoch = atomic_load_explicit(&snapshot->epoch, memory_order_seq_cst);
    assert(atomic_load_explicit(&reader->announced, memory_order_relaxed) == OUTSIDE);
    atomic_store_explicit(&reader->announced, epoch, memory_order_seq_cst);
    return atomic_load_explicit(&snapshot->current, memory_order_seq_cst);
}

void snapshot_leave(struct snapshot_reader *reader)
{
    atomic_store_explicit(&reader->announced, OUTSIDE, memory_order_release);
}

const struct engine_config *snapshot_config(const struct snapshot_reader *reader)
{
    return atomic_load_explicit(&reader->snapshot->config, memory_order_seq_cst);
}

const struct engine_config *snapshot_newest_config(const struct snapshot *snapshot)
{
    return atomic_load_explicit(&snapshot->config, memory_order_relaxed);
}

/* Begins an epoch; only readers of earlier ones can see what the last publication replaced. */
static void retire(struct snapshot *snapshot, struct store_garbage *garbage,
                   struct engine_config *config)
{
    uint64_t epoch = 1 + atomic_fetch_add_explicit(&snapshot->epoch, 1, memory_order_seq_cst);
    if (garbage || config) {
        struct retired *retired = xmalloc(sizeof(*retired));
        *retired = (struct retired){.garbage = garbage, .config = config, .epoch = epoch};
        *snapshot->end = retired;
        snapshot->end = &retired->next;
    }
    (void)snapshot_reclaim(snapshot); /* the caller's timer retries what is still pending */
}

void snapshot_publish(struct snapshot *snapshot, const struct store *store,
                      struct store_garbage *garbage)
{
    atomic_store_explicit(&snapshot->current, store, memory_order_seq_cst);
    retire(snapshot, garbage, NULL);
}

void snapshot_configure(struct snapshot *snapshot, struct engine_config *config)
{
    config->serial = ++snapshot->config_serial;
    struct engine_config *old =
        atomic_exchange_explicit(&snapshot->config, config, memory_order_seq_cst);
    retire(snapshot, NULL, old);
}

/* The oldest epoch announced; UINT64_MAX when all readers are outside. */
static uint64_t oldest_announced(struct snapshot *snapshot)
{
    uint64_t oldest = UINT64_MAX;
    for (size_t i = 0; i < snapshot->reader_count; i++) {
        uint64_t epoch =
            atomic_load_explicit(&snapshot->readers[i].announced, memory_order_seq_cst);
        if (epoch != OUTSIDE && epoch < oldest) {
            oldest = epoch;
        }
    }
    return oldest;
}

bool snapshot_reclaim(struct snapshot *snapshot)
{
    if (!snapshot->oldest) {
        return false;
    }
    uint64_t oldest = oldest_announced(snapshot);
    while (snapshot->oldest && snapshot->oldest->epoch <= oldest) {
        free_oldest(snapshot);
    }
    return snapshot->oldest != NULL;
}
