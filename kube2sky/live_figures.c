#include "kube2sky/live_figures.h"

#include <inttypes.h>

#include "common/base/clock.h"
#include "common/base/json_text.h"
#include "common/base/outage.h"
#include "common/base/version.h"
#include "common/etcd/etcd.h"
#include "kube2sky/api/kube_client.h"
#include "kube2sky/kube_source.h"
#include "kube2sky/reconcile/flaw_list.h"
#include "kube2sky/reconcile/reconciler.h"
#include "kube2sky/status.h"

/* A reason is one line; longer ones are cut. */
enum { REASON_MAX = 4096 };

static void kube2sky_live_write_program(const struct metrics_sources *all, struct buf *out)
{
    struct buf reason;
    buf_init(&reason, REASON_MAX);
    bool is_ready = reconciler_has_synced(all->reconciler);
    bool is_doubtful = !status_is_ready(all, true, &reason);
    json_text_open(out, NULL, '{');
    json_text_string_field(out, "program", "kube2sky");
    json_text_string_field(out, "version", version_string);
    json_text_number_field(out, "time_ms", (uint64_t)clock_wall_ms());
    json_text_number_field(out, "uptime_s", (uint64_t)(clock_wall_s() - all->start_s));
    json_text_string_field(out, "domain", all->domain ? all->domain : "");
    json_text_flag_field(out, "ready", is_ready);
    json_text_string_field(out, "reason", is_doubtful ? buf_cstr(&reason) : "");
    buf_fini(&reason);
}

/* ---- The API ---- */

static void write_away(const struct outage_source *source, struct buf *out)
{
    int64_t away_ms = source->is_away ? clock_monotonic_ms() - source->since_ms : 0;
    json_text_number_field(out, "away_s", (uint64_t)(away_ms / 1000));
    json_text_string_field(out, "reason", source->is_away ? source->err.msg : "");
}

/* Writes one row for Endpoints and the slices in their place: only the followed ones are known. */
static void write_live_counts(const struct kube_source *kube_source, enum kube_kind kind,
                              struct buf *out)
{
    size_t count = kube_source_count(kube_source, kind);
    uint64_t skipped = counter_get(&kube_source_counts(kube_source, kind)->skipped);
    uint64_t faults = counter_get(&kube_source_counts(kube_source, kind)->faults);
    if (kind == KUBE_ENDPOINTS) {
        count += kube_source_count(kube_source, KUBE_SLICE);
        skipped += counter_get(&kube_source_counts(kube_source, KUBE_SLICE)->skipped);
        faults += counter_get(&kube_source_counts(kube_source, KUBE_SLICE)->faults);
    }
    json_text_number_field(out, "count", count);
    json_text_number_field(out, "skipped", skipped);
    json_text_number_field(out, "faults", faults);
}

static void write_kinds(const struct kube_source *kube_source, struct buf *out)
{
    json_text_open(out, "kinds", '[');
    for (size_t i = 0; i < KUBE_KIND_COUNT; i++) {
        enum kube_kind kind = (enum kube_kind)i;
        if (!kube_source_follows(kube_source, kind)) {
            continue;
        }
        const struct outage_source *followed = kube_source_followed(kube_source, kind);
        json_text_open(out, NULL, '{');
        json_text_string_field(out, "kind", kube_kind_name(kind));
        json_text_string_field(out, "resource", followed->kind);
        write_live_counts(kube_source, kind, out);
        json_text_flag_field(out, "followed", !followed->is_away);
        write_away(followed, out);
        buf_append_char(out, '}');
    }
    buf_append_char(out, ']');
}

static void write_skipped(const struct flaw_list *list, struct buf *out)
{
    json_text_open(out, "skipped", '[');
    for (size_t i = 0; i < list->count; i++) {
        const struct flaw *flaw = &list->items[i];
        json_text_open(out, NULL, '{');
        json_text_integer_field(out, "time_ms", flaw->time_ms);
        json_text_string_field(out, "what", flaw->what);
        json_text_string_field(out, "reason", flaw->reason);
        buf_append_char(out, '}');
    }
    buf_append_char(out, ']');
}

/* ---- etcd ---- */

static void kube2sky_live_write_etcd(const struct metrics_sources *all,
                                     const struct reconciler_stats *stats, struct buf *out)
{
    const struct outage_source *followed = reconciler_followed(all->reconciler);
    json_text_open(out, "etcd", '{');
    json_text_flag_field(out, "connected", !followed->is_away);
    json_text_integer_field(out, "revision", stats->revision);
    json_text_integer_field(out, "age_ms", etcd_silence_ms(all->etcd));
    json_text_string_field(out, "endpoint", etcd_endpoint(all->etcd));
    write_away(followed, out);
    buf_append_char(out, '}');
}

static void write_owners(const struct reconciler_stats *stats, struct buf *out)
{
    buf_printf(out,
               ",\"owners\":{\"known\":%zu,\"waiting\":%zu,\"in_flight\":%zu,\"held_back\":%zu,"
               "\"contested\":%zu,\"refused\":%zu}",
               stats->owners, stats->waiting, stats->in_flight, stats->held, stats->contested,
               stats->refused);
    buf_printf(out,
               ",\"transactions\":{\"count\":%" PRIu64 ",\"failed\":%" PRIu64
               ",\"operations\":%" PRIu64 "},\"keys\":{\"wanted\":%" PRIu64 ",\"present\":%" PRIu64
               "}",
               stats->transaction_count, stats->failures, stats->keys_written + stats->keys_deleted,
               stats->desired, stats->actual);
}

static void write_changes(const struct change_ring *ring, struct buf *out)
{
    const struct change *change;
    json_text_open(out, "changes", '[');
    for (size_t i = 0; i < LIVE_CHANGES_MAX && (change = change_ring_get(ring, i)); i++) {
        json_text_open(out, NULL, '{');
        json_text_integer_field(out, "time_ms", change->time_ms);
        json_text_string_field(out, "owner", change->owner);
        json_text_number_field(out, "puts", change->puts);
        json_text_number_field(out, "deletes", change->deletes);
        if (change->api_to_plan_us >= 0) {
            json_text_integer_field(out, "api_to_plan_us", change->api_to_plan_us);
        }
        json_text_integer_field(out, "plan_to_etcd_us", change->plan_to_etcd_us);
        json_text_integer_field(out, "revision", change->revision);
        buf_append_char(out, '}');
    }
    buf_append_char(out, ']');
}

void kube2sky_live_figures_write(const struct metrics_sources *all, struct buf *out)
{
    const struct reconciler_stats stats = reconciler_get_stats(all->reconciler);
    kube2sky_live_write_program(all, out);
    json_text_open(out, "leader", '{');
    json_text_flag_field(out, "is_leader", stats.is_leading);
    json_text_string_field(out, "id", stats.leader);
    buf_append_char(out, '}');
    write_kinds(all->kube_source, out);
    kube2sky_live_write_etcd(all, &stats, out);
    write_owners(&stats, out);
    write_changes(stats.changes, out);
    write_skipped(all->flaws, out);
    buf_append_char(out, '}');
}

/* ---- The screen ---- */

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
