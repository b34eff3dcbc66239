/* Handles the ConfigMap's keys, which have an owner of their own. */
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "common/etcd/etcd_kv.h"
#include "kube2sky/naming/config_map.h"
#include "kube2sky/naming/external_aliases.h"
#include "kube2sky/reconcile/conflict_internal.h"
#include "kube2sky/reconcile/reconciler_internal.h"

static struct owner *config_owner(struct reconciler *r)
{
    return owners_get(r->owners, slice_str(CONFIG_OWNER));
}

bool reconciler_has_config(const struct reconciler *r)
{
    return !r->config.leaves_config;
}

/* ---- Wanted keys ---- */

/* Claims the ConfigMap's external names, which come before those of Services of any age. */
static void claim_external_names(struct reconciler *r)
{
    const struct desired *names = &r->config_keys.wanted.names;
    const struct alias_owner_object owner_object = {.id = slice_str(CONFIG_OWNER),
                                                    .rank = ALIAS_OF_CONFIG_MAP};
    struct slice *texts = xcalloc(names->count, sizeof(*texts));
    for (size_t i = 0; i < names->count; i++) {
        texts[i] = desired_get(names, i).key;
    }
    external_aliases_set(r->aliases, &owner_object, texts, names->count);
    free(texts);
}

void reconciler_want_config(struct reconciler *r, struct config_map *map)
{
    r->is_config_given_up = false;
    if (config_keys_want(&r->config_keys, map) && reconciler_has_config(r)) {
        if (r->aliases) {
            claim_external_names(r);
        }
        reconciler_owner_changed(r, slice_str(CONFIG_OWNER));
        reconciler_note_cause(r, slice_str(CONFIG_OWNER));
    }
}

void reconciler_lack_config(struct reconciler *r)
{
    r->is_config_given_up = true;
}

/* ---- etcd's keys ---- */

static void note_put(struct key_source *source, const struct etcd_kv *kv)
{
    struct owner *owner = config_owner(source->reconciler);
    if (owner->state != OWNER_IN_FLIGHT) {
        conflict_saw(owner, kv);
    }
    reconciler_owner_touched(source, owner, kv->mod_revision);
}

void reconciler_config_put(struct key_source *source, const struct etcd_kv *kv)
{
    struct reconciler *r = source->reconciler;
    if (reconciler_has_config(r) && config_keys_put(&r->config_keys, kv, source->generation)) {
        note_put(source, kv);
    }
}

void reconciler_config_delete(struct key_source *source, struct slice key, int64_t revision)
{
    struct reconciler *r = source->reconciler;
    if (config_keys_delete(&r->config_keys, key)) {
        reconciler_owner_touched(source, config_owner(r), revision);
    }
}

static bool is_document(const struct reconciler *r, struct slice key)
{
    return slice_equal(key, slice_str(r->config_keys.document_key));
}

/* Returns whether listed keys stay listed: while we lead, no other process takes keys off the
 * list. */
static bool stays_listed(const struct key_source *source)
{
    return reconciler_may_write(source->reconciler) && !source->is_other_store;
}

void reconciler_config_on_put(void *data, const struct etcd_kv *kv)
{
    struct key_source *source = data;
    struct reconciler *r = source->reconciler;
    source->is_mid_publication = true;
    if (is_document(r, kv->key)) {
        config_keys_put_document(&r->config_keys, kv, source->generation, stays_listed(source));
        note_put(source, kv);
    }
}

void reconciler_config_on_del(void *data, struct slice key, int64_t revision)
{
    struct key_source *source = data;
    struct reconciler *r = source->reconciler;
    source->is_mid_publication = true;
    if (is_document(r, key)) {
        config_keys_delete_document(&r->config_keys, stays_listed(source));
        reconciler_owner_touched(source, config_owner(r), revision);
    }
}

void reconciler_config_end_read(struct key_source *source)
{
    struct reconciler *r = source->reconciler;
    struct config_keys *keys = &r->config_keys;
    if (source == &r->feeds[KEY_SOURCE_RECORDS]) {
        (void)config_keys_sweep(keys, source->generation);
    } else if (keys->document_generation != source->generation) {
        config_keys_delete_document(keys, stays_listed(source));
    }
    if (reconciler_has_config(r)) {
        reconciler_want_another_look(r, config_owner(r));
    }
}

/* ---- Reports ---- */

bool reconciler_knows_config(const struct reconciler *r)
{
    return r->config_keys.is_known && key_source_is_whole(&r->feeds[KEY_SOURCE_RECORDS]) &&
           key_source_is_whole(&r->feeds[KEY_SOURCE_CONFIG]);
}

bool reconciler_config_is_pending(const struct reconciler *r)
{
    const struct key_source *source = &r->feeds[KEY_SOURCE_CONFIG];
    bool is_onlooker = !reconciler_may_write(r) && !r->config.planned;
    bool has_failed = key_source_is_barred(source) || r->refused[OWNER_CONFIG].msg[0];
    if (!reconciler_has_config(r) || is_onlooker || has_failed) {
        return false;
    }
    if (!r->config_keys.is_known) {
        return !r->is_config_given_up;
    }
    return !key_source_is_settled(source) || owners_in(r->owners, OWNER_CONFIG, OWNER_QUEUED) > 0 ||
           transactions_used_by(r->transactions, OWNER_CONFIG) > 0;
}

bool reconciler_explain_config(const struct reconciler *r, struct buf *out)
{
    const struct err *unread = &r->feeds[KEY_SOURCE_CONFIG].failure;
    const struct err *refused = &r->refused[OWNER_CONFIG];
    if (refused->msg[0]) {
        buf_printf(out, "keys of the ConfigMap cannot be written: %s", refused->msg);
    } else if (r->config.has_config_map && unread->msg[0] && err_is_denial(unread->code)) {
        buf_printf(out, "document of the ConfigMap cannot be read: %s", unread->msg);
    } else {
        return conflicts_explain(r->conflicts, OWNER_CONFIG, out);
    }
    return true;
}
