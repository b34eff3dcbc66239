/* What both programs tell about etcd on /metrics: whether it is there, since when it was last
 * heard, how often it had to be connected to again. A new side of etcd's health joins as an
 * outage_source (outage.h) and, when it counts something, gets its line here. Main thread. */
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
    const struct outage_source *followed; /* the one that is away while no watch is up */
    struct etcd_mirror_counts mirror;
};

void etcd_metrics_write(struct metrics_page *page, const struct etcd_metrics *metrics);

#endif
