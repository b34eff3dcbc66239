#include "skydns/sync/stub_keys_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/dns/record.h"
#include "skydns/publish/engine_config.h"
#include "skydns/records/store.h"
#include "skydns/sync/broken.h"

enum { LINES_A_MINUTE = 10, DNS_PORT = 53 };

/* Name, and its node in the version followed last. That version's nodes live until the next one
 * replaces them, so an equal pointer is the same node with the same records below it. */
struct place {
    struct dname name;
    const struct store_node *node; /* NULL: there is none */
};

/* Key below dns/stub; the slices are borrowed from its record or name. */
struct stub_key {
    const struct store_record *record; /* NULL: its value is none */
    struct slice zone;                 /* wire, without the root label; empty: the root */
    struct slice label;
};

struct stub_keys {
    struct stub_keys_config config;
    bool is_on;
    bool is_set; /* since the last version */
    size_t domain_count;
    struct dname domains[ENGINE_ZONES_MAX];
    struct place stubs[ENGINE_ZONES_MAX]; /* stub.dns.<domain> */
    size_t host_count;
    struct place *hosts; /* STUB_HOSTS_MAX; NULL before the first */

    struct broken_table *told; /* unusable keys that the log has */
    size_t zone_count;
    struct forward_zone *zones; /* as told */

    /* Fields that are set while reading. */
    size_t key_count;
    struct stub_key *keys;
    size_t broken_count;
    struct dname *broken; /* the names of those without a record */
    size_t suffix_len;    /* wire bytes of the stub.dns.<domain> being read */
    bool is_cut;
};

/* ---- The keys ---- */

/* Adds a key. Returns false if there is no room. */
static bool add_stub_key(struct stub_keys *keys, const struct store_record *record,
                         struct slice name, size_t suffix_len)
{
    size_t label_len = (uint8_t)name.ptr[0];
    keys->is_cut = keys->key_count == STUB_KEYS_MAX;
    if (!keys->is_cut) {
        keys->keys[keys->key_count++] = (struct stub_key){
            .record = record,
            .label = slice_of(name.ptr + 1, label_len),
            .zone = slice_of(name.ptr + 1 + label_len, name.len - 1 - label_len - suffix_len),
        };
    }
    return !keys->is_cut;
}

static bool stub_keys_visit(void *data, const struct store_node *node)
{
    struct stub_keys *keys = data;
    const struct store_record *record = store_node_record(node);
    return (!record ||
            add_stub_key(keys, record, store_record_name_wire(record), keys->suffix_len)) &&
           store_each_child(node, stub_keys_visit, keys);
}

/* Returns the name dns/stub that a lower-cased name is below; NULL: none. */
static const struct place *stub_of(const struct stub_keys *keys, const struct dname *name)
{
    for (size_t i = 0; i < keys->domain_count; i++) {
        const struct dname *stub = &keys->stubs[i].name;
        if (stub->len > 0 && name->len > stub->len && dname_is_within(name, stub)) {
            return &keys->stubs[i];
        }
    }
    return NULL;
}

/* Scan of broken keys, beside the version that is read. */
struct broken_scan {
    struct stub_keys *keys;
    const struct store *store;
};

/* Adds the zone of a broken key all the same: otherwise its names would go to the general
 * upstreams. */
static bool visit_broken(void *data, const struct broken_key *key)
{
    const struct broken_scan *scan = data;
    struct stub_keys *keys = scan->keys;
    struct dname *name = &keys->broken[keys->broken_count];
    if (!record_key_to_name(keys->config.prefix, key->key, name)) {
        return true;
    }
    dname_lower(name);
    const struct place *stub = stub_of(keys, name);
    if (!stub || store_find_record(scan->store, name)) {
        return true;
    }
    keys->broken_count++;
    return add_stub_key(keys, NULL, slice_of(name->wire, name->len), stub->name.len);
}

/* Orders keys by zone; within one, labels order its upstreams. */
static int stub_keys_compare_keys(const void *a, const void *b)
{
    const struct stub_key *x = a, *y = b;
    int order = slice_compare(x->zone, y->zone);
    return order ? order : slice_compare(x->label, y->label);
}

static void stub_keys_read_keys(struct stub_keys *keys, const struct store *store)
{
    struct broken_scan scan = {.keys = keys, .store = store};
    keys->key_count = keys->broken_count = 0;
    keys->is_cut = false;
    keys->keys = xcalloc(STUB_KEYS_MAX, sizeof(*keys->keys));
    for (size_t i = 0; i < keys->domain_count && !keys->is_cut; i++) {
        const struct place *stub = &keys->stubs[i];
        keys->suffix_len = stub->name.len;
        if (stub->node) {
            (void)store_each_child(stub->node, stub_keys_visit, keys); /* false if cut */
        }
    }
    keys->broken = xcalloc(broken_count(keys->config.broken) + 1, sizeof(*keys->broken));
    if (!keys->is_cut) {
        broken_each(keys->config.broken, visit_broken, &scan);
    }
    if (keys->is_cut) {
        log_warn("more keys of stub zones than are read", LOG_INT("read", STUB_KEYS_MAX));
    }
    qsort(keys->keys, keys->key_count, sizeof(*keys->keys), stub_keys_compare_keys);
}

static void stub_keys_refuse(struct stub_keys *keys, struct slice key, int64_t revision,
                             const char *reason)
{
    static struct log_limit limit = {.burst = LINES_A_MINUTE};
    (void)broken_put(keys->config.broken, key, revision, reason); /* known or not */
    if (broken_put(keys->told, key, revision, reason) && log_limit_pass(&limit)) {
        log_warn("key of a stub zone cannot be used", LOG_SLICE("key", key),
                 LOG_STR("reason", reason), LOG_INT("suppressed", (int64_t)limit.suppressed));
    }
}

/* Unmarks a key whose record may be unusable only here. Keys without a record are reported by
 * others. */
static bool stub_keys_unmark(void *data, const struct broken_key *key)
{
    const struct broken_scan *scan = data;
    struct stub_keys *keys = scan->keys;
    struct dname name;
    if (record_key_to_name(keys->config.prefix, key->key, &name)) {
        const struct store_record *record = store_find_record(scan->store, &name);
        if (record && record->host != STORE_HOST_BAD) {
            broken_del(keys->config.broken, key->key);
        }
    }
    return true;
}

/* Marks the key as broken; reason NULL: it can be used. */
static void stub_keys_mark(struct stub_keys *keys, const struct stub_key *key, const char *reason)
{
    struct dname name;
    if (!reason || !key->record || key->record->host == STORE_HOST_BAD) {
        return; /* of bad ones, store_sync.c has told */
    }
    store_record_name(key->record, &name);
    CLEANUP_BUF struct buf text = buf_of(BROKEN_KEY_MAX);
    record_key_of(keys->config.prefix, &name, &text);
    stub_keys_refuse(keys, buf_slice(&text), key->record->mod_revision, reason);
}

/* ---- Nameservers ---- */

static void add_server(struct forward_zone *zone, const struct ip *ip, uint16_t port)
{
    struct nameserver server = nameserver_at(addr_of_ip(ip, port ? port : DNS_PORT));
    for (size_t i = 0; i < zone->server_count; i++) {
        if (nameserver_equal(&zone->servers[i], &server)) {
            return;
        }
    }
    if (zone->server_count < ZONE_SERVERS_MAX) {
        zone->servers[zone->server_count++] = server;
    }
}

struct addresses {
    size_t count, visits;
    struct ip items[STUB_HOST_VISITS_MAX];
};

/* Collects as an answer for this name does: not below labels that start with `_`. */
static bool stub_keys_collect(void *data, const struct store_node *node)
{
    struct addresses *found = data;
    const struct store_record *record = store_node_record(node);
    struct slice label = store_node_label(node);
    if (label.len > 0 && label.ptr[0] == '_') {
        return true;
    }
    if (found->visits++ == STUB_HOST_VISITS_MAX) {
        return false;
    }
    if (record && record->host == STORE_HOST_IP) {
        found->items[found->count++] = store_record_ip(record);
    }
    return store_each_child(node, stub_keys_collect, found);
}

static int compare_ips(const void *a, const void *b)
{
    const struct ip *x = a, *y = b;
    return x->family_bytes != y->family_bytes ? x->family_bytes - y->family_bytes
                                              : memcmp(x->bytes, y->bytes, x->family_bytes);
}

/* Returns the followed name, added if it is new. NULL: there are too many. */
static struct place *stub_keys_place_of(struct stub_keys *keys, const struct store *store,
                                        const struct dname *name)
{
    for (size_t i = 0; i < keys->host_count; i++) {
        if (dname_equal(&keys->hosts[i].name, name)) {
            return &keys->hosts[i];
        }
    }
    if (keys->host_count == STUB_HOSTS_MAX) {
        return NULL;
    }
    if (!keys->hosts) {
        keys->hosts = xcalloc(STUB_HOSTS_MAX, sizeof(*keys->hosts));
    }
    struct place *place = &keys->hosts[keys->host_count++];
    *place = (struct place){.name = *name, .node = store_find(store, name)};
    return place;
}

/* Adds the addresses of a name, in an order of their own. Returns why there are none, or NULL. */
static const char *stub_keys_add_host(struct stub_keys *keys, const struct store *store,
                                      const struct stub_key *key, struct forward_zone *zone)
{
    struct dname name;
    struct addresses found = {0};
    if (!store_record_host_name(key->record, &name)) {
        return "it has no host";
    }
    dname_lower(&name);
    if (!dname_is_within_any(&name, keys->domains, keys->domain_count)) {
        return "its host is an external name: expected an address, or a name in our domains";
    }
    const struct place *place = stub_keys_place_of(keys, store, &name);
    if (!place) {
        return "more than 1,024 names as hosts of stub zones";
    }
    if (place->node) {
        (void)stub_keys_collect(&found, place->node); /* false at the limit */
    }
    qsort(found.items, found.count, sizeof(found.items[0]), compare_ips);
    for (size_t i = 0; i < found.count; i++) {
        add_server(zone, &found.items[i], key->record->port);
    }
    return found.count ? NULL : "its host has no address";
}

static const char *stub_keys_add_key(struct stub_keys *keys, const struct store *store,
                                     const struct stub_key *key, struct forward_zone *zone)
{
    if (!key->record) {
        return "its value is no record";
    }
    if (zone->server_count == ZONE_SERVERS_MAX) {
        return "more than 16 servers of one stub zone";
    }
    if (key->record->host != STORE_HOST_IP) {
        return stub_keys_add_host(keys, store, key, zone);
    }
    struct ip ip = store_record_ip(key->record);
    add_server(zone, &ip, key->record->port);
    return NULL;
}

/* ---- Zones ---- */

/* Returns the zone whose labels these are, without the root's. */
static struct dname zone_name(struct slice wire)
{
    struct dname name = {.len = (uint8_t)(wire.len + 1)};
    memcpy(name.wire, wire.ptr, wire.len);
    dname_lower(&name);
    return name;
}

/* Returns why the name cannot be a stub zone, or NULL. */
static const char *stub_keys_refusal_of(const struct stub_keys *keys, const struct dname *name,
                                        size_t count)
{
    if (name->len == 1) {
        return "the root is not a stub zone: set -nameservers";
    }
    for (size_t i = 0; i < keys->domain_count; i++) {
        if (dname_equal(name, &keys->domains[i])) {
            return "its zone is one of the domains answered here";
        }
    }
    return count == ZONE_TABLE_MAX ? "more than 1,024 stub zones" : NULL;
}

/* Makes the zones of all keys, which are sorted; returns how many. */
static size_t make_zones(struct stub_keys *keys, const struct store *store,
                         struct forward_zone *zones)
{
    size_t count = 0;
    for (size_t at = 0; at < keys->key_count;) {
        struct slice wire = keys->keys[at].zone;
        struct forward_zone zone = {.name = zone_name(wire), .origin = ZONE_FROM_KEYS};
        const char *refusal = stub_keys_refusal_of(keys, &zone.name, count);
        for (; at < keys->key_count && slice_equal(keys->keys[at].zone, wire); at++) {
            const struct stub_key *key = &keys->keys[at];
            stub_keys_mark(keys, key,
                           refusal ? refusal : stub_keys_add_key(keys, store, key, &zone));
        }
        if (!refusal) {
            zones[count++] = zone;
        }
    }
    return count;
}

static bool same_zone(const struct forward_zone *a, const struct forward_zone *b)
{
    bool same = dname_equal(&a->name, &b->name) && a->server_count == b->server_count;
    for (size_t i = 0; same && i < a->server_count; i++) {
        same = nameserver_equal(&a->servers[i], &b->servers[i]);
    }
    return same;
}

/* Publishes the zones, and takes them over. */
static void stub_keys_publish(struct stub_keys *keys, struct forward_zone *zones, size_t count)
{
    bool same = count == keys->zone_count;
    for (size_t i = 0; same && i < count; i++) {
        same = same_zone(&zones[i], &keys->zones[i]);
    }
    free(keys->zones);
    keys->zones = zones;
    keys->zone_count = count;
    if (!same) {
        keys->config.changed(keys->config.data, zones, count);
    }
}

static void stub_keys_read_all(struct stub_keys *keys, const struct store *store)
{
    size_t count = 0;
    keys->host_count = 0;
    stub_keys_read_keys(keys, store);
    struct broken_scan scan = {.keys = keys, .store = store};
    broken_each(keys->told, stub_keys_unmark, &scan); /* what is not read any more is not broken */
    broken_begin_read(keys->told);
    struct forward_zone *zones = xcalloc(ZONE_TABLE_MAX, sizeof(*zones));
    if (keys->is_on) {
        count = make_zones(keys, store, zones);
    }
    broken_end_read(keys->told);
    free(keys->keys);
    free(keys->broken);
    keys->keys = NULL;
    keys->broken = NULL;
    stub_keys_publish(keys, xrealloc_array(zones, count ? count : 1, sizeof(*zones)), count);
}

/* ---- Following ---- */

struct stub_keys *stub_keys_new(const struct stub_keys_config *config)
{
    struct stub_keys *keys = xcalloc(1, sizeof(*keys));
    keys->config = *config;
    keys->told = broken_new();
    return keys;
}

void stub_keys_free(struct stub_keys *keys)
{
    if (keys) {
        broken_free(keys->told);
        free(keys->hosts);
        free(keys->zones);
        free(keys);
    }
}

void stub_keys_set(struct stub_keys *keys, bool is_on, const struct dname *domains, size_t count)
{
    keys->is_set = keys->is_set || is_on || keys->is_on;
    keys->is_on = is_on;
    keys->domain_count = count;
    memcpy(keys->domains, domains, count * sizeof(domains[0]));
    for (size_t i = 0; i < count; i++) {
        struct dname name = domains[i];
        bool fits =
            dname_prepend(&name, slice_str("dns")) && dname_prepend(&name, slice_str("stub"));
        keys->stubs[i].name = fits ? name : (struct dname){0}; /* without keys, then */
    }
}

void stub_keys_read_again(struct stub_keys *keys)
{
    keys->is_set = keys->is_set || keys->is_on;
}

void stub_keys_note(struct stub_keys *keys, const struct dname *name)
{
    struct dname lower = *name;
    dname_lower(&lower);
    keys->is_set = keys->is_set || (keys->is_on && stub_of(keys, &lower));
}

static bool find_again(struct place *place, const struct store *store)
{
    const struct store_node *before = place->node;
    place->node = place->name.len ? store_find(store, &place->name) : NULL;
    return place->node != before;
}

void stub_keys_follow(struct stub_keys *keys, const struct store *store)
{
    bool is_change = keys->is_set;
    if (!keys->is_on && !keys->is_set) {
        return;
    }
    for (size_t i = 0; i < keys->domain_count; i++) {
        is_change = find_again(&keys->stubs[i], store) || is_change;
    }
    for (size_t i = 0; i < keys->host_count; i++) {
        is_change = find_again(&keys->hosts[i], store) || is_change;
    }
    if (is_change) {
        keys->is_set = false;
        stub_keys_read_all(keys, store);
    }
}
