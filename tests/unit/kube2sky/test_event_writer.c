/* event_writer against a scripted API: what it sends for a fault, what each answer leads to, and
 * when it tries again. Half an hour passes at once. */
#include "kube2sky/event_writer.h"

#include "common/base/clock.h"
#include "common/base/outage.h"
#include "common/base/utc_time.h"
#include "common/etcd/etcd.h"
#include "kube2sky/api/kube_client.h"
#include "kube2sky/kube_source.h"
#include "kube2sky/naming/external_aliases.h"
#include "kube2sky/naming/inventory.h"
#include "kube2sky/naming/override_zones.h"
#include "kube2sky/naming/route_rules.h"
#include "kube2sky/reconcile/reconciler.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/http_ask.h"
#include "tests/support/http_script.h"
#include "tests/support/log_capture.h"
#include "tests/support/test_clock.h"
#include "tests/unit/kube2sky/objects.h"

/* ---- The bed: a source with objects that it has listed, and a writer ---- */

enum { LISTS = 5, MINUTE_MS = 60 * 1000 };

struct event_bed {
    struct ev_loop *loop;
    struct http_route routes[LISTS];
    struct http_server *api; /* has the lists */
    struct kube_client *list_client;
    struct override_zones *zones;
    struct route_rules rules;
    struct external_aliases *aliases;
    struct inventory *inventory;
    struct kube_source *source;
    struct etcd *etcd; /* away */
    struct outage outage;
    struct reconciler *reconciler;
    struct http_script *script; /* takes the events */
    struct kube_client *client;
    struct event_queue *queue;
    struct event_writer *writer;
    uint64_t want; /* for the conditions below */
};

#define SERVICE(ns, name)                                                               \
    "{\"metadata\":{\"namespace\":\"" ns "\",\"name\":\"" name "\",\"uid\":\"uid-" name \
    "\"},\"spec\":{\"clusterIP\":\"10.0.0.9\"}}"

#define TEN      "abcdefghi."
#define FIFTY    TEN TEN TEN TEN TEN
#define LONG_235 FIFTY FIFTY FIFTY FIFTY TEN TEN TEN "abcde"

/* Each path's items. */
static const char *const lists[LISTS][2] = {
    {"/api/v1/services", SERVICE("default", "kubernetes") "," SERVICE("default", "web") "," SERVICE(
                             "other", "web") "," SERVICE("third", "web")},
    {"/api/v1/endpoints", ""},
    {"/apis/networking.k8s.io/v1/ingresses",
     "{\"metadata\":{\"namespace\":\"default\",\"name\":\"shop\",\"uid\":\"uid-shop\"},"
     "\"spec\":{\"ingressClassName\":\"nginx\",\"rules\":[{\"host\":\"shop.example.com\"}]}},"
     "{\"metadata\":{\"namespace\":\"default\",\"name\":\"" LONG_235
     ".-bcdef\",\"uid\":\"uid-long\"},"
     "\"spec\":{\"ingressClassName\":\"nginx\",\"rules\":[{\"host\":\"long.example.com\"}]}}"},
    {"/apis/gateway.networking.k8s.io/v1/namespaces/infra/gateways",
     "{\"metadata\":{\"namespace\":\"infra\",\"name\":\"a\"},\"spec\":{\"listeners\":["
     "{\"name\":\"x\",\"hostname\":\"*.example.com\"}]}}"},
    {"/apis/gateway.networking.k8s.io/v1/httproutes",
     "{\"metadata\":{\"namespace\":\"default\",\"name\":\"route\",\"uid\":\"uid-route\","
     "\"generation\":1},\"spec\":{\"hostnames\":[\"r.example.com\"]},\"status\":{\"parents\":["
     "{\"parentRef\":{\"namespace\":\"infra\",\"name\":\"a\"},\"conditions\":["
     "{\"type\":\"Accepted\",\"status\":\"True\",\"observedGeneration\":1}]}]}}"},
};

static void answer_event_list(void *data, const struct http_request *request,
                              struct http_reply *reply)
{
    reply->content_type = "application/json";
    if (!http_request_arg(request, "watch")) {
        buf_printf(&reply->body, "{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[%s]}",
                   (const char *)data);
    }
}

static void ignore_event_owner(void *data, struct slice owner)
{
}

static void ignore_event_map(void *data, struct kube_object *map)
{
    kube_object_free(map);
}

static void ignore_event_plan(void *data, const struct plan *plan)
{
}

static struct kube_client *event_client_of(struct event_bed *b, const char *url)
{
    struct kube_client *client = NULL;
    struct err err = {0};
    const struct kube_client_config config = {
        .loop = b->loop, .kubecfg_file = "", .kube_master_url = url};
    assert_int_equal(kube_client_new(&config, &client, &err), 0);
    return client;
}

static bool has_event_objects(const void *data)
{
    const struct event_bed *b = data;
    return inventory_is_complete(b->inventory) && kube_source_count(b->source, KUBE_SERVICE) == 4 &&
           kube_source_count(b->source, KUBE_INGRESS) == 2 &&
           kube_source_count(b->source, KUBE_ROUTE) == 1;
}

static void start_event_source(struct event_bed *b)
{
    struct addr address;
    struct err err = {0};
    char url[ADDR_TEXT_MAX + sizeof("http://")], text[ADDR_TEXT_MAX];
    for (size_t i = 0; i < LISTS; i++) {
        b->routes[i] =
            (struct http_route){lists[i][0], answer_event_list, (void *)(uintptr_t)lists[i][1]};
    }
    b->api = http_ask_serve(b->loop, b->routes, LISTS, &address);
    (void)snprintf(url, sizeof(url), "http://%s", addr_format(&address, text)); /* fits */
    b->list_client = event_client_of(b, url);
    assert_int_equal(override_zones_parse("*.example.com", "cluster.local.", &b->zones, &err), 0);
    assert_int_equal(route_rules_add_class(&b->rules, "nginx=infra/in", NULL, 0, &err), 0);
    assert_int_equal(route_rules_add_gateway(&b->rules, "infra/a=infra/envoy", NULL, 0, &err), 0);
    b->aliases = external_aliases_new(&(struct external_aliases_config){
        .zones = b->zones, .domain = "cluster.local.", .ttl_s = 30, .changed = ignore_event_owner});
    b->inventory = inventory_new(&(struct inventory_config){.changed = ignore_event_owner});
    inventory_want(b->inventory, KUBE_POD, false);
    b->source =
        kube_source_start(&(struct kube_source_config){.loop = b->loop,
                                                       .client = b->list_client,
                                                       .inventory = b->inventory,
                                                       .endpoints_mode = ENDPOINTS_ENDPOINTS,
                                                       .label_selector = "",
                                                       .namespace_labels = "",
                                                       .route_rules = &b->rules,
                                                       .aliases = b->aliases,
                                                       .config_map = ignore_event_map,
                                                       .timeout_ms = 3600 * 1000});
    loop_until(b->loop, has_event_objects, b);
}

/* A dry run leads never; the only writer always, whatever etcd does. */
static void start_event_reconciler(struct event_bed *b, bool is_leading)
{
    reconciler_stop(b->reconciler);
    b->reconciler = reconciler_start(
        &(struct reconciler_config){.loop = b->loop,
                                    .etcd = b->etcd,
                                    .inventory = b->inventory,
                                    .outage = &b->outage,
                                    .domain = "cluster.local.",
                                    .ttl_s = 30,
                                    .txn_ops_max = ETCD_TXN_OPS_MAX,
                                    .planned = is_leading ? NULL : ignore_event_plan});
}

static void start_event_writer(struct event_bed *b)
{
    event_writer_free(b->writer);
    b->writer = event_writer_start(&(struct event_writer_config){.loop = b->loop,
                                                                 .client = b->client,
                                                                 .queue = b->queue,
                                                                 .kube_source = b->source,
                                                                 .reconciler = b->reconciler});
}

static void start_event_script(struct event_bed *b, const struct http_step *steps, size_t count)
{
    b->script = http_script_new(b->loop, steps, count);
    b->client = event_client_of(b, http_script_url(b->script));
    start_event_writer(b);
}

static void event_writer_set_up(struct event_bed *b)
{
    kube_object_keep((struct kube_kept){.uids = true});
    b->loop = ev_loop_new(EVFLAG_AUTO);
    outage_init(&b->outage, b->loop, "etcd", 3600 * 1000, "etcd is overdue");
    b->etcd = sync_client(b->loop, "http://127.0.0.1:1", 10000);
    b->queue = event_queue_new();
    start_event_source(b);
    start_event_reconciler(b, true);
}

static void event_writer_tear_down(struct event_bed *b)
{
    event_writer_free(b->writer);
    kube_client_free(b->client);
    assert_that(!http_script_problem(b->script), "%s", http_script_problem(b->script));
    http_script_free(b->script);
    reconciler_stop(b->reconciler);
    outage_fini(&b->outage);
    etcd_free(b->etcd);
    kube_source_free(b->source);
    kube_client_free(b->list_client);
    http_server_free(b->api);
    inventory_free(b->inventory);
    external_aliases_free(b->aliases);
    override_zones_free(b->zones);
    event_queue_free(b->queue);
    ev_loop_destroy(b->loop);
    kube_object_keep((struct kube_kept){0});
}

UNIT_FIXTURE(struct event_bed, event_writer_set_up, event_writer_tear_down)

/* ---- Faults, answers, and waiting ---- */

#define FAULT            "port name `x`: cannot be part of a key"
#define POST_IN(ns)      "POST /apis/events.k8s.io/v1/namespaces/" ns "/events HTTP/1.1\r\n"
#define PATCH_OF(ns, id) "PATCH /apis/events.k8s.io/v1/namespaces/" ns "/events/" id " HTTP/1.1\r\n"

/* FNV-1a 64 of "uid-web", "InvalidPort" and FAULT, each with its NUL. */
#define WEB_EVENT "web.9f5c910cd849cec8"

static void fault_in(struct event_bed *b, enum kube_kind kind, const char *ns, const char *name,
                     int64_t ago_ms)
{
    const struct event_object object = {kind, slice_str(ns), slice_str(name)};
    event_queue_note(b->queue, &object, EVENT_INVALID_PORT, EVENT_FROM_OBJECT, FAULT,
                     clock_monotonic_ms() - ago_ms);
}

static void fault_of_web(struct event_bed *b, const char *ns)
{
    fault_in(b, KUBE_SERVICE, ns, "web", 0);
}

static struct http_step event_step(const char *request, const char *status)
{
    return (struct http_step){.request = request, .reply = http_reply_body(status, "{}")};
}

static struct http_step event_refusal(const char *request, const char *status, const char *message)
{
    CLEANUP_FREE char *body =
        xasprintf("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\","
                  "\"message\":\"%s\"}",
                  message);
    return (struct http_step){.request = request, .reply = http_reply_body(status, body)};
}

static bool has_written_events(const void *data)
{
    const struct event_bed *b = data;
    return event_writer_count(b->writer).written >= b->want;
}

static bool has_failed_events(const void *data)
{
    const struct event_bed *b = data;
    return event_writer_count(b->writer).failures >= b->want;
}

static bool has_no_fault(const void *data)
{
    return event_writer_count(((const struct event_bed *)data)->writer).queue.known == 0;
}

static bool has_taken_events(const void *data)
{
    const struct event_bed *b = data;
    return http_script_taken(b->script) >= b->want;
}

static void wait_event_written(struct event_bed *b, uint64_t want)
{
    b->want = want;
    loop_until(b->loop, has_written_events, b);
    assert_int_equal(event_writer_count(b->writer).written, want);
}

static void wait_event_failed(struct event_bed *b, uint64_t want)
{
    b->want = want;
    loop_until(b->loop, has_failed_events, b);
    assert_int_equal(event_writer_count(b->writer).failures, want);
}

static void pass_event_time(int64_t ms)
{
    test_clock_stop();
    test_clock_advance_ms(ms);
    test_clock_run();
}

/* The timers that are due have run, and the queue still has a write that nobody has begun. */
static void assert_event_waits(struct event_bed *b)
{
    struct event_write write;
    for (int i = 0; i < 3; i++) {
        (void)ev_run(b->loop, EVRUN_NOWAIT);
    }
    assert_true(event_queue_next(b->queue, clock_monotonic_ms(), &write));
    event_queue_done(b->queue, EVENT_FAILED, write.event, clock_monotonic_ms());
}

/* ---- Requests ---- */

static void assert_event_says(const struct event_bed *b, const char *part)
{
    assert_that(strstr(http_script_head(b->script), part), "no %s in %s", part,
                http_script_head(b->script));
}

/* The field's time, in Unix seconds. */
static int64_t event_time_s(const struct event_bed *b, const char *field)
{
    const char *at = strstr(http_script_head(b->script), field);
    assert_non_null(at);
    const char *time = at + strlen(field);
    return utc_time_parse_us(slice_of(time, strcspn(time, "\""))) / 1000000;
}

UNIT_TEST_ON(test_an_event_and_its_series, struct event_bed *b)
{
    const struct http_step steps[] = {
        {.request = POST_IN("default"),
         .header = "Content-Type: application/json",
         .reply = http_reply_body("201 Created", "{}")},
        {.request = PATCH_OF("default", WEB_EVENT),
         .header = "Content-Type: application/merge-patch+json",
         .reply = http_reply_body("200 OK", "{}")},
        event_step(PATCH_OF("default", WEB_EVENT), "200 OK"),
    };
    int64_t before_s = clock_wall_s();
    start_event_script(b, steps, ARRAY_LEN(steps));
    fault_in(b, KUBE_SERVICE, "default", "web", 60 * MINUTE_MS);
    wait_event_written(b, 1);
    assert_event_says(b, "\r\n\r\n{\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"Event\","
                         "\"metadata\":{\"namespace\":\"default\",\"name\":\"" WEB_EVENT "\"},");
    assert_event_says(b, "\"type\":\"Warning\",\"reason\":\"InvalidPort\",\"action\":"
                         "\"WriteRecords\",\"reportingController\":\"kube2sky\","
                         "\"reportingInstance\":\"kube2sky-");
    assert_event_says(b,
                      "\"regarding\":{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"namespace\":"
                      "\"default\",\"name\":\"web\",\"uid\":\"uid-web\"},\"note\":\"" FAULT "\"}");
    assert_null(strstr(http_script_head(b->script), "\"series\""));
    int64_t found_s = event_time_s(b, "\"eventTime\":\"");
    assert_in_range(found_s, before_s - 3601, clock_wall_s() - 3599);

    fault_of_web(b, "default"); /* within a minute of the last write */
    pass_event_time(MINUTE_MS);
    wait_event_written(b, 2);
    assert_event_says(b, "\r\n\r\n{\"series\":{\"count\":2,\"lastObservedTime\":\"");
    int64_t last_s = event_time_s(b, "\"lastObservedTime\":\"");
    assert_in_range(last_s, before_s - 61, clock_wall_s() + 1);

    pass_event_time(EVENT_STANDING_MS); /* it stays */
    wait_event_written(b, 3);
    assert_event_says(b, "{\"series\":{\"count\":3,");
    struct event_writer_counts counts = event_writer_count(b->writer);
    assert_int_equal(counts.queue.known, 1);
    assert_int_equal(counts.queue.waiting, 0);
    assert_int_equal(counts.failures, 0);
}

/* The API's names of the kinds, and a name of an event that is not too long. */
UNIT_TEST_ON(test_kinds_of_objects, struct event_bed *b)
{
    const struct http_step steps[] = {
        event_step(POST_IN("default"), "201 Created"),
        event_step(POST_IN("default"), "201 Created"),
        event_step(POST_IN("default"), "201 Created"),
    };
    start_event_script(b, steps, ARRAY_LEN(steps));
    fault_in(b, KUBE_INGRESS, "default", "shop", 0);
    wait_event_written(b, 1);
    assert_event_says(b, "\"name\":\"shop.024d759cc98abe52\"}");
    assert_event_says(b, "{\"apiVersion\":\"networking.k8s.io/v1\",\"kind\":\"Ingress\","
                         "\"namespace\":\"default\",\"name\":\"shop\",\"uid\":\"uid-shop\"}");
    fault_in(b, KUBE_ROUTE, "default", "route", 0);
    wait_event_written(b, 2);
    assert_event_says(b, "\"name\":\"route.29069c3715c91643\"}");
    assert_event_says(b, "{\"apiVersion\":\"gateway.networking.k8s.io/v1\",\"kind\":\"HTTPRoute\","
                         "\"namespace\":\"default\",\"name\":\"route\",\"uid\":\"uid-route\"}");
    fault_in(b, KUBE_INGRESS, "default", LONG_235 ".-bcdef", 0);
    wait_event_written(b, 3);
    assert_event_says(b, "\"name\":\"" LONG_235 ".2b25834979cbf870\"}"); /* cut after the point */
}

UNIT_TEST_ON(test_unknown_objects_have_no_events, struct event_bed *b)
{
    const struct http_step steps[] = {event_step(POST_IN("other"), "201 Created")};
    start_event_script(b, steps, ARRAY_LEN(steps));
    fault_in(b, KUBE_SERVICE, "default", "gone", 0);
    fault_in(b, KUBE_INGRESS, "default", "gone", 0);
    loop_until(b->loop, has_no_fault, b);
    inventory_upsert(b->inventory, service_from("default", "nobody", "'clusterIP':'10.0.0.8'"));
    fault_in(b, KUBE_SERVICE, "default", "nobody", 0); /* without a uid */
    loop_until(b->loop, has_no_fault, b);
    assert_int_equal(http_script_connections(b->script), 0);
    fault_of_web(b, "other");
    wait_event_written(b, 1);
}

/* ---- Outcomes ---- */

/* An earlier process has written it: its series goes on, and nothing has failed. */
UNIT_TEST_ON(test_an_event_that_exists, struct event_bed *b)
{
    const struct http_step steps[] = {
        event_refusal(POST_IN("default"), "409 Conflict", "already exists"),
        event_step(PATCH_OF("default", WEB_EVENT), "200 OK"),
    };
    start_event_script(b, steps, ARRAY_LEN(steps));
    fault_of_web(b, "default");
    wait_event_written(b, 1);
    assert_event_says(b, "{\"series\":{\"count\":2,");
    assert_int_equal(event_writer_count(b->writer).failures, 0);
}

/* The API has dropped it: it is created anew, with its series. */
UNIT_TEST_ON(test_an_event_that_is_missing, struct event_bed *b)
{
    const struct http_step steps[] = {
        event_step(POST_IN("default"), "201 Created"),
        event_refusal(PATCH_OF("default", WEB_EVENT), "404 Not Found", "not found"),
        event_step(POST_IN("default"), "201 Created"),
    };
    start_event_script(b, steps, ARRAY_LEN(steps));
    fault_of_web(b, "default");
    wait_event_written(b, 1);
    pass_event_time(EVENT_STANDING_MS);
    wait_event_written(b, 2);
    assert_event_says(b, "\"series\":{\"count\":2,\"lastObservedTime\":\"");
    assert_event_says(b, "\"name\":\"" WEB_EVENT "\"}");
    assert_int_equal(event_writer_count(b->writer).failures, 0);
}

/* An object of the same name with another uid has another event. */
UNIT_TEST_ON(test_an_object_created_anew, struct event_bed *b)
{
    const struct http_step steps[] = {
        event_step(POST_IN("default"), "201 Created"),
        event_step(POST_IN("default"), "201 Created"),
        event_step(PATCH_OF("default", "web.bdfd66666d3f2410"), "200 OK"),
    };
    start_event_script(b, steps, ARRAY_LEN(steps));
    fault_of_web(b, "default");
    wait_event_written(b, 1);
    inventory_upsert(b->inventory,
                     object_from(KUBE_SERVICE, "{'metadata':{'namespace':'default','name':'web',"
                                               "'resourceVersion':'10','uid':'uid-new'},'spec':{"
                                               "'clusterIP':'10.0.0.9'}}"));
    fault_of_web(b, "default");
    pass_event_time(MINUTE_MS);
    wait_event_written(b, 2);
    assert_event_says(b, "\"name\":\"web.bdfd66666d3f2410\"}");
    fault_of_web(b, "default");
    pass_event_time(MINUTE_MS);
    wait_event_written(b, 3);
}

/* Without permission anywhere, all namespaces wait; the log tells it once, and its end. */
UNIT_TEST_ON(test_refused_events, struct event_bed *b)
{
    static struct log_capture capture;
    const struct http_step steps[] = {
        event_refusal(POST_IN("default"), "403 Forbidden", "no create of events"),
        event_refusal(POST_IN("default"), "401 Unauthorized", "who are you"),
        event_step(POST_IN("other"), "201 Created"),
        event_step(POST_IN("default"), "201 Created"),
    };
    log_capture_begin(&capture);
    start_event_script(b, steps, ARRAY_LEN(steps));
    fault_of_web(b, "default");
    wait_event_failed(b, 1);
    fault_of_web(b, "other");
    assert_event_waits(b);
    pass_event_time(EVENT_REFUSED_MS - MINUTE_MS);
    assert_event_waits(b);
    pass_event_time(MINUTE_MS);
    wait_event_failed(b, 2);
    pass_event_time(EVENT_REFUSED_MS);
    wait_event_written(b, 2);
    const char *log = log_capture_end(&capture);
    assert_int_equal(log_occurrences(log, "events are refused, trying again rarely error=\"POST "),
                     1);
    assert_int_equal(log_occurrences(log, "403 Forbidden: no create of events\" retry_s=600"), 1);
    assert_int_equal(log_occurrences(log, "events are written again"), 1);
}

/* A role of some namespaces only: the others' events do not keep theirs waiting. */
UNIT_TEST_ON(test_events_refused_in_one_namespace, struct event_bed *b)
{
    const struct http_step steps[] = {
        event_step(POST_IN("default"), "201 Created"),
        event_refusal(POST_IN("other"), "403 Forbidden", "no create of events"),
        event_step(POST_IN("third"), "201 Created"),
    };
    start_event_script(b, steps, ARRAY_LEN(steps));
    fault_of_web(b, "default");
    wait_event_written(b, 1);
    fault_of_web(b, "other");
    wait_event_failed(b, 1);
    fault_of_web(b, "third");
    wait_event_written(b, 2);
    assert_int_equal(event_writer_count(b->writer).queue.waiting, 1);
}

/* A namespace that goes takes no events: that is no failure, and nobody waits for it. */
UNIT_TEST_ON(test_namespaces_that_end, struct event_bed *b)
{
    const struct http_step steps[] = {
        event_refusal(POST_IN("default"), "403 Forbidden",
                      "unable to create new content in namespace default because it is being "
                      "terminated"),
        event_refusal(POST_IN("other"), "404 Not Found", "namespaces \\\"other\\\" not found"),
        event_step(POST_IN("third"), "201 Created"),
    };
    start_event_script(b, steps, ARRAY_LEN(steps));
    fault_of_web(b, "default");
    loop_until(b->loop, has_no_fault, b);
    fault_of_web(b, "other");
    loop_until(b->loop, has_no_fault, b);
    fault_of_web(b, "third");
    wait_event_written(b, 1);
    assert_int_equal(event_writer_count(b->writer).failures, 0);
}

/* An event that the API finds wrong would be wrong again. */
UNIT_TEST_ON(test_events_that_are_not_accepted, struct event_bed *b)
{
    static struct log_capture capture;
    const struct http_step steps[] = {
        event_refusal(POST_IN("default"), "422 Unprocessable Entity", "note: too long"),
        event_step(POST_IN("other"), "201 Created"),
    };
    log_capture_begin(&capture);
    start_event_script(b, steps, ARRAY_LEN(steps));
    fault_of_web(b, "default");
    loop_until(b->loop, has_no_fault, b);
    fault_of_web(b, "other");
    wait_event_written(b, 1);
    assert_int_equal(event_writer_count(b->writer).failures, 1);
    const char *log = log_capture_end(&capture);
    assert_int_equal(log_occurrences(log, "event is not accepted, left out"), 1);
    assert_int_equal(log_occurrences(log, "422 unexpected status: note: too long"), 1);
}

/* While the API is away or overloaded, all wait: a second at first, then longer, or as long as the
 * server says. The log tells it once. */
UNIT_TEST_ON(test_events_that_are_delayed, struct event_bed *b)
{
    static struct log_capture capture;
    const struct http_step steps[] = {
        event_step(POST_IN("default"), "500 Internal Server Error"),
        event_step(POST_IN("default"), "503 Service Unavailable"),
        {.request = POST_IN("default"),
         .reply = xstrdup("HTTP/1.1 201 Created\r\nContent-Length: 50\r\n\r\n{"),
         .is_closed = true},
        {.request = POST_IN("default"),
         .reply = xstrdup("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 50\r\n"
                          "Content-Length: 0\r\n\r\n")},
        event_step(POST_IN("default"), "201 Created"),
        event_refusal(PATCH_OF("default", WEB_EVENT), "409 Conflict", "modified meanwhile"),
        event_step(PATCH_OF("default", WEB_EVENT), "200 OK"),
    };
    log_capture_begin(&capture);
    start_event_script(b, steps, ARRAY_LEN(steps));
    fault_of_web(b, "default");
    wait_event_failed(b, 1);
    for (unsigned failures = 2; failures <= 4; failures++) {
        pass_event_time(1000 << (failures - 2)); /* the backoff at most */
        wait_event_failed(b, failures);
    }
    pass_event_time(45000);
    assert_event_waits(b);
    pass_event_time(5000);
    wait_event_written(b, 1);

    pass_event_time(EVENT_STANDING_MS);
    wait_event_failed(b, 5);
    pass_event_time(1000); /* the success began the backoff anew */
    wait_event_written(b, 2);
    const char *log = log_capture_end(&capture);
    assert_int_equal(log_occurrences(log, "events cannot be written, retrying"), 2);
    assert_int_equal(log_occurrences(log, "500 Internal Server Error"), 1);
    assert_int_equal(log_occurrences(log, "events are written again"), 2);
}

/* ---- Turns ---- */

/* A process that does not lead writes nothing, and looks again each second. */
UNIT_TEST_ON(test_only_the_leader_writes_events, struct event_bed *b)
{
    const struct http_step steps[] = {event_step(POST_IN("default"), "201 Created")};
    start_event_reconciler(b, false);
    start_event_script(b, steps, ARRAY_LEN(steps));
    fault_of_web(b, "default");
    for (int i = 0; i < 3; i++) {
        assert_event_waits(b);
        pass_event_time(1000);
    }
    assert_int_equal(event_writer_count(b->writer).queue.waiting, 1);
    event_writer_free(b->writer);
    b->writer = NULL;
    start_event_reconciler(b, true);
    start_event_writer(b);
    fault_of_web(b, "default");
    wait_event_written(b, 1);
}

/* A request under way is canceled: its answer reaches nobody. */
UNIT_TEST_ON(test_an_event_writer_that_ends, struct event_bed *b)
{
    const struct http_step steps[] = {event_step(POST_IN("default"), "201 Created")};
    start_event_script(b, steps, ARRAY_LEN(steps));
    fault_of_web(b, "default");
    b->want = 1;
    loop_until(b->loop, has_taken_events, b);
    event_writer_free(b->writer);
    b->writer = NULL;
    event_writer_free(b->writer);
    for (int i = 0; i < 10; i++) {
        (void)ev_run(b->loop, EVRUN_NOWAIT);
    }
    assert_int_equal(event_queue_count(b->queue).waiting, 1);
}
