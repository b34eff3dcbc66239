#include "common/etcd_metrics.h"

#include "common/etcd.h"
#include "common/outage.h"

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
    metrics_counter(page, "etcd_reads_total",
                    "Full reads of the prefix: the first one, and one after each compaction that "
                    "overtook the watch.",
                    metrics->reads);
    metrics_gauge(page, "etcd_revision", "The revision up to which etcd's changes are known.",
                  (double)metrics->revision);
}
