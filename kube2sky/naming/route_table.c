#include "kube2sky/naming/route_table.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/key_table.h"
#include "common/base/xalloc.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/naming/external_aliases.h"
#include "kube2sky/naming/route_rules.h"

/* One list of a kind: of one namespace, or (ns "") of all. */
struct route_list {
    char *ns;
    uint32_t generation;
    bool is_listed;
};

struct route_kind {
    struct key_table objects;
    struct route_list *lists;
    size_t list_count;   /* begun at least once */
    size_t lists_wanted; /* in all */
    size_t listed;       /* ended at least once */
    bool is_complete;    /* all of them have */
};

struct route_entry {
    struct slice id; /* "default/shop" */
    struct kube_object *object;
    uint32_t generation;
};

struct route_table {
    const struct route_rules *rules;
    struct external_aliases *aliases;
    struct route_kind kinds[KUBE_KIND_COUNT];
};

/* ---- Holding names ---- */

static void hold_target(struct route_table *table, struct slice target, bool is_held)
{
    struct buf owner;
    buf_init(&owner, 1024);
    buf_append_str(&owner, ALIAS_PREFIX);
    buf_append_slice(&owner, target);
    external_aliases_hold(table->aliases, buf_slice(&owner), is_held);
    buf_fini(&owner);
}

static void hold_targets(struct route_table *table, const struct route_rule *rules, size_t count,
                         bool is_held)
{
    for (size_t i = 0; i < count; i++) {
        hold_target(table, rules[i].target, is_held);
    }
}

static bool are_routes_complete(const struct route_table *table)
{
    return table->kinds[KUBE_GATEWAY].is_complete && table->kinds[KUBE_ROUTE].is_complete;
}

static void note_complete(struct route_table *table, enum kube_kind kind)
{
    const struct route_rules *rules = table->rules;
    table->kinds[kind].is_complete = true;
    if (kind == KUBE_INGRESS) {
        hold_targets(table, rules->classes, rules->class_count, false);
    } else if (are_routes_complete(table)) {
        hold_targets(table, rules->gateways, rules->gateway_count, false);
    }
}

/* ---- Lifetime ---- */

struct route_table *route_table_new(const struct route_rules *rules,
                                    struct external_aliases *aliases,
                                    const size_t list_counts[KUBE_KIND_COUNT])
{
    struct route_table *table = xcalloc(1, sizeof(*table));
    table->rules = rules;
    table->aliases = aliases;
    for (size_t i = 0; i < KUBE_KIND_COUNT; i++) {
        key_table_init_keyed(&table->kinds[i].objects);
        table->kinds[i].lists_wanted = list_counts[i];
        table->kinds[i].lists = xcalloc(list_counts[i], sizeof(struct route_list));
    }
    hold_targets(table, rules->classes, rules->class_count, true);
    hold_targets(table, rules->gateways, rules->gateway_count, true);
    return table;
}

static void free_route_kind(struct route_kind *kind)
{
    size_t at = 0;
    for (struct route_entry *entry; (entry = key_table_next(&kind->objects, &at)); at++) {
        kube_object_free(entry->object);
        free(entry);
    }
    key_table_fini(&kind->objects);
    for (size_t i = 0; i < kind->list_count; i++) {
        free(kind->lists[i].ns);
    }
    free(kind->lists);
}

void route_table_free(struct route_table *table)
{
    for (size_t i = 0; table && i < KUBE_KIND_COUNT; i++) {
        free_route_kind(&table->kinds[i]);
    }
    free(table);
}

/* ---- Claims ---- */

struct route_names {
    struct slice *items;
    size_t count, cap;
};

static void add_route_name(void *data, struct slice name)
{
    struct route_names *names = data;
    names->items = xgrow_array(names->items, names->count, &names->cap, sizeof(*names->items));
    names->items[names->count++] = name;
}

/* Claims as "ingress/default/shop", or as "httproute/default/shop via infra/public". */
static void claim_route_names(struct route_table *table, const char *kind,
                              const struct kube_object *object, const struct route_rule *rule,
                              int64_t created_s, const struct route_names *names)
{
    bool is_route = object->kind == KUBE_ROUTE;
    char *id = xasprintf("%s/%s/%s%s%.*s", kind, object->ns, object->name, is_route ? " via " : "",
                         is_route ? (int)rule->from.len : 0, is_route ? rule->from.ptr : "");
    const struct alias_owner_object owner_object = {
        .id = slice_str(id),
        .ns = slice_str(object->ns),
        .target = rule ? rule->target : slice_of(NULL, 0),
        .created_s = created_s,
        .rank = ALIAS_OF_ROUTE,
    };
    external_aliases_set(table->aliases, &owner_object, names->items, names->count);
    free(id);
}

static void claim_ingress(struct route_table *table, const struct kube_object *object, bool is_gone)
{
    const struct route_rule *rule = is_gone ? NULL : route_rules_of_ingress(table->rules, object);
    struct route_names names = {.items = NULL};
    for (size_t i = 0; rule && i < object->ingress.host_count; i++) {
        add_route_name(&names, slice_str(object->ingress.hosts[i]));
    }
    claim_route_names(table, "ingress", object, rule, object->ingress.created_s, &names);
    free(names.items);
}

static void claim_route_at(struct route_table *table, const struct kube_object *object,
                           const struct route_rule *rule, bool is_gone)
{
    const struct route_entry *gateway =
        key_table_find(&table->kinds[KUBE_GATEWAY].objects, rule->from);
    struct route_names names = {.items = NULL};
    if (gateway && !is_gone) {
        route_rule_names(rule, object, gateway->object, add_route_name, &names);
    }
    claim_route_names(table, "httproute", object, rule, object->route.created_s, &names);
    free(names.items);
}

static void claim_route(struct route_table *table, const struct kube_object *object, bool is_gone)
{
    for (size_t i = 0; i < table->rules->gateway_count; i++) {
        claim_route_at(table, object, &table->rules->gateways[i], is_gone);
    }
}

/* Claims anew the names of the Gateway's routes. Goes through all routes, which are few beside
 * pods; a Gateway changes rarely. */
static void claim_at_gateway(struct route_table *table, const struct kube_object *gateway)
{
    const struct route_entry *entry;
    char *id = xasprintf("%s/%s", gateway->ns, gateway->name);
    for (size_t i = 0; i < table->rules->gateway_count; i++) {
        const struct route_rule *rule = &table->rules->gateways[i];
        const bool is_this = slice_equal(slice_str(id), rule->from);
        for (size_t at = 0;
             is_this && (entry = key_table_next(&table->kinds[KUBE_ROUTE].objects, &at)); at++) {
            if (route_rule_has_parent(rule, entry->object)) {
                claim_route_at(table, entry->object, rule, false);
            }
        }
    }
    free(id);
}

static void route_table_claim_of(struct route_table *table, const struct kube_object *object,
                                 bool is_gone)
{
    if (object->kind == KUBE_INGRESS) {
        claim_ingress(table, object, is_gone);
    } else if (object->kind == KUBE_ROUTE) {
        claim_route(table, object, is_gone);
    } else {
        claim_at_gateway(table, object);
    }
}

/* ---- Objects ---- */

static struct route_list *route_list_of(struct route_kind *kind, const char *ns)
{
    for (size_t i = 0; i < kind->list_count; i++) {
        if (!*kind->lists[i].ns || strcmp(kind->lists[i].ns, ns) == 0) {
            return &kind->lists[i];
        }
    }
    return NULL;
}

static void remove_route_entry(struct route_table *table, enum kube_kind kind,
                               struct route_entry *entry)
{
    (void)key_table_take(&table->kinds[kind].objects, entry->id);
    route_table_claim_of(table, entry->object, true);
    kube_object_free(entry->object);
    free(entry);
}

void route_table_list_begin(struct route_table *table, enum kube_kind kind, const char *ns)
{
    struct route_kind *state = &table->kinds[kind];
    struct route_list *list = route_list_of(state, ns);
    if (!list && state->list_count < state->lists_wanted) {
        list = &state->lists[state->list_count++];
        list->ns = xstrdup(ns);
    }
    if (list) {
        list->generation++;
    }
}

static struct route_entry *find_route_entry(const struct route_table *table, enum kube_kind kind,
                                            const char *ns, const char *name)
{
    CLEANUP_FREE char *id = xasprintf("%s/%s", ns, name);
    return key_table_find(&table->kinds[kind].objects, slice_str(id));
}

void route_table_upsert(struct route_table *table, struct kube_object *object)
{
    struct route_entry *entry = find_route_entry(table, object->kind, object->ns, object->name);
    const struct route_list *list = route_list_of(&table->kinds[object->kind], object->ns);
    if (object->is_garbled && !entry) {
        kube_object_free(object);
        return;
    }
    if (!entry) {
        CLEANUP_FREE char *id = xasprintf("%s/%s", object->ns, object->name);
        entry = key_table_add(&table->kinds[object->kind].objects, slice_str(id), sizeof(*entry));
    }
    entry->generation = list ? list->generation : 0;
    if (object->is_garbled || (entry->object && kube_object_equal(entry->object, object))) {
        kube_object_free(object);
        return;
    }
    kube_object_free(entry->object);
    entry->object = object;
    route_table_claim_of(table, object, false);
}

void route_table_remove(struct route_table *table, enum kube_kind kind, const char *ns,
                        const char *name)
{
    struct route_entry *entry = find_route_entry(table, kind, ns, name);
    if (entry) {
        remove_route_entry(table, kind, entry);
    }
}

void route_table_list_end(struct route_table *table, enum kube_kind kind, const char *ns)
{
    struct route_kind *state = &table->kinds[kind];
    struct route_list *list = route_list_of(state, ns);
    struct route_entry *entry;
    size_t at = 0;
    while (list && (entry = key_table_next(&state->objects, &at))) {
        bool is_of_list = !*list->ns || strcmp(list->ns, entry->object->ns) == 0;
        if (is_of_list && entry->generation != list->generation) {
            remove_route_entry(table, kind, entry);
        } else {
            at++;
        }
    }
    if (list && !list->is_listed) {
        list->is_listed = true;
        state->listed++;
        if (state->listed == state->lists_wanted) {
            note_complete(table, kind);
        }
    }
}

const struct kube_object *route_table_find(const struct route_table *table, enum kube_kind kind,
                                           const char *ns, const char *name)
{
    const struct route_entry *entry = find_route_entry(table, kind, ns, name);
    return entry ? entry->object : NULL;
}

size_t route_table_count(const struct route_table *table, enum kube_kind kind)
{
    return table->kinds[kind].objects.count;
}

const char *route_table_faults(const struct route_table *table, const struct kube_object *object)
{
    const struct route_entry *entry =
        find_route_entry(table, object->kind, object->ns, object->name);
    return entry ? entry->object->faults : "";
}
