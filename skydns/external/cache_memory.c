#include "skydns/external/cache_memory_internal.h"

#include <stdlib.h>

#include "common/base/xalloc.h"
#include "skydns/external/cache_entry_internal.h"

/* ---- Chunks ---- */

/* Allocates the chunks. Aligns them itself: an aligning allocator would zero the memory, and so
 * touch all of it. */
void cache_chunks_init(struct cache_chunks *chunks, uint32_t count)
{
    *chunks = (struct cache_chunks){.count = count};
    char *block = xcalloc((size_t)count + 1, sizeof(struct chunk));
    size_t offset = CHUNK_SIZE - (uintptr_t)block % CHUNK_SIZE;
    chunks->block = block;
    chunks->items = (struct chunk *)(void *)(block + offset % CHUNK_SIZE);
}

void cache_chunks_fini(struct cache_chunks *chunks)
{
    free(chunks->block);
}

static uint32_t take_one(struct cache_chunks *chunks)
{
    uint32_t number = chunks->free;
    if (number != 0) {
        chunks->free = (uint32_t)chunk_get(&chunk_words(chunks, number)[CHUNK_NEXT]);
    } else {
        number = ++chunks->touched;
    }
    chunks->taken++;
    return number;
}

uint32_t cache_chunks_take(struct cache_chunks *chunks, size_t count)
{
    uint32_t first = 0;
    for (; count > 0; count--) {
        uint32_t number = take_one(chunks);
        chunk_set(&chunk_words(chunks, number)[CHUNK_NEXT], first);
        first = number;
    }
    return first;
}

void cache_chunks_return(struct cache_chunks *chunks, uint32_t first)
{
    while (first != 0) {
        _Atomic uint64_t *next = &chunk_words(chunks, first)[CHUNK_NEXT];
        uint32_t rest = (uint32_t)chunk_get(next);
        chunk_set(next, chunks->free);
        chunks->free = first;
        chunks->taken--;
        first = rest;
    }
}

/* ---- The index ---- */

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

static uint64_t cache_memory_get(const struct cache_index *index, size_t place)
{
    return atomic_load_explicit(&index->slots[place], memory_order_relaxed);
}

/* Sets a slot with release order: a thread that finds the chunk sees its words. */
static void cache_memory_set(struct cache_index *index, size_t place, uint64_t slot)
{
    atomic_store_explicit(&index->slots[place], slot, memory_order_release);
}

static uint64_t cache_memory_slot_of(uint32_t hash, uint32_t chunk)
{
    return (uint64_t)hash << 32 | chunk;
}

/* Returns the index of this slot; 0 finds the next free one. */
static size_t cache_memory_place_of(const struct cache_index *index, uint32_t hash, uint64_t slot)
{
    size_t place = hash & index->mask;
    while (cache_memory_get(index, place) != slot) {
        place = (place + 1) & index->mask;
    }
    return place;
}

void cache_index_add(struct cache_index *index, uint32_t hash, uint32_t chunk)
{
    cache_memory_set(index, cache_memory_place_of(index, hash, 0),
                     cache_memory_slot_of(hash, chunk));
}

void cache_index_replace(struct cache_index *index, uint32_t hash, uint32_t chunk,
                         uint32_t with_chunk)
{
    cache_memory_set(index, cache_memory_place_of(index, hash, cache_memory_slot_of(hash, chunk)),
                     cache_memory_slot_of(hash, with_chunk));
}

/* Returns whether the slot at `place`, whose search begins at `home`, may move to the gap before
 * it. */
static bool may_move(size_t gap, size_t place, size_t home, size_t mask)
{
    return ((place - home) & mask) >= ((place - gap) & mask);
}

/* Removes a slot, and closes the gap with later slots, so that no search ends there too early. */
void cache_index_remove(struct cache_index *index, uint32_t hash, uint32_t chunk)
{
    size_t gap = cache_memory_place_of(index, hash, cache_memory_slot_of(hash, chunk)), place = gap;
    uint64_t slot;
    while ((slot = cache_memory_get(index, place = (place + 1) & index->mask)) != 0) {
        if (may_move(gap, place, (size_t)(slot >> 32) & index->mask, index->mask)) {
            cache_memory_set(index, gap, slot);
            gap = place;
        }
    }
    cache_memory_set(index, gap, 0);
}

/* ---- The queue ---- */

struct links {
    uint32_t newer, older;
};

static struct links links_of(const struct cache_chunks *chunks, uint32_t entry)
{
    uint64_t word = chunk_get(&chunk_words(chunks, entry)[ENTRY_LINKS]);
    return (struct links){(uint32_t)(word >> 32), (uint32_t)word};
}

static void set_links(const struct cache_chunks *chunks, uint32_t entry, struct links links)
{
    chunk_set(&chunk_words(chunks, entry)[ENTRY_LINKS], (uint64_t)links.newer << 32 | links.older);
}

static void set_newer(const struct cache_chunks *chunks, uint32_t entry, uint32_t newer)
{
    set_links(chunks, entry, (struct links){newer, links_of(chunks, entry).older});
}

static void set_older(const struct cache_chunks *chunks, uint32_t entry, uint32_t older)
{
    set_links(chunks, entry, (struct links){links_of(chunks, entry).newer, older});
}

void cache_queue_add(struct cache_queue *queue, const struct cache_chunks *chunks, uint32_t entry,
                     size_t entry_chunks)
{
    set_links(chunks, entry, (struct links){.older = queue->newest});
    if (queue->newest) {
        set_newer(chunks, queue->newest, entry);
    } else {
        queue->oldest = entry;
    }
    queue->newest = entry;
    queue->entries++;
    queue->chunks += entry_chunks;
}

void cache_queue_remove(struct cache_queue *queue, const struct cache_chunks *chunks,
                        uint32_t entry, size_t entry_chunks)
{
    struct links links = links_of(chunks, entry);
    if (queue->hand == entry) {
        queue->hand = links.newer;
    }
    if (links.newer) {
        set_older(chunks, links.newer, links.older);
    } else {
        queue->newest = links.older;
    }
    if (links.older) {
        set_newer(chunks, links.older, links.newer);
    } else {
        queue->oldest = links.newer;
    }
    queue->entries--;
    queue->chunks -= entry_chunks;
}

uint32_t cache_queue_victim(struct cache_queue *queue, const struct cache_chunks *chunks,
                            cache_take_use_fn take_use)
{
    uint32_t entry = queue->hand ? queue->hand : queue->oldest;
    for (unsigned spared = 0; entry && spared < QUEUE_SPARED_MAX && take_use(chunks, entry);
         spared++) {
        uint32_t newer = links_of(chunks, entry).newer;
        entry = newer ? newer : queue->oldest;
    }
    queue->hand = entry;
    return entry;
}
