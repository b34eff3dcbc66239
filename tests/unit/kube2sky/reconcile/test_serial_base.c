/* Bases of zones' serials: they grow with each start and from store to store, RFC 1982. */
#include "kube2sky/reconcile/serial_key_internal.h"
#include "tests/support/unit_test.h"

static const int64_t begin_s = 1767225600;

UNIT_TEST(test_clock)
{
    assert_int_equal(serial_clock(begin_s), UINT32_C(0x80000000));
    assert_int_equal(serial_clock(begin_s + 1), UINT32_C(0x80000010));
    /* Around after 8.5 years, and still after what came shortly before. */
    int64_t around_s = begin_s + (INT64_C(1) << 27);
    assert_int_equal(serial_clock(around_s), 0);
    assert_true(serial_base_is_after(serial_clock(around_s), serial_clock(around_s - 86400)));
}

/* Returns the lowest serial that a reader serves if the base was written at the next revision. */
static uint32_t serial_base_lowest(uint32_t base, int64_t revision)
{
    return base + (uint32_t)(revision + 1);
}

UNIT_TEST(test_next)
{
    const uint32_t now = serial_clock(begin_s + 1000);
    const uint32_t early = now - 5, late = now + 7, last = UINT32_MAX;
    const int64_t revisions[] = {0, 1, 100000, INT64_C(1) << 40};
    for (size_t i = 0; i < sizeof(revisions) / sizeof(revisions[0]); i++) {
        int64_t revision = revisions[i];
        uint32_t base = serial_base_next(begin_s + 1000, revision, NULL);
        assert_int_equal(serial_base_lowest(base, revision), now + 1);
        base = serial_base_next(begin_s + 1000, revision, &early);
        assert_int_equal(serial_base_lowest(base, revision), now + 1);
        base = serial_base_next(begin_s + 1000, revision, &late);
        assert_int_equal(serial_base_lowest(base, revision), late + 1);
        base = serial_base_next(begin_s + 1000, revision, &last);
        assert_int_equal(serial_base_lowest(base, revision), 0); /* after it, by RFC 1982 */
    }
}

/* A store restored to fewer revisions, by a kube2sky that knows nothing of what was lost. */
UNIT_TEST(test_restored)
{
    const int64_t written_s = begin_s + 1000, restored_s = written_s + 60;
    const uint32_t base = serial_base_next(written_s, 1000000, NULL);
    const uint32_t lost = base + 1000000 + 60 * 15; /* 15 revisions a second */
    const uint32_t in_copy = base + 1000001;
    const uint32_t next = serial_base_next(restored_s, 1000001, &in_copy);
    assert_true(serial_base_is_after(serial_base_lowest(next, 1000001), lost));
}

UNIT_TEST(test_order)
{
    assert_true(serial_base_is_after(1, 0));
    assert_true(serial_base_is_after(0, UINT32_MAX));
    assert_false(serial_base_is_after(0, 0));
    assert_false(serial_base_is_after(0, 1));
    assert_false(serial_base_is_after(UINT32_C(0x80000000), 0)); /* no order is defined */
}
