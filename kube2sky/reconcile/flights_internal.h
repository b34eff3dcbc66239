/* Transactions on their way into etcd, each from being filled until the mirror shows what became of
 * it. The reconciler fills and sends them; their owners are in flight until they land. On the main
 * loop; nothing blocks.
 *
 *     open -> filled -> SENT ─── acknowledged ───▶ DONE ──── the mirror has its revision ──▶ landed
 *              ▲         │ │ └── its condition fails ─▶ STALE ── the mirror shows why ─────▶ landed
 *              └─ rest ──┘ │
 *                          ├──── refused: it did not happen ──────────────────────────────▶ landed
 *                          └──── reply lost ─▶ DOUBTFUL: the first of those keys is read
 *                                               ├─ it happened ─▶ DONE
 *                                               └─ it did not ─────────────────────────────▶ landed
 *
 * Each transaction is conditional on one of its keys being as it was when it was planned, and on
 * each one that may have become somebody else's meanwhile. So of one
 * that arrives when nobody waits for it any more and the new one for the same owners, only one
 * happens: nothing is written twice. (When the objects have changed in between, the new one may
 * leave that key alone and the old one happen after it; the mirror shows that, and it is mended.)
 *
 * A plan larger than a transaction has a flight alone, which is sent again with what follows,
 * unless its owner's objects have changed since. */
#ifndef KUBE2SKY_RECONCILE_FLIGHTS_INTERNAL_H
#define KUBE2SKY_RECONCILE_FLIGHTS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/etcd/etcd.h"
#include "kube2sky/reconcile/owners_internal.h"
#include "kube2sky/reconcile/plan.h"

struct flights;

/* Between two and eight etcd's throughput hardly changes; eight keep it busy during our planning.
 * As many again may wait for the mirror, which hears of a transaction at about the time of its
 * acknowledgement. */
enum { FLIGHTS_SENT_MAX = 8, FLIGHTS_MAX = 2 * FLIGHTS_SENT_MAX };

enum flight_state {
    FLIGHT_FREE,
    FLIGHT_FILLING,
    FLIGHT_SENT,
    FLIGHT_DOUBTFUL,
    FLIGHT_DONE,
    FLIGHT_STALE,
};

struct passenger {
    struct owner *owner; /* has at least one operation in the batch */
    int64_t changed_us;  /* what its changed_us was; 0 = none */
};

struct flight {
    struct flights *flights;
    enum flight_state state;
    struct etcd_call *call; /* SENT: the transaction; DOUBTFUL: the question, NULL between two */
    int64_t sent_us;        /* monotonic */
    int64_t revision;       /* DONE: that it made; STALE: of the store when that was said */
    struct plan_batch batch;
    size_t probe; /* the operation whose key it is always conditional on */
    struct passenger *passengers;
    size_t passenger_count;

    /* Of an owner whose plan is larger than a transaction, its only one: what follows. */
    struct plan rest;
    size_t rest_at; /* rest.op_count: nothing */
};

enum flight_failure {
    FLIGHT_REFUSED,   /* it did not happen */
    FLIGHT_UNCERTAIN, /* it may have */
};

struct flights_config {
    struct etcd *etcd; /* outlives the flights */
    size_t ops_max;    /* operations of a transaction, or conditions */

    /* What the mirror shows: the revision that last wrote the key; 0: it is not there. */
    int64_t (*key_revision)(const void *data, struct slice key);

    /* A key that may be somebody else's tomorrow: written only as it was when that was planned. */
    bool (*is_contested)(struct slice key);

    /* One more condition of each transaction; NULL: none. */
    struct etcd_compare (*condition)(const void *data);

    /* None is called from inside a call of the reconciler's, but `landed`. */
    void (*acknowledged)(void *data, const struct flight *flight);
    void (*failed)(void *data, const struct flight *flight, enum flight_failure failure,
                   const struct err *err);
    /* A condition did not hold. */
    void (*refuted)(void *data);
    /* The owner is settled, and to be planned again if something else may have happened to it. */
    void (*landed)(void *data, struct owner *owner, bool needs_look);
    void *data;
};

struct flights *flights_new(const struct flights_config *config);

/* Transactions in flight are forgotten, not undone; their owners are not told. NULL is fine. */
void flights_free(struct flights *flights);

/* ---- Filling ---- */

/* False: as many as may be are under way. */
bool flights_has_free(const struct flights *flights);

/* Empty, to be given to flight_send or flight_close. There is a free one. */
struct flight *flights_open(struct flights *flights);
void flight_close(struct flight *flight);

/* Adds the plan, not empty, of the queue's first owner, which then is in flight. PLAN_FITS_PARTLY:
 * the flight keeps the rest, and nobody else may board. */
enum plan_fit flight_board(struct flight *flight, struct owners *owners, struct plan *plan);

void flight_send(struct flight *flight);

/* ---- News ---- */

/* The mirror has everything up to this revision. After a full read nothing that the mirror was
 * waited for can be told from what others did: all that is known to be over lands. */
void flights_on_mirror(struct flights *flights, int64_t revision, bool is_full);

/* The additional condition is another one now: what failed under the old one lands. */
void flights_on_condition(struct flights *flights);

/* Those whose question was not answered ask again. */
void flights_ask_again(struct flights *flights);

size_t flights_used(const struct flights *flights);
size_t flights_busy(const struct flights *flights); /* those that need no flights_ask_again */
size_t flights_passengers(const struct flights *flights);

#endif
