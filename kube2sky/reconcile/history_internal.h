/* Counts how much of etcd's space each namespace has filled with history: values that its writes
 * replaced or deleted stay in etcd until a compaction. Without a limit, a user who may patch one
 * Service of many records fills etcd's quota, and then no change is written any more.
 *
 * A read at an old revision shows whether etcd was compacted: then it no longer has that revision.
 * So charges belong to one of two generations, up to a mark and after it. When the mark's revision
 * is gone, the first generation is forgotten, and the second gets a mark in its turn. A process
 * that starts knows of no history. PURE; single-threaded. */
#ifndef KUBE2SKY_RECONCILE_HISTORY_INTERNAL_H
#define KUBE2SKY_RECONCILE_HISTORY_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"

struct etcd_op;

/* One namespace may fill etcd's space, divided by this, between two compactions. */
enum { HISTORY_SHARE_DIVISOR = 10 };

struct history;

struct history *history_new(uint64_t share_bytes); /* UINT64_MAX: no limit */
void history_free(struct history *history);        /* NULL is fine */

/* Returns the bytes that the operation on an existing key leaves in etcd: roughly, since a deleted
 * value's length is not known. */
uint64_t history_op_bytes(const struct etcd_op *op);

/* Charges the namespace for the history that the transaction of this revision left. Returns true if
 * its share is used up by that. */
bool history_charge(struct history *history, struct slice ns, uint64_t bytes, int64_t revision);

bool history_is_over(const struct history *history, struct slice ns);
size_t history_over_count(const struct history *history);

/* Returns the revision to ask etcd for while some namespace has filled half of its share or more;
 * else 0. */
int64_t history_mark(struct history *history);

/* Notes that etcd no longer has that revision. Returns true if a namespace has room in its share
 * again. */
bool history_compacted(struct history *history);

/* Forgets all charges, since etcd has another data set. */
void history_forget(struct history *history);

#endif
