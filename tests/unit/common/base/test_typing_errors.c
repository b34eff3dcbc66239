/* The distance between two spellings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/attributes.h"
#include "common/base/typing_errors.h"

static void test_distances(void **state)
{
    (void)state;
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

static void test_long_words(void **state)
{
    (void)state;
    char longest[65], longer[66];
    memset(longest, 'a', sizeof(longest));
    memset(longer, 'a', sizeof(longer));
    longest[64] = longer[65] = '\0';
    assert_int_equal(typing_errors(slice_str(longest), slice_str("a")), 63);
    assert_true(typing_errors(slice_str(longer), slice_str("a")) == SIZE_MAX);
    assert_true(typing_errors(slice_str("a"), slice_str(longer)) == SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distances),
        cmocka_unit_test(test_long_words),
    };
    return cmocka_run_group_tests_name("typing_errors", tests, NULL, NULL);
}
