#include "kube2sky/kube_source_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "kube2sky/api/kube_client.h"
#include "kube2sky/naming/client_keys.h"
#include "kube2sky/naming/event_queue.h"
#include "kube2sky/naming/inventory.h"
#include "kube2sky/naming/route_rules.h"
#include "kube2sky/naming/route_table.h"
#include "kube2sky/parts_fetch.h"
#include "kube2sky/reconcile/flaw_list.h"

/* Time between two lists of imports' slices: changing an import's type again and again costs its
 * editor this wait, and the API server no further lists. */
enum { IMPORTS_PAUSE_MS = 5000 };

/* A CRD may be missing for good: that is told once, as each kind's outage is. */
static const int64_t ROUTES_TIMEOUT_MS = (int64_t)365 * 24 * 3600 * 1000;

/* Returns whether client_keys alone has the kind's objects, for client records. */
static bool is_for_clients_alone(const struct kube_source_config *config, enum kube_kind kind)
{
    return (kind == KUBE_POD && !config->wants_pods) || (kind == KUBE_NODE && !config->wants_nodes);
}

static struct inventory *inventory_of(const struct kube_source *kube_source, enum kube_kind kind)
{
    return is_of_imports(kind) ? kube_source->config.imports : kube_source->config.inventory;
}

/* Returns the kind to name in the log: that of the API. */
static enum kube_kind told_kind(const struct follower *follower, const struct kube_object *object)
{
    return is_of_imports(follower->kind) ? follower->kind : object->kind;
}

/* Returns the imports if objects of the kind select them, too; else NULL. */
static struct inventory *imports_for(const struct kube_source *kube_source, enum kube_kind kind)
{
    return kind == KUBE_NAMESPACE ? kube_source->config.imports : NULL;
}

/* ---- Reflectors to inventory ---- */

static void on_list_begin(void *data, enum kube_kind kind)
{
    struct follower *follower = data;
    struct kube_source *kube_source = follower->kube_source;
    if (kind == KUBE_CONFIG_MAP) {
        kube_source->has_config_map = false;
        return;
    }
    if (route_table_has_kind(kind)) {
        route_table_list_begin(kube_source->routes, kind, follower->ns);
        return;
    }
    if (kind == KUBE_ENDPOINTS || kind == KUBE_SLICE) {
        inventory_use_endpoints(follower->inventory, kind);
    }
    inventory_list_begin(follower->inventory, kube_kind_localized(kind));
    if (imports_for(kube_source, kind)) {
        inventory_list_begin(kube_source->config.imports, kind);
    }
    if (kube_source->config.client_keys) {
        client_keys_list_begin(kube_source->config.client_keys, kind, follower->ns);
    }
}

static void keep_flaw(struct kube_source *kube_source, enum kube_kind kind, const char *name,
                      const char *why)
{
    char *what = xasprintf("%s %s", kube_kind_name(kind), name);
    flaw_list_add(kube_source->config.flaws, what, why);
    free(what);
}

/* Logs a skipped object; name: "default/web", of a Node "worker-1", "" if unknown. */
static void tell_skipped(struct kube_source *kube_source, enum kube_kind kind, const char *name,
                         const char *why)
{
    static struct log_limit limit = {.burst = 10};
    counter_add(&kube_source->counts[kind].skipped, 1);
    keep_flaw(kube_source, kind, name, why);
    if (log_limit_pass(&limit)) {
        log_warn("cannot understand object, its keys are unchanged",
                 LOG_STR("kind", kube_kind_name(kind)), LOG_STR("name", name),
                 LOG_STR("error", why));
    }
}

/* Logs the faults of an object, unless its last state had the same: a relist, or an unrelated
 * change, repeats them. */
static void tell_faults(struct follower *follower, const struct kube_object *object,
                        const char *name)
{
    struct kube_source *kube_source = follower->kube_source;
    static struct log_limit limit = {.burst = 10};
    const char *told = route_table_has_kind(object->kind)
                           ? route_table_faults(kube_source->routes, object)
                           : inventory_faults(follower->inventory, object);
    if (strcmp(object->faults, told) == 0) {
        return;
    }
    enum kube_kind kind = told_kind(follower, object);
    counter_add(&kube_source->counts[kind].faults, object->fault_count);
    keep_flaw(kube_source, kind, name, object->faults);
    if (log_limit_pass(&limit)) {
        log_warn("part of an object cannot be understood, left out",
                 LOG_STR("kind", kube_kind_name(kind)), LOG_STR("name", name),
                 LOG_INT("parts", object->fault_count), LOG_STR("error", object->faults));
    }
}

static void tell_flaws(struct follower *follower, const struct kube_object *object)
{
    char *name = xasprintf("%s%s%s", object->ns, *object->ns ? "/" : "", object->name);
    if (object->is_garbled) {
        tell_skipped(follower->kube_source, told_kind(follower, object), name, object->faults);
    } else {
        tell_faults(follower, object, name);
    }
    free(name);
}

/* Tells events of the faults of an Ingress or a route; the planner tells those of Services. */
static void tell_route_fault(const struct kube_source *kube_source,
                             const struct kube_object *object)
{
    const struct event_object told = {
        .kind = object->kind, .ns = slice_str(object->ns), .name = slice_str(object->name)};
    if (kube_source->config.events && object->kind != KUBE_GATEWAY && !object->is_garbled) {
        event_queue_note(kube_source->config.events, &told, EVENT_INVALID_ANNOTATION,
                         EVENT_FROM_OBJECT, object->has_annotation_fault ? object->faults : NULL,
                         clock_monotonic_ms());
    }
}

static struct follower *follower_of(const struct kube_source *kube_source, enum kube_kind kind,
                                    const char *ns)
{
    struct follower *found = NULL;
    for (size_t i = 0; i < kube_source->follower_counts[kind] && !found; i++) {
        struct follower *follower = &kube_source->followers[kind][i];
        found = !*follower->ns || strcmp(follower->ns, ns) == 0 ? follower : NULL;
    }
    return found;
}

static const struct kube_resource *resource_of_parts(void *data, const char *ns)
{
    const struct follower *follower = follower_of(data, KUBE_ENDPOINTS, ns);
    assert(follower); /* parts are wanted only of followed namespaces */
    return reflector_resource(follower->reflector);
}

static void on_part(void *data, struct kube_object *object)
{
    const struct follower *follower = follower_of(data, KUBE_ENDPOINTS, object->ns);
    if (follower) {
        inventory_fill(follower->inventory, object);
    } else {
        kube_object_free(object); /* its namespace is not followed */
    }
}

static bool is_config_map(const struct kube_source *kube_source, const char *ns, const char *name)
{
    return strcmp(ns, kube_source->config.config_map_namespace) == 0 &&
           strcmp(name, kube_source->config.config_map_name) == 0;
}

/* Takes the ConfigMap: the server was asked for that one only. */
static void kube_source_take_config_map(struct kube_source *kube_source, struct kube_object *object)
{
    if (is_config_map(kube_source, object->ns, object->name)) {
        kube_source->has_config_map = true;
        kube_source->config.config_map(kube_source->config.data, object);
    } else {
        kube_object_free(object);
    }
}

static void lose_config_map(struct kube_source *kube_source)
{
    kube_source->has_config_map = false;
    kube_source->config.config_map(kube_source->config.data, NULL);
}

/* Returns whether a Namespace is another writer's. */
static bool is_elsewhere(const struct kube_source *kube_source, const struct kube_object *object)
{
    const struct kube_source_config *config = &kube_source->config;
    return object->kind == KUBE_NAMESPACE && config->namespace_count > 0 &&
           !slice_is_among(slice_str(object->name), config->namespaces, config->namespace_count);
}

/* Logs the Namespaces whose lists have no room; the longest lists are left out. */
static void kube_source_report_left_out(struct kube_source *kube_source)
{
    size_t left_out = kube_source_left_out(kube_source);
    if (left_out > 0 && !kube_source->has_left_out) {
        log_warn("visible-to lists of namespaces are left out, the longest ones: there is no room",
                 LOG_INT("lists", (int64_t)left_out), LOG_INT("bytes", CLIENT_KEYS_TEXTS_MAX));
    } else if (left_out == 0 && kube_source->has_left_out) {
        log_info("all visible-to lists of namespaces have room again");
    }
    kube_source->has_left_out = left_out > 0;
}

/* Logs labels that no Namespace has, once they are listed: a mistyped selector looks like a cluster
 * without Services. A list without any is doubted, and removes nothing. */
static void kube_source_report_selection(const struct follower *follower, enum kube_kind kind)
{
    struct kube_source *kube_source = follower->kube_source;
    const char *labels = kube_source->config.namespace_labels;
    if (kind != KUBE_NAMESPACE || !*labels || !follower->is_listed) {
        return;
    }
    bool has_none = inventory_count(follower->inventory, kind) == 0 ||
                    inventory_doubts(follower->inventory, kind);
    if (has_none && !kube_source->selects_none) {
        log_warn("no namespace matches --namespace-labels", LOG_STR("labels", labels));
    } else if (!has_none && kube_source->selects_none) {
        log_info("a namespace matches --namespace-labels now", LOG_STR("labels", labels));
    }
    kube_source->selects_none = has_none;
}

/* Says whose event is passed on, while it is: the object may be freed meanwhile. The
 * first list is no news. */
static void begin_cause(struct follower *follower, enum kube_kind kind, const char *ns,
                        const char *name, const char *version)
{
    struct kube_source *kube_source = follower->kube_source;
    kube_source->has_cause = follower->is_listed;
    if (kube_source->has_cause) {
        (void)snprintf(kube_source->cause_ns, sizeof(kube_source->cause_ns), "%s", ns);
        (void)snprintf(kube_source->cause_name, sizeof(kube_source->cause_name), "%s", name);
        (void)snprintf(kube_source->cause_version, sizeof(kube_source->cause_version), "%s",
                       version);
        kube_source->cause = (struct cause_object){
            .kind = kube_kind_name(kind),
            .ns = kube_source->cause_ns,
            .name = kube_source->cause_name,
            .version = kube_source->cause_version,
        };
    }
}

const struct cause_object *kube_source_cause(const struct kube_source *kube_source)
{
    return kube_source->has_cause ? &kube_source->cause : NULL;
}

/* Passes an object on to those who own the kind's from now on. */
static void pass_object(struct follower *follower, struct kube_object *object)
{
    struct kube_source *kube_source = follower->kube_source;
    if (object->kind == KUBE_CONFIG_MAP) {
        kube_source_take_config_map(kube_source, object);
        return;
    }
    if (is_elsewhere(kube_source, object)) {
        kube_object_free(object);
        return;
    }
    kube_object_localize(object);
    if (object->fault_count) {
        tell_flaws(follower, object);
    }
    if (route_table_has_kind(object->kind)) {
        tell_route_fault(kube_source, object);
        route_table_upsert(kube_source->routes, object);
        return;
    }
    if (kube_source->config.client_keys) {
        client_keys_upsert(kube_source->config.client_keys, object);
        kube_source_report_left_out(kube_source);
    }
    if (imports_for(kube_source, object->kind)) {
        inventory_upsert(kube_source->config.imports, kube_object_bare(object));
    }
    inventory_upsert(follower->inventory, object);
}

static void on_upsert(void *data, struct kube_object *object)
{
    struct follower *follower = data;
    const enum kube_kind kind = object->kind;
    begin_cause(follower, told_kind(follower, object), object->ns, object->name,
                object->resource_version);
    pass_object(follower, object);
    follower->kube_source->has_cause = false;
    kube_source_report_selection(follower, kind);
}

static void on_remove(void *data, enum kube_kind kind, const char *ns, const char *name,
                      const char *version)
{
    struct follower *follower = data;
    struct kube_source *kube_source = follower->kube_source;
    begin_cause(follower, kind, ns, name, version);
    kube_source->cause.is_deleted = true;
    if (route_table_has_kind(kind)) {
        route_table_remove(kube_source->routes, kind, ns, name);
    } else if (kind != KUBE_CONFIG_MAP) {
        if (kube_source->config.client_keys) {
            client_keys_remove(kube_source->config.client_keys, kind, ns, name);
            kube_source_report_left_out(kube_source);
        }
        if (imports_for(kube_source, kind)) {
            inventory_remove(kube_source->config.imports, kind, ns, name);
        }
        inventory_remove(follower->inventory, kube_kind_localized(kind), ns, name);
        kube_source_report_selection(follower, kind);
    } else if (is_config_map(kube_source, ns, name)) {
        lose_config_map(kube_source);
    }
    kube_source->has_cause = false;
}

static void kube_source_end_list(struct follower *follower, enum kube_kind kind)
{
    struct client_keys *client_keys = follower->kube_source->config.client_keys;
    if (route_table_has_kind(kind)) {
        route_table_list_end(follower->kube_source->routes, kind, follower->ns);
        return;
    }
    if (client_keys) {
        client_keys_list_end(client_keys, kind, follower->ns);
        kube_source_report_left_out(follower->kube_source);
    }
    if (imports_for(follower->kube_source, kind)) {
        inventory_list_end(follower->kube_source->config.imports, kind);
    }
    inventory_list_end(follower->inventory, kube_kind_localized(kind));
}

static void tell_listed(const struct follower *follower, enum kube_kind kind)
{
    const struct kube_source *kube_source = follower->kube_source;
    if (*follower->ns && kind != KUBE_CONFIG_MAP && !route_table_has_kind(kind) &&
        !is_for_clients_alone(&kube_source->config, kind)) {
        enum kube_kind local = kube_kind_localized(kind);
        log_info("listed", LOG_STR("kind", kube_kind_name(kind)),
                 LOG_INT("objects", (int64_t)inventory_count(follower->inventory, local)),
                 LOG_STR("namespace", follower->ns));
    } else {
        log_info("listed", LOG_STR("kind", kube_kind_name(kind)),
                 LOG_INT("objects", (int64_t)kube_source_count(kube_source, kind)));
    }
}

static void kube_source_on_list_end(void *data, enum kube_kind kind)
{
    struct follower *follower = data;
    struct kube_source *kube_source = follower->kube_source;
    follower->is_listed = true;
    follower->refusal = (struct err){0};
    if (kind != KUBE_CONFIG_MAP) {
        kube_source_end_list(follower, kind);
    } else if (!kube_source->has_config_map) {
        lose_config_map(kube_source);
    }
    xalloc_trim(); /* frees replaced objects and the list's buffers */
    tell_listed(follower, kind);
    kube_source_report_selection(follower, kind);
}

static void on_settled(void *data, bool is_settled)
{
    struct follower *follower = data;
    inventory_settle_endpoints(follower->inventory,
                               is_settled || follower->kube_source->config.is_dry_run);
}

static void on_bad(void *data, enum kube_kind kind, const struct err *err)
{
    struct follower *follower = data;
    tell_skipped(follower->kube_source, kind, "", err->msg);
}

/* Lets everything be listed again, outside of reflectors' callbacks. The first kind that notices
 * acts for all. */
static void kube_source_on_went_back(void *data, enum kube_kind kind, const struct err *err)
{
    struct kube_source *kube_source = ((struct follower *)data)->kube_source;
    if (!ev_is_active(&kube_source->restored)) {
        log_warn("the API server's data is older than before, listing everything again",
                 LOG_STR("kind", kube_kind_name(kind)), LOG_STR("reason", err->msg));
        ev_timer_start(kube_source->config.loop, &kube_source->restored);
    }
}

static void on_restored(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    struct kube_source *kube_source = timer->data;
    for (size_t kind = 0; kind < KUBE_KIND_COUNT; kind++) {
        for (size_t i = 0; i < kube_source->follower_counts[kind]; i++) {
            reflector_relist(kube_source->followers[kind][i].reflector);
        }
    }
}

static void on_imports_due(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    struct kube_source *kube_source = timer->data;
    kube_source->imports_listed_ms = clock_monotonic_ms();
    for (size_t i = 0; i < kube_source->follower_counts[KUBE_IMPORT_SLICE]; i++) {
        struct follower *follower = &kube_source->followers[KUBE_IMPORT_SLICE][i];
        if (follower->is_relist_due) {
            follower->is_relist_due = false;
            reflector_relist(follower->reflector);
        }
    }
}

/* ---- Lifetime ---- */

/* Returns the kind's label selector; "": every object. Endpoints belong to their Service, whatever
 * their own labels. */
static const char *selector_of(const struct kube_source_config *config, enum kube_kind kind)
{
    return kind == KUBE_NAMESPACE      ? config->namespace_labels
           : kind == KUBE_IMPORT_SLICE ? KUBE_IMPORT_NAME_LABEL
           : kind == KUBE_SERVICE || kind == KUBE_POD || kind == KUBE_IMPORT
               ? config->label_selector
               : "";
}

static void start_follower(struct follower *follower)
{
    struct kube_source *kube_source = follower->kube_source;
    enum kube_kind kind = follower->kind;
    follower->followed = (struct outage_source){
        .away_line = "API cannot be followed, retrying",
        .back_line = "API is followed",
        .kind = kube_kind_name(kind),
        .ns = *follower->ns && kind != KUBE_CONFIG_MAP ? follower->ns : NULL,
    };
    /* Nothing waits for kinds that many clusters do not have. */
    const bool is_apart = route_table_has_kind(kind) || is_of_imports(kind);
    outage_join(is_apart ? &kube_source->routes_outage : &kube_source->outage, &follower->followed,
                true);
    follower->reflector = reflector_start(&(struct reflector_config){
        .loop = kube_source->config.loop,
        .counts = &kube_source->counts[kind].reflector,
        .client = kube_source->config.client,
        .kind = kind,
        .endpoints_mode = kube_source->config.endpoints_mode,
        .namespaces = &follower->ns,
        .namespace_count = *follower->ns ? 1 : 0,
        .label_selector = selector_of(&kube_source->config, kind),
        .object = kind == KUBE_CONFIG_MAP ? kube_source->config.config_map_name : NULL,
        .list_begin = on_list_begin,
        .upsert = on_upsert,
        .remove = on_remove,
        .list_end = kube_source_on_list_end,
        .settled = on_settled,
        .went_back = kube_source_on_went_back,
        .bad = on_bad,
        .state = kube_source_on_state,
        .data = follower,
    });
}

static void start_kind(struct kube_source *kube_source, enum kube_kind kind)
{
    static const char *const everywhere[] = {""};
    const struct kube_source_config *config = &kube_source->config;
    bool is_config_map = kind == KUBE_CONFIG_MAP;
    bool is_narrowed = config->namespace_count > 0 && kube_kind_is_namespaced(kind);
    bool is_gateway = kind == KUBE_GATEWAY;
    const char *const *namespaces = is_config_map ? &config->config_map_namespace
                                    : is_gateway  ? kube_source->gateway_namespaces
                                    : is_narrowed ? config->namespaces
                                                  : everywhere;
    size_t count = is_gateway                      ? kube_source->gateway_namespace_count
                   : is_narrowed && !is_config_map ? config->namespace_count
                                                   : 1;
    kube_source->followers[kind] = xcalloc(count, sizeof(struct follower));
    kube_source->follower_counts[kind] = count;
    for (size_t i = 0; i < count; i++) {
        struct follower *follower = &kube_source->followers[kind][i];
        follower->kube_source = kube_source;
        follower->kind = kind;
        follower->ns = namespaces[i];
        follower->inventory =
            is_config_map ? config->inventory
                          : inventory_part(inventory_of(kube_source, kind), kind, namespaces[i]);
        start_follower(follower);
    }
}

/* Lists the namespaces of --gateway, each once. --namespaces does not restrict them: a Gateway is
 * often in another namespace than its routes. */
static void list_gateway_namespaces(struct kube_source *kube_source)
{
    const struct route_rules *rules = kube_source->config.route_rules;
    for (size_t i = 0; i < rules->gateway_count; i++) {
        struct slice ns = rules->gateways[i].ns;
        if (!slice_is_among(ns, kube_source->gateway_namespaces,
                            kube_source->gateway_namespace_count)) {
            kube_source->gateway_namespaces[kube_source->gateway_namespace_count++] =
                xstrndup(ns.ptr, ns.len);
        }
    }
}

static void start_routes(struct kube_source *kube_source)
{
    const struct kube_source_config *config = &kube_source->config;
    const struct route_rules *rules = config->route_rules;
    if (!rules || !(rules->class_count + rules->gateway_count)) {
        return;
    }
    list_gateway_namespaces(kube_source);
    size_t lists = config->namespace_count ? config->namespace_count : 1;
    const size_t list_counts[KUBE_KIND_COUNT] = {
        [KUBE_INGRESS] = rules->class_count ? lists : 0,
        [KUBE_GATEWAY] = kube_source->gateway_namespace_count,
        [KUBE_ROUTE] = rules->gateway_count ? lists : 0,
    };
    kube_source->routes = route_table_new(rules, config->aliases, list_counts);
    for (size_t i = 0; i < KUBE_KIND_COUNT; i++) {
        if (list_counts[i]) {
            start_kind(kube_source, (enum kube_kind)i);
        }
    }
}

/* The source of imports' endpoints is slices alone. */
static void start_imports(struct kube_source *kube_source)
{
    const struct kube_source_config *config = &kube_source->config;
    if (!config->imports) {
        return;
    }
    inventory_want(config->imports, KUBE_POD, false);
    inventory_want(config->imports, KUBE_NAMESPACE, *config->namespace_labels);
    start_kind(kube_source, KUBE_IMPORT);
    start_kind(kube_source, KUBE_IMPORT_SLICE);
    for (size_t i = 0; i < kube_source->follower_counts[KUBE_IMPORT_SLICE]; i++) {
        inventory_use_endpoints(kube_source->followers[KUBE_IMPORT_SLICE][i].inventory, KUBE_SLICE);
    }
}

struct kube_source *kube_source_start(const struct kube_source_config *config)
{
    struct kube_source *kube_source = xcalloc(1, sizeof(*kube_source));
    kube_source->config = *config;
    kube_source_refusals_init(kube_source);
    kube_source->parts = parts_fetch_new(&(struct parts_fetch_config){.loop = config->loop,
                                                                      .client = config->client,
                                                                      .resource = resource_of_parts,
                                                                      .part = on_part,
                                                                      .data = kube_source});
    timer_init(&kube_source->restored, on_restored, kube_source);
    timer_init(&kube_source->imports_due, on_imports_due, kube_source);
    kube_source->imports_listed_ms = clock_monotonic_ms() - IMPORTS_PAUSE_MS;
    outage_init(&kube_source->outage, config->loop, "the Kubernetes API", config->timeout_ms,
                "the API has been failing for longer than etcd-mutation-timeout, still retrying");
    outage_init(&kube_source->routes_outage, config->loop, "the Kubernetes API", ROUTES_TIMEOUT_MS,
                "Ingresses, routes or imports have been unknown for a year");
    inventory_want(config->inventory, KUBE_POD, config->wants_pods);
    inventory_want(config->inventory, KUBE_NODE, config->wants_nodes);
    inventory_want(config->inventory, KUBE_NAMESPACE, config->wants_namespaces);
    start_kind(kube_source, KUBE_SERVICE);
    start_kind(kube_source, KUBE_ENDPOINTS);
    if (config->wants_pods || config->has_client_records) {
        start_kind(kube_source, KUBE_POD);
    }
    if (config->wants_nodes || config->has_client_records) {
        start_kind(kube_source, KUBE_NODE);
    }
    if (config->wants_namespaces) {
        start_kind(kube_source, KUBE_NAMESPACE);
    }
    if (config->config_map_name && *config->config_map_name) {
        start_kind(kube_source, KUBE_CONFIG_MAP);
    }
    start_routes(kube_source);
    start_imports(kube_source);
    return kube_source;
}

void kube_source_want_imports(struct kube_source *kube_source, const char *ns)
{
    for (size_t i = 0; i < kube_source->follower_counts[KUBE_IMPORT_SLICE]; i++) {
        struct follower *follower = &kube_source->followers[KUBE_IMPORT_SLICE][i];
        follower->is_relist_due |= !*follower->ns || strcmp(follower->ns, ns) == 0;
    }
    const int64_t passed_ms = clock_monotonic_ms() - kube_source->imports_listed_ms;
    const int64_t left_ms = passed_ms < IMPORTS_PAUSE_MS ? IMPORTS_PAUSE_MS - passed_ms : 0;
    if (kube_source->parts && !ev_is_active(&kube_source->imports_due)) { /* not stopped */
        timer_arm_ms(kube_source->config.loop, &kube_source->imports_due, left_ms);
    }
}

void kube_source_want_parts(struct kube_source *kube_source, const char *ns, const char *service)
{
    if (kube_source->parts) {
        parts_fetch_want(kube_source->parts, ns, service);
    }
}

void kube_source_stop(struct kube_source *kube_source)
{
    kube_source_refusals_stop(kube_source);
    ev_timer_stop(kube_source->config.loop, &kube_source->restored);
    ev_timer_stop(kube_source->config.loop, &kube_source->imports_due);
    parts_fetch_free(kube_source->parts);
    kube_source->parts = NULL;
    for (size_t kind = 0; kind < KUBE_KIND_COUNT; kind++) {
        for (size_t i = 0; i < kube_source->follower_counts[kind]; i++) {
            struct follower *follower = &kube_source->followers[kind][i];
            reflector_stop(follower->reflector);
            follower->reflector = NULL;
        }
    }
}

void kube_source_free(struct kube_source *kube_source)
{
    if (kube_source) {
        kube_source_stop(kube_source);
        outage_fini(&kube_source->outage);
        outage_fini(&kube_source->routes_outage);
        route_table_free(kube_source->routes);
        for (size_t i = 0; i < kube_source->gateway_namespace_count; i++) {
            free((char *)(uintptr_t)kube_source->gateway_namespaces[i]);
        }
        for (size_t kind = 0; kind < KUBE_KIND_COUNT; kind++) {
            free(kube_source->followers[kind]);
        }
        free(kube_source);
    }
}

/* ---- Getters ---- */

const struct outage *kube_source_outage(const struct kube_source *kube_source)
{
    return &kube_source->outage;
}

bool kube_source_follows(const struct kube_source *kube_source, enum kube_kind kind)
{
    return kube_source->follower_counts[kind] > 0;
}

const struct outage_source *kube_source_followed(const struct kube_source *kube_source,
                                                 enum kube_kind kind)
{
    const struct outage_source *found = &kube_source->followers[kind][0].followed;
    for (size_t i = 1; i < kube_source->follower_counts[kind]; i++) {
        const struct outage_source *other = &kube_source->followers[kind][i].followed;
        bool is_longer = other->is_away && (!found->is_away || other->since_ms < found->since_ms);
        found = is_longer ? other : found;
    }
    return found;
}

const char *kube_source_version(const struct kube_source *kube_source, enum kube_kind kind,
                                const char *ns)
{
    const struct follower *follower = follower_of(kube_source, kind, ns);
    return follower && follower->reflector && !follower->followed.is_away
               ? reflector_version(follower->reflector)
               : NULL;
}

uint64_t kube_source_reconnects(const struct kube_source *kube_source, enum kube_kind kind,
                                enum outage_reason reason)
{
    uint64_t count = 0;
    for (size_t i = 0; i < kube_source->follower_counts[kind]; i++) {
        count += kube_source->followers[kind][i].followed.returns[reason];
    }
    return count;
}

size_t kube_source_left_out(const struct kube_source *kube_source)
{
    return kube_source->config.client_keys ? client_keys_left_out(kube_source->config.client_keys)
                                           : 0;
}

const struct kube_object *kube_source_find(const struct kube_source *kube_source,
                                           enum kube_kind kind, const char *ns, const char *name)
{
    if (route_table_has_kind(kind)) {
        return kube_source->routes ? route_table_find(kube_source->routes, kind, ns, name) : NULL;
    }
    const struct inventory *inventory = inventory_of(kube_source, kind);
    char *id = xasprintf("%s/%s", ns, name);
    const struct kube_object *object =
        inventory ? inventory_find(inventory, kube_kind_localized(kind), slice_str(id)) : NULL;
    free(id);
    return object;
}

size_t kube_source_count(const struct kube_source *kube_source, enum kube_kind kind)
{
    if (route_table_has_kind(kind)) {
        return kube_source->routes ? route_table_count(kube_source->routes, kind) : 0;
    }
    if (is_of_imports(kind)) {
        const struct inventory *imports = kube_source->config.imports;
        return imports ? inventory_count(imports, kube_kind_localized(kind)) : 0;
    }
    if (is_for_clients_alone(&kube_source->config, kind) && kube_source->config.client_keys) {
        return client_keys_count(kube_source->config.client_keys, kind);
    }
    return kind == KUBE_CONFIG_MAP ? kube_source->has_config_map
                                   : inventory_count(kube_source->config.inventory, kind);
}

const struct kube_source_counts *kube_source_counts(const struct kube_source *kube_source,
                                                    enum kube_kind kind)
{
    return &kube_source->counts[kind];
}
