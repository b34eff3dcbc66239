#include "kube2sky/top_view.h"

/* ---- Sources of objects and targets of keys ---- */

static const struct live_row kind_rows[] = {
    {"{kind}{?reason}: {reason}{/}",
     .right = "{?followed}{count|8} {skipped|8} {faults|8}{:}away for {away_s|age}{/}",
     .style = "{?followed}{:}bad{/}"},
};

static const struct live_row etcd_rows[] = {
    {"{endpoint}", .right = "{?connected}connected{:}away for {away_s|age}{/}",
     .style = "{?connected}good{:}bad{/}"},
    {"{reason}", .when = "reason"},
    {"revision", .right = "{revision|0}"},
    {"heard from", .right = "{age_ms|age_ms} ago"},
};

static const struct live_row leader_rows[] = {
    {"{id}", .right = "{?is_leader}leads: this one writes{:}leads: this one waits{/}",
     .style = "{?is_leader}good{/}"},
};

/* ---- Work ---- */

static const struct live_row owner_rows[] = {
    {"known", .right = "{known|0}"},
    {"waiting to be planned", .right = "{waiting|0}"},
    {"in flight", .right = "{in_flight|0}"},
    {"held back", .right = "{held_back|0}", .style = "{?held_back}warn{/}"},
    {"contested", .right = "{contested|0}", .style = "{?contested}warn{/}"},
    {"refused by etcd", .right = "{refused|0}", .style = "{?refused}warn{/}"},
};

static const struct live_row transaction_rows[] = {
    {"transactions", .right = "{count|rate10} {count|10}"},
    {"failed", .right = "{failed|rate10} {failed|10}"},
    {"operations", .right = "{operations|rate10} {operations|10}"},
};

static const struct live_row change_rows[] = {
    {"{time_ms|clock} {owner}",
     .right = "+{puts|0} -{deletes|0} {api_to_plan_us|micros7} {plan_to_etcd_us|micros7}"},
};

static const struct live_row skipped_rows[] = {{.left = "{what|.240}: {reason|.240}"}};

/* ---- All ---- */

/* Shows at most a third of a high screen. */
#define FEW(more)     \
    {                 \
        5, 3, 0, more \
    }

static const struct live_table tables[] = {
    {"Objects", "known  skipped   faults", FEW(3), "kinds", LIVE_ROWS(kind_rows)},
    {"etcd", "", FEW(0), "etcd", LIVE_ROWS(etcd_rows)},
    {"Owners of keys", "", FEW(1), "owners", LIVE_ROWS(owner_rows)},
    {"Leader", "", {1, 0, 1, 0}, "leader", LIVE_ROWS(leader_rows)},
    {"Latest changes", "planned in etcd", FEW(0), "changes", LIVE_ROWS(change_rows)},
    {"To etcd", "1/s      total", FEW(0), "transactions", LIVE_ROWS(transaction_rows)},
    {"Skipped", "", FEW(0), "skipped", LIVE_ROWS(skipped_rows)},
};

const struct live_screen top_view = {
    .program = "kube2sky",
    .domain = "{domain}",
    .total = "transactions/operations",
    .unit = " keys written/s",
    .rate_width = 26, /* "1234.5 keys written/s" */
    .tables = tables,
    .table_count = ARRAY_LEN(tables),
};
