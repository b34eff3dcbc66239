#include "kube2sky/naming/client_keys.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/key_table.h"
#include "common/base/xalloc.h"
#include "common/dns/dname.h"
#include "common/etcd/etcd_store_id.h"
#include "kube2sky/naming/client_listings_internal.h"
#include "kube2sky/naming/client_records_internal.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/naming/naming.h"

/* A domain has at most 255 bytes, a name at most 253 more. */
enum { KEY_MAX = 1024 };

/* A namespace's list that is wanted, or was wanted when it was last returned as changed. */
struct client_key {
    struct slice key;
    STAILQ_ENTRY(client_key) changed;
    char *value; /* NULL: not wanted */
    size_t value_len;
    uint32_t generation;
    bool is_changed;
    bool is_left_out; /* a list that did not fit: treated as not wanted */
};

/* The keys of CLIENT_KEYS_VISIBLE. */
struct client_lists {
    struct key_table table;
    STAILQ_HEAD(, client_key) changed;
    struct client_listings listings; /* of Namespaces */
    size_t bytes;                    /* of all values */
    size_t left_out;                 /* keys that were left out */
    bool is_lost;                    /* the server refuses Namespaces: no key is wanted */
};

struct client_keys {
    struct client_keys_config config;
    char *trees[CLIENT_KEYS_PARTS];
    struct client_lists lists;
    struct client_records *records; /* has the keys of the other parts */
    struct buf key;                 /* scratch buffer */
    struct buf taken;               /* the key that was last returned as changed */
};

static const char *const folders[CLIENT_KEYS_PARTS] = {
    [CLIENT_KEYS_NODE_ADDRESS] = NODE_ADDRESS_PREFIX,
    [CLIENT_KEYS_VISIBLE] = VISIBLE_PREFIX,
    [CLIENT_KEYS_RECORD] = CLIENT_PREFIX,
};

struct client_keys *client_keys_new(const struct client_keys_config *config)
{
    struct client_keys *keys = xcalloc(1, sizeof(*keys));
    keys->config = *config;
    for (size_t i = 0; i < CLIENT_KEYS_PARTS; i++) {
        keys->trees[i] = etcd_writer_key(slice_str(config->domain), folders[i]);
    }
    key_table_init_keyed(&keys->lists.table);
    STAILQ_INIT(&keys->lists.changed);
    client_listings_init(&keys->lists.listings, NULL, 0);
    keys->records = client_records_new(config);
    buf_init(&keys->key, KEY_MAX);
    buf_init(&keys->taken, KEY_MAX);
    return keys;
}

static void free_key(struct client_key *key)
{
    free(key->value);
    free(key);
}

void client_keys_free(struct client_keys *keys)
{
    if (!keys) {
        return;
    }
    for (size_t i = 0; i < CLIENT_KEYS_PARTS; i++) {
        free(keys->trees[i]);
    }
    size_t at = 0;
    for (struct client_key *key; (key = key_table_next(&keys->lists.table, &at)); at++) {
        free_key(key);
    }
    key_table_fini(&keys->lists.table);
    client_listings_fini(&keys->lists.listings);
    client_records_free(keys->records);
    buf_fini(&keys->key);
    buf_fini(&keys->taken);
    free(keys);
}

/* ---- Keys ---- */

static void client_keys_note_change(struct client_lists *lists, struct client_key *key)
{
    if (!key->is_changed) {
        key->is_changed = true;
        STAILQ_INSERT_TAIL(&lists->changed, key, changed);
    }
}

/* Sets the value and notes a change; ptr NULL: the key is not wanted any more. */
static void client_keys_set_value(struct client_lists *lists, struct client_key *key,
                                  struct slice value)
{
    bool is_same =
        key->value && value.ptr && slice_equal(slice_of(key->value, key->value_len), value);
    if (is_same || (!key->value && !value.ptr)) {
        return;
    }
    lists->bytes += value.len - (key->value ? key->value_len : 0);
    free(key->value);
    key->value = value.ptr ? xmalloc(value.len + 1) : NULL;
    key->value_len = value.len;
    key->is_left_out = key->is_left_out && value.ptr;
    if (key->value) {
        memcpy(key->value, value.ptr, value.len);
    }
    client_keys_note_change(lists, key);
}

/* ---- Namespaces ---- */

/* Returns the key with this name, in lower case; empty if no key can have the name. */
static struct slice client_keys_namespace_key(struct client_keys *keys, const char *name)
{
    if (!dname_is_host_label(slice_str(name))) {
        return slice_of(NULL, 0);
    }
    buf_clear(&keys->key);
    buf_append_str(&keys->key, keys->trees[CLIENT_KEYS_VISIBLE]);
    buf_append_lower(&keys->key, slice_str(name));
    return buf_slice(&keys->key);
}

static int client_keys_compare_lists(const void *a, const void *b)
{
    const struct client_key *x = *(const struct client_key *const *)a;
    const struct client_key *y = *(const struct client_key *const *)b;
    int d = (x->value_len > y->value_len) - (x->value_len < y->value_len);
    return d ? d : slice_compare(x->key, y->key);
}

/* Leaves out the longest lists if all together do not fit, so that no shorter one is left out for a
 * longer one. Equal lists have equal results, in whatever order they came. */
static void client_keys_share_out(struct client_keys *keys)
{
    struct client_lists *lists = &keys->lists;
    size_t count = 0, bytes = 0, at = 0;
    if (client_listings_is_any_open(&lists->listings) ||
        (lists->bytes <= CLIENT_KEYS_TEXTS_MAX && !lists->left_out)) {
        return;
    }
    struct client_key **by_length = xcalloc(lists->table.count, sizeof(*by_length));
    for (struct client_key *key; (key = key_table_next(&lists->table, &at)); at++) {
        if (key->value) {
            by_length[count++] = key;
        }
    }
    qsort(by_length, count, sizeof(*by_length), client_keys_compare_lists);
    lists->left_out = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += by_length[i]->value_len;
        bool is_left_out = bytes > CLIENT_KEYS_TEXTS_MAX;
        lists->left_out += is_left_out;
        if (is_left_out != by_length[i]->is_left_out) {
            by_length[i]->is_left_out = is_left_out;
            client_keys_note_change(lists, by_length[i]);
        }
    }
    free(by_length);
}

static void upsert_namespace(struct client_keys *keys, const struct kube_object *object,
                             uint32_t generation)
{
    struct client_lists *lists = &keys->lists;
    struct slice text = client_keys_namespace_key(keys, object->name);
    const char *visible_to = object->ns_object.visible_to;
    bool is_wanted =
        !object->is_garbled && visible_to && strlen(visible_to) <= CLIENT_KEYS_TEXT_MAX;
    struct client_key *key = !text.len   ? NULL
                             : is_wanted ? key_table_get(&lists->table, text, sizeof(*key))
                                         : key_table_find(&lists->table, text);
    if (key) {
        key->generation = generation;
    }
    if (key && !object->is_garbled) {
        client_keys_set_value(lists, key, is_wanted ? slice_str(visible_to) : slice_of(NULL, 0));
        client_keys_share_out(keys);
    }
}

static void remove_namespace(struct client_keys *keys, const char *name)
{
    struct client_lists *lists = &keys->lists;
    struct slice text = client_keys_namespace_key(keys, name);
    struct client_key *key = text.len ? key_table_find(&lists->table, text) : NULL;
    if (key) {
        client_keys_set_value(lists, key, slice_of(NULL, 0));
        client_keys_share_out(keys);
    }
}

static void sweep_namespaces(struct client_keys *keys, uint32_t generation)
{
    struct client_lists *lists = &keys->lists;
    size_t at = 0;
    for (struct client_key *key; (key = key_table_next(&lists->table, &at)); at++) {
        if (key->generation != generation) {
            client_keys_set_value(lists, key, slice_of(NULL, 0));
        }
    }
    client_keys_share_out(keys);
}

/* ---- Lists ---- */

/* Returns the list of Namespaces, if it is of use and the kind is theirs; else NULL. */
static struct client_listing *client_keys_listing(struct client_keys *keys, enum kube_kind kind)
{
    bool is_of_use = kind == KUBE_NAMESPACE && keys->config.is_wanted[CLIENT_KEYS_VISIBLE];
    return is_of_use ? client_listings_find(&keys->lists.listings, "") : NULL;
}

void client_keys_list_begin(struct client_keys *keys, enum kube_kind kind, const char *ns)
{
    struct client_listing *listing = client_keys_listing(keys, kind);
    if (listing) {
        client_listing_begin(listing);
    }
    client_records_list_begin(keys->records, kind, ns);
}

void client_keys_list_end(struct client_keys *keys, enum kube_kind kind, const char *ns)
{
    struct client_listing *listing = client_keys_listing(keys, kind);
    client_records_list_end(keys->records, kind, ns);
    if (listing && client_listing_end(listing, keys->config.are_namespaces_narrowed)) {
        sweep_namespaces(keys, listing->generation);
    } else if (listing) {
        client_keys_share_out(keys);
    }
}

void client_keys_upsert(struct client_keys *keys, const struct kube_object *object)
{
    struct client_listing *listing = client_keys_listing(keys, object->kind);
    client_records_upsert(keys->records, object);
    if (!listing) {
        return;
    }
    upsert_namespace(keys, object, listing->generation);
    if (client_listing_came(listing)) {
        sweep_namespaces(keys, listing->generation);
    }
}

void client_keys_remove(struct client_keys *keys, enum kube_kind kind, const char *ns,
                        const char *name)
{
    client_records_remove(keys->records, kind, ns, name);
    if (client_keys_listing(keys, kind)) {
        remove_namespace(keys, name);
    }
}

void client_keys_lack(struct client_keys *keys, enum kube_kind kind, const char *ns)
{
    client_records_lack(keys->records, kind, ns);
}

static void lose_lists(struct client_lists *lists, bool are_lost)
{
    size_t at = 0;
    if (lists->is_lost == are_lost) {
        return;
    }
    lists->is_lost = are_lost;
    for (struct client_key *key; (key = key_table_next(&lists->table, &at)); at++) {
        client_keys_note_change(lists, key);
    }
}

void client_keys_lose(struct client_keys *keys, enum kube_kind kind, bool is_lost)
{
    if (kind == KUBE_NAMESPACE) {
        lose_lists(&keys->lists, is_lost);
    } else if (kind == KUBE_POD) {
        client_records_lose(keys->records, is_lost);
    }
}

/* ---- The reconciler's side ---- */

struct slice client_keys_tree(const struct client_keys *keys, enum client_keys_part part)
{
    return slice_str(keys->trees[part]);
}

bool client_keys_is_name(enum client_keys_part part, struct slice segment)
{
    return part == CLIENT_KEYS_VISIBLE ? dname_is_host_label(segment)
                                       : naming_is_address_label(segment);
}

/* Returns whether the key is that of an address in the part. */
static bool parse_address_key(const struct client_keys *keys, enum client_keys_part part,
                              struct slice key, struct ip *ret_ip)
{
    const struct slice tree = client_keys_tree(keys, part);
    CLEANUP_BUF struct buf label = buf_of(KEY_MAX);
    if (!slice_has_prefix(key, tree)) {
        return false;
    }
    const struct slice segment = slice_skip(key, tree.len);
    if (!naming_parse_pod_label(segment, ret_ip)) {
        return false;
    }
    naming_pod_label(ret_ip, &label);
    return slice_equal(buf_slice(&label), segment);
}

struct slice client_keys_value(const struct client_keys *keys, struct slice text)
{
    static const enum client_keys_part of_addresses[] = {CLIENT_KEYS_NODE_ADDRESS,
                                                         CLIENT_KEYS_RECORD};
    struct ip ip;
    for (size_t i = 0; i < ARRAY_LEN(of_addresses); i++) {
        if (parse_address_key(keys, of_addresses[i], text, &ip)) {
            return client_records_value(keys->records, of_addresses[i], &ip);
        }
    }
    const struct client_key *key = key_table_find(&keys->lists.table, text);
    return key && key->value && !key->is_left_out && !keys->lists.is_lost
               ? slice_of(key->value, key->value_len)
               : slice_of(NULL, 0);
}

/* Sets `taken` to the key of a list that changed. Returns false if there is none. */
static bool take_changed_list(struct client_lists *lists, struct buf *taken)
{
    struct client_key *key = STAILQ_FIRST(&lists->changed);
    if (!key) {
        return false;
    }
    STAILQ_REMOVE_HEAD(&lists->changed, changed);
    key->is_changed = false;
    buf_append_slice(taken, key->key);
    if (!key->value) {
        (void)key_table_take(&lists->table, key->key);
        free_key(key);
    }
    return true;
}

struct slice client_keys_next_change(struct client_keys *keys, enum client_keys_part part)
{
    struct ip ip;
    bool has_change = false;
    buf_clear(&keys->taken);
    if (part == CLIENT_KEYS_VISIBLE) {
        has_change = take_changed_list(&keys->lists, &keys->taken);
    } else if (client_records_next_change(keys->records, part, &ip)) {
        buf_append_str(&keys->taken, keys->trees[part]);
        naming_pod_label(&ip, &keys->taken);
        has_change = true;
    }
    return has_change ? buf_slice(&keys->taken) : slice_of(NULL, 0);
}

size_t client_keys_left_out(const struct client_keys *keys)
{
    return keys->lists.left_out;
}

bool client_keys_may_delete(const struct client_keys *keys, enum client_keys_part part)
{
    if (part != CLIENT_KEYS_VISIBLE) {
        return client_records_may_delete(keys->records, part);
    }
    return !keys->config.is_wanted[part] || keys->lists.is_lost ||
           client_listings_are_known(&keys->lists.listings);
}

bool client_keys_are_known(const struct client_keys *keys)
{
    return client_records_are_known(keys->records);
}

size_t client_keys_count(const struct client_keys *keys, enum kube_kind kind)
{
    return client_records_count(keys->records, kind);
}
