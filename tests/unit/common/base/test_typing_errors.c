/* The distance between two spellings. */
#include "common/base/typing_errors.h"
#include "tests/support/unit_test.h"

UNIT_TEST(test_distances)
{
    static const struct {
        const char *a, *b;
        size_t want;
    } cases[] = {
        {"", "", 0},         {"addr", "addr", 0},      {"", "abc", 3},
        {"adr", "addr", 1},  {"addrr", "addr", 1},     {"atdr", "addr", 1},
        {"adrd", "addr", 1}, {"domian", "domain", 1},  {"badc", "abcd", 2},
        {"ca", "abc", 3},    {"kitten", "sitting", 3},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct slice a = slice_str(cases[i].a), b = slice_str(cases[i].b);
        assert_int_equal(typing_errors(a, b), cases[i].want);
        assert_int_equal(typing_errors(b, a), cases[i].want);
    }
}

UNIT_TEST(test_long_words)
{
    char longest[65], longer[66];
    memset(longest, 'a', sizeof(longest));
    memset(longer, 'a', sizeof(longer));
    longest[64] = longer[65] = '\0';
    assert_int_equal(typing_errors(slice_str(longest), slice_str("a")), 63);
    assert_true(typing_errors(slice_str(longer), slice_str("a")) == SIZE_MAX);
    assert_true(typing_errors(slice_str("a"), slice_str(longer)) == SIZE_MAX);
}
