#include "skydns/records/store_pool_internal.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/queue.h>

#include "common/base/attributes.h"
#include "common/base/xalloc.h"

#ifdef __SANITIZE_ADDRESS__ /* gcc */
#define POOL_IS_MALLOC
#elif defined(__has_feature) /* clang */
#if __has_feature(address_sanitizer)
#define POOL_IS_MALLOC
#endif
#endif

#ifdef POOL_IS_MALLOC

struct store_pool {
    char nothing;
};

struct store_pool *store_pool_new(void)
{
    return xcalloc(1, sizeof(struct store_pool));
}

void store_pool_expect_much(struct store_pool *pool UNUSED)
{
}

void store_pool_close(struct store_pool *pool)
{
    free(pool);
}

void *store_pool_alloc(struct store_pool *pool UNUSED, size_t size)
{
    return xmalloc(size);
}

void store_pool_free(void *block)
{
    free(block);
}

size_t store_pool_bytes(const struct store_pool *pool UNUSED)
{
    return 0;
}

#else

/* A block's address gives its slab, so slabs are aligned to their size. 16 KiB: with a few dozen
 * sizes in use, the free space in the last slab of each is little next to the smallest store. */
enum { SLAB_SIZE = 16 << 10 };

/* Slabs come from regions the size of a huge page. The first regions do not ask for one: a small
 * store must not be rounded up to it. */
enum { REGION_SIZE = 2 << 20, SMALL_REGIONS = 8 };

/* Sizes in steps of 8 up to 128 for nodes and records, then in steps of 32 for branches, which
 * grow. Larger blocks have an allocation of their own. */
enum {
    FINE_STEP = 8,
    FINE_MAX = 128,
    COARSE_STEP = 32,
    BLOCK_MAX = 1024,
    FINE_CLASSES = FINE_MAX / FINE_STEP,
    CLASSES = FINE_CLASSES + (BLOCK_MAX - FINE_MAX) / COARSE_STEP,
    CLASS_LARGE = CLASSES,
};

/* Empty slabs that keep their memory, for the next burst: 1 MiB. */
enum { WARM_MAX = 64 };

struct slab {
    struct store_pool *pool;
    LIST_ENTRY(slab) entry; /* in its class's with_room, while it has room */
    void *freed;            /* freed blocks, each holding the address of the next */
    uint16_t class;
    uint16_t used;    /* blocks handed out */
    uint16_t touched; /* blocks ever handed out: the rest follow in order */
};

LIST_HEAD(slab_list, slab);

/* Addresses of empty slabs. */
struct slab_stack {
    size_t count;
    size_t cap;
    void **slabs;
};

struct store_pool {
    struct slab_list with_room[CLASSES];
    struct slab_stack warm; /* with memory */
    struct slab_stack cold; /* without */
    char **regions;
    size_t region_count;
    size_t region_used; /* bytes of the newest region cut into slabs */
    size_t slab_count;  /* holding blocks */
    size_t block_count;
    bool is_large; /* will be */
    bool is_closed;
};

static unsigned store_pool_class_of(size_t size)
{
    if (size <= FINE_MAX) {
        return (unsigned)((size + FINE_STEP - 1) / FINE_STEP - (size > 0));
    }
    return (unsigned)(FINE_CLASSES + (size - FINE_MAX - 1) / COARSE_STEP);
}

static size_t class_size(unsigned class)
{
    if (class < FINE_CLASSES) {
        return (class + 1) * (size_t)FINE_STEP;
    }
    return FINE_MAX + (class + 1 - FINE_CLASSES) * (size_t)COARSE_STEP;
}

static size_t class_capacity(unsigned class)
{
    return (SLAB_SIZE - sizeof(struct slab)) / class_size(class);
}

static struct slab *slab_of(void *block)
{
    return (struct slab *)((uintptr_t)block & ~(uintptr_t)(SLAB_SIZE - 1));
}

/* ---- Slabs ---- */

static void store_pool_push(struct slab_stack *stack, void *slab)
{
    if (stack->count == stack->cap) {
        stack->cap = stack->cap ? stack->cap * 2 : WARM_MAX;
        stack->slabs = xrealloc_array(stack->slabs, stack->cap, sizeof(stack->slabs[0]));
    }
    stack->slabs[stack->count++] = slab;
}

/* Maps twice as much, to find an aligned region in it, and unmaps the rest. */
static char *map_region(void)
{
    char *start = mmap(NULL, 2 * (size_t)REGION_SIZE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) {
        xalloc_out_of_memory();
    }
    size_t before = -(uintptr_t)start & (REGION_SIZE - 1);
    if (before > 0) {
        (void)munmap(start, before); /* cannot fail in a way a caller could fix */
    }
    (void)munmap(start + before + REGION_SIZE, REGION_SIZE - before);
    return start + before;
}

static void add_region(struct store_pool *pool)
{
    char *region = map_region();
    if (pool->is_large || pool->region_count >= SMALL_REGIONS) {
        (void)madvise(region, REGION_SIZE, MADV_HUGEPAGE); /* a kernel without huge pages will do */
    }
    pool->regions = xrealloc_array(pool->regions, pool->region_count + 1, sizeof(pool->regions[0]));
    pool->regions[pool->region_count++] = region;
    pool->region_used = 0;
}

static struct slab *slab_new(struct store_pool *pool, unsigned class)
{
    struct slab *slab;
    if (pool->warm.count > 0) {
        slab = pool->warm.slabs[--pool->warm.count];
    } else if (pool->cold.count > 0) {
        slab = pool->cold.slabs[--pool->cold.count];
    } else {
        if (pool->region_count == 0 || pool->region_used == REGION_SIZE) {
            add_region(pool);
        }
        slab = (struct slab *)(pool->regions[pool->region_count - 1] + pool->region_used);
        pool->region_used += SLAB_SIZE;
    }
    *slab = (struct slab){.pool = pool, .class = (uint16_t) class};
    LIST_INSERT_HEAD(&pool->with_room[class], slab, entry);
    pool->slab_count++;
    return slab;
}

static void slab_retire(struct slab *slab)
{
    struct store_pool *pool = slab->pool;
    LIST_REMOVE(slab, entry);
    pool->slab_count--;
    if (pool->warm.count < WARM_MAX) {
        store_pool_push(&pool->warm, slab);
    } else {
        (void)madvise(slab, SLAB_SIZE, MADV_DONTNEED); /* if it fails, the memory stays */
        store_pool_push(&pool->cold, slab);
    }
}

/* ---- Blocks ---- */

/* Allocates a large block, aligned like a slab, with a slab's header, so that store_pool_free finds
 * it. */
static void *large_alloc(struct store_pool *pool, size_t size)
{
    struct slab *slab = xcalloc_aligned(SLAB_SIZE, sizeof(*slab) + size);
    *slab = (struct slab){.pool = pool, .class = CLASS_LARGE};
    return slab + 1;
}

void *store_pool_alloc(struct store_pool *pool, size_t size)
{
    pool->block_count++;
    if (size > BLOCK_MAX) {
        return large_alloc(pool, size);
    }
    unsigned class = store_pool_class_of(size);
    struct slab *slab = LIST_FIRST(&pool->with_room[class]);
    slab = slab ? slab : slab_new(pool, class);
    void *block = slab->freed;
    if (block) {
        slab->freed = *(void **)block;
    } else {
        block = (char *)(slab + 1) + slab->touched++ * class_size(class);
    }
    if (++slab->used == class_capacity(class)) {
        LIST_REMOVE(slab, entry);
    }
    return block;
}

static void pool_destroy(struct store_pool *pool)
{
    for (size_t i = 0; i < pool->region_count; i++) {
        (void)munmap(pool->regions[i], REGION_SIZE); /* fails only for a wrong address */
    }
    free(pool->regions);
    free(pool->warm.slabs);
    free(pool->cold.slabs);
    free(pool);
}

void store_pool_free(void *block)
{
    if (!block) {
        return;
    }
    struct slab *slab = slab_of(block);
    struct store_pool *pool = slab->pool;
    if (slab->class == CLASS_LARGE) {
        free(slab);
    } else {
        *(void **)block = slab->freed;
        slab->freed = block;
        if (slab->used-- == class_capacity(slab->class)) {
            LIST_INSERT_HEAD(&pool->with_room[slab->class], slab, entry);
        }
        if (slab->used == 0) {
            slab_retire(slab);
        }
    }
    if (--pool->block_count == 0 && pool->is_closed) {
        pool_destroy(pool);
    }
}

/* ---- The pool ---- */

struct store_pool *store_pool_new(void)
{
    return xcalloc(1, sizeof(struct store_pool));
}

void store_pool_expect_much(struct store_pool *pool)
{
    pool->is_large = true;
}

void store_pool_close(struct store_pool *pool)
{
    pool->is_closed = true;
    if (pool->block_count == 0) {
        pool_destroy(pool);
    }
}

size_t store_pool_bytes(const struct store_pool *pool)
{
    return (pool->slab_count + pool->warm.count) * SLAB_SIZE;
}

#endif
