#include "kube2sky/reconcile/config_keys_internal.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_text.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd_store_id.h"
#include "kube2sky/naming/external_keys.h"
#include "kube2sky/reconcile/actual.h"
#include "kube2sky/reconcile/ownership_internal.h"

/* ---- The document ---- */

void config_document_begin(struct slice nameservers, struct buf *out)
{
    buf_append_char(out, '{');
    if (nameservers.len) {
        buf_append_str(out, "\"nameservers\":");
        buf_append_slice(out, nameservers);
        buf_append_char(out, ',');
    }
    buf_append_str(out, "\"keys\":[");
}

void config_document_add(struct slice key, struct buf *out)
{
    if (out->len && out->data[out->len - 1] != '[') {
        buf_append_char(out, ',');
    }
    json_text_string(out, key);
}

void config_document_end(struct buf *out)
{
    buf_append_str(out, "]}");
}

static int check_keys(const json_t *keys, struct err *err)
{
    if (keys && !json_is_array(keys)) {
        return err_set(err, ERR_SYNTAX, "keys: expected a list");
    }
    for (size_t i = 0; i < json_array_size(keys); i++) {
        if (!json_is_string(json_array_get(keys, i))) {
            return err_set(err, ERR_SYNTAX, "keys[%zu]: expected a string", i);
        }
    }
    return 0;
}

int config_document_read(struct slice text, void (*fn)(void *data, struct slice key), void *data,
                         struct err *err)
{
    json_error_t why;
    if (text.len > CONFIG_DOCUMENT_MAX) {
        return err_set(err, ERR_TOO_LARGE, "expected at most %d bytes", CONFIG_DOCUMENT_MAX);
    }
    json_t *json = json_loadb(text.len ? text.ptr : "", text.len, 0, &why);
    if (!json_is_object(json)) {
        json_decref(json);
        return err_set(err, ERR_SYNTAX, "expected a JSON object%s%s", json ? "" : ": ",
                       json ? "" : why.text);
    }
    const json_t *keys = json_object_get(json, "keys");
    int rc = check_keys(keys, err);
    for (size_t i = 0; rc == 0 && i < json_array_size(keys); i++) {
        const json_t *key = json_array_get(keys, i);
        fn(data, slice_of(json_string_value(key), json_string_length(key)));
    }
    json_decref(json);
    return rc;
}

/* ---- The keys ---- */

struct config_key {
    struct slice key;
    int64_t revision; /* 0: not in etcd */
    uint64_t hash;    /* of the value */
    uint32_t generation;
    bool is_listed;
    bool is_gone; /* a transaction has found it absent; the mirror alone does not prove that */
};

void config_keys_init(struct config_keys *keys, const struct ownership *ownership,
                      const char *domain)
{
    *keys = (struct config_keys){.ownership = ownership};
    key_table_init_keyed(&keys->table);
    config_map_init(&keys->wanted);
    keys->document_key = etcd_writer_key(slice_str(domain), CONFIG_DOCUMENT_NAME);
    buf_init(&keys->document, CONFIG_DOCUMENT_MAX);
}

void config_keys_fini(struct config_keys *keys)
{
    key_table_fini_things(&keys->table);
    config_map_fini(&keys->wanted);
    free(keys->document_key);
    buf_fini(&keys->document);
}

bool config_keys_want(struct config_keys *keys, struct config_map *map)
{
    if (keys->is_known && config_map_equal(&keys->wanted, map)) {
        return false;
    }
    struct config_map old = keys->wanted;
    keys->wanted = *map;
    *map = old;
    keys->is_known = true;
    return true;
}

/* ---- etcd's content ---- */

static void forget_if_empty(struct config_keys *keys, struct config_key *key)
{
    if (!key->revision && !key->is_listed) {
        (void)key_table_take(&keys->table, key->key);
        free(key);
    }
}

static bool find_wanted(const struct config_keys *keys, struct slice key,
                        struct desired_record *ret_record)
{
    size_t from = 0, to = keys->wanted.keys.count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        *ret_record = desired_get(&keys->wanted.keys, middle);
        int d = slice_compare(ret_record->key, key);
        if (d == 0) {
            return true;
        }
        from = d < 0 ? middle + 1 : from;
        to = d < 0 ? to : middle;
    }
    return false;
}

static bool config_keys_is_wanted(const struct config_keys *keys, struct slice key)
{
    struct desired_record record;
    return find_wanted(keys, key, &record);
}

static bool is_listed_key(const void *data, struct slice text)
{
    const struct config_keys *keys = data;
    const struct config_key *key = key_table_find(&keys->table, text);
    return key && key->is_listed;
}

/* Returns whether the record has an external name at which somebody else has keys. */
static bool is_others_name(const struct config_keys *keys, const struct desired_record *record)
{
    bool is_external =
        keys->external_keys && ownership_place(keys->ownership, record->key) == KEY_EXTERNAL;
    size_t len = is_external ? external_keys_name_len(record->key, record->value) : 0;
    return len && external_keys_has_other(keys->external_keys, slice_of(record->key.ptr, len),
                                          is_listed_key, keys);
}

/* Returns whether the key is in the map and may be written. */
static bool is_to_stay(const struct config_keys *keys, struct slice key)
{
    struct desired_record record;
    return find_wanted(keys, key, &record) && !is_others_name(keys, &record);
}

bool config_keys_put(struct config_keys *keys, const struct etcd_kv *kv, uint32_t generation)
{
    struct config_key *key = key_table_get(&keys->table, kv->key, sizeof(*key));
    key->revision = kv->mod_revision;
    key->hash = actual_value_hash(kv->value);
    key->generation = generation;
    key->is_gone = false;
    return key->is_listed || config_keys_is_wanted(keys, kv->key);
}

static bool config_keys_drop(struct config_keys *keys, struct config_key *key)
{
    bool is_concerned = key->is_listed || config_keys_is_wanted(keys, key->key);
    key->revision = 0;
    forget_if_empty(keys, key);
    return is_concerned;
}

bool config_keys_delete(struct config_keys *keys, struct slice text)
{
    struct config_key *key = key_table_find(&keys->table, text);
    return key && config_keys_drop(keys, key);
}

bool config_keys_sweep(struct config_keys *keys, uint32_t generation)
{
    bool is_concerned = false;
    size_t at = 0, count = keys->table.count;
    for (struct config_key *key; (key = key_table_next(&keys->table, &at));) {
        if (key->revision && key->generation != generation) {
            is_concerned |= config_keys_drop(keys, key);
        }
        at += keys->table.count == count; /* if a key was removed, another may be in its slot */
        count = keys->table.count;
    }
    return is_concerned;
}

int64_t config_keys_revision(const struct config_keys *keys, struct slice text)
{
    const struct config_key *key = key_table_find(&keys->table, text);
    bool is_document = slice_equal(text, slice_str(keys->document_key));
    return is_document ? keys->document_revision : key ? key->revision : 0;
}

/* ---- The list ---- */

static void list_key(void *data, struct slice text)
{
    struct config_keys *keys = data;
    enum key_place place = ownership_place(keys->ownership, text);
    if (place != KEY_BESIDE && !(place == KEY_EXTERNAL && keys->external_keys)) {
        static struct log_limit limit = {.burst = 3};
        if (log_limit_pass(&limit)) {
            log_warn("document of the ConfigMap lists a key that cannot be ours, left alone",
                     LOG_SLICE("key", text));
        }
        return;
    }
    struct config_key *key = key_table_get(&keys->table, text, sizeof(*key));
    keys->listed += !key->is_listed;
    key->is_gone &= key->is_listed;
    key->is_listed = true;
}

static void unlist_keys(struct config_keys *keys)
{
    size_t at = 0, count = keys->table.count;
    for (struct config_key *key; (key = key_table_next(&keys->table, &at));) {
        key->is_listed = false;
        forget_if_empty(keys, key);
        at += keys->table.count == count;
        count = keys->table.count;
    }
    keys->listed = 0;
}

static void read_list(struct config_keys *keys, struct slice text, bool adds)
{
    static struct log_limit limit = {.burst = 3};
    struct err err;
    if (!adds) {
        unlist_keys(keys);
    }
    if (config_document_read(text, list_key, keys, &err) < 0 && log_limit_pass(&limit)) {
        log_warn("document of the ConfigMap cannot be read, replacing it",
                 LOG_STR("error", err.msg));
    }
}

void config_keys_put_document(struct config_keys *keys, const struct etcd_kv *kv,
                              uint32_t generation, bool adds)
{
    keys->document_revision = kv->mod_revision;
    keys->document_hash = actual_value_hash(kv->value);
    keys->document_generation = generation;
    read_list(keys, kv->value, adds);
}

void config_keys_delete_document(struct config_keys *keys, bool adds)
{
    keys->document_revision = 0;
    if (!adds) {
        unlist_keys(keys);
    }
}

void config_keys_note_written(struct config_keys *keys, const struct plan *plan)
{
    for (size_t i = plan->put_count; i < plan->op_count; i++) {
        struct config_key *key = key_table_find(&keys->table, plan_get(plan, i).key);
        if (key && plan->ops[i].revision == 0) {
            key->is_gone = !key->revision;
        }
    }
    if (config_keys_has_document(keys, plan)) {
        const struct etcd_op op = plan_get(plan, plan->op_count - 1);
        if (op.kind == ETCD_OP_PUT) {
            read_list(keys, op.value, false);
        } else {
            unlist_keys(keys);
        }
    }
}

/* ---- The difference ---- */

/* Plans the put of one record if etcd's value differs, and lists its key in the document. A key of
 * another writer goes to `left`. */
static void plan_put(struct config_keys *keys, const struct desired_record *record,
                     struct plan *plan, struct plan *left)
{
    struct config_key *key = key_table_find(&keys->table, record->key);
    struct etcd_op op = {.kind = ETCD_OP_PUT, .key = record->key, .value = record->value};
    bool is_there = key && key->revision;
    if ((is_there && !key->is_listed) || is_others_name(keys, record)) {
        plan_add(left, &op, is_there ? key->revision : 0);
        return;
    }
    config_document_add(record->key, &keys->document);
    if (key) {
        key->is_gone = false; /* holds whatever becomes of the transaction */
    }
    if (!is_there || key->hash != actual_value_hash(record->value)) {
        plan_add(plan, &op, is_there ? key->revision : 0);
    }
}

static int config_keys_compare_keys(const void *a, const void *b)
{
    return slice_compare((*(struct config_key *const *)a)->key,
                         (*(struct config_key *const *)b)->key);
}

/* Returns the listed keys in byte order, so that plans read well. The caller frees the array. */
static struct config_key **sorted_list(const struct config_keys *keys, size_t *ret_count)
{
    struct config_key **list = xcalloc(keys->listed + 1, sizeof(struct config_key *));
    size_t at = 0, count = 0;
    if (keys->listed) {
        for (struct config_key *key; (key = key_table_next(&keys->table, &at)); at++) {
            if (key->is_listed) {
                list[count++] = key;
            }
        }
    }
    qsort(list, count, sizeof(struct config_key *), config_keys_compare_keys);
    *ret_count = count;
    return list;
}

/* Returns whether etcd may have the key. The mirror of the list may be ahead of the mirror of the
 * keys. So a listed key that is not shown is deleted, too, conditional on its absence, before it is
 * taken off the list. */
static bool may_be_there(const struct config_key *key)
{
    return key->revision || !key->is_gone;
}

static void config_keys_plan_deletes(const struct config_keys *keys, struct plan *plan)
{
    size_t count = 0;
    struct config_key **list = sorted_list(keys, &count);
    for (size_t i = 0; i < count; i++) {
        if (may_be_there(list[i]) && !is_to_stay(keys, list[i]->key)) {
            struct etcd_op op = {.kind = ETCD_OP_DELETE, .key = list[i]->key};
            plan_add(plan, &op, list[i]->revision);
        }
    }
    free(list);
}

/* Plans the operation that makes the scratch buffer the document; an empty buffer deletes it. */
static void plan_document(const struct config_keys *keys, struct plan *plan)
{
    const struct etcd_op op = {
        .kind = keys->document.len ? ETCD_OP_PUT : ETCD_OP_DELETE,
        .key = slice_str(keys->document_key),
        .value = buf_slice(&keys->document),
    };
    plan_add(plan, &op, keys->document_revision);
}

void config_keys_plan(struct config_keys *keys, struct plan *plan, struct plan *left)
{
    struct buf *document = &keys->document;
    plan_build_nothing(plan);
    plan_build_nothing(left);
    buf_clear(document);
    config_document_begin(buf_slice(&keys->wanted.nameservers), document);
    size_t empty_len = document->len;
    for (size_t i = 0; i < keys->wanted.keys.count; i++) {
        struct desired_record record = desired_get(&keys->wanted.keys, i);
        plan_put(keys, &record, plan, left);
    }
    config_keys_plan_deletes(keys, plan);
    if (document->len == empty_len && !keys->wanted.nameservers.len) {
        buf_clear(document);
    } else {
        config_document_end(document);
    }
    bool is_there = keys->document_revision != 0, is_wanted_now = document->len != 0;
    bool is_same = is_there && keys->document_hash == actual_value_hash(buf_slice(document));
    if (is_wanted_now ? !is_same : is_there) {
        plan_document(keys, plan);
    }
}

bool config_keys_has_document(const struct config_keys *keys, const struct plan *plan)
{
    return plan->op_count &&
           slice_equal(plan_get(plan, plan->op_count - 1).key, slice_str(keys->document_key));
}

/* ---- Transactions ---- */

static bool has_unlisted(const struct config_keys *keys, const struct plan *plan)
{
    bool has = false;
    for (size_t i = 0; i < plan->put_count && !has; i++) {
        const struct config_key *key = key_table_find(&keys->table, plan_get(plan, i).key);
        has = !key || !key->is_listed;
    }
    return has;
}

/* Returns the listed keys that may still be in etcd. The caller frees the array. */
static struct config_key **present_list(const struct config_keys *keys, size_t *ret_count)
{
    size_t count = 0, present = 0;
    struct config_key **list = sorted_list(keys, &count);
    for (size_t i = 0; i < count; i++) {
        list[present] = list[i];
        present += may_be_there(list[i]);
    }
    *ret_count = present;
    return list;
}

/* Writes the next document into the scratch buffer: listed keys that may exist, keys that the plan
 * puts, and the wanted nameservers. Merges two sorted lists. Returns false if the text is too long,
 * after several large maps in a row. */
static bool config_keys_make_document(struct config_keys *keys, const struct plan *plan)
{
    size_t count = 0, i = 0, j = 0;
    struct config_key **list = present_list(keys, &count);
    struct buf *text = &keys->document;
    buf_clear(text);
    config_document_begin(buf_slice(&keys->wanted.nameservers), text);
    while (i < count || j < plan->put_count) {
        struct slice listed = i < count ? list[i]->key : slice_of(NULL, 0);
        struct slice put = j < plan->put_count ? plan_get(plan, j).key : slice_of(NULL, 0);
        int d = !listed.len ? 1 : !put.len ? -1 : slice_compare(listed, put);
        config_document_add(d <= 0 ? listed : put, text);
        i += d <= 0;
        j += d >= 0;
    }
    config_document_end(text);
    free(list);
    return !text->failed;
}

void config_keys_cut(struct config_keys *keys, struct plan *plan, size_t ops_max)
{
    bool has_document = config_keys_has_document(keys, plan);
    size_t key_count = plan->op_count - has_document;
    size_t key_max = ops_max > 1 ? ops_max - 1 : 1; /* one operation is for the document or its
                                                     * condition */
    if (key_count <= key_max && plan_count_fitting(plan, ops_max) == plan->op_count) {
        return;
    }
    plan_truncate(plan, key_count);
    if (!has_unlisted(keys, plan)) {
        plan_truncate(plan, plan_count_fitting(plan, key_max));
    } else if (config_keys_make_document(keys, plan)) {
        plan_build_nothing(plan);
        plan_document(keys, plan);
    } else { /* deletes first, since an earlier list is not worked off yet */
        plan_drop_puts(plan);
        plan_truncate(plan, plan_count_fitting(plan, key_max));
    }
}
