/* Writes kube2sky's metrics: metrics_table.c lists their names, meanings and sources; the man page
 * lists the same. Main thread. */
#ifndef KUBE2SKY_METRICS_TABLE_H
#define KUBE2SKY_METRICS_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/metrics.h"

struct config_source;
struct etcd;
struct event_writer;
struct kube_source;
struct flaw_list;
struct http_waiters;
struct inventory;
struct outage;
struct reconciler;

/* All borrowed. */
struct metrics_sources {
    int64_t start_s; /* Unix time of the process's start */
    const struct etcd *etcd;
    const struct outage *etcd_outage;
    const struct kube_source *kube_source;
    const struct flaw_list *flaws;
    const struct inventory *inventory;
    struct reconciler *reconciler;
    const struct config_source *config_source; /* NULL: no ConfigMap is followed */
    const struct event_writer *event_writer;   /* NULL: no events are written */
    struct http_waiters *waiters;              /* of /wait; NULL in a dry run */

    /* The flags, for pages. */
    const char *domain;            /* "cluster.local." */
    const char *const *namespaces; /* lower case */
    size_t namespace_count;        /* 0: all */
    const char *label_selector;    /* NULL or "": every object */
    const char *namespace_labels;  /* NULL or "": every namespace */
};

/* Appends the page. */
void kube2sky_metrics_table_write(const struct metrics_sources *sources, struct buf *out);

#endif
