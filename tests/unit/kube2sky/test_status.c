/* kube2sky's pages over real sockets, while a feed lists from a fake API and a reconciler writes to
 * a real etcd: readiness with its reason, metrics, and pending writes. Then the same plans as shown
 * by --dry-run. */
#include "tests/unit/kube2sky/reconcile/reconciler_bed.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/log.h"
#include "kube2sky/api/kube_client.h"
#include "kube2sky/dry_run.h"
#include "kube2sky/explain.h"
#include "kube2sky/kube_source.h"
#include "kube2sky/live_figures.h"
#include "kube2sky/naming/client_keys.h"
#include "kube2sky/naming/override_zones.h"
#include "kube2sky/reconcile/flaw_list.h"
#include "kube2sky/status.h"
#include "tests/support/http_ask.h"
#include "tests/support/log_capture.h"
#include "tests/support/loopback.h"
#include "tests/support/unit_test.h"

enum { ATTEMPTS = 100, OUTPUT_MAX = 8192 };

/* The API's resources that it serves; a request for others is 404. */
enum { RESOURCES_MAX = 4 };

struct bed {
    struct fixture *f;
    struct http_route api_routes[RESOURCES_MAX];
    size_t api_route_count;
    bool wants_all;
    struct client_keys *client_keys; /* NULL: none */
    bool is_dry;
    const char *const *namespaces;
    size_t namespace_count;
    struct http_server *api;
    struct kube_client *client;
    struct kube_source *kube_source;
    struct flaw_list flaws;
    struct metrics_sources sources;
    struct status *status;
    struct addr address;
};

/* ---- The API ---- */

#define KUBERNETES_SERVICE                                               \
    "{\"metadata\":{\"namespace\":\"default\",\"name\":\"kubernetes\"}," \
    "\"spec\":{\"clusterIP\":\"10.0.0.1\"}}"
#define LIST_BEGIN(kind) \
    "{\"kind\":\"" kind "\",\"metadata\":{\"resourceVersion\":\"7\"},\"items\":["

static char services[] = LIST_BEGIN("ServiceList") KUBERNETES_SERVICE "]}";
static char services_and_a_bad_one[] = LIST_BEGIN("ServiceList") KUBERNETES_SERVICE
    ",{\"metadata\":{\"namespace\":\"default\",\"name\":\"bad\"},\"spec\":{\"clusterIP\":7}}]}";
static char nodes[] =
    LIST_BEGIN("NodeList") "{\"metadata\":{\"name\":\"worker-1\"}},"
                           "{\"metadata\":{\"name\":\"odd\"},\"status\":{\"addresses\":7}},"
                           "{\"metadata\":{\"name\":\"odder\"},\"status\":{\"addresses\":[7]}}]}";
static char namespaces[] =
    LIST_BEGIN("NamespaceList") "{\"metadata\":{\"name\":\"default\"}},"
                                "{\"metadata\":{\"name\":\"team-a\","
                                "\"annotations\":{"
                                "\"dns.kube2sky/visible-to\":\"team-b\"}}}]}";
static char endpoints[] = LIST_BEGIN("EndpointsList") "]}";

/* Serves lists; a watch ends as soon as it begins. */
static void serve_list(void *data, const struct http_request *request, struct http_reply *reply)
{
    reply->content_type = "application/json";
    if (!http_request_arg(request, "watch")) {
        buf_append_str(&reply->body, data);
    }
}

static void add_resource(struct bed *b, const char *path, char *list)
{
    b->api_routes[b->api_route_count++] = (struct http_route){path, serve_list, list};
}

static void serve_api(struct bed *b, char *services_list, struct addr *ret_address)
{
    add_resource(b, "/api/v1/services", services_list);
    add_resource(b, "/api/v1/endpoints", endpoints);
    b->api = http_ask_serve(b->f->loop, b->api_routes, b->api_route_count, ret_address);
}

/* ---- The bed ---- */

static void start_kube_source(struct bed *b, const struct addr *api, int64_t timeout_ms)
{
    struct err err;
    char url[ADDR_TEXT_MAX + sizeof("http://")], text[ADDR_TEXT_MAX];
    (void)snprintf(url, sizeof(url), "http://%s", addr_format(api, text)); /* fits */
    const struct kube_client_config client = {
        .loop = b->f->loop, .kubecfg_file = "", .kube_master_url = url};
    assert_that(kube_client_new(&client, &b->client, &err) >= 0, "%s", err.msg);
    b->kube_source = kube_source_start(&(struct kube_source_config){
        .loop = b->f->loop,
        .client = b->client,
        .inventory = b->f->inventory,
        .endpoints_mode = ENDPOINTS_ENDPOINTS,
        .label_selector = "",
        .namespace_labels = "",
        .wants_nodes = b->wants_all,
        .wants_namespaces = b->wants_all,
        .namespaces = b->namespaces,
        .namespace_count = b->namespace_count,
        .client_keys = b->client_keys,
        .flaws = &b->flaws,
        .is_dry_run = b->is_dry,
        .timeout_ms = timeout_ms,
    });
}

static void fill_sources(struct bed *b)
{
    b->sources = (struct metrics_sources){.start_s = 1760704496,
                                          .etcd = b->f->etcd,
                                          .etcd_outage = &b->f->outage,
                                          .kube_source = b->kube_source,
                                          .flaws = &b->flaws,
                                          .inventory = b->f->inventory,
                                          .reconciler = b->f->reconciler};
}

static void start_status(struct bed *b)
{
    struct err err = {0};
    int r = -EADDRINUSE;
    fill_sources(b);
    for (int i = 0; i < ATTEMPTS && r == -EADDRINUSE; i++) {
        b->address = loopback_addr(loopback_free_port());
        r = status_new(
            &(struct status_config){b->f->loop, b->address, "pages.example.com", &b->sources},
            &b->status, &err);
    }
    assert_that(r >= 0, "%s", err.msg);
}

static void status_stop(struct bed *b)
{
    status_free(b->status);
    kube_source_free(b->kube_source);
    kube_client_free(b->client);
    http_server_free(b->api);
}

static void status_expect(struct bed *b, const char *target, unsigned status, const char *part)
{
    CLEANUP(asked_page_fini) struct asked_page asked = http_ask(b->f->loop, &b->address, target);
    if (asked.page.status != status || !strstr(asked.page.body, part)) {
        print_error("%s\n", asked.page.body);
        fail_msg("%s: %u, not %u and `%s`", target, asked.page.status, status, part);
    }
}

/* ---- Pages ---- */

UNIT_TESTS_EACH(set_up, tear_down)
UNIT_TESTS_NEED(etcd_proc_missing)
UNIT_TESTS_ONCE(start_etcd, end_etcd)
UNIT_TESTS_HAVE_THREADS

UNIT_TEST_ON(test_from_nothing_to_ready, struct fixture *f)
{
    static const char *const samples[] = {
        "\nkube2sky_ready 1\n",
        "\nkube2sky_keys_desired 1\n",
        "\nkube2sky_keys_actual 1\n",
        "\nkube2sky_keys_written_total 1\n",
        "\nkube2sky_keys_deleted_total 0\n",
        "\nkube2sky_leader 1\n",
        "\nkube2sky_api_overdue 0\n",
        "\nkube2sky_transaction_failures_total 0\n",
        "\nkube2sky_transaction_seconds_bucket{le=\"+Inf\"} 1\n",
        "\nkube2sky_api_lists_total{kind=\"services\"} 1\n",
        "\nkube2sky_objects_skipped_total{kind=\"services\"} 1\n",
        "\nkube2sky_objects{kind=\"endpoints\"} 0\n",
    };
    struct bed b = {.f = f};
    struct addr api;
    struct addr nowhere = loopback_addr(loopback_free_port());
    start_reconciler(f);
    start_kube_source(&b, &nowhere, 3600 * 1000);
    start_status(&b);
    status_expect(&b, "/healthz", 200, "ok");
    status_expect(&b, "/readiness", 503, "services");
    status_expect(&b, "/metrics", 200, "\nkube2sky_ready 0\n");
    status_expect(&b, "/plan", 200, "# ");
    status_expect(&b, "/plan", 200, "services");
    status_stop(&b);

    serve_api(&b, services_and_a_bad_one, &api);
    start_kube_source(&b, &api, 3600 * 1000);
    start_status(&b);
    wait_synced(f);
    assert_tree(f, KUBERNETES);
    status_expect(&b, "/readiness", 200, "ok");
    status_expect(&b, "/readiness?strict", 200, "ok");
    for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
        status_expect(&b, "/metrics", 200, samples[i]);
    }
    status_stop(&b);
}

/* The plan has operations that etcd has not accepted yet; readiness stays nevertheless. */
UNIT_TEST_ON(test_plan, struct fixture *f)
{
    struct bed b = {.f = f};
    char line[256];
    struct addr nowhere = loopback_addr(loopback_free_port());
    synced_with_kubernetes(f);
    start_kube_source(&b, &nowhere, 3600 * 1000);
    start_status(&b);
    wait_drained(f);
    status_expect(&b, "/plan", 200, "# nothing to do\n");
    etcd_proc_kill(proc);
    put_service(f, "web", "10.0.0.9");
    put_service(f, "kubernetes", "10.0.0.2");
    f->want = 1;
    loop_until(f->loop, has_failed, f);
    (void)snprintf(line, sizeof(line), "+ %ssvc/default/web/19ccb11 %s\n", f->tree,
                   IP("10.0.0.9")); /* fits */
    status_expect(&b, "/plan", 200, line);
    (void)snprintf(line, sizeof(line), "- %ssvc/default/kubernetes/c88f1059\n", f->tree); /* fits */
    status_expect(&b, "/plan", 200, line);
    status_expect(&b, "/readiness", 200, "ok");
    status_stop(&b);
    etcd_proc_restart(proc);
}

/* ---- Why, and the figures ---- */

static void expect_figures(const struct bed *b, const char *part)
{
    CLEANUP_BUF struct buf line = buf_of(1 << 20);
    kube2sky_live_figures_write(&b->sources, &line);
    assert_that(strstr(buf_cstr(&line), part), "%s: without `%s`", buf_cstr(&line), part);
}

/* Expects the page as JSON and as text. */
static void expect_why(struct bed *b, const char *service, unsigned status, const char *json,
                       const char *text)
{
    char target[256];
    (void)snprintf(target, sizeof(target), "/explain?service=%s", service); /* fits */
    status_expect(b, target, status, json);
    (void)snprintf(target, sizeof(target), "/explain?text&service=%s", service); /* fits */
    status_expect(b, target, status, text);
}

struct asking {
    struct addr address;
    const char *id;
    int result;
    struct err err;
    _Atomic bool is_over;
};

static void *run_asking(void *data)
{
    struct asking *asking = data;
    asking->result = kube2sky_explain_client(&asking->address, asking->id, &asking->err);
    atomic_store(&asking->is_over, true);
    return NULL;
}

static bool status_is_over(const void *data)
{
    const struct asking *asking = data;
    return atomic_load(&asking->is_over);
}

/* Asks like --explain, which prints. */
static int ask_why(struct bed *b, const char *id, struct err *ret_err)
{
    struct asking asking = {.address = b->address, .id = id};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_asking, &asking), 0);
    loop_until(b->f->loop, status_is_over, &asking);
    assert_int_equal(pthread_join(thread, NULL), 0);
    *ret_err = asking.err;
    return asking.result;
}

/* From the first object to one that etcd has not accepted yet. */
UNIT_TEST_ON(test_why, struct fixture *f)
{
    struct bed b = {.f = f};
    struct addr nowhere = loopback_addr(loopback_free_port());
    struct err err;
    log_set_level(LOG_LEVEL_DEBUG); /* each key, too */
    start_reconciler(f);
    start_kube_source(&b, &nowhere, 3600 * 1000);
    start_status(&b);
    status_expect(&b, "/explain", 400, "expected NAMESPACE/SERVICE");
    status_expect(&b, "/explain?service=web", 400, "expected NAMESPACE/SERVICE");
    status_expect(&b, "/explain?service=default/web", 503, "");
    expect_figures(&b, "\"ready\":false");
    list_nothing_else(f);
    put_service_with_port(f, "web", "10.0.0.7", 80);
    inventory_upsert(f->inventory, service_from("default", "db", "'clusterIP':'None'"));
    inventory_upsert(
        f->inventory,
        service_from("default", "ext", "'type':'ExternalName','externalName':'x.example'"));
    inventory_upsert(
        f->inventory,
        service_from("default", "odd",
                     "'clusterIP':'10.0.0.6','ports':[{'name':'a b','port':7,'protocol':'TCP'}]"));
    wait_synced(f);
    wait_drained(f);
    expect_why(&b, "default/ext", 200, "\"external_name\":\"x.example\"", "x.example");
    expect_why(&b, "default/odd", 200, "a b", "a b");
    expect_why(&b, "default/web", 200, "\"state\":\"settled\"", "present");
    expect_why(&b, "Default/WEB", 200, "10.0.0.7", "http 80/TCP");
    expect_why(&b, "default/db", 200, "\"headless\":true", "0 ready, 0 not ready");
    expect_why(&b, "default/wbe", 404, "default/web", "did you mean default/web");
    assert_int_equal(ask_why(&b, "default/web", &err), 0);
    assert_true(ask_why(&b, "default/wbe", &err) < 0);
    assert_non_null(strstr(err.msg, "did you mean default/web"));
    log_set_level(LOG_LEVEL_INFO);
    expect_figures(&b, "\"ready\":true");
    expect_figures(&b, "\"owner\":\"svc/default/web\"");

    static const char *const followed[] = {"team-a"};
    b.sources.namespaces = followed;
    b.sources.namespace_count = 1;
    expect_why(&b, "other/web", 404, "other/web", "not followed");
    status_expect(&b, "/", 200, "<title>kube2sky");
    b.sources.namespace_count = 0;

    etcd_proc_kill(proc);
    put_service_with_port(f, "web", "10.0.0.8", 81);
    put_service(f, "new", "10.0.0.9");
    f->want = 1;
    loop_until(f->loop, has_failed, f);
    expect_why(&b, "default/web", 200, "\"state\":\"missing\"", "missing");
    expect_why(&b, "default/new", 200, "10.0.0.9", "missing");
    expect_figures(&b, "\"connected\":false");
    status_expect(&b, "/plan", 200, "10.0.0.9");
    status_stop(&b);
    b.address = loopback_addr(loopback_free_port());
    assert_true(ask_why(&b, "default/web", &err) < 0);
    assert_non_null(strstr(err.msg, "must be those of a running kube2sky"));
    etcd_proc_restart(proc);
}

/* A name that two Services want; and what is left of one that is gone. */
UNIT_TEST_ON(test_why_of_reverse_names, struct fixture *f)
{
    CLEANUP(status_stop) struct bed b = {.f = f};
    struct addr nowhere = loopback_addr(loopback_free_port());
    f->has_reverse = true;
    synced_with_kubernetes(f);
    start_kube_source(&b, &nowhere, 3600 * 1000);
    start_status(&b);
    put_service_with_port(f, "first", "10.0.0.7", 80);
    put_service_with_port(f, "second", "10.0.0.7", 80);
    wait_drained(f);
    expect_why(&b, "default/first", 200, "\"wins\":true", "10.0.0.7 is first.default.svc.");
    expect_why(&b, "default/second", 200, "\"wins\":false", "first.default.svc.");
}

/* Waits until the external name has a key, or none, and nothing is left to do. */
static void wait_external(struct fixture *f, const char *label, const char *hash, bool is_there)
{
    CLEANUP_FREE char *key = xasprintf("/skydns/example/why/%s/%s", label, hash);
    bool is_right = false;
    while (!is_right) {
        wait_drained(f);
        CLEANUP_FREE char *value = sync_get(f->loop, f->etcd, key);
        is_right = (value != NULL) == is_there;
    }
    wait_drained(f);
}

static void put_aliased(struct fixture *f, const char *name, const char *created,
                        const char *aliases)
{
    CLEANUP_FREE char *text =
        xasprintf("{'metadata':{'namespace':'default','name':'%s','creationTimestamp':"
                  "'%s','annotations':{'dns.kube2sky/aliases':'%s'}},'spec':{"
                  "'clusterIP':'10.0.0.9'}}",
                  name, created, aliases);
    inventory_upsert(f->inventory, object_from(KUBE_SERVICE, text));
}

/* External names: written, taken by an older Service, not in a zone, and another writer's until its
 * key is gone. */
UNIT_TEST_ON(test_why_of_external_names, struct fixture *f)
{
    static const char foreign[] = "/skydns/example/why/mail";
    struct bed b = {.f = f};
    struct addr nowhere = loopback_addr(loopback_free_port());
    struct override_zones *zones = NULL;
    struct err err = {0};
    assert_int_equal(override_zones_parse("why.example", f->domain, &zones, &err), 0);
    f->zones = zones;
    kube_object_keep((struct kube_kept){.aliases = true});
    (void)sync_put(f->loop, f->etcd, foreign, slice_str("{\"host\":\"10.9.9.9\"}"));
    start_reconciler(f);
    start_kube_source(&b, &nowhere, 3600 * 1000);
    start_status(&b);
    list_nothing_else(f);
    put_aliased(f, "till", "2020-01-02T00:00:00Z", "app.why.example");
    put_aliased(f, "web", "2020-01-01T00:00:00Z",
                "app.why.example, mail.why.example, www.other.example");
    wait_synced(f);
    wait_drained(f);
    expect_why(&b, "default/web", 200,
               "{\"name\":\"app.why.example\",\"claimant\":\"svc/default/web\","
               "\"winner\":\"svc/default/web\",\"reason\":\"\",\"state\":\"present\"",
               "aliases     app.why.example of svc/default/web  (present, revision ");
    expect_why(&b, "default/web", 200,
               "{\"name\":\"mail.why.example\",\"claimant\":\"svc/default/web\","
               "\"winner\":\"svc/default/web\",\"reason\":\"\",\"state\":\"foreign\"",
               "mail.why.example of svc/default/web has keys of another writer  (foreign)\n");
    expect_why(&b, "default/web", 200, "\"state\":\"refused\"",
               "www.other.example of svc/default/web ");
    expect_why(&b, "default/till", 200, "\"winner\":\"svc/default/web\"",
               "app.why.example of svc/default/till is that of svc/default/web  (taken)\n");
    status_expect(&b, "/metrics", 200, "\nkube2sky_aliases 2\n");
    status_expect(&b, "/metrics", 200, "\nkube2sky_aliases_taken 1\n");
    status_expect(&b, "/metrics", 200, "\nkube2sky_aliases_refused 1\n");

    sync_del(f->loop, f->etcd, foreign);
    wait_external(f, "mail", "41d689bb", true);
    expect_why(&b, "default/web", 200, "\"state\":\"present\"",
               "mail.why.example of svc/default/web  (present, revision ");
    put_aliased(f, "web", "2020-01-01T00:00:00Z", "");
    wait_external(f, "mail", "41d689bb", false);
    expect_why(&b, "default/web", 200, "\"aliases\":[]", "state       settled;");
    expect_why(&b, "default/till", 200, "\"winner\":\"svc/default/till\"",
               "app.why.example of svc/default/till  (present, revision ");
    status_stop(&b);
    kube_object_keep((struct kube_kept){0});
    reconciler_stop(f->reconciler);
    f->reconciler = NULL;
    override_zones_free(zones);
}

static bool is_overdue(const void *data)
{
    const struct outage *outage = data;
    return outage->is_overdue && *outage_why(outage);
}

/* Only a strict check reports it. */
UNIT_TEST_ON(test_api_is_overdue, struct fixture *f)
{
    CLEANUP(status_stop) struct bed b = {.f = f};
    struct addr nowhere = loopback_addr(loopback_free_port());
    synced_with_kubernetes(f);
    start_kube_source(&b, &nowhere, 1);
    start_status(&b);
    loop_until(f->loop, is_overdue, kube_source_outage(b.kube_source));
    status_expect(&b, "/readiness", 200, "ok");
    status_expect(&b, "/readiness?strict", 503, "API");
    status_expect(&b, "/metrics", 200, "\nkube2sky_api_overdue 1\n");
    status_expect(&b, "/metrics", 200, "\nkube2sky_api_up{kind=\"services\"} 0\n");
}

static bool has_listed_all(const void *data)
{
    const struct bed *b = data;
    return kube_source_count(b->kube_source, KUBE_NODE) == 3 &&
           kube_source_count(b->kube_source, KUBE_NAMESPACE) == b->f->want;
}

/* Only followed Namespaces are taken; a Node, which has no namespace, is named without one. */
UNIT_TEST_ON(test_nodes_and_namespaces, struct fixture *f)
{
    static const char *const followed[] = {"default"};
    static struct log_capture capture;
    struct client_keys *keys = client_keys_new(&(struct client_keys_config){
        .domain = "cluster.local.", .is_wanted = {[CLIENT_KEYS_VISIBLE] = true}});
    struct bed b = {.f = f, .wants_all = true, .client_keys = keys};
    const struct slice team_a = slice_str("/kube2sky/cluster.local/visible/team-a");
    struct addr api;
    log_capture_begin(&capture);
    synced_with_kubernetes(f);
    add_resource(&b, "/api/v1/nodes", nodes);
    add_resource(&b, "/api/v1/namespaces", namespaces);
    serve_api(&b, services, &api);
    start_kube_source(&b, &api, 3600 * 1000);
    start_status(&b);
    f->want = 2;
    loop_until(f->loop, has_listed_all, &b);
    assert_true(slice_equal(client_keys_value(keys, team_a), slice_str("team-b")));
    assert_true(client_keys_may_delete(keys, CLIENT_KEYS_VISIBLE));
    status_expect(&b, "/metrics", 200, "\nkube2sky_objects{kind=\"nodes\"} 3\n");
    status_expect(&b, "/metrics", 200, "\nkube2sky_objects{kind=\"namespaces\"} 2\n");
    status_expect(&b, "/metrics", 200, "\nkube2sky_objects_skipped_total{kind=\"nodes\"} 1\n");
    status_expect(&b, "/metrics", 200, "\nkube2sky_object_faults_total{kind=\"nodes\"} 1\n");
    const char *log = log_capture_end(&capture);
    assert_non_null(strstr(log, "kind=nodes name=odd error"));
    assert_non_null(strstr(log, "kind=nodes name=odder parts=1"));
    status_free(b.status);
    kube_source_free(b.kube_source);

    b.namespaces = followed;
    b.namespace_count = ARRAY_LEN(followed);
    kube_client_free(b.client);
    start_kube_source(&b, &api, 3600 * 1000);
    start_status(&b);
    f->want = 1;
    loop_until(f->loop, has_listed_all, &b);
    assert_null(client_keys_value(keys, team_a).ptr); /* another writer's */
    status_expect(&b, "/metrics", 200, "\nkube2sky_objects{kind=\"nodes\"} 3\n");
    status_expect(&b, "/metrics", 200, "\nkube2sky_objects{kind=\"namespaces\"} 1\n");
    status_stop(&b);
    client_keys_free(keys);
}

static bool status_is_refused(const void *data)
{
    const struct kube_source *kube_source = data;
    return kube_source_followed(kube_source, KUBE_NODE)->is_away &&
           kube_source_followed(kube_source, KUBE_NAMESPACE)->is_away &&
           kube_source_outage(kube_source)->is_overdue;
}

/* An API whose ClusterRole does not permit them yet: nothing waits for them. */
UNIT_TEST_ON(test_nodes_and_namespaces_are_refused, struct fixture *f)
{
    CLEANUP(status_stop) struct bed b = {.f = f, .wants_all = true};
    struct addr api;
    start_reconciler(f);
    serve_api(&b, services, &api);
    start_kube_source(&b, &api, 1);
    start_status(&b);
    wait_synced(f);
    assert_tree(f, KUBERNETES);
    loop_until(f->loop, status_is_refused, b.kube_source);
    status_expect(&b, "/readiness", 200, "ok");
    status_expect(&b, "/readiness?strict", 503, "/api/v1/n");
    status_expect(&b, "/metrics", 200, "\nkube2sky_api_up{kind=\"services\"} 1\n");
    status_expect(&b, "/metrics", 200, "\nkube2sky_api_up{kind=\"nodes\"} 0\n");
    status_expect(&b, "/metrics", 200, "\nkube2sky_api_up{kind=\"namespaces\"} 0\n");
}

/* /wait, of an API that can be listed and not watched: the Service's own version counts. */
UNIT_TEST_ON(test_waits_for_a_service, struct fixture *f)
{
    static char versioned[] = LIST_BEGIN("ServiceList") KUBERNETES_SERVICE
        ",{\"metadata\":{\"namespace\":\"default\",\"name\":\"web\",\"resourceVersion\":\"9\"},"
        "\"spec\":{\"clusterIP\":\"10.0.0.9\"}},{\"metadata\":{\"namespace\":\"default\",\"name\":"
        "\"db\",\"resourceVersion\":\"9\"},\"spec\":{\"clusterIP\":\"None\"}}]}";
    CLEANUP(status_stop) struct bed b = {.f = f};
    struct addr api;
    start_reconciler(f);
    serve_api(&b, versioned, &api);
    start_kube_source(&b, &api, 3600 * 1000);
    start_status(&b);
    wait_synced(f);
    status_expect(&b, "/wait?service=default/web&resourceVersion=9", 200, "{\"revision\":");
    status_expect(&b, "/wait?service=Default/Web&resourceVersion=8", 200, "{\"revision\":");
    status_expect(&b, "/wait?service=default/web&resourceVersion=10&timeout=0", 504,
                  "service default/web: Services at resourceVersion 10 have not been seen; ");
    status_expect(&b, "/wait?service=default/db&resourceVersion=9&timeout=0", 504,
                  "service default/db: endpoints at resourceVersion 9 have not been seen; ");
    status_expect(&b, "/wait?service=default/web&resourceVersion=09", 400,
                  "resourceVersion `09`: expected");
    status_expect(&b, "/wait?service=web&resourceVersion=9", 400, "service `web`: expected");
    status_expect(&b, "/wait?service=default/web&resourceVersion=9&timeout=2m", 400,
                  "timeout `2m`: expected");
    b.sources.namespaces = (const char *const[]){"other"};
    b.sources.namespace_count = 1;
    status_expect(&b, "/wait?service=default/web&resourceVersion=9", 404, "none of --namespaces");
    b.sources.namespace_count = 0;
    status_expect(&b, "/metrics", 200, "\nkube2sky_waits_total{result=\"done\"} 2\n");
}

UNIT_TEST_ON(test_port_in_use, struct fixture *f)
{
    struct metrics_sources sources = {0};
    struct status *status = NULL;
    struct addr used;
    struct err err;
    int fd = loopback_listen(&used);
    assert_int_equal(
        status_new(&(struct status_config){f->loop, used, "", &sources}, &status, &err),
        -EADDRINUSE);
    assert_non_null(strstr(err.msg, "healthz-port"));
    assert_null(status);
    close(fd);
}

/* ---- --dry-run ---- */

/* Runs one over the listed objects; its lines in `output`. */
static enum dry_run_status dry_run(struct bed *b, int64_t api_timeout_ms, bool has_api,
                                   char output[OUTPUT_MAX])
{
    struct fixture *f = b->f;
    struct addr api = loopback_addr(loopback_free_port());
    struct dry_run *run = dry_run_new(f->loop);
    f->reconciler = reconciler_start(&(struct reconciler_config){.loop = f->loop,
                                                                 .etcd = f->etcd,
                                                                 .inventory = f->inventory,
                                                                 .outage = &f->outage,
                                                                 .domain = f->domain,
                                                                 .ttl_s = 30,
                                                                 .txn_ops_max = ETCD_TXN_OPS_MAX,
                                                                 .no_reverse = true,
                                                                 .planned = dry_run_planned,
                                                                 .data = run});
    if (has_api) {
        serve_api(b, services, &api);
    }
    b->is_dry = true;
    start_kube_source(b, &api, api_timeout_ms);
    fill_sources(b);
    (void)fflush(stdout);
    int copy = dup(STDOUT_FILENO), file = memfd_create("stdout", MFD_CLOEXEC);
    assert_true(copy >= 0 && file >= 0 && dup2(file, STDOUT_FILENO) >= 0);
    dry_run_start(run, &b->sources);
    ev_run(f->loop, 0);
    enum dry_run_status status = dry_run_result(run);
    (void)fflush(stdout);
    assert_true(dup2(copy, STDOUT_FILENO) >= 0);
    ssize_t n = pread(file, output, OUTPUT_MAX - 1, 0);
    assert_true(n >= 0);
    output[n] = '\0';
    close(copy);
    close(file);
    dry_run_free(run);
    status_stop(b);
    return status;
}

UNIT_TEST_ON(test_dry_run_with_changes, struct fixture *f)
{
    struct bed b = {.f = f};
    char output[OUTPUT_MAX], want[256];
    assert_int_equal(dry_run(&b, 3600 * 1000, true, output), DRY_RUN_CHANGES);
    (void)snprintf(want, sizeof(want), "+ %ssvc/default/kubernetes/c88f1059 %s\n", f->tree,
                   IP("10.0.0.1")); /* fits */
    assert_string_equal(output, want);
    assert_tree(f, ""); /* printed, not written */
}

UNIT_TEST_ON(test_dry_run_without_changes, struct fixture *f)
{
    struct bed b = {.f = f};
    char output[OUTPUT_MAX];
    (void)put(f, "svc/default/kubernetes/c88f1059", IP("10.0.0.1"));
    assert_int_equal(dry_run(&b, 3600 * 1000, true, output), DRY_RUN_NOTHING);
    assert_string_equal(output, "");
}

UNIT_TEST_ON(test_dry_run_without_an_api, struct fixture *f)
{
    struct bed b = {.f = f};
    char output[OUTPUT_MAX];
    assert_int_equal(dry_run(&b, 1, false, output), DRY_RUN_UNKNOWN);
    assert_string_equal(output, "");
}

/* It would not know what to delete, so it does not go on without them. */
UNIT_TEST_ON(test_dry_run_when_nodes_are_refused, struct fixture *f)
{
    struct bed b = {.f = f, .wants_all = true};
    char output[OUTPUT_MAX];
    assert_int_equal(dry_run(&b, 1, true, output), DRY_RUN_UNKNOWN);
    assert_string_equal(output, "");
}
