/* A region: many allocations with one lifetime, released together. Nothing is freed alone. Bounded,
 * so that a peer's message cannot make its decoded form as large as it likes: past the limit
 * arena_alloc gives NULL and `failed` stays set until everything is released. Not for sharing
 * between threads. */
#ifndef COMMON_BASE_ARENA_H
#define COMMON_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct arena_chunk;

struct arena {
    struct arena_chunk *newest; /* owned; NULL until the first allocation */
    size_t reserved;            /* bytes of all chunks */
    size_t limit;               /* reserved never exceeds it */
    bool failed;
};

void arena_init(struct arena *a, size_t limit);
void arena_fini(struct arena *a); /* as arena_init has made it */

/* size bytes, not zeroed, aligned for any type; NULL only when the limit is reached. */
void *arena_alloc(struct arena *a, size_t size);

/* Everything allocated is gone, failed is reset; a chunk of ordinary size is kept for reuse. */
void arena_clear(struct arena *a);

#endif
