/* Writes the store key (etcd_store_id.h) into a store that has none, for etcd_mirror_mark_store: in
 * a transaction of its own, on the connection that is watched. Same loop and thread as its etcd. */
#ifndef COMMON_ETCD_ETCD_STORE_MARK_INTERNAL_H
#define COMMON_ETCD_ETCD_STORE_MARK_INTERNAL_H

#include <stdbool.h>

#include "common/base/slice.h"

struct err;
struct etcd;
struct etcd_compare;
struct etcd_store_mark;

/* err NULL: the store has a key now, by us (is_ours) or by another writer. Else it may be tried
 * again, and the loop is woken when the time for that has come. */
typedef void (*etcd_store_mark_cb)(void *data, bool is_ours, const struct err *err);

/* The key is borrowed. */
struct etcd_store_mark *etcd_store_mark_new(struct etcd *etcd, struct slice store_key,
                                            etcd_store_mark_cb cb, void *data);
void etcd_store_mark_free(struct etcd_store_mark *mark); /* NULL is fine */

/* Writes a new random id unless the store has a key, and only while the condition holds (NULL:
 * there is none; else a store that has a key already is told as an error, ERR_CANCELED, like a
 * condition that failed). Does nothing while the last attempt is under way, or too soon after it
 * failed. */
void etcd_store_mark_try(struct etcd_store_mark *mark, const struct etcd_compare *condition);

/* The connection is to be used no more: without the callback. */
void etcd_store_mark_cancel(struct etcd_store_mark *mark);

bool etcd_store_mark_is_under_way(const struct etcd_store_mark *mark);

#endif
