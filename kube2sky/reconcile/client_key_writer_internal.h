/* Keeps one folder beside the records in etcd equal to what client_keys.h wants: node addresses, or
 * the namespaces' visibility. As the reconciler writes the keys of objects: from a mirror of its
 * own, in transactions that hold only if none of their keys has changed and this process leads. One
 * transaction at a time, with as many keys as fit; each change costs what that key costs.
 *
 *     a key wanted or in etcd changed ──▶ CHANGED ──▶ as it should be: settled
 *                        ▲                 │ └──▶ may not be deleted yet: KEPT, until something
 *                        │                 ▼                                 that matters changes
 *                        └── its events ◀─ SENT ──▶ refused alone: REFUSED, tried again later
 *
 * The folders do not wait for each other: whatever a namespace's annotation does to its writer,
 * node addresses are written. A transaction that etcd refuses is halved until the key is alone that
 * it refuses; the others go on. Keys that somebody else changes are restored at once five times,
 * then after 1 to 8 s (config_rest_internal.h); what changes in the API is never held up by that.
 *
 * In the folder only keys whose last segment client_keys_is_name are touched; with --namespaces, of
 * the namespaces' visibility only theirs, and no node address is ever deleted: another writer may
 * have put it there, for a pod whose key follows in its next transaction.
 *
 * Readers take an address for its pod's unless it is among the node addresses. So the key of a pod
 * on the host network waits for its node address (client_key_writer_lacks), and the node address
 * stays until the pod's keys are gone (is_free). After a lost connection nothing counts as there
 * until etcd has confirmed it. On the main loop. */
#ifndef KUBE2SKY_RECONCILE_CLIENT_KEY_WRITER_INTERNAL_H
#define KUBE2SKY_RECONCILE_CLIENT_KEY_WRITER_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/slice.h"
#include "common/etcd/etcd_txn.h"
#include "kube2sky/naming/client_keys.h"

struct client_key_writer;
struct etcd;
struct plan;

struct client_key_writer_config {
    struct ev_loop *loop;
    struct etcd *etcd; /* outlives the writer, as do the keys */
    struct client_keys *keys;
    enum client_keys_part part;
    const char *domain; /* "cluster.local.", lower case, with the dot; borrowed for good */
    const char *const *namespaces; /* borrowed for good */
    size_t namespace_count;        /* 0 = all */
    size_t txn_ops_max;
    bool (*may_write)(const void *data);
    struct etcd_compare (*condition)(const void *data); /* of the leader; NULL: none */
    /* Whether a key that is not wanted may go, by its last segment. */
    bool (*is_free)(const void *data, struct slice name);
    /* The key with this last segment is as wanted; empty: any may be. Not from inside a call but
     * client_key_writer_turn. */
    void (*settled)(void *data, struct slice name);
    void (*refuted)(void *data); /* a transaction's conditions failed */
    void (*wrote)(void *data, int64_t revision, size_t puts, size_t deletes, bool is_restoring);
    /* NULL: plans are executed. Else each is passed on instead, once. */
    void (*planned)(void *data, const struct plan *plan);
    void *data;
};

struct client_key_writer *client_key_writer_start(const struct client_key_writer_config *config);
void client_key_writer_stop(struct client_key_writer *writer); /* NULL is fine */

/* May or may no longer write. */
void client_key_writer_lead_changed(struct client_key_writer *writer);

/* Something that is_free depends on has changed: of this key, or, if empty, of any. */
void client_key_writer_recheck(struct client_key_writer *writer, struct slice name);

/* In each turn of the loop, outside publications of the reconciler's mirror: plans and sends if
 * there is reason to. */
void client_key_writer_turn(struct client_key_writer *writer);

/* ---- Getters ---- */

/* The key with this last segment is wanted, and not known to be in etcd. */
bool client_key_writer_lacks(struct client_key_writer *writer, struct slice name);

/* There is something to write of what is wanted so far, or it is not known yet whether there is.
 * What etcd refuses does not count: it would hold up everything else. */
bool client_key_writer_is_pending(const struct client_key_writer *writer);

/* A transaction is in flight, or can be sent at once. */
bool client_key_writer_is_busy(const struct client_key_writer *writer);

/* Appends what keeps going wrong, as one line without newline; false: nothing. */
bool client_key_writer_explain(const struct client_key_writer *writer, struct buf *out);

/* Whether a plan may have lines; and these (preview.h). */
bool client_key_writer_is_unsettled(const struct client_key_writer *writer);
void client_key_writer_preview(struct client_key_writer *writer, struct buf *out);

/* Keys in etcd. */
size_t client_key_writer_count(const struct client_key_writer *writer);

#endif
