#include "kube2sky/metrics_table.h"

#include "common/etcd_metrics.h"
#include "common/outage.h"
#include "kube2sky/inventory.h"
#include "kube2sky/kube_client.h"
#include "kube2sky/reconciler.h"
#include "kube2sky/reflector.h"

/* ---- The API ---- */

typedef uint64_t (*kind_value)(const struct metrics_sources *sources, enum kube_kind kind);

static uint64_t is_followed(const struct metrics_sources *sources, enum kube_kind kind)
{
    return !sources->followed[kind].is_away;
}

/* While the program ends there is no reflector any more. */
static uint64_t lists(const struct metrics_sources *sources, enum kube_kind kind)
{
    const struct reflector *reflector = sources->reflectors[kind];
    return reflector ? reflector_counts(reflector).lists : 0;
}

static uint64_t watches(const struct metrics_sources *sources, enum kube_kind kind)
{
    const struct reflector *reflector = sources->reflectors[kind];
    return reflector ? reflector_counts(reflector).watches : 0;
}

static uint64_t objects(const struct metrics_sources *sources, enum kube_kind kind)
{
    return inventory_count(sources->inventory, kind);
}

static uint64_t skipped(const struct metrics_sources *sources, enum kube_kind kind)
{
    return sources->skipped[kind];
}

static void write_by_kind(struct metrics_page *page, const struct metrics_sources *sources,
                          kind_value value)
{
    for (size_t i = 0; i < KUBE_KIND_COUNT; i++) {
        enum kube_kind kind = (enum kube_kind)i;
        metrics_sample(page, METRIC_LABELS({"kind", kube_kind_name(kind)}), value(sources, kind));
    }
}

static void write_reconnects(struct metrics_page *page, const struct metrics_sources *sources)
{
    for (size_t kind = 0; kind < KUBE_KIND_COUNT; kind++) {
        for (size_t i = 0; i < OUTAGE_REASON_COUNT; i++) {
            metrics_sample(page,
                           METRIC_LABELS({"kind", kube_kind_name((enum kube_kind)kind)},
                                         {"reason", outage_reason_name((enum outage_reason)i)}),
                           sources->followed[kind].returns[i]);
        }
    }
}

static void write_api(struct metrics_page *page, const struct metrics_sources *sources)
{
    metrics_family(page, METRIC_GAUGE, "api_up",
                   "1 while objects of this kind are listed or watched without an error, else 0.");
    write_by_kind(page, sources, is_followed);
    metrics_gauge(page, "api_overdue",
                  "1 while something has been wrong with the API for longer than the timeout, as "
                  "in /readiness?strict, else 0.",
                  sources->api_outage->is_overdue);
    metrics_family(page, METRIC_COUNTER, "api_reconnects_total",
                   "Times list or watch had failed and the watch runs again, by the reason of the "
                   "first failure.");
    write_reconnects(page, sources);
    metrics_family(page, METRIC_COUNTER, "api_lists_total",
                   "Lists read to their end: the first one, and one whenever the watch's history "
                   "was gone.");
    write_by_kind(page, sources, lists);
    metrics_family(page, METRIC_COUNTER, "api_watches_total",
                   "Watches that the server accepted: one after each list, and one whenever the "
                   "last had ended.");
    write_by_kind(page, sources, watches);
    metrics_family(page, METRIC_GAUGE, "objects", "Objects known.");
    write_by_kind(page, sources, objects);
    metrics_family(page, METRIC_COUNTER, "objects_skipped_total",
                   "Objects that could not be understood, each time one came.");
    write_by_kind(page, sources, skipped);
}

/* ---- Writing ---- */

static void write_writer(struct metrics_page *page, const struct reconciler_stats *stats)
{
    metrics_gauge(page, "keys_desired", "Keys that the objects should have.",
                  (double)stats->desired);
    metrics_gauge(page, "keys_actual", "Keys that etcd holds below our prefix.",
                  (double)stats->actual);
    metrics_counter(page, "keys_written_total", "Keys put, once the transaction is acknowledged.",
                    stats->keys_written);
    metrics_counter(page, "keys_deleted_total",
                    "Keys deleted, once the transaction is acknowledged.", stats->keys_deleted);
    metrics_counter(page, "names_dropped_total",
                    "Parts of objects that cannot be in a key, each time they are met.",
                    stats->dropped);
    metrics_counter(page, "transactions_total", "Transactions that etcd acknowledged.",
                    stats->transactions);
    metrics_counter(page, "transaction_failures_total",
                    "Transactions that failed or whose fate is unknown; what they were for is "
                    "planned again.",
                    stats->failures);
    metrics_histogram(page, "transaction_seconds",
                      "From sending a transaction to its acknowledgement.",
                      stats->transaction_time);
    metrics_gauge(page, "transactions_in_flight", "Transactions sent and not seen in etcd yet.",
                  (double)stats->flights);
    metrics_gauge(page, "services_in_flight", "Services in those transactions.",
                  (double)stats->in_flight);
    metrics_gauge(page, "services_waiting",
                  "Services that wait to be compared and written, or for the lists to be complete "
                  "before something of theirs is deleted.",
                  (double)stats->waiting);
}

void metrics_table_write(const struct metrics_sources *sources, struct buf *out)
{
    struct metrics_page page = metrics_page_begin(out, "kube2sky_");
    const struct reconciler_stats stats = reconciler_get_stats(sources->reconciler);
    const struct etcd_metrics etcd = {
        .etcd = sources->etcd,
        .outage = sources->etcd_outage,
        .followed = reconciler_followed(sources->reconciler),
        .mirror = {.reads = {stats.reads}, .revision = stats.revision},
    };
    metrics_process(&page, sources->start_s);
    metrics_gauge(&page, "ready", "1 once everything listed has been in etcd, as in /readiness.",
                  reconciler_has_synced(sources->reconciler));
    etcd_metrics_write(&page, &etcd);
    write_api(&page, sources);
    write_writer(&page, &stats);
}
