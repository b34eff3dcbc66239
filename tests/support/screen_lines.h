/* Writes a screen as text, for the tests of what is drawn. */
#ifndef TESTS_SUPPORT_SCREEN_LINES_H
#define TESTS_SUPPORT_SCREEN_LINES_H

#include "common/term/screen.h"

/* Appends the lines, without blanks at their ends. */
static inline void screen_lines(const struct screen *screen, struct buf *out)
{
    for (size_t row = 0; row < screen->height; row++) {
        const struct screen_cell *cells = &screen->cells[row * screen->width];
        size_t end = screen->width;
        while (end > 0 && cells[end - 1].character == ' ') {
            end--;
        }
        for (size_t i = 0; i < end; i++) {
            const unsigned c = cells[i].character;
            if (c < 0x80) {
                buf_append_char(out, (char)c);
            } else { /* none of ours is below U+0800 */
                buf_append_u8(out, (uint8_t)(0xe0 | c >> 12));
                buf_append_u8(out, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
                buf_append_u8(out, (uint8_t)(0x80 | (c & 0x3f)));
            }
        }
        buf_append_char(out, '\n');
    }
}

#endif
