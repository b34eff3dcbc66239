#include "common/live/live_screen.h"

#include <stdio.h>

#include "common/base/buf.h"
#include "common/live/live_form.h"
#include "common/term/panels.h"

/* Bounds a text that may come from a peer: more than a row shows. */
enum { FORM_TEXT_MAX = 64 * 1024 };

/* Bounds the items that an event leaves out; more cannot be configured. */
enum { MORE_MAX = 100000 };

/* Names the row where the tables begin. */
enum { TABLES_ROW = 4 };

/* ---- What all screens begin with ---- */

static void draw_bar(const struct live_screen *view, const struct live_model *model,
                     const struct live_scope *event, struct screen *screen)
{
    CLEANUP_BUF struct buf text = buf_of(FORM_TEXT_MAX);
    live_form_write(model->now ? "{time_ms|clock} UTC  q ends " : "q ends ", event, model, &text);
    size_t right = text.len, left = screen->width > right ? screen->width - right : 0;
    screen_put(screen, 0, left, right, SCREEN_BAR, buf_cstr(&text));
    buf_clear(&text);
    buf_printf(&text, " %s", view->program);
    if (model->now) {
        live_form_write(" {version}  ", event, model, &text);
        live_form_write(view->domain, event, model, &text);
        live_form_write("  up {uptime_s|age}", event, model, &text);
    }
    screen_put(screen, 0, 0, left, SCREEN_BAR, buf_cstr(&text));
    screen_fill(screen, 0, SCREEN_BAR);
}

/* Draws two rows that fit a narrow terminal; the second is otherwise blank. */
static void draw_away(const struct live_model *model, const char *program, struct screen *screen)
{
    char text[1024], age[LIVE_TIME_MAX];
    (void)snprintf(text, sizeof(text), "%s at %s is gone for %s; trying every second", program,
                   model->server, live_form_age((double)model->away_ms / 1000, age));
    screen_put(screen, 1, 0, screen->width, SCREEN_BAD, text);
    (void)snprintf(text, sizeof(text), "%s%s", model->why,
                   model->now ? "; what is below is old" : "");
    screen_put(screen, 3, 0, screen->width, SCREEN_BAD, text);
}

static void draw_readiness(const struct live_model *model, struct screen *screen)
{
    bool is_ready = live_flag(model->now, "ready");
    const char *reason = live_text(model->now, "reason");
    enum screen_style style = !is_ready ? SCREEN_BAD : *reason ? SCREEN_WARN : SCREEN_GOOD;
    size_t used = screen_put(screen, 1, 0, screen->width, style, is_ready ? "ready" : "not ready");
    if (*reason) {
        used += screen_put(screen, 1, used, 2, SCREEN_PLAIN, ": ");
        screen_put(screen, 1, used, screen->width - (used < screen->width ? used : screen->width),
                   style, reason);
    }
}

static void draw_history(const struct live_screen *view, const struct live_model *model,
                         struct screen *screen)
{
    char text[64], rate[LIVE_TIME_MAX];
    size_t around = view->rate_width + view->peak_width;
    (void)snprintf(text, sizeof(text), "%s%s",
                   live_form_rate(live_model_total_rate(model, view->total), rate), view->unit);
    screen_put(screen, 2, 0, view->rate_width, SCREEN_STRONG, text);
    if (screen->width <= around) {
        return;
    }
    size_t room = screen->width - around;
    size_t shown = model->history_count < room ? model->history_count : room;
    const double *values = model->history + model->history_count - shown;
    double peak = 0;
    for (size_t i = 0; i < shown; i++) {
        peak = values[i] > peak ? values[i] : peak;
    }
    screen_put_bars(screen, 2, view->rate_width, values, shown, peak);
    if (shown > 0 && view->peak_width > 0) {
        (void)snprintf(text, sizeof(text), " peak %s", live_form_rate(peak, rate));
        screen_put(screen, 2, view->rate_width + shown, view->peak_width, SCREEN_PLAIN, text);
    }
}

/* ---- Tables ---- */

static enum screen_style row_style(const char *word)
{
    return *word == 'g'   ? SCREEN_GOOD
           : *word == 'w' ? SCREEN_WARN
           : *word        ? SCREEN_BAD
                          : SCREEN_PLAIN;
}

static void add_rows(const struct live_table *table, const struct live_scope *scope,
                     const struct live_model *model, struct panel *panel)
{
    struct buf texts[3];
    for (size_t i = 0; i < 3; i++) {
        buf_init(&texts[i], FORM_TEXT_MAX);
    }
    for (size_t i = 0; i < table->count; i++) {
        const struct live_row *row = &table->rows[i];
        const char *const forms[] = {row->style, row->left, row->right};
        if (row->when && !live_is_true(live_find(scope->now, row->when))) {
            continue;
        }
        for (size_t k = 0; k < 3; k++) {
            buf_clear(&texts[k]);
            live_form_write(forms[k] ? forms[k] : "", scope, model, &texts[k]);
        }
        panel_row(panel, row_style(buf_cstr(&texts[0])), buf_cstr(&texts[1]), buf_cstr(&texts[2]));
    }
    for (size_t i = 0; i < 3; i++) {
        buf_fini(&texts[i]);
    }
}

static size_t table_room(const struct live_room *room, size_t height)
{
    size_t rows = height < 30 ? room->low : room->part ? height / room->part : room->high;
    return rows + room->more;
}

static void add_table(const struct live_table *table, const struct live_scope *event,
                      const struct live_model *model, size_t height, struct panels *panels)
{
    struct panel *panel =
        panels_add(panels, table->title, table->columns, table_room(&table->room, height));
    struct live_scope scope;
    if (!table->each) {
        add_rows(table, event, model, panel);
    }
    for (size_t i = 0; table->each && live_scope_item(event, table->each, i, &scope); i++) {
        add_rows(table, &scope, model, panel);
    }
    double more = table->more ? live_number(model->now, table->more) : 0;
    panel->total += more > 0 && more < MORE_MAX ? (size_t)more : 0;
}

void live_screen_draw(const struct live_screen *view, const struct live_model *model,
                      struct screen *screen)
{
    const struct live_scope event = {
        .now = model->now,
        .before = model->before,
        .past = model->past == model->now ? NULL : model->past,
    };
    draw_bar(view, model, &event, screen);
    if (model->is_away) {
        draw_away(model, view->program, screen);
    } else {
        draw_readiness(model, screen);
    }
    if (!model->now) {
        return;
    }
    struct panels panels;
    panels_init(&panels);
    draw_history(view, model, screen);
    for (size_t i = 0; i < view->table_count; i++) {
        add_table(&view->tables[i], &event, model, screen->height, &panels);
    }
    panels_draw(&panels, screen, TABLES_ROW, screen->height);
    panels_fini(&panels);
}
