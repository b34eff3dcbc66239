#include "kube2sky/top_view.h"

#include <stdio.h>

#include "common/live/live_view.h"
#include "common/term/panels.h"

/* Where the tables begin. */
enum { TABLES_ROW = 4 };

/* "1234.5 changes/s" before the bars. */
enum { RATE_WIDTH = 26 };

/* Of a name and what is put beside it. */
enum { TEXT_MAX = 512 };

double top_view_operations(const struct live_node *event)
{
    return live_number(live_get(event, "transactions"), "operations");
}

static void draw_history(const struct live_model *model, struct screen *screen)
{
    char text[64], rate[LIVE_TIME_MAX];
    double now = model->before ? live_model_rate_of(model, top_view_operations(model->now),
                                                    top_view_operations(model->before))
                               : -1;
    (void)snprintf(text, sizeof(text), "%s keys written/s", live_view_rate(now, rate));
    screen_put(screen, 2, 0, RATE_WIDTH, SCREEN_STRONG, text);
    if (screen->width > RATE_WIDTH) {
        size_t room = screen->width - RATE_WIDTH;
        size_t shown = model->history_count < room ? model->history_count : room;
        screen_put_bars(screen, 2, RATE_WIDTH, model->history + model->history_count - shown, shown,
                        0);
    }
}

/* ---- Where objects come from and keys go ---- */

static void add_kinds(const struct live_model *model, struct panel *panel)
{
    const struct live_node *kinds = live_get(model->now, "kinds");
    for (size_t i = 0; i < live_count(kinds); i++) {
        const struct live_node *kind = live_at(kinds, i);
        char text[TEXT_MAX], age[LIVE_TIME_MAX];
        const char *reason = live_text(kind, "reason");
        double away_s = live_number(kind, "away_s");
        bool is_followed = live_flag(kind, "followed");
        (void)snprintf(text, sizeof(text), "%s%s%s", live_text(kind, "kind"), *reason ? ": " : "",
                       reason);
        if (!is_followed) {
            panel_row(panel, SCREEN_BAD, text, "away for %s", live_view_age(away_s, age));
        } else {
            panel_row(panel, SCREEN_PLAIN, text, "%8.0f %8.0f %8.0f", live_number(kind, "count"),
                      live_number(kind, "skipped"), live_number(kind, "faults"));
        }
    }
}

static void add_etcd(const struct live_model *model, struct panel *panel)
{
    const struct live_node *etcd = live_get(model->now, "etcd");
    char age[LIVE_TIME_MAX];
    if (!etcd) {
        return;
    }
    if (live_flag(etcd, "connected")) {
        panel_row(panel, SCREEN_GOOD, live_text(etcd, "endpoint"), "connected");
    } else {
        panel_row(panel, SCREEN_BAD, live_text(etcd, "endpoint"), "away for %s",
                  live_view_age(live_number(etcd, "away_s"), age));
    }
    if (*live_text(etcd, "reason")) {
        panel_row(panel, SCREEN_PLAIN, live_text(etcd, "reason"), "%s", "");
    }
    panel_row(panel, SCREEN_PLAIN, "revision", "%.0f", live_number(etcd, "revision"));
    panel_row(panel, SCREEN_PLAIN, "heard from", "%s ago",
              live_view_age(live_number(etcd, "age_ms") / 1000, age));
}

static void add_leader(const struct live_model *model, struct panel *panel)
{
    const struct live_node *leader = live_get(model->now, "leader");
    if (leader) {
        bool is_leader = live_flag(leader, "is_leader");
        panel_row(panel, is_leader ? SCREEN_GOOD : SCREEN_PLAIN, live_text(leader, "id"), "%s",
                  is_leader ? "leads: this one writes" : "leads: this one waits");
    }
}

/* ---- Work ---- */

static void add_owners(const struct live_model *model, struct panel *panel)
{
    static const struct {
        const char *name, *label;
        bool is_trouble;
    } rows[] = {{"known", "known", false},         {"waiting", "waiting to be planned", false},
                {"in_flight", "in flight", false}, {"held_back", "held back", true},
                {"contested", "contested", true},  {"refused", "refused by etcd", true}};
    const struct live_node *owners = live_get(model->now, "owners");
    for (size_t i = 0; owners && i < ARRAY_LEN(rows); i++) {
        double count = live_number(owners, rows[i].name);
        panel_row(panel, rows[i].is_trouble && count > 0 ? SCREEN_WARN : SCREEN_PLAIN,
                  rows[i].label, "%.0f", count);
    }
}

static void add_transactions(const struct live_model *model, struct panel *panel)
{
    static const char *const names[] = {"count", "failed", "operations"};
    static const char *const labels[] = {"transactions", "failed", "operations"};
    const struct live_node *now = live_get(model->now, "transactions");
    const struct live_node *before = live_get(model->before, "transactions");
    for (size_t i = 0; now && i < ARRAY_LEN(names); i++) {
        char rate[LIVE_TIME_MAX];
        panel_row(panel, SCREEN_PLAIN, labels[i], "%10s %10.0f",
                  live_view_rate(live_model_rate(model, now, before, names[i]), rate),
                  live_number(now, names[i]));
    }
}

static void add_changes(const struct live_model *model, struct panel *panel)
{
    const struct live_node *changes = live_get(model->now, "changes");
    for (size_t i = 0; i < live_count(changes); i++) {
        const struct live_node *change = live_at(changes, i);
        char text[TEXT_MAX], clock[LIVE_TIME_MAX], plan[LIVE_TIME_MAX], etcd[LIVE_TIME_MAX];
        (void)snprintf(text, sizeof(text), "%s %s",
                       live_view_clock(live_number(change, "time_ms"), clock),
                       live_text(change, "owner"));
        panel_row(panel, SCREEN_PLAIN, text, "+%.0f -%.0f %7s %7s", live_number(change, "puts"),
                  live_number(change, "deletes"),
                  live_view_micros(live_number_or(change, "api_to_plan_us", -1), plan),
                  live_view_micros(live_number_or(change, "plan_to_etcd_us", -1), etcd));
    }
}

static void add_skipped(const struct live_model *model, struct panel *panel)
{
    const struct live_node *skipped = live_get(model->now, "skipped");
    for (size_t i = 0; i < live_count(skipped); i++) {
        const struct live_node *one = live_at(skipped, i);
        char text[TEXT_MAX];
        (void)snprintf(text, sizeof(text), "%.240s: %.240s", live_text(one, "what"),
                       live_text(one, "reason"));
        panel_row(panel, SCREEN_PLAIN, text, "%s", "");
    }
}

static void add_tables(const struct live_model *model, size_t height, struct panels *panels)
{
    size_t few = height < 30 ? 5 : height / 3;
    add_kinds(model, panels_add(panels, "Objects", "known  skipped   faults", few + 3));
    add_etcd(model, panels_add(panels, "etcd", "", few));
    add_owners(model, panels_add(panels, "Owners of keys", "", few + 1));
    add_leader(model, panels_add(panels, "Leader", "", 1));
    add_changes(model, panels_add(panels, "Latest changes", "planned in etcd", few));
    add_transactions(model, panels_add(panels, "To etcd", "1/s      total", few));
    add_skipped(model, panels_add(panels, "Skipped", "", few));
}

void top_view_draw(const struct live_model *model, struct screen *screen)
{
    live_view_frame(model, "kube2sky", live_text(model->now, "domain"), screen);
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
