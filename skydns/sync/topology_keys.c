#include "skydns/sync/topology_keys_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/cursor.h"
#include "common/base/seeded_hash.h"
#include "common/base/xalloc.h"
#include "skydns/clients/client_index.h"
#include "skydns/clients/topology_service.h"
#include "skydns/sync/record_value_internal.h"
#include "skydns/sync/topology_value_internal.h"

/* A key whose value is shown. */
struct topology_key {
    const struct topology_service *service; /* the topology's */
    uint64_t hash;                          /* of the value, to know it again */
    size_t bytes;                           /* of the block */
    bool is_read;                           /* in the current full read */
    uint8_t label_len;
    char label[]; /* "prod/web" */
};

/* A namespace's bytes. */
struct topology_space {
    size_t bytes;
    uint8_t len;
    char ns[DNAME_LABEL_MAX];
};

/* A key's parts. */
struct parts {
    struct slice ns;
    struct slice service;
};

static struct slice topology_keys_label_of(const void *thing)
{
    const struct topology_key *key = thing;
    return slice_of(key->label, key->label_len);
}

static struct slice topology_keys_space_of(const void *thing)
{
    const struct topology_space *space = thing;
    return slice_of(space->ns, space->len);
}

void topology_keys_init(struct topology_keys *keys, struct client_index *index,
                        const struct dname *domain)
{
    *keys = (struct topology_keys){.index = index, .base = *domain};
    if (!dname_prepend(&keys->base, slice_str("svc"))) {
        keys->base.len = 0; /* no Service's name fits */
    }
    key_table_init(&keys->keys, topology_keys_label_of);
    key_table_init(&keys->spaces, topology_keys_space_of);
    seeded_hash_init();
}

void topology_keys_fini(struct topology_keys *keys)
{
    const struct topology_key *key;
    for (size_t at = 0; (key = key_table_next(&keys->keys, &at)); at++) {
        client_index_remove_topology(keys->index, topology_service_name(key->service));
    }
    key_table_fini_things(&keys->keys);
    key_table_fini_things(&keys->spaces);
}

void topology_keys_begin(struct topology_keys *keys, bool keeps_old)
{
    struct topology_key *key;
    keys->keeps_old = keeps_old;
    for (size_t at = 0; (key = key_table_next(&keys->keys, &at)); at++) {
        key->is_read = false;
    }
}

/* ---- Names ---- */

static bool topology_keys_split(struct slice label, struct parts *ret)
{
    const char *slash = label.len > 0 ? memchr(label.ptr, '/', label.len) : NULL;
    if (!slash) {
        return false;
    }
    ret->ns = slice_of(label.ptr, (size_t)(slash - label.ptr));
    ret->service = slice_of(slash + 1, label.len - ret->ns.len - 1);
    return record_value_is_namespace(ret->ns) && record_value_is_namespace(ret->service);
}

static bool topology_keys_name(const struct topology_keys *keys, const struct parts *parts,
                               struct dname *ret_name)
{
    *ret_name = keys->base;
    return keys->base.len > 0 && dname_prepend(ret_name, parts->ns) &&
           dname_prepend(ret_name, parts->service);
}

/* ---- Room ---- */

static size_t space_bytes(const struct topology_keys *keys, struct slice ns)
{
    const struct topology_space *space = key_table_find(&keys->spaces, ns);
    return space ? space->bytes : 0;
}

/* Moves a namespace's bytes from one block's to another's. */
static void topology_keys_charge(struct topology_keys *keys, struct slice ns, size_t before,
                                 size_t after)
{
    struct topology_space *space = key_table_find(&keys->spaces, ns);
    if (!space) {
        space = xcalloc(1, sizeof(*space));
        space->len = (uint8_t)ns.len; /* a label */
        memcpy(space->ns, ns.ptr, ns.len);
        (void)key_table_put(&keys->spaces, space); /* is new */
    }
    space->bytes += after - before;
    keys->bytes += after - before;
    if (space->bytes == 0) {
        free(key_table_take(&keys->spaces, ns));
    }
}

static bool topology_keys_has_room(const struct topology_keys *keys, struct slice ns, size_t before,
                                   size_t after)
{
    return keys->bytes - before + after <= TOPOLOGY_BYTES_MAX &&
           space_bytes(keys, ns) - before + after <= TOPOLOGY_NAMESPACE_BYTES_MAX;
}

/* ---- Keys ---- */

static void topology_keys_remove(struct topology_keys *keys, struct slice label)
{
    struct topology_key *key = key_table_take(&keys->keys, label);
    struct parts parts;
    if (key && topology_keys_split(topology_keys_label_of(key), &parts)) { /* it was split before */
        topology_keys_charge(keys, parts.ns, key->bytes, 0);
        client_index_remove_topology(keys->index, topology_service_name(key->service));
        keys->has_changed = true;
    }
    free(key);
}

static struct topology_key *topology_keys_add(struct topology_keys *keys, struct slice label)
{
    struct topology_key *key = xcalloc(1, sizeof(*key) + label.len);
    key->label_len = (uint8_t)label.len; /* two labels and a slash */
    memcpy(key->label, label.ptr, label.len);
    (void)key_table_put(&keys->keys, key); /* is new */
    return key;
}

/* Shows the block in place of the key's last one; returns why there is no room for it. */
static const char *topology_keys_show(struct topology_keys *keys, struct slice label,
                                      const struct parts *parts, uint64_t hash,
                                      struct topology_service *service)
{
    struct topology_key *key = key_table_find(&keys->keys, label);
    const size_t bytes = topology_service_bytes(service), before = key ? key->bytes : 0;
    if (!topology_keys_has_room(keys, parts->ns, before, bytes)) {
        free(service);
        return "no room: a namespace has at most 8 MiB of zones, a domain 64";
    }
    topology_keys_charge(keys, parts->ns, before, bytes);
    key = key ? key : topology_keys_add(keys, label);
    key->service = service;
    key->hash = hash;
    key->bytes = bytes;
    key->is_read = true;
    client_index_put_topology(keys->index, service);
    keys->has_changed = true;
    return NULL;
}

const char *topology_keys_put(struct topology_keys *keys, struct slice label, struct slice value)
{
    struct topology_key *key = key_table_find(&keys->keys, label);
    struct topology_service *service = NULL;
    struct parts parts;
    struct dname name;
    const uint64_t hash = seeded_hash64(value);
    if (key && key->hash == hash) {
        key->is_read = true;
        return NULL;
    }
    if (!topology_keys_split(label, &parts) || !topology_keys_name(keys, &parts, &name)) {
        return "no namespace and Service behind its prefix";
    }
    const char *refusal = topology_value_read(value, slice_of(name.wire, name.len), &service);
    refusal = refusal ? refusal : topology_keys_show(keys, label, &parts, hash, service);
    if (refusal) {
        topology_keys_remove(keys, label);
    }
    return refusal;
}

void topology_keys_del(struct topology_keys *keys, struct slice label)
{
    topology_keys_remove(keys, label);
}

bool topology_keys_commit(struct topology_keys *keys, bool full)
{
    const struct topology_key *key;
    for (size_t at = 0; full && !keys->keeps_old && (key = key_table_next(&keys->keys, &at));) {
        if (key->is_read) {
            at++;
        } else {
            topology_keys_remove(keys, topology_keys_label_of(key));
        }
    }
    const bool has_changed = keys->has_changed;
    keys->has_changed = false;
    return has_changed;
}

/* ---- Across restarts: how many, then label and value of each ---- */

void topology_keys_save(const struct topology_keys *keys, struct buf *out)
{
    const struct topology_key *key;
    buf_append_u32(out, (uint32_t)keys->keys.count);
    for (size_t at = 0; (key = key_table_next(&keys->keys, &at)); at++) {
        CLEANUP_BUF struct buf value = buf_of(TOPOLOGY_VALUE_MAX);
        topology_value_write(key->service, &value);
        if (value.failed) { /* it was shorter as it was written: etcd has it */
            buf_clear(&value);
            buf_append_str(&value, "{}");
        }
        buf_append_sized(out, topology_keys_label_of(key));
        buf_append_sized(out, buf_slice(&value));
    }
}

static bool topology_keys_load_one(struct topology_keys *keys, struct reader *reader)
{
    struct slice label = reader_sized(reader), value = reader_sized(reader);
    struct topology_service *service = NULL;
    struct parts parts;
    if (reader->failed || !topology_keys_split(label, &parts)) {
        return false;
    }
    if (keys) {
        return !topology_keys_put(keys, label, value);
    }
    const bool is_good = !topology_value_read(value, label, &service);
    free(service);
    return is_good;
}

bool topology_keys_load(struct topology_keys *keys, struct reader *reader)
{
    uint32_t count = reader_u32(reader);
    bool is_good = !reader->failed;
    for (uint32_t i = 0; is_good && i < count; i++) {
        is_good = topology_keys_load_one(keys, reader);
    }
    return is_good;
}
