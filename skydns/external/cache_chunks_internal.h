/* The cache's memory: chunks of 256 bytes, of which an entry takes one or a chain. Allocated once,
 * touched only as they are used. One thread takes and returns them; any thread reads them, even
 * while they are written: every word is atomic, and what was read counts only if the entry's
 * sequence is still the same (cache_entry_internal.h). So nothing has to be kept for slow readers,
 * and the memory is exact. */
#ifndef SKYDNS_EXTERNAL_CACHE_CHUNKS_INTERNAL_H
#define SKYDNS_EXTERNAL_CACHE_CHUNKS_INTERNAL_H

#include <stdalign.h>
#include <stdatomic.h>
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

#endif
