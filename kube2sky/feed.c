#include "kube2sky/feed.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "kube2sky/api/kube_client.h"
#include "kube2sky/naming/client_keys.h"
#include "kube2sky/naming/inventory.h"
#include "kube2sky/reconcile/flaw_list.h"

/* Endpoints are listed again because a Service became headless: at most a tenth of the time, since
 * whoever may edit one could demand it all the time, and not before a second. */
enum { RELIST_SHARE = 10, RELIST_AFTER_MS = 1000 };

struct feed {
    struct feed_config config;
    ev_timer relist;
    int64_t relist_began_ms; /* monotonic; 0 = no such list runs */
    int64_t next_relist_ms;
    struct outage outage;
    struct outage_source followed[KUBE_KIND_COUNT];
    struct reflector *reflectors[KUBE_KIND_COUNT];
    struct feed_counts counts[KUBE_KIND_COUNT];
    bool has_config_map; /* it exists */
};

/* ---- Reflectors to inventory ---- */

static void on_list_begin(void *data, enum kube_kind kind)
{
    struct feed *feed = data;
    if (kind == KUBE_CONFIG_MAP) {
        feed->has_config_map = false;
        return;
    }
    if (kind == KUBE_ENDPOINTS || kind == KUBE_SLICE) {
        inventory_use_endpoints(feed->config.inventory, kind);
    }
    inventory_list_begin(feed->config.inventory, kind);
    if (feed->config.client_keys) {
        client_keys_list_begin(feed->config.client_keys, kind);
    }
}

static void keep_flaw(struct feed *feed, enum kube_kind kind, const char *name, const char *why)
{
    char *what = xasprintf("%s %s", kube_kind_name(kind), name);
    flaw_list_add(feed->config.flaws, what, why);
    free(what);
}

/* name: "default/web", of a Node "worker-1", "" if unknown. */
static void tell_skipped(struct feed *feed, enum kube_kind kind, const char *name, const char *why)
{
    static struct log_limit limit = {.burst = 10};
    counter_add(&feed->counts[kind].skipped, 1);
    keep_flaw(feed, kind, name, why);
    if (log_limit_pass(&limit)) {
        log_warn("cannot understand object, its keys are unchanged",
                 LOG_STR("kind", kube_kind_name(kind)), LOG_STR("name", name),
                 LOG_STR("error", why));
    }
}

/* A relist, or a change of something else, repeats the faults. */
static void tell_faults(struct feed *feed, const struct kube_object *object, const char *name)
{
    static struct log_limit limit = {.burst = 10};
    if (strcmp(object->faults, inventory_faults(feed->config.inventory, object)) == 0) {
        return;
    }
    counter_add(&feed->counts[object->kind].faults, object->fault_count);
    keep_flaw(feed, object->kind, name, object->faults);
    if (log_limit_pass(&limit)) {
        log_warn("part of an object cannot be understood, left out",
                 LOG_STR("kind", kube_kind_name(object->kind)), LOG_STR("name", name),
                 LOG_INT("parts", object->fault_count), LOG_STR("error", object->faults));
    }
}

static void tell_flaws(struct feed *feed, const struct kube_object *object)
{
    char *name = xasprintf("%s%s%s", object->ns, *object->ns ? "/" : "", object->name);
    if (object->is_garbled) {
        tell_skipped(feed, object->kind, name, object->faults);
    } else {
        tell_faults(feed, object, name);
    }
    free(name);
}

/* Not from here: an object of the reflector itself may have caused it. */
static void check_relist(struct feed *feed)
{
    bool is_wanted = inventory_wants_relist(feed->config.inventory);
    if (is_wanted && !feed->relist_began_ms && !ev_is_active(&feed->relist)) {
        int64_t wait_ms = feed->next_relist_ms - clock_monotonic_ms();
        ev_timer_set(&feed->relist, wait_ms > 0 ? (double)wait_ms / 1000 : 0.0, 0.0);
        ev_timer_start(feed->config.loop, &feed->relist);
    }
}

static void on_relist(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    struct feed *feed = timer->data;
    if (inventory_wants_relist(feed->config.inventory)) {
        log_debug("listing again: a service became headless");
        feed->relist_began_ms = clock_monotonic_ms();
        reflector_relist(feed->reflectors[KUBE_ENDPOINTS]);
    }
}

static void end_relist(struct feed *feed)
{
    int64_t now_ms = clock_monotonic_ms();
    int64_t took_ms = now_ms - feed->relist_began_ms;
    if (feed->relist_began_ms) {
        feed->relist_began_ms = 0;
        feed->next_relist_ms = now_ms + RELIST_AFTER_MS + RELIST_SHARE * took_ms;
    }
    check_relist(feed);
}

static bool is_config_map(const struct feed *feed, const char *ns, const char *name)
{
    return strcmp(ns, feed->config.config_map_namespace) == 0 &&
           strcmp(name, feed->config.config_map_name) == 0;
}

/* The server was asked for that one only. */
static void take_config_map(struct feed *feed, struct kube_object *object)
{
    if (is_config_map(feed, object->ns, object->name)) {
        feed->has_config_map = true;
        feed->config.config_map(feed->config.data, object);
    } else {
        kube_object_free(object);
    }
}

static void lose_config_map(struct feed *feed)
{
    feed->has_config_map = false;
    feed->config.config_map(feed->config.data, NULL);
}

/* A Namespace that is another writer's. */
static bool is_elsewhere(const struct feed *feed, const struct kube_object *object)
{
    bool is_elsewhere = object->kind == KUBE_NAMESPACE && feed->config.namespace_count > 0;
    for (size_t i = 0; i < feed->config.namespace_count && is_elsewhere; i++) {
        is_elsewhere = strcmp(feed->config.namespaces[i], object->name) != 0;
    }
    return is_elsewhere;
}

static void on_upsert(void *data, struct kube_object *object)
{
    struct feed *feed = data;
    if (object->kind == KUBE_CONFIG_MAP) {
        take_config_map(feed, object);
        return;
    }
    if (is_elsewhere(feed, object)) {
        kube_object_free(object);
        return;
    }
    if (object->fault_count) {
        tell_flaws(feed, object);
    }
    if (feed->config.client_keys) {
        client_keys_upsert(feed->config.client_keys, object);
    }
    inventory_upsert(feed->config.inventory, object);
    check_relist(feed);
}

static void on_remove(void *data, enum kube_kind kind, const char *ns, const char *name)
{
    struct feed *feed = data;
    if (kind != KUBE_CONFIG_MAP) {
        if (feed->config.client_keys) {
            client_keys_remove(feed->config.client_keys, kind, ns, name);
        }
        inventory_remove(feed->config.inventory, kind, ns, name);
    } else if (is_config_map(feed, ns, name)) {
        lose_config_map(feed);
    }
}

static void end_list(struct feed *feed, enum kube_kind kind)
{
    if (feed->config.client_keys) {
        client_keys_list_end(feed->config.client_keys, kind);
    }
    inventory_list_end(feed->config.inventory, kind);
}

static void on_list_end(void *data, enum kube_kind kind)
{
    struct feed *feed = data;
    if (kind != KUBE_CONFIG_MAP) {
        end_list(feed, kind);
    } else if (!feed->has_config_map) {
        lose_config_map(feed);
    }
    xalloc_trim(); /* what it replaced, and the buffers of the list */
    log_info("listed", LOG_STR("kind", kube_kind_name(kind)),
             LOG_INT("objects", (int64_t)feed_count(feed, kind)));
    if (kind == KUBE_ENDPOINTS || kind == KUBE_SLICE) {
        end_relist(feed);
    }
}

static void on_settled(void *data, bool is_settled)
{
    struct feed *feed = data;
    inventory_settle_endpoints(feed->config.inventory, is_settled || feed->config.is_dry_run);
}

static void on_bad(void *data, enum kube_kind kind, const struct err *err)
{
    tell_skipped(data, kind, "", err->msg);
}

/* Whoever permits Services and pods may not permit Nodes or Namespaces: that can last. A server
 * that has just started may permit nothing for a moment, so nothing counts before it has listed the
 * Services. A dry run would not know everything. */
static void lack(struct feed *feed, enum kube_kind kind, const struct err *err)
{
    bool is_refused = err->code == ERR_REFUSED && !kube_kind_is_namespaced(kind);
    if (!(inventory_complete_kinds(feed->config.inventory) & (1U << KUBE_SERVICE))) {
        return;
    }
    if (kind == KUBE_CONFIG_MAP) {
        feed->config.config_map_lacks(feed->config.data);
    } else if (is_refused && !feed->config.is_dry_run) {
        inventory_lack(feed->config.inventory, kind);
    }
}

static void on_state(void *data, enum kube_kind kind, const char *resource, const struct err *err)
{
    struct feed *feed = data;
    feed->followed[kind].kind = resource; /* for its log line */
    if (err) {
        outage_away(&feed->followed[kind], err);
        lack(feed, kind, err);
    } else {
        outage_back(&feed->followed[kind]);
    }
}

/* ---- Lifetime ---- */

/* Of the selector. Endpoints belong to their Service, whatever their own labels. */
static bool has_labels(enum kube_kind kind)
{
    return kind == KUBE_SERVICE || kind == KUBE_POD;
}

static void start_kind(struct feed *feed, enum kube_kind kind)
{
    bool is_config_map = kind == KUBE_CONFIG_MAP, is_namespaced = kube_kind_is_namespaced(kind);
    feed->followed[kind] = (struct outage_source){
        .away_line = "API cannot be followed, retrying",
        .back_line = "API is followed",
        .kind = kube_kind_name(kind),
    };
    outage_join(&feed->outage, &feed->followed[kind], true);
    feed->reflectors[kind] = reflector_start(&(struct reflector_config){
        .loop = feed->config.loop,
        .counts = &feed->counts[kind].reflector,
        .client = feed->config.client,
        .kind = kind,
        .endpoints_mode = feed->config.endpoints_mode,
        .namespaces = is_config_map ? &feed->config.config_map_namespace : feed->config.namespaces,
        .namespace_count = is_config_map   ? 1
                           : is_namespaced ? feed->config.namespace_count
                                           : 0,
        .label_selector = has_labels(kind) ? feed->config.label_selector : "",
        .object = is_config_map ? feed->config.config_map_name : NULL,
        .list_begin = on_list_begin,
        .upsert = on_upsert,
        .remove = on_remove,
        .list_end = on_list_end,
        .settled = on_settled,
        .bad = on_bad,
        .state = on_state,
        .data = feed,
    });
}

struct feed *feed_start(const struct feed_config *config)
{
    struct feed *feed = xcalloc(1, sizeof(*feed));
    feed->config = *config;
    ev_timer_init(&feed->relist, on_relist, 0.0, 0.0);
    feed->relist.data = feed;
    outage_init(&feed->outage, config->loop, "the Kubernetes API", config->patience_ms,
                "the API has been failing for longer than etcd-mutation-timeout, still retrying");
    inventory_want(config->inventory, KUBE_POD, config->wants_pods);
    inventory_want(config->inventory, KUBE_NODE, config->wants_nodes);
    inventory_want(config->inventory, KUBE_NAMESPACE, config->wants_namespaces);
    start_kind(feed, KUBE_SERVICE);
    start_kind(feed, KUBE_ENDPOINTS);
    if (config->wants_pods) {
        start_kind(feed, KUBE_POD);
    }
    if (config->wants_nodes) {
        start_kind(feed, KUBE_NODE);
    }
    if (config->wants_namespaces) {
        start_kind(feed, KUBE_NAMESPACE);
    }
    if (config->config_map_name && *config->config_map_name) {
        start_kind(feed, KUBE_CONFIG_MAP);
    }
    return feed;
}

void feed_stop(struct feed *feed)
{
    ev_timer_stop(feed->config.loop, &feed->relist);
    for (size_t i = 0; i < KUBE_KIND_COUNT; i++) {
        if (feed->reflectors[i]) {
            reflector_stop(feed->reflectors[i]);
            feed->reflectors[i] = NULL;
        }
    }
}

void feed_free(struct feed *feed)
{
    if (feed) {
        feed_stop(feed);
        outage_fini(&feed->outage);
        free(feed);
    }
}

/* ---- Getters ---- */

const struct outage *feed_outage(const struct feed *feed)
{
    return &feed->outage;
}

bool feed_follows(const struct feed *feed, enum kube_kind kind)
{
    return feed->followed[kind].outage != NULL;
}

const struct outage_source *feed_followed(const struct feed *feed, enum kube_kind kind)
{
    return &feed->followed[kind];
}

size_t feed_count(const struct feed *feed, enum kube_kind kind)
{
    return kind == KUBE_CONFIG_MAP ? feed->has_config_map
                                   : inventory_count(feed->config.inventory, kind);
}

const struct feed_counts *feed_counts(const struct feed *feed, enum kube_kind kind)
{
    return &feed->counts[kind];
}
