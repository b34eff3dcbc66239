/* Describes what -top shows of a program: a bar, its readiness, a history of one rate, and tables.
 *
 * The bar has the program and its time; below it is whether the program is ready, or that it is
 * gone, and why. Rows of tables are forms (live_form.h) over an event. Pure; any thread. */
#ifndef COMMON_LIVE_LIVE_SCREEN_H
#define COMMON_LIVE_LIVE_SCREEN_H

#include "common/base/attributes.h"
#include "common/live/live_model.h"
#include "common/term/screen.h"

struct live_row {
    const char *left, *right; /* forms; `right` NULL: none */
    const char *style;        /* a form whose text is "good", "warn", "bad" or ""; NULL: "" */
    const char *when;         /* path of what must be true; NULL: nothing */
};

/* Sets the rows of a table. */
#define LIVE_ROWS(of_them) .rows = (of_them), .count = ARRAY_LEN(of_them)

/* Says how many rows a table has room for. On a screen of less than 30 it is `low`; on a higher one
 * that part of its height, or, without a part, `high`; and `more` on either. */
struct live_room {
    size_t low, part, high, more;
};

struct live_table {
    const char *title, *columns;
    struct live_room room;
    const char *each; /* path as in `{*`: each item gets all rows; NULL: once, for the event */
    const char *more; /* path of how many items the event leaves out, or NULL */
    const struct live_row *rows;
    size_t count;
};

/* Page that becomes a member of each event, where the program gives it. */
struct live_source {
    const char *name, *target; /* "missing", "/missing" */
};

enum { LIVE_SOURCES_MAX = 4 };

struct live_screen {
    const char *program;
    const char *domain; /* a form */
    const char *total; /* path of the counter, or of counters to add, whose rates the history has */
    const char *unit;  /* behind the rate: " queries/s" */
    size_t rate_width; /* for both, before the bars */
    size_t peak_width; /* for the highest rate behind them; 0: not shown */
    const struct live_source *sources; /* pages beside /live: at most LIVE_SOURCES_MAX */
    size_t source_count;
    const struct live_table *tables; /* the most important first */
    size_t table_count;
};

/* Draws on a blank screen of any size. Before the first event, says that it is awaited. */
void live_screen_draw(const struct live_screen *view, const struct live_model *model,
                      struct screen *screen);

#endif
