/* skydns' HTTP pages over real sockets: readiness, all records as JSON while they change,
 * explanations, and metrics with the counts of the real modules. */
#include "tests/unit/skydns/pages/pages_bed.h"

#include <jansson.h>

#include "common/base/clock.h"
#include "common/etcd/etcd.h"
#include "skydns/answering.h"
#include "skydns/dnssec/dnssec.h"
#include "skydns/engine/engine.h"
#include "skydns/external/cache_counts.h"
#include "skydns/external/zone_table.h"
#include "skydns/pages/live.h"
#include "skydns/pages/status.h"
#include "skydns/pages/top_names_internal.h"
#include "skydns/past/past_desk.h"
#include "skydns/streams/streams.h"
#include "tests/support/from_text.h"
#include "tests/support/http_ask.h"
#include "tests/support/loopback.h"
#include "tests/support/skydns/sample_keys.h"
#include "tests/support/unit_test.h"

struct pages {
    struct pages_bed bed;
    struct etcd *etcd;
    struct answering *answering;
    struct metrics_sources sources;
    struct past_desk *past;
    struct http_route routes[PAST_DESK_ROUTES + STATUS_ROUTES + 1];
    struct http_server *server;
    struct addr address;
};

/* Opens the sockets for queries, but starts no threads. */
static void open_answering(struct pages *p)
{
    struct err err = {0};
    int r = -1;
    for (int i = 0; i < 100 && r < 0; i++) { /* another program may take the port */
        p->bed.options.addresses[0] = loopback_addr(loopback_free_port());
        p->bed.options.address_count = 1;
        r = answering_open(&p->bed.options, p->bed.publisher, NULL, NULL, NULL, &p->answering,
                           &err);
    }
    assert_that(r >= 0, "%s", err.msg);
}

static int setup_with(void **state, const char *flags)
{
    struct pages *p = xcalloc(1, sizeof(*p));
    char endpoint[ADDR_TEXT_MAX + sizeof("http://")], text[ADDR_TEXT_MAX];
    struct addr nowhere = loopback_addr(loopback_free_port());
    unsigned worker_count;
    bed_start(&p->bed, flags);
    (void)snprintf(endpoint, sizeof(endpoint), "http://%s", addr_format(&nowhere, text)); /* fits */
    const struct etcd_config client = {
        .loop = p->bed.loop, .endpoints = endpoint, .call_timeout_ms = 60000};
    assert_int_equal(etcd_new(&client, &p->etcd, NULL), 0);
    open_answering(p);
    p->sources = (struct metrics_sources){
        .start_s = 1760704496,
        .etcd = p->etcd,
        .outage = &p->bed.outage,
        .followed = &p->bed.followed,
        .sync = p->bed.sync,
        .resolver = answering_resolver(p->answering),
        .skydns_prefix = "old_names_",
        .publisher = p->bed.publisher,
        .explainer = p->bed.explainer,
    };
    /* No worker was started, so there is none to read counts from. */
    (void)answering_workers(p->answering, &worker_count);
    assert_int_equal(worker_count, 2);
    p->past = past_desk_new(p->bed.loop, &p->sources, p->etcd);
    past_desk_routes(p->past, p->routes);
    status_routes(&p->sources, p->routes + PAST_DESK_ROUTES);
    p->routes[PAST_DESK_ROUTES + STATUS_ROUTES] = status_metrics_route(&p->sources, "/old/metrics");
    p->server = http_ask_serve(p->bed.loop, p->routes, ARRAY_LEN(p->routes), &p->address);
    *state = p;
    return 0;
}

static int status_setup(void **state)
{
    return setup_with(state, "-nameservers=127.0.0.1:10253 -workers=2 -etcd-timeout=1h");
}

static int setup_impatient(void **state)
{
    return setup_with(state, "-nameservers=127.0.0.1:10253 -workers=2 -etcd-timeout=1ms");
}

static int status_teardown(void **state)
{
    struct pages *p = *state;
    http_server_free(p->server);
    past_desk_free(p->past);
    answering_free(p->answering);
    bed_stop(&p->bed);
    etcd_free(p->etcd);
    free(p);
    return 0;
}

UNIT_TESTS_EACH(status_setup, status_teardown)
UNIT_TESTS_HAVE_THREADS

static void pages_status_expect(struct pages *p, const char *target, unsigned status,
                                const char *part)
{
    CLEANUP(asked_page_fini) struct asked_page asked = http_ask(p->bed.loop, &p->address, target);
    assert_that(asked.page.status == status && strstr(asked.page.body, part), "%s: %u %s", target,
                asked.page.status, asked.page.body);
}

static json_t *status_json_of(struct pages *p, const char *target)
{
    struct asked_page asked = http_ask(p->bed.loop, &p->address, target);
    json_error_t error;
    json_t *json = json_loads(asked.page.body, JSON_REJECT_DUPLICATES, &error);
    assert_int_equal(asked.page.status, 200);
    assert_non_null(strstr(asked.response.type, "application/json"));
    assert_that(json, "%s: %s", target, error.text);
    asked_page_fini(&asked);
    return json;
}

/* ---- Readiness ---- */

UNIT_TEST_ON(test_readiness, struct pages *p)
{
    struct err why;
    (void)err_set(&why, ERR_TIMEOUT, "etcd is silent"); /* only its text is wanted */
    pages_status_expect(p, "/healthz", 200, "ok");
    pages_status_expect(p, "/readiness", 503, "etcd");
    outage_away(&p->bed.followed, &why);
    pages_status_expect(p, "/readiness", 503, "etcd is silent");
    bed_fill(&p->bed, NULL, 0);
    pages_status_expect(p, "/readiness", 200, "ok");
    pages_status_expect(p, "/readiness?strict", 200, "ok");
    p->sources.is_lame_duck = true;
    pages_status_expect(p, "/readiness", 503, "stopping");
    pages_status_expect(p, "/readiness?strict", 503, "stopping");
    pages_status_expect(p, "/healthz", 200, "ok");
}

/* Makes the sections that an earlier process wrote. */
static void status_save_sections(struct snapshot_content *content)
{
    CLEANUP(bed_stop) struct pages_bed bed;
    struct snapshot_image image;
    bed_start(&bed, "-no-rec");
    bed_fill(&bed, NULL, 0);
    bed_mirror.state(bed_mirror.data, NULL);
    bed_mirror.caught_up(bed_mirror.data);
    snapshot_image_init(&image);
    assert_true(store_sync_save(bed.sync, &image));
    memcpy(content->sections, image.sections, sizeof(content->sections));
}

/* A snapshot of one record, of 12 s ago. */
static int setup_with_snapshot_and(void **state, const char *flags)
{
    static struct snapshot_content content;
    content = (struct snapshot_content){.writer = store_writer_new()};
    content.header.revision = 42;
    content.header.heard_ms = clock_wall_ms() - 12000;
    status_save_sections(&content);
    struct dname name = dname_from("web.cluster.local");
    const struct record record = {.host = slice_str("10.0.0.1"), .ttl_s = 30};
    (void)store_writer_put_view(content.writer, &name, &record, 40);
    bed_snapshot = &content;
    int r = setup_with(state, flags);
    bed_snapshot = NULL;
    snapshot_content_fini(&content);
    return r;
}

static int setup_with_snapshot(void **state)
{
    return setup_with_snapshot_and(state,
                                   "-nameservers=127.0.0.1:10253 -workers=2 -etcd-timeout=1ms");
}

static int setup_with_snapshot_requiring(void **state)
{
    return setup_with_snapshot_and(state,
                                   "-nameservers=127.0.0.1:10253 -workers=2 -require-store-key");
}

/* The whole text but for the seconds, which may be a few more. */
static void expect_strict(struct pages *p)
{
    CLEANUP(asked_page_fini)
    struct asked_page asked = http_ask(p->bed.loop, &p->address, "/readiness?strict");
    int age_s = 0, end = 0;
    assert_int_equal(asked.page.status, 503);
    assert_that(sscanf(asked.page.body, "answers from a snapshot of %ds ago\n%n", &age_s, &end) ==
                        1 &&
                    end != 0 && !asked.page.body[end] && age_s >= 12 && age_s <= 59,
                "%s", asked.page.body);
}

UNIT_TEST_IN(test_from_a_snapshot, setup_with_snapshot, status_teardown)
{
    struct pages *p = *state;
    struct err why;
    (void)err_set(&why, ERR_TIMEOUT, "etcd is silent"); /* only its text is wanted */
    pages_status_expect(p, "/readiness", 200, "ok");
    expect_strict(p);
    outage_away(&p->bed.followed, &why);
    expect_strict(p); /* rather than that etcd is away */
    pages_status_expect(p, "/explain?name=web.cluster.local&text", 200,
                        "\nsnapshot   answers come from a snapshot of 1");
    json_t *json = status_json_of(p, "/explain?name=web.cluster.local");
    assert_in_range(json_integer_value(json_object_get(json, "snapshot_age_s")), 12, 59);
    json_decref(json);
    outage_back(&p->bed.followed);
    bed_mirror.state(bed_mirror.data, NULL);
    bed_mirror.caught_up(bed_mirror.data);
    pages_status_expect(p, "/readiness?strict", 200, "ok");
    json = status_json_of(p, "/explain?name=web.cluster.local");
    assert_null(json_object_get(json, "snapshot_age_s"));
    json_decref(json);
}

/* It is not etcd that is waited for: names are answered, and one that is missing is SERVFAIL. */
UNIT_TEST_IN(test_an_incomplete_snapshot, setup_with_snapshot_requiring, status_teardown)
{
    struct pages *p = *state;
    pages_status_expect(p, "/readiness", 503,
                        "no /kube2sky/cluster.local/store (expected: -require-store-key)");
    pages_status_expect(p, "/metrics", 200, "\nskydns_ready 0\n");
    pages_status_expect(p, "/metrics", 200,
                        "\nskydns_domain_incomplete{domain=\"cluster.local.\"} 1\n");
}

static struct metrics_snapshot snapshot_counts(const void *keeper)
{
    assert_string_equal(keeper, "keeper");
    return (struct metrics_snapshot){
        .heard_ms = clock_wall_ms() - 90000, .bytes = 428, .writes = 3, .failures = 2};
}

UNIT_TEST_ON(test_metrics_of_the_past, struct pages *p)
{
    struct past_counts counts = {.results[PAST_EXPLAIN][PAST_GONE] = 7,
                                 .results[PAST_HISTORY][PAST_BUSY] = 8};
    p->sources.past = &counts;
    pages_status_expect(p, "/metrics", 200,
                        "\nskydns_past_questions_total{page=\"explain\",result=\"gone\"} 7\n");
    pages_status_expect(p, "/metrics", 200,
                        "\nskydns_past_questions_total{page=\"history\",result=\"busy\"} 8\n");
    pages_status_expect(p, "/metrics", 200, "\nskydns_past_marks 0\n");
    pages_status_expect(p, "/metrics", 200, "\nskydns_past_oldest_mark_seconds 0\n");
}

UNIT_TEST_ON(test_metrics_of_a_snapshot, struct pages *p)
{
    pages_status_expect(p, "/metrics", 200, "\nskydns_snapshot_age_seconds 0\n");
    pages_status_expect(p, "/metrics", 200, "\nskydns_snapshot_bytes 0\n");
    p->sources.snapshot = snapshot_counts;
    p->sources.keeper = "keeper";
    pages_status_expect(p, "/metrics", 200, "\nskydns_snapshot_age_seconds 9");
    pages_status_expect(p, "/metrics", 200, "\nskydns_snapshot_bytes 428\n");
    pages_status_expect(p, "/metrics", 200, "\nskydns_snapshot_writes_total 3\n");
    pages_status_expect(p, "/metrics", 200, "\nskydns_snapshot_failures_total 2\n");
}

/* Only a strict check reports an etcd that came back without its data, or has been away for
 * long. */
UNIT_TEST_ON(test_lost_data, struct pages *p)
{
    bed_fill(&p->bed, NULL, 0);
    bed_mirror_counts.is_holding_old = true;
    bed_mirror_counts.holding_ms = 17999;
    pages_status_expect(p, "/readiness", 200, "ok");
    pages_status_expect(p, "/readiness?strict", 503, " 17 s ");
    bed_mirror_counts.is_holding_old = false;
    pages_status_expect(p, "/readiness?strict", 200, "ok");
}

/* Or one that is there and has changes that do not arrive. */
UNIT_TEST_ON(test_behind, struct pages *p)
{
    bed_fill(&p->bed, NULL, 0);
    bed_mirror_counts.behind_ms = 4999;
    pages_status_expect(p, "/readiness?strict", 200, "ok"); /* away, but not for long */
    outage_back(&p->bed.followed);
    bed_mirror_counts.behind_ms = 1000;
    pages_status_expect(p, "/readiness?strict", 200, "ok");
    bed_mirror_counts.behind_ms = 4999;
    pages_status_expect(p, "/readiness", 200, "ok");
    pages_status_expect(p, "/readiness?strict", 503, "behind etcd: for 4 s ");
    pages_status_expect(p, "/metrics", 200, "\nskydns_etcd_behind_seconds 4.999\n");
    bed_mirror_counts.behind_ms = 0;
    pages_status_expect(p, "/readiness?strict", 200, "ok");
}

static void tell_key(const char *id)
{
    bed_mirror.store_key_seen(bed_mirror.data, slice_str(id), false);
}

UNIT_TEST_ON(test_incomplete, struct pages *p)
{
    static const char key[] = "/kube2sky/cluster.local/store (expected: there was one before)";
    bed_fill(&p->bed, NULL, 0);
    tell_key("one");
    pages_status_expect(p, "/metrics", 200,
                        "\nskydns_domain_incomplete{domain=\"cluster.local.\"} 0\n");
    tell_key("");
    pages_status_expect(p, "/readiness", 200, "ok");
    pages_status_expect(p, "/readiness?strict", 503, key);
    pages_status_expect(p, "/metrics", 200,
                        "\nskydns_domain_incomplete{domain=\"cluster.local.\"} 1\n");
    tell_key("two"); /* counts once everything was read again */
    pages_status_expect(p, "/readiness?strict", 503, key);
    assert_int_equal(bed_rereads, 1);
}

static int setup_requiring(void **state)
{
    return setup_with(state, "-nameservers=127.0.0.1:10253 -workers=2 -require-store-key");
}

UNIT_TEST_IN(test_never_complete, setup_requiring, status_teardown)
{
    struct pages *p = *state;
    pages_status_expect(p, "/readiness", 503, "etcd has not been read yet");
    bed_fill(&p->bed, NULL, 0);
    pages_status_expect(p, "/readiness", 503,
                        "no /kube2sky/cluster.local/store (expected: -require-store-key)");
    pages_status_expect(p, "/readiness?strict", 503, "-require-store-key");
    pages_status_expect(p, "/metrics", 200, "\nskydns_ready 0\n");
}

UNIT_TEST_IN(test_overdue, setup_impatient, status_teardown)
{
    struct pages *p = *state;
    struct err why;
    (void)err_set(&why, ERR_TIMEOUT, "etcd is silent"); /* only its text is wanted */
    bed_fill(&p->bed, NULL, 0);
    outage_away(&p->bed.followed, &why);
    while (!p->bed.outage.is_overdue) {
        ev_run(p->bed.loop, EVRUN_ONCE);
    }
    pages_status_expect(p, "/readiness", 200, "ok");
    pages_status_expect(p, "/readiness?strict", 503, "etcd is silent");
    outage_back(&p->bed.followed);
    pages_status_expect(p, "/readiness?strict", 200, "ok");
}

/* ---- Records ---- */

UNIT_TEST_ON(test_cache, struct pages *p)
{
    static const struct bed_key keys[] = {
        {"local/cluster/web", "{'host':'10.0.0.1'}"},
        {"local/cluster/all",
         "{'host':'FD00::1','port':80,'priority':5,'weight':6,'text':'a \\'text\\'','mail':true,"
         "'ttl':7,'targetstrip':1,'group':'g'}"},
        {"local/cluster/bad", "{'port':'80'}"},
        {"local/cluster/worse", "not JSON"},
    };
    bed_fill(&p->bed, keys, ARRAY_LEN(keys));
    json_t *json = status_json_of(p, "/cache");
    assert_int_equal(json_integer_value(json_object_get(json, "revision")), 4);
    const json_t *records = json_object_get(json, "records");
    assert_int_equal(json_array_size(records), 2);
    for (size_t i = 0; i < 2; i++) {
        json_t *record = json_array_get(records, i);
        bool is_all = json_object_get(record, "port") != NULL;
        assert_true(json_integer_value(json_object_get(record, "known_s")) < 3600);
        assert_int_equal(json_object_del(record, "known_s"), 0);
        json_t *want = is_all
                           ? json_pack("{ss ss si si si ss sb si si ss si}", "key",
                                       "/skydns/local/cluster/all", "host", "FD00::1", "port", 80,
                                       "priority", 5, "weight", 6, "text", "a \"text\"", "mail", 1,
                                       "ttl", 7, "targetstrip", 1, "group", "g", "revision", 2)
                           : json_pack("{ss ss si}", "key", "/skydns/local/cluster/web", "host",
                                       "10.0.0.1", "revision", 1);
        assert_non_null(want);
        assert_that(json_equal(record, want), "%s", json_dumps(record, 0));
        json_decref(want);
    }
    const json_t *broken = json_object_get(json, "broken");
    assert_int_equal(json_array_size(broken), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *entry = json_array_get(broken, i);
        const char *key = json_string_value(json_object_get(entry, "key"));
        bool is_bad = strcmp(key, "/skydns/local/cluster/bad") == 0;
        assert_true(is_bad || strcmp(key, "/skydns/local/cluster/worse") == 0);
        assert_int_equal(json_integer_value(json_object_get(entry, "revision")), is_bad ? 3 : 4);
        assert_true(*json_string_value(json_object_get(entry, "reason")) != '\0');
    }
    json_decref(json);
}

UNIT_TEST_ON(test_cache_before_the_first_read, struct pages *p)
{
    json_t *json = status_json_of(p, "/cache");
    assert_int_equal(json_integer_value(json_object_get(json, "revision")), 0);
    assert_int_equal(json_array_size(json_object_get(json, "records")), 0);
    assert_int_equal(json_array_size(json_object_get(json, "broken")), 0);
    json_decref(json);
}

enum { STEADY = 3000 };

struct changing {
    struct pages_bed *bed;
    ev_prepare each_turn;
    unsigned changes;
};

/* Adds a key in each loop iteration while the page is being sent. */
static void status_on_turn(struct ev_loop *loop, ev_prepare *watcher, int events)
{
    struct changing *c = watcher->data;
    char key[64];
    (void)snprintf(key, sizeof(key), "local/cluster/new/k%u", c->changes++); /* fits */
    bed_add(c->bed, key, "{'host':'10.2.0.1'}");
}

/* Several pieces, each from the version current at its time: records that exist all the time occur
 * once. */
UNIT_TEST_ON(test_cache_while_records_change, struct pages *p)
{
    struct changing changing = {.bed = &p->bed};
    char key[64];
    bool seen[STEADY] = {false};
    unsigned seen_count = 0;
    bed_fill(&p->bed, NULL, 0);
    for (unsigned i = 0; i < STEADY; i++) {
        (void)snprintf(key, sizeof(key), "local/cluster/steady/k%u", i); /* fits */
        bed_add(&p->bed, key, "{'host':'10.1.0.1'}");
    }
    ev_prepare_init(&changing.each_turn, status_on_turn);
    changing.each_turn.data = &changing;
    ev_prepare_start(p->bed.loop, &changing.each_turn);
    json_t *json = status_json_of(p, "/cache");
    ev_prepare_stop(p->bed.loop, &changing.each_turn);
    const json_t *records = json_object_get(json, "records");
    for (size_t i = 0; i < json_array_size(records); i++) {
        unsigned number;
        const char *text = json_string_value(json_object_get(json_array_get(records, i), "key"));
        if (sscanf(text, "/skydns/local/cluster/steady/k%u", &number) == 1) {
            assert_in_range(number, 0, STEADY - 1);
            assert_false(seen[number]);
            seen[number] = true;
            seen_count++;
        }
    }
    assert_int_equal(seen_count, STEADY);
    assert_true(changing.changes > 1);
    json_decref(json);
}

/* ---- Explanations ---- */

UNIT_TEST_ON(test_explain, struct pages *p)
{
    static const struct bed_key keys[] = {{"local/cluster/web", "{'host':'10.0.0.1'}"}};
    bed_fill(&p->bed, keys, ARRAY_LEN(keys));
    json_t *json = status_json_of(p, "/explain?name=web.cluster.local&type=AAAA");
    assert_string_equal(json_string_value(json_object_get(json, "type")), "AAAA");
    json_decref(json);
    pages_status_expect(p, "/explain?text&name=web.cluster.local", 200,
                        "web.cluster.local. A: NOERROR");
    pages_status_expect(p, "/explain", 400, "name");
    pages_status_expect(p, "/explain?name=a..b", 400, "a..b");
    pages_status_expect(p, "/explain?name=a&type=NOPE", 400, "NOPE");
}

/* ---- Metrics ---- */

static struct config_refusals status_refuse(const void *settings)
{
    assert_non_null(settings);
    return (struct config_refusals){.file = true};
}

UNIT_TEST_ON(test_metrics, struct pages *p)
{
    static const struct bed_key keys[] = {
        {"local/cluster/web", "{'host':'10.0.0.1'}"},
        {"local/cluster/db", "{'host':'10.0.0.2'}"},
        {"local/cluster/bad", "{'port':'80'}"},
    };
    static const char *const before[] = {"\nskydns_ready 0\n", "\nskydns_store_records 0\n",
                                         "\nskydns_store_versions_total 0\n"};
    static const char *const after[] = {
        "\nskydns_ready 1\n",
        "\nskydns_store_records 2\n",
        "\nskydns_store_revision 3\n",
        "\nskydns_store_versions_total 1\n",
        "\nskydns_keys_broken 1\n",
        "\nskydns_keys_skipped_total 1\n",
        "\nskydns_leases 0\n",
        "\nskydns_store_holds_old 1\n",
        "\nskydns_queries_total{transport=\"udp\",verdict=\"answered\"} 0\n",
        "\nskydns_queries_total{transport=\"tcp\",verdict=\"dropped\"} 0\n",
        "\nskydns_replies_total{transport=\"udp\",rcode=\"NXDOMAIN\"} 0\n",
        "\nskydns_truncated_total{transport=\"tcp\"} 0\n",
        "\nskydns_tcp_connections 0\n",
        "\nskydns_forwarded_total 0\n",
        "\nold_names_",
    };
    for (size_t i = 0; i < ARRAY_LEN(before); i++) {
        pages_status_expect(p, "/metrics", 200, before[i]);
    }
    bed_fill(&p->bed, keys, ARRAY_LEN(keys));
    bed_mirror_counts.is_holding_old = true;
    for (size_t i = 0; i < ARRAY_LEN(after); i++) {
        pages_status_expect(p, "/metrics", 200, after[i]);
        pages_status_expect(p, "/old/metrics", 200, after[i]);
    }
    p->sources.is_lame_duck = true;
    pages_status_expect(p, "/metrics", 200, "\nskydns_ready 0\n");
    pages_status_expect(p, "/metrics", 200, "\nskydns_config_refused{source=\"file\"} 0\n");
    p->sources.refusals = status_refuse;
    p->sources.settings = p;
    pages_status_expect(p, "/metrics", 200, "\nskydns_config_refused{source=\"etcd\"} 0\n");
    pages_status_expect(p, "/metrics", 200, "\nskydns_config_refused{source=\"file\"} 1\n");
}

/* Each count has a number of its own. */
UNIT_TEST_ON(test_metrics_of_the_cache, struct pages *p)
{
    static const char *const lines[] = {
        "\nskydns_cache_entries 0\n",
        "\nskydns_cache_bytes 0\n",
        "\nskydns_cache_hits_total{kind=\"positive\"} 11\n",
        "\nskydns_cache_hits_total{kind=\"negative\"} 2\n",
        "\nskydns_cache_hits_total{kind=\"failure\"} 3\n",
        "\nskydns_cache_hits_total{kind=\"stale\"} 4\n",
        "\nskydns_cache_misses_total 5\n",
        "\nskydns_cache_prefetches_total 6\n",
        "\nskydns_cache_evictions_total 8\n",
        "\nskydns_stub_zones 2\n",
        "\nskydns_stub_nameservers{zone=\"acme.local.\"} 3\n",
        "\nskydns_stub_nameservers{zone=\"test.\"} 0\n",
        "\nskydns_stub_nameservers_dead{zone=\"acme.local.\"} 0\n",
        "\nold_names_dns_cachemiss_count_total{cache=\"response\"} 5\n",
        "\nold_names_dns_cachemiss_count_total{cache=\"signature\"} 0\n",
    };
    static const struct forward_zone zones[] = {
        {.name = {.len = 1}},
        {.name = {.len = 12, .wire = "\4acme\5local"}, .server_count = 3},
        {.name = {.len = 6, .wire = "\4test"}},
    };
    struct cache_tally *tally = cache_tally_new();
    struct cache_counts *one = cache_tally_join(tally), *other = cache_tally_join(tally);
    struct engine_config *config = options_engine_config(&p->bed.options);
    pages_status_expect(p, "/metrics", 200, "\nskydns_stub_zones 0\n");
    counter_add(&one->hits_positive, 1);
    counter_add(&other->hits_positive, 10);
    counter_add(&one->hits_negative, 2);
    counter_add(&one->hits_failure, 3);
    counter_add(&one->hits_stale, 4);
    counter_add(&one->misses, 5);
    counter_add(&other->prefetches, 6);
    counter_add(&other->insertions, 7);
    counter_add(&other->evictions, 8);
    config->cache_tally = tally;
    zone_table_unref(config->zones_of_others);
    config->zones_of_others = zone_table_new(zones, ARRAY_LEN(zones), NULL);
    publisher_configure(p->bed.publisher, config);
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        pages_status_expect(p, "/old/metrics", 200, lines[i]);
    }
    publisher_configure(p->bed.publisher, options_engine_config(&p->bed.options));
    cache_tally_free(tally);
}

static int64_t status_certificate_ends(const void *certificate)
{
    assert_string_equal(certificate, "certificate");
    return 1900000000;
}

static void expect_none(struct pages *p, const char *target, const char *part)
{
    CLEANUP(asked_page_fini) struct asked_page asked = http_ask(p->bed.loop, &p->address, target);
    assert_that(!strstr(asked.page.body, part), "%s has %s: %s", target, part, asked.page.body);
}

/* Transports are there if they have a listener. */
UNIT_TEST_ON(test_metrics_of_streams, struct pages *p)
{
    static const char *const always[] = {"\nskydns_connections{transport=\"tcp\"} 0\n"};
    static const char *const only_with_streams[] = {
        "\nskydns_connections{transport=\"tls\"} 3\n",
        "\nskydns_connections{transport=\"http\"} 0\n",
        "\nskydns_queries_total{transport=\"tls\",verdict=\"answered\"} 5\n",
        "\nskydns_replies_total{transport=\"tls\",rcode=\"NXDOMAIN\"} 4\n",
        "\nskydns_truncated_total{transport=\"http\"} 0\n",
        "\nskydns_stream_evictions_total 6\n",
        "\nskydns_tls_handshakes_total{result=\"full\"} 7\n",
        "\nskydns_tls_handshakes_total{result=\"resumed\"} 8\n",
        "\nskydns_tls_handshakes_total{result=\"failed\"} 9\n",
        "\nskydns_tls_certificate_expiry_seconds 1900000000\n",
    };
    static const bool is_heard[ENGINE_TRANSPORTS] = {[ENGINE_TLS] = true, [ENGINE_HTTP] = true};
    static struct engine_counts engine;
    static struct streams_counts counts = {.engine = &engine};
    for (size_t i = 0; i < ARRAY_LEN(always); i++) {
        pages_status_expect(p, "/metrics", 200, always[i]);
    }
    expect_none(p, "/metrics", "skydns_tls_");
    expect_none(p, "/metrics", "transport=\"tls\"");
    expect_none(p, "/metrics", "stream_evictions");
    counter_set(&counts.connections[ENGINE_TLS], 3);
    counter_set(&counts.queries[ENGINE_TLS].answered, 5);
    counter_set(&counts.queries[ENGINE_TLS].not_allowed, 2);
    counter_set(&counts.queries[ENGINE_TLS].rcodes[DNS_RCODE_NXDOMAIN], 4);
    counter_set(&counts.evictions, 6);
    counter_set(&counts.handshakes_full, 7);
    counter_set(&counts.handshakes_resumed, 8);
    counter_set(&counts.handshakes_failed, 9);
    counter_set(&engine.path_answers, 10);
    p->sources.streams = (struct metrics_streams){.counts = &counts, .is_heard = is_heard};
    p->sources.certificate_ends = status_certificate_ends;
    p->sources.certificate = "certificate";
    for (size_t i = 0; i < ARRAY_LEN(only_with_streams); i++) {
        pages_status_expect(p, "/metrics", 200, only_with_streams[i]);
    }
    pages_status_expect(p, "/metrics", 200, always[0]);
    pages_status_expect(p, "/metrics", 200, "\nskydns_not_allowed_total 2\n");
    pages_status_expect(p, "/metrics", 200, "\nskydns_autopath_answers_total 10\n");
    expect_none(p, "/metrics", "transport=\"https\"");
    expect_none(p, "/metrics", "transport=\"grpc\"");
}

/* One made by each of two keys, of which one signs the rest; then given again. */
static void sign_twice(struct dnssec *dnssec)
{
    static const struct slice address = {"\300\0\2\1", 4};
    const struct dnssec_zone *zone = dnssec_zone_at(dnssec, 0);
    struct dnssec_rrset rrset = {.owner = slice_of(zone->name.wire, zone->name.len),
                                 .type = DNS_TYPE_A,
                                 .ttl_s = 30,
                                 .count = 1,
                                 .rdata = &address};
    struct dnssec_signature signatures[DNSSEC_ZONE_KEYS_MAX];
    size_t count;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            dnssec_sign(dnssec, zone, &rrset, clock_wall_s(), true, signatures, &count),
            DNSSEC_SIGNED);
        assert_int_equal(count, 1);
    }
    rrset.ttl_s = 60;
    assert_int_equal(dnssec_sign(dnssec, zone, &rrset, clock_wall_s(), true, signatures, &count),
                     DNSSEC_SIGNED);
}

static struct config_refusals refuse_two_keys(const void *settings)
{
    assert_string_equal(settings, "settings");
    return (struct config_refusals){.unusable_keys = 2};
}

/* Only if something is signed; but keys that keep it from being signed are told. */
UNIT_TEST_ON(test_metrics_of_dnssec, struct pages *p)
{
    static const char *const lines[] = {
        "\nskydns_dnssec_signatures_total{result=\"made\"} 2\n",
        "\nskydns_dnssec_signatures_total{result=\"reused\"} 1\n",
        "\nskydns_dnssec_signatures_total{result=\"failed\"} 0\n",
        "\nskydns_dnssec_signatures 2\n",
        "\nskydns_dnssec_signatures_max 100\n",
        " counter\nskydns_dnssec_signing_seconds_total ",
        "\nskydns_dnssec_deferred_total 0\n",
        "\nskydns_dnssec_refused_total 0\n",
        "\nskydns_dnssec_key_files_unusable 2\n",
        "\nold_names_dns_cachemiss_count_total{cache=\"signature\"} 2\n",
    };
    struct signing_key *keys[] = {sample_key_new(SAMPLE_ECDSAP256_KSK),
                                  sample_key_new(SAMPLE_ED25519)};
    char line[128];
    struct engine_config *config = options_engine_config(&p->bed.options);
    struct err err;
    expect_none(p, "/metrics", "dnssec_");
    assert_int_equal(dnssec_new(keys, ARRAY_LEN(keys), 100, &config->dnssec, &err), 0);
    sign_twice(config->dnssec);
    publisher_configure(p->bed.publisher, config);
    p->sources.refusals = refuse_two_keys;
    p->sources.settings = "settings";
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        pages_status_expect(p, "/old/metrics", 200, lines[i]);
    }
    expect_none(p, "/metrics", "\nskydns_dnssec_first_end_seconds 0\n");
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        (void)snprintf(line, sizeof(line),
                       "\nskydns_dnssec_keys{zone=\"cluster.local.\",tag=\"%u\",algorithm=\"%u\"} "
                       "1\n",
                       keys[i]->tag, keys[i]->algorithm);
        pages_status_expect(p, "/metrics", 200, line);
    }
    publisher_configure(p->bed.publisher, options_engine_config(&p->bed.options));
    pages_status_expect(p, "/metrics", 200, "\nskydns_dnssec_key_files_unusable 2\n");
    expect_none(p, "/metrics", "dnssec_keys");
}

/* ---- /live ---- */

static json_t *figures_of(struct pages *p)
{
    json_error_t error;
    CLEANUP_BUF struct buf line = buf_of(256 * 1024);
    static const struct top_names top;
    live_figures_write(&p->sources, &top, &line);
    assert_null(strchr(buf_cstr(&line), '\n'));
    json_t *figures = json_loads(buf_cstr(&line), JSON_REJECT_DUPLICATES, &error);
    assert_that(figures, "%s in %s", error.text, buf_cstr(&line));
    return figures;
}

/* Nothing is claimed that is not known: no nameserver is up before it was asked. */
UNIT_TEST_ON(test_live_figures, struct pages *p)
{
    char *reason, *server, *server_state, *domain;
    int is_ready, is_connected, size;
    json_int_t udp, revision, records, more;
    json_t *figures = figures_of(p);
    assert_int_equal(json_unpack(figures, "{s:b,s:s,s:[s],s:{s:b},s:{s:I}}", "ready", &is_ready,
                                 "reason", &reason, "domains", &domain, "etcd", "connected",
                                 &is_connected, "queries", "udp", &udp),
                     0);
    assert_false(is_ready);
    assert_false(is_connected);
    assert_non_null(strstr(reason, "etcd has not been read yet"));
    assert_string_equal(domain, "cluster.local.");
    assert_int_equal(udp, 0);
    assert_int_equal(json_array_size(json_object_get(figures, "nameservers")), 0);
    json_t *counts =
        json_object_get(json_object_get(json_object_get(figures, "latency"), "udp"), "counts");
    size = (int)json_array_size(counts);
    assert_int_equal(size, query_reply_scale.bound_count + 1);
    json_decref(figures);
    const struct bed_key key = {"local/cluster/svc/ns/web", "{'host':'10.0.0.1'}"};
    bed_fill(&p->bed, &key, 1);
    figures = figures_of(p);
    assert_int_equal(json_unpack(figures, "{s:b,s:{s:I},s:I}", "ready", &is_ready, "etcd",
                                 "revision", &revision, "records", &records),
                     0);
    assert_true(is_ready);
    assert_int_equal(records, 1);
    assert_true(revision > 0);
    json_decref(figures);
    struct forward_zone zones[5] = {{.name = {.len = 1}, .server_count = 1}};
    zones[0].servers[0] = nameserver_at(loopback_addr(10253));
    for (size_t i = 1; i < ARRAY_LEN(zones); i++) {
        char name[] = {'a' + (char)i, '.', '\0'};
        assert_true(dname_from_text(slice_str(name), &zones[i].name));
        zones[i].server_count = ZONE_SERVERS_MAX;
        for (unsigned j = 0; j < ZONE_SERVERS_MAX; j++) {
            zones[i].servers[j] = nameserver_at(loopback_addr(10253 + j));
        }
    }
    struct engine_config *config = options_engine_config(&p->bed.options);
    zone_table_unref(config->zones_of_others);
    config->zones_of_others = zone_table_new(zones, ARRAY_LEN(zones), NULL);
    publisher_configure(p->bed.publisher, config);
    figures = figures_of(p);
    assert_int_equal(json_unpack(figures, "{s:[{s:s,s:s,s:s}],s:I}", "nameservers", "zone", &domain,
                                 "address", &server, "state", &server_state, "nameservers_more",
                                 &more),
                     0);
    assert_string_equal(domain, ".");
    assert_string_equal(server, "127.0.0.1:10253");
    assert_string_equal(server_state, "unknown");
    assert_int_equal(json_array_size(json_object_get(figures, "nameservers")), 64);
    assert_int_equal(more, 1);
    json_decref(figures);
}
