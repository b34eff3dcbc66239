/* Slows down conflicts: two writers that undo each other's work. The other may be a second kube2sky
 * on the same etcd without --leader-elect, with other flags or another cluster, or a script. Each
 * restores its keys as soon as its mirror shows a change. Both would write as fast as etcd can,
 * until its quota is exhausted.
 *
 * An owner is in conflict once its keys had to be restored CONFLICT_FREE times in a row although
 * its objects had not changed. From then on each restoration waits for a backoff of seconds, longer
 * each time. A change of its objects is written at once. If only its reverse keys were changed, so
 * are its other keys. The conflict ends when nobody else has changed its keys for a while. On the
 * main loop; no I/O but the log. */
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

/* Restorations in a row without a backoff: more than a person causes who tries something with
 * etcdctl. */
enum { CONFLICT_FREE = 5 };

/* Limits the owners whose restorations are counted, since another writer may write below ever new
 * names. Further owners are restored without a backoff. All together take some 20 MB. */
enum { CONFLICTS_MAX = 65536 };

struct conflict_limits {
    uint32_t rest_first_ms;
    uint32_t rest_max_ms;
    uint32_t rest_each_ms; /* a backoff is at least this times the number of owners in conflict */
    uint32_t calm_ms;      /* the conflict ends after this time and three backoffs without a
                            * restoration */
};

/* 1 to 8 s, 10 ms for each owner, 10 s. A client sees a wrong record for seconds. At most 100
 * owners in conflict are restored a second: 10,000 are right again 100 s after the other writer has
 * ended. That writer may use the same backoff. */
extern const struct conflict_limits conflict_limits;

struct conflicts_config {
    struct ev_loop *loop;
    const struct ownership *ownership; /* borrowed for the conflicts' lifetime */
    struct conflict_limits limits;
    /* Called when the owner's backoff, or its conflict, has ended; never from inside a call. */
    void (*due)(void *data, struct owner *owner);
    void *data;
};

struct conflicts *conflicts_new(const struct conflicts_config *config);

/* Frees all; call it before the owners are freed. NULL is fine. */
void conflicts_free(struct conflicts *conflicts);

/* Returns whether the owner, whose keys another writer changed, must wait before they are restored.
 * If so, `due` is called when it may continue. */
bool conflict_must_rest(struct conflicts *conflicts, struct owner *owner);

/* Notes that the passenger's transaction restored its owner's keys: operations from..end of the
 * transaction's plan. */
void conflict_restored(struct conflicts *conflicts, const struct transaction *transaction,
                       const struct passenger *passenger, size_t from, size_t end);

/* Notes for the log that another writer wrote a key of an owner that has a conflict. */
void conflict_saw(struct owner *owner, const struct etcd_kv *kv);

/* Returns whether the owner is in conflict. Sets how often its keys were restored in a row, and the
 * remaining backoff. */
bool conflict_of(const struct owner *owner, unsigned *ret_restored, int64_t *ret_rest_ms);

/* Returns whether only reverse keys of the owner had to be restored: its other keys need not
 * wait. */
bool conflict_is_of_reverse(const struct owner *owner);

/* Returns a key that both writers want or, if there is none, one that either wants. Empty if none
 * is known or there is no conflict. Borrowed until the owner is restored again. */
struct slice conflict_key(const struct owner *owner);

/* Returns the number of owners in conflict. */
size_t conflicts_count(const struct conflicts *conflicts);

/* Appends one line without newline about the owners in conflict of the class, OWNER_CONFIG or any
 * other. Returns false, appending nothing, if there is none. */
bool conflicts_explain(const struct conflicts *conflicts, enum owner_class class, struct buf *out);

#endif
