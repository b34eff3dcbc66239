/* Prints changes of records (recent_changes.h) as JSON: for /explain and /live. Main thread.
 *
 *     {"time_ms":1767323045000,"revision":17,"kind":"put","name":"web.default.svc.cluster.local.",
 *      "key":"/skydns/local/cluster/svc/default/web","took_us":85} */
#ifndef SKYDNS_PAGES_CHANGE_PAGE_INTERNAL_H
#define SKYDNS_PAGES_CHANGE_PAGE_INTERNAL_H

#include "common/base/buf.h"
#include "skydns/sync/recent_changes.h"

struct store_sync;

/* Without took_us until all threads see it. */
void change_page_one(const struct recent_change *change, struct slice prefix, struct buf *out);

/* A list, the latest first, at most so many. */
void change_page_list(const struct store_sync *sync, size_t max, struct buf *out);

#endif
