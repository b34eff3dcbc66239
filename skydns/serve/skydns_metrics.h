/* The metrics that SkyDNS had, under its names and its PROMETHEUS_* settings, for dashboards that
 * know them: requests, how long they took and how large their replies are, by who answered; errors
 * by cause. Only counted when PROMETHEUS_PORT asks for them, since it takes two readings of the
 * clock a query.
 *
 * One thread writes its counts (relaxed counters, common/base/metrics.h), any reads them. */
#ifndef SKYDNS_SERVE_SKYDNS_METRICS_H
#define SKYDNS_SERVE_SKYDNS_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/metrics.h"

enum {
    SKYDNS_DURATION_BOUNDS = 13, /* 1 ms to 10 s */
    SKYDNS_SIZE_BOUNDS = 21,     /* 0 to 65,536 bytes */
};

/* Who answered, and what was wrong. SkyDNS had `cache`, `stub` and `overflow`, too. */
enum skydns_system { SKYDNS_AUTH, SKYDNS_RECURSIVE, SKYDNS_REVERSE, SKYDNS_SYSTEMS };
enum skydns_cause {
    SKYDNS_NXDOMAIN,
    SKYDNS_NODATA,
    SKYDNS_TRUNCATED,
    SKYDNS_REFUSED,
    SKYDNS_SERVFAIL,
    SKYDNS_CAUSES
};

struct skydns_system_counts {
    struct counter requests;
    struct counter causes[SKYDNS_CAUSES];
    struct counter durations[SKYDNS_DURATION_BOUNDS + 1]; /* the last one is the rest */
    struct counter duration_us;
    struct counter sizes[SKYDNS_SIZE_BOUNDS + 1];
    struct counter size_bytes;
};

struct skydns_counts {
    struct skydns_system_counts systems[SKYDNS_SYSTEMS];
    int64_t begun_us;     /* of the query being answered */
    bool is_from_forward; /* its reply comes from a nameserver */
};

/* On cache lines of its own; freed with free. */
struct skydns_counts *skydns_counts_new(void);

/* A query is taken up that arrived then (clock_monotonic_us), and its reply: a nameserver's, or
 * ours. */
void skydns_counts_begin(struct skydns_counts *counts, int64_t begun_us, bool is_from_forward);
void skydns_counts_reply(struct skydns_counts *counts, const uint8_t *reply, size_t len);

/* A reading, or the sum of several. */
struct skydns_sums {
    struct {
        uint64_t requests;
        uint64_t causes[SKYDNS_CAUSES];
        uint64_t durations[SKYDNS_DURATION_BOUNDS + 1];
        uint64_t duration_us;
        uint64_t sizes[SKYDNS_SIZE_BOUNDS + 1];
        uint64_t size_bytes;
    } systems[SKYDNS_SYSTEMS];
};

/* Any thread; counts NULL adds nothing. */
void skydns_sums_add(struct skydns_sums *sums, const struct skydns_counts *counts);
void skydns_sums_join(struct skydns_sums *sums, const struct skydns_sums *more);

/* Appends the page; `prefix` is "<namespace>_<subsystem>_". */
void skydns_metrics_write(const struct skydns_sums *sums, const char *prefix, struct buf *out);

#endif
