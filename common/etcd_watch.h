/* One watch on a key range that survives everything but compaction: it reconnects with back-off and
 * resumes behind the last revision it delivered. Same loop and thread as its etcd; events arrive as
 * whole revisions (fragments of one response are put together first).
 *
 *     start -> connecting -> watching -> (connection lost) -> connecting -> ...
 *                              |-> compacted (stopped; the owner reads everything again)
 *
 * Where to resume is known from the events alone. header.revision is of no use for it: it is 0 in
 * cancel responses, can run ahead of undelivered events in progress responses (etcd issue 15220),
 * and does in every batch of events but the last while the server catches up with an old start. */
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
    struct slice key; /* copied, as is range_end */
    struct slice range_end;
    int64_t start_revision; /* the first one wanted, at least 1 */

    /* All events up to and including `revision`, in order; borrowed during the call. */
    void (*on_events)(void *data, const struct etcd_event *events, size_t count, int64_t revision);
    /* start_revision or the resume point is gone, or (compact_revision 0) one revision has more
     * changes than are held in memory. The watch has ended; call etcd_watch_stop. */
    void (*on_compacted)(void *data, int64_t compact_revision);
    /* The server has confirmed the watch, first or again. */
    void (*on_up)(void *data);
    /* Once per loss, and again when the kind of reason (err->code) changes; it goes on trying by
     * itself. */
    void (*on_down)(void *data, const struct err *err);
    void *data;
};

struct etcd_watch *etcd_watch_start(struct etcd *etcd, const struct etcd_watch_config *config);

/* No callback after it; may be called from inside one, as the last act. NULL is fine. */
void etcd_watch_stop(struct etcd_watch *watch);

#endif
