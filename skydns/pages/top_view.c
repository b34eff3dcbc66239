#include "skydns/pages/top_view.h"

#include <stdio.h>

#include "common/live/live_view.h"
#include "common/term/panels.h"
#include "skydns/pages/top_tables_internal.h"

/* Where the tables begin. */
enum { TABLES_ROW = 4 };

/* "1234.5 queries/s" before the bars, and the highest rate after them. */
enum { RATE_WIDTH = 22, PEAK_WIDTH = 16 };

double top_view_queries(const struct live_node *event)
{
    const struct live_node *queries = live_get(event, "queries");
    double total = 0;
    for (const char *name = NULL; (name = live_next_name(queries, name)) != NULL;) {
        total += live_number(queries, name);
    }
    return total;
}

static void draw_history(const struct live_model *model, struct screen *screen)
{
    char text[64], rate[LIVE_TIME_MAX];
    double now = model->before ? live_model_rate_of(model, top_view_queries(model->now),
                                                    top_view_queries(model->before))
                               : -1;
    (void)snprintf(text, sizeof(text), "%s queries/s", live_view_rate(now, rate));
    screen_put(screen, 2, 0, RATE_WIDTH, SCREEN_STRONG, text);
    if (screen->width <= RATE_WIDTH + PEAK_WIDTH) {
        return;
    }
    size_t room = screen->width - RATE_WIDTH - PEAK_WIDTH;
    size_t shown = model->history_count < room ? model->history_count : room;
    const double *values = model->history + model->history_count - shown;
    double peak = 0;
    for (size_t i = 0; i < shown; i++) {
        peak = values[i] > peak ? values[i] : peak;
    }
    screen_put_bars(screen, 2, RATE_WIDTH, values, shown, peak);
    if (shown > 0) {
        (void)snprintf(text, sizeof(text), " peak %s", live_view_rate(peak, rate));
        screen_put(screen, 2, RATE_WIDTH + shown, PEAK_WIDTH, SCREEN_PLAIN, text);
    }
}

void top_view_draw(const struct live_model *model, struct screen *screen)
{
    const struct live_node *domains = live_get(model->now, "domains");
    live_view_frame(model, "skydns", live_text_at(domains, 0), screen);
    if (!model->now) {
        return;
    }
    struct panels panels;
    panels_init(&panels);
    draw_history(model, screen);
    top_tables_add(model, screen->height, &panels);
    panels_draw(&panels, screen, TABLES_ROW, screen->height);
    panels_fini(&panels);
}
