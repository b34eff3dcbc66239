/* Reads the inventory: one owner's objects, and whether its keys may be deleted. */
#include <string.h>

#include "kube2sky/naming/contract.h"
#include "kube2sky/naming/inventory_internal.h"
#include "kube2sky/naming/node_names_internal.h"

/* Returns the part for an id that begins with the namespace, "default/web". */
static const struct inventory *inventory_view_part_of(const struct inventory *inventory,
                                                      struct slice id)
{
    return inventory_find_part(inventory, slice_cut(&id, '/'));
}

/* ---- Known objects ---- */

static bool inventory_view_is_complete(const struct inventory *inventory, enum kube_kind kind)
{
    const struct kind_state *state = &inventory->kinds[kind];
    return state->is_listed && !state->wants_first;
}

static const char *what_misses(const struct inventory *inventory)
{
    static const char *const texts[KUBE_KIND_COUNT] = {
        [KUBE_SERVICE] = "services are not listed yet",
        [KUBE_ENDPOINTS] = "endpoints are not listed yet",
        [KUBE_SLICE] = "endpoint slices are not listed yet",
        [KUBE_POD] = "pods are not listed yet",
        [KUBE_NODE] = "nodes are not listed yet",
        [KUBE_NAMESPACE] = "namespaces are not listed yet",
    };
    if (inventory->kinds[KUBE_SERVICE].wants_first) {
        return "service default/kubernetes does not exist yet";
    }
    for (size_t kind = 0; kind < KUBE_KIND_COUNT; kind++) {
        const struct kind_state *state = &inventory->kinds[kind];
        bool is_next = kind == inventory->next_source && kind != inventory->source;
        if (state->is_wanted && !state->is_listed && !state->is_lacking && !is_next) {
            return texts[kind];
        }
    }
    return NULL;
}

const char *inventory_missing(const struct inventory *inventory)
{
    const char *missing = what_misses(inventory);
    for (size_t i = 0; i < inventory->part_count && !missing; i++) {
        missing = what_misses(inventory->parts[i]);
    }
    return missing;
}

/* Returns whether an empty list is doubted. Lists of single namespaces may be empty: they are never
 * doubted. */
bool inventory_doubts(const struct inventory *inventory, enum kube_kind kind)
{
    return inventory->kinds[kind].wants_first;
}

bool inventory_is_complete(const struct inventory *inventory)
{
    return inventory_missing(inventory) == NULL;
}

uint64_t inventory_completions(const struct inventory *inventory)
{
    uint64_t completions = inventory->completions;
    for (size_t i = 0; i < inventory->part_count; i++) {
        completions += inventory->parts[i]->completions;
    }
    return completions;
}

/* ---- An owner's objects ---- */

/* Returns "default/web" for "svc/default/web" with "svc/"; ptr NULL: another prefix. */
static struct slice inventory_view_after_prefix(struct slice owner, const char *prefix)
{
    struct slice text = slice_str(prefix);
    return slice_has_prefix(owner, text) ? slice_skip(owner, text.len) : slice_of(NULL, 0);
}

/* Returns "default/web" for the Service's owners "svc/default/web" and "ext/default/web", and for
 * the import "mcs/default/web". */
static struct slice inventory_view_service_of(struct slice owner)
{
    static const char *const prefixes[] = {SERVICE_PREFIX, EXTERNAL_PREFIX, IMPORT_PREFIX};
    struct slice id = slice_of(NULL, 0);
    for (size_t i = 0; i < ARRAY_LEN(prefixes) && !id.ptr; i++) {
        id = inventory_view_after_prefix(owner, prefixes[i]);
    }
    return id;
}

/* Returns whether it is known which namespaces are selected. */
static bool knows_selection(const struct inventory *inventory)
{
    return !inventory->config.selects_namespaces ||
           inventory_view_is_complete(inventory, KUBE_NAMESPACE);
}

bool inventory_selects(const struct inventory *inventory, struct slice owner)
{
    (void)slice_cut(&owner, '/');
    return index_selects(&inventory->index, owner);
}

/* Returns whether the Service's endpoints have changed in the source in force. */
static bool inventory_view_has_news(const struct inventory *inventory, const struct entry *service)
{
    struct slice id = slice_of(service->id, service->id_len);
    if (service->is_news || inventory->source == KUBE_SLICE) {
        return service->is_news || index_has_news(&inventory->index, id);
    }
    const struct entry *entry = index_find(&inventory->index, KUBE_ENDPOINTS, id);
    return entry && entry->is_news;
}

static void get_service(const struct inventory *inventory, struct slice id,
                        struct owner_objects *ret_objects)
{
    const struct entry *service = index_find(&inventory->index, KUBE_SERVICE, id);
    if (!service || service->object->is_garbled) {
        ret_objects->is_in_doubt = service != NULL;
        return;
    }
    ret_objects->service = service->object;
    if (!service->object->service.is_headless) {
        return;
    }
    if (inventory->source == KUBE_SLICE) {
        index_add_slices(&inventory->index, id, ret_objects);
    } else {
        index_add_endpoints(&inventory->index, id, ret_objects);
    }
    if (!inventory->is_settled && !inventory_view_has_news(inventory, service)) {
        ret_objects->is_in_doubt = true;
    }
}

void inventory_get(const struct inventory *inventory, struct slice owner,
                   struct owner_objects *ret_objects)
{
    struct slice id = inventory_view_service_of(owner),
                 address = inventory_view_after_prefix(owner, POD_PREFIX);
    const struct inventory *part = inventory_view_part_of(inventory, address.ptr ? address : id);
    owner_objects_clear(ret_objects);
    ret_objects->is_external = slice_has_prefix(owner, slice_str(EXTERNAL_PREFIX));
    if (inventory_nodes_is_owner(owner)) {
        inventory_nodes_get(&inventory->index, owner, inventory->kinds[KUBE_NODE].is_listed,
                            ret_objects);
    } else if (!inventory_selects(inventory, owner)) {
        ret_objects->is_in_doubt = !knows_selection(inventory);
    } else if (part && address.ptr) {
        index_add_pod(&part->index, address, ret_objects);
    } else if (part) {
        get_service(part, id, ret_objects);
    }
}

static bool may_delete_of(const struct inventory *inventory, enum kube_kind kind)
{
    return !inventory->kinds[kind].is_wanted || inventory_view_is_complete(inventory, kind);
}

static bool may_delete_service(const struct inventory *inventory, struct slice id)
{
    const struct entry *service = index_find(&inventory->index, KUBE_SERVICE, id);
    bool needs_endpoints = service && service->object->service.is_headless;
    return inventory_view_is_complete(inventory, KUBE_SERVICE) &&
           (!needs_endpoints || inventory_view_is_complete(inventory, inventory->source));
}

/* Returns whether the Services of the alias's namespace are known. Other objects can only take a
 * name away from the Service, so they need not be. */
static bool may_delete_alias(const struct inventory *inventory, struct slice id)
{
    const struct inventory *part = inventory_view_part_of(inventory, id);
    return part && inventory_view_is_complete(part, KUBE_SERVICE);
}

bool inventory_may_delete(const struct inventory *inventory, struct slice owner)
{
    if (slice_equal(owner, slice_str(EXTERNAL_PUBLIC_OWNER))) { /* depends on no object */
        return true;
    }
    if (!knows_selection(inventory) && !inventory_nodes_is_owner(owner)) {
        return false;
    }
    struct slice alias = inventory_view_after_prefix(owner, ALIAS_PREFIX);
    if (alias.ptr) {
        return may_delete_alias(inventory, alias);
    }
    struct slice id = inventory_view_service_of(owner),
                 address = inventory_view_after_prefix(owner, POD_PREFIX);
    const struct inventory *part = inventory_view_part_of(inventory, address.ptr ? address : id);
    if (inventory_nodes_is_owner(owner)) {
        return may_delete_of(inventory, KUBE_NODE);
    }
    return part && (address.ptr ? may_delete_of(part, KUBE_POD) : may_delete_service(part, id));
}

static bool knows_claims(const struct inventory *inventory)
{
    return inventory_view_is_complete(inventory, KUBE_SERVICE) &&
           inventory_view_is_complete(inventory, inventory->source);
}

bool inventory_knows_claims(const struct inventory *inventory, struct slice owner)
{
    const struct inventory *part =
        owner.len ? inventory_view_part_of(inventory, inventory_view_service_of(owner)) : NULL;
    bool is_known = knows_selection(inventory) && (!owner.len || (part && knows_claims(part)));
    for (size_t i = 0; i < inventory->part_count && is_known && !owner.len; i++) {
        is_known = knows_claims(inventory->parts[i]);
    }
    return is_known;
}

bool inventory_has_pod(const struct inventory *inventory, const struct ip *ip)
{
    bool has_pod = false;
    for (size_t i = 0; i < inventory->part_count && !has_pod; i++) {
        has_pod = index_has_pod(&inventory->parts[i]->index, ip);
    }
    return has_pod;
}

bool inventory_has_pod_of(const struct inventory *inventory, const struct ip *ip, struct slice ns)
{
    const struct inventory *part = inventory_find_part(inventory, ns);
    return part && index_has_pod_of(&part->index, ip, ns);
}

bool inventory_knows_pods(const struct inventory *inventory, struct slice owner)
{
    const struct inventory *part =
        owner.len ? inventory_view_part_of(inventory, inventory_view_service_of(owner)) : NULL;
    bool is_known = !owner.len || (part && may_delete_of(part, KUBE_POD));
    for (size_t i = 0; i < inventory->part_count && is_known && !owner.len; i++) {
        is_known = may_delete_of(inventory->parts[i], KUBE_POD);
    }
    return is_known;
}

static bool is_awaited(const struct inventory *inventory, enum kube_kind kind)
{
    return !inventory_view_is_complete(inventory, kind) && !inventory->kinds[kind].is_lacking;
}

bool inventory_awaits_claims(const struct inventory *inventory)
{
    bool is_awaiting = !knows_selection(inventory);
    for (size_t i = 0; i < inventory->part_count && !is_awaiting; i++) {
        const struct inventory *part = inventory->parts[i];
        is_awaiting = is_awaited(part, KUBE_SERVICE) || is_awaited(part, part->source);
    }
    return is_awaiting;
}

/* ---- Objects ---- */

/* Returns the number of parts with objects of the kind: one, the inventory itself, if the kind is
 * in no namespace. */
static size_t count_parts(const struct inventory *inventory, enum kube_kind kind)
{
    return kube_kind_is_namespaced(kind) ? inventory->part_count : 1;
}

static const struct inventory *get_part(const struct inventory *inventory, enum kube_kind kind,
                                        size_t i)
{
    return kube_kind_is_namespaced(kind) ? inventory->parts[i] : inventory;
}

size_t inventory_count(const struct inventory *inventory, enum kube_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < count_parts(inventory, kind); i++) {
        count += get_part(inventory, kind, i)->index.kinds[kind].count;
    }
    return count;
}

const struct kube_object *inventory_find(const struct inventory *inventory, enum kube_kind kind,
                                         struct slice id)
{
    const struct inventory *part =
        kube_kind_is_namespaced(kind) ? inventory_view_part_of(inventory, id) : inventory;
    const struct entry *entry = part ? index_find(&part->index, kind, id) : NULL;
    return entry ? entry->object : NULL;
}

void inventory_each(const struct inventory *inventory, enum kube_kind kind,
                    bool (*fn)(void *data, struct slice id, const struct kube_object *object),
                    void *data)
{
    const struct entry *entry;
    bool goes_on = true;
    for (size_t i = 0; i < count_parts(inventory, kind) && goes_on; i++) {
        const struct key_table *table = &get_part(inventory, kind, i)->index.kinds[kind];
        for (size_t at = 0; goes_on && (entry = key_table_next(table, &at)); at++) {
            goes_on = fn(data, slice_of(entry->id, entry->id_len), entry->object);
        }
    }
}
