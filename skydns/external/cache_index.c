#include "skydns/external/cache_index_internal.h"

#include <stdlib.h>

#include "common/base/xalloc.h"

void cache_index_init(struct cache_index *index, size_t entries_max)
{
    size_t count = 8;
    while (count < 2 * entries_max) {
        count *= 2;
    }
    index->slots = xcalloc(count, sizeof(index->slots[0]));
    index->mask = count - 1;
}

void cache_index_fini(struct cache_index *index)
{
    free(index->slots);
}

static uint64_t get(const struct cache_index *index, size_t place)
{
    return atomic_load_explicit(&index->slots[place], memory_order_relaxed);
}

/* Release: who finds the chunk sees what was written to it. */
static void set(struct cache_index *index, size_t place, uint64_t slot)
{
    atomic_store_explicit(&index->slots[place], slot, memory_order_release);
}

static uint64_t slot_of(uint32_t hash, uint32_t chunk)
{
    return (uint64_t)hash << 32 | chunk;
}

/* The place of this slot; 0 finds the next free one. */
static size_t place_of(const struct cache_index *index, uint32_t hash, uint64_t slot)
{
    size_t place = hash & index->mask;
    while (get(index, place) != slot) {
        place = (place + 1) & index->mask;
    }
    return place;
}

void cache_index_add(struct cache_index *index, uint32_t hash, uint32_t chunk)
{
    set(index, place_of(index, hash, 0), slot_of(hash, chunk));
}

void cache_index_replace(struct cache_index *index, uint32_t hash, uint32_t chunk,
                         uint32_t with_chunk)
{
    set(index, place_of(index, hash, slot_of(hash, chunk)), slot_of(hash, with_chunk));
}

/* Whether the slot at `place`, whose search begins at `home`, may move to the gap before it. */
static bool may_move(size_t gap, size_t place, size_t home, size_t mask)
{
    return ((place - home) & mask) >= ((place - gap) & mask);
}

/* Closes the gap with slots from behind it, so that no search ends there too early. */
void cache_index_remove(struct cache_index *index, uint32_t hash, uint32_t chunk)
{
    size_t gap = place_of(index, hash, slot_of(hash, chunk)), place = gap;
    uint64_t slot;
    while ((slot = get(index, place = (place + 1) & index->mask)) != 0) {
        if (may_move(gap, place, (size_t)(slot >> 32) & index->mask, index->mask)) {
            set(index, gap, slot);
            gap = place;
        }
    }
    set(index, gap, 0);
}
