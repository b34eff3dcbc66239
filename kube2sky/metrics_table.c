#include "kube2sky/metrics_table.h"

#include "common/base/outage.h"
#include "common/base/process_metrics.h"
#include "common/etcd/etcd_metrics.h"
#include "common/http/http_server.h"
#include "common/http/http_waiters.h"
#include "kube2sky/api/kube_client.h"
#include "kube2sky/config_source.h"
#include "kube2sky/event_writer.h"
#include "kube2sky/kube_source.h"
#include "kube2sky/naming/external_aliases.h"
#include "kube2sky/reconcile/reconciler.h"

/* ---- The API ---- */

/* Figures of a kind: first those of its list and watch, then those of its objects. */
enum kind_figure {
    KIND_IS_FOLLOWED,
    KIND_LISTS,
    KIND_WATCHES,
    KIND_OBJECTS,
    KIND_SKIPPED,
    KIND_FAULTS,
};

static uint64_t kind_figure(const struct kube_source *source, enum kube_kind kind,
                            enum kind_figure figure)
{
    const struct kube_source_counts *counts = kube_source_counts(source, kind);
    switch (figure) {
    case KIND_IS_FOLLOWED:
        return !kube_source_followed(source, kind)->is_away;
    case KIND_LISTS:
        return counter_get(&counts->reflector.lists);
    case KIND_WATCHES:
        return counter_get(&counts->reflector.watches);
    case KIND_OBJECTS:
        return kube_source_count(source, kind);
    case KIND_SKIPPED:
        return counter_get(&counts->skipped);
    case KIND_FAULTS:
        break;
    }
    return counter_get(&counts->faults);
}

/* Returns whether the kind is always followed; others are only with their flag. */
static bool is_always_there(enum kube_kind kind)
{
    return kind == KUBE_SERVICE || kind == KUBE_ENDPOINTS || kind == KUBE_SLICE || kind == KUBE_POD;
}

/* Writes a figure of each kind that is listed and watched; those of objects also while another
 * kind takes the place of one that is always there. */
static void write_by_kind(struct metrics_page *page, const struct metrics_sources *sources,
                          enum kind_figure figure)
{
    for (size_t i = 0; i < KUBE_KIND_COUNT; i++) {
        enum kube_kind kind = (enum kube_kind)i;
        if (kube_source_follows(sources->kube_source, kind) ||
            (figure >= KIND_OBJECTS && is_always_there(kind))) {
            metrics_sample(page, METRIC_LABELS({"kind", kube_kind_name(kind)}),
                           kind_figure(sources->kube_source, kind, figure));
        }
    }
}

static void write_reconnects_of(struct metrics_page *page, const struct kube_source *kube_source,
                                enum kube_kind kind)
{
    for (size_t i = 0; i < OUTAGE_REASON_COUNT; i++) {
        enum outage_reason reason = (enum outage_reason)i;
        metrics_sample(
            page,
            METRIC_LABELS({"kind", kube_kind_name(kind)}, {"reason", outage_reason_name(reason)}),
            kube_source_reconnects(kube_source, kind, reason));
    }
}

static void write_reconnects(struct metrics_page *page, const struct metrics_sources *sources)
{
    for (size_t i = 0; i < KUBE_KIND_COUNT; i++) {
        enum kube_kind kind = (enum kube_kind)i;
        if (kube_source_follows(sources->kube_source, kind)) {
            write_reconnects_of(page, sources->kube_source, kind);
        }
    }
}

static void write_api(struct metrics_page *page, const struct metrics_sources *sources)
{
    metrics_family(page, METRIC_GAUGE, "api_up",
                   "1 while objects of this kind are listed or watched without an error, else 0.");
    write_by_kind(page, sources, KIND_IS_FOLLOWED);
    metrics_gauge(page, "api_overdue",
                  "1 while the API has been failing for longer than the timeout, as in "
                  "/readiness?strict, else 0.",
                  kube_source_outage(sources->kube_source)->is_overdue);
    metrics_family(
        page, METRIC_COUNTER, "api_reconnects_total",
        "Times list or watch failed and the watch runs again, by the reason of the first failure.");
    write_reconnects(page, sources);
    metrics_family(page, METRIC_COUNTER, "api_lists_total",
                   "Complete lists: the first, one after each hour, and one whenever the watch's "
                   "history was compacted or the API server's data had become older.");
    write_by_kind(page, sources, KIND_LISTS);
    metrics_family(page, METRIC_COUNTER, "api_watches_total",
                   "Watches that the server accepted: one after each list, and one whenever the "
                   "last one ended.");
    write_by_kind(page, sources, KIND_WATCHES);
    metrics_family(page, METRIC_GAUGE, "objects", "Objects known.");
    write_by_kind(page, sources, KIND_OBJECTS);
    metrics_family(page, METRIC_COUNTER, "objects_skipped_total",
                   "Objects that could not be understood, each time one arrived.");
    write_by_kind(page, sources, KIND_SKIPPED);
    metrics_family(page, METRIC_COUNTER, "object_faults_total",
                   "Parts of objects left out because they could not be understood: annotations, "
                   "ports, addresses; once for each state of an object.");
    write_by_kind(page, sources, KIND_FAULTS);
    metrics_gauge(page, "visible_namespaces_left_out",
                  "Namespaces whose visible-to list is left out, as there is no room for it.",
                  (double)kube_source_left_out(sources->kube_source));
}

/* ---- Writing ---- */

static void write_writer(struct metrics_page *page, const struct reconciler_stats *stats)
{
    metrics_gauge(page, "keys_desired", "Keys that should be in etcd.", (double)stats->desired);
    metrics_gauge(page, "keys_actual",
                  "Keys in etcd below svc/, pod/ and arpa/, including those of others.",
                  (double)stats->actual);
    metrics_gauge(page, "reverse_keys_foreign",
                  "Reverse keys that another writer wrote and that are left alone.",
                  (double)stats->others);
    metrics_gauge(page, "reverse_names_refused",
                  "Addresses without a reverse name: pods of other namespaces have them than of "
                  "those that claim them.",
                  (double)stats->reverse_refused);
    metrics_gauge(page, "node_addresses",
                  "Keys that list addresses which pods share with their node.",
                  (double)stats->node_addresses);
    metrics_gauge(page, "visible_namespaces", "Keys that say to whom a namespace is visible.",
                  (double)stats->visible);
    metrics_gauge(page, "client_records", "Keys that say which pod has an address.",
                  (double)stats->client_records);
    metrics_gauge(page, "topology_keys",
                  "Keys that say in which zones the addresses of a headless Service are.",
                  (double)stats->topology);
    metrics_gauge(
        page, "contested_services",
        "Services whose keys another writer keeps changing; they are restored less often.",
        (double)stats->contested);
    metrics_gauge(
        page, "services_too_large",
        "Services over --max-owner-keys or their share of bytes, whose keys are unchanged.",
        (double)stats->too_large);
    metrics_gauge(page, "services_left_out",
                  "Services whose new keys wait, since their namespace has as many as it may.",
                  (double)stats->lacking);
    metrics_gauge(page, "namespaces_full",
                  "Namespaces that have as many keys as they may, and whose new ones wait.",
                  (double)stats->full);
    metrics_gauge(page, "namespaces_over_share",
                  "Namespaces that have filled their share of etcd's space, whose additions wait "
                  "for the next compaction.",
                  (double)stats->over_share);
    metrics_gauge(page, "etcd_out_of_space", "1 while etcd refuses writes for want of space.",
                  stats->space.is_exhausted);
    if (stats->space.is_known) {
        metrics_gauge(page, "etcd_file_bytes",
                      "Size of etcd's database, as its quota counts it, of the member that writes "
                      "go to.",
                      (double)stats->space.file_bytes);
        metrics_gauge(page, "etcd_in_use_bytes",
                      "What of it is in use; compactions free the rest for later writes.",
                      (double)stats->space.in_use_bytes);
    }
    metrics_gauge(page, "leader", "1 while this process may write, 0 while another one does.",
                  stats->is_leading);
    metrics_counter(page, "keys_written_total",
                    "Keys put, counted when the transaction is acknowledged.", stats->keys_written);
    metrics_counter(page, "store_keys_written_total",
                    "Store keys written: one into each etcd that had none, or that of a backup, "
                    "once it was complete.",
                    stats->mirror.marked);
    metrics_counter(page, "keys_deleted_total",
                    "Keys deleted, counted when the transaction is acknowledged.",
                    stats->keys_deleted);
    metrics_counter(
        page, "keys_restored_total",
        "Keys written or deleted because another writer had changed, deleted or added them.",
        stats->keys_restored);
    metrics_counter(page, "names_dropped_total",
                    "Parts of objects that cannot be part of a key, each time one is found.",
                    stats->dropped);
    metrics_counter(page, "transactions_total", "Transactions that etcd acknowledged.",
                    stats->transaction_count);
    metrics_counter(
        page, "transaction_failures_total",
        "Transactions that failed or whose outcome is unknown; their owners are planned again.",
        stats->failures);
    metrics_counter(
        page, "transaction_conflicts_total",
        "Transactions that etcd did not apply because a key had changed meanwhile; planned again.",
        stats->conflict_count);
    metrics_histogram(page, "transaction_seconds",
                      "From sending a transaction to its acknowledgement.", &histogram_durations,
                      stats->transaction_time);
    metrics_histogram(page, "change_planned_seconds",
                      "From an object's event to the sending of the transaction that wrote its "
                      "change.",
                      &histogram_durations, stats->plan_time);
    metrics_histogram(
        page, "change_seconds",
        "From an object's event to the acknowledgement of the transaction that wrote its change.",
        &histogram_durations, stats->change_time);
    metrics_family(page, METRIC_HISTOGRAM, "dns_programming_duration_seconds",
                   "From a change of a headless Service's endpoints, or from a Service's creation "
                   "in whole seconds, to the acknowledgement of the transaction that wrote it.");
    for (size_t i = 0; i < INVENTORY_TRIGGERS; i++) {
        static const char *const kinds[] = {
            [TRIGGER_CLUSTER_IP] = "cluster_ip", [TRIGGER_HEADLESS] = "headless_with_selector"};
        metrics_histogram_sample(page, METRIC_LABELS({"service_kind", kinds[i]}),
                                 &reconciler_programming_scale, &stats->programming_time[i]);
    }
    metrics_gauge(page, "transactions_in_flight", "Transactions sent and not seen in etcd yet.",
                  (double)stats->transactions);
    metrics_gauge(page, "services_in_flight", "Services in those transactions.",
                  (double)stats->in_flight);
    metrics_gauge(page, "services_waiting",
                  "Services waiting to be compared and written, or for lists to complete before "
                  "their keys may be deleted.",
                  (double)stats->waiting);
}

/* Writes the gauges of external names: all 0 without --override-zones. */
static void write_aliases(struct metrics_page *page, const struct metrics_sources *sources,
                          const struct reconciler_stats *stats)
{
    const struct external_aliases *aliases = reconciler_aliases(sources->reconciler);
    const struct external_aliases_counts counts =
        aliases ? external_aliases_count(aliases) : (struct external_aliases_counts){0};
    metrics_gauge(page, "aliases", "External names that objects request and may have.",
                  (double)counts.names);
    metrics_gauge(
        page, "aliases_taken",
        "External names requested by objects that do not get them, since another object has them.",
        (double)counts.taken);
    metrics_gauge(page, "aliases_refused",
                  "External names requested by objects that may not have them.",
                  (double)counts.refused);
    metrics_gauge(page, "aliases_left",
                  "External names requested and not written, since another object's or another "
                  "writer's key has them.",
                  (double)stats->alias_left);
    metrics_gauge(page, "external_zone_keys",
                  "Keys that should be in etcd in the zone of --external-zone.",
                  (double)stats->external);
}

static void write_config_map(struct metrics_page *page, const struct metrics_sources *sources,
                             const struct reconciler_stats *stats)
{
    bool is_refused =
        sources->config_source && kube2sky_config_source_is_refused(sources->config_source);
    metrics_gauge(
        page, "config_map_refused",
        "1 while the ConfigMap has a value that cannot be used, and its last good settings "
        "stay, else 0.",
        is_refused);
    metrics_gauge(page, "config_map_keys", "Keys written because of the ConfigMap.",
                  (double)stats->config_keys);
    metrics_gauge(
        page, "config_map_keys_foreign",
        "Keys that the ConfigMap requests, that another writer wrote, and that are left alone.",
        (double)stats->config_left);
}

static void write_events(struct metrics_page *page, const struct metrics_sources *sources)
{
    const struct event_writer_counts counts = sources->event_writer
                                                  ? event_writer_count(sources->event_writer)
                                                  : (struct event_writer_counts){0};
    metrics_gauge(page, "events_waiting", "Events that are to be created.",
                  (double)counts.queue.waiting);
    metrics_counter(page, "events_left_out_total",
                    "Events left out, as too many were waiting or known.", counts.queue.left_out);
    metrics_counter(page, "events_written_total",
                    "Events created, or whose count was changed, each time.", counts.written);
    metrics_counter(page, "event_failures_total", "Writes of events that failed or were refused.",
                    counts.failures);
}

void kube2sky_metrics_table_write(const struct metrics_sources *sources, struct buf *out)
{
    struct metrics_page page = metrics_page_begin(out, "kube2sky_");
    const struct reconciler_stats stats = reconciler_get_stats(sources->reconciler);
    const struct etcd_metrics etcd = {
        .etcd = sources->etcd,
        .outage = sources->etcd_outage,
        .followed = reconciler_followed(sources->reconciler),
        .mirror = stats.mirror,
    };
    metrics_process(&page, sources->start_s);
    process_metrics_write(page.out, sources->start_s);
    metrics_gauge(&page, "ready", "1 once everything listed was in etcd, as in /readiness.",
                  reconciler_has_synced(sources->reconciler));
    etcd_metrics_write(&page, &etcd);
    write_api(&page, sources);
    write_writer(&page, &stats);
    write_aliases(&page, sources, &stats);
    write_config_map(&page, sources, &stats);
    write_events(&page, sources);
    metrics_counter(&page, "http_hosts_refused_total",
                    "HTTP requests refused, since their Host is none of ours (--http-hosts).",
                    http_server_refusals().hosts);
    if (sources->waiters) {
        http_waiters_write_metrics(sources->waiters, &page);
    }
}
