/* Regions: alignment, the limit, reuse. Every allocation is written to its last byte, so that asan
 * catches one that is too short. */
#include <stdalign.h>

#include "common/base/arena.h"
#include "tests/support/unit_test.h"

UNIT_TEST(test_many_sizes)
{
    CLEANUP(arena_fini) struct arena a;
    unsigned char *blocks[300];
    arena_init(&a, 64 << 20);
    for (size_t i = 0; i < 300; i++) {
        blocks[i] = arena_alloc(&a, i * i);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % alignof(max_align_t), 0);
        memset(blocks[i], (int)i, i * i);
    }
    for (size_t i = 1; i < 300; i++) {
        assert_int_equal(blocks[i][0], (unsigned char)i);
        assert_int_equal(blocks[i][i * i - 1], (unsigned char)i);
    }
}

UNIT_TEST(test_limit)
{
    struct arena a;
    size_t got = 0;
    arena_init(&a, 100000);
    while (arena_alloc(&a, 1000)) {
        got += 1000;
    }
    assert_true(a.failed);
    assert_in_range(got, 80000, 100000); /* the ends of chunks are lost */
    assert_null(arena_alloc(&a, 1));     /* sticky */
    arena_clear(&a);
    assert_false(a.failed);
    assert_non_null(arena_alloc(&a, 1000));
    assert_null(arena_alloc(&a, SIZE_MAX));
    arena_fini(&a);
    assert_non_null(arena_alloc(&a, 1000)); /* as new */
    arena_fini(&a);
}

UNIT_TEST(test_clear_keeps_little)
{
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a, 64 << 20);
    arena_clear(&a); /* nothing to clear */
    assert_non_null(arena_alloc(&a, 100));
    arena_clear(&a);
    size_t kept = a.reserved;
    assert_true(kept > 0);
    assert_non_null(arena_alloc(&a, 100));
    assert_int_equal(a.reserved, kept);
    assert_non_null(arena_alloc(&a, 8 << 20));
    arena_clear(&a);
    assert_int_equal(a.reserved, 0); /* not 8 MB forever */
}
