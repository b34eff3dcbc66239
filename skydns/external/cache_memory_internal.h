/* The cache's memory, how entries are found in it, and which has to go.
 *
 * Chunks of 256 bytes, of which an entry takes one or a chain. Allocated once, touched only as they
 * are used. One thread takes and returns them; any thread reads them, even while they are written:
 * every word is atomic, and what was read counts only if the entry's sequence is still the same
 * (cache_entry_internal.h). So nothing has to be kept for slow readers, and the memory is exact. */
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
    /* In every chunk: those of a chain's later chunks keep the sequence they had. */
    CHUNK_SEQUENCE = 0, /* odd: no entry begins here, or it is being written */
    CHUNK_NEXT = 1,     /* of the chain, or of the free ones; 0: none */
    CHUNK_REST = 2,     /* where the data of a chain's later chunks begins */
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

/* A chain of so many, at most cache_chunks_left. Returns its first. */
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

/* Acquire and release, so that who reads a newer word sees the newer sequence afterwards. */
static inline uint64_t chunk_get(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_acquire);
}

static inline void chunk_set(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
}

/* ---- The index ---- */

/* From a key's hash to the chunks where entries with that hash begin: open addressing, at most half
 * full. One thread writes; any thread reads meanwhile and, at worst, does not find an entry that is
 * being moved. The hash is seeded: nobody can choose names that lie close together. */
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

/* ---- The queue ---- */

/* Which entry has to go: SIEVE (Zhang and others, NSDI 2024). A hand moves from the oldest entry to
 * the newest; it spares, once, an entry that was used since it last came by, and evicts the first
 * that was not. New entries are put before the newest and have to prove themselves before the hand
 * reaches them: names that are asked for once push each other out, not the popular ones. A hit
 * writes nothing unless it is the first since then.
 *
 * The filling thread's. */
struct cache_queue {
    uint32_t newest, oldest, hand; /* first chunks of entries; 0: none */
    size_t entries, chunks;
};

/* Entries that one eviction may spare: where all of a million were used, the hand does not go round
 * all of them while a reply waits. Each takes one access to memory, a tenth of a microsecond. */
enum { QUEUE_SPARED_MAX = 1024 };

void cache_queue_add(struct cache_queue *queue, const struct cache_chunks *chunks, uint32_t entry,
                     size_t entry_chunks);
void cache_queue_remove(struct cache_queue *queue, const struct cache_chunks *chunks,
                        uint32_t entry, size_t entry_chunks);

/* The entry to evict, or 0; it is still in the queue. `take_use` says whether an entry was used,
 * and forgets it. */
typedef bool (*cache_take_use_fn)(const struct cache_chunks *chunks, uint32_t entry);
uint32_t cache_queue_victim(struct cache_queue *queue, const struct cache_chunks *chunks,
                            cache_take_use_fn take_use);

#endif
