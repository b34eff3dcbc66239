/* Zeroed memory, also where freed memory is used again. */
#include "tests/support/unit_test.h"

static bool are_zero(const unsigned char *bytes, size_t size)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
}

/* Sizes around the limit from which pages stay untouched, and ends within a page. */
UNIT_TEST(test_reused_memory_is_zeroed)
{
    static const size_t sizes[] = {1, 100, 32767, 32768, 32769, 40000, 65536, 100001, 3000000};
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            unsigned char *plain = xcalloc(1, sizes[i]);
            unsigned char *aligned = xcalloc_aligned(64, sizes[i]);
            assert_true(are_zero(plain, sizes[i]));
            assert_true(are_zero(aligned, sizes[i]));
            assert_int_equal((uintptr_t)aligned % 64, 0);
            memset(plain, 0xa5, sizes[i]);
            memset(aligned, 0x5a, sizes[i]);
            free(plain);
            free(aligned);
        }
    }
}

UNIT_TEST(test_no_bytes_are_some)
{
    CLEANUP_FREE void *none = xcalloc(0, 8);
    assert_non_null(none);
}

UNIT_TEST(test_arrays_grow)
{
    int *numbers = NULL;
    size_t cap = 0;
    for (size_t count = 0; count < 1000; count++) {
        numbers = xgrow_array(numbers, count, &cap, sizeof(*numbers));
        assert_true(count < cap && cap <= 2 * (count + 1));
        numbers[count] = (int)count;
    }
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(numbers[i], i);
    }
    free(numbers);
}
