/* Writes the ConfigMap's keys and document (config_keys_internal.h), as the reconciler writes those
 * of objects: from the mirror of etcd, in transactions that hold only if nothing they concern has
 * changed and this process leads. Apart from the reconciler's flights, so that neither waits for
 * the other: whatever is wrong with the ConfigMap, its keys or the document is a state, told in
 * config_writer_explain.
 *
 *     the map, the keys, the document changed ──▶ plan ──▶ nothing to do: settled
 *                     ▲                            ├─▶ it fits: one transaction for all
 *                     └── its events ◀─────────────┴─▶ else: the list, then keys, then the list
 *
 * One transaction at a time. After a failure it waits and plans again; an outcome that is unknown
 * shows in the mirrors. Keys that somebody else keeps changing are restored like those of contested
 * owners (contest_internal.h): at once five times, then after 1 to 8 s.
 *
 * The reconciler passes it the keys; the document, which is not below /skydns/, has a mirror of its
 * own. Without a ConfigMap nothing is wanted: keys of an earlier one go. On the main loop. */
#ifndef KUBE2SKY_RECONCILE_CONFIG_WRITER_INTERNAL_H
#define KUBE2SKY_RECONCILE_CONFIG_WRITER_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/slice.h"
#include "common/etcd/etcd_kv.h"
#include "common/etcd/etcd_txn.h"

struct config_map;
struct config_writer;
struct etcd;
struct ownership;
struct plan;

struct config_writer_config {
    struct ev_loop *loop;
    struct etcd *etcd; /* outlives the writer, as does the ownership */
    const struct ownership *ownership;
    const char *domain; /* "cluster.local.", lower case, with the dot; borrowed for good */
    size_t txn_ops_max;
    bool has_map; /* a ConfigMap is followed: nothing is wanted before config_writer_want */
    bool leaves;  /* the keys and document are another writer's: nothing is read or written */
    bool (*may_write)(const void *data);
    struct etcd_compare (*condition)(const void *data); /* of the leader; NULL: none */
    void (*refuted)(void *data);                        /* a transaction's conditions failed */
    void (*wrote)(void *data, int64_t revision, size_t puts, size_t deletes, bool is_restoring);
    /* NULL: plans are executed. Else each is passed on instead, once. */
    void (*planned)(void *data, const struct plan *plan);
    void *data;
};

struct config_writer *config_writer_start(const struct config_writer_config *config);
void config_writer_stop(struct config_writer *writer);

/* What the ConfigMap asks for; its content is taken over. */
void config_writer_want(struct config_writer *writer, struct config_map *map);

/* The map cannot be read now, or is refused: etcd stays as it is, and nobody waits for it. */
void config_writer_give_up(struct config_writer *writer);

/* ---- The reconciler's mirror, for keys of KEY_BESIDE ---- */

void config_writer_put(struct config_writer *writer, const struct etcd_kv *kv, uint32_t generation);
void config_writer_delete(struct config_writer *writer, struct slice key);
void config_writer_commit(struct config_writer *writer, int64_t revision, bool full,
                          uint32_t generation);

/* May or may no longer write. */
void config_writer_lead_changed(struct config_writer *writer);

/* In each turn of the loop, outside publications: plans and sends if there is reason to. */
void config_writer_turn(struct config_writer *writer);

/* ---- Getters ---- */

/* There is something to write, or it is not known yet whether there is, and nothing has failed. */
bool config_writer_is_pending(const struct config_writer *writer);

/* A transaction is in flight. */
bool config_writer_is_busy(const struct config_writer *writer);

/* Appends what keeps going wrong, as one line without newline; false: nothing. */
bool config_writer_explain(const struct config_writer *writer, struct buf *out);

/* Whether a plan has lines; and these (preview.h). */
bool config_writer_is_unsettled(struct config_writer *writer);
void config_writer_preview(struct config_writer *writer, struct buf *out);

struct config_writer_counts {
    size_t listed;  /* keys written because of the map */
    size_t foreign; /* wanted ones that somebody else wrote */
};
struct config_writer_counts config_writer_counts(const struct config_writer *writer);

#endif
