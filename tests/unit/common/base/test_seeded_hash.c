/* seeded_hash: equal bytes have equal hashes, and every byte counts. */
#include "common/base/seeded_hash.h"
#include "tests/support/unit_test.h"

static int seeded_hash_compare_hashes(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Every length takes its own path through the hash, and every byte counts. */
UNIT_TEST(test_hash_takes_every_byte)
{
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

/* Typical service names: of some thousands, at most a few share a 32-bit hash by chance (one pair
 * in fifty runs). */
UNIT_TEST(test_numbered_names_differ)
{
    enum { NAMES = 10000, SHARED_MAX = 5 };
    static uint32_t hashes[NAMES];
    unsigned shared = 0;
    seeded_hash_init();
    for (unsigned i = 0; i < NAMES; i++) {
        char name[16];
        int len = snprintf(name, sizeof(name), "s%u", i);
        hashes[i] = seeded_hash(slice_of(name, (size_t)len));
    }
    qsort(hashes, NAMES, sizeof(hashes[0]), seeded_hash_compare_hashes);
    for (unsigned i = 1; i < NAMES; i++) {
        shared += hashes[i] == hashes[i - 1];
    }
    assert_in_range(shared, 0, SHARED_MAX);
}
