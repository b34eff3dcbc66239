/* One watch on a key range, which lasts as long as its connection. It does not resume by itself,
 * since the next connection may lead to another data set (etcd_mirror.h checks before it resumes).
 * Same loop and thread as its etcd. Events arrive as whole revisions: we request no fragments
 * (etcd_codec_internal.h), and join those of a server that sends them.
 *
 *     start -> on_up -> on_events ... -> on_end: lost, refused, compacted
 *
 * Only the events tell where to resume. header.revision does not: it is 0 in cancel responses, and
 * may run ahead of undelivered events in progress responses (etcd issue 15220). While the server
 * catches up from an old start, it runs ahead in every batch of events but the last. There it tells
 * how far the watch lags: etcd_watch_lag. In the last batch it is right: everything in the range up
 * to it has been delivered. A batch of fewer revisions than etcd's maximum (watchBatchMaxRevs,
 * 1,000 in etcd 3.0 to 3.6) is the last. */
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

    /* Delivers all events up to and including `revision`, in order; borrowed during the call. */
    void (*on_events)(void *data, const struct etcd_event *events, size_t count, int64_t revision);
    /* Reports that the server has confirmed the watch. */
    void (*on_up)(void *data);
    /* Reports the end, once; call etcd_watch_stop. ERR_COMPACTED: start_revision is gone.
     * ERR_TOO_LARGE: a message is longer than GRPC_RECEIVE_MAX, or one revision has more changes
     * than are held in memory. After either, read everything again: the same start would bring it
     * again. */
    void (*on_end)(void *data, const struct err *err);
    void *data;
};

/* Starts a watch, which reports on_end once; etcd_watch_stop frees it, also before. */
struct etcd_watch *etcd_watch_start(struct etcd *etcd, const struct etcd_watch_config *config);

/* Stops the watch; no callback runs afterwards. May be called from inside one. NULL is fine. */
void etcd_watch_stop(struct etcd_watch *watch);

/* Returns the revision up to which all changes of the range have been delivered: as of the last
 * events, also inside on_events. 0 before the first. */
int64_t etcd_watch_reached(const struct etcd_watch *watch);

/* Returns the newest revision up to which etcd says that it has told everything: `reached`, or what
 * it reported to the idle watch, ahead of undelivered changes in some versions. */
int64_t etcd_watch_told(const struct etcd_watch *watch);

/* Returns, inside on_end with ERR_COMPACTED, the oldest revision that etcd still has. */
int64_t etcd_watch_compacted(const struct etcd_watch *watch);

/* Returns by how many revisions etcd was ahead of etcd_watch_told when it sent them. */
int64_t etcd_watch_lag(const struct etcd_watch *watch);

#endif
