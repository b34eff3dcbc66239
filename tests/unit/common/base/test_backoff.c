#include "common/base/backoff.h"

#include "tests/support/unit_test.h"

UNIT_TEST(test_doubles_to_the_maximum)
{
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

UNIT_TEST(test_any_random_number_stays_within)
{
    static const uint32_t random[] = {0, 1, 49, 50, 51, 12345, UINT32_MAX - 1, UINT32_MAX};
    for (size_t i = 0; i < ARRAY_LEN(random); i++) {
        struct backoff b;
        backoff_init(&b, 100, 1000);
        assert_in_range(backoff_next_ms(&b, random[i]), 50, 100);
        assert_in_range(backoff_next_ms(&b, random[i]), 100, 200);
    }
}

UNIT_TEST(test_extremes)
{
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

UNIT_TEST(test_random_numbers_differ)
{
    uint32_t first = backoff_random();
    bool differs = false;
    for (int i = 0; i < 16; i++) { /* all equal: once in 2^512 */
        differs = differs || backoff_random() != first;
    }
    assert_true(differs);
}
