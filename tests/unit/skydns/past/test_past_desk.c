/* past_desk.h with a real etcd: which answers and changes of the past the pages tell, and what they
 * say if those are gone, too many, or not to be had now. */
#include "skydns/past/past_desk.h"

#include <inttypes.h>
#include <jansson.h>

#include "skydns/pages/explain.h"
#include "skydns/pages/metrics_table.h"
#include "skydns/publish/publisher.h"
#include "skydns/settings/options.h"
#include "skydns/settings/stub_zones.h"
#include "skydns/sync/store_sync.h"
#include "tests/support/etcd_proc.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/http_ask.h"
#include "tests/support/unit_test.h"

UNIT_TESTS_HAVE_THREADS

enum { CALL_TIMEOUT_MS = 5000 };

struct past_bed {
    struct etcd_proc *proc;
    struct ev_loop *loop;
    struct etcd *etcd;
    struct options options;
    struct publisher *publisher;
    struct store_sync *sync;
    struct metrics_sources sources;
    struct past_desk *desk;
    struct http_route routes[PAST_DESK_ROUTES];
    struct http_server *server;
    struct addr address;
    int64_t written; /* the newest revision */
};

/* ---- etcd ---- */

static bool is_past_followed(const void *data)
{
    const struct past_bed *bed = data;
    return store_sync_is_caught_up(bed->sync) &&
           store_sync_counts(bed->sync).revision >= bed->written;
}

/* Puts (value NULL: deletes) a key below /skydns/, and waits until it is published. */
static int64_t past_bed_write(struct past_bed *bed, const char *key, const char *value)
{
    char path[600];
    assert_true(snprintf(path, sizeof(path), "/skydns/%s", key) < (int)sizeof(path));
    const struct etcd_op op = {.kind = value ? ETCD_OP_PUT : ETCD_OP_DELETE,
                               .key = slice_str(path),
                               .value = slice_str(value ? value : "")};
    const struct etcd_txn txn = {.ops = &op, .op_count = 1};
    struct etcd_txn_reply reply;
    assert_int_equal(sync_txn(bed->loop, bed->etcd, &txn, &reply, NULL), 0);
    bed->written = reply.revision;
    loop_until(bed->loop, is_past_followed, bed);
    return reply.revision;
}

/* ---- The bed ---- */

static void past_bed_start(struct past_bed *bed, bool has_overrides)
{
    char program[] = "skydns", domain[] = "-domain=cluster.local", no_rec[] = "-no-rec";
    char further[] = "-overrides";
    char *argv[] = {program, domain, no_rec, further, NULL};
    struct err err;
    assert_int_equal(skydns_options_parse(has_overrides ? 4 : 3, argv, &bed->options, &err), 0);
    bed->loop = ev_loop_new(0);
    bed->publisher = publisher_new();
    publisher_configure(bed->publisher, options_engine_config(&bed->options));
    const struct etcd_config client = {.loop = bed->loop,
                                       .endpoints = etcd_proc_url(bed->proc),
                                       .call_timeout_ms = CALL_TIMEOUT_MS};
    assert_int_equal(etcd_new(&client, &bed->etcd, NULL), 0);
    bed->sync = store_sync_start(&(struct store_sync_config){
        .loop = bed->loop,
        .etcd = bed->etcd,
        .publisher = bed->publisher,
        .path_prefix = "skydns",
        .default_ttl_s = 30,
        .domains = bed->options.domains,
        .domain_count = bed->options.domain_count,
        .wants_overrides = bed->options.engine.overrides,
        .override_ttl_s = 30,
        .wants_marks = true,
    });
    bed->sources = (struct metrics_sources){.sync = bed->sync, .publisher = bed->publisher};
    bed->desk = past_desk_new(bed->loop, &bed->sources, bed->etcd);
    past_desk_routes(bed->desk, bed->routes);
    bed->server = http_ask_serve(bed->loop, bed->routes, ARRAY_LEN(bed->routes), &bed->address);
    loop_until(bed->loop, is_past_followed, bed);
}

static struct past_bed *past_bed_new(void)
{
    struct past_bed *bed = calloc(1, sizeof(*bed));
    assert_non_null(bed);
    bed->proc = etcd_proc_start();
    return bed;
}

static void past_bed_free(struct past_bed *bed)
{
    http_server_free(bed->server);
    past_desk_free(bed->desk);
    store_sync_stop(bed->sync);
    publisher_free(bed->publisher);
    etcd_free(bed->etcd);
    ev_loop_destroy(bed->loop);
    stub_zones_unref(bed->options.stubs);
    etcd_proc_free(bed->proc);
    free(bed);
}

UNIT_FIXTURE_MADE(past_bed_new(), past_bed_free)
UNIT_TESTS_NEED(etcd_proc_missing)

/* Asks for the path, with the number at its end unless that is 0. The reply's status must be that;
 * returns its JSON, NULL if it is none. */
static json_t *ask_past(struct past_bed *bed, unsigned status, const char *path, int64_t number,
                        const char *text)
{
    char target[400], end[24] = "";
    (void)snprintf(end, number ? sizeof(end) : 1, "%" PRId64, number);
    (void)snprintf(target, sizeof(target), "%s%s", path, end); /* has room */
    struct asked_page asked = http_ask(bed->loop, &bed->address, target);
    assert_that(asked.page.status == status && (!text || strstr(asked.page.body, text)),
                "%s: %u %s", target, asked.page.status, asked.page.body);
    json_t *json = json_loads(asked.page.body, 0, NULL);
    asked_page_fini(&asked);
    return json;
}

static void expect_past(struct past_bed *bed, unsigned status, const char *path, int64_t number,
                        const char *text)
{
    json_decref(ask_past(bed, status, path, number, text));
}

/* ---- Answers ---- */

UNIT_TEST_ON(test_answers_of_revisions, struct past_bed *bed)
{
    past_bed_start(bed, false);
    const char web[] = "local/cluster/svc/default/web/a";
    int64_t first = past_bed_write(bed, web, "{\"host\":\"10.0.0.1\"}");
    int64_t second = past_bed_write(bed, web, "{\"host\":\"db.default.svc.cluster.local.\"}");
    int64_t third =
        past_bed_write(bed, "local/cluster/svc/default/db/a", "{\"host\":\"10.0.0.9\"}");
    int64_t fourth = past_bed_write(bed, web, "{\"host\":5}");
    int64_t last = past_bed_write(bed, "local/cluster/svc/default/db/a", NULL);
    const char *const page = "/explain?name=web.default.svc.cluster.local&at=";
    expect_past(bed, 200, page, first, " A 10.0.0.1\"");
    expect_past(bed, 200, page, second, "\"rule\":\"target\"");
    expect_past(bed, 200, page, third, " A 10.0.0.9\"");
    expect_past(bed, 200, page, fourth,
                "\"broken\":[{\"key\":\"/skydns/local/cluster/svc/default/web/a\"");
    expect_past(bed, 200, page, last, "\"status\":\"NXDOMAIN\"");
    expect_past(bed, 200, "/explain?name=web.default.svc.cluster.local&text&at=", first,
                "the answer as of ");
    expect_past(bed, 200, "/explain?name=*.default.svc.cluster.local&at=", third, "10.0.0.9");
    expect_past(bed, 200, "/explain?name=cluster.local&type=SOA&at=", third, "NOERROR");
    expect_past(bed, 200, "/explain?name=local.dns.cluster.local&at=", third, "status");
    expect_past(bed, 200, "/explain?name=1.0.0.10.in-addr.arpa&type=PTR&at=", third, "status");
    expect_past(bed, 200, "/explain?name=www.example.com&at=", third, "status");
    expect_past(bed, 400, "/explain?name=a..b&at=", third, "expected one like");
    expect_past(bed, 400, "/explain?name=a.b&at=1x", 0, "expected a revision");
    expect_past(bed, 400, "/explain?name=a.b&at=", last + 1000, "is still to come: etcd is at");
}

UNIT_TEST_ON(test_overrides, struct past_bed *bed)
{
    past_bed_start(bed, true);
    int64_t first = past_bed_write(bed, "com/example/www/3f2a",
                                   "{\"host\":\"web.a.svc.cluster.local.\",\"targetstrip\":1}");
    int64_t second = past_bed_write(bed, "local/cluster/svc/a/web/x", "{\"host\":\"10.0.0.1\"}");
    int64_t third = past_bed_write(bed, "com/example/*", "{\"host\":\"10.0.0.7\"}");
    expect_past(bed, 200, "/explain?name=www.example.com&at=", first, "\"status\":");
    expect_past(bed, 200, "/explain?name=www.example.com&at=", second, " A 10.0.0.1\"");
    expect_past(bed, 200, "/explain?name=any.example.com&at=", second, "forbids forwarding");
    expect_past(bed, 200, "/explain?name=any.example.com&at=", third, " A 10.0.0.7\"");
}

/* ---- Limits ---- */

UNIT_TEST_ON(test_what_is_gone, struct past_bed *bed)
{
    past_bed_start(bed, false);
    const char web[] = "local/cluster/svc/default/web/a";
    const char *const page = "/explain?name=web.default.svc.cluster.local&at=";
    int64_t first = past_bed_write(bed, web, "{\"host\":\"10.0.0.1\"}");
    expect_past(bed, 410, "/explain?name=a.cluster.local&at=24h", 0, "\"revision\":1");
    int64_t second = past_bed_write(bed, web, "{\"host\":\"10.0.0.2\"}");
    etcd_proc_compact(bed->proc, second);
    expect_past(bed, 200, page, second, " A 10.0.0.2\"");
    json_t *json = ask_past(bed, 410, page, first, "\"error\":\"gone\"");
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(json, "oldest"), "revision")), second);
    json_decref(json);
    expect_past(bed, 410, "/explain?name=web.default.svc.cluster.local&text&at=", first,
                "the oldest that can be had is revision ");
    json = ask_past(bed, 200, "/history?name=web.default.svc.cluster.local&since=", first,
                    "\"cut\":\"compacted\"");
    assert_int_equal(json_array_size(json_object_get(json, "changes")), 0);
    json_decref(json);
}

/* A chain that leads to more names than are read. */
UNIT_TEST_ON(test_too_many_names, struct past_bed *bed)
{
    past_bed_start(bed, false);
    int64_t last = 0;
    for (int i = 0; i < 70; i++) {
        char key[80], value[80];
        (void)snprintf(key, sizeof(key), "local/cluster/svc/default/web/k%d", i);
        (void)snprintf(value, sizeof(value), "{\"host\":\"n%d.cluster.local.\"}", i);
        last = past_bed_write(bed, key, value);
    }
    expect_past(bed, 507, "/explain?name=web.default.svc.cluster.local&at=", last,
                "it leads to more than 64 names");
}

static bool is_past_lost(const void *data)
{
    const struct past_bed *bed = data;
    return !store_sync_is_caught_up(bed->sync);
}

UNIT_TEST_ON(test_without_etcd, struct past_bed *bed)
{
    past_bed_start(bed, false);
    int64_t last = past_bed_write(bed, "local/cluster/a", "{\"host\":\"10.0.0.1\"}");
    etcd_proc_pause(bed->proc);
    expect_past(bed, 503, "/explain?name=a.cluster.local&at=", last,
                "etcd took longer than 4 s to tell its history; try again");
    etcd_proc_resume(bed->proc);
    etcd_proc_kill(bed->proc);
    loop_until(bed->loop, is_past_lost, bed);
    expect_past(bed, 503, "/explain?name=a.cluster.local&at=", last, "etcd is away");
    expect_past(bed, 503, "/history?name=a.cluster.local&since=", last, "etcd is away");
    const struct past_counts *counts = past_desk_counts(bed->desk);
    assert_int_equal(counts->results[PAST_EXPLAIN][PAST_FAILED], 1);
    assert_int_equal(counts->results[PAST_EXPLAIN][PAST_BUSY], 1);
    assert_int_equal(counts->results[PAST_HISTORY][PAST_BUSY], 1);
}

/* ---- Changes ---- */

UNIT_TEST_ON(test_changes_of_a_name, struct past_bed *bed)
{
    past_bed_start(bed, false);
    const char web[] = "local/cluster/svc/default/web";
    int64_t first = past_bed_write(bed, "local/cluster/svc/default/web-2", "{}");
    int64_t second = past_bed_write(bed, web, "{\"host\":\"10.0.0.1\"}");
    int64_t third = past_bed_write(bed, web, NULL);
    json_t *json =
        ask_past(bed, 200, "/history?name=WEB.default.svc.cluster.local&since=", first, NULL);
    json_t *changes = json_object_get(json, "changes"), *gone = json_array_get(changes, 0),
           *made = json_array_get(changes, 1);
    assert_int_equal(json_array_size(changes), 2);
    assert_int_equal(json_integer_value(json_object_get(gone, "revision")), third);
    assert_string_equal(json_string_value(json_object_get(gone, "before")),
                        "{\"host\":\"10.0.0.1\"}");
    assert_null(json_object_get(gone, "after"));
    assert_int_equal(json_integer_value(json_object_get(made, "revision")), second);
    assert_null(json_object_get(made, "before"));
    assert_non_null(json_object_get(made, "after"));
    assert_string_equal(json_string_value(json_object_get(made, "key")),
                        "/skydns/local/cluster/svc/default/web");
    json_decref(json);
    for (int i = 0; i < 105; i++) {
        char value[40];
        (void)snprintf(value, sizeof(value), "{\"host\":\"10.0.0.%d\"}", i);
        (void)past_bed_write(bed, web, value);
    }
    expect_past(bed, 200, "/history?name=web.default.svc.cluster.local&since=10m", 0,
                "\"cut\":\"unmarked\"");
    json = ask_past(bed, 200, "/history?name=web.default.svc.cluster.local&since=", third, NULL);
    assert_int_equal(json_array_size(json_object_get(json, "changes")), 100);
    assert_int_equal(json_integer_value(json_object_get(json, "more")), 5);
    json_decref(json);
    expect_past(bed, 400, "/history?since=", first, "expected one like");
    expect_past(bed, 400, "/history?name=a.b&since=1-", 0, "expected a revision");
}
