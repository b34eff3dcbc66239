#include "kube2sky/naming/client_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/base/addr.h"
#include "common/base/buf.h"
#include "common/base/key_table.h"
#include "common/base/xalloc.h"
#include "common/dns/dname.h"
#include "common/etcd/etcd_store_id.h"
#include "kube2sky/naming/client_listings_internal.h"
#include "kube2sky/naming/client_records_internal.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/naming/naming.h"

/* A domain has at most 255 bytes, a name at most 253 more. */
enum { KEY_MAX = 1024, POD_ID_MAX = 16 * 1024 * 1024 };

/* A key that is wanted, or was wanted when it was last returned as changed. */
struct client_key {
    struct slice key;
    STAILQ_ENTRY(client_key) changed;
    char *value; /* NULL: not wanted */
    size_t value_len;
    size_t pods; /* node-address: how many pods name it, counted each time */
    uint32_t generation;
    bool is_changed;
    bool is_left_out; /* a list that did not fit: treated as not wanted */
};

/* Stands for every address; no pod has it. */
static const struct ip every_ip = {.family_bytes = 4};

/* A pod on the host network. */
struct host_pod {
    struct slice id; /* "default\0web" */
    struct client_key **keys;
    size_t count;
    uint32_t generation;
};

struct part {
    struct key_table table;
    char *tree;
    size_t tree_len;
    STAILQ_HEAD(, client_key) changed;
    struct client_listings listings; /* of the kind that feeds it */
    size_t bytes;                    /* of all values */
    size_t left_out;                 /* keys that were left out */
    bool is_lost;                    /* the server refuses the kind: no key of it is wanted */
};

struct client_keys {
    struct client_keys_config config;
    struct part parts[CLIENT_KEYS_PARTS];
    struct key_table pods;
    struct client_key *every_address; /* NULL: pods are known */
    struct client_records *records;   /* has the keys of CLIENT_KEYS_RECORD; NULL: none is wanted */
    struct buf key;                   /* scratch buffer */
    struct buf id;                    /* scratch buffer */
    struct buf taken;                 /* the key that was last returned as changed */
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
        struct part *part = &keys->parts[i];
        key_table_init_keyed(&part->table);
        part->tree = etcd_writer_key(slice_str(config->domain), folders[i]);
        part->tree_len = strlen(part->tree);
        STAILQ_INIT(&part->changed);
        client_listings_init(&part->listings, config->namespaces,
                             i == CLIENT_KEYS_NODE_ADDRESS ? config->namespace_count : 0);
    }
    if (config->is_wanted[CLIENT_KEYS_RECORD]) {
        keys->records = client_records_new(config->is_narrowed[CLIENT_KEYS_RECORD],
                                           config->namespaces, config->namespace_count);
    }
    key_table_init_keyed(&keys->pods);
    buf_init(&keys->key, KEY_MAX);
    buf_init(&keys->id, POD_ID_MAX);
    buf_init(&keys->taken, KEY_MAX);
    return keys;
}

static void free_key(struct client_key *key)
{
    free(key->value);
    free(key);
}

static void free_pod(struct host_pod *pod)
{
    free(pod->keys);
    free(pod);
}

void client_keys_free(struct client_keys *keys)
{
    if (!keys) {
        return;
    }
    for (size_t i = 0; i < CLIENT_KEYS_PARTS; i++) {
        struct part *part = &keys->parts[i];
        size_t at = 0;
        for (struct client_key *key; (key = key_table_next(&part->table, &at)); at++) {
            free_key(key);
        }
        key_table_fini(&part->table);
        free(part->tree);
        client_listings_fini(&part->listings);
    }
    client_records_free(keys->records);
    size_t at = 0;
    for (struct host_pod *pod; (pod = key_table_next(&keys->pods, &at)); at++) {
        free_pod(pod);
    }
    key_table_fini(&keys->pods);
    buf_fini(&keys->key);
    buf_fini(&keys->id);
    buf_fini(&keys->taken);
    free(keys);
}

/* ---- Keys ---- */

static struct client_key *get_key(struct part *part, struct slice text)
{
    struct client_key *key = key_table_find(&part->table, text);
    return key ? key : key_table_add(&part->table, text, sizeof(*key));
}

static void client_keys_note_change(struct part *part, struct client_key *key)
{
    if (!key->is_changed) {
        key->is_changed = true;
        STAILQ_INSERT_TAIL(&part->changed, key, changed);
    }
}

/* Sets the value and notes a change; ptr NULL: the key is not wanted any more. */
static void client_keys_set_value(struct part *part, struct client_key *key, struct slice value)
{
    bool is_same =
        key->value && value.ptr && slice_equal(slice_of(key->value, key->value_len), value);
    if (is_same || (!key->value && !value.ptr)) {
        return;
    }
    part->bytes += value.len - (key->value ? key->value_len : 0);
    free(key->value);
    key->value = value.ptr ? xmalloc(value.len + 1) : NULL;
    key->value_len = value.len;
    key->is_left_out = key->is_left_out && value.ptr;
    if (key->value) {
        memcpy(key->value, value.ptr, value.len);
    }
    client_keys_note_change(part, key);
}

static struct slice wanted_value(const struct part *part, const struct client_key *key)
{
    return key->value && !key->is_left_out && !part->is_lost ? slice_of(key->value, key->value_len)
                                                             : slice_of(NULL, 0);
}

/* Returns the name's key, written into keys->key. */
static struct slice client_keys_make_key(struct client_keys *keys, const struct part *part,
                                         struct slice name)
{
    buf_clear(&keys->key);
    buf_append(&keys->key, part->tree, part->tree_len);
    buf_append_slice(&keys->key, name);
    return buf_slice(&keys->key);
}

/* ---- Pods ---- */

/* Returns whether the pod's addresses count: not those of an ended one. */
static bool names_addresses(const struct kube_object *object)
{
    return object->pod.is_on_host_network && !kube_object_has_ended(object);
}

static struct client_key *client_keys_count_address(struct client_keys *keys, const struct ip *ip)
{
    struct part *part = &keys->parts[CLIENT_KEYS_NODE_ADDRESS];
    char text[INET6_ADDRSTRLEN], value[INET6_ADDRSTRLEN + sizeof("{\"host\":\"\"}")];
    client_keys_make_key(keys, part, slice_of(NULL, 0));
    naming_pod_label(ip, &keys->key);
    struct client_key *key = get_key(part, buf_slice(&keys->key));
    key->pods++;
    (void)snprintf(value, sizeof(value), "{\"host\":\"%s\"}", ip_format(ip, text));
    client_keys_set_value(part, key, slice_str(value));
    return key;
}

static void release_address(struct client_keys *keys, struct client_key *key)
{
    key->pods--;
    if (!key->pods) {
        client_keys_set_value(&keys->parts[CLIENT_KEYS_NODE_ADDRESS], key, slice_of(NULL, 0));
    }
}

static void uncount_addresses(struct client_keys *keys, const struct host_pod *pod)
{
    for (size_t i = 0; i < pod->count; i++) {
        release_address(keys, pod->keys[i]);
    }
}

static struct slice client_keys_make_id(struct client_keys *keys, const char *ns, const char *name)
{
    buf_clear(&keys->id);
    buf_append(&keys->id, ns, strlen(ns) + 1);
    buf_append_str(&keys->id, name);
    return buf_slice(&keys->id);
}

static void discard_pod(struct client_keys *keys, struct host_pod *pod)
{
    uncount_addresses(keys, pod);
    (void)key_table_take(&keys->pods, pod->id);
    free_pod(pod);
}

/* Sets the pod's addresses, new ones first, so that unchanged ones are never absent in between. */
static void set_addresses(struct client_keys *keys, struct host_pod *pod,
                          const struct kube_object *object)
{
    const struct host_pod old = *pod;
    pod->keys = xcalloc(object->pod.ip_count, sizeof(struct client_key *));
    pod->count = 0;
    for (size_t i = 0; i < object->pod.ip_count; i++) {
        struct ip ip;
        if (ip_parse_sloppy(slice_str(object->pod.ips[i]), &ip) && !ip_equal(&ip, &every_ip)) {
            pod->keys[pod->count++] = client_keys_count_address(keys, &ip);
        }
    }
    uncount_addresses(keys, &old);
    free(old.keys);
}

static void upsert_pod(struct client_keys *keys, const struct kube_object *object,
                       uint32_t generation)
{
    struct slice id = client_keys_make_id(keys, object->ns, object->name);
    struct host_pod *pod = key_table_find(&keys->pods, id);
    bool is_wanted = !object->is_garbled && names_addresses(object) && object->pod.ip_count;
    if (is_wanted) {
        pod = pod ? pod : key_table_add(&keys->pods, id, sizeof(*pod));
        set_addresses(keys, pod, object);
    } else if (pod && !object->is_garbled) { /* a garbled pod keeps its last state */
        discard_pod(keys, pod);
        pod = NULL;
    }
    if (pod) {
        pod->generation = generation;
    }
}

static void remove_pod(struct client_keys *keys, const char *ns, const char *name)
{
    struct host_pod *pod = key_table_find(&keys->pods, client_keys_make_id(keys, ns, name));
    if (pod) {
        discard_pod(keys, pod);
    }
}

static void sweep_pods(struct client_keys *keys, const struct client_listing *listing)
{
    size_t at = 0;
    for (struct host_pod *pod; (pod = key_table_next(&keys->pods, &at));) {
        bool is_elsewhere = *listing->ns && strcmp(pod->id.ptr, listing->ns) != 0;
        if (is_elsewhere || pod->generation == listing->generation) {
            at++;
        } else {
            discard_pod(keys, pod);
        }
    }
}

/* ---- Namespaces ---- */

/* Returns the key with this name, in lower case; empty if no key can have the name. */
static struct slice client_keys_namespace_key(struct client_keys *keys, const char *name)
{
    struct part *part = &keys->parts[CLIENT_KEYS_VISIBLE];
    if (!dname_is_host_label(slice_str(name))) {
        return slice_of(NULL, 0);
    }
    client_keys_make_key(keys, part, slice_str(name));
    for (size_t i = part->tree_len; i < keys->key.len; i++) {
        uint8_t c = keys->key.data[i];
        keys->key.data[i] = c >= 'A' && c <= 'Z' ? (uint8_t)(c | 0x20) : c;
    }
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
    struct part *part = &keys->parts[CLIENT_KEYS_VISIBLE];
    size_t count = 0, bytes = 0, at = 0;
    if (client_listings_is_any_open(&part->listings) ||
        (part->bytes <= CLIENT_KEYS_TEXTS_MAX && !part->left_out)) {
        return;
    }
    struct client_key **lists = xcalloc(part->table.count, sizeof(*lists));
    for (struct client_key *key; (key = key_table_next(&part->table, &at)); at++) {
        if (key->value) {
            lists[count++] = key;
        }
    }
    qsort(lists, count, sizeof(*lists), client_keys_compare_lists);
    part->left_out = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += lists[i]->value_len;
        bool is_left_out = bytes > CLIENT_KEYS_TEXTS_MAX;
        part->left_out += is_left_out;
        if (is_left_out != lists[i]->is_left_out) {
            lists[i]->is_left_out = is_left_out;
            client_keys_note_change(part, lists[i]);
        }
    }
    free(lists);
}

static void upsert_namespace(struct client_keys *keys, const struct kube_object *object,
                             uint32_t generation)
{
    struct part *part = &keys->parts[CLIENT_KEYS_VISIBLE];
    struct slice text = client_keys_namespace_key(keys, object->name);
    const char *visible_to = object->ns_object.visible_to;
    bool is_wanted =
        !object->is_garbled && visible_to && strlen(visible_to) <= CLIENT_KEYS_TEXT_MAX;
    struct client_key *key = !text.len   ? NULL
                             : is_wanted ? get_key(part, text)
                                         : key_table_find(&part->table, text);
    if (key) {
        key->generation = generation;
    }
    if (key && !object->is_garbled) {
        client_keys_set_value(part, key, is_wanted ? slice_str(visible_to) : slice_of(NULL, 0));
        client_keys_share_out(keys);
    }
}

static void remove_namespace(struct client_keys *keys, const char *name)
{
    struct part *part = &keys->parts[CLIENT_KEYS_VISIBLE];
    struct slice text = client_keys_namespace_key(keys, name);
    struct client_key *key = text.len ? key_table_find(&part->table, text) : NULL;
    if (key) {
        client_keys_set_value(part, key, slice_of(NULL, 0));
        client_keys_share_out(keys);
    }
}

static void sweep_namespaces(struct client_keys *keys, uint32_t generation)
{
    struct part *part = &keys->parts[CLIENT_KEYS_VISIBLE];
    size_t at = 0;
    for (struct client_key *key; (key = key_table_next(&part->table, &at)); at++) {
        if (key->generation != generation) {
            client_keys_set_value(part, key, slice_of(NULL, 0));
        }
    }
    client_keys_share_out(keys);
}

/* ---- Lists ---- */

/* Returns the part that the kind feeds; NULL: no key of it is wanted. */
static struct part *client_keys_part_of(struct client_keys *keys, enum kube_kind kind)
{
    enum client_keys_part part = kind == KUBE_POD         ? CLIENT_KEYS_NODE_ADDRESS
                                 : kind == KUBE_NAMESPACE ? CLIENT_KEYS_VISIBLE
                                                          : CLIENT_KEYS_PARTS;
    bool is_wanted = part != CLIENT_KEYS_PARTS && keys->config.is_wanted[part];
    return is_wanted ? &keys->parts[part] : NULL;
}

/* Returns the list that the kind's object is in; NULL: it is of no use, or not listed. */
static struct client_listing *client_keys_listing(struct client_keys *keys, enum kube_kind kind,
                                                  const char *ns)
{
    const struct part *part = client_keys_part_of(keys, kind);
    return part ? client_listings_find(&part->listings, ns) : NULL;
}

void client_keys_list_begin(struct client_keys *keys, enum kube_kind kind, const char *ns)
{
    struct client_listing *listing = client_keys_listing(keys, kind, ns);
    if (listing) {
        client_listing_begin(listing);
    }
    if (keys->records) {
        client_records_list_begin(keys->records, kind, ns);
    }
}

/* Ends a complete list: removes objects that it did not name. */
static void client_keys_sweep(struct client_keys *keys, enum kube_kind kind,
                              const struct client_listing *listing)
{
    if (kind == KUBE_POD) {
        sweep_pods(keys, listing);
    } else {
        sweep_namespaces(keys, listing->generation);
    }
}

void client_keys_list_end(struct client_keys *keys, enum kube_kind kind, const char *ns)
{
    const struct part *part = client_keys_part_of(keys, kind);
    struct client_listing *listing = client_keys_listing(keys, kind, ns);
    if (keys->records) {
        client_records_list_end(keys->records, kind, ns);
    }
    if (!listing) {
        return;
    }
    if (client_listing_end(listing, keys->config.is_narrowed[part - keys->parts])) {
        client_keys_sweep(keys, kind, listing);
    }
    client_keys_share_out(keys);
}

void client_keys_upsert(struct client_keys *keys, const struct kube_object *object)
{
    struct client_listing *listing = client_keys_listing(keys, object->kind, object->ns);
    if (keys->records) {
        client_records_upsert(keys->records, object);
    }
    if (!listing) {
        return;
    }
    if (object->kind == KUBE_POD) {
        upsert_pod(keys, object, listing->generation);
    } else {
        upsert_namespace(keys, object, listing->generation);
    }
    if (client_listing_came(listing)) {
        client_keys_sweep(keys, object->kind, listing);
    }
}

void client_keys_remove(struct client_keys *keys, enum kube_kind kind, const char *ns,
                        const char *name)
{
    if (keys->records) {
        client_records_remove(keys->records, kind, ns, name);
    }
    if (client_keys_part_of(keys, kind) && kind == KUBE_POD) {
        remove_pod(keys, ns, name);
    } else if (client_keys_part_of(keys, kind)) {
        remove_namespace(keys, name);
    }
}

void client_keys_lack(struct client_keys *keys, enum kube_kind kind, const char *ns)
{
    if (keys->records) {
        client_records_lack(keys->records, kind, ns);
    }
}

static void lose_lists(struct client_keys *keys, bool are_lost)
{
    struct part *part = &keys->parts[CLIENT_KEYS_VISIBLE];
    size_t at = 0;
    if (part->is_lost == are_lost) {
        return;
    }
    part->is_lost = are_lost;
    for (struct client_key *key; (key = key_table_next(&part->table, &at)); at++) {
        client_keys_note_change(part, key);
    }
}

static void lose_pods(struct client_keys *keys, bool are_lost)
{
    if (are_lost && !keys->every_address && keys->config.namespace_count == 0) {
        keys->every_address = client_keys_count_address(keys, &every_ip);
    } else if (!are_lost && keys->every_address) {
        release_address(keys, keys->every_address);
        keys->every_address = NULL;
    }
}

void client_keys_lose(struct client_keys *keys, enum kube_kind kind, bool is_lost)
{
    if (kind == KUBE_POD && keys->records && keys->config.namespace_count == 0) {
        client_records_lose(keys->records, is_lost);
    }
    if (kind == KUBE_NAMESPACE) {
        lose_lists(keys, is_lost);
    } else if (client_keys_part_of(keys, kind)) {
        lose_pods(keys, is_lost);
    }
}

/* ---- The reconciler's side ---- */

struct slice client_keys_tree(const struct client_keys *keys, enum client_keys_part part)
{
    return slice_of(keys->parts[part].tree, keys->parts[part].tree_len);
}

bool client_keys_is_name(enum client_keys_part part, struct slice segment)
{
    return part == CLIENT_KEYS_VISIBLE ? dname_is_host_label(segment)
                                       : naming_is_address_label(segment);
}

/* Returns whether the key is one of CLIENT_KEYS_RECORD, and of which address. */
static bool parse_record_key(const struct client_keys *keys, struct slice text, struct ip *ret_ip)
{
    const struct part *part = &keys->parts[CLIENT_KEYS_RECORD];
    return keys->records && slice_has_prefix(text, slice_of(part->tree, part->tree_len)) &&
           naming_parse_pod_label(slice_of(text.ptr + part->tree_len, text.len - part->tree_len),
                                  ret_ip);
}

struct slice client_keys_value(const struct client_keys *keys, struct slice text)
{
    struct ip ip;
    if (parse_record_key(keys, text, &ip)) {
        return client_records_value(keys->records, &ip);
    }
    for (size_t i = 0; i < CLIENT_KEYS_PARTS; i++) {
        const struct client_key *key = key_table_find(&keys->parts[i].table, text);
        if (key) {
            return wanted_value(&keys->parts[i], key);
        }
    }
    return slice_of(NULL, 0);
}

static void append_record_key(const struct client_keys *keys, const struct ip *ip, struct buf *out)
{
    const struct part *part = &keys->parts[CLIENT_KEYS_RECORD];
    buf_clear(out);
    buf_append(out, part->tree, part->tree_len);
    naming_pod_label(ip, out);
}

static struct slice next_record_change(struct client_keys *keys)
{
    struct ip ip;
    if (!keys->records || !client_records_next_change(keys->records, &ip)) {
        return slice_of(NULL, 0);
    }
    append_record_key(keys, &ip, &keys->taken);
    return buf_slice(&keys->taken);
}

struct slice client_keys_next_change(struct client_keys *keys, enum client_keys_part which)
{
    struct part *part = &keys->parts[which];
    struct client_key *key = STAILQ_FIRST(&part->changed);
    if (which == CLIENT_KEYS_RECORD) {
        return next_record_change(keys);
    }
    if (!key) {
        return slice_of(NULL, 0);
    }
    STAILQ_REMOVE_HEAD(&part->changed, changed);
    key->is_changed = false;
    buf_clear(&keys->taken);
    buf_append_slice(&keys->taken, key->key);
    if (!key->value) {
        (void)key_table_take(&part->table, key->key);
        free_key(key);
    }
    return buf_slice(&keys->taken);
}

size_t client_keys_left_out(const struct client_keys *keys)
{
    return keys->parts[CLIENT_KEYS_VISIBLE].left_out;
}

bool client_keys_may_delete(const struct client_keys *keys, enum client_keys_part part)
{
    const struct part *state = &keys->parts[part];
    if (part == CLIENT_KEYS_RECORD) {
        return !keys->records || client_records_may_delete(keys->records);
    }
    return !keys->config.is_wanted[part] || state->is_lost ||
           client_listings_are_known(&state->listings);
}

bool client_keys_are_known(const struct client_keys *keys)
{
    return !keys->records || client_records_are_known(keys->records);
}

size_t client_keys_count(const struct client_keys *keys, enum kube_kind kind)
{
    return keys->records ? client_records_count(keys->records, kind) : 0;
}
