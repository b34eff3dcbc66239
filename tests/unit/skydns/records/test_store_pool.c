/* store_pool: blocks of all sizes come and go at random; each keeps its content, and freed memory
 * is reused. */
#include "skydns/records/store_pool_internal.h"
#include "tests/support/random_numbers.h"
#include "tests/support/unit_test.h"

enum { BLOCKS = 3000, STEPS = 60000, SEEDS = 5 };

struct block {
    uint8_t *bytes; /* NULL: not allocated */
    size_t size;
    uint8_t filled; /* with this */
};

/* Most are small, like the store's; some lie on size-class edges, some beyond. */
static size_t random_size(void)
{
    static const size_t edges[] = {1, 7, 8, 9, 128, 129, 160, 161, 992, 1023, 1024, 1025, 65536};
    switch (random_below(16)) {
    case 0:
        return edges[random_below(ARRAY_LEN(edges))];
    case 1:
        return 1 + random_below(3000);
    default:
        return 1 + random_below(160);
    }
}

static void store_pool_fill(struct store_pool *pool, struct block *block)
{
    block->size = random_size();
    block->bytes = store_pool_alloc(pool, block->size);
    block->filled = (uint8_t)random_below(UINT32_MAX);
    assert_int_equal((uintptr_t)block->bytes % sizeof(void *), 0);
    memset(block->bytes, block->filled, block->size);
}

static void check_and_free(struct block *block)
{
    for (size_t i = 0; i < block->size; i++) {
        assert_int_equal(block->bytes[i], block->filled);
    }
    store_pool_free(block->bytes);
    block->bytes = NULL;
}

UNIT_TEST(test_blocks_keep_what_they_hold)
{
    for (uint32_t seed = 1; seed <= SEEDS; seed++) {
        random_state = seed;
        struct store_pool *pool = store_pool_new();
        struct block *blocks = xcalloc(BLOCKS, sizeof(*blocks));
        for (unsigned i = 0; i < STEPS; i++) {
            struct block *block = &blocks[random_below(BLOCKS)];
            if (block->bytes) {
                check_and_free(block);
            } else {
                store_pool_fill(pool, block);
            }
        }
        for (unsigned i = 0; i < BLOCKS; i++) {
            if (blocks[i].bytes) {
                check_and_free(&blocks[i]);
            }
        }
        store_pool_close(pool);
        free(blocks);
    }
}

/* 64 MiB of blocks of one size, then of another: the second reuse the first's memory. */
UNIT_TEST(test_memory_comes_back)
{
    enum { COUNT = 1 << 20, WARM_BYTES = 1 << 20 };
    struct store_pool *pool = store_pool_new();
    void **blocks = xcalloc(COUNT, sizeof(blocks[0]));
    size_t most = 0;
    for (size_t size = 16; size <= 64; size += 16) {
        for (size_t i = 0; i < COUNT; i++) {
            blocks[i] = store_pool_alloc(pool, size);
        }
        most = store_pool_bytes(pool);
        assert_true(most == 0 ||
                    (most > COUNT * size && most < COUNT * size * 102 / 100 + WARM_BYTES));
        for (size_t i = 0; i < COUNT; i++) {
            store_pool_free(blocks[i]);
        }
        assert_true(store_pool_bytes(pool) <= WARM_BYTES);
    }
    store_pool_close(pool);
    free(blocks);
}

/* Garbage that a reader held back is freed after the writer is gone. */
UNIT_TEST(test_blocks_outlive_the_close)
{
    struct store_pool *pool = store_pool_new();
    char *small = store_pool_alloc(pool, 40), *large = store_pool_alloc(pool, 4000);
    memset(small, 1, 40);
    memset(large, 2, 4000);
    store_pool_close(pool);
    store_pool_free(NULL);
    assert_int_equal(small[39], 1);
    store_pool_free(small);
    assert_int_equal(large[3999], 2);
    store_pool_free(large); /* the last one: leak checkers see that the pool goes with it */
}
