/* Of several kube2sky that write into one etcd, who may: the one that holds the key
 * /kube2sky/<domain>/leader, which lives as long as its lease is kept alive. On the main loop;
 * nothing blocks, no failure ends anything.
 *
 *              ┌──────────── no such key ──▶ lease ▶ claim ─── got it ──▶ LEADING, keeping it alive
 *     look ────┤                               ▲        └─ too late ─▶┐        │
 *      ▲       └── another's ──▶ FOLLOWING ────┘ it went              │        │ lost: not kept
 * alive, └───────────── whenever etcd was away ◀────────────────────────┴────────┘ or the key is
 * another
 *
 * That somebody believes to lead is not enough: leader_condition goes with every transaction, so
 * one that was paused for longer than its lease and sends what it had planned writes nothing.
 *
 * When the leader dies, its key goes with its lease; followers watch it and claim it at once. Who
 * stops in order gives the lease back. */
#ifndef KUBE2SKY_RECONCILE_LEADER_INTERNAL_H
#define KUBE2SKY_RECONCILE_LEADER_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/etcd/etcd.h"

struct leader;

struct leader_config {
    struct ev_loop *loop;
    struct etcd *etcd;                            /* outlives the leader */
    const char *domain;                           /* "cluster.local.", lower case, with the dot */
    int64_t lease_s;                              /* etcd may give a longer one */
    void (*changed)(void *data, bool is_leading); /* not from inside a call; may be NULL */
    void *data;
};

struct leader *leader_start(const struct leader_config *config);

/* Without giving the lease back. NULL is fine. */
void leader_stop(struct leader *leader);

bool leader_is_leading(const struct leader *leader);

/* That the key is still ours: for the transactions of who leads. Borrowed until it changes. */
struct etcd_compare leader_condition(const struct leader *leader);

/* A transaction's condition failed, which may have been that one: looks. */
void leader_doubt(struct leader *leader);

/* Gives the lease back, so that another may lead at once, and claims nothing any more. Calls done,
 * not from inside, when etcd has answered or could not be asked; at once when not leading. */
void leader_resign(struct leader *leader, void (*done)(void *data), void *data);

/* Whose the key is, as far as known: "<host name>-<8 hex digits>", ours if we lead; "" if nobody's.
 * Borrowed until it changes. */
const char *leader_holder(const struct leader *leader);

#endif
