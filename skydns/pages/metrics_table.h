/* The metrics of skydns: their names, what each means and where it comes from, all in
 * metrics_table.c; the man page lists the same. Main thread; the other threads' counts are read as
 * they stand. */
#ifndef SKYDNS_PAGES_METRICS_TABLE_H
#define SKYDNS_PAGES_METRICS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/metrics.h"

struct etcd;
struct explainer;
struct outage;
struct outage_source;
struct resolver;
struct snapshot;
struct store_sync;
struct worker;

/* All borrowed. */
struct metrics_sources {
    int64_t start_s; /* Unix time of the process's start */
    const struct etcd *etcd;
    const struct outage *outage; /* etcd's */
    const struct outage_source *followed;
    const struct store_sync *sync;
    const struct resolver *resolver;
    struct worker *const *workers;
    size_t worker_count;
    const char *skydns_prefix; /* of SkyDNS's own metrics; NULL: not wanted */
    const struct snapshot *snapshot;
    struct explainer *explainer; /* NULL without HTTP */
    bool is_lame_duck;           /* told to end, and answering on for a while */
};

/* Appends the page. */
void metrics_table_write(const struct metrics_sources *sources, struct buf *out);

#endif
