#include "kube2sky/naming/external_keys.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/base/key_table.h"
#include "common/base/xalloc.h"
#include "common/dns/record.h"
#include "common/dns/record_json.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/naming/override_zones.h"

/* A name with keys of somebody else. */
struct external_name {
    struct slice key;
    LIST_HEAD(external_name_keys, external_key) keys;
};

struct external_key {
    struct slice key;
    struct external_name *name; /* NULL: it is ours */
    LIST_ENTRY(external_key) of_name;
    char *owner; /* NULL: it is somebody else's */
    int64_t revision;
    uint32_t generation;
};

struct external_keys {
    struct external_keys_config config;
    struct key_table keys, names;
};

struct external_keys *external_keys_new(const struct external_keys_config *config)
{
    struct external_keys *keys = xcalloc(1, sizeof(*keys));
    keys->config = *config;
    key_table_init_keyed(&keys->keys);
    key_table_init_keyed(&keys->names);
    return keys;
}

void external_keys_free(struct external_keys *keys)
{
    if (!keys) {
        return;
    }
    size_t at = 0;
    for (struct external_key *key; (key = key_table_next(&keys->keys, &at)); at++) {
        free(key->owner);
        free(key);
    }
    key_table_fini(&keys->keys);
    key_table_fini_things(&keys->names);
    free(keys);
}

/* ---- Names ---- */

size_t external_keys_name_len(struct slice key, struct slice value)
{
    const size_t tree_len = sizeof(SKYDNS_TREE) - 1;
    struct record record;
    size_t len = key.len;
    if (record_from_json(value, &record, NULL) < 0) {
        return key.len; /* no record, and so no targetstrip; its writer may mend it */
    }
    for (unsigned i = 0; i < record.targetstrip && len > tree_len; i++) {
        const char *slash = memrchr(key.ptr, '/', len);
        len = slash ? (size_t)(slash - key.ptr) : 0;
    }
    record_fini(&record);
    return len > tree_len ? len : 0;
}

static bool is_name_covered(const struct external_keys *keys, struct slice name_key)
{
    struct dname name;
    return keys->config.zones && record_key_to_name(slice_str(SKYDNS_TREE), name_key, &name) &&
           override_zones_cover(keys->config.zones, &name);
}

static void join_external_name(struct external_keys *keys, struct external_key *key,
                               struct slice text)
{
    struct external_name *name = key_table_get(&keys->names, text, sizeof(*name));
    key->name = name;
    LIST_INSERT_HEAD(&name->keys, key, of_name);
    keys->config.changed(keys->config.data, text);
}

static void leave_external_name(struct external_keys *keys, struct external_key *key)
{
    struct external_name *name = key->name;
    if (!name) {
        return;
    }
    LIST_REMOVE(key, of_name);
    key->name = NULL;
    keys->config.changed(keys->config.data, name->key);
    if (LIST_EMPTY(&name->keys)) {
        (void)key_table_take(&keys->names, name->key);
        free(name);
    }
}

/* ---- Keys ---- */

static void drop_external_key(struct external_keys *keys, struct external_key *key)
{
    (void)key_table_take(&keys->keys, key->key);
    leave_external_name(keys, key);
    free(key->owner);
    free(key);
}

void external_keys_delete(struct external_keys *keys, struct slice text)
{
    struct external_key *key = key_table_find(&keys->keys, text);
    if (key) {
        drop_external_key(keys, key);
    }
}

static void set_external_name(struct external_keys *keys, struct external_key *key,
                              struct slice name)
{
    if (key->name && slice_equal(key->name->key, name)) {
        return;
    }
    leave_external_name(keys, key);
    if (name.len) {
        join_external_name(keys, key, name);
    }
}

void external_keys_put(struct external_keys *keys, struct slice text, struct slice value,
                       struct slice owner, int64_t revision, uint32_t generation)
{
    size_t name_len = owner.len || !keys->config.zones ? 0 : external_keys_name_len(text, value);
    struct slice name = slice_of(text.ptr, name_len);
    bool matters = owner.len || (name_len && is_name_covered(keys, name));
    if (!matters) {
        external_keys_delete(keys, text);
        return;
    }
    struct external_key *key = key_table_get(&keys->keys, text, sizeof(*key));
    key->revision = revision;
    key->generation = generation;
    free(key->owner);
    key->owner = owner.len ? xstrndup(owner.ptr, owner.len) : NULL;
    set_external_name(keys, key, name);
}

void external_keys_sweep(struct external_keys *keys, uint32_t generation)
{
    size_t at = 0;
    for (struct external_key *key; (key = key_table_next(&keys->keys, &at));) {
        if (key->generation == generation) {
            at++;
        } else {
            drop_external_key(keys, key);
        }
    }
}

struct slice external_keys_owner(const struct external_keys *keys, struct slice text)
{
    const struct external_key *key = key_table_find(&keys->keys, text);
    return key && key->owner ? slice_str(key->owner) : slice_of(NULL, 0);
}

int64_t external_keys_revision(const struct external_keys *keys, struct slice text)
{
    const struct external_key *key = key_table_find(&keys->keys, text);
    return key ? key->revision : 0;
}

bool external_keys_has_other(const struct external_keys *keys, struct slice name_key,
                             bool (*is_exempt)(const void *data, struct slice key),
                             const void *data)
{
    const struct external_name *name = key_table_find(&keys->names, name_key);
    const struct external_key *key = name ? LIST_FIRST(&name->keys) : NULL;
    while (key && is_exempt && is_exempt(data, key->key)) {
        key = LIST_NEXT(key, of_name);
    }
    return key != NULL;
}
