/* missing_page.h: the JSON of /missing, with names, aliases and upstreams, each field; what is
 * refused. The clock, and the resolver's counts, are the test's own. */
#include "tests/unit/skydns/pages/pages_bed.h"

#include <jansson.h>

#include "common/base/clock.h"
#include "common/dns/dns.h"
#include "skydns/pages/metrics_table.h"
#include "skydns/pages/missing_list_internal.h"
#include "skydns/pages/missing_names.h"
#include "skydns/pages/missing_page.h"
#include "skydns/resolver/resolver.h"
#include "skydns/tap/query_tap.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"

enum { MISSING_PAGE_MAX = 1 << 20, MONOTONIC_MS = 7200000 };

static const int64_t wall_start_ms = INT64_C(1700000000000);

static const struct bed_key cluster[] = {
    {"local/cluster/svc/prod/web/c1", "{'host':'10.0.0.1'}"},
    {"local/cluster/svc/prod/old/c1", "{'host':'10.0.0.2'}"},
    {"local/cluster/svc/prod/billing", "{'host':'billing.example.com.'}"},
};

/* ---- What the page asks others ---- */

static int64_t passed_ms;

int64_t clock_monotonic_ms(void)
{
    return MONOTONIC_MS + passed_ms;
}

int64_t clock_monotonic_us(void)
{
    return clock_monotonic_ms() * 1000;
}

int64_t clock_wall_ms(void)
{
    return wall_start_ms + passed_ms;
}

int64_t clock_wall_s(void)
{
    return clock_wall_ms() / 1000;
}

int64_t clock_wall_ns(void)
{
    return clock_wall_ms() * 1000000;
}

struct resolver {
    struct resolver_counts counts;
    struct upstream_figures figures;
};

const struct resolver_counts *resolver_counts(const struct resolver *resolver)
{
    return &resolver->counts;
}

bool resolver_zone_state(const struct resolver *resolver, uint32_t serial,
                         struct upstream_states *ret)
{
    (void)resolver;
    (void)serial;
    (void)ret;
    return false;
}

bool resolver_uncached(const struct resolver *resolver, const struct cache_key *key,
                       struct fetcher_uncached *ret)
{
    (void)resolver;
    (void)key;
    (void)ret;
    return false;
}

/* ---- The bed ---- */

struct missing_page_bed {
    struct pages_bed pages;
    struct name_samples *samples;
    struct query_tap tap;
    struct resolver *resolver;
    struct metrics_sources sources;
    struct missing_page page;
};

static void missing_page_start(struct missing_page_bed *bed)
{
    passed_ms = 0;
    bed_start(&bed->pages, "-schema=kubernetes");
    bed_fill(&bed->pages, cluster, ARRAY_LEN(cluster));
    bed->samples = name_samples_new(MISSING_SAMPLES_MAX);
    query_tap_init(&bed->tap, NULL, bed->samples, NULL);
    bed->resolver = xcalloc(1, sizeof(*bed->resolver));
    bed->resolver->counts.upstreams = &bed->resolver->figures;
    bed->sources = (struct metrics_sources){.publisher = bed->pages.publisher,
                                            .sync = bed->pages.sync,
                                            .explainer = bed->pages.explainer,
                                            .resolver = bed->resolver,
                                            .tap = &bed->tap};
    bed->page = (struct missing_page){.sources = &bed->sources,
                                      .names = missing_names_new(bed->pages.loop, &bed->sources)};
}

static void missing_page_stop(struct missing_page_bed *bed)
{
    missing_names_free(bed->page.names);
    name_samples_free(bed->samples);
    free(bed->resolver);
    bed_stop(&bed->pages);
}

UNIT_FIXTURE(struct missing_page_bed, missing_page_start, missing_page_stop)

/* Puts twenty samples of a denial. */
static void missing_page_put(struct missing_page_bed *bed, const char *text, uint16_t type)
{
    static const struct addr client;
    uint8_t bytes[512] = {0};
    struct dname name = dname_from(text);
    memcpy(bytes + DNS_HEADER_SIZE, name.wire, name.len);
    bytes[DNS_HEADER_SIZE + name.len + 1] = (uint8_t)type;
    const struct engine_query query = {.client = &client};
    const struct response response = {.bytes = bytes, .len = 64, .name_len = name.len};
    const struct query_seen seen = {.query = &query, .response = &response};
    for (unsigned i = 0; i < 20; i++) {
        name_samples_put(bed->samples, &seen);
    }
}

static struct http_reply missing_page_ask(struct missing_page_bed *bed, const char *method)
{
    const struct http_route route = missing_page_route(&bed->page);
    const struct http_request request = {.method = method, .path = route.path};
    struct http_reply reply = {.status = 200};
    assert_string_equal(route.path, "/missing");
    buf_init(&reply.body, 1024);
    route.handler(route.data, &request, &reply);
    return reply;
}

static void missing_page_drop(struct http_reply *reply)
{
    if (reply->stream.end) {
        reply->stream.end(reply->stream.data);
    }
    buf_fini(&reply->body);
}

/* The caller owns the result. */
static json_t *missing_page_read(struct missing_page_bed *bed)
{
    struct http_reply reply = missing_page_ask(bed, "GET");
    json_error_t error;
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply.content_type, "application/json");
    CLEANUP_BUF struct buf page = buf_of(MISSING_PAGE_MAX);
    while (reply.stream.more(reply.stream.data, &page)) {
    }
    missing_page_drop(&reply);
    json_t *json = json_loads(buf_cstr(&page), JSON_REJECT_DUPLICATES, &error);
    assert_that(json, "%s: %s", error.text, buf_cstr(&page));
    return json;
}

/* Fails unless the field has this value, in which ' stands for ". */
static void missing_page_expect(const json_t *page, const char *field, const char *wanted)
{
    char text[2048];
    assert_in_range(snprintf(text, sizeof(text), "%s", wanted), 1, sizeof(text) - 1);
    for (char *p = text; *p; p++) {
        *p = *p == '\'' ? '"' : *p;
    }
    CLEANUP_FREE char *is =
        json_dumps(json_object_get(page, field), JSON_COMPACT | JSON_ENCODE_ANY);
    assert_non_null(is);
    assert_string_equal(is, text);
}

/* ---- Names and aliases ---- */

UNIT_TEST_ON(test_fields_of_names, struct missing_page_bed *bed)
{
    passed_ms = 5000;
    bed_del(&bed->pages, "local/cluster/svc/prod/old/c1");
    passed_ms = 65000;
    missing_page_put(bed, "WBE.prod.svc.cluster.local", DNS_TYPE_AAAA);
    missing_page_put(bed, "queue.analytics.svc.cluster.local", DNS_TYPE_A);
    missing_page_put(bed, "old.prod.svc.cluster.local", DNS_TYPE_A);
    missing_page_put(bed, "old.prod.svc.cluster.local", DNS_TYPE_A);
    missing_page_put(bed, "web.prod.svc.cluster.local.cluster.local", DNS_TYPE_A);
    json_t *page = missing_page_read(bed);
    missing_page_expect(page, "span_s", "65");
    missing_page_expect(page, "sampled", "16");
    missing_page_expect(page, "names",
                        "[{'name':'old.prod.svc.cluster.local.','type':'A','queries':640,"
                        "'why':'deleted','deleted':{'name':'old.prod.svc.cluster.local.',"
                        "'time_ms':1700000005000,'service':'prod/old','address':'10.0.0.2'}},"
                        "{'name':'wbe.prod.svc.cluster.local.','type':'AAAA',"
                        "'queries':320,'why':'spelling','near':'web.prod.svc.cluster.local.'},"
                        "{'name':'queue.analytics.svc.cluster.local.','type':'A','queries':320,"
                        "'why':'unexplained'}]");
    missing_page_expect(page, "aliases", "[]");
    missing_page_expect(page, "upstreams", "[]");
    missing_page_expect(page, "expansions", "320"); /* the whole name with a domain behind it */
    missing_page_expect(page, "dropped", "0");
    json_decref(page);
}

UNIT_TEST_ON(test_fields_of_aliases, struct missing_page_bed *bed)
{
    missing_page_put(bed, "billing.prod.svc.cluster.local", DNS_TYPE_A);
    json_t *page = missing_page_read(bed);
    missing_page_expect(page, "names", "[]");
    missing_page_expect(page, "aliases",
                        "[{'name':'billing.prod.svc.cluster.local.','type':'A',"
                        "'queries':320,'target':'billing.example.com.'}]");
    json_decref(page);
}

/* Counts samples that find no room on their way here. */
UNIT_TEST_ON(test_dropped_samples, struct missing_page_bed *bed)
{
    for (unsigned i = 0; i < MISSING_SAMPLES_MAX / 20 + 1; i++) {
        missing_page_put(bed, "wbe.prod.svc.cluster.local", DNS_TYPE_A);
    }
    json_t *page = missing_page_read(bed);
    missing_page_expect(page, "dropped", "16"); /* 52 * 20 samples for 1,024 places */
    json_decref(page);
}

/* An hour later, names and expansions are no longer there, and the span is an hour. */
UNIT_TEST_ON(test_an_hour_later, struct missing_page_bed *bed)
{
    missing_page_put(bed, "wbe.prod.svc.cluster.local", DNS_TYPE_A);
    json_decref(missing_page_read(bed));
    passed_ms += MISSING_PERIODS * MISSING_PERIOD_S * 1000 + 1000;
    json_t *page = missing_page_read(bed);
    missing_page_expect(page, "names", "[]");
    missing_page_expect(page, "span_s", "3600");
    json_decref(page);
}

/* ---- Upstreams ---- */

static struct upstream_figure *missing_page_upstream(struct missing_page_bed *bed, const char *zone,
                                                     const char *server)
{
    struct nameserver parsed;
    struct err err = {0};
    struct dname name = dname_from(zone);
    assert_int_equal(nameserver_parse(server, &parsed, &err), 0);
    return upstream_figures_of(&bed->resolver->figures, &name, &parsed);
}

/* Lists upstreams with timeouts within the hour, with the counts of that hour. */
UNIT_TEST_ON(test_fields_of_upstreams, struct missing_page_bed *bed)
{
    enum { PERIOD_MS = MISSING_PERIOD_S * 1000, HOUR_MS = MISSING_PERIODS * PERIOD_MS };
    struct upstream_figure *plain = missing_page_upstream(bed, ".", "192.0.2.1:53");
    struct upstream_figure *failing = missing_page_upstream(bed, ".", "192.0.2.2:53");
    struct upstream_figure *tls = missing_page_upstream(bed, "acme.", "tls://192.0.2.3:853");
    counter_add(&plain->queries, 100);
    counter_add(&plain->failures, 7);
    counter_add(&plain->timeouts, 5);
    counter_add(&failing->queries, 50);
    counter_add(&failing->failures, 50);
    counter_add(&tls->queries, 3);
    counter_add(&tls->failures, 1);
    counter_add(&tls->timeouts, 1);
    json_t *page = missing_page_read(bed);
    missing_page_expect(
        page, "upstreams",
        "[{'zone':'.','address':'192.0.2.1:53','transport':'udp','queries':100,"
        "'failures':7,'timeouts':5},"
        "{'zone':'acme.','address':'tls://192.0.2.3:853','transport':'tls','queries':3,"
        "'failures':1,'timeouts':1}]");
    json_decref(page);
    passed_ms += HOUR_MS / 2;
    missing_names_take(bed->page.names);
    counter_add(&plain->queries, 10);
    counter_add(&plain->failures, 2);
    counter_add(&plain->timeouts, 2);
    passed_ms += HOUR_MS / 2 - PERIOD_MS; /* the last period that has them all */
    page = missing_page_read(bed);
    missing_page_expect(page, "upstreams",
                        "[{'zone':'.','address':'192.0.2.1:53','transport':'udp','queries':110,"
                        "'failures':9,'timeouts':7},"
                        "{'zone':'acme.','address':'tls://192.0.2.3:853','transport':'tls',"
                        "'queries':3,'failures':1,'timeouts':1}]");
    json_decref(page);
    passed_ms += PERIOD_MS; /* the first ones are older now, the later ones are not */
    page = missing_page_read(bed);
    missing_page_expect(page, "upstreams",
                        "[{'zone':'.','address':'192.0.2.1:53','transport':'udp','queries':10,"
                        "'failures':2,'timeouts':2}]");
    json_decref(page);
    passed_ms += HOUR_MS;
    page = missing_page_read(bed);
    missing_page_expect(page, "upstreams", "[]");
    json_decref(page);
    bed->sources.resolver = NULL; /* -no-rec */
    page = missing_page_read(bed);
    assert_null(json_object_get(page, "upstreams"));
    json_decref(page);
}

/* ---- Refusals ---- */

UNIT_TEST_ON(test_only_reads, struct missing_page_bed *bed)
{
    struct http_reply reply = missing_page_ask(bed, "POST");
    assert_int_equal(reply.status, 405);
    assert_null(reply.stream.more);
    missing_page_drop(&reply);
}

/* So many lists at once; the next one has its place when one is dropped, unread. */
UNIT_TEST_ON(test_lists_at_once, struct missing_page_bed *bed)
{
    struct http_reply replies[MISSING_LISTS_MAX];
    for (size_t i = 0; i < MISSING_LISTS_MAX; i++) {
        replies[i] = missing_page_ask(bed, "GET");
        assert_int_equal(replies[i].status, 200);
    }
    struct http_reply refused = missing_page_ask(bed, "GET");
    assert_int_equal(refused.status, 503);
    assert_null(refused.stream.more);
    assert_string_equal(buf_cstr(&refused.body),
                        "too many requests at once; expected a later one\n");
    missing_page_drop(&refused);
    missing_page_drop(&replies[0]);
    json_decref(missing_page_read(bed));
    for (size_t i = 1; i < MISSING_LISTS_MAX; i++) {
        missing_page_drop(&replies[i]);
    }
}
