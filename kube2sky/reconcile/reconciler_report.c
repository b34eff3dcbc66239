/* Reports the reconciler's state to pages and metrics, and finished work to the log. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd_metrics.h"
#include "common/etcd/etcd_mirror.h"
#include "kube2sky/reconcile/conflict_internal.h"
#include "kube2sky/reconcile/etcd_space_internal.h"
#include "kube2sky/reconcile/history_internal.h"
#include "kube2sky/reconcile/leader_internal.h"
#include "kube2sky/reconcile/reconciler_internal.h"
#include "kube2sky/reconcile/refusal_internal.h"

const struct histogram_scale reconciler_programming_scale = {
    .bound_count = 20,
    .bounds = {1000,     2000,     4000,     8000,      16000,     32000,    64000,
               128000,   256000,   512000,   1024000,   2048000,   4096000,  8192000,
               16384000, 32768000, 65536000, 131072000, 262144000, 524288000},
    .page_unit = 1e6,
    .sum_decimals = -1,
};

bool reconciler_has_synced(const struct reconciler *r)
{
    return r->report.has_synced;
}

static void append_why(const struct outage_source *source, struct buf *out)
{
    if (source->is_away && source->err.msg[0]) {
        buf_printf(out, ": %s", source->err.msg);
    }
}

void reconciler_explain(const struct reconciler *r, struct buf *out)
{
    if (!r->feeds[KEY_SOURCE_RECORDS].is_mirrored) {
        buf_append_str(out, "etcd has not been read yet");
        append_why(&r->followed, out);
        return;
    }
    buf_printf(out, "%zu services are waiting to be written to etcd, %zu transactions in flight",
               reconciler_queued(r) + owners_in(r->owners, OWNER_RECORDS, OWNER_REFUSED),
               transactions_used(r->transactions));
    if (reconciler_clients_are_pending(r)) {
        buf_append_str(out, "; keys about clients are waiting, too");
    }
    append_why(&r->written, out);
    if (!r->written.is_away && r->refused[OWNER_RECORDS].msg[0]) {
        buf_printf(out, "; the last refusal was: %s", r->refused[OWNER_RECORDS].msg);
    }
}

struct too_large_visit {
    const struct reconciler *r;
    struct buf *out;
    bool is_told;
};

static void visit_too_large(void *data, struct owner *owner)
{
    struct too_large_visit *visit = data;
    const struct planner *planner = &visit->r->planner;
    if (owner->is_too_large && !visit->is_told) {
        visit->is_told = true;
        buf_printf(visit->out, "%" PRIu64 " services have more than %" PRIu32 " records",
                   planner->too_large, planner->config.limits.owner_keys);
        if (owner->is_too_long) {
            buf_printf(visit->out, " or %" PRIu32 " bytes of them",
                       planner->config.limits.owner_bytes);
        }
        buf_append_str(visit->out, ", such as ");
        buf_append_slice(visit->out, owner->id);
        buf_append_str(visit->out, "; their keys are unchanged");
    }
}

static bool explain_too_large(const struct reconciler *r, struct buf *out)
{
    struct too_large_visit visit = {.r = r, .out = out};
    if (r->planner.too_large) {
        owners_each(r->owners, visit_too_large, &visit);
    }
    return visit.is_told;
}

struct lacking_visit {
    struct buf *out;
    bool is_told;
};

static void visit_lacking(void *data, struct owner *owner)
{
    struct lacking_visit *visit = data;
    if (owner->lacks_room && !visit->is_told) {
        visit->is_told = true;
        buf_append_slice(visit->out, owner->id);
    }
}

static bool explain_lacking(const struct reconciler *r, struct buf *out)
{
    const struct lacking lacking = r->owners->lacking;
    struct lacking_visit visit = {.out = out};
    if (lacking.owners) {
        buf_printf(out,
                   "%zu namespaces have as many keys as they may: new keys of %zu services "
                   "wait, such as of ",
                   lacking.groups, lacking.owners);
        owners_each(r->owners, visit_lacking, &visit);
    }
    return lacking.owners > 0;
}

static bool explain_doubt(const struct reconciler *r, enum kube_kind kind, const char *text,
                          struct buf *out)
{
    bool is_trouble = owners_in(r->owners, OWNER_RECORDS, OWNER_HELD) &&
                      inventory_doubts(r->config.inventory, kind);
    if (is_trouble) {
        buf_append_str(out, text);
    }
    return is_trouble;
}

static bool explain_doubts(const struct reconciler *r, struct buf *out)
{
    return explain_doubt(r, KUBE_POD,
                         "the API lists no pod: records of pods stay until there is one", out) ||
           explain_doubt(r, KUBE_NODE,
                         "the API lists no node: records of nodes stay until there is one", out);
}

static bool reconciler_report_explain_behind(const struct reconciler *r, struct buf *out)
{
    const struct etcd_mirror_counts counts =
        etcd_mirror_counts(r->feeds[KEY_SOURCE_RECORDS].mirror);
    return etcd_metrics_explain_behind(r->config.outage, &counts, out);
}

static bool append_constant(struct buf *out, const char *text)
{
    if (text) {
        buf_append_str(out, text);
    }
    return text;
}

bool reconciler_explain_trouble(const struct reconciler *r, struct buf *out)
{
    return (r->leader && leader_explain(r->leader, out)) ||
           append_constant(out, etcd_space_refusal(r->space)) ||
           reconciler_report_explain_behind(r, out) ||
           conflicts_explain(r->conflicts, OWNER_RECORDS, out) || explain_too_large(r, out) ||
           explain_lacking(r, out) || explain_doubts(r, out) || reconciler_explain_config(r, out) ||
           reconciler_explain_clients(r, out) ||
           append_constant(out, etcd_space_shortage(r->space));
}

struct unsettled_visit {
    void (*fn)(void *data, struct slice owner);
    void *data;
};

static void visit_unsettled(void *data, struct owner *owner)
{
    const struct unsettled_visit *visit = data;
    if (owner->state != OWNER_SETTLED || owner->left_count) {
        visit->fn(visit->data, owner->id);
    }
}

/* Slots of one part; each costs a cache miss. */
enum { UNSETTLED_SLOTS = 1024 };

enum unsettled_part reconciler_each_unsettled(struct reconciler *r, struct unsettled_place *place,
                                              void (*fn)(void *data, struct slice owner),
                                              void *data)
{
    struct unsettled_visit visit = {fn, data};
    size_t slots = r->owners->table.cap;
    if (place->at > 0 && place->slots != slots) {
        *place = (struct unsettled_place){0};
        return UNSETTLED_ANEW;
    }
    place->slots = slots;
    if (owners_each_part(r->owners, &place->at, UNSETTLED_SLOTS, visit_unsettled, &visit)) {
        return UNSETTLED_MORE;
    }
    return UNSETTLED_LAST;
}

void reconciler_preview(struct reconciler *r, struct slice id, struct buf *out)
{
    struct owner *owner = owners_find(r->owners, id);
    bool is_known = owner && r->feeds[owner_class_source(owner->class)].is_mirrored &&
                    (owner->class != OWNER_CONFIG || reconciler_knows_config(r));
    if (is_known) {
        (void)planner_plan(&r->planner, owner, &r->plan);
        preview_append(&r->plan, PREVIEW_DUE, out);
        preview_append(&r->planner.withheld, PREVIEW_WITHHELD, out);
        preview_append(&r->planner.left, PREVIEW_LEFT, out);
    }
}

struct reconciler_stats reconciler_get_stats(const struct reconciler *r)
{
    const struct owner *config = owners_find(r->owners, slice_str(CONFIG_OWNER));
    struct reconciler_stats stats = {
        .config_keys = r->config_keys.listed,
        .config_left = config ? config->left_count : 0,
        .node_addresses = r->owners->key_counts[OWNER_NODE_ADDRESS],
        .visible = r->owners->key_counts[OWNER_VISIBLE],
        .client_records = r->owners->key_counts[OWNER_CLIENT],
        .topology = r->owners->key_counts[OWNER_TOPOLOGY],
        .mirror = etcd_mirror_counts(r->feeds[KEY_SOURCE_RECORDS].mirror),
        .reads = r->feeds[KEY_SOURCE_RECORDS].reads,
        .keys_written = r->report.keys_written,
        .keys_deleted = r->report.keys_deleted,
        .keys_restored = r->keys_restored,
        .transaction_count = r->transaction_count,
        .failures = r->failures,
        .conflict_count = r->conflict_count,
        .dropped = r->planner.dropped,
        .transaction_time = &r->transaction_time,
        .plan_time = &r->plan_time,
        .change_time = &r->change_time,
        .programming_time = r->programming_time,
        .changes = &r->changes,
        .revision = r->feeds[KEY_SOURCE_RECORDS].revision,
        .desired = r->desired + planner_reverse_count(&r->planner),
        .actual = r->owners->key_counts[OWNER_RECORDS] + reverse_keys_count(r->reverse_keys),
        .others = r->others,
        .external = r->external,
        .alias_left = r->alias_left,
        .reverse_refused = planner_reverse_refused(&r->planner),
        .is_leading = !r->leader || leader_is_leading(r->leader),
        .too_large = r->planner.too_large,
        .lacking = r->owners->lacking.owners,
        .full = r->owners->lacking.groups,
        .over_share = history_over_count(r->history),
        .space = etcd_space_figures(r->space),
        .contested = conflicts_count(r->conflicts),
        .waiting = reconciler_queued(r) + owners_in(r->owners, OWNER_RECORDS, OWNER_HELD) +
                   owners_in(r->owners, OWNER_RECORDS, OWNER_CONTESTED) +
                   owners_in(r->owners, OWNER_RECORDS, OWNER_REFUSED),
        .owners = owners_count(r->owners, OWNER_RECORDS),
        .held = owners_in(r->owners, OWNER_RECORDS, OWNER_HELD),
        .refused = refusals_of(r->refusals, OWNER_RECORDS),
        .leader = r->leader ? leader_holder(r->leader) : "",
        .in_flight = transactions_passengers(r->transactions),
        .transactions = transactions_used(r->transactions),
    };
    return stats;
}

struct external_aliases *reconciler_aliases(const struct reconciler *r)
{
    return r->aliases;
}

const struct external_keys *reconciler_external_keys(const struct reconciler *r)
{
    return r->external_keys;
}

const struct outage_source *reconciler_followed(const struct reconciler *r)
{
    return &r->followed;
}

/* ---- Whether a Service is written ---- */

/* Returns why the owner's keys in etcd may not be those wanted; NULL: they are. */
static const char *reconciler_report_lack(const struct owner *owner)
{
    return !owner                          ? NULL /* it wants no keys and has none */
           : owner->state != OWNER_SETTLED ? owner_state_name(owner->state)
           : owner->is_claim_due           ? owner_state_name(OWNER_QUEUED)
           : owner->is_in_doubt
               ? "an object of it cannot be understood, or its endpoints are not all known"
           : owner->is_too_large ? "it has more records, or bytes of them, than an owner may"
           : owner->lacks_room   ? "its namespace has no room for its new keys"
                                 : NULL;
}

static const char *reconciler_report_look_at(const struct reconciler *r, const char *kind,
                                             struct slice service)
{
    CLEANUP_FREE char *id = xasprintf("%s/%.*s", kind, (int)service.len, (const char *)service.ptr);
    return reconciler_report_lack(owners_find(r->owners, slice_str(id)));
}

bool reconciler_has_written(const struct reconciler *r, struct slice service, int64_t *ret_revision,
                            struct buf *why)
{
    const struct key_source *source = &r->feeds[KEY_SOURCE_RECORDS];
    const char *lack =
        !key_source_is_confirmed(source) ? "etcd is not followed, or being read" : NULL;
    lack = lack ? lack : reconciler_report_look_at(r, "svc", service);
    lack = lack ? lack : reconciler_report_look_at(r, "alias", service);
    lack = lack ? lack : reconciler_report_look_at(r, "ext", service);
    *ret_revision = source->changed;
    if (lack && why) {
        buf_append_str(why, lack);
    }
    if (lack && why && !reconciler_may_write(r)) {
        buf_append_str(why, "; another kube2sky writes");
    }
    return !lack;
}

/* ---- The latest changes ---- */

struct change *change_ring_add(struct change_ring *ring, struct slice owner)
{
    struct change *change = &ring->items[ring->count++ % CHANGES_KEPT];
    size_t len = owner.len < CHANGE_OWNER_MAX ? owner.len : CHANGE_OWNER_MAX;
    *change = (struct change){.api_to_plan_us = -1};
    memcpy(change->owner, owner.ptr, len); /* NUL-terminated by the line above */
    return change;
}

const struct change *change_ring_get(const struct change_ring *ring, size_t back)
{
    bool is_kept = back < CHANGES_KEPT && back < ring->count;
    return is_kept ? &ring->items[(ring->count - 1 - back) % CHANGES_KEPT] : NULL;
}

/* ---- The log ---- */

enum { BETWEEN_LINES_MS = 1000 };

static bool sync_report_has_news(const struct sync_report *report)
{
    return !report->has_synced || report->told_written != report->keys_written ||
           report->told_deleted != report->keys_deleted;
}

static void reconcile_sync_report(struct sync_report *report)
{
    log_info("in sync",
             LOG_INT("keys_written", (int64_t)(report->keys_written - report->told_written)),
             LOG_INT("keys_deleted", (int64_t)(report->keys_deleted - report->told_deleted)),
             LOG_INT("desired", (int64_t)report->desired));
    report->told_written = report->keys_written;
    report->told_deleted = report->keys_deleted;
    report->told_ms = clock_monotonic_ms();
    report->has_synced = true;
}

static void sync_report_on_due(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    struct sync_report *report = timer->data;
    if (report->is_in_sync && sync_report_has_news(report)) {
        reconcile_sync_report(report);
    }
}

void sync_report_init(struct sync_report *report, struct ev_loop *loop)
{
    *report = (struct sync_report){.loop = loop};
    timer_init(&report->timer, sync_report_on_due, report);
}

void sync_report_fini(struct sync_report *report)
{
    if (ev_is_active(&report->timer) && report->is_in_sync && sync_report_has_news(report)) {
        reconcile_sync_report(report);
    }
    ev_timer_stop(report->loop, &report->timer);
}

void sync_report_update(struct sync_report *report, bool is_in_sync)
{
    report->is_in_sync = is_in_sync;
    if (!is_in_sync || !sync_report_has_news(report) || ev_is_active(&report->timer)) {
        return;
    }
    int64_t wait_ms = report->told_ms + BETWEEN_LINES_MS - clock_monotonic_ms();
    if (!report->has_synced || wait_ms <= 0) {
        reconcile_sync_report(report);
        return;
    }
    timer_arm_ms(report->loop, &report->timer, wait_ms);
}
