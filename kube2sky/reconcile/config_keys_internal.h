/* The ConfigMap's keys and document: what the map wants, what etcd holds beside svc/ and pod/,
 * which of that the document lists as written by kube2sky, and the difference: the reconciler's
 * owner "ConfigMap". No I/O; on the main loop.
 *
 * An external name that has a key of somebody else's gets none (external_keys.h).
 *
 * Only listed keys are changed or deleted. A wanted key that exists without being listed is
 * somebody else's: it is left alone. So that no crash leaves a key of ours unlisted, a key is
 * listed before it is written, or in the same transaction, and deleted before it is taken off the
 * list. The mirrors of the list and of the keys may be at different revisions: a key that is not
 * shown is deleted, too, on the condition that it is not there.
 *
 *     plan ─┬─▶ it fits: one transaction for all
 *           └─▶ else: the list of what is to come, then keys, in the end the list of what is there
 *
 * Each transaction is cut from a plan made after the last one landed, so that nothing has to be
 * remembered in between. */
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

struct external_keys;
struct ownership;

struct config_keys {
    const struct ownership *ownership; /* borrowed for good */
    /* NULL: keys outside the domain are not the map's. Outlives it. */
    const struct external_keys *external_keys;
    struct key_table table; /* of keys in etcd, and of listed ones */
    size_t listed;
    struct config_map wanted;
    bool is_known; /* what is wanted */

    /* The document in etcd; revision 0: none */
    char *document_key;
    int64_t document_revision;
    uint64_t document_hash;
    uint32_t document_generation; /* of the full read that last saw it */
    struct buf document;          /* scratch */
};

/* The domain is "cluster.local.", lower case, with the dot. */
void config_keys_init(struct config_keys *keys, const struct ownership *ownership,
                      const char *domain);
void config_keys_fini(struct config_keys *keys);

/* Takes over the map's content; false if the same was wanted already. */
bool config_keys_want(struct config_keys *keys, struct config_map *map);

/* ---- etcd's content. Each returns whether a listed or wanted key is concerned. ---- */

bool config_keys_put(struct config_keys *keys, const struct etcd_kv *kv, uint32_t generation);
bool config_keys_delete(struct config_keys *keys, struct slice key);

/* After a full read: removes keys of other generations. */
bool config_keys_sweep(struct config_keys *keys, uint32_t generation);

/* Its list replaces the one known, or, adds, is known beside it. A text that cannot be read, or a
 * key that cannot be ours, is logged and lists nothing. Likewise without a document. */
void config_keys_put_document(struct config_keys *keys, const struct etcd_kv *kv,
                              uint32_t generation, bool adds);
void config_keys_delete_document(struct config_keys *keys, bool adds);

/* etcd has acknowledged a transaction of these operations: its list is the one in etcd, whatever
 * the mirror shows later. */
void config_keys_note_written(struct config_keys *keys, const struct plan *plan);

/* The revision that last wrote the key, or the document; 0: absent. */
int64_t config_keys_revision(const struct config_keys *keys, struct slice key);

/* ---- The difference ---- */

/* Fills both: puts, deletes, and the document as it should be in the end, if etcd's differs; and
 * the puts of keys that are somebody else's. Requires is_known. */
void config_keys_plan(struct config_keys *keys, struct plan *plan, struct plan *left);

/* Cuts such a plan to the next transaction of ops_max operations. */
void config_keys_cut(struct config_keys *keys, struct plan *plan, size_t ops_max);

/* The document's operation is the last one. */
bool config_keys_has_document(const struct config_keys *keys, const struct plan *plan);

#endif
