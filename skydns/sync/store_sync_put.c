/* Turns one key into a name and a record. */
#include "skydns/sync/store_sync_internal.h"

#include <string.h>

#include "common/base/err.h"
#include "common/base/log.h"
#include "common/dns/record.h"
#include "common/dns/record_json.h"
#include "common/dns/record_scan.h"
#include "common/etcd/etcd_mirror.h"
#include "skydns/publish/reverse_zone.h"
#include "skydns/settings/config_documents.h"
#include "skydns/sync/store_sync.h"

/* ---- The configuration ---- */

enum { KEPT_MAX = CONFIG_DOCUMENT_MAX + 1 };

void config_value_init(struct config_value *value)
{
    *value = (struct config_value){.is_changed = true};
    buf_init(&value->text, KEPT_MAX);
}

void config_value_fini(struct config_value *value)
{
    buf_fini(&value->text);
}

void config_value_put(struct config_value *value, struct slice text)
{
    buf_clear(&value->text);
    buf_append(&value->text, text.ptr, text.len < KEPT_MAX ? text.len : KEPT_MAX);
    value->is_there = value->is_read = value->is_changed = true;
}

void config_value_del(struct config_value *value)
{
    value->is_there = false;
    value->is_changed = true;
}

void config_value_begin_read(struct config_value *value)
{
    value->is_read = false;
}

void config_value_end_read(struct config_value *value)
{
    if (!value->is_read && value->is_there) {
        config_value_del(value);
    }
}

bool config_value_take_change(struct config_value *value, struct slice *ret_text)
{
    bool is_changed = value->is_changed;
    if (is_changed) {
        *ret_text =
            value->is_there ? slice_of(buf_cstr(&value->text), value->text.len) : slice_of(NULL, 0);
    }
    value->is_changed = false;
    return is_changed;
}

void config_value_save(const struct config_value *value, struct buf *out)
{
    if (value->is_there) {
        buf_append_slice(out, buf_slice(&value->text));
    }
}

bool config_value_is_saved(struct slice saved)
{
    return saved.len <= KEPT_MAX;
}

void config_value_load(struct config_value *value, struct slice saved)
{
    buf_clear(&value->text);
    buf_append_slice(&value->text, saved);
    value->is_there = saved.len > 0;
    value->is_changed = false;
}

/* ---- Keys ---- */

/* Limits log lines: one broken writer makes thousands of broken values; ten lines a minute are
 * enough. */
enum { SKIPPED_LINES_A_MINUTE = 10 };

/* Logs each revision of a key once, however often it is read. */
static void note_broken(struct store_sync *sync, const struct etcd_kv *kv, const char *message,
                        const char *reason)
{
    static struct log_limit limit = {.burst = SKIPPED_LINES_A_MINUTE};
    sync->counts.skipped++;
    if (broken_put(sync->broken, kv->key, kv->mod_revision, reason) && log_limit_pass(&limit)) {
        log_warn(message, LOG_SLICE("key", kv->key), LOG_STR("reason", reason),
                 LOG_INT("suppressed", (int64_t)limit.suppressed));
    }
}

static bool store_sync_put_is_config(const struct store_sync *sync, struct slice key)
{
    return slice_equal(key, slice_str(sync->config_key));
}

/* Notes the change of the last put or delete; a full read is compared as a whole. */
static void store_sync_put_note_change(struct store_sync *sync, const struct dname *name,
                                       bool is_delete, int64_t revision)
{
    if (!sync->is_reading && store_writer_has_changed(sync->writer)) {
        zone_changes_note(&sync->zones, name, revision);
        recent_changes_note(&sync->recent, name, is_delete, revision);
    }
}

static void store_sync_put_record(struct store_sync *sync, const struct etcd_kv *kv,
                                  const struct dname *name, struct record *record)
{
    clients_note(sync->clients, name);
    record->is_leased = kv->lease != 0;
    record->ttl_s = lease_table_put(sync->leases, name, kv->lease, kv->mod_revision, record->ttl_s);
    if (store_writer_put_view(sync->writer, name, record, kv->mod_revision) == STORE_HOST_BAD) {
        note_broken(sync, kv, "cannot use a key's host", STORE_KEY_BAD_HOST);
    } else {
        broken_del(sync->broken, kv->key);
    }
    store_sync_put_note_change(sync, name, false, kv->mod_revision);
    override_index_note(sync->overrides, name);
}

static bool store_sync_put_has_wildcard(struct slice key, const struct dname *name)
{
    struct dname_labels labels;
    if (!memchr(key.ptr, '*', key.len)) {
        return false;
    }
    dname_labels(name, &labels);
    for (unsigned i = 0; i < labels.count; i++) {
        if (slice_equal(dname_label(name, labels.offsets[i]), slice_str("*"))) {
            return true;
        }
    }
    return false;
}

/* Returns whether the name is in a domain, or a reverse name; any other may have an override. */
static bool is_of_ours(const struct store_sync *sync, const struct dname *name)
{
    if (reverse_zone_is_reverse(name)) {
        return true;
    }
    for (size_t i = 0; i < store_keys_count(sync->keys); i++) {
        if (dname_is_within(name, store_keys_domain(sync->keys, i))) {
            return true;
        }
    }
    return false;
}

static void del_record(struct store_sync *sync, const struct dname *name, int64_t revision)
{
    store_writer_del(sync->writer, name);
    store_sync_put_note_change(sync, name, true, revision);
    override_index_note(sync->overrides, name);
    lease_table_del(sync->leases, name);
    clients_note(sync->clients, name);
    if (sync->stubs) {
        stub_keys_note(sync->stubs, name);
    }
}

enum store_key store_sync_read_key(const struct store_sync *sync, const struct etcd_kv *kv,
                                   struct dname *ret_name, struct record *ret_record,
                                   struct err *why)
{
    if (store_sync_put_is_config(sync, kv->key)) {
        return STORE_KEY_CONFIG;
    }
    if (!record_key_to_name(slice_str(sync->prefix), kv->key, ret_name)) {
        err_set(why, ERR_SYNTAX,
                "not a DNS name: an empty label, a label over 63 bytes, or over 255 bytes in all");
        return STORE_KEY_NO_NAME;
    }
    if (sync->config.skips_wildcards && store_sync_put_has_wildcard(kv->key, ret_name) &&
        is_of_ours(sync, ret_name)) {
        err_set(why, ERR_SYNTAX, "a label is `*`, and -schema=kubernetes has no wildcards");
        return STORE_KEY_NO_NAME;
    }
    return record_scan(kv->value, ret_record) || record_from_json(kv->value, ret_record, why) == 0
               ? STORE_KEY_RECORD
               : STORE_KEY_NO_RECORD;
}

void store_sync_on_put(void *data, const struct etcd_kv *kv)
{
    struct store_sync *sync = data;
    struct dname name;
    struct record record;
    struct err why;
    switch (store_sync_read_key(sync, kv, &name, &record, &why)) {
    case STORE_KEY_CONFIG:
        config_value_put(&sync->document, kv->value);
        break;
    case STORE_KEY_RECORD:
        store_sync_put_record(sync, kv, &name, &record);
        record_fini(&record);
        break;
    case STORE_KEY_NO_NAME:
        note_broken(sync, kv, "key skipped", why.msg);
        break;
    case STORE_KEY_NO_RECORD:
        note_broken(sync, kv, "key skipped", why.msg);
        del_record(sync, &name, kv->mod_revision);
        break;
    }
}

void store_sync_on_del(void *data, struct slice key, int64_t revision)
{
    struct store_sync *sync = data;
    struct dname name;
    broken_del(sync->broken, key);
    if (store_sync_put_is_config(sync, key)) {
        config_value_del(&sync->document);
    } else if (record_key_to_name(slice_str(sync->prefix), key, &name)) {
        del_record(sync, &name, revision);
    }
}
