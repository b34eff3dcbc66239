#include "common/base/backoff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/attributes.h"

static void test_doubles_to_the_maximum(void **state)
{
    (void)state;
    static const uint32_t want_ms[] = {100, 200, 400, 800, 1500, 1500, 1500};
    struct backoff longest, shortest;
    backoff_init(&longest, 100, 1500);
    backoff_init(&shortest, 100, 1500);
    for (size_t i = 0; i < ARRAY_LEN(want_ms); i++) {
        uint32_t half_ms = want_ms[i] / 2;
        assert_int_equal(backoff_next_ms(&shortest, 0), half_ms);
        assert_int_equal(backoff_next_ms(&longest, want_ms[i] - half_ms), want_ms[i]);
    }
    backoff_reset(&longest);
    assert_int_equal(backoff_next_ms(&longest, 50), 100);
}

static void test_any_random_number_stays_within(void **state)
{
    (void)state;
    static const uint32_t random[] = {0, 1, 49, 50, 51, 12345, UINT32_MAX - 1, UINT32_MAX};
    for (size_t i = 0; i < ARRAY_LEN(random); i++) {
        struct backoff b;
        backoff_init(&b, 100, 1000);
        assert_in_range(backoff_next_ms(&b, random[i]), 50, 100);
        assert_in_range(backoff_next_ms(&b, random[i]), 100, 200);
    }
}

static void test_extremes(void **state)
{
    (void)state;
    static const struct {
        uint32_t first_ms, max_ms, low_ms, high_ms;
    } cases[] = {
        {0, 1000, 0, 0},       {500, 100, 50, 100},
        {1, 1, 0, 1},          {UINT32_MAX, UINT32_MAX, UINT32_MAX / 2, UINT32_MAX},
        {3, UINT32_MAX, 1, 3},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct backoff b;
        backoff_init(&b, cases[i].first_ms, cases[i].max_ms);
        assert_in_range(backoff_next_ms(&b, UINT32_MAX), cases[i].low_ms, cases[i].high_ms);
    }
    struct backoff many;
    backoff_init(&many, 3, UINT32_MAX);
    for (int i = 0; i < 100; i++) {
        (void)backoff_next_ms(&many, 0);
    }
    assert_int_equal(backoff_next_ms(&many, 0), UINT32_MAX / 2);
}

static void test_random_numbers_differ(void **state)
{
    (void)state;
    uint32_t first = backoff_random();
    bool differs = false;
    for (int i = 0; i < 16; i++) { /* all equal: once in 2^512 */
        differs = differs || backoff_random() != first;
    }
    assert_true(differs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_doubles_to_the_maximum),
        cmocka_unit_test(test_any_random_number_stays_within),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_random_numbers_differ),
    };
    return cmocka_run_group_tests_name("backoff", tests, NULL, NULL);
}
