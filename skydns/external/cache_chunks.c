#include "skydns/external/cache_chunks_internal.h"

#include <stdlib.h>

#include "common/base/xalloc.h"

/* Not aligned by the allocator: it would have to zero the memory, and so touch all of it. */
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
