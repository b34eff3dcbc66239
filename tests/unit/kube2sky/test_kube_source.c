/* kube_source against a fake API on the same loop: where objects go, what is logged and counted of
 * them, and what happens while a kind is refused or missing, or the API's storage has gone back. */
#include "kube2sky/kube_source.h"

#include "kube2sky/api/kube_client.h"
#include "kube2sky/naming/client_keys.h"
#include "kube2sky/naming/external_aliases.h"
#include "kube2sky/naming/inventory.h"
#include "kube2sky/naming/override_zones.h"
#include "kube2sky/naming/owner_objects.h"
#include "kube2sky/naming/route_rules.h"
#include "kube2sky/reconcile/flaw_list.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/http_ask.h"
#include "tests/support/log_capture.h"
#include "tests/support/unit_test.h"

/* ---- The API ---- */

enum { RESOURCES_MAX = 8 };

struct bed;

/* One list of the API. A watch sends `events` once, and ends. */
struct api_resource {
    struct bed *bed;
    const char *items;  /* with ' for " */
    const char *events; /* NULL: none, or they were sent */
    bool is_refused;
};

struct bed {
    struct ev_loop *loop;
    struct http_route routes[RESOURCES_MAX];
    struct api_resource resources[RESOURCES_MAX];
    size_t resource_count;
    unsigned version; /* of the API's storage */
    struct http_server *api;
    struct kube_client *client;
    struct inventory *inventory;
    struct flaw_list flaws;
    struct override_zones *zones;
    struct route_rules rules;
    struct external_aliases *aliases;
    struct client_keys *client_keys; /* NULL: none */
    const char *const *namespaces;   /* ends with NULL; NULL: all */
    struct kube_source *source;
    struct buf told; /* what came of the ConfigMap */
    uint64_t want;   /* for the conditions below */
};

static void append_json(struct buf *out, const char *text)
{
    for (; *text; text++) {
        buf_append_char(out, *text == '\'' ? '"' : *text);
    }
}

static void api_handle(void *data, const struct http_request *request, struct http_reply *reply)
{
    struct api_resource *resource = data;
    reply->content_type = "application/json";
    if (resource->is_refused) {
        reply->status = 404; /* as refused to the source as a 403, which this server cannot send */
        append_json(&reply->body, "{'kind':'Status','code':404,'message':'not for you'}");
    } else if (!http_request_arg(request, "watch")) {
        buf_printf(&reply->body, "{\"metadata\":{\"resourceVersion\":\"%u\"},\"items\":[",
                   resource->bed->version);
        append_json(&reply->body, resource->items);
        buf_append_str(&reply->body, "]}");
    } else if (resource->events) {
        append_json(&reply->body, resource->events);
        resource->events = NULL;
    }
}

static struct api_resource *api_has(struct bed *b, const char *path, const char *items)
{
    assert_true(b->resource_count < RESOURCES_MAX);
    struct api_resource *resource = &b->resources[b->resource_count];
    *resource = (struct api_resource){.bed = b, .items = items};
    b->routes[b->resource_count++] = (struct http_route){path, api_handle, resource};
    return resource;
}

#define NAMED(ns, name)  "{'metadata':{'namespace':'" ns "','name':'" name "'}"
#define KUBERNETES       NAMED("default", "kubernetes") ",'spec':{'clusterIP':'10.0.0.1'}}"
#define EVENT(type, obj) "{'type':'" type "','object':" obj "}\n"

/* ---- The bed ---- */

static void kube_source_ignore_change(void *data UNUSED, struct slice owner UNUSED)
{
}

static void bed_want_parts(void *data, const char *ns, const char *service)
{
    struct bed *b = data;
    kube_source_want_parts(b->source, ns, service);
}

static void bed_take_config_map(void *data, struct kube_object *map)
{
    struct bed *b = data;
    buf_printf(&b->told, "%s ", map ? map->name : "gone");
    kube_object_free(map);
}

static void bed_lack_config_map(void *data)
{
    struct bed *b = data;
    buf_append_str(&b->told, "refused ");
}

static void bed_open(struct bed *b)
{
    struct err err = {0};
    *b = (struct bed){.loop = ev_loop_new(0), .version = 100};
    buf_init(&b->told, 1 << 16);
    assert_int_equal(override_zones_parse("*.example.com", "cluster.local.", &b->zones, &err), 0);
    b->aliases = external_aliases_new(
        &(struct external_aliases_config){.zones = b->zones,
                                          .domain = "cluster.local.",
                                          .ttl_s = 30,
                                          .changed = kube_source_ignore_change});
    assert_int_equal(route_rules_add_class(&b->rules, "nginx=infra/in", NULL, 0, &err), 0);
    assert_int_equal(route_rules_add_gateway(&b->rules, "infra/a=infra/envoy", NULL, 0, &err), 0);
    assert_int_equal(route_rules_add_gateway(&b->rules, "infra/b=infra/envoy", NULL, 0, &err), 0);
}

/* Starts the source over what the API has. */
static void bed_start(struct bed *b, const struct kube_source_config *wanted)
{
    struct err err = {0};
    struct addr address;
    char url[ADDR_TEXT_MAX + sizeof("http://")], text[ADDR_TEXT_MAX];
    struct kube_source_config config = *wanted;
    b->api = http_ask_serve(b->loop, b->routes, b->resource_count, &address);
    (void)snprintf(url, sizeof(url), "http://%s", addr_format(&address, text)); /* fits */
    const struct kube_client_config client = {
        .loop = b->loop, .kubecfg_file = "", .kube_master_url = url};
    assert_int_equal(kube_client_new(&client, &b->client, &err), 0);
    while (b->namespaces && b->namespaces[config.namespace_count]) {
        config.namespace_count++;
    }
    b->inventory = inventory_new(&(struct inventory_config){
        .namespaces = b->namespaces,
        .namespace_count = config.namespace_count,
        .is_narrowed = config.namespace_count > 0,
        .changed = kube_source_ignore_change,
        .parts_wanted = bed_want_parts,
        .data = b,
    });
    config.loop = b->loop;
    config.client = b->client;
    config.inventory = b->inventory;
    config.client_keys = b->client_keys;
    config.flaws = &b->flaws;
    config.namespaces = b->namespaces;
    config.endpoints_mode = ENDPOINTS_ENDPOINTS;
    config.label_selector = "";
    config.namespace_labels = "";
    config.aliases = b->aliases;
    config.config_map_namespace = "kube-system";
    config.config_map = bed_take_config_map;
    config.config_map_lacks = bed_lack_config_map;
    config.data = b;
    b->source = kube_source_start(&config);
}

static void bed_stop(struct bed *b)
{
    kube_source_free(b->source);
    kube_client_free(b->client);
    http_server_free(b->api);
    inventory_free(b->inventory);
    b->source = NULL;
}

static void bed_close(struct bed *b)
{
    bed_stop(b);
    external_aliases_free(b->aliases);
    client_keys_free(b->client_keys);
    override_zones_free(b->zones);
    ev_loop_destroy(b->loop);
    buf_fini(&b->told);
}

static uint64_t kind_lists(const struct bed *b, enum kube_kind kind)
{
    return counter_get(&kube_source_counts(b->source, kind)->reflector.lists);
}

static bool is_alias_held(const struct bed *b, const char *owner)
{
    return external_aliases_is_held(b->aliases, slice_str(owner));
}

static const char *alias_of(const struct bed *b, const char *name_key)
{
    static char text[64];
    bool is_config;
    struct slice owner = external_aliases_owner(b->aliases, slice_str(name_key), &is_config);
    (void)snprintf(text, sizeof(text), "%.*s", (int)owner.len, owner.ptr); /* short ones */
    return text;
}

/* ---- Conditions ---- */

static bool has_names(const void *data)
{
    const struct bed *b = data;
    return external_aliases_count(b->aliases).names == b->want;
}

static bool has_services(const void *data)
{
    const struct bed *b = data;
    return inventory_is_complete(b->inventory) &&
           inventory_count(b->inventory, KUBE_SERVICE) == b->want;
}

static bool has_told(const void *data)
{
    const struct bed *b = data;
    return b->told.len >= b->want;
}

static bool is_kind_away(const struct bed *b, enum kube_kind kind)
{
    return kube_source_followed(b->source, kind)->is_away;
}

/* ---- Ingresses, Gateways and routes ---- */

#define SHOP                                                              \
    NAMED("shop", "shop")                                                 \
    ",'spec':{'ingressClassName':'nginx','rules':[{'host':'shop.example." \
    "com'}]}}"
#define ODD                                                              \
    NAMED("shop", "odd")                                                 \
    ",'spec':{'ingressClassName':'nginx','rules':[{'host':'odd.example." \
    "com'},7]}}"
#define GATEWAY \
    NAMED("infra", "b") ",'spec':{'listeners':[{'name':'x','hostname':'*.example.com'}]}}"
#define ROUTE                                                                                     \
    "{'metadata':{'namespace':'shop','name':'r','generation':1},'spec':{'hostnames':['r.example." \
    "com']},'status':{'parents':[{'parentRef':{'namespace':'infra','name':'b'},'conditions':["    \
    "{'type':'Accepted','status':'True','observedGeneration':1}]}]}}"

static bool has_changed_odd(const void *data)
{
    const struct bed *b = data;
    return !*alias_of(b, "/skydns/com/example/odd");
}

/* A Gateway's namespace is listed once, although two rules name it. An Ingress's fault is told
 * once, although its next state has the same. */
UNIT_TEST(test_routes)
{
    static struct log_capture capture;
    struct bed b;
    log_capture_begin(&capture);
    bed_open(&b);
    (void)api_has(&b, "/api/v1/services", KUBERNETES);
    (void)api_has(&b, "/api/v1/endpoints", "");
    struct api_resource *ingresses =
        api_has(&b, "/apis/networking.k8s.io/v1/ingresses", SHOP "," ODD);
    (void)api_has(&b, "/apis/gateway.networking.k8s.io/v1/namespaces/infra/gateways", GATEWAY);
    struct api_resource *routes =
        api_has(&b, "/apis/gateway.networking.k8s.io/v1/httproutes", ROUTE);
    bed_start(&b, &(struct kube_source_config){.route_rules = &b.rules, .timeout_ms = 3600 * 1000});
    assert_true(kube_source_follows(b.source, KUBE_INGRESS));
    assert_true(kube_source_follows(b.source, KUBE_GATEWAY));
    assert_true(kube_source_follows(b.source, KUBE_ROUTE));
    assert_false(kube_source_follows(b.source, KUBE_NODE));
    b.want = 3;
    loop_until(b.loop, has_names, &b);
    assert_string_equal(alias_of(&b, "/skydns/com/example/shop"), "alias/infra/in");
    assert_string_equal(alias_of(&b, "/skydns/com/example/odd"), "alias/infra/in");
    assert_string_equal(alias_of(&b, "/skydns/com/example/r"), "alias/infra/envoy");
    assert_int_equal(kube_source_count(b.source, KUBE_INGRESS), 2);
    assert_int_equal(kube_source_count(b.source, KUBE_GATEWAY), 1);
    assert_int_equal(kube_source_count(b.source, KUBE_ROUTE), 1);
    assert_int_equal(kind_lists(&b, KUBE_GATEWAY), 1);

    ingresses->events = EVENT("MODIFIED", ODD) EVENT("DELETED", ODD) EVENT("DELETED", SHOP);
    loop_until(b.loop, has_changed_odd, &b);
    assert_string_equal(alias_of(&b, "/skydns/com/example/shop"), "");
    assert_string_equal(alias_of(&b, "/skydns/com/example/r"), "alias/infra/envoy");
    assert_int_equal(kube_source_count(b.source, KUBE_INGRESS), 0);
    assert_int_equal(counter_get(&kube_source_counts(b.source, KUBE_INGRESS)->faults), 1);
    assert_int_equal(b.flaws.count, 1);
    assert_string_equal(b.flaws.items[0].what, "ingresses shop/odd");
    routes->events = EVENT("DELETED", ROUTE);
    b.want = 0;
    loop_until(b.loop, has_names, &b);
    bed_close(&b);
    const char *log = log_capture_end(&capture);
    assert_int_equal(log_occurrences(log, "part of an object cannot be understood, left out"), 1);
    assert_non_null(strstr(log, "kind=ingresses name=shop/odd parts=1"));
    assert_non_null(strstr(log, "listed kind=ingresses objects=2\n"));
}

static bool is_route_away(const void *data)
{
    const struct bed *b = data;
    return is_kind_away(b, KUBE_ROUTE) && is_kind_away(b, KUBE_GATEWAY) &&
           external_aliases_count(b->aliases).names == 2 && inventory_is_complete(b->inventory) &&
           !outage_is_away(kube_source_outage(b->source));
}

/* A server without the Gateway API: nothing but its own names waits for that. */
UNIT_TEST(test_no_gateway_api)
{
    static struct log_capture capture;
    struct bed b;
    log_capture_begin(&capture);
    bed_open(&b);
    (void)api_has(&b, "/api/v1/services", KUBERNETES);
    (void)api_has(&b, "/api/v1/endpoints", "");
    (void)api_has(&b, "/apis/networking.k8s.io/v1/ingresses", SHOP "," ODD);
    bed_start(&b, &(struct kube_source_config){.route_rules = &b.rules, .timeout_ms = 1});
    loop_until(b.loop, is_route_away, &b);
    assert_false(kube_source_outage(b.source)->is_overdue);
    assert_true(is_alias_held(&b, "alias/infra/envoy"));
    assert_false(is_alias_held(&b, "alias/infra/in"));
    bed_close(&b);
    const char *log = log_capture_end(&capture);
    assert_int_equal(log_occurrences(log, "API cannot be followed, retrying kind=httproutes"), 1);
}

/* ---- The ConfigMap ---- */

#define CONFIG_MAPS "/api/v1/namespaces/kube-system/configmaps"
#define MAP(name)   NAMED("kube-system", name) ",'data':{}}"

static void start_with_config_map(struct bed *b)
{
    bed_start(
        b, &(struct kube_source_config){.config_map_name = "kube-dns", .timeout_ms = 3600 * 1000});
}

static void kube_source_expect_told(struct bed *b, const char *want)
{
    b->want = strlen(want);
    loop_until(b->loop, has_told, b);
    assert_string_equal(buf_cstr(&b->told), want);
    buf_clear(&b->told);
}

/* Whatever else a server sends, only the named one counts. */
UNIT_TEST(test_config_map)
{
    struct bed b;
    bed_open(&b);
    (void)api_has(&b, "/api/v1/services", KUBERNETES);
    (void)api_has(&b, "/api/v1/endpoints", "");
    struct api_resource *maps = api_has(&b, CONFIG_MAPS, MAP("other") "," MAP("kube-dns"));
    start_with_config_map(&b);
    kube_source_expect_told(&b, "kube-dns ");
    assert_int_equal(kube_source_count(b.source, KUBE_CONFIG_MAP), 1);
    maps->events = EVENT("DELETED", MAP("other")) EVENT("DELETED", MAP("kube-dns"));
    kube_source_expect_told(&b, "gone ");
    assert_int_equal(kube_source_count(b.source, KUBE_CONFIG_MAP), 0);
    bed_stop(&b);

    maps->items = MAP("other");
    start_with_config_map(&b);
    kube_source_expect_told(&b, "gone ");
    bed_stop(&b);

    maps->is_refused = true;
    start_with_config_map(&b);
    kube_source_expect_told(&b, "refused ");
    bed_close(&b);
}

/* ---- Refusals ---- */

static bool has_team(const void *data)
{
    const struct bed *b = data;
    const struct slice key = slice_str("/kube2sky/cluster.local/visible/team-a");
    return (client_keys_value(b->client_keys, key).ptr != NULL) == (b->want > 0);
}

static bool has_team_and_watch(const void *data)
{
    return has_team(data) && !is_kind_away(data, KUBE_NAMESPACE);
}

/* Their last state is not used any longer, and is again once they are permitted. */
UNIT_TEST(test_namespaces_become_refused)
{
    static struct log_capture capture;
    struct bed b;
    log_capture_begin(&capture);
    bed_open(&b);
    b.client_keys = client_keys_new(&(struct client_keys_config){
        .domain = "cluster.local.", .is_wanted = {[CLIENT_KEYS_VISIBLE] = true}});
    (void)api_has(&b, "/api/v1/services", KUBERNETES);
    (void)api_has(&b, "/api/v1/endpoints", "");
    struct api_resource *namespaces =
        api_has(&b, "/api/v1/namespaces",
                "{'metadata':{'name':'default'}},{'metadata':{'name':'team-a','annotations':{"
                "'dns.kube2sky/visible-to':'team-b'}}}");
    bed_start(&b, &(struct kube_source_config){.wants_namespaces = true, .timeout_ms = 1});
    b.want = 1;
    loop_until(b.loop, has_team_and_watch, &b);
    namespaces->is_refused = true;
    b.want = 0;
    loop_until(b.loop, has_team, &b);
    assert_true(is_kind_away(&b, KUBE_NAMESPACE));
    namespaces->is_refused = false;
    kube_source_ask_refused(b.source);
    b.want = 1;
    loop_until(b.loop, has_team_and_watch, &b);
    assert_int_equal(kube_source_reconnects(b.source, KUBE_NAMESPACE, OUTAGE_REFUSED), 1);
    bed_close(&b);
    const char *log = log_capture_end(&capture);
    assert_int_equal(log_occurrences(log, "namespaces are refused, so none is shown"), 1);
    assert_int_equal(log_occurrences(log, "API cannot be followed, retrying kind=namespaces"), 1);
    assert_int_equal(log_occurrences(log, "API is followed kind=namespaces"), 2);
}

/* Returns whether namespace b alone is away, and nothing waits for it. */
static bool is_b_refused(const void *data)
{
    const struct bed *b = data;
    const struct outage_source *followed = kube_source_followed(b->source, KUBE_SERVICE);
    return followed->is_away && strcmp(followed->ns, "b") == 0 &&
           inventory_is_complete(b->inventory);
}

/* Nothing waits for the namespace that is refused; its keys stay until it is listed. */
UNIT_TEST(test_one_namespace_is_refused)
{
    static const char *const two[] = {"a", "b", NULL};
    static struct log_capture capture;
    const struct slice web = slice_str("svc/b/web");
    struct bed b;
    log_capture_begin(&capture);
    bed_open(&b);
    b.namespaces = two;
    (void)api_has(&b, "/api/v1/namespaces/a/services",
                  NAMED("a", "web") ",'spec':{'clusterIP':'10.0.0.1'}}");
    (void)api_has(&b, "/api/v1/namespaces/a/endpoints", "");
    struct api_resource *refused = api_has(&b, "/api/v1/namespaces/b/services",
                                           NAMED("b", "web") ",'spec':{'clusterIP':'10.0.0.2'}}");
    (void)api_has(&b, "/api/v1/namespaces/b/endpoints", "");
    refused->is_refused = true;
    bed_start(&b, &(struct kube_source_config){.timeout_ms = 3600 * 1000});
    loop_until(b.loop, is_b_refused, &b);
    assert_int_equal(kube_source_count(b.source, KUBE_SERVICE), 1);
    assert_true(inventory_may_delete(b.inventory, slice_str("svc/a/web")));
    assert_false(inventory_may_delete(b.inventory, web));
    refused->is_refused = false;
    kube_source_ask_refused(b.source);
    b.want = 2;
    loop_until(b.loop, has_services, &b);
    assert_true(inventory_may_delete(b.inventory, web));
    bed_close(&b);
    const char *log = log_capture_end(&capture);
    assert_non_null(strstr(log, "listed kind=services objects=1 namespace=a\n"));
}

/* ---- Bad objects, parts, and a storage that goes back ---- */

static bool has_skipped(const void *data)
{
    const struct bed *b = data;
    return counter_get(&kube_source_counts(b->source, KUBE_SERVICE)->skipped) >= 1;
}

UNIT_TEST(test_object_without_a_name)
{
    static struct log_capture capture;
    struct bed b;
    log_capture_begin(&capture);
    bed_open(&b);
    struct api_resource *services = api_has(&b, "/api/v1/services", KUBERNETES);
    (void)api_has(&b, "/api/v1/endpoints", "");
    bed_start(&b, &(struct kube_source_config){.timeout_ms = 3600 * 1000});
    b.want = 1;
    loop_until(b.loop, has_services, &b);
    services->events = EVENT("ADDED", "{'metadata':{'namespace':'default'},'spec':{}}");
    loop_until(b.loop, has_skipped, &b);
    assert_int_equal(inventory_count(b.inventory, KUBE_SERVICE), 1);
    assert_string_equal(b.flaws.items[0].what, "services ");
    bed_close(&b);
    assert_non_null(
        strstr(log_capture_end(&capture), "cannot understand object, its keys are unchanged"));
}

static bool has_parts(const void *data)
{
    const struct bed *b = data;
    struct owner_objects objects;
    owner_objects_init(&objects);
    inventory_get(b->inventory, slice_str("svc/default/web"), &objects);
    size_t subsets = objects.part_count == 1 ? objects.parts[0]->endpoints.subset_count : 0;
    owner_objects_fini(&objects);
    return subsets == b->want;
}

#define WEB_ENDPOINTS NAMED("default", "web") ",'subsets':[{'addresses':[{'ip':'10.1.0.1'}]}]}"

/* Their content was not kept for a Service without need of it. */
UNIT_TEST(test_parts_of_a_service_that_becomes_headless)
{
    CLEANUP(bed_close) struct bed b;
    bed_open(&b);
    struct api_resource *services =
        api_has(&b, "/api/v1/services",
                KUBERNETES "," NAMED("default", "web") ",'spec':{'clusterIP':'10.0.0.2'}}");
    (void)api_has(&b, "/api/v1/endpoints", WEB_ENDPOINTS);
    (void)api_has(&b, "/api/v1/namespaces/default/endpoints", WEB_ENDPOINTS);
    bed_start(&b, &(struct kube_source_config){.timeout_ms = 3600 * 1000});
    b.want = 2;
    loop_until(b.loop, has_services, &b);
    b.want = 1;
    assert_false(has_parts(&b));
    services->events = EVENT("MODIFIED", NAMED("default", "web") ",'spec':{'clusterIP':'None'}}");
    loop_until(b.loop, has_parts, &b);
}

/* Every kind is listed again, not only the one that noticed. */
UNIT_TEST(test_storage_goes_back)
{
    static struct log_capture capture;
    struct bed b;
    log_capture_begin(&capture);
    bed_open(&b);
    struct api_resource *services =
        api_has(&b, "/api/v1/services",
                KUBERNETES "," NAMED("default", "web") ",'spec':{'clusterIP':'10.0.0.2'}}");
    struct api_resource *endpoints = api_has(&b, "/api/v1/endpoints", WEB_ENDPOINTS);
    (void)api_has(&b, "/api/v1/namespaces/default/services", KUBERNETES); /* asked for a version */
    bed_start(&b, &(struct kube_source_config){.timeout_ms = 3600 * 1000});
    b.want = 2;
    loop_until(b.loop, has_services, &b);
    assert_int_equal(inventory_count(b.inventory, KUBE_ENDPOINTS), 1);
    b.version = 50;
    services->items = KUBERNETES;
    endpoints->items = "";
    b.want = 1;
    loop_until(b.loop, has_services, &b);
    while (inventory_count(b.inventory, KUBE_ENDPOINTS) > 0) {
        ev_run(b.loop, EVRUN_ONCE);
    }
    bed_close(&b);
    const char *log = log_capture_end(&capture);
    assert_int_equal(
        log_occurrences(log,
                        "the API server's data is older than before, listing everything again"),
        1);
}
