/* Shared by the files of client_key_writer_internal.h: client_key_writer.c follows etcd and
 * decides, client_key_sending.c handles what becomes of transactions, client_key_tell.c serves the
 * reconciler and people. */
#ifndef KUBE2SKY_RECONCILE_CLIENT_KEY_PARTS_INTERNAL_H
#define KUBE2SKY_RECONCILE_CLIENT_KEY_PARTS_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/backoff.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "common/etcd/etcd_txn.h"
#include "kube2sky/reconcile/client_key_set_internal.h"
#include "kube2sky/reconcile/client_key_writer_internal.h"
#include "kube2sky/reconcile/config_rest_internal.h"
#include "kube2sky/reconcile/plan.h"

struct etcd_call;
struct etcd_mirror;

struct client_key_writer {
    struct client_key_writer_config config;
    struct client_key_set set;
    struct etcd_mirror *mirror;
    struct slice tree;  /* borrowed from the keys */
    struct buf key;     /* scratch */
    struct plan single; /* scratch: one operation */
    struct plan shown;  /* scratch, for people */

    /* The mirror */
    int64_t revision;
    uint32_t generation; /* of its full reads */
    bool is_mirrored;
    bool is_following; /* since etcd last confirmed it */
    bool is_mid_publication;
    bool is_mid_read;
    bool is_news; /* keys that were not known to be in etcd may be now */
    bool could_delete;
    struct err read_failure;

    /* The transaction in flight */
    struct etcd_call *call; /* NULL: none */
    struct plan_batch batch;
    struct etcd_compare *compares;
    struct etcd_op *ops;
    size_t ops_now;     /* at most so many operations; less while etcd refuses some */
    bool is_landing;    /* acknowledged, and not yet in the mirror */
    int64_t landing_at; /* its revision */

    /* Waiting; times are monotonic */
    struct config_rest rest; /* of keys that others change */
    struct backoff backoff;
    unsigned refusals; /* in a row */
    int64_t send_at_ms;
    int64_t restore_at_ms;
    int64_t refused_at_ms;
    ev_timer wake;
    struct err failure; /* of the last transactions; msg "": none */
};

/* ---- client_key_writer.c ---- */

enum client_key_look { LOOK_SETTLED, LOOK_KEPT, LOOK_OP };

/* What there is to do about a key. */
enum client_key_look client_key_look_at(const struct client_key_writer *w,
                                        const struct client_key_there *key, struct etcd_op *ret_op);

/* The key with this last segment, in w->key. */
struct slice client_key_named(struct client_key_writer *w, struct slice name);

bool client_key_may_write(const struct client_key_writer *w);

/* Nothing is in flight, and the mirror is at a revision. */
bool client_key_can_plan(const struct client_key_writer *w);

/* ---- client_key_sending.c ---- */

/* The batch, whose keys are those that are sent. */
void client_key_send(struct client_key_writer *w);

/* The mirror has what was sent: whatever else it has is somebody else's, unless it was read as a
 * whole. */
void client_key_land(struct client_key_writer *w, bool is_full);

/* It takes a person to end it. */
bool client_key_is_trouble(const struct err *err);

#endif
