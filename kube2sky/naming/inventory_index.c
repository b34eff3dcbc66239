#include "kube2sky/naming/inventory_index_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/xalloc.h"
#include "common/dns/dname.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/naming/naming.h"
#include "kube2sky/naming/node_names_internal.h"

/* Room for namespace and name of at most 253 bytes each (the API's limit) with separators; longer
 * ones are truncated consistently. */
enum { OWNER_ID_MAX = 1024 };

/* The Kubernetes API's limit of a namespace's name. */
enum { NAMESPACE_NAME_MAX = 63 };

/* Prefix for a pod's invalid address; no label begins with it. */
enum { NO_ADDRESS_MARK = '!' };

/* The slices of one Service. */
struct slices {
    struct entry *first;
    uint32_t id_len;
    char id[]; /* "<namespace>/<service>" */
};

/* An address of pods in one namespace: usually of one pod, of several on the host network. */
struct address {
    struct address *next_here; /* of another namespace, with the same IP */
    uint32_t pod_count;
    uint32_t id_len;
    struct ip ip; /* family 0: invalid */
    char id[];    /* "<namespace>/<label>" */
};

static struct slice entry_key(const void *thing)
{
    const struct entry *entry = thing;
    return slice_of(entry->id, entry->id_len);
}

static struct slice slices_key(const void *thing)
{
    const struct slices *slices = thing;
    return slice_of(slices->id, slices->id_len);
}

static struct slice inventory_index_address_key(const void *thing)
{
    const struct address *address = thing;
    return slice_of(address->id, address->id_len);
}

/* Returns the key of the table: family_bytes, followed by that many bytes. */
static struct slice inventory_index_place_of(const struct ip *ip)
{
    return slice_of(ip, 1 + (size_t)ip->family_bytes);
}

static struct slice place_key(const void *thing)
{
    const struct address *address = thing;
    return inventory_index_place_of(&address->ip);
}

void index_init(struct index *index, void (*changed)(void *data, struct slice owner), void *data)
{
    *index = (struct index){.prefix = SERVICE_PREFIX, .changed = changed, .data = data};
    for (size_t kind = 0; kind < KUBE_KIND_COUNT; kind++) {
        key_table_init(&index->kinds[kind], entry_key);
    }
    key_table_init(&index->services, slices_key);
    key_table_init(&index->addresses, inventory_index_address_key);
    key_table_init(&index->places, place_key);
    buf_init(&index->id, OWNER_ID_MAX);
}

static void inventory_index_free_link(struct entry *entry)
{
    if (entry->link) {
        free(entry->link->words);
        free(entry->link);
        entry->link = NULL;
    }
}

void index_fini(struct index *index)
{
    for (size_t kind = 0; kind < KUBE_KIND_COUNT; kind++) {
        struct entry *entry;
        for (size_t at = 0; (entry = key_table_next(&index->kinds[kind], &at)); at++) {
            kube_object_free(entry->object);
            inventory_index_free_link(entry);
        }
        key_table_fini_things(&index->kinds[kind]);
    }
    key_table_fini_things(&index->services);
    key_table_fini(&index->places);
    key_table_fini_things(&index->addresses);
    buf_fini(&index->id);
}

/* ---- Ids ---- */

/* Returns "<prefix><namespace>/<name>" in index->id, borrowed until the next call. */
static struct slice inventory_index_make_id(struct index *index, const char *prefix,
                                            struct slice ns, struct slice name)
{
    buf_clear(&index->id);
    buf_append_str(&index->id, prefix);
    buf_append_lower(&index->id, ns);
    buf_append_char(&index->id, '/');
    buf_append_lower(&index->id, name);
    return buf_slice(&index->id);
}

/* ---- Slices by Service ---- */

static bool has_service(const struct kube_object *slice)
{
    return slice && slice->slice.service[0];
}

static struct slice owner_of_slice(struct index *index, const struct kube_object *slice)
{
    return inventory_index_make_id(index, index->prefix, slice_str(slice->ns),
                                   slice_str(slice->slice.service));
}

static void link_slice(struct index *index, struct entry *entry)
{
    struct slice id = slice_skip(owner_of_slice(index, entry->object), OWNER_PREFIX_LEN);
    struct slices *slices = key_table_find(&index->services, id);
    if (!slices) {
        slices = xcalloc(1, sizeof(*slices) + id.len);
        slices->id_len = (uint32_t)id.len;
        memcpy(slices->id, id.ptr, id.len);
        (void)key_table_put(&index->services, slices); /* returns NULL: it was absent */
    }
    entry->link = xcalloc(1, sizeof(*entry->link));
    entry->link->next = slices->first;
    if (slices->first) {
        slices->first->link->previous = entry;
    }
    slices->first = entry;
}

static void unlink_slice(struct index *index, struct entry *entry)
{
    struct slice id = slice_skip(owner_of_slice(index, entry->object), OWNER_PREFIX_LEN);
    struct slices *slices = key_table_find(&index->services, id);
    const struct slice_link *link = entry->link;
    if (link->next) {
        link->next->link->previous = link->previous;
    }
    if (link->previous) {
        link->previous->link->next = link->next;
    } else {
        slices->first = link->next;
    }
    inventory_index_free_link(entry);
    if (!slices->first) {
        (void)key_table_take(&index->services, id); /* removes this one */
        free(slices);
    }
}

/* Reports a headless Service, the only kind whose records Endpoints feed. A Service that appears or
 * changes is reported by itself. */
static void tell_service(struct index *index, struct slice owner)
{
    const struct entry *service =
        index_find(index, KUBE_SERVICE, slice_skip(owner, OWNER_PREFIX_LEN));
    if (service && service->object->service.is_headless) {
        index->changed(index->data, owner);
    }
}

static bool spares_slice(const struct slice_change *change, struct entry *other)
{
    const struct kube_object *object = other->object;
    if (!slice_change_is_usable(object)) {
        return false;
    }
    if (!other->link->words) {
        other->link->words = slice_words_new(&object->slice);
    }
    return slice_change_spares(change, object, other->link->words);
}

bool index_selects(const struct index *index, struct slice id)
{
    char entry_id[1 + NAMESPACE_NAME_MAX] = "/";
    const struct slice ns = slice_cut(&id, '/');
    if (!index->selects_namespaces) {
        return true;
    }
    if (ns.len == 0 || ns.len > NAMESPACE_NAME_MAX) {
        return false;
    }
    memcpy(entry_id + 1, ns.ptr, ns.len);
    return index_find(index, KUBE_NAMESPACE, slice_of(entry_id, 1 + ns.len)) != NULL;
}

/* Reports the change of a slice of a headless Service by itself. Returns false if another slice of
 * the Service is affected. */
static bool tell_slice_alone(struct index *index, struct entry *entry,
                             const struct kube_object *old)
{
    const struct kube_object *new = entry->object, *any = new ? new : old;
    struct slice owner = owner_of_slice(index, any);
    struct entry *service = index_find(index, KUBE_SERVICE, slice_skip(owner, OWNER_PREFIX_LEN));
    if (!index->slice_changed || !service || !service->object->service.is_headless ||
        !index_selects(index, slice_skip(owner, OWNER_PREFIX_LEN))) {
        return false;
    }
    struct slice_change change;
    const struct slices *slices =
        key_table_find(&index->services, slice_skip(owner, OWNER_PREFIX_LEN));
    bool is_alone = slice_change_init(&change, service->object, old, new);
    for (struct entry *at = slices ? slices->first : NULL; at && is_alone; at = at->link->next) {
        is_alone = at == entry || spares_slice(&change, at);
    }
    if (is_alone) {
        index->slice_changed(index->data, owner, &change);
    }
    return is_alone;
}

static void set_slice(struct index *index, struct entry *entry, struct kube_object *object)
{
    struct kube_object *old = entry->object;
    if (has_service(old)) {
        unlink_slice(index, entry);
    }
    entry->object = object;
    if (has_service(object)) {
        link_slice(index, entry);
    }
    bool is_of_one = (has_service(old) || has_service(object)) &&
                     (!old || !object || strcmp(old->slice.service, object->slice.service) == 0);
    if (is_of_one && tell_slice_alone(index, entry, old)) {
        return;
    }
    if (has_service(object)) {
        tell_service(index, owner_of_slice(index, object));
    }
    bool has_moved = has_service(old) && !(has_service(object) &&
                                           strcmp(old->slice.service, object->slice.service) == 0);
    if (has_moved) {
        tell_service(index, owner_of_slice(index, old));
    }
}

/* ---- Pods by address ---- */

/* Returns how many addresses of the pod count: none of an ended one. */
static size_t address_count(const struct kube_object *pod)
{
    return pod && !kube_object_has_ended(pod) ? pod->pod.ip_count : 0;
}

static struct slice owner_of_pod(struct index *index, const struct kube_object *pod, size_t i,
                                 struct ip *ret_ip)
{
    const char *text = pod->pod.ips[i];
    struct slice owner;
    struct buf name;
    buf_init(&name, OWNER_ID_MAX);
    if (ip_parse_sloppy(slice_str(text), ret_ip)) {
        naming_pod_label(ret_ip, &name);
    } else {
        *ret_ip = (struct ip){.family_bytes = 0};
        buf_append_char(&name, NO_ADDRESS_MARK);
        buf_append_str(&name, text);
    }
    owner = inventory_index_make_id(index, POD_PREFIX, slice_str(pod->ns), buf_slice(&name));
    buf_fini(&name);
    return owner;
}

static void link_place(struct index *index, struct address *address)
{
    struct address *first = key_table_find(&index->places, place_key(address));
    if (first) {
        address->next_here = first->next_here;
        first->next_here = address;
    } else {
        (void)key_table_put(&index->places, address); /* returns NULL: it was absent */
    }
}

static void unlink_place(struct index *index, struct address *address)
{
    struct address *first = key_table_find(&index->places, place_key(address));
    struct address **link = &first;
    while (*link != address) {
        link = &(*link)->next_here;
    }
    *link = address->next_here;
    if (first) {
        (void)key_table_put(&index->places, first); /* returns the former first one */
    } else {
        (void)key_table_take(&index->places, place_key(address)); /* removes this one */
    }
}

static void inventory_index_count_address(struct index *index, const struct kube_object *pod,
                                          size_t i)
{
    struct ip ip;
    struct slice owner = owner_of_pod(index, pod, i, &ip), id = slice_skip(owner, OWNER_PREFIX_LEN);
    struct address *address = key_table_find(&index->addresses, id);
    if (!address) {
        address = xcalloc(1, sizeof(*address) + id.len);
        address->ip = ip;
        address->id_len = (uint32_t)id.len;
        memcpy(address->id, id.ptr, id.len);
        (void)key_table_put(&index->addresses, address); /* returns NULL: it was absent */
        if (ip.family_bytes) {
            link_place(index, address);
        }
    }
    address->pod_count++;
    if (address->pod_count == 1) {
        index->changed(index->data, owner);
    }
}

static void uncount_address(struct index *index, const struct kube_object *pod, size_t i)
{
    struct ip ip;
    struct slice owner = owner_of_pod(index, pod, i, &ip), id = slice_skip(owner, OWNER_PREFIX_LEN);
    struct address *address = key_table_find(&index->addresses, id);
    address->pod_count--;
    if (address->pod_count == 0) {
        (void)key_table_take(&index->addresses, id); /* removes this one */
        if (ip.family_bytes) {
            unlink_place(index, address);
        }
        free(address);
        index->changed(index->data, owner);
    }
}

/* Sets the pod's addresses, new ones first, so that unchanged ones are never absent in between. */
static void set_pod(struct index *index, struct entry *entry, struct kube_object *object)
{
    const struct kube_object *old = entry->object;
    for (size_t i = 0; i < address_count(object); i++) {
        inventory_index_count_address(index, object, i);
    }
    for (size_t i = 0; i < address_count(old); i++) {
        uncount_address(index, old, i);
    }
    entry->object = object;
}

/* ---- Entries ---- */

struct entry *index_find(const struct index *index, enum kube_kind kind, struct slice id)
{
    return key_table_find(&index->kinds[kind], id);
}

struct entry *index_lookup(struct index *index, enum kube_kind kind, struct slice ns,
                           struct slice name)
{
    return index_find(index, kind, inventory_index_make_id(index, "", ns, name));
}

struct entry *index_service_of(struct index *index, const struct kube_object *part)
{
    if (part->kind != KUBE_SLICE && part->kind != KUBE_ENDPOINTS) {
        return NULL;
    }
    const char *name = part->kind == KUBE_SLICE ? part->slice.service : part->name;
    return index_lookup(index, KUBE_SERVICE, slice_str(part->ns), slice_str(name));
}

struct entry *index_get(struct index *index, enum kube_kind kind, struct slice ns,
                        struct slice name)
{
    struct slice id = inventory_index_make_id(index, "", ns, name);
    struct entry *entry = index_find(index, kind, id);
    if (!entry) {
        entry = xcalloc(1, sizeof(*entry) + id.len);
        entry->id_len = (uint16_t)id.len; /* cannot be cut: at most OWNER_ID_MAX */
        memcpy(entry->id, id.ptr, id.len);
        (void)key_table_put(&index->kinds[kind], entry); /* returns NULL: it was absent */
    }
    return entry;
}

/* Returns the owner of a Service, or of Endpoints, which have the Service's name. */
static struct slice owner_of_named(struct index *index, const struct entry *entry)
{
    buf_clear(&index->id);
    buf_append_str(&index->id, index->prefix);
    buf_append(&index->id, entry->id, entry->id_len);
    return buf_slice(&index->id);
}

/* Returns the owner of a Node, whose entry's id, "/worker-1", has no namespace. */
static struct slice owner_of_node(struct index *index, const struct entry *entry)
{
    buf_clear(&index->id);
    node_names_append_owner(slice_of(entry->id + 1, (size_t)entry->id_len - 1), &index->id);
    return buf_slice(&index->id);
}

void index_tell(struct index *index, enum kube_kind kind, const struct entry *entry)
{
    switch (kind) {
    case KUBE_SERVICE:
        index->changed(index->data, owner_of_named(index, entry));
        break;
    case KUBE_ENDPOINTS:
        tell_service(index, owner_of_named(index, entry));
        break;
    case KUBE_SLICE:
        if (has_service(entry->object)) {
            tell_service(index, owner_of_slice(index, entry->object));
        }
        break;
    case KUBE_NODE:
        index->changed(index->data, owner_of_node(index, entry));
        break;
    case KUBE_INGRESS: /* of route_table.h, as are the next two */
    case KUBE_GATEWAY:
    case KUBE_ROUTE:
    case KUBE_IMPORT: /* is stored as a Service, and its slice as a slice */
    case KUBE_IMPORT_SLICE:
    case KUBE_CONFIG_MAP: /* is never stored here */
    case KUBE_NAMESPACE:  /* yields no keys here */
    case KUBE_POD:
        break; /* its addresses are reported when they are added and removed */
    }
}

static bool is_in_namespace(struct slice id, const char *ns)
{
    return !ns || slice_equal(slice_cut(&id, '/'), slice_str(ns));
}

void index_tell_namespace(struct index *index, const char *ns)
{
    const struct entry *entry;
    for (size_t at = 0; (entry = key_table_next(&index->kinds[KUBE_SERVICE], &at)); at++) {
        if (is_in_namespace(slice_of(entry->id, entry->id_len), ns)) {
            index_tell(index, KUBE_SERVICE, entry);
        }
    }
    const struct address *address;
    for (size_t at = 0; (address = key_table_next(&index->addresses, &at)); at++) {
        if (is_in_namespace(slice_of(address->id, address->id_len), ns)) {
            buf_clear(&index->id);
            buf_append_str(&index->id, POD_PREFIX);
            buf_append(&index->id, address->id, address->id_len);
            index->changed(index->data, buf_slice(&index->id));
        }
    }
}

void index_set_object(struct index *index, enum kube_kind kind, struct entry *entry,
                      struct kube_object *object)
{
    struct kube_object *old = entry->object;
    if (kind == KUBE_SLICE) {
        set_slice(index, entry, object);
    } else if (kind == KUBE_POD) {
        set_pod(index, entry, object);
    } else {
        entry->object = object;
        index_tell(index, kind, entry);
    }
    kube_object_free(old);
}

/* ---- Parts of Services that need none ---- */

static struct entry *first_slice(const struct index *index, struct slice service)
{
    const struct slices *slices = key_table_find(&index->services, service);
    return slices ? slices->first : NULL;
}

static void inventory_index_strip(struct entry *entry)
{
    if (entry && !entry->object->is_bare) {
        struct kube_object *whole = entry->object;
        entry->object = kube_object_bare(whole);
        kube_object_free(whole);
        if (entry->link) {
            free(STEAL(entry->link->words));
        }
    }
}

void index_strip_parts(struct index *index, struct slice service)
{
    inventory_index_strip(index_find(index, KUBE_ENDPOINTS, service));
    for (struct entry *entry = first_slice(index, service); entry; entry = entry->link->next) {
        inventory_index_strip(entry);
    }
}

bool index_has_bare_parts(const struct index *index, struct slice service)
{
    const struct entry *entry = index_find(index, KUBE_ENDPOINTS, service);
    bool is_bare = entry && entry->object->is_bare;
    for (entry = first_slice(index, service); entry && !is_bare; entry = entry->link->next) {
        is_bare = entry->object->is_bare;
    }
    return is_bare;
}

void index_discard(struct index *index, enum kube_kind kind, struct entry *entry)
{
    (void)key_table_take(&index->kinds[kind], entry_key(entry)); /* removes this one */
    index_set_object(index, kind, entry, NULL);
    free(entry);
}

/* ---- An owner's objects ---- */

static void add_part(struct owner_objects *objects, const struct kube_object *part)
{
    if (part->is_garbled || part->is_bare) {
        objects->is_in_doubt = true;
    } else {
        owner_objects_add_part(objects, part);
    }
}

void index_add_endpoints(const struct index *index, struct slice service,
                         struct owner_objects *objects)
{
    const struct entry *entry = index_find(index, KUBE_ENDPOINTS, service);
    if (entry) {
        add_part(objects, entry->object);
    }
}

void index_add_slices(const struct index *index, struct slice service,
                      struct owner_objects *objects)
{
    for (const struct entry *entry = first_slice(index, service); entry;
         entry = entry->link->next) {
        add_part(objects, entry->object);
    }
}

bool index_has_news(const struct index *index, struct slice service)
{
    const struct slices *slices = key_table_find(&index->services, service);
    bool has_news = false;
    for (const struct entry *entry = slices ? slices->first : NULL; entry;
         entry = entry->link->next) {
        has_news = has_news || entry->is_news;
    }
    return has_news;
}

void index_add_pod(const struct index *index, struct slice address, struct owner_objects *objects)
{
    const struct address *found = key_table_find(&index->addresses, address);
    struct slice id = found ? slice_of(found->id, found->id_len) : slice_of(NULL, 0);
    const struct slice ns = slice_cut(&id, '/');
    if (id.len) {
        objects->pod_ns = ns;
        objects->pod_name = slice_skip(id, found->ip.family_bytes == 0); /* NO_ADDRESS_MARK */
        objects->pod_ip = found->ip;
    }
}

bool index_has_pod(const struct index *index, const struct ip *ip)
{
    return key_table_find(&index->places, inventory_index_place_of(ip)) != NULL;
}

bool index_has_pod_of(const struct index *index, const struct ip *ip, struct slice ns)
{
    const struct address *address = key_table_find(&index->places, inventory_index_place_of(ip));
    while (address && !(address->id_len > ns.len && address->id[ns.len] == '/' &&
                        memcmp(address->id, ns.ptr, ns.len) == 0)) {
        address = address->next_here;
    }
    return address != NULL;
}
