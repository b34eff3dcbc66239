/* Writes a part of metrics_table.c: queries and responses by transport, how long they took, and
 * what limits did to them. /live shows the sums, too. Main thread. */
#ifndef SKYDNS_PAGES_METRICS_QUERIES_INTERNAL_H
#define SKYDNS_PAGES_METRICS_QUERIES_INTERNAL_H

#include <stdbool.h>

#include "common/base/metrics.h"
#include "skydns/pages/metrics_table.h"
#include "skydns/tap/query_counts.h"
#include "skydns/wire/query.h"

/* Sums over all threads: of each transport, and of all. */
struct query_traffic {
    struct transport_sums {
        bool is_shown; /* UDP and TCP always are, others if they have a listener */
        const char *name;
        struct query_sums sums;
    } transports[ENGINE_TRANSPORTS];
    struct query_sums all;
};

void metrics_sum_traffic(const struct metrics_sources *sources, struct query_traffic *ret_traffic);

void metrics_queries_write(struct metrics_page *page, const struct query_traffic *traffic);
void metrics_limits_write(struct metrics_page *page, const struct query_traffic *traffic);

/* Writes the metrics that connections have: how many by transport, TLS handshakes, and when the
 * certificate expires. Main thread. */

/* Writes the streams' metrics; leaves out transports without a listener. */
void metrics_streams_write(struct metrics_page *page, const struct metrics_sources *sources);

#endif
