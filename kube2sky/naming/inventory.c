#include "kube2sky/naming/inventory.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/naming/inventory_internal.h"
#include "kube2sky/naming/node_names_internal.h"

#define FIRST_SERVICE "default/kubernetes"

/* Sets the source. Slices that are only listed to replace Endpoints later change no record yet. */
static void set_source(struct inventory *inventory, enum kube_kind source)
{
    inventory->source = source;
    inventory->index.slice_changed = source == KUBE_SLICE ? inventory->config.slice_changed : NULL;
}

/* Creates an inventory that holds all objects itself. */
static struct inventory *new_part(const struct inventory_config *config)
{
    struct inventory *inventory = xcalloc(1, sizeof(*inventory));
    inventory->config = *config;
    inventory->config.namespace_count = 0;
    index_init(&inventory->index, config->changed, config->data);
    inventory->index.selects_namespaces = config->selects_namespaces;
    inventory->index.prefix = config->has_imports ? IMPORT_PREFIX : SERVICE_PREFIX;
    set_source(inventory, KUBE_ENDPOINTS);
    inventory->next_source = KUBE_ENDPOINTS;
    inventory->is_settled = true;
    inventory->kinds[KUBE_SERVICE].is_wanted = true;
    inventory->kinds[KUBE_ENDPOINTS].is_wanted = true;
    inventory->kinds[KUBE_POD].is_wanted = true;
    inventory->parts = xcalloc(1, sizeof(struct inventory *));
    inventory->parts[0] = inventory;
    inventory->part_count = 1;
    return inventory;
}

static void inventory_split(struct inventory *inventory, const struct inventory_config *config)
{
    inventory->config.namespace_count = config->namespace_count;
    free(inventory->parts);
    inventory->parts = xcalloc(config->namespace_count, sizeof(struct inventory *));
    inventory->part_count = config->namespace_count;
    for (size_t i = 0; i < inventory->part_count; i++) {
        inventory->parts[i] = new_part(config);
    }
    for (size_t i = 0; i < KUBE_KIND_COUNT; i++) {
        inventory->kinds[i].is_wanted &= !kube_kind_is_namespaced((enum kube_kind)i);
    }
}

struct inventory *inventory_new(const struct inventory_config *config)
{
    struct inventory *inventory = new_part(config);
    if (config->namespace_count) {
        inventory_split(inventory, config);
    }
    return inventory;
}

static void free_part(struct inventory *inventory)
{
    index_fini(&inventory->index);
    free(inventory->parts);
    free(inventory);
}

void inventory_free(struct inventory *inventory)
{
    if (!inventory) {
        return;
    }
    for (size_t i = 0; i < inventory->config.namespace_count; i++) {
        free_part(inventory->parts[i]);
    }
    free_part(inventory);
}

struct inventory *inventory_find_part(const struct inventory *inventory, struct slice ns)
{
    const struct inventory_config *config = &inventory->config;
    size_t i = 0;
    while (i < config->namespace_count && !slice_equal(slice_str(config->namespaces[i]), ns)) {
        i++;
    }
    return i < inventory->part_count ? inventory->parts[i] : NULL;
}

struct inventory *inventory_part(struct inventory *inventory, enum kube_kind kind, const char *ns)
{
    return kube_kind_is_namespaced(kind) ? inventory_find_part(inventory, slice_str(ns))
                                         : inventory;
}

/* ---- Adding and removing objects ---- */

/* Notes that a Service is about to lose this Endpoints or slice; ignores other objects. */
static void note_lost_part(struct inventory *inventory, const struct kube_object *part)
{
    struct entry *service = index_service_of(&inventory->index, part);
    if (service && part->kind == inventory->source) {
        service->is_news = true;
    }
}

static void forget_lost_parts(struct inventory *inventory)
{
    struct entry *entry;
    for (size_t at = 0; (entry = key_table_next(&inventory->index.kinds[KUBE_SERVICE], &at));
         at++) {
        entry->is_news = false;
    }
}

static void discard_entry(struct inventory *inventory, enum kube_kind kind, struct entry *entry)
{
    note_lost_part(inventory, entry->object);
    index_discard(&inventory->index, kind, entry);
    inventory->kinds[kind].has_news = true;
}

/* Reports the owners in a Namespace that a watch shows, or has lost; those of a list are reported
 * at its end. */
static void note_namespace(struct inventory *inventory, const char *name)
{
    struct kind_state *state = &inventory->kinds[KUBE_NAMESPACE];
    if (state->is_listing) {
        state->has_news = true;
    } else if (inventory->config.selects_namespaces) {
        index_tell_namespace(&inventory->index, name);
    }
}

/* Removes objects of the kind that are not of this generation; -1: all. */
static void discard_others(struct inventory *inventory, enum kube_kind kind, int64_t generation)
{
    struct entry *entry;
    size_t at = 0;
    while ((entry = key_table_next(&inventory->index.kinds[kind], &at))) {
        if (entry->generation == generation) {
            at++;
        } else {
            discard_entry(inventory, kind, entry);
        }
    }
}

/* ---- Wanted kinds ---- */

static void inventory_stop_following(struct inventory *inventory, enum kube_kind kind)
{
    struct kind_state *state = &inventory->kinds[kind];
    uint32_t generation = state->generation;
    discard_others(inventory, kind, -1);
    *state = (struct kind_state){.generation = generation};
}

/* Asks for the parts of a headless Service whose parts have no content. */
static void want_parts(const struct inventory *inventory, const struct entry *service)
{
    const struct kube_object *object = service->object;
    if (object->service.is_headless && inventory->config.parts_wanted &&
        index_has_bare_parts(&inventory->index, slice_of(service->id, service->id_len))) {
        inventory->config.parts_wanted(inventory->config.data, object->ns, object->name);
    }
}

/* Switches the source and reports every owner with objects of either kind: those with objects of
 * the old kind when these are removed. */
static void switch_source(struct inventory *inventory)
{
    enum kube_kind old = inventory->source;
    struct entry *entry;
    set_source(inventory, inventory->next_source);
    inventory_stop_following(inventory, old);
    forget_lost_parts(inventory);
    for (size_t at = 0; (entry = key_table_next(&inventory->index.kinds[inventory->source], &at));
         at++) {
        index_tell(&inventory->index, inventory->source, entry);
    }
    for (size_t at = 0; (entry = key_table_next(&inventory->index.kinds[KUBE_SERVICE], &at));
         at++) {
        want_parts(inventory, entry);
    }
}

void inventory_use_endpoints(struct inventory *inventory, enum kube_kind kind)
{
    enum kube_kind source = inventory->source, next = inventory->next_source;
    if (kind == next) {
        return;
    }
    if (next != source) { /* cancels a pending switch that is not wanted any longer */
        inventory_stop_following(inventory, next);
    }
    inventory->next_source = kind;
    inventory->kinds[kind].is_wanted = true;
    if (kind != source && !inventory->kinds[source].is_listed) {
        switch_source(inventory);
    }
}

void inventory_settle_endpoints(struct inventory *inventory, bool is_settled)
{
    bool is_news = is_settled != inventory->is_settled;
    const struct entry *entry;
    inventory->is_settled = is_settled;
    for (size_t at = 0;
         is_news && (entry = key_table_next(&inventory->index.kinds[KUBE_SERVICE], &at)); at++) {
        if (entry->object->service.is_headless) {
            index_tell(&inventory->index, KUBE_SERVICE, entry);
        }
    }
}

static void inventory_follow(struct inventory *inventory, enum kube_kind kind, bool is_wanted)
{
    struct kind_state *state = &inventory->kinds[kind];
    if (!is_wanted && state->is_wanted) {
        inventory_stop_following(inventory, kind);
    }
    state->is_wanted = is_wanted;
}

void inventory_want(struct inventory *inventory, enum kube_kind kind, bool is_wanted)
{
    if (!kube_kind_is_namespaced(kind)) {
        inventory_follow(inventory, kind, is_wanted);
        return;
    }
    for (size_t i = 0; i < inventory->part_count; i++) {
        inventory_follow(inventory->parts[i], kind, is_wanted);
    }
}

void inventory_lack(struct inventory *inventory, enum kube_kind kind)
{
    if (kind == KUBE_NAMESPACE && inventory->config.selects_namespaces) {
        return; /* nothing can be known without them */
    }
    inventory->kinds[kind == KUBE_ENDPOINTS ? inventory->source : kind].is_lacking = true;
}

/* ---- Lists ---- */

void inventory_list_begin(struct inventory *inventory, enum kube_kind kind)
{
    struct kind_state *state = &inventory->kinds[kind];
    state->generation++;
    state->is_listing = true;
    state->has_any = false;
    state->has_news = false;
}

/* Ends a complete list: removes objects that it did not name. */
static void inventory_sweep(struct inventory *inventory, enum kube_kind kind)
{
    struct kind_state *state = &inventory->kinds[kind];
    const bool was_known = state->is_listed && !state->wants_first;
    discard_others(inventory, kind, state->generation);
    inventory->completions++;
    state->is_listed = true;
    state->wants_first = false;
    if (kind == inventory->next_source && kind != inventory->source) {
        switch_source(inventory);
    }
    if (kind == KUBE_NODE) {
        inventory_nodes_tell_dotted(&inventory->index);
    }
    if (kind == KUBE_NAMESPACE && inventory->config.selects_namespaces &&
        (state->has_news || !was_known)) {
        index_tell_namespace(&inventory->index, NULL);
    }
}

static bool has_first_service(const struct inventory *inventory)
{
    const struct entry *entry =
        index_find(&inventory->index, KUBE_SERVICE, slice_str(FIRST_SERVICE));
    return entry && entry->generation == inventory->kinds[KUBE_SERVICE].generation;
}

/* Returns whether the list has the object that every cluster has, so that it can be believed. */
static bool has_first(const struct inventory *inventory, enum kube_kind kind)
{
    bool has_any = inventory->kinds[kind].has_any;
    switch (kind) {
    case KUBE_SERVICE:
        return inventory->config.is_narrowed || has_first_service(inventory);
    case KUBE_POD:
        return inventory->config.is_narrowed || has_any;
    case KUBE_NODE: /* across all namespaces and labels */
        return has_any;
    case KUBE_NAMESPACE:
        return !inventory->config.selects_namespaces || has_any;
    default:
        return true;
    }
}

static void object_came(struct inventory *inventory, enum kube_kind kind)
{
    struct kind_state *state = &inventory->kinds[kind];
    state->has_any = true;
    if (state->wants_first && !state->is_listing && has_first(inventory, kind)) {
        inventory_sweep(inventory, kind);
    }
}

void inventory_list_end(struct inventory *inventory, enum kube_kind kind)
{
    struct kind_state *state = &inventory->kinds[kind];
    state->is_listing = false;
    if (!state->is_wanted) {
        return;
    }
    if (!has_first(inventory, kind)) {
        state->wants_first = true;
        state->is_listed |= kind != KUBE_SERVICE; /* a new cluster has no pods, and is ready */
        return;
    }
    inventory_sweep(inventory, kind);
}

/* ---- Objects ---- */

/* Returns whether the Service's endpoints yield no keys: it has a cluster IP, or is an
 * ExternalName. */
static bool needs_no_parts(const struct kube_object *service)
{
    return !service->is_garbled && !service->service.is_headless &&
           (service->service.cluster_ip_count > 0 || *service->service.external_name);
}

static bool is_part_of_no_use(struct inventory *inventory, const struct kube_object *object)
{
    const struct entry *service = index_service_of(&inventory->index, object);
    return service && needs_no_parts(service->object);
}

/* Sets the entry's object, in place of another one or none. */
static void set_object(struct inventory *inventory, enum kube_kind kind, struct entry *entry,
                       struct kube_object *object)
{
    struct slice id = slice_of(entry->id, entry->id_len);
    index_set_object(&inventory->index, kind, entry, object);
    if (kind != KUBE_SERVICE) {
        return;
    }
    if (needs_no_parts(object)) {
        index_strip_parts(&inventory->index, id);
    } else {
        want_parts(inventory, entry);
    }
}

/* Returns whether the slice has moved from one Service to another. */
static bool has_moved(const struct kube_object *old, const struct kube_object *slice)
{
    return slice->kind == KUBE_SLICE && strcmp(old->slice.service, slice->slice.service) != 0;
}

static void tell_triggered(const struct inventory *inventory, const struct entry *service,
                           enum inventory_trigger trigger, int64_t since_us)
{
    const struct inventory_config *config = &inventory->config;
    struct slice id = slice_of(service->id, service->id_len);
    if (since_us > 0 && config->triggered && index_selects(&inventory->index, id)) {
        char *owner =
            xasprintf("%s%.*s", inventory->index.prefix, (int)service->id_len, service->id);
        config->triggered(config->data, slice_str(owner), trigger, since_us);
        free(owner);
    }
}

/* Reports when the change happened that a watch has just shown. is_new: the object has come. */
static void note_trigger(struct inventory *inventory, enum kube_kind kind,
                         const struct entry *entry, bool is_new)
{
    enum { US_PER_S = 1000 * 1000 };
    const struct kind_state *state = &inventory->kinds[kind];
    const struct kube_object *object = entry->object;
    bool is_watched = state->is_listed && !state->is_listing && !object->is_garbled;
    if (is_watched && kind == KUBE_SERVICE && is_new && !inventory->config.is_selected &&
        object->service.cluster_ip_count > 0) {
        tell_triggered(inventory, entry, TRIGGER_CLUSTER_IP, object->service.created_s * US_PER_S);
    } else if (is_watched && kind == inventory->source && !object->is_bare) {
        const struct entry *service = index_service_of(&inventory->index, object);
        bool is_headless = service && service->object->service.is_headless;
        if (is_headless) {
            tell_triggered(inventory, service, TRIGGER_HEADLESS,
                           kind == KUBE_SLICE ? object->slice.triggered_us
                                              : object->endpoints.triggered_us);
        }
    }
}

/* Replaces the entry's object, taking it. An equal one changes nothing: it was listed again, or
 * changed in unused fields. */
static void inventory_replace(struct inventory *inventory, enum kube_kind kind, struct entry *entry,
                              struct kube_object *object)
{
    struct kube_object *old = entry->object;
    bool is_less = old && object->is_garbled && !old->is_garbled;
    bool is_same = old && !is_less && kube_object_equal(old, object);
    if (is_same && strcmp(old->faults, object->faults) != 0) {
        entry->object = object;
        kube_object_free(old);
        index_tell(&inventory->index, kind, entry); /* of whom pages and events tell */
    } else if (is_less || is_same) {
        kube_object_free(object);
    } else {
        if (old && has_moved(old, object)) {
            note_lost_part(inventory, old);
        }
        if (kind != KUBE_SERVICE) {
            entry->is_news = old || !inventory->kinds[kind].is_listing;
        }
        bool is_new = !old; /* set_object frees the old one */
        set_object(inventory, kind, entry, object);
        note_trigger(inventory, kind, entry, is_new);
    }
}

void inventory_upsert(struct inventory *inventory, struct kube_object *object)
{
    enum kube_kind kind = object->kind;
    struct kind_state *state = &inventory->kinds[kind];
    if (!state->is_wanted) {
        kube_object_free(object);
        return;
    }
    if (is_part_of_no_use(inventory, object)) {
        struct kube_object *whole = object;
        object = kube_object_bare(whole);
        kube_object_free(whole);
    }
    struct entry *entry =
        index_get(&inventory->index, kind, slice_str(object->ns), slice_str(object->name));
    if (kind == KUBE_NODE && !entry->object && state->is_listed) {
        inventory_nodes_tell_below(&inventory->index, object->name);
    }
    if (kind == KUBE_NAMESPACE && !entry->object) {
        note_namespace(inventory, object->name);
    }
    entry->generation = state->generation;
    inventory_replace(inventory, kind, entry, object);
    object_came(inventory, kind);
}

void inventory_fill(struct inventory *inventory, struct kube_object *object)
{
    enum kube_kind kind = object->kind;
    struct entry *entry =
        index_lookup(&inventory->index, kind, slice_str(object->ns), slice_str(object->name));
    bool is_usable = entry && entry->object->is_bare && !object->is_garbled &&
                     !has_moved(entry->object, object) && !is_part_of_no_use(inventory, object);
    if (is_usable) {
        index_set_object(&inventory->index, kind, entry, object);
    } else {
        kube_object_free(object);
    }
}

void inventory_remove(struct inventory *inventory, enum kube_kind kind, const char *ns,
                      const char *name)
{
    struct entry *entry = index_lookup(&inventory->index, kind, slice_str(ns), slice_str(name));
    if (entry) {
        discard_entry(inventory, kind, entry);
    }
    if (entry && kind == KUBE_NODE) {
        inventory_nodes_tell_below(&inventory->index, name);
    }
    if (entry && kind == KUBE_NAMESPACE) {
        note_namespace(inventory, name);
    }
}

const char *inventory_faults(struct inventory *inventory, const struct kube_object *object)
{
    const struct entry *entry = index_lookup(&inventory->index, object->kind, slice_str(object->ns),
                                             slice_str(object->name));
    return entry ? entry->object->faults : "";
}
