#include "common/term/screen.h"

#include <math.h>

#include "tests/support/screen_lines.h"
#include "tests/support/unit_test.h"

static void screen_check_line(const char *text, size_t width, bool is_utf8, const char *right)
{
    CLEANUP(screen_fini) struct screen screen;
    CLEANUP_BUF struct buf lines = buf_of(65536);
    screen_init(&screen, 40, 1, is_utf8);
    screen_put(&screen, 0, 0, width, SCREEN_PLAIN, text);
    screen_lines(&screen, &lines);
    assert_string_equal(buf_cstr(&lines), right);
}

UNIT_TEST(test_text_is_escaped)
{
    screen_check_line("web.default", 40, true, "web.default\n");
    screen_check_line("\x1b[2J\x07\n\x7f", 40, true, "\\x1b[2J\\x07\\x0a\\x7f\n");
    screen_check_line("\u202egnp\u200b", 40, true, "\\u{202e}gnp\\u{200b}\n");
    screen_check_line("\u00e9\u4e2d\U0001f600", 40, true, "\\u{e9}\\u{4e2d}\\u{1f600}\n");
    screen_check_line("\x9b"
                      "2J\xc3",
                      40, true, "\\x9b2J\\xc3\n"); /* no UTF-8 */
    screen_check_line("\xe4\xb8x", 40, true, "\\xe4\\xb8x\n");
    screen_check_line("abcdef", 4, true, "abc…\n");
    screen_check_line("abcdef", 4, false, "abc~\n");
    screen_check_line("abcdef", 1, false, "~\n");
    screen_check_line("abcdef", 0, false, "\n");
    screen_check_line("\x1b", 3, false, "\\x~\n");
    assert_int_equal(screen_text_width("a\x1b"), 5);
}

UNIT_TEST(test_bars)
{
    static const double values[] = {0, 1, 4, 8, -1, 8}, odd[] = {INFINITY, 1, INFINITY};
    for (int is_utf8 = 0; is_utf8 < 2; is_utf8++) {
        CLEANUP(screen_fini) struct screen screen;
        CLEANUP_BUF struct buf lines = buf_of(4096);
        screen_init(&screen, 10, 1, is_utf8);
        screen_put_bars(&screen, 0, 1, values, ARRAY_LEN(values), 0);
        screen_lines(&screen, &lines);
        assert_string_equal(buf_cstr(&lines), is_utf8 ? " ▁▂▅█ █\n" : " ._+# #\n");
        screen_put_bars(&screen, 0, 0, odd, ARRAY_LEN(odd), 0);
    }
}

UNIT_TEST(test_changes)
{
    struct screen before, now;
    CLEANUP_BUF struct buf out = buf_of(4096);
    screen_init(&before, 10, 2, true);
    screen_init(&now, 10, 2, true);
    screen_put(&before, 0, 0, 10, SCREEN_PLAIN, "abc");
    screen_put(&now, 0, 0, 10, SCREEN_PLAIN, "abd");
    screen_put(&now, 1, 8, 10, SCREEN_BAD, "xyz");
    screen_changes(&before, &now, true, &out);
    assert_string_equal(buf_cstr(&out), "\x1b[1;3H\x1b[0md\x1b[2;9H\x1b[0;1;31mxy\x1b[0m");
    buf_clear(&out);
    screen_changes(&before, &now, false, &out);
    assert_string_equal(buf_cstr(&out), "\x1b[1;3H\x1b[0md\x1b[2;9H\x1b[0;1mxy\x1b[0m");
    buf_clear(&out);
    screen_changes(&now, &now, true, &out);
    assert_int_equal(out.len, 0);
    screen_changes(NULL, &now, true, &out);
    assert_string_equal(buf_cstr(&out),
                        "\x1b[0m\x1b[2J\x1b[1;1H\x1b[0mabd\x1b[2;9H\x1b[0;1;31mxy\x1b[0m");
    screen_fini(&before);
    screen_fini(&now);
}

UNIT_TEST(test_size_is_bounded)
{
    CLEANUP(screen_fini) struct screen screen;
    screen_init(&screen, SIZE_MAX, SIZE_MAX, true);
    assert_int_equal(screen.width, SCREEN_WIDTH_MAX);
    assert_int_equal(screen.height, SCREEN_HEIGHT_MAX);
    screen_put(&screen, SIZE_MAX, SIZE_MAX - 1, 10, SCREEN_PLAIN, "out of the screen");
    screen_fill(&screen, SIZE_MAX, SCREEN_BAR);
}
