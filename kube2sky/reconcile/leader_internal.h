/* Elects the one writer among several kube2sky on one etcd: the holder of the key
 * /kube2sky/<domain>/leader, which lives as long as its lease is kept alive. On the main loop;
 * nothing blocks, and failures are retried.
 *
 *              ┌──────────── no such key ──▶ lease ▶ claim ─── won ───▶ LEADING, keeping it alive
 *     look ────┤                               ▲        └─ lost ──▶┐      │
 *      ▲       └── another's ──▶ FOLLOWING ────┘ it is gone        │      │ lease lost,
 *      └───────────── whenever etcd was away ◀─────────────────────┴──────┘ or the key changed
 *
 * Believing to lead is not enough: leader_condition goes with every transaction. So a process that
 * was paused for longer than its lease writes nothing that it had planned. The condition compares
 * the key's value, which is new in each claim, since an etcd restored from a backup repeats
 * revisions.
 *
 * A key without a lease never expires: a person wrote it. It is overwritten if it has not changed
 * for a lease time; until then leader_explain reports it.
 *
 * When the leader dies, its key goes with its lease; followers watch the key and claim it at once.
 * An orderly stop returns the lease. */
#ifndef KUBE2SKY_RECONCILE_LEADER_INTERNAL_H
#define KUBE2SKY_RECONCILE_LEADER_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/etcd/etcd_txn.h"

struct buf;
struct etcd;
struct leader;

struct leader_config {
    struct ev_loop *loop;
    struct etcd *etcd;                            /* outlives the leader */
    const char *domain;                           /* "cluster.local.", lower case, with the dot */
    int64_t lease_s;                              /* etcd may grant a longer one */
    void (*changed)(void *data, bool is_leading); /* not from inside a call; may be NULL */
    void *data;
};

struct leader *leader_start(const struct leader_config *config);

/* Frees all without returning the lease. NULL is fine. */
void leader_stop(struct leader *leader);

bool leader_is_leading(const struct leader *leader);

/* Returns the condition for the leader's transactions: the key is still ours. Borrowed until it
 * changes. */
struct etcd_compare leader_condition(const struct leader *leader);

/* Appends, as one line without newline, why nobody leads although no lease of a candidate is
 * awaited. Returns false, appending nothing, if there is no such reason. */
bool leader_explain(const struct leader *leader, struct buf *out);

/* Reads the key: a transaction's condition failed, perhaps this one. */
void leader_doubt(struct leader *leader);

/* Returns the lease, so that another process can lead at once, and stops claiming. Calls `done`,
 * not from inside, when etcd has answered or could not be reached; soon if not leading. */
void leader_resign(struct leader *leader, void (*done)(void *data), void *data);

/* Returns the last known holder: "<host name>-<8 hex digits>", ours if we lead; "" if none.
 * Borrowed until it changes. */
const char *leader_holder(const struct leader *leader);

#endif
