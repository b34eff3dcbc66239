/* What -top shows of a program, as data: a bar with the program and its time; whether it is ready,
 * or that it is gone, and why; a history of one rate; and tables, whose rows are forms
 * (live_form.h) over an event. Pure; any thread. */
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

/* Of a table with these. */
#define LIVE_ROWS(of_them) .rows = (of_them), .count = ARRAY_LEN(of_them)

/* How many rows a table has room for: on a screen of less than 30, on a higher one that part of
 * its height, or, without a part, `high`; and `more` on either. */
struct live_room {
    size_t low, part, high, more;
};

struct live_table {
    const char *title, *columns;
    struct live_room room;
    const char
        *each; /* path as in `{*`: of each item there are all rows; NULL: once, of the event */
    const char *more; /* path of how many items the event leaves out, or NULL */
    const struct live_row *rows;
    size_t count;
};

struct live_screen {
    const char *program;
    const char *domain; /* a form */
    const char *total; /* path of the counter, or of counters to add, whose rates the history has */
    const char *unit;  /* behind the rate: " queries/s" */
    size_t rate_width; /* of both, before the bars */
    size_t peak_width; /* of the highest rate behind them; 0: not shown */
    const struct live_table *tables; /* the most important first */
    size_t table_count;
};

/* On a blank screen of any size. Before the first event: that it is waited for. */
void live_screen_draw(const struct live_screen *view, const struct live_model *model,
                      struct screen *screen);

#endif
