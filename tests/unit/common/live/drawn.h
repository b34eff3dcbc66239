/* Draws a program's view of a model, for the tests of both programs' `top_view`. */
#ifndef TESTS_UNIT_COMMON_LIVE_DRAWN_H
#define TESTS_UNIT_COMMON_LIVE_DRAWN_H

#include "common/live/live_screen.h"
#include "tests/support/screen_lines.h"
#include "tests/support/unit_test.h"

/* Fails unless the screen has exactly these lines. */
static inline void drawn_expect(const struct live_screen *view, const struct live_model *model,
                                size_t width, size_t height, bool is_utf8, const char *lines)
{
    CLEANUP(screen_fini) struct screen screen;
    CLEANUP_BUF struct buf text = buf_of(1 << 20);
    screen_init(&screen, width, height, is_utf8);
    live_screen_draw(view, model, &screen);
    screen_lines(&screen, &text);
    if (strcmp(buf_cstr(&text), lines) != 0) {
        (void)fputs(buf_cstr(&text), stderr); /* cmocka cuts long messages */
    }
    assert_string_equal(buf_cstr(&text), lines);
}

/* On screens of all sizes: the sanitizers see what is drawn outside of one. */
static inline void drawn_at_any_size(const struct live_screen *view, const struct live_model *model)
{
    for (size_t width = 0; width < 300; width += width < 30 ? 1 : 17) {
        for (size_t height = 0; height < 70; height += height < 30 ? 1 : 13) {
            CLEANUP(screen_fini) struct screen screen;
            screen_init(&screen, width, height, true);
            live_screen_draw(view, model, &screen);
        }
    }
}

#endif
