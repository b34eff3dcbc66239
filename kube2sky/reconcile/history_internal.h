/* How much of etcd's space each namespace has filled with history: what its writes replaced or
 * deleted stays in etcd until a compaction. Without a limit, whoever may patch one Service of many
 * records fills etcd's quota, and then nobody's changes are written.
 *
 * A compaction is seen by asking for an old revision: etcd no longer has it. So what is charged
 * belongs to one of two generations, up to a mark and after it; when the mark's revision is gone,
 * the first is forgotten, and the second gets a mark in its turn. Whoever starts anew knows of no
 * history. PURE; single-threaded. */
#ifndef KUBE2SKY_RECONCILE_HISTORY_INTERNAL_H
#define KUBE2SKY_RECONCILE_HISTORY_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"

struct etcd_op;

/* Of etcd's space: what one namespace may fill between two compactions. */
enum { HISTORY_SHARE_DIVISOR = 10 };

struct history;

struct history *history_new(uint64_t share_bytes); /* UINT64_MAX: no limit */
void history_free(struct history *history);        /* NULL is fine */

/* What the operation on a key that existed leaves in etcd: roughly, since a deleted value's length
 * is not known. */
uint64_t history_op_bytes(const struct etcd_op *op);

/* The transaction of this revision has left so much of the namespace. True if that is beyond its
 * share, and was not before. */
bool history_charge(struct history *history, struct slice ns, uint64_t bytes, int64_t revision);

bool history_is_over(const struct history *history, struct slice ns);
size_t history_over_count(const struct history *history);

/* The revision to ask etcd for, while some namespace has filled half of its share or more; 0: none.
 */
int64_t history_mark(struct history *history);

/* etcd has that revision no more. True if a namespace is not beyond its share any longer. */
bool history_compacted(struct history *history);

/* It is another store. */
void history_forget(struct history *history);

#endif
