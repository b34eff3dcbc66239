/* Writes the store key (etcd_store_id.h) into a data set that has none, for etcd_mirror_mark_store.
 *
 * It uses its own transaction, on the watched connection. Same loop and thread as its etcd. */
#ifndef COMMON_ETCD_ETCD_STORE_MARK_INTERNAL_H
#define COMMON_ETCD_ETCD_STORE_MARK_INTERNAL_H

#include <stdbool.h>

#include "common/base/slice.h"

struct err;
struct etcd;
struct etcd_compare;
struct etcd_store_mark;

/* Reports err NULL: there is a store key now, from us (is_ours) or from another writer. Else try
 * again; the loop wakes up when it is time. */
typedef void (*etcd_store_mark_cb)(void *data, bool is_ours, const struct err *err);

/* Creates the writer of this key, which is borrowed. */
struct etcd_store_mark *etcd_store_mark_new(struct etcd *etcd, struct slice store_key,
                                            etcd_store_mark_cb cb, void *data);
void etcd_store_mark_free(struct etcd_store_mark *mark); /* NULL is fine; cb does not come */

/* Writes a new random id if the store's is `old` (empty: it has none), and only if the condition
 * (NULL: none) holds. With a condition, another key is reported as an error, ERR_CANCELED, like a
 * failed condition. Does nothing while an attempt is in flight, or too soon after a failure. */
void etcd_store_mark_try(struct etcd_store_mark *mark, struct slice old,
                         const struct etcd_compare *condition);

bool etcd_store_mark_is_under_way(const struct etcd_store_mark *mark);

#endif
