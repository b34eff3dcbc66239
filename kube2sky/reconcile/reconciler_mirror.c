/* Handles etcd's events. */
#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/cleanup.h"
#include "common/base/log.h"
#include "common/etcd/etcd.h"
#include "common/etcd/etcd_mirror.h"
#include "common/etcd/etcd_store_id.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/naming/external_keys.h"
#include "kube2sky/reconcile/conflict_internal.h"
#include "kube2sky/reconcile/owner_groups_internal.h"
#include "kube2sky/reconcile/reconciler_internal.h"
#include "kube2sky/reconcile/serial_key_internal.h"

void reconciler_owner_touched(struct key_source *source, struct owner *owner, int64_t revision)
{
    struct reconciler *r = source->reconciler;
    if (!owner) {
        return;
    }
    planner_note_keys(&r->planner, owner);
    if (owner->state == OWNER_IN_FLIGHT) {
        owner->first_event = owner->first_event ? owner->first_event : revision;
        owner->last_event = revision;
    } else {
        owner->is_disturbed |= !source->is_mid_read && reconciler_may_write(r);
    }
    reconciler_want_look(r, owner);
}

/* Notes a change of a key that is no reverse key: it does not share the backoff of those. */
static void own_key_touched(struct key_source *source, struct owner *owner, int64_t revision)
{
    if (owner && owner->state == OWNER_CONTESTED && conflict_is_of_reverse(owner)) {
        owners_enqueue(source->reconciler->owners, owner);
    }
    reconciler_owner_touched(source, owner, revision);
}

/* Returns the id of the owner that an unclaimed reverse key is. */
static struct slice orphan_id(struct slice key)
{
    return slice_skip(key, strlen(SKYDNS_TREE));
}

void reconciler_want_another_look(struct reconciler *r, struct owner *owner)
{
    owner->has_changed = true;
    planner_note_keys(&r->planner, owner);
    reconciler_want_look(r, owner);
}

/* Queues the owner of a changed reverse key: the one that has it in flight, else its owner object.
 * Before the objects are known, all keys may look unclaimed: reconciler_find_orphans handles those.
 */
static void reverse_touched(struct reconciler *r, struct slice key, int64_t revision, bool is_moved)
{
    struct key_source *source = &r->feeds[KEY_SOURCE_RECORDS];
    struct owner *owner = reverse_keys_locker(r->reverse_keys, key);
    struct slice id = planner_reverse_owner(&r->planner, key);
    struct owner *owner_object = id.len ? owners_find(r->owners, id) : NULL;
    if (is_moved && owner_object && owner && owner != owner_object) {
        reconciler_want_another_look(r, owner_object);
    }
    owner = owner ? owner : owner_object;
    const struct reverse_key *there = reverse_keys_find(r->reverse_keys, key);
    if (owner) {
        reconciler_owner_touched(source, owner, revision);
    } else if (there && there->value.is_ours && !source->is_mid_read) {
        reconciler_owner_touched(source, owners_get(r->owners, orphan_id(key)), revision);
    }
    struct owner *orphan = owners_find(r->owners, orphan_id(key));
    if (orphan && orphan->state == OWNER_HELD) { /* no other event ends its wait */
        reconciler_want_look(r, orphan);
    }
}

int64_t reconciler_key_revision(const void *data, struct slice key)
{
    const struct reconciler *r = data;
    enum key_place place = ownership_place(&r->ownership, key);
    if (place == KEY_OBJECT || place == KEY_CLIENT) {
        return owners_key_revision(r->owners, key);
    }
    if (place == KEY_EXTERNAL && external_keys_revision(r->external_keys, key)) {
        return external_keys_revision(r->external_keys, key);
    }
    if (place != KEY_REVERSE) {
        return config_keys_revision(&r->config_keys, key);
    }
    const struct reverse_key *there = reverse_keys_find(r->reverse_keys, key);
    return there ? there->value.revision : 0;
}

static void find_orphan(void *data, struct slice key)
{
    struct reconciler *r = data;
    if (!planner_reverse_owner(&r->planner, key).len) {
        reconciler_want_look(r, owners_get(r->owners, orphan_id(key)));
    }
}

/* Waits until all claims are known, since before that any key may look unclaimed. A key that names
 * a refused namespace stays (planner.c). */
void reconciler_find_orphans(struct reconciler *r)
{
    if (r->are_orphans_due && key_source_is_whole(&r->feeds[KEY_SOURCE_RECORDS]) &&
        (r->has_claimed || !owner_groups_has_due(r->owners->groups)) &&
        !inventory_awaits_claims(r->config.inventory)) {
        r->are_orphans_due = false;
        reverse_keys_each_own(r->reverse_keys, find_orphan, r);
    }
}

/* ---- The mirror's events ---- */

/* Handles another data set as found by the mirror of the records, which has the store key. */
static void note_other_store(struct reconciler *r, const struct etcd_mirror_read *read)
{
    const int64_t revision = r->feeds[KEY_SOURCE_RECORDS].revision;
    log_warn("etcd holds another data set, writing everything it lacks",
             LOG_STR("reason", read->reason));
    serial_key_other_store(r->serial_key, revision);
    if (r->import_serial) {
        serial_key_other_store(r->import_serial, revision);
    }
    reconciler_forget_history(r);
    etcd_calls_elsewhere(r->config.etcd); /* open calls may still reach the old data set */
}

/* Writes the serials again. A reader's mirror may know that this is another data set, and wait for
 * that: it judges by its own keys, as each of ours does. */
static void rewrite_serials(struct reconciler *r)
{
    serial_key_rewrite(r->serial_key);
    if (r->import_serial) {
        serial_key_rewrite(r->import_serial);
    }
}

/* Lets the other mirrors ask again, as one has found another data set: readers are not to be told
 * that it is complete before all have. */
static void doubt_others(struct reconciler *r, struct key_source *finder)
{
    finder->is_following = false; /* so that no other one doubts it in turn */
    for (size_t i = 0; i < KEY_FEEDS; i++) {
        struct key_source *source = &r->feeds[i];
        if (source->mirror && source->is_following) {
            source->is_following = false;
            etcd_mirror_ask_again(source->mirror);
        }
    }
}

static void on_full_begin(void *data, const struct etcd_mirror_read *read)
{
    struct key_source *source = data;
    struct reconciler *r = source->reconciler;
    bool is_other = read->cause == ETCD_MIRROR_OTHER_STORE;
    bool is_records = source == &r->feeds[KEY_SOURCE_RECORDS];
    /* A full read for these causes may have met another store without knowing. */
    const bool may_be_other =
        read->cause == ETCD_MIRROR_UNCERTAIN || read->cause == ETCD_MIRROR_COMPACTED;
    if (is_other && is_records) {
        note_other_store(r, read);
    } else if (is_other || (is_records && may_be_other)) {
        rewrite_serials(r);
    }
    if (is_other) {
        doubt_others(r, source);
    }
    source->is_mid_publication = true;
    source->is_mid_read = true;
    source->changed = is_other ? 0 : source->changed;
    source->is_other_store = is_other;
    source->generation++;
}

static void put_reverse(struct reconciler *r, const struct etcd_kv *kv)
{
    const struct actual_value value = {
        .hash = actual_value_hash(kv->value),
        .revision = kv->mod_revision,
        .generation = r->feeds[KEY_SOURCE_RECORDS].generation,
        .is_ours = ownership_has(&r->ownership, KEY_REVERSE, kv->key, kv->value),
    };
    buf_clear(&r->owner_object);
    ownership_owner_object(&r->ownership, kv->value, &r->owner_object);
    bool has_changed =
        reverse_keys_put(r->reverse_keys, kv->key, &value, buf_slice(&r->owner_object));
    bool is_moved = has_changed && planner_decide_reverse(&r->planner, kv->key);
    if (has_changed && r->feeds[KEY_SOURCE_RECORDS].is_mirrored) { /* before that, its owner object
                                                                    * has not been planned yet */
        reverse_touched(r, kv->key, kv->mod_revision, is_moved);
    }
}

/* Takes the key from the owner that had it until now. */
static void leave_external(struct key_source *source, struct slice owner, struct slice key,
                           int64_t revision)
{
    struct reconciler *r = source->reconciler;
    own_key_touched(source, owners_external_delete(r->owners, owner, key), revision);
}

static void put_external(struct key_source *source, const struct etcd_kv *kv)
{
    struct reconciler *r = source->reconciler;
    struct slice before = external_keys_owner(r->external_keys, kv->key);
    buf_clear(&r->owner_object);
    ownership_external(&r->ownership, kv->key, kv->value, &r->owner_object);
    struct slice id = buf_slice(&r->owner_object);
    if (before.len && !slice_equal(before, id)) {
        leave_external(source, before, kv->key, kv->mod_revision);
    }
    external_keys_put(r->external_keys, kv->key, kv->value, id, kv->mod_revision,
                      source->generation);
    if (id.len) {
        struct owner *owner = owners_external_put(r->owners, id, kv, source->generation);
        if (owner && owner->conflict && owner->state != OWNER_IN_FLIGHT) {
            conflict_saw(owner, kv);
        }
        own_key_touched(source, owner, kv->mod_revision);
        reconciler_config_delete(source, kv->key, kv->mod_revision);
    } else if (r->config.zones) {
        reconciler_config_put(source, kv);
    }
}

static void delete_external(struct key_source *source, struct slice key, int64_t revision)
{
    struct reconciler *r = source->reconciler;
    struct slice owner = external_keys_owner(r->external_keys, key);
    if (owner.len) {
        leave_external(source, owner, key, revision);
    }
    external_keys_delete(r->external_keys, key);
    reconciler_config_delete(source, key, revision);
}

static void reconciler_mirror_on_put(void *data, const struct etcd_kv *kv)
{
    struct key_source *source = data;
    struct reconciler *r = source->reconciler;
    enum key_place place = ownership_place(&r->ownership, kv->key);
    key_source_note(source, kv->mod_revision);
    source->is_mid_publication = true;
    if (place == KEY_OBJECT || place == KEY_CLIENT) {
        struct owner *owner = owners_key_put(r->owners, kv, source->generation);
        if (owner && owner->conflict && owner->state != OWNER_IN_FLIGHT) {
            conflict_saw(owner, kv);
        }
        own_key_touched(source, owner, kv->mod_revision);
    } else if (place == KEY_REVERSE) {
        put_reverse(r, kv);
    } else if (place == KEY_BESIDE) {
        reconciler_config_put(source, kv);
    } else if (place == KEY_EXTERNAL) {
        put_external(source, kv);
    }
}

static void reconciler_mirror_on_del(void *data, struct slice key, int64_t revision)
{
    struct key_source *source = data;
    struct reconciler *r = source->reconciler;
    enum key_place place = ownership_place(&r->ownership, key);
    key_source_note(source, revision);
    source->is_mid_publication = true;
    if (place == KEY_OBJECT || place == KEY_CLIENT) {
        own_key_touched(source, owners_key_delete(r->owners, key), revision);
    } else if (place == KEY_REVERSE && reverse_keys_delete(r->reverse_keys, key)) {
        reverse_touched(r, key, revision, false);
    } else if (place == KEY_BESIDE) {
        reconciler_config_delete(source, key, revision);
    } else if (place == KEY_EXTERNAL) {
        delete_external(source, key, revision);
    } else if (r->import_serial && serial_key_is_version(r->import_serial, key)) {
        serial_key_rewrite(r->import_serial); /* writes the version, too */
    }
}

static void sweep_owner(void *data, struct owner *owner)
{
    const struct key_source *source = data;
    struct reconciler *r = source->reconciler;
    if (source == &r->feeds[owner_class_source(owner->class)] &&
        owners_sweep(r->owners, owner, source->generation)) {
        reconciler_want_another_look(r, owner);
    }
}

static void on_reverse_swept(void *data, struct slice key)
{
    struct reconciler *r = data;
    struct slice id = planner_reverse_owner(&r->planner, key);
    struct owner *owner = owners_find(r->owners, id.len ? id : orphan_id(key));
    if (owner) {
        reconciler_want_another_look(r, owner);
    }
}

/* Ends a full read: queues the owners that waited for keys of the mirror, or for their absence. */
static void end_read(struct reconciler *r, struct key_source *source)
{
    bool is_records = source == &r->feeds[KEY_SOURCE_RECORDS];
    if (source->generation > 1) { /* the first read has no earlier keys */
        owners_each(r->owners, sweep_owner, source);
    }
    if (source->generation > 1 && is_records) {
        reverse_keys_sweep(r->reverse_keys, source->generation, on_reverse_swept, r);
        external_keys_sweep(r->external_keys, source->generation);
    }
    if (source != &r->feeds[KEY_SOURCE_BESIDE] && source != &r->feeds[KEY_SOURCE_IMPORTS]) {
        reconciler_config_end_read(source);
    }
    source->is_mirrored = true;
    source->is_mid_read = false;
    source->is_other_store = false;
    source->reads++;
    r->are_orphans_due |= is_records;
    owners_hold_release(r->owners);
}

static void reconciler_mirror_on_commit(void *data, int64_t revision, bool full)
{
    struct key_source *source = data;
    struct reconciler *r = source->reconciler;
    source->is_mid_publication = false;
    source->revision = revision;
    if (full) {
        end_read(r, source);
    }
    transactions_on_mirror(r->transactions, (enum key_source_id)(source - r->feeds), revision,
                           full);
}

static void reconciler_mirror_on_state(void *data, const struct err *err)
{
    struct key_source *source = data;
    struct reconciler *r = source->reconciler;
    if (err) {
        outage_away(&r->followed, err);
    } else {
        outage_back(&r->followed);
    }
    source->is_following = !err;
}

/* Logs the denial of this mirror's keys only: the mirror of the records reports etcd's outages. */
static void tell_denied(const struct key_source *source, const struct err *err)
{
    const struct reconciler *r = source->reconciler;
    if (source == &r->feeds[KEY_SOURCE_BESIDE]) {
        log_warn("keys about clients cannot be read, retrying",
                 LOG_STR("below", r->ownership.beside), LOG_STR("reason", err->msg));
    } else if (source == &r->feeds[KEY_SOURCE_IMPORTS]) {
        log_warn("keys about clients cannot be read, retrying",
                 LOG_STR("below", r->ownership.import_visible), LOG_STR("reason", err->msg));
    } else if (r->config.has_config_map) {
        log_warn("document of the ConfigMap cannot be read, retrying",
                 LOG_STR("key", r->config_keys.document_key), LOG_STR("reason", err->msg));
    }
}

static void on_state_beside(void *data, const struct err *err)
{
    struct key_source *source = data;
    struct reconciler *r = source->reconciler;
    bool is_denied = err && err_is_denial(err->code);
    if (is_denied && !source->failure.msg[0]) {
        tell_denied(source, err);
    }
    if (!err && !source->is_following) {
        owners_hold_release(r->owners);
    }
    source->is_following = !err;
    source->failure = err ? *err : (struct err){.code = 0};
}

static void on_store_key_state(void *data UNUSED, const struct err *err)
{
    if (err) {
        log_warn(
            "store key cannot be read or written; readers may keep old names of a lost data set",
            LOG_STR("reason", err->msg));
    } else {
        log_info("store key can be read and written again");
    }
}

/* Starts the mirrors: SkyDNS's whole tree, since reverse keys are not below the domain; the
 * ConfigMap's document; and the keys about clients, of each domain. */
void reconciler_follow(struct reconciler *r)
{
    CLEANUP_FREE char *store_key = etcd_store_key(slice_str(r->config.domain));
    const char *const prefixes[KEY_FEEDS] = {
        [KEY_SOURCE_RECORDS] = SKYDNS_TREE,
        [KEY_SOURCE_CONFIG] = reconciler_has_config(r) ? r->config_keys.document_key : NULL,
        [KEY_SOURCE_BESIDE] = r->config.client_keys ? r->ownership.beside : NULL,
        [KEY_SOURCE_IMPORTS] = r->config.client_keys ? r->ownership.import_visible : NULL,
    };
    for (size_t i = 0; i < KEY_FEEDS; i++) {
        bool is_document = i == KEY_SOURCE_CONFIG;
        struct etcd_mirror_config mirror = {
            .store_key = slice_str(store_key),
            .full_begin = on_full_begin,
            .put = is_document ? reconciler_config_on_put : reconciler_mirror_on_put,
            .del = is_document ? reconciler_config_on_del : reconciler_mirror_on_del,
            .commit = reconciler_mirror_on_commit,
            .state = i == KEY_SOURCE_RECORDS ? reconciler_mirror_on_state : on_state_beside,
            .store_key_state = i == KEY_SOURCE_RECORDS ? on_store_key_state : NULL,
            .data = &r->feeds[i],
        };
        r->feeds[i].reconciler = r;
        if (prefixes[i]) {
            mirror.prefix = slice_str(prefixes[i]);
            r->feeds[i].mirror = etcd_mirror_start(r->config.etcd, &mirror);
        }
    }
}

void reconciler_unfollow(struct reconciler *r)
{
    for (size_t i = 0; i < KEY_FEEDS; i++) {
        etcd_mirror_stop(r->feeds[i].mirror);
    }
}
