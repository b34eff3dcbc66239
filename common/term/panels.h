/* Small tables, each with a title, laid out side by side in as many columns as the width has room
 * for.
 *
 * Each table goes where most room is left, so that the most important come first and the others are
 * left out when the screen is small. Pure but for memory; one thread. */
#ifndef COMMON_TERM_PANELS_H
#define COMMON_TERM_PANELS_H

#include "common/term/screen.h"

/* Exceed what a screen shows. */
enum { PANELS_MAX = 16, PANEL_ROWS_MAX = 64 };

/* Bound the texts: a longer one on the left is cut anyway; figures on the right are ours. */
enum { PANEL_LEFT_MAX = 512, PANEL_RIGHT_MAX = 64 };

struct panel_row {
    enum screen_style style; /* for the figures */
    char left[PANEL_LEFT_MAX];
    char right[PANEL_RIGHT_MAX];
};

struct panel {
    const char *title, *columns; /* columns: what the figures on the right are */
    struct panel_row *rows;
    size_t count, total; /* total: includes those over `limit` */
    size_t limit;
};

struct panels {
    struct panel items[PANELS_MAX];
    size_t count;
};

void panels_init(struct panels *panels);
void panels_fini(struct panels *panels);

/* Adds a table for at most `limit` rows, and counts further ones; without rows it is not shown. The
 * texts are literals. */
struct panel *panels_add(struct panels *panels, const char *title, const char *columns,
                         size_t limit);

/* Adds a row; the left text may come from outside. */
void panel_row(struct panel *panel, enum screen_style style, const char *left, const char *right);

/* Draws from first_row up to end_row, exclusive. */
void panels_draw(const struct panels *panels, struct screen *screen, size_t first_row,
                 size_t end_row);

#endif
