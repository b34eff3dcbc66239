#include "common/base/buf.h"

#include "tests/support/unit_test.h"

UNIT_TEST(test_appends)
{
    struct buf b;
    buf_init(&b, 1000);
    assert_string_equal(buf_cstr(&b), "");
    buf_append_str(&b, "one");
    buf_append_char(&b, ' ');
    buf_append_slice(&b, slice_of("two!", 3));
    buf_append_slice(&b, slice_of(NULL, 0));
    buf_printf(&b, " %d%%", 3);
    buf_append(&b, "\0z", 2);
    assert_true(slice_equal(buf_slice(&b), slice_of("one two 3%\0z", 12)));
    assert_int_equal(buf_cstr(&b)[b.len], '\0');
    assert_false(b.failed);
    buf_fini(&b);
    assert_int_equal(b.len, 0);
}

UNIT_TEST(test_limit_is_sticky)
{
    CLEANUP_BUF struct buf b = buf_of(5);
    buf_append_str(&b, "12345"); /* exactly */
    assert_false(b.failed);
    assert_string_equal(buf_cstr(&b), "12345");
    buf_append(&b, "", 0);
    assert_false(b.failed);
    buf_append_char(&b, '6');
    assert_true(b.failed);
    buf_consume(&b, 3);
    buf_append_char(&b, '6'); /* would fit */
    assert_string_equal(buf_cstr(&b), "45");
    assert_null(buf_reserve(&b, 0));
    buf_clear(&b);
    assert_false(b.failed);
    buf_append_str(&b, "123456"); /* writes nothing */
    assert_true(b.failed);
    assert_int_equal(b.len, 0);
}

UNIT_TEST(test_reserve_counts_what_was_written)
{
    CLEANUP_BUF struct buf b = buf_of(100000);
    for (int i = 0; i < 100; i++) {
        uint8_t *room = buf_reserve(&b, 1000);
        assert_non_null(room);
        memset(room, 'a' + i % 26, 1000);
        b.len += 500;
    }
    assert_int_equal(b.len, 50000);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(b.data[i * 500], 'a' + i % 26);
        assert_int_equal(b.data[i * 500 + 499], 'a' + i % 26);
    }
    assert_null(buf_reserve(&b, SIZE_MAX));
}

UNIT_TEST(test_consume)
{
    static const struct {
        size_t n;
        const char *want;
    } cases[] = {{0, "hello"}, {1, "ello"}, {4, "o"}, {5, ""}, {6, ""}, {SIZE_MAX, ""}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP_BUF struct buf b = buf_of(10);
        buf_append_str(&b, "hello");
        buf_consume(&b, cases[i].n);
        assert_string_equal(buf_cstr(&b), cases[i].want);
        assert_int_equal(b.len, strlen(cases[i].want));
    }
}
