/* From a key's hash to the chunks where entries with that hash begin: open addressing, at most half
 * full. One thread writes; any thread reads meanwhile and, at worst, does not find an entry that is
 * being moved. The hash is seeded: nobody can choose names that lie close together. */
#ifndef SKYDNS_EXTERNAL_CACHE_INDEX_INTERNAL_H
#define SKYDNS_EXTERNAL_CACHE_INDEX_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cache_index {
    _Atomic uint64_t *slots; /* owned: hash and chunk number; 0: free */
    size_t mask;
};

void cache_index_init(struct cache_index *index, size_t entries_max);
void cache_index_fini(struct cache_index *index);

void cache_index_add(struct cache_index *index, uint32_t hash, uint32_t chunk);
void cache_index_remove(struct cache_index *index, uint32_t hash, uint32_t chunk);
/* At once: a reader finds the one or the other. */
void cache_index_replace(struct cache_index *index, uint32_t hash, uint32_t chunk,
                         uint32_t with_chunk);

static inline void cache_index_prefetch(const struct cache_index *index, uint32_t hash)
{
    __builtin_prefetch(&index->slots[hash & index->mask]);
}

/* The chunks with this hash, one after another; 0: no more. `*step` starts at 0. */
static inline uint32_t cache_index_next(const struct cache_index *index, uint32_t hash,
                                        size_t *step)
{
    while (*step <= index->mask) {
        uint64_t slot = atomic_load_explicit(&index->slots[(hash + (*step)++) & index->mask],
                                             memory_order_acquire);
        if (slot == 0) {
            return 0;
        }
        if (slot >> 32 == hash) {
            return (uint32_t)slot;
        }
    }
    return 0;
}

#endif
