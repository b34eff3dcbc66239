/* Manages the response cache's memory, the index of its entries, and the order of their eviction.
 *
 * An entry takes one chunk of 256 bytes or a chain of them. Chunks are allocated once and touched
 * only as they are used. One thread takes and returns them. Any thread reads them, even while they
 * are written: every word is atomic, and a result counts only if the entry's sequence is still the
 * same (cache_entry_internal.h). So slow readers hold up no memory, and its size is exact. */
#ifndef SKYDNS_EXTERNAL_CACHE_MEMORY_INTERNAL_H
#define SKYDNS_EXTERNAL_CACHE_MEMORY_INTERNAL_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CHUNK_SIZE = 256,
    CHUNK_WORDS = CHUNK_SIZE / 8,
    /* In every chunk; a chain's later chunks keep the sequence they had. */
    CHUNK_SEQUENCE = 0, /* odd: no entry begins here, or it is being written */
    CHUNK_NEXT = 1,     /* the chain's or the free list's next chunk; 0: none */
    CHUNK_REST = 2,     /* here the data of a chain's later chunks begins */
};

struct chunk {
    alignas(CHUNK_SIZE) _Atomic uint64_t words[CHUNK_WORDS];
};

struct cache_chunks {
    void *block;         /* owned */
    struct chunk *items; /* in the block; numbers count from 1 */
    uint32_t count;
    uint32_t touched, free; /* the filling thread's: numbers used so far; the first returned one */
    uint32_t taken;
};

void cache_chunks_init(struct cache_chunks *chunks, uint32_t count);
void cache_chunks_fini(struct cache_chunks *chunks);

/* Takes a chain of so many chunks, at most cache_chunks_left. Returns its first. */
uint32_t cache_chunks_take(struct cache_chunks *chunks, size_t count);
void cache_chunks_return(struct cache_chunks *chunks, uint32_t first);

static inline size_t cache_chunks_left(const struct cache_chunks *chunks)
{
    return chunks->count - chunks->taken;
}

static inline _Atomic uint64_t *chunk_words(const struct cache_chunks *chunks, uint32_t number)
{
    return chunks->items[number - 1].words;
}

/* Access words with acquire and release order, so that a thread that reads a newer word sees the
 * newer sequence afterwards. */
static inline uint64_t chunk_get(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_acquire);
}

static inline void chunk_set(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
}

/* ---- The index ---- */

/* Maps a key's hash to the chunks that begin entries with that hash, by open addressing, at most
 * half full. One thread writes. Any thread reads meanwhile and, at worst, misses an entry that is
 * being moved. The hash is seeded, so nobody can choose names that lie close together. */
struct cache_index {
    _Atomic uint64_t *slots; /* owned: hash and chunk number; 0: free */
    size_t mask;
};

void cache_index_init(struct cache_index *index, size_t entries_max);
void cache_index_fini(struct cache_index *index);

/* Add and remove the chunk of a hash. The filling thread. */
void cache_index_add(struct cache_index *index, uint32_t hash, uint32_t chunk);
void cache_index_remove(struct cache_index *index, uint32_t hash, uint32_t chunk);
/* Replaces a slot at once: a reader finds the one or the other. */
void cache_index_replace(struct cache_index *index, uint32_t hash, uint32_t chunk,
                         uint32_t with_chunk);

/* Returns the chunk in a place of the index, up to its mask; 0: none. The filling thread. */
static inline uint32_t cache_index_at(const struct cache_index *index, size_t place)
{
    return (uint32_t)atomic_load_explicit(&index->slots[place], memory_order_relaxed);
}

static inline void cache_index_prefetch(const struct cache_index *index, uint32_t hash)
{
    __builtin_prefetch(&index->slots[hash & index->mask]);
}

/* Returns the next chunk with this hash; 0: no more. `*step` starts at 0. */
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

/* ---- The queue ---- */

/* Chooses the entry to evict: SIEVE (Zhang and others, NSDI 2024). A hand moves from the oldest
 * entry to the newest. It spares, once, an entry that was used since it last came by, and evicts
 * the first that was not.
 *
 * New entries are put before the newest and must be used before the hand reaches them. So names
 * that are asked about once evict each other, not the popular ones. A hit writes nothing unless it
 * is the first since then. The filling thread's. */
struct cache_queue {
    uint32_t newest, oldest, hand; /* first chunks of entries; 0: none */
    size_t entries, chunks;
};

/* Bounds the entries that one eviction may spare. If all of a million were used, the hand does not
 * pass all of them while a response waits. Each takes one access to memory, a tenth of a
 * microsecond. */
enum { QUEUE_SPARED_MAX = 1024 };

/* Add an entry as the newest, and remove one. `entry_chunks` is its number of chunks. */
void cache_queue_add(struct cache_queue *queue, const struct cache_chunks *chunks, uint32_t entry,
                     size_t entry_chunks);
void cache_queue_remove(struct cache_queue *queue, const struct cache_chunks *chunks,
                        uint32_t entry, size_t entry_chunks);

/* Returns the entry to evict, or 0; it is still in the queue. `take_use` returns whether an entry
 * was used, and forgets it. */
typedef bool (*cache_take_use_fn)(const struct cache_chunks *chunks, uint32_t entry);
uint32_t cache_queue_victim(struct cache_queue *queue, const struct cache_chunks *chunks,
                            cache_take_use_fn take_use);

#endif
