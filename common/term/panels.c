#include "common/term/panels.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/xalloc.h"

enum { COLUMNS_MAX = 4, GAP = 2 };

/* Returns the columns for a width: names get room before there are more columns, 39 cells at 80, 65
 * at 200. */
static size_t columns_of(size_t width)
{
    return width < 76 ? 1 : width < 150 ? 2 : width < 260 ? 3 : COLUMNS_MAX;
}

void panels_init(struct panels *panels)
{
    panels->count = 0;
}

void panels_fini(struct panels *panels)
{
    for (size_t i = 0; i < panels->count; i++) {
        free(panels->items[i].rows);
    }
    panels->count = 0;
}

struct panel *panels_add(struct panels *panels, const char *title, const char *columns,
                         size_t limit)
{
    if (panels->count == PANELS_MAX) {
        abort(); /* the views add a fixed number */
    }
    struct panel *panel = &panels->items[panels->count++];
    *panel = (struct panel){
        .title = title,
        .columns = columns,
        .limit = limit < PANEL_ROWS_MAX ? limit : PANEL_ROWS_MAX,
        .rows = xcalloc(PANEL_ROWS_MAX, sizeof(*panel->rows)),
    };
    return panel;
}

void panel_row(struct panel *panel, enum screen_style style, const char *left, const char *right)
{
    panel->total++;
    if (panel->count == panel->limit) {
        return;
    }
    struct panel_row *row = &panel->rows[panel->count++];
    row->style = style;
    (void)snprintf(row->left, sizeof(row->left), "%s", left);
    (void)snprintf(row->right, sizeof(row->right), "%s", right);
}

/* Draws the right text at the right edge, the left one in what remains. */
static void draw_line(struct screen *screen, size_t row, size_t column, size_t width,
                      const struct panel_row *line, bool is_title)
{
    size_t right = screen_text_width(line->right);
    size_t left = right + 1 < width ? width - right - 1 : 0;
    screen_put(screen, row, column, right ? left : width, is_title ? SCREEN_STRONG : SCREEN_PLAIN,
               line->left);
    if (right > 0 && right <= width) {
        screen_put(screen, row, column + width - right, right, line->style, line->right);
    }
}

static void draw_panel(struct screen *screen, const struct panel *panel, size_t row, size_t column,
                       size_t width, size_t shown)
{
    struct panel_row title = {.style = SCREEN_PLAIN};
    if (shown < panel->total) {
        (void)snprintf(title.left, sizeof(title.left), "%s (%zu of %zu)", panel->title, shown,
                       panel->total);
    } else {
        (void)snprintf(title.left, sizeof(title.left), "%s", panel->title);
    }
    (void)snprintf(title.right, sizeof(title.right), "%s", panel->columns);
    draw_line(screen, row, column, width, &title, true);
    for (size_t i = 0; i < shown; i++) {
        draw_line(screen, row + 1 + i, column, width, &panel->rows[i], false);
    }
}

void panels_draw(const struct panels *panels, struct screen *screen, size_t first_row,
                 size_t end_row)
{
    size_t columns = columns_of(screen->width);
    size_t gaps = (columns - 1) * GAP;
    size_t width = screen->width > gaps ? (screen->width - gaps) / columns : 0;
    size_t used[COLUMNS_MAX];
    for (size_t i = 0; i < columns; i++) {
        used[i] = first_row;
    }
    for (size_t i = 0; i < panels->count; i++) {
        const struct panel *panel = &panels->items[i];
        size_t best = 0;
        for (size_t c = 1; c < columns; c++) {
            best = used[c] < used[best] ? c : best;
        }
        if (panel->count == 0 || used[best] + 2 > end_row) {
            continue;
        }
        size_t room = end_row - used[best] - 1;
        size_t shown = panel->count < room ? panel->count : room;
        draw_panel(screen, panel, used[best], best * (width + GAP), width, shown);
        used[best] += shown + 2;
    }
}
