#include "skydns/pages/top_view.h"

#include <stdio.h>
#include <string.h>

#include "common/live/live_view.h"
#include "common/term/panels.h"

/* ---- Tables ---- */

/* Beyond that a bucket's bound is not one of ours. */
enum { BUCKETS_MAX = 64 };

/* Of a name and what is put beside it. */
enum { TEXT_MAX = 512 };

/* Nameservers that an event leaves out; more cannot be configured. */
enum { MORE_MAX = 100000 };

/* ---- Queries ---- */

/* The rates of all members of an object of counters. */
static void add_rates(const struct live_model *model, const char *object, struct panel *panel)
{
    const struct live_node *now = live_get(model->now, object);
    const struct live_node *before = live_get(model->before, object);
    for (const char *name = NULL; (name = live_next_name(now, name)) != NULL;) {
        char rate[LIVE_TIME_MAX];
        panel_row(panel, SCREEN_PLAIN, name, "%12s %13.0f",
                  live_view_rate(live_model_rate(model, now, before, name), rate),
                  live_number(now, name));
    }
}

/* The time within which that part of the replies left, in one step of the buckets; negative: none
 * left. */
static double within_us(const struct live_node *now, const struct live_node *past, double part)
{
    const struct live_node *bounds = live_get(now, "bounds_us");
    const struct live_node *counts = live_get(now, "counts");
    const struct live_node *counts_past = live_get(past, "counts");
    size_t count = live_count(counts) < BUCKETS_MAX ? live_count(counts) : BUCKETS_MAX;
    double replies[BUCKETS_MAX], all = 0, sum = 0;
    for (size_t i = 0; i < count; i++) {
        double more = live_number_at(counts, i) - live_number_at(counts_past, i);
        replies[i] = more > 0 ? more : 0;
        all += replies[i];
    }
    for (size_t i = 0; i < count && all > 0; i++) {
        sum += replies[i];
        if (sum >= all * part) {
            bool is_longer = i >= live_count(bounds);
            return is_longer ? live_number_at(bounds, live_count(bounds) - 1) * 2
                             : live_number_at(bounds, i);
        }
    }
    return -1;
}

static void add_latency(const struct live_model *model, struct panel *panel)
{
    const struct live_node *all = live_get(model->now, "latency");
    const struct live_node *all_past =
        model->past == model->now ? NULL : live_get(model->past, "latency");
    for (const char *name = NULL; (name = live_next_name(all, name)) != NULL;) {
        const struct live_node *now = live_get(all, name), *past = live_get(all_past, name);
        char half[LIVE_TIME_MAX], most[LIVE_TIME_MAX], nearly[LIVE_TIME_MAX];
        panel_row(panel, SCREEN_PLAIN, name, "%8s %8s %8s",
                  live_view_micros(within_us(now, past, 0.5), half),
                  live_view_micros(within_us(now, past, 0.9), most),
                  live_view_micros(within_us(now, past, 0.99), nearly));
    }
}

static void add_losses(const struct live_model *model, struct panel *panel)
{
    const struct live_node *clients = live_get(model->now, "clients");
    const struct live_node *before = live_get(model->before, "clients");
    static const struct {
        const char *name, *label;
    } rows[] = {{"limited", "beyond -rate"}, {"refused", "not allowed"}};
    char rate[LIVE_TIME_MAX];
    for (size_t i = 0; clients && i < ARRAY_LEN(rows); i++) {
        double r = live_model_rate(model, clients, before, rows[i].name);
        panel_row(panel, r > 0 ? SCREEN_WARN : SCREEN_PLAIN, rows[i].label, "%12s %13.0f",
                  live_view_rate(r, rate), live_number(clients, rows[i].name));
    }
    double r = live_model_rate(model, model->now, model->before, "dropped");
    panel_row(panel, r > 0 ? SCREEN_WARN : SCREEN_PLAIN, "no query", "%12s %13.0f",
              live_view_rate(r, rate), live_number(model->now, "dropped"));
}

/* ---- Where answers come from ---- */

static void add_etcd(const struct live_model *model, struct panel *panel)
{
    const struct live_node *etcd = live_get(model->now, "etcd");
    char text[TEXT_MAX], age[LIVE_TIME_MAX];
    if (!etcd) {
        return;
    }
    bool is_connected = live_flag(etcd, "connected");
    if (is_connected) {
        panel_row(panel, SCREEN_GOOD, live_text(etcd, "endpoint"), "connected");
    } else {
        panel_row(panel, SCREEN_BAD, live_text(etcd, "endpoint"), "away for %s",
                  live_view_age(live_number(etcd, "away_s"), age));
    }
    if (*live_text(etcd, "reason")) {
        (void)snprintf(text, sizeof(text), "%s", live_text(etcd, "reason"));
        panel_row(panel, SCREEN_PLAIN, text, "%s", "");
    }
    double lag = live_number(etcd, "lag");
    panel_row(panel, SCREEN_PLAIN, "revision", "%.0f", live_number(etcd, "revision"));
    panel_row(panel, lag > 0 ? SCREEN_WARN : SCREEN_PLAIN, "revisions behind", "%.0f", lag);
    panel_row(panel, SCREEN_PLAIN, "heard from", "%s ago",
              live_view_age(live_number(etcd, "age_ms") / 1000, age));
    double unusable = live_number(model->now, "unusable");
    panel_row(panel, SCREEN_PLAIN, "records", "%.0f", live_number(model->now, "records"));
    panel_row(panel, unusable > 0 ? SCREEN_WARN : SCREEN_PLAIN, "unusable keys", "%.0f", unusable);
}

static void add_cache(const struct live_model *model, struct panel *panel)
{
    static const struct {
        const char *name, *label;
    } rows[] = {{"hits", "hits"},          {"negative_hits", "negative"},
                {"stale_hits", "stale"},   {"failure_hits", "failure"},
                {"misses", "misses"},      {"prefetches", "prefetches"},
                {"evictions", "evictions"}};
    const struct live_node *now = live_get(model->now, "cache");
    const struct live_node *before = live_get(model->before, "cache");
    char rate[LIVE_TIME_MAX];
    if (!now) {
        return;
    }
    panel_row(panel, SCREEN_PLAIN, "replies kept", "%.0f of %.0f", live_number(now, "entries"),
              live_number(now, "limit"));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        panel_row(panel, SCREEN_PLAIN, rows[i].label, "%12s %13.0f",
                  live_view_rate(live_model_rate(model, now, before, rows[i].name), rate),
                  live_number(now, rows[i].name));
    }
}

static void add_nameservers(const struct live_model *model, struct panel *panel)
{
    const struct live_node *servers = live_get(model->now, "nameservers");
    for (size_t i = 0; i < live_count(servers); i++) {
        const struct live_node *server = live_at(servers, i);
        const char *state = live_text(server, "state");
        char text[TEXT_MAX], failed[48] = "";
        (void)snprintf(text, sizeof(text), "%s  %s", live_text(server, "zone"),
                       live_text(server, "address"));
        if (live_get(server, "queries")) {
            (void)snprintf(failed, sizeof(failed), "%.0f, %.0f failed  ",
                           live_number(server, "queries"), live_number(server, "failures"));
        }
        bool is_trouble = strcmp(state, "up") != 0 && strcmp(state, "unknown") != 0;
        panel_row(panel, is_trouble ? SCREEN_BAD : SCREEN_PLAIN, text, "%s%.12s", failed, state);
    }
    double more = live_number(model->now, "nameservers_more");
    panel->total += more > 0 && more < MORE_MAX ? (size_t)more : 0;
}

/* ---- Lists ---- */

static void add_names(const struct live_model *model, struct panel *panel)
{
    const struct live_node *names = live_get(model->now, "top");
    for (size_t i = 0; i < live_count(names); i++) {
        const struct live_node *name = live_at(names, i);
        panel_row(panel, SCREEN_PLAIN, live_text(name, "name"), "%.10s %9.0f",
                  live_text(name, "type"), live_number(name, "count"));
    }
}

static void add_changes(const struct live_model *model, struct panel *panel)
{
    const struct live_node *changes = live_get(model->now, "changes");
    for (size_t i = 0; i < live_count(changes); i++) {
        const struct live_node *change = live_at(changes, i);
        const char *name = live_text(change, "name");
        char text[TEXT_MAX], clock[LIVE_TIME_MAX], took[LIVE_TIME_MAX];
        (void)snprintf(text, sizeof(text), "%s %s",
                       live_view_clock(live_number(change, "time_ms"), clock),
                       *name ? name : live_text(change, "key"));
        panel_row(panel, SCREEN_PLAIN, text, "%.6s %7s", live_text(change, "kind"),
                  live_view_micros(live_number_or(change, "took_us", -1), took));
    }
}

/* The most important first; the higher the screen, the longer the lists. */
static void add_tables(const struct live_model *model, size_t height, struct panels *panels)
{
    size_t few = height < 30 ? 4 : height / 4, rates = height < 30 ? 5 : 16;
    add_rates(model, "queries", panels_add(panels, "Queries", "1/s         total", rates));
    add_etcd(model, panels_add(panels, "etcd", "", rates + 2));
    add_rates(model, "rcodes", panels_add(panels, "Replies", "1/s         total", rates));
    add_latency(model, panels_add(panels, "Replied within", "50%      90%      99%", rates));
    add_nameservers(model, panels_add(panels, "Nameservers", "", few));
    add_changes(model, panels_add(panels, "Latest changes", "in use after", few));
    add_cache(model, panels_add(panels, "Cache", "1/s         total", rates + 3));
    add_names(model, panels_add(panels, "Most asked", "sampled", few));
    add_rates(model, "types", panels_add(panels, "Types", "1/s         total", rates));
    add_losses(model, panels_add(panels, "Not answered", "1/s         total", rates));
}

/* ---- The screen ---- */

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
    add_tables(model, screen->height, &panels);
    panels_draw(&panels, screen, TABLES_ROW, screen->height);
    panels_fini(&panels);
}
