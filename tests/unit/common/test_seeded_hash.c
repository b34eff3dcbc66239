/* seeded_hash: equal bytes have equal hashes, and no byte is overlooked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/seeded_hash.h"

/* Every length has its way through the hash, and every byte counts. */
static void test_hash_takes_every_byte(void **state)
{
    (void)state;
    seeded_hash_init();
    char a[63], b[63];
    memset(a, 'a', sizeof(a));
    for (size_t len = 1; len <= sizeof(a); len++) {
        memcpy(b, a, sizeof(b));
        assert_int_equal(seeded_hash(slice_of(a, len)), seeded_hash(slice_of(b, len)));
        assert_int_not_equal(seeded_hash(slice_of(a, len)), seeded_hash(slice_of(a, len - 1)));
        for (size_t i = 0; i < len; i++) {
            memcpy(b, a, sizeof(b));
            b[i] = 'b';
            assert_int_not_equal(seeded_hash(slice_of(a, len)), seeded_hash(slice_of(b, len)));
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash_takes_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
