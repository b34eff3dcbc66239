#include "common/base/arena.h"

#include <stdalign.h>
#include <stdlib.h>

#include "common/base/xalloc.h"

/* Sizes the chunks. The first holds a decoded response to a single write. With its header it fits
 * malloc's per-thread cache (1,032 bytes in glibc), because thousands of calls per second have an
 * arena each. Chunks then grow up to 1 MiB, so that a page of thousands of keys takes only a
 * few. */
enum { CHUNK_MIN = 992, CHUNK_GROWTH = 4, CHUNK_MAX = 1 << 20 };

struct arena_chunk {
    struct arena_chunk *older;
    size_t size; /* of data */
    size_t used;
    alignas(max_align_t) unsigned char data[];
};

void arena_init(struct arena *a, size_t limit)
{
    *a = (struct arena){.limit = limit};
}

void arena_fini(struct arena *a)
{
    while (a->newest) {
        struct arena_chunk *older = a->newest->older;
        free(a->newest);
        a->newest = older;
    }
    a->reserved = 0;
    a->failed = false;
}

static struct arena_chunk *add_chunk(struct arena *a, size_t need)
{
    size_t size = a->newest ? a->newest->size * CHUNK_GROWTH : CHUNK_MIN;
    if (size > CHUNK_MAX) {
        size = CHUNK_MAX;
    }
    if (size < need) {
        size = need;
    }
    if (size > a->limit - a->reserved) {
        size = a->limit - a->reserved;
    }
    if (size < need) {
        a->failed = true;
        return NULL;
    }
    struct arena_chunk *chunk = xmalloc(sizeof(*chunk) + size);
    *chunk = (struct arena_chunk){.older = a->newest, .size = size};
    a->newest = chunk;
    a->reserved += size;
    return chunk;
}

void *arena_alloc(struct arena *a, size_t size)
{
    const size_t align = alignof(max_align_t);
    if (size > a->limit || a->failed) {
        a->failed = true;
        return NULL;
    }
    size_t need = (size + align - 1) / align * align;
    struct arena_chunk *chunk = a->newest;
    if (!chunk || need > chunk->size - chunk->used) {
        chunk = add_chunk(a, need);
    }
    if (!chunk) {
        return NULL;
    }
    void *p = chunk->data + chunk->used;
    chunk->used += need;
    return p;
}

void arena_clear(struct arena *a)
{
    struct arena_chunk *keep = a->newest;
    a->failed = false;
    if (!keep) {
        return;
    }
    a->newest = keep->older;
    size_t size = keep->size;
    keep->older = NULL;
    arena_fini(a);
    if (size > CHUNK_MAX) {
        free(keep);
        return;
    }
    keep->used = 0;
    a->newest = keep;
    a->reserved = size;
}
