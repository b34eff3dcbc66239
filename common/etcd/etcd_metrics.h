/* The metrics that both programs report about etcd on /metrics: whether it is up, how long it has
 * been silent, how often we reconnected. A new aspect of etcd's health joins as an outage_source
 * (outage.h) and, if it counts something, gets a metric here. Main thread. */
#ifndef COMMON_ETCD_ETCD_METRICS_H
#define COMMON_ETCD_ETCD_METRICS_H

#include "common/base/metrics.h"
#include "common/etcd/etcd_mirror.h"

struct etcd;
struct outage;
struct outage_source;

struct etcd_metrics {
    const struct etcd *etcd;
    const struct outage *outage;
    const struct outage_source *followed; /* the one that is down while no watch is up */
    struct etcd_mirror_counts mirror;
};

void etcd_metrics_write(struct metrics_page *page, const struct etcd_metrics *metrics);

/* For /readiness?strict: appends that what is known of etcd is old although it is there. False, and
 * nothing appended: it is away, or not known to have had unknown changes for more than a second. */
bool etcd_metrics_explain_behind(const struct outage *outage,
                                 const struct etcd_mirror_counts *mirror, struct buf *out);

#endif
