/* The ConfigMap's keys: what the map wants, what etcd holds beside svc/ and pod/, which of that the
 * document lists as written by kube2sky, and the difference. Fed and carried out by config_writer.
 * No I/O; on the main loop.
 *
 * Only listed keys are changed or deleted. A wanted key that exists without being listed is
 * somebody else's: it is left alone. So that no crash leaves a key of ours unlisted, a key is
 * listed before it is written, or in the same transaction, and deleted before it is taken off the
 * list. */
#ifndef KUBE2SKY_RECONCILE_CONFIG_KEYS_INTERNAL_H
#define KUBE2SKY_RECONCILE_CONFIG_KEYS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/key_table.h"
#include "common/base/slice.h"
#include "common/etcd/etcd_kv.h"
#include "kube2sky/naming/config_map.h"
#include "kube2sky/reconcile/plan.h"

struct ownership;

struct config_keys {
    const struct ownership *ownership; /* borrowed for good */
    struct key_table table;            /* of keys in etcd, and of listed ones */
    size_t listed;
    struct config_map wanted;
    bool is_known; /* what is wanted */

    /* The document in etcd; revision 0: none */
    int64_t document_revision;
    uint64_t document_hash;
};

void config_keys_init(struct config_keys *keys, const struct ownership *ownership);
void config_keys_fini(struct config_keys *keys);

/* Takes over the map's content; false if the same was wanted already. */
bool config_keys_want(struct config_keys *keys, struct config_map *map);

/* ---- etcd's content. Each returns whether a listed or wanted key is concerned. ---- */

bool config_keys_put(struct config_keys *keys, const struct etcd_kv *kv, uint32_t generation);
bool config_keys_delete(struct config_keys *keys, struct slice key);

/* After a full read: removes keys of other generations. */
bool config_keys_sweep(struct config_keys *keys, uint32_t generation);

/* ---- The list ---- */

/* Lists the keys of the document's text; adds: beside those listed already. A text that cannot be
 * read, or a key that cannot be ours, is logged and lists nothing. */
void config_keys_list(struct config_keys *keys, struct slice text, bool adds);
void config_keys_unlist(struct config_keys *keys);

/* ---- The difference ---- */

struct config_plan {
    struct plan keys;     /* puts, then deletes */
    struct plan left;     /* puts of keys that are somebody else's */
    struct buf document;  /* as it should be in the end; empty: none */
    bool is_document_due; /* etcd's differs */
    bool has_unlisted;    /* a put's key is not listed yet */
};

void config_plan_init(struct config_plan *plan);
void config_plan_fini(struct config_plan *plan);

static inline bool config_plan_is_empty(const struct config_plan *plan)
{
    return plan->keys.op_count == 0 && !plan->is_document_due;
}

/* Requires is_known. */
void config_keys_plan(const struct config_keys *keys, struct config_plan *plan);

/* Replaces *text by the document that lists what is there of what is listed and what the plan
 * writes, with the nameservers wanted. text->failed: too long, after several large maps in a row;
 * then some deletes come first. */
void config_keys_announce(const struct config_keys *keys, const struct config_plan *plan,
                          struct buf *text);

#endif
