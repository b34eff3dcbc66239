/* Tracks transactions to etcd, from filling until the mirror shows their result. The reconciler
 * fills and sends them; their owners are in flight until they land. On the main loop; nothing
 * blocks.
 *
 *     open -> filled -> SENT ─── acknowledged ───▶ DONE ──── the mirror has its revision ──▶ landed
 *              ▲         │ │ └── its condition fails ─▶ STALE ── the mirror shows why ─────▶ landed
 *       its turn         │ │
 *          UNFINISHED ◀──┘ │
 *                          ├──── refused: it did not happen ──────────────────────────────▶ landed
 *                          └──── reply lost ─▶ DOUBTFUL: the first of those keys is read
 *                                               ├─ it happened ─▶ DONE
 *                                               └─ it did not ─────────────────────────────▶ landed
 *
 * Each transaction is conditional on one of its keys being unchanged since it was planned. So if a
 * transaction arrives after it was given up, only it or its replacement happens: nothing is written
 * twice. (If the objects changed in between, the replacement may not touch that key, and the old
 * one may happen after it. The mirror shows that, and it is repaired.)
 *
 * It is also conditional on every key that it deletes, and on keys that another writer may have
 * taken: a value that we have not seen is never deleted. If a condition fails, all its owners are
 * planned again. The one whose key had changed goes alone, so that a key which another writer keeps
 * changing delays no other.
 *
 * Transactions of the ConfigMap are conditional on all their keys, and on the list of them, so that
 * each written key is listed.
 *
 * A plan larger than a transaction gets one of its own. That is sent again with the rest of the
 * plan in its namespace's turn, unless its owner's objects have changed. */
#ifndef KUBE2SKY_RECONCILE_TRANSACTIONS_INTERNAL_H
#define KUBE2SKY_RECONCILE_TRANSACTIONS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/etcd/etcd_txn.h"
#include "kube2sky/reconcile/owners_internal.h"
#include "kube2sky/reconcile/plan.h"

struct etcd;
struct etcd_call;
struct transactions;

/* Limits for records. A namespace has one transaction under way, and further ones while no other
 * namespace waits: etcd's throughput hardly changes between two and eight. Half of the slots are
 * reserved for namespaces that come then. As many again may wait for the mirror, which learns of a
 * transaction at about the time of its acknowledgement. Four may be large plans, whose rests take
 * memory and wait for their turns.
 *
 * Each other class has one transaction beside these until it has landed: it waits for no record. */
enum {
    TRANSACTIONS_SENT_MAX = 8,
    TRANSACTIONS_FURTHER_MAX = TRANSACTIONS_SENT_MAX / 2,
    TRANSACTIONS_LARGE_MAX = 4,
    TRANSACTIONS_RECORDS_MAX = 2 * TRANSACTIONS_SENT_MAX + TRANSACTIONS_LARGE_MAX,
    TRANSACTIONS_MAX = TRANSACTIONS_RECORDS_MAX + OWNER_CLASSES - 1,
};

enum transaction_state {
    TRANSACTION_FREE,
    TRANSACTION_FILLING,
    TRANSACTION_SENT,
    TRANSACTION_DOUBTFUL,
    TRANSACTION_DONE,
    TRANSACTION_STALE,
    TRANSACTION_UNFINISHED,
};

/* A transaction takes owners of further namespaces up to this size: namespaces with few changes
 * share one, and one with many gets its own. */
enum { TRANSACTION_SHARED_BYTES = 32 * 1024 };

struct passenger {
    struct owner *owner;   /* has at least one operation in the batch */
    int64_t changed_us;    /* owner->changed_us at boarding; 0 = none */
    int32_t trigger_ahead; /* likewise */
    uint8_t trigger;
    size_t op_end;     /* end of its operations in the first batch */
    bool is_restoring; /* its objects have not changed: undoes another writer's change */
};

struct transaction {
    struct transactions *transactions;
    enum owner_class class; /* of its passengers */
    enum transaction_state state;
    struct etcd_call *call; /* SENT: the transaction; DOUBTFUL: the read, NULL between two reads */
    int64_t sent_us;        /* monotonic */
    int64_t revision;       /* DONE: its own; STALE: etcd's at that time */
    struct plan_batch batch;
    size_t probe;              /* the operation whose key is always a condition */
    struct etcd_compare guard; /* a condition on a further key, borrowed for its lifetime; no key:
                                * none */
    unsigned awaited;          /* the mirrors, as bits, that must reach its revision */
    bool was_doubtful;         /* its outcome had to be read */
    struct passenger *passengers;
    size_t passenger_count;

    /* The rest of a plan larger than a transaction, of the only owner */
    struct plan rest;
    size_t rest_at; /* rest.op_count: none left */
    bool is_large;  /* it had such a rest */
    bool is_void;   /* the state that it was planned from may have changed */
};

enum transaction_failure {
    TRANSACTION_REFUSED,   /* it did not happen */
    TRANSACTION_UNCERTAIN, /* it may have happened */
};

struct transactions_config {
    struct etcd *etcd; /* outlives the transactions */
    size_t ops_max;    /* limit of operations, and of conditions, in a transaction */

    /* Returns, from the mirror, the revision that last wrote the key; 0: absent. */
    int64_t (*key_revision)(const void *data, struct slice key);

    /* Returns whether another writer may take the key: then it is written only if unchanged since
     * planning. */
    bool (*is_contested)(struct slice key);
    bool spares_others; /* another writer may take any key */

    /* Returns an additional condition of each transaction; NULL: there is none. */
    struct etcd_compare (*condition)(const void *data);

    /* These are called with the outcome. Only `landed` may be called from inside a call by the
     * reconciler. */
    void (*acknowledged)(void *data, const struct transaction *transaction);
    void (*failed)(void *data, const struct transaction *transaction,
                   enum transaction_failure failure, const struct err *err);
    /* Called when a condition did not hold. */
    void (*refuted)(void *data);
    /* Called when the owner is settled; it must be planned again if anything else may have happened
     * to it. */
    void (*landed)(void *data, struct owner *owner, bool needs_look);
    void *data;
};

struct transactions *transactions_new(const struct transactions_config *config);

/* Frees all. Transactions in flight are forgotten, not undone; `landed` is not called. NULL is
 * fine. */
void transactions_free(struct transactions *transactions);

/* ---- Filling ---- */

/* Returns false if the class's maximum is in flight. is_further: for a namespace that has a
 * transaction under way. */
bool transactions_has_free(const struct transactions *transactions, enum owner_class class,
                           bool is_further);

/* Returns an empty transaction, to pass to transaction_send or transaction_close. Requires a free
 * one. */
struct transaction *transactions_open(struct transactions *transactions, enum owner_class class);
void transaction_close(struct transaction *transaction);

/* Adds the non-empty plan of the owner, first of its namespace's queue, which is then in flight.
 * PLAN_FITS_PARTLY: the transaction holds the rest, and takes no other owner. PLAN_FITS_NOT
 * although the transaction is empty: the plan is too large for one, and all TRANSACTIONS_LARGE_MAX
 * slots are taken or promised to others. */
enum plan_fit transaction_board(struct transaction *transaction, struct owners *owners,
                                struct owner *owner, struct plan *plan);

/* Returns whether the transaction takes owners of namespaces that are not aboard yet. */
bool transaction_has_room_for_others(const struct transaction *transaction);

/* Returns how many more plans larger than a transaction may be under way. */
size_t transactions_large_free(const struct transactions *transactions);

void transaction_send(struct transaction *transaction);

/* Returns whether the rest of a large plan has puts. */
bool transaction_rest_has_puts(const struct transaction *transaction);

/* Continues an unfinished transaction in its turn: sends the next part, or lands it if it may not
 * send. */
void transaction_continue(struct transaction *transaction, bool may_send);

/* Returns the end of the passenger's operations in the batch; all belong to the only passenger of a
 * large plan. */
size_t transaction_op_end(const struct transaction *transaction, size_t passenger);

/* Returns whether the whole plan has been sent. */
bool transaction_is_complete(const struct transaction *transaction);

/* ---- Events ---- */

/* Notes that the mirror has everything up to this revision. A full read does not tell our changes
 * from others': every finished transaction with keys there lands. */
void transactions_on_mirror(struct transactions *transactions, enum key_source_id source,
                            int64_t revision, bool is_full);

/* Notes that the additional condition changed: transactions that failed under the old one land, and
 * rests of large plans are not sent. */
void transactions_on_condition(struct transactions *transactions);

/* Repeats reads that failed. */
void transactions_ask_again(struct transactions *transactions);

size_t transactions_used(const struct transactions *transactions);
size_t transactions_used_by(const struct transactions *transactions, enum owner_class class);
/* Returns the number in use, except those that need transactions_ask_again or, while paused,
 * transaction_continue. */
size_t transactions_busy(const struct transactions *transactions, bool is_paused);
size_t transactions_passengers(const struct transactions *transactions);

#endif
