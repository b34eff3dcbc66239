/* Bases of zones' serials: they grow from store to store, RFC 1982. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kube2sky/reconcile/serial_base_internal.h"

static const int64_t begin_s = 1767225600;

static void test_time(void **state)
{
    (void)state;
    assert_int_equal(serial_base_of_time(begin_s), UINT32_C(0x80000000));
    assert_int_equal(serial_base_of_time(begin_s + 1), UINT32_C(0x80000010));
    /* Around after 8.5 years, and still after what came shortly before. */
    int64_t around_s = begin_s + (INT64_C(1) << 27);
    assert_int_equal(serial_base_of_time(around_s), 0);
    assert_true(
        serial_base_is_after(serial_base_of_time(around_s), serial_base_of_time(around_s - 86400)));
}

static void test_after(void **state)
{
    (void)state;
    uint32_t now = serial_base_of_time(begin_s + 1000);
    assert_int_equal(serial_base_after(begin_s + 1000, now - 5), now);
    assert_int_equal(serial_base_after(begin_s + 1000, now), now + 1);
    assert_int_equal(serial_base_after(begin_s + 1000, now + 7), now + 8);
    assert_int_equal(serial_base_after(begin_s + 1000, UINT32_MAX), 0); /* after it, by RFC 1982 */
}

static void test_order(void **state)
{
    (void)state;
    assert_true(serial_base_is_after(1, 0));
    assert_true(serial_base_is_after(0, UINT32_MAX));
    assert_false(serial_base_is_after(0, 0));
    assert_false(serial_base_is_after(0, 1));
    assert_false(serial_base_is_after(UINT32_C(0x80000000), 0)); /* no order is defined */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_after),
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
