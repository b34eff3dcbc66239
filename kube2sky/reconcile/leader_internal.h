/* Elects the one writer among several kube2sky on one etcd: the holder of the key
 * /kube2sky/<domain>/leader, which lives as long as its lease is kept alive. On the main loop;
 * nothing blocks, and failures are retried.
 *
 *              ┌──────────── no such key ──▶ lease ▶ claim ─── won ───▶ LEADING, keeping it alive
 *     look ────┤                               ▲        └─ lost ──▶┐      │
 *      ▲       └── another's ──▶ FOLLOWING ────┘ it is gone        │      │ lease lost,
 *      └───────────── whenever etcd was away ◀─────────────────────┴──────┘ or the key changed
 *
 * Believing to lead is not enough: leader_condition goes with every transaction, so a process that
 * was paused for longer than its lease writes nothing of what it had planned. It compares the key's
 * value, which each claim makes anew: an etcd restored from a backup repeats revisions.
 *
 * A key without a lease never goes: somebody wrote it by hand. It is overwritten if it has not
 * changed for the time of a lease; until then leader_explain reports it.
 *
 * When the leader dies, its key goes with its lease; followers watch it and claim it at once. An
 * orderly stop returns the lease. */
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

/* Does not return the lease. NULL is fine. */
void leader_stop(struct leader *leader);

bool leader_is_leading(const struct leader *leader);

/* The condition that the key is still ours, for the leader's transactions. Borrowed until it
 * changes. */
struct etcd_compare leader_condition(const struct leader *leader);

/* Appends why nobody leads and none of the candidates' leases will end that, as one line without
 * newline. False, appending nothing, if there is no such reason. */
bool leader_explain(const struct leader *leader, struct buf *out);

/* A transaction's condition failed, perhaps this one: reads the key. */
void leader_doubt(struct leader *leader);

/* Returns the lease, so that another can lead at once, and stops claiming. Calls done, not from
 * inside, when etcd has answered or could not be reached; at once if not leading. */
void leader_resign(struct leader *leader, void (*done)(void *data), void *data);

/* The last known holder: "<host name>-<8 hex digits>", ours if we lead; "" if none. Borrowed until
 * it changes. */
const char *leader_holder(const struct leader *leader);

#endif
