/* A screen as cells, and the bytes that turn one into the next.
 *
 * Text is never sent as it is: control characters, and all that is not ASCII, are shown escaped, as
 * \x1b or \u{202e}. So nothing moves the cursor, changes direction or has another width. Pure; one
 * thread. */
#ifndef COMMON_TERM_SCREEN_H
#define COMMON_TERM_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"

/* Exceed any display; bound what a terminal that lies makes us allocate. */
enum { SCREEN_WIDTH_MAX = 1000, SCREEN_HEIGHT_MAX = 500 };

enum screen_style {
    SCREEN_PLAIN,
    SCREEN_STRONG, /* headings */
    SCREEN_BAR,    /* reversed */
    SCREEN_GOOD,   /* states, never figures */
    SCREEN_WARN,
    SCREEN_BAD,
};

struct screen_cell {
    uint16_t character; /* in the basic plane */
    uint8_t style;
};

struct screen {
    size_t width, height;
    bool is_utf8; /* bars and dots in Unicode, else in ASCII */
    struct screen_cell *cells;
};

/* Starts blank; larger sizes are cut. */
void screen_init(struct screen *screen, size_t width, size_t height, bool is_utf8);
void screen_fini(struct screen *screen);

/* Puts text at most `width` cells wide, a longer one with its last cell as a mark. Text outside the
 * screen is left out. Returns the cells that it took. */
size_t screen_put(struct screen *screen, size_t row, size_t column, size_t width,
                  enum screen_style style, const char *text);

/* Returns the cells that the text takes. */
size_t screen_text_width(const char *text);

/* Gives the whole row a style. */
void screen_fill(struct screen *screen, size_t row, enum screen_style style);

/* Puts values as bars from left to right. The highest of them, or `peak` if higher, is the full
 * bar; a negative one is a blank. */
void screen_put_bars(struct screen *screen, size_t row, size_t column, const double *values,
                     size_t count, double peak);

/* Appends what makes a terminal that shows `before` show `now`; NULL, or another size: from
 * nothing. Without colours, good and bad are bold. */
void screen_changes(const struct screen *before, const struct screen *now, bool has_colours,
                    struct buf *out);

#endif
