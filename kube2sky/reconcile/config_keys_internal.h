/* Plans the ConfigMap's keys and document, the reconciler's owner "ConfigMap": the map's keys
 * against etcd's keys beside svc/ and pod/. The document lists those that kube2sky wrote. No I/O;
 * on the main loop.
 *
 * Only listed keys are changed or deleted. A wanted key that exists without being listed is another
 * writer's and is left alone. A crash must leave no key of ours unlisted: each key is listed before
 * it is written, or in the same transaction, and deleted before it is taken off the list. The
 * mirrors of the list and of the keys may be at different revisions. So a key that is not shown is
 * deleted, too, conditional on its absence.
 *
 *     plan ─┬─▶ it fits: one transaction for all
 *           └─▶ else: first the list of all keys to come, then the keys, then the final list
 *
 * Each transaction is cut from a plan made after the last one landed, so no state is needed in
 * between. */
#ifndef KUBE2SKY_RECONCILE_CONFIG_KEYS_INTERNAL_H
#define KUBE2SKY_RECONCILE_CONFIG_KEYS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/key_table.h"
#include "common/base/slice.h"
#include "common/etcd/etcd_kv.h"
#include "kube2sky/naming/config_map.h"
#include "kube2sky/reconcile/plan.h"

/* ---- The document /kube2sky/<domain>/config ----
 *
 * It holds what the ConfigMap says beside records, for skydns, and the keys that kube2sky wrote
 * because of the map, for itself:
 *
 *     {"nameservers":["8.8.8.8:53"],"keys":["/skydns/local/cluster/db"]}
 *
 * Without nameservers the field is absent. Pure. */

/* A request to etcd has at most 1.5 MiB. */
enum { CONFIG_DOCUMENT_MAX = 1536 * 1024 };

/* The document's key is etcd_writer_key(domain, CONFIG_DOCUMENT_NAME). */
#define CONFIG_DOCUMENT_NAME "config"

/* Write the document: begin, with the map's nameservers, a JSON list or empty; each key, in byte
 * order; end. */
void config_document_begin(struct slice nameservers, struct buf *out);
void config_document_add(struct slice key, struct buf *out);
void config_document_end(struct buf *out);

/* Calls fn for each listed key. Fails on a malformed document, without calling fn; the error says
 * what was expected. */
int config_document_read(struct slice text, void (*fn)(void *data, struct slice key), void *data,
                         struct err *err) MUST_CHECK;

/* ---- The keys ---- */

struct external_keys;
struct ownership;

struct config_keys {
    const struct ownership *ownership; /* borrowed for the table's lifetime */
    /* NULL: keys outside the domain are not the map's. Outlives it. */
    const struct external_keys *external_keys;
    struct key_table table; /* keys in etcd, and listed keys */
    size_t listed;
    struct config_map wanted;
    bool is_known; /* whether `wanted` is known */

    /* The document in etcd; revision 0: none */
    char *document_key;
    int64_t document_revision;
    uint64_t document_hash;
    uint32_t document_generation; /* the full read that last saw it */
    struct buf document;          /* scratch buffer */
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

/* Removes keys of other generations after a full read. */
bool config_keys_sweep(struct config_keys *keys, uint32_t generation);

/* Reads the document's list. It replaces the known list or, with `adds`, is added to it. An
 * unreadable text, or a key that cannot be ours, is logged and lists nothing. A deleted document
 * lists nothing. */
void config_keys_put_document(struct config_keys *keys, const struct etcd_kv *kv,
                              uint32_t generation, bool adds);
void config_keys_delete_document(struct config_keys *keys, bool adds);

/* Notes that etcd acknowledged a transaction of this plan: its list is now etcd's, whatever the
 * mirror shows later. */
void config_keys_note_written(struct config_keys *keys, const struct plan *plan);

/* Returns the revision that last wrote the key, or the document; 0: absent. */
int64_t config_keys_revision(const struct config_keys *keys, struct slice key);

/* ---- The difference ---- */

/* Fills both plans. `plan` gets puts, deletes and, if etcd's differs, the final document. `left`
 * gets the puts of keys that belong to another writer. Requires is_known. */
void config_keys_plan(struct config_keys *keys, struct plan *plan, struct plan *left);

/* Cuts such a plan to the next transaction, of at most ops_max operations. */
void config_keys_cut(struct config_keys *keys, struct plan *plan, size_t ops_max);

/* Returns whether the plan writes or deletes the document; that is then its last operation. */
bool config_keys_has_document(const struct config_keys *keys, const struct plan *plan);

#endif
