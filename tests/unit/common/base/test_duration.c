/* Go durations, read and written. */
#include "common/base/duration.h"
#include "tests/support/unit_test.h"

UNIT_TEST(test_parsing)
{
    static const struct {
        const char *in;
        int64_t want_ms; /* -1: refused */
    } cases[] = {
        {"0", 0},
        {"0s", 0},
        {"1s", 1000},
        {"300ms", 300},
        {"1m30s", 90000},
        {"1h2m3.5s", 3723500},
        {"1.5h", 5400000},
        {"0.25s", 250},
        {".5s", 500},
        {"5.s", 5000},
        {"1500us", 2},
        {"1499us", 1},
        {"1000µs", 1},
        {"1000μs", 1},
        {"999999ns", 1},
        {"1ns", 0},
        {"24h", 86400000},
        {"2m2m", 240000},
        {"", -1},
        {"1", -1},
        {"s", -1},
        {".s", -1},
        {"-1s", -1},
        {"1s ", -1},
        {" 1s", -1},
        {"1 s", -1},
        {"1d", -1},
        {"1S", -1},
        {"1.2.3s", -1},
        {"1s2", -1},
        {"1e3s", -1},
        {"00", -1},
        {"inf", -1},
        {"nans", -1},
        {"9999999999999h", -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t got_ms = -1;
        bool ok = duration_parse_ms(cases[i].in, &got_ms);
        assert_that(ok == (cases[i].want_ms >= 0) && got_ms == cases[i].want_ms,
                    "`%s`: %d, %lld ms", cases[i].in, ok, (long long)got_ms);
    }
    char digits[1000];
    int64_t got_ms;
    memset(digits, '9', sizeof(digits));
    memcpy(digits + sizeof(digits) - 2, "s", 2);
    assert_false(duration_parse_ms(digits, &got_ms));
}

UNIT_TEST(test_text)
{
    static const struct {
        int64_t ms;
        const char *want;
    } cases[] = {
        {0, "0"},
        {1, "1ms"},
        {1500, "1s500ms"},
        {2000, "2s"},
        {90000, "1m30s"},
        {3600000, "1h"},
        {3661001, "1h1m1s1ms"},
        {86400000, "24h"},
        {3600500, "1h500ms"},
        {INT64_MAX, "2562047788015h12m55s807ms"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[DURATION_TEXT_MAX];
        int64_t back_ms = -1;
        assert_string_equal(duration_text(cases[i].ms, text), cases[i].want);
        if (cases[i].ms < INT64_MAX) {
            assert_true(duration_parse_ms(text, &back_ms));
            assert_int_equal(back_ms, cases[i].ms);
        }
    }
}

UNIT_TEST(test_ages)
{
    static const struct {
        int64_t s;
        const char *want;
    } ages[] = {{-5, "0s"}, {0, "0s"}, {12, "12s"}, {60, "1m"}, {3 * 3600 + 5, "3h5s"}};
    for (size_t i = 0; i < ARRAY_LEN(ages); i++) {
        char text[DURATION_TEXT_MAX];
        assert_string_equal(duration_text_s(ages[i].s, text), ages[i].want);
    }
}
