/* Two writers that undo each other's work: another kube2sky on the same etcd without
 * --leader-elect, with other flags or another cluster, or somebody's script. Each restores its keys
 * as soon as the mirror shows a change, so they would write as fast as etcd can, until its quota is
 * exhausted.
 *
 * An owner is contested once its keys had to be restored CONFLICT_FREE times in a row although its
 * objects had not changed. From then on it rests before each restoration: seconds, more with each
 * one. A change of its objects is written at once, and if only its reverse keys were changed, so
 * are its other keys. It is calm again when nobody has touched its keys for a while. On the main
 * loop; no I/O but the log. */
#ifndef KUBE2SKY_RECONCILE_CONFLICT_INTERNAL_H
#define KUBE2SKY_RECONCILE_CONFLICT_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/slice.h"
#include "kube2sky/reconcile/owners_internal.h"

struct conflict;
struct conflicts;
struct etcd_kv;
struct transaction;
struct owner;
struct ownership;
struct passenger;

/* Restorations in a row without a rest: more than a person causes who tries something with etcdctl.
 */
enum { CONFLICT_FREE = 5 };

/* Owners that are remembered since their keys were restored: somebody may write below ever new
 * names. Those beyond are restored without a rest. Together they take some 20 MB. */
enum { CONFLICTS_MAX = 65536 };

struct conflict_limits {
    uint32_t rest_first_ms;
    uint32_t rest_max_ms;
    uint32_t rest_each_ms; /* times the contested owners: a rest is at least that long */
    uint32_t calm_ms;      /* and three rests without a restoration: no longer contested */
};

/* 1 to 8 s, 10 ms for each, 10 s: a client sees a wrong record for seconds, and of all contested
 * owners together at most 100 are restored a second: 10,000 are right again 100 s after the other
 * writer has ended. That writer may rest as long as we do. */
extern const struct conflict_limits conflict_limits;

struct conflicts_config {
    struct ev_loop *loop;
    const struct ownership *ownership; /* borrowed for good */
    struct conflict_limits limits;
    /* The owner's rest is over, or its contest. Not from inside a call. */
    void (*due)(void *data, struct owner *owner);
    void *data;
};

struct conflicts *conflicts_new(const struct conflicts_config *config);

/* Before the owners. NULL is fine. */
void conflicts_free(struct conflicts *conflicts);

/* Whether the owner, whose keys somebody else changed, must rest before they are restored. Then
 * `due` is called when it may continue. */
bool conflict_must_rest(struct conflicts *conflicts, struct owner *owner);

/* The passenger's transaction restored its owner's keys: ops from..end of the flight's plan. */
void conflict_restored(struct conflicts *conflicts, const struct transaction *transaction,
                       const struct passenger *passenger, size_t from, size_t end);

/* Somebody else wrote a key of an owner that has a contest: for the log. */
void conflict_saw(struct owner *owner, const struct etcd_kv *kv);

/* Whether the owner is contested; times its keys were restored in a row, and how long they rest
 * still. */
bool conflict_of(const struct owner *owner, unsigned *ret_restored, int64_t *ret_rest_ms);

/* Whether only reverse keys of it had to be restored: the others need not rest. */
bool conflict_is_of_reverse(const struct owner *owner);

/* The key that both want, or only one of the two; empty: not known, or it has no contest. Borrowed
 * until it is restored again. */
struct slice conflict_key(const struct owner *owner);

/* Contested owners. */
size_t conflicts_count(const struct conflicts *conflicts);

/* Appends one line without newline about those of the class, OWNER_CONFIG or any other; false,
 * appending nothing, if there is none. */
bool conflicts_explain(const struct conflicts *conflicts, enum owner_class class, struct buf *out);

#endif
