#include "skydns/sync/client_pods_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "skydns/clients/client_index.h"
#include "skydns/records/store.h"

/* Labels of a pod's key below pod.<domain>: namespace and address, with or without the hash that
 * kube2sky writes. A key with more may be one of another domain below this one. */
enum { LABELS_MIN = 2, LABELS_MAX = 3 };

/* Content of one key: the address belongs to a pod of the namespace. */
struct claim {
    struct ip ip;    /* family_bytes 0: nothing */
    struct slice ns; /* empty: it identifies no client */
};

void client_pods_init(struct client_pods *pods, struct client_index *index)
{
    *pods = (struct client_pods){.index = index};
    buf_init(&pods->noted, (size_t)CLIENT_PODS_NOTED_MAX * DNAME_MAX);
}

void client_pods_fini(struct client_pods *pods)
{
    buf_fini(&pods->noted);
}

void client_pods_set_domains(struct client_pods *pods, const struct dname *domains, size_t count)
{
    pods->domain_count = count;
    for (size_t i = 0; i < count; i++) {
        struct dname name = domains[i];
        bool fits = dname_prepend(&name, slice_str("pod"));
        pods->domains[i] =
            (struct client_pods_domain){.pods = fits ? name : (struct dname){.len = 0}};
    }
    client_pods_read_again(pods);
}

/* ---- Claims ---- */

/* Compares byte by byte: the record store preserves case, and a key with capital letters is not
 * below the zone's node. */
static bool is_below(const struct dname *name, const struct dname *zone)
{
    return zone->len > 0 && name->len > zone->len && dname_is_within(name, zone) &&
           memcmp(name->wire + name->len - zone->len, zone->wire, zone->len) == 0;
}

/* Returns the domain in which the name is a pod's key; NULL: none. `ret_ns` is borrowed from the
 * name. */
static const struct client_pods_domain *client_pods_domain_of(const struct client_pods *pods,
                                                              const struct dname *name,
                                                              struct slice *ret_ns)
{
    for (size_t i = 0; i < pods->domain_count; i++) {
        const struct client_pods_domain *domain = &pods->domains[i];
        if (!is_below(name, &domain->pods)) {
            continue;
        }
        struct dname_labels labels;
        dname_labels(name, &labels);
        unsigned below = labels.count - dname_label_count(&domain->pods);
        if (below >= LABELS_MIN && below <= LABELS_MAX) {
            *ret_ns = dname_label(name, labels.offsets[below - 1]);
            return domain;
        }
    }
    return NULL;
}

static struct claim client_pods_claim_of(const struct client_pods_domain *domain,
                                         const struct store_record *record, struct slice ns)
{
    struct claim claim = {.ns = domain->is_known && !slice_has_capitals(ns) ? ns : slice_of("", 0)};
    if (record && record->host == STORE_HOST_IP) {
        claim.ip = store_record_ip(record);
    }
    return claim;
}

static struct claim claim_in(const struct client_pods_domain *domain, const struct store *store,
                             const struct dname *name, struct slice ns)
{
    return client_pods_claim_of(domain, store_find_record(store, name), ns);
}

/* Adds what the claim says to the index, or takes it back. */
static void apply_claim(const struct client_pods *pods, const struct claim *claim, bool is_there)
{
    if (claim->ip.family_bytes == 0) {
        return;
    }
    if (claim->ns.len > 0) {
        (is_there ? client_index_add : client_index_remove)(pods->index, &claim->ip, claim->ns);
    } else {
        (is_there ? client_index_bar : client_index_unbar)(pods->index, &claim->ip);
    }
}

/* ---- Following ---- */

void client_pods_read_again(struct client_pods *pods)
{
    pods->store = NULL;
    pods->noted_count = 0;
    buf_clear(&pods->noted);
}

bool client_pods_is_to_read(const struct client_pods *pods)
{
    return !pods->store;
}

void client_pods_note(struct client_pods *pods, const struct dname *name)
{
    struct slice ns;
    if (!pods->store || !client_pods_domain_of(pods, name, &ns)) {
        return;
    }
    if (pods->noted_count == CLIENT_PODS_NOTED_MAX) {
        client_pods_read_again(pods);
        return;
    }
    pods->noted_count++;
    buf_append(&pods->noted, name->wire, name->len);
}

static void follow_name(struct client_pods *pods, const struct store *store, struct slice wire)
{
    struct dname name = {.len = (uint8_t)wire.len};
    struct slice ns;
    memcpy(name.wire, wire.ptr, wire.len);
    const struct client_pods_domain *domain = client_pods_domain_of(pods, &name, &ns);
    if (!domain) {
        return;
    }
    struct claim before = claim_in(domain, pods->store, &name, ns);
    struct claim now = claim_in(domain, store, &name, ns);
    if (!ip_equal(&before.ip, &now.ip)) {
        apply_claim(pods, &before, false);
        apply_claim(pods, &now, true);
    }
}

static int compare_names(const void *a, const void *b)
{
    return slice_compare(*(const struct slice *)a, *(const struct slice *)b);
}

/* Returns the length of a name on the wire, which ends with the root label. */
static size_t wire_len(const uint8_t *wire)
{
    size_t len = 0;
    while (wire[len] > 0) {
        len += 1 + (size_t)wire[len];
    }
    return len + 1;
}

void client_pods_follow(struct client_pods *pods, const struct store *store)
{
    struct slice *names = xcalloc(pods->noted_count + 1, sizeof(*names));
    const uint8_t *at = pods->noted.data;
    for (size_t i = 0; i < pods->noted_count; i++) {
        names[i] = slice_of(at, wire_len(at));
        at += names[i].len;
    }
    qsort(names, pods->noted_count, sizeof(*names), compare_names);
    for (size_t i = 0; i < pods->noted_count; i++) {
        if (i == 0 || !slice_equal(names[i], names[i - 1])) {
            follow_name(pods, store, names[i]);
        }
    }
    free(names);
    pods->store = store;
    pods->noted_count = 0;
    buf_clear(&pods->noted);
}

/* ---- All ---- */

struct reading {
    struct client_pods *pods;
    const struct client_pods_domain *domain;
    struct slice ns;
};

static bool read_leaf(void *data, const struct store_node *node)
{
    const struct reading *reading = data;
    struct claim claim =
        client_pods_claim_of(reading->domain, store_node_record(node), reading->ns);
    apply_claim(reading->pods, &claim, true);
    return true;
}

static bool read_address(void *data, const struct store_node *node)
{
    return read_leaf(data, node) && store_each_child(node, read_leaf, data);
}

static bool client_pods_read_namespace(void *data, const struct store_node *node)
{
    struct reading *reading = data;
    reading->ns = store_node_label(node);
    return store_each_child(node, read_address, reading);
}

void client_pods_read(struct client_pods *pods, const struct store *store)
{
    for (size_t i = 0; i < pods->domain_count; i++) {
        const struct dname *name = &pods->domains[i].pods;
        const struct store_node *node = name->len > 0 ? store_find(store, name) : NULL;
        struct reading reading = {.pods = pods, .domain = &pods->domains[i]};
        if (node) {
            (void)store_each_child(node, client_pods_read_namespace, &reading); /* stops nowhere */
        }
    }
    pods->store = store;
}
