#include "common/term/screen.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/xalloc.h"

/* Fits the longest escape, "\u{10ffff}". */
enum { ESCAPE_MAX = 12 };

/* Exceeds any text that fits; bounds the escaping of hostile ones. */
enum { TEXT_CELLS_MAX = SCREEN_WIDTH_MAX + 1 };

void screen_init(struct screen *screen, size_t width, size_t height, bool is_utf8)
{
    screen->width = width < SCREEN_WIDTH_MAX ? width : SCREEN_WIDTH_MAX;
    screen->height = height < SCREEN_HEIGHT_MAX ? height : SCREEN_HEIGHT_MAX;
    screen->is_utf8 = is_utf8;
    size_t count = screen->width * screen->height;
    screen->cells = xcalloc(count ? count : 1, sizeof(*screen->cells));
    for (size_t i = 0; i < count; i++) {
        screen->cells[i].character = ' ';
    }
}

void screen_fini(struct screen *screen)
{
    free(screen->cells);
    screen->cells = NULL;
}

static void put_cell(struct screen *screen, size_t row, size_t column, enum screen_style style,
                     uint16_t character)
{
    if (row < screen->height && column < screen->width) {
        struct screen_cell *cell = &screen->cells[row * screen->width + column];
        cell->character = character;
        cell->style = (uint8_t)style;
    }
}

/* ---- Text ---- */

/* Returns the character at *text in UTF-8, which moves behind it; a byte that is none stands for
 * itself. */
static uint32_t screen_next_character(const unsigned char **text, bool *ret_is_byte)
{
    const unsigned char *at = *text;
    unsigned more = *at < 0xc2 ? 0 : *at < 0xe0 ? 1 : *at < 0xf0 ? 2 : *at < 0xf5 ? 3 : 0;
    uint32_t value = more ? *at & (0x3fU >> more) : *at;
    for (unsigned i = 1; i <= more; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            more = 0;
            value = *at;
            break;
        }
        value = value << 6 | (at[i] & 0x3fU);
    }
    *ret_is_byte = more == 0;
    *text += more + 1;
    return value;
}

/* Returns the cells of the text, at most TEXT_CELLS_MAX of them. */
static size_t screen_escape(const char *text, char cells[TEXT_CELLS_MAX + ESCAPE_MAX])
{
    const unsigned char *at = (const unsigned char *)text;
    size_t len = 0;
    while (*at && len < TEXT_CELLS_MAX) {
        bool is_byte;
        uint32_t value = screen_next_character(&at, &is_byte);
        int n = value >= ' ' && value <= '~' ? snprintf(cells + len, ESCAPE_MAX, "%c", (int)value)
                : is_byte ? snprintf(cells + len, ESCAPE_MAX, "\\x%02x", (unsigned)value)
                          : snprintf(cells + len, ESCAPE_MAX, "\\u{%x}", (unsigned)value);
        len += n > 0 ? (size_t)n : 0;
    }
    return len < TEXT_CELLS_MAX ? len : TEXT_CELLS_MAX;
}

size_t screen_text_width(const char *text)
{
    char cells[TEXT_CELLS_MAX + ESCAPE_MAX];
    return screen_escape(text, cells);
}

size_t screen_put(struct screen *screen, size_t row, size_t column, size_t width,
                  enum screen_style style, const char *text)
{
    char cells[TEXT_CELLS_MAX + ESCAPE_MAX];
    size_t len = screen_escape(text, cells);
    size_t shown = len < width ? len : width;
    for (size_t i = 0; i < shown; i++) {
        put_cell(screen, row, column + i, style, (uint8_t)cells[i]);
    }
    if (shown < len && shown > 0) {
        put_cell(screen, row, column + shown - 1, style, screen->is_utf8 ? 0x2026 : '~');
    }
    return shown;
}

void screen_fill(struct screen *screen, size_t row, enum screen_style style)
{
    for (size_t i = 0; i < screen->width && row < screen->height; i++) {
        screen->cells[row * screen->width + i].style = (uint8_t)style;
    }
}

/* ---- Bars ---- */

static uint16_t screen_bar(const struct screen *screen, double part)
{
    static const char ascii[] = "._-=+*%#";
    int step = part >= 1 ? 7 : part > 0 ? (int)(part * 7 + 0.5) : 0;
    return screen->is_utf8 ? (uint16_t)(0x2581 + step) : (uint16_t)ascii[step];
}

void screen_put_bars(struct screen *screen, size_t row, size_t column, const double *values,
                     size_t count, double peak)
{
    for (size_t i = 0; i < count; i++) {
        peak = values[i] > peak ? values[i] : peak;
    }
    for (size_t i = 0; i < count; i++) {
        uint16_t character =
            values[i] < 0 ? ' ' : screen_bar(screen, peak > 0 ? values[i] / peak : 0);
        put_cell(screen, row, column + i, SCREEN_PLAIN, character);
    }
}

/* ---- Output ---- */

static void append_character(struct buf *out, uint16_t character)
{
    if (character < 0x80) {
        buf_append_char(out, (char)character);
    } else { /* none of ours is below U+0800 */
        buf_append_char(out, (char)(0xe0 | character >> 12));
        buf_append_char(out, (char)(0x80 | (character >> 6 & 0x3f)));
        buf_append_char(out, (char)(0x80 | (character & 0x3f)));
    }
}

static void append_style(struct buf *out, uint8_t style, bool has_colours)
{
    static const char *const colours[] = {
        [SCREEN_PLAIN] = "\x1b[0m",   [SCREEN_STRONG] = "\x1b[0;1m",  [SCREEN_BAR] = "\x1b[0;7m",
        [SCREEN_GOOD] = "\x1b[0;32m", [SCREEN_WARN] = "\x1b[0;1;33m", [SCREEN_BAD] = "\x1b[0;1;31m",
    };
    bool is_bold = !has_colours && style >= SCREEN_WARN;
    bool is_plain = !has_colours && style == SCREEN_GOOD;
    buf_append_str(out, colours[is_bold ? SCREEN_STRONG : is_plain ? SCREEN_PLAIN : style]);
}

void screen_changes(const struct screen *before, const struct screen *now, bool has_colours,
                    struct buf *out)
{
    bool is_known = before && before->width == now->width && before->height == now->height;
    int style = -1;
    if (!is_known) {
        buf_append_str(out, "\x1b[0m\x1b[2J");
    }
    size_t next = SIZE_MAX; /* where the cursor is */
    for (size_t i = 0; i < now->width * now->height; i++) {
        const struct screen_cell *cell = &now->cells[i];
        const struct screen_cell blank = {' ', SCREEN_PLAIN};
        const struct screen_cell *old = is_known ? &before->cells[i] : &blank;
        if (cell->character == old->character && cell->style == old->style) {
            continue;
        }
        if (i != next || i % now->width == 0) {
            buf_printf(out, "\x1b[%zu;%zuH", i / now->width + 1, i % now->width + 1);
        }
        if (cell->style != style) {
            append_style(out, cell->style, has_colours);
            style = cell->style;
        }
        append_character(out, cell->character);
        next = i + 1;
    }
    if (style >= 0) {
        buf_append_str(out, "\x1b[0m");
    }
}
