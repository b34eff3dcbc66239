#include "common/etcd/etcd_metrics.h"

#include "common/base/outage.h"
#include "common/etcd/etcd.h"
#include "common/etcd/etcd_counts_internal.h"

static void write_mirror(struct metrics_page *page, const struct etcd_mirror_counts *mirror)
{
    metrics_family(page, METRIC_COUNTER, "etcd_reads_total",
                   "Full reads of the prefix, by their cause: first; compacted, the history to go "
                   "on from being gone; lag, reading being quicker than following; uncertain, "
                   "whether it is the same etcd; another, it having lost its data or got older; "
                   "complete, its store key having come; stale-max, that having passed without.");
    for (size_t i = 0; i < ETCD_MIRROR_CAUSE_COUNT; i++) {
        metrics_sample(page,
                       METRIC_LABELS({"cause", etcd_mirror_cause_text((enum etcd_mirror_cause)i)}),
                       mirror->reads[i]);
    }
    metrics_counter(page, "etcd_resumes_total",
                    "Times the watch went on where the last one had ended, nothing being read.",
                    mirror->resumed);
    metrics_gauge(page, "etcd_store_key",
                  "1 while etcd has the store key, which says that kube2sky has written everything "
                  "into it.",
                  mirror->has_store_key);
    metrics_gauge(page, "etcd_revision", "The revision up to which etcd's changes are known.",
                  (double)mirror->revision);
}

/* The ways to etcd: connections, certificates, tokens. */
static void write_connections(struct metrics_page *page, const struct etcd_counts *counts)
{
    metrics_family(page, METRIC_COUNTER, "etcd_connections_total",
                   "Connections to etcd that were opened, by whether they are over TLS.");
    metrics_sample(page, METRIC_LABELS({"tls", "no"}),
                   counter_get(&counts->connections) - counter_get(&counts->tls_connections));
    metrics_sample(page, METRIC_LABELS({"tls", "yes"}), counter_get(&counts->tls_connections));
    metrics_family(page, METRIC_COUNTER, "etcd_connection_failures_total",
                   "Endpoints tried without success: refused by TLS or by what is no etcd, or "
                   "unreachable.");
    metrics_sample(page, METRIC_LABELS({"kind", "refused"}), counter_get(&counts->refusals));
    metrics_sample(page, METRIC_LABELS({"kind", "unreachable"}),
                   counter_get(&counts->failures) - counter_get(&counts->refusals));
    metrics_family(page, METRIC_COUNTER, "etcd_credentials_changes_total",
                   "Changes of the TLS files on disk: used, or useless, so that the old ones stay "
                   "in use.");
    metrics_sample(page, METRIC_LABELS({"result", "used"}), counter_get(&counts->credentials_read));
    metrics_sample(page, METRIC_LABELS({"result", "useless"}),
                   counter_get(&counts->credentials_kept));
    metrics_counter(page, "etcd_tokens_total", "Tokens that etcd gave for the user name.",
                    counter_get(&counts->tokens));
    metrics_counter(page, "etcd_token_failures_total",
                    "Times it gave none, or the password file could not be read.",
                    counter_get(&counts->token_failures));
}

void etcd_metrics_write(struct metrics_page *page, const struct etcd_metrics *metrics)
{
    const struct outage *outage = metrics->outage;
    metrics_gauge(page, "etcd_up", "1 while nothing is wrong with etcd, else 0.",
                  !outage_is_away(outage));
    metrics_gauge(page, "etcd_overdue",
                  "1 while something has been wrong with etcd for longer than the timeout, as in "
                  "/readiness?strict, else 0.",
                  outage->is_overdue);
    metrics_gauge(page, "etcd_silence_seconds",
                  "Time since the last byte from etcd, answers to pings included; since the start "
                  "before the first one.",
                  (double)etcd_silence_ms(metrics->etcd) / 1000.0);
    metrics_family(page, METRIC_COUNTER, "etcd_reconnects_total",
                   "Times the watch was lost and is up again, by the reason it was lost for.");
    for (size_t i = 0; i < OUTAGE_REASON_COUNT; i++) {
        metrics_sample(page, METRIC_LABELS({"reason", outage_reason_name((enum outage_reason)i)}),
                       metrics->followed->returns[i]);
    }
    write_connections(page, etcd_counts(metrics->etcd));
    write_mirror(page, &metrics->mirror);
}
