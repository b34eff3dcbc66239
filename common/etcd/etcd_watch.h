/* One watch on a key range. It lasts as long as its connection and does not resume by itself, since
 * the next connection may lead to another store (etcd_mirror.h checks before it resumes). Same loop
 * and thread as its etcd. Events arrive as whole revisions: none is asked for in fragments
 * (etcd_codec_internal.h), and those of a server that sends them are joined first.
 *
 *     start -> on_up -> on_events ... -> on_end: lost, refused, compacted
 *
 * Only the events tell where to resume. header.revision does not: it is 0 in cancel responses, may
 * run ahead of undelivered events in progress responses (etcd issue 15220), and does so in every
 * batch of events but the last while the server catches up from an old start. There it tells how
 * far the watch lags: etcd_watch_lag. Beside the last batch it is right: nothing in the range
 * changed up to it but what has been delivered. A batch of fewer revisions than etcd puts into one
 * is the last (watchBatchMaxRevs, 1,000 in etcd 3.0 to 3.6). */
#ifndef COMMON_ETCD_ETCD_WATCH_H
#define COMMON_ETCD_ETCD_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"
#include "common/etcd/etcd_kv.h"

struct err;
struct etcd;
struct etcd_watch;

struct etcd_watch_config {
    struct slice key; /* copied by etcd_watch_start, as is range_end */
    struct slice range_end;
    int64_t start_revision; /* the first one wanted, at least 1 */
    bool only_now;          /* on the connection that is open now or not at all */

    /* All events up to and including `revision`, in order; borrowed during the call. */
    void (*on_events)(void *data, const struct etcd_event *events, size_t count, int64_t revision);
    /* The server has confirmed the watch. */
    void (*on_up)(void *data);
    /* Once; call etcd_watch_stop. ERR_COMPACTED: start_revision is gone. ERR_TOO_LARGE: a
     * message is longer than GRPC_RECEIVE_MAX, or one revision has more changes than are held in
     * memory. After either, read everything again: the same start would bring it again. */
    void (*on_end)(void *data, const struct err *err);
    void *data;
};

struct etcd_watch *etcd_watch_start(struct etcd *etcd, const struct etcd_watch_config *config);

/* No callback afterwards; may be called from inside one. NULL is fine. */
void etcd_watch_stop(struct etcd_watch *watch);

/* All changes of the range up to this revision have been delivered: as of the last events, also
 * inside on_events. 0 before the first. */
int64_t etcd_watch_reached(const struct etcd_watch *watch);

/* The newest revision of the store up to which etcd says that it has told everything: `reached`, or
 * what it reported to the idle watch, ahead of undelivered changes in some versions. */
int64_t etcd_watch_told(const struct etcd_watch *watch);

/* Revisions that the store was ahead of that when the server sent them. */
int64_t etcd_watch_lag(const struct etcd_watch *watch);

#endif
