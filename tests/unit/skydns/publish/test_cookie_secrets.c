/* -cookie-secret's file: what is a secret, and what the messages tell. */
#include "skydns/publish/cookie_secrets.h"
#include "tests/support/unit_test.h"

#define A "e5e973e5a6b2a43f48e7dc849e37bfcf"
#define B "445536BCD2513298075A5D379663C962"

UNIT_TEST(reads)
{
    static const struct {
        const char *text;
        size_t count;
        uint8_t first;
    } cases[] = {
        {A, 1, 0xe5},
        {A "\n", 1, 0xe5},
        {B "\n" A "\n", 2, 0x44},
        {"\n  " B "\t\r\n\n" A, 2, 0x44},
        {A "\n" A "\n" A "\n" A "\n" A "\n" A "\n" A "\n" B, 8, 0xe5},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cookie_secrets secrets;
        struct err err;
        assert_int_equal(cookie_secrets_parse(slice_str(cases[i].text), &secrets, &err), 0);
        assert_int_equal(secrets.count, cases[i].count);
        assert_int_equal(secrets.items[0][0], cases[i].first);
    }
}

UNIT_TEST(refuses)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "found none"},
        {"\n \r\n", "found none"},
        {A "\n" A "0", "line 2: expected a secret of 32 hex digits"},
        {"0x" A, "line 1: "},
        {"# secrets\n" A, "line 1: "},
        {A " " A, "line 1: "},
        {"g5e973e5a6b2a43f48e7dc849e37bfcf", "line 1: "},
        {A "\n\n" A "\n" A "\n" A "\n" A "\n" A "\n" A "\n" A "\n" A,
         "line 10: expected at most 8"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cookie_secrets secrets = {.count = 77};
        struct err err;
        assert_int_equal(cookie_secrets_parse(slice_str(cases[i].text), &secrets, &err),
                         ERR_SYNTAX);
        assert_non_null(strstr(err.msg, cases[i].why));
        assert_null(strstr(err.msg, "e973")); /* no secret gets into the log */
        assert_int_equal(secrets.count, 77);
    }
}

UNIT_TEST(draws)
{
    struct cookie_secrets a, b;
    cookie_secrets_draw(&a);
    cookie_secrets_draw(&b);
    assert_int_equal(a.count, 1);
    assert_memory_not_equal(a.items[0], b.items[0], COOKIE_SECRET_SIZE);
}
