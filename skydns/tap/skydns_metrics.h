/* SkyDNS's own metrics, under its names and PROMETHEUS_* settings, for existing dashboards:
 * requests, their durations and reply sizes, by who answered; errors by cause. Counted only if
 * PROMETHEUS_PORT enables them, since they cost two clock readings per query.
 *
 * One thread writes its counts (relaxed counters, common/base/metrics.h), any thread reads them. */
#ifndef SKYDNS_TAP_SKYDNS_METRICS_H
#define SKYDNS_TAP_SKYDNS_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/metrics.h"

struct response;

/* Who answered, and what was wrong. SkyDNS also had `stub`, which counts as recursive here, and
 * `overflow`. */
enum skydns_system { SKYDNS_AUTH, SKYDNS_CACHE, SKYDNS_RECURSIVE, SKYDNS_REVERSE, SKYDNS_SYSTEMS };
enum skydns_cause {
    SKYDNS_NXDOMAIN,
    SKYDNS_NODATA,
    SKYDNS_TRUNCATED,
    SKYDNS_REFUSED,
    SKYDNS_SERVFAIL,
    SKYDNS_CAUSES
};

/* Only counters: of one thread, or the sum of several. */
struct skydns_sums {
    struct {
        struct counter requests;
        struct counter causes[SKYDNS_CAUSES];
        struct histogram durations; /* us */
        struct histogram sizes;     /* bytes */
    } systems[SKYDNS_SYSTEMS];
};

struct skydns_counts {
    struct skydns_sums sums;
    int64_t begun_us;     /* of the query being answered */
    bool is_from_forward; /* a nameserver answers it */
};

/* On cache lines of its own; freed with free. */
struct skydns_counts *skydns_counts_new(void);

/* Begins a query that arrived at begun_us (clock_monotonic_us); then counts its response, which
 * there is. */
void skydns_counts_begin(struct skydns_counts *counts, int64_t begun_us, bool is_from_forward);
void skydns_counts_response(struct skydns_counts *counts, const struct response *response);

/* Appends the page; `cache_misses`: questions that the response cache could not answer;
 * `signature_misses`: signatures that were not kept; `prefix` is "<namespace>_<subsystem>_". */
void skydns_metrics_write(const struct skydns_sums *sums, uint64_t cache_misses,
                          uint64_t signature_misses, const char *prefix, struct buf *out);

#endif
