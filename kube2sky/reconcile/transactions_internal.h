/* Transactions in flight to etcd, from being filled until the mirror shows their result. The
 * reconciler fills and sends them; their owners are in flight until they land. On the main loop;
 * nothing blocks.
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
 * Each transaction is conditional on one of its keys being unchanged since it was planned. So of a
 * transaction that arrives after it was given up and its replacement, only one happens: nothing is
 * written twice. (If the objects changed in between, the replacement may not touch that key, and
 * the old one may happen after it; the mirror shows that, and it is repaired.) It is also
 * conditional on every key that it deletes, and on those that may have become somebody else's: a
 * value that we have not seen is never deleted. If a condition fails, all its owners are planned
 * again, and the one whose key had changed goes alone, so that a key which somebody keeps changing
 * holds up no other.
 *
 * Those of the ConfigMap are conditional on all their keys, and on the list of them, so that what
 * is written is listed.
 *
 * A plan larger than a transaction gets a flight of its own, which is sent again with the rest when
 * it is its namespace's turn, unless its owner's objects have changed. */
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

/* A namespace has one transaction under way, and further ones while no other namespace waits:
 * etcd's throughput hardly changes between two and eight. Half of the places are kept for who comes
 * then. As many again may wait for the mirror, which learns of a transaction at about the time of
 * its acknowledgement. Four may be large plans, whose rests take memory and wait for their turns.
 * Beside these, one of each other class, until it has landed: they wait for no record. */
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

/* A transaction takes owners of further namespaces up to this: those with few changes share one,
 * and who has many gets its own. */
enum { TRANSACTION_SHARED_BYTES = 32 * 1024 };

struct passenger {
    struct owner *owner; /* has at least one operation in the batch */
    int64_t changed_us;  /* its changed_us at boarding; 0 = none */
    size_t op_end;       /* end of its operations in the first batch */
    bool is_restoring;   /* its objects have not changed: undoes what somebody else did */
};

struct transaction {
    struct transactions *transactions;
    enum owner_class class; /* of its passengers */
    enum transaction_state state;
    struct etcd_call *call; /* SENT: the transaction; DOUBTFUL: the read, NULL between reads */
    int64_t sent_us;        /* monotonic */
    int64_t revision;       /* DONE: its own; STALE: the store's at that time */
    struct plan_batch batch;
    size_t probe;              /* the operation whose key is always a condition */
    struct etcd_compare guard; /* of a key beside those, borrowed for good; no key: none */
    unsigned awaited;          /* the feeds, as bits, that must have its revision */
    bool was_doubtful;         /* whether it happened had to be found out */
    struct passenger *passengers;
    size_t passenger_count;

    /* For the only owner, with a plan larger than a transaction: the rest. */
    struct plan rest;
    size_t rest_at; /* rest.op_count: none left */
    bool is_large;  /* it had one */
    bool is_void;   /* what it was planned from may not hold any more */
};

enum transaction_failure {
    TRANSACTION_REFUSED,   /* it did not happen */
    TRANSACTION_UNCERTAIN, /* it may have */
};

struct transactions_config {
    struct etcd *etcd; /* outlives the flights */
    size_t ops_max;    /* operations of a transaction, or conditions */

    /* From the mirror: the revision that last wrote the key; 0: absent. */
    int64_t (*key_revision)(const void *data, struct slice key);

    /* Whether the key may become somebody else's: then it is written only if unchanged since
     * planning. */
    bool (*is_contested)(struct slice key);
    bool spares_others; /* any key may */

    /* An additional condition of each transaction; NULL: none. */
    struct etcd_compare (*condition)(const void *data);

    /* Only `landed` may be called from inside a call by the reconciler. */
    void (*acknowledged)(void *data, const struct transaction *transaction);
    void (*failed)(void *data, const struct transaction *transaction,
                   enum transaction_failure failure, const struct err *err);
    /* A condition did not hold. */
    void (*refuted)(void *data);
    /* The owner is settled, and must be planned again if something else may have happened to it. */
    void (*landed)(void *data, struct owner *owner, bool needs_look);
    void *data;
};

struct transactions *transactions_new(const struct transactions_config *config);

/* Transactions in flight are forgotten, not undone; `landed` is not called. NULL is fine. */
void transactions_free(struct transactions *transactions);

/* ---- Filling ---- */

/* False: the class's maximum is in flight. is_further: what may be sent for a namespace that has a
 * transaction under way. */
bool transactions_has_free(const struct transactions *transactions, enum owner_class class,
                           bool is_further);

/* An empty flight, to pass to transaction_send or transaction_close. Requires a free one. */
struct transaction *transactions_open(struct transactions *transactions, enum owner_class class);
void transaction_close(struct transaction *transaction);

/* Adds the non-empty plan of the owner, first of its namespace's queue, which is then in flight.
 * PLAN_FITS_PARTLY: the flight keeps the rest, and takes no other owner. PLAN_FITS_NOT although the
 * flight is empty: it is too large for one transaction, and the TRANSACTIONS_LARGE_MAX places for
 * such are taken or promised to others. */
enum plan_fit transaction_board(struct transaction *transaction, struct owners *owners,
                                struct owner *owner, struct plan *plan);

/* Whether the flight takes owners of namespaces that it has not aboard. */
bool transaction_has_room_for_others(const struct transaction *transaction);

/* How many more plans larger than a transaction may be under way. */
size_t transactions_large_free(const struct transactions *transactions);

void transaction_send(struct transaction *transaction);

/* Whether the rest of a large plan has additions. */
bool transaction_rest_has_puts(const struct transaction *transaction);

/* It is the turn of an unfinished one: its next part is sent, or it lands if that is not to be. */
void transaction_continue(struct transaction *transaction, bool may_send);

/* The end of the passenger's operations in the batch: those of a large plan's only passenger are
 * all. */
size_t transaction_op_end(const struct transaction *transaction, size_t passenger);

/* The whole plan has been sent. */
bool transaction_is_complete(const struct transaction *transaction);

/* ---- Events ---- */

/* The feed's mirror has everything up to this revision. After a full read, our changes cannot be
 * told from others': every finished transaction of its owners lands. */
void transactions_on_mirror(struct transactions *transactions, enum key_source_id source,
                            int64_t revision, bool is_full);

/* The additional condition changed: transactions that failed under the old one land, and rests of
 * large plans are not sent. */
void transactions_on_condition(struct transactions *transactions);

/* Repeats unanswered reads. */
void transactions_ask_again(struct transactions *transactions);

size_t transactions_used(const struct transactions *transactions);
size_t transactions_used_by(const struct transactions *transactions, enum owner_class class);
/* Except those that need transactions_ask_again, or, while nothing is sent, transaction_continue.
 */
size_t transactions_busy(const struct transactions *transactions, bool is_paused);
size_t transactions_passengers(const struct transactions *transactions);

#endif
