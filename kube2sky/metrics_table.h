/* The metrics of kube2sky: their names, what each means and where it comes from, all in
 * metrics_table.c; the man page lists the same. Main thread. */
#ifndef KUBE2SKY_METRICS_TABLE_H
#define KUBE2SKY_METRICS_TABLE_H

#include <stdint.h>

#include "common/buf.h"
#include "common/metrics.h"

struct etcd;
struct inventory;
struct outage;
struct outage_source;
struct reconciler;
struct reflector;

/* All borrowed; the arrays are by enum kube_kind. */
struct metrics_sources {
    int64_t start_s; /* Unix time of the process's start */
    const struct etcd *etcd;
    const struct outage *etcd_outage;
    const struct outage *api_outage;
    const struct outage_source *followed;
    const uint64_t *skipped; /* objects that could not be understood */
    struct reflector *const *reflectors;
    const struct inventory *inventory;
    const struct reconciler *reconciler;
};

/* Appends the page. */
void metrics_table_write(const struct metrics_sources *sources, struct buf *out);

#endif
