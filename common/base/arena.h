/* A region: many allocations with one lifetime, released together.
 *
 * It is bounded, so that a peer's message cannot grow without limit when decoded: past the limit
 * arena_alloc returns NULL, and `failed` stays set until everything is released. One thread. */
#ifndef COMMON_BASE_ARENA_H
#define COMMON_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct arena_chunk;

struct arena {
    struct arena_chunk *newest; /* owned; NULL until the first allocation */
    size_t reserved;            /* total bytes in all chunks */
    size_t limit;               /* reserved never exceeds it */
    bool failed;
};

void arena_init(struct arena *a, size_t limit);
void arena_fini(struct arena *a); /* as arena_init left it */

/* Returns size bytes, not zeroed, aligned for any type; NULL only when the limit is reached. */
void *arena_alloc(struct arena *a, size_t size);

/* Releases all allocations and resets `failed`; keeps a chunk of ordinary size for reuse. */
void arena_clear(struct arena *a);

#endif
