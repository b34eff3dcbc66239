#include "common/etcd/etcd_metrics.h"

#include "common/base/outage.h"
#include "common/etcd/etcd.h"
#include "common/etcd/etcd_counts_internal.h"

static void write_mirror(struct metrics_page *page, const struct etcd_mirror_counts *mirror)
{
    metrics_family(page, METRIC_COUNTER, "etcd_reads_total",
                   "Full reads of the prefix by cause: first; compacted (the history to resume "
                   "from is gone); lag (reading is quicker than following); uncertain (perhaps "
                   "another etcd); another (etcd lost its data or got older); complete (its store "
                   "key appeared); stale-max (that time passed without one).");
    for (size_t i = 0; i < ETCD_MIRROR_CAUSE_COUNT; i++) {
        metrics_sample(page,
                       METRIC_LABELS({"cause", etcd_mirror_cause_text((enum etcd_mirror_cause)i)}),
                       mirror->reads[i]);
    }
    metrics_counter(page, "etcd_resumes_total",
                    "Times the watch resumed where the last one ended, without a new list.",
                    mirror->resumed);
    metrics_counter(page, "etcd_silences_total",
                    "Watches restarted because etcd's revision had risen and they delivered no "
                    "change: a proxy had lost them, or only other keys had changed.",
                    mirror->silences);
    metrics_gauge(
        page, "etcd_behind_seconds",
        "For how long etcd has been known to have changes that have not arrived; 0: none.",
        (double)mirror->behind_ms / 1000.0);
    metrics_gauge(page, "etcd_store_key",
                  "1 while etcd has the store key, which marks its data set as complete.",
                  mirror->has_store_key);
    metrics_gauge(page, "etcd_revision", "Revision of etcd up to which changes are known.",
                  (double)mirror->revision);
}

/* Writes how we reach etcd: connections, certificates, tokens. */
static void etcd_metrics_write_connections(struct metrics_page *page,
                                           const struct etcd_counts *counts)
{
    metrics_family(page, METRIC_COUNTER, "etcd_connections_total",
                   "Connections opened to etcd, by whether they use TLS.");
    metrics_sample(page, METRIC_LABELS({"tls", "no"}),
                   counter_get(&counts->connections) - counter_get(&counts->tls_connections));
    metrics_sample(page, METRIC_LABELS({"tls", "yes"}), counter_get(&counts->tls_connections));
    metrics_family(page, METRIC_COUNTER, "etcd_connection_failures_total",
                   "Failed attempts to connect to an endpoint: refused (by TLS, or not an etcd) or "
                   "unreachable.");
    metrics_sample(page, METRIC_LABELS({"kind", "refused"}), counter_get(&counts->refusals));
    metrics_sample(page, METRIC_LABELS({"kind", "unreachable"}),
                   counter_get(&counts->failures) - counter_get(&counts->refusals));
    metrics_family(
        page, METRIC_COUNTER, "etcd_credentials_changes_total",
        "Changes of the TLS files on disk: used, or useless (the old ones stay in use).");
    metrics_sample(page, METRIC_LABELS({"result", "used"}), counter_get(&counts->credentials_read));
    metrics_sample(page, METRIC_LABELS({"result", "useless"}),
                   counter_get(&counts->credentials_kept));
    metrics_counter(page, "etcd_tokens_total", "Tokens that etcd issued for the user name.",
                    counter_get(&counts->tokens));
    metrics_counter(page, "etcd_token_failures_total",
                    "Failed requests for a token, unreadable password files included.",
                    counter_get(&counts->token_failures));
}

void etcd_metrics_write(struct metrics_page *page, const struct etcd_metrics *metrics)
{
    const struct outage *outage = metrics->outage;
    metrics_gauge(page, "etcd_up", "1 while nothing is wrong with etcd, else 0.",
                  !outage_is_away(outage));
    metrics_gauge(page, "etcd_overdue",
                  "1 while etcd has been failing for longer than the timeout, as in "
                  "/readiness?strict, else 0.",
                  outage->is_overdue);
    metrics_gauge(
        page, "etcd_silence_seconds",
        "Time since the last byte from etcd, responses to pings included; before the first "
        "one, since the start.",
        (double)etcd_silence_ms(metrics->etcd) / 1000.0);
    metrics_family(page, METRIC_COUNTER, "etcd_reconnects_total",
                   "Times the watch was lost and is up again, by the reason of the loss.");
    for (size_t i = 0; i < OUTAGE_REASON_COUNT; i++) {
        metrics_sample(page, METRIC_LABELS({"reason", outage_reason_name((enum outage_reason)i)}),
                       metrics->followed->returns[i]);
    }
    etcd_metrics_write_connections(page, etcd_counts(metrics->etcd));
    write_mirror(page, &metrics->mirror);
}

/* Exceeds no full read: one of 100,000 keys takes as long. */
enum { BEHIND_MS = 1000 };

bool etcd_metrics_explain_behind(const struct outage *outage,
                                 const struct etcd_mirror_counts *mirror, struct buf *out)
{
    bool is_behind = !outage_is_away(outage) && mirror->behind_ms > BEHIND_MS;
    if (is_behind) {
        buf_printf(out, "behind etcd: for %lld s it has had changes that have not arrived",
                   (long long)(mirror->behind_ms / 1000));
    }
    return is_behind;
}
