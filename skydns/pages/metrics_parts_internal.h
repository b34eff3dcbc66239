/* Writes the parts of the page of metrics that have files of their own: metrics_table.c puts them
 * together. Main thread. */
#ifndef SKYDNS_PAGES_METRICS_PARTS_INTERNAL_H
#define SKYDNS_PAGES_METRICS_PARTS_INTERNAL_H

#include "common/base/metrics.h"
#include "skydns/pages/metrics_table.h"
#include "skydns/publish/engine_config.h"
#include "skydns/tap/query_counts.h"
#include "skydns/wire/query.h"

/* ---- Queries and responses by transport (metrics_queries.c) ---- */

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
 * certificate expires. Leaves out transports without a listener. */
void metrics_streams_write(struct metrics_page *page, const struct metrics_sources *sources);

/* ---- External names: response cache, stub zones, hosts files (metrics_external.c) ---- */

/* Adds them to the page; `config` is the newest. Returns the questions that were not in the
 * response cache, for SkyDNS's own metrics. */
uint64_t metrics_external_write(struct metrics_page *page, const struct engine_config *config,
                                const struct resolver *resolver);

/* ---- Zones: signatures and transfers (metrics_zones.c) ---- */

/* Writes nothing if no zone is signed. Returns how many signatures were needed and not in the
 * signature cache. */
uint64_t metrics_dnssec_write(struct metrics_page *page, const struct metrics_sources *sources);
void metrics_transfers_write(struct metrics_page *page, const struct metrics_sources *all);

#endif
