/* The metrics of etcd that both programs report: whether it is up, how long silent, how often
 * reconnected.
 *
 * A new aspect of etcd's health joins as an outage_source (outage.h) and, if it counts something,
 * gets a metric here. Main thread. */
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

/* Appends, for /readiness?strict, that what is known of etcd is old although etcd is reachable.
 * Returns false, and appends nothing, if etcd is unreachable or has had unknown changes for a
 * second at most. */
bool etcd_metrics_explain_behind(const struct outage *outage,
                                 const struct etcd_mirror_counts *mirror, struct buf *out);

#endif
