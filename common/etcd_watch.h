/* One watch on a key range that survives everything but compaction: it reconnects with back-off and
 * resumes behind the last revision it delivered. Same loop and thread as its etcd; events arrive as
 * whole revisions (fragments of one response are put together first).
 *
 *     start -> connecting -> watching -> (connection lost) -> connecting -> ...
 *                              |-> compacted (stopped; the owner reads everything again)
 *
 * header.revision is taken only from responses with events: in progress and cancel responses it can
 * be 0 or run ahead (etcd issue 15220). */
#ifndef COMMON_ETCD_WATCH_H
#define COMMON_ETCD_WATCH_H

#include "common/etcd.h"

struct etcd_watch;

enum etcd_event_kind { ETCD_EVENT_PUT, ETCD_EVENT_DELETE };

struct etcd_event {
    enum etcd_event_kind kind;
    struct etcd_kv kv; /* a delete has only key and mod_revision */
};

struct etcd_watch_config {
    struct slice key; /* copied */
    struct slice range_end;
    int64_t start_revision; /* the first one wanted */

    /* All events up to and including `revision`, in order; borrowed during the call. */
    void (*on_events)(void *data, const struct etcd_event *events, size_t count, int64_t revision);
    /* start_revision or the resume point is gone. The watch has ended; call etcd_watch_stop. */
    void (*on_compacted)(void *data, int64_t compact_revision);
    /* The server has confirmed the watch, first or again. */
    void (*on_up)(void *data);
    /* Once per loss, and again when the reason changes; it goes on trying by itself. */
    void (*on_down)(void *data, const struct err *err);
    void *data;
};

struct etcd_watch *etcd_watch_start(struct etcd *etcd, const struct etcd_watch_config *config);

/* No callback after it; may be called from inside one, as the last act. NULL is fine. */
void etcd_watch_stop(struct etcd_watch *watch);

#endif
