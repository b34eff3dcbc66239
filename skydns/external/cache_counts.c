#include "skydns/external/cache_counts.h"

#include <assert.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

/* Bounds the threads that can register with the publisher: 64 workers, the resolver, the walker,
 * and room for others. */
enum { THREADS_MAX = 128 };

struct slot {
    alignas(COUNTERS_ALIGN) struct cache_counts counts;
};

struct cache_tally {
    atomic_size_t count;
    struct slot slots[THREADS_MAX];
};

struct cache_tally *cache_tally_new(void)
{
    return xcalloc_aligned(alignof(struct cache_tally), sizeof(struct cache_tally));
}

void cache_tally_free(struct cache_tally *tally)
{
    free(tally);
}

struct cache_counts *cache_tally_join(struct cache_tally *tally)
{
    static struct cache_counts unheard;
    if (!tally) {
        return &unheard;
    }
    size_t at = atomic_fetch_add_explicit(&tally->count, 1, memory_order_relaxed);
    assert(at < THREADS_MAX);
    return &tally->slots[at].counts;
}

void cache_tally_sum(const struct cache_tally *tally, struct cache_counts *ret_sums)
{
    size_t count = atomic_load_explicit(&tally->count, memory_order_relaxed);
    memset(ret_sums, 0, sizeof(*ret_sums));
    for (size_t i = 0; i < count; i++) {
        counters_add(ret_sums, &tally->slots[i].counts, sizeof(*ret_sums));
    }
}
