/* Tests what an explanation says about external names: what is cached and from whom, stub zones,
 * targets. */
#include <jansson.h>

#include "common/base/clock.h"
#include "common/base/cursor.h"
#include "common/dns/dns.h"
#include "skydns/pages/explain_page.h"
#include "tests/support/test_clock.h"
#include "tests/support/unit_test.h"

enum { MESSAGE_MAX = 512, PAGE_MAX = 65536 };

/* An explanation of www.acme.local A, and its parts. */
struct told {
    struct explanation x;
    struct forward_zone zone;
    uint8_t message[MESSAGE_MAX];
    struct explain_external target;
    struct buf page;
};

static const struct dname www = {.len = 16, .wire = "\3www\4acme\5local"};

static struct addr explain_page_external_server(uint8_t last)
{
    const struct ip ip = {.family_bytes = 4, .bytes = {192, 0, 2, last}};
    return addr_of_ip(&ip, 53);
}

/* A CNAME, an address and an SOA, with names as the cache has them. */
static void explain_page_external_write_records(struct told *t)
{
    struct writer w = writer_of(t->message, sizeof(t->message));
    (void)writer_take(&w, DNS_HEADER_SIZE);
    writer_bytes(&w, www.wire, www.len);
    writer_u32(&w, DNS_TYPE_A << 16 | DNS_CLASS_IN);
    t->x.records_at = w.pos;
    writer_bytes(&w, "\xc0\x0c\0\5\0\1\0\0\1\x22\0\4\1x\xc0\x10", 16);
    writer_bytes(&w, "\1x\xc0\x10\0\1\0\1\0\0\0\x0a\0\4\x0a\0\0\1", 18);
    writer_bytes(&w,
                 "\xc0\x10\0\6\0\1\0\0\0\x1e\0\x1d\1n\xc0\x10\1h\xc0\x10"
                 "\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5",
                 40);
    assert_false(w.failed);
    t->x.message = t->message;
    t->x.message_len = w.pos;
    t->message[t->x.records_at + 34 + 11] = 28; /* of the SOA's data */
}

static void explain_page_external_setup(struct told *t)
{
    t->x.asked = www;
    t->x.question = (struct question){.name = www, .type = DNS_TYPE_A, .qclass = DNS_CLASS_IN};
    t->zone = (struct forward_zone){.name = {.len = 12, .wire = "\4acme\5local"},
                                    .origin = ZONE_FROM_KEYS,
                                    .server_count = 2,
                                    .servers = {{.address = explain_page_external_server(1)},
                                                {.address = explain_page_external_server(2)}}};
    t->x.external =
        (struct explain_external){.source = EXPLAIN_FROM_CACHE,
                                  .zone = &t->zone,
                                  .ttl_s = 290,
                                  .cached = {.state = CACHE_FRESH,
                                             .answers = 2,
                                             .authorities = 1,
                                             .cached_s = 70,
                                             .left_s = 290,
                                             .nameserver = explain_page_external_server(2)}};
    explain_page_external_write_records(t);
    buf_init(&t->page, PAGE_MAX);
}

static void explain_page_external_teardown(struct told *t)
{
    buf_fini(&t->page);
}

UNIT_FIXTURE(struct told, explain_page_external_setup, explain_page_external_teardown)

static void explain_page_external_expect_text(struct told *t, const char *part)
{
    buf_clear(&t->page);
    explain_page_text(&t->x, &t->page);
    assert_that(strstr(buf_cstr(&t->page), part), "`%s` is not in:\n%s", part, buf_cstr(&t->page));
}

/* The page's fields, without those that all pages have, equal this JSON with ' for ". */
static void expect_json(struct told *t, const char *want)
{
    static const char *const others[] = {"name", "type", "revision", "etcd", "names"};
    json_error_t error;
    char text[2048];
    size_t len = strlen(want);
    assert_true(len < sizeof(text));
    for (size_t i = 0; i <= len; i++) {
        text[i] = want[i] == '\'' ? '"' : want[i];
    }
    buf_clear(&t->page);
    explain_page_json(&t->x, &t->page);
    json_t *got = json_loads(buf_cstr(&t->page), JSON_REJECT_DUPLICATES, &error);
    json_t *wanted = json_loads(text, 0, &error);
    assert_non_null(got);
    assert_non_null(wanted);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        assert_int_equal(json_object_del(got, others[i]), 0);
    }
    assert_that(json_equal(got, wanted), "%s", buf_cstr(&t->page));
    json_decref(got);
    json_decref(wanted);
}

UNIT_TEST_ON(test_cached, struct told *t)
{
    explain_page_external_expect_text(t, "www.acme.local. A: NOERROR, answers: 2; etcd");
    explain_page_external_expect_text(
        t, "\ncached     for 1 m 10 s, from 192.0.2.2:53; expires in 4 m 50 s\n"
           "answer     www.acme.local. 290 CNAME x.acme.local.\n"
           "           x.acme.local. 10 A 10.0.0.1\n"
           "authority  acme.local. 30 SOA n.acme.local. h.acme.local. 1 2 3 4 5\n"
           "stub zone  acme.local., from the keys in etcd\n"
           "upstream   192.0.2.1:53, not queried yet\n           192.0.2.2:53, not queried yet\n");
    expect_json(t, "{'status':'NOERROR','source':'cache','nameserver':'192.0.2.2:53','kept_s':70,"
                   "'ttl_s':290,'kept':'fresh','zone':'acme.local.','zone_from':'etcd',"
                   "'nameservers':[{'address':'192.0.2.1:53','state':'ok','asked':false},{'address'"
                   ":'192.0.2.2:"
                   "53','state':'ok','asked':false}],"
                   "'answer':['www.acme.local. 290 CNAME x.acme.local.',"
                   "'x.acme.local. 10 A 10.0.0.1'],'authority':["
                   "'acme.local. 30 SOA n.acme.local. h.acme.local. 1 2 3 4 5']}");
}

UNIT_TEST_ON(test_cached_denial, struct told *t)
{
    t->x.external.cached.is_negative = true;
    t->x.external.cached.rcode = DNS_RCODE_NXDOMAIN;
    t->x.external.cached.answers = 0;
    t->x.records_at += 34; /* the SOA alone */
    t->zone.origin = ZONE_FROM_FLAG;
    explain_page_external_expect_text(t, "A: NXDOMAIN; etcd");
    explain_page_external_expect_text(t, "\ncached     NXDOMAIN or NODATA, for 1 m 10 s, from");
    explain_page_external_expect_text(t, "\nauthority  acme.local. 30 SOA ");
    explain_page_external_expect_text(t, "acme.local., from the flag\n");
    expect_json(t, "{'status':'NXDOMAIN','source':'cache','nameserver':'192.0.2.2:53','kept_s':70,"
                   "'ttl_s':290,'kept':'fresh','zone':'acme.local.','zone_from':'flag',"
                   "'nameservers':[{'address':'192.0.2.1:53','state':'ok','asked':false},{'address'"
                   ":'192.0.2.2:"
                   "53','state':'ok','asked':false}],"
                   "'authority':['acme.local. 30 SOA n.acme.local. h.acme.local. 1 2 3 4 5']}");
}

/* Expired: nameservers come first, unless they are known to fail. */
UNIT_TEST_ON(test_expired, struct told *t)
{
    t->x.external.cached.state = CACHE_STALE;
    t->x.external.cached.left_s = 0;
    t->x.external.source = EXPLAIN_FROM_STUB;
    t->x.message_len = t->x.records_at; /* not looked at here */
    t->x.external.cached.answers = t->x.external.cached.authorities = 0;
    explain_page_external_expect_text(t, "A: not from here; etcd");
    explain_page_external_expect_text(t, "; expired, and used if upstreams fail\n");
    expect_json(t, "{'status':'not from here','source':'stub','nameserver':'192.0.2.1:53',"
                   "'kept_s':70,'kept':'stale','zone':'acme.local.','zone_from':'etcd',"
                   "'nameservers':[{'address':'192.0.2.1:53','state':'ok','asked':false},{'address'"
                   ":'192.0.2.2:"
                   "53','state':'ok','asked':false}]}");
    t->x.external.source = EXPLAIN_FROM_CACHE;
    t->x.external.cached.is_failing = true;
    t->x.external.ttl_s = CACHE_STALE_TTL_S;
    explain_page_external_expect_text(t, "A: NOERROR; etcd");
    explain_page_external_expect_text(t, "; expired, and used because upstreams fail\n");
    expect_json(t, "{'status':'NOERROR','source':'cache','nameserver':'192.0.2.2:53','ttl_s':30,"
                   "'kept_s':70,'kept':'stale','failing':true,'zone':'acme.local.',"
                   "'zone_from':'etcd',"
                   "'nameservers':[{'address':'192.0.2.1:53','state':'ok','asked':false},{'address'"
                   ":'192.0.2.2:"
                   "53','state':'ok','asked':false}]}");
}

UNIT_TEST_ON(test_failed, struct told *t)
{
    t->x.external = (struct explain_external){
        .source = EXPLAIN_FROM_CACHE, .cached = {.state = CACHE_FAILED}, .ttl_s = 0};
    explain_page_external_expect_text(t, "A: SERVFAIL; etcd");
    explain_page_external_expect_text(t, "\ncached     the query has just failed");
    expect_json(t, "{'status':'SERVFAIL','source':'cache','ttl_s':0,'failing':true}");
}

/* The general nameservers are no stub zone, and a zone may have none that can be used. */
UNIT_TEST_ON(test_not_cached, struct told *t)
{
    t->x.external.cached = (struct cache_hit){.state = CACHE_MISS};
    t->x.external.source = EXPLAIN_FROM_NAMESERVER;
    t->zone.name = (struct dname){.len = 1};
    t->zone.server_count = 1;
    explain_page_external_expect_text(t, "\nupstream   192.0.2.1:53, not queried yet\n");
    assert_null(strstr(buf_cstr(&t->page), "zone"));
    expect_json(t, "{'status':'not from here','source':'nameserver','nameserver':'192.0.2.1:53',"
                   "'nameservers':[{'address':'192.0.2.1:53','state':'ok','asked':false}]}");
    t->zone.server_count = 0;
    expect_json(t, "{'status':'not from here','source':'nameserver'}");
}

UNIT_TEST_ON(test_states_of_nameservers, struct told *t)
{
    t->x.external.cached = (struct cache_hit){.state = CACHE_MISS};
    t->x.external.source = EXPLAIN_FROM_STUB;
    t->x.external.states.dead = 1;
    explain_page_external_expect_text(t, "\nupstream   192.0.2.1:53, does not respond\n           "
                                         "192.0.2.2:53, not queried yet\n");
    expect_json(t, "{'status':'not from here','source':'stub','nameserver':'192.0.2.2:53',"
                   "'zone':'acme.local.','zone_from':'etcd',"
                   "'nameservers':[{'address':'192.0.2.1:53','state':'dead','asked':false},"
                   "{'address':'192.0.2.2:53','state':'ok','asked':false}]}");
    t->x.external.states.looping = 2;
    explain_page_external_expect_text(t, "\n           192.0.2.2:53, leads back here\n");
    expect_json(t, "{'status':'not from here','source':'stub','nameserver':'192.0.2.1:53',"
                   "'zone':'acme.local.','zone_from':'etcd',"
                   "'nameservers':[{'address':'192.0.2.1:53','state':'dead','asked':false},"
                   "{'address':'192.0.2.2:53','state':'looping','asked':false}]}");
    t->x.external.states.looping = 3;
    struct nameserver none;
    assert_false(explain_external_nameserver(&t->x.external, &none));
}

/* Monotonic seconds, counted from 1 on. */
static uint32_t ago_s(uint32_t s)
{
    return (uint32_t)(clock_monotonic_ms() / 1000) + 1 - s;
}

UNIT_TEST_ON(test_times_of_nameservers, struct told *t)
{
    struct upstream_states *states = &t->x.external.states;
    test_clock_stop();
    test_clock_advance_ms(10000000);
    t->x.external.cached = (struct cache_hit){.state = CACHE_MISS};
    t->x.external.source = EXPLAIN_FROM_STUB;
    states->asked = 3;
    states->dead = 1;
    states->turned_s[0] = ago_s(7200);
    states->failed_s[0] = states->failed_s[1] = ago_s(3600);
    explain_page_external_expect_text(t,
                                      "\nupstream   192.0.2.1:53, does not respond (for 2 h 0 m), "
                                      "last failed 1 h 0 m ago\n"
                                      "           192.0.2.2:53, up, last failed 1 h 0 m ago\n");
    explain_page_json(&t->x, &t->page);
    assert_non_null(strstr(buf_cstr(&t->page), "\"state\":\"dead\",\"asked\":true,\"since_s\":72"));
    assert_non_null(strstr(buf_cstr(&t->page), "\"state\":\"ok\",\"asked\":true,\"failed_s\":36"));
    test_clock_run();
}

UNIT_TEST_ON(test_why_it_is_not_cached, struct told *t)
{
    t->x.external = (struct explain_external){
        .source = EXPLAIN_FROM_NAMESERVER,
        .cached = {.state = CACHE_MISS},
        .has_uncached = true,
        .uncached = {.verdict = CACHE_NO_TIME,
                     .at_ms = clock_monotonic_ms() - 5500,
                     .nameserver = explain_page_external_server(1)},
    };
    test_clock_stop();
    explain_page_external_expect_text(
        t, "\nnot cached the last response, 5 s ago from 192.0.2.1:53: a TTL of it is 0\n");
    expect_json(t, "{'status':'not from here','source':'nameserver','not_kept':{'reason':'no-time',"
                   "'ago_s':5,'nameserver':'192.0.2.1:53'}}");
    test_clock_run();
}

UNIT_TEST_ON(test_targets, struct told *t)
{
    t->target = t->x.external;
    t->target.question = (struct external_question){www, DNS_TYPE_A};
    t->x.external = (struct explain_external){.source = EXPLAIN_FROM_HERE};
    t->x.externals = &t->target;
    t->x.external_count = 1;
    explain_page_external_expect_text(
        t, "\nexternal   www.acme.local. A: cached for 1 m 10 s, from 192.0.2.2:53; expires "
           "in 4 m 50 s\n");
    expect_json(t, "{'status':'not from here','external':['www.acme.local. A'],'targets':[{"
                   "'name':'www.acme.local.','type':'A','source':'cache',"
                   "'nameserver':'192.0.2.2:53','ttl_s':290,'kept_s':70,'kept':'fresh'}]}");
    t->target.cached.state = CACHE_MISS;
    t->target.source = EXPLAIN_FROM_STUB;
    explain_page_external_expect_text(
        t, "\nexternal   www.acme.local. A: an upstream is queried; SERVFAIL if none responds");
    t->x.question.type = DNS_TYPE_SRV;
    explain_page_external_expect_text(t,
                                      "\nexternal   www.acme.local. A: an upstream is queried\n");
    expect_json(t, "{'status':'not from here','external':['www.acme.local. A'],'targets':[{"
                   "'name':'www.acme.local.','type':'A','source':'stub',"
                   "'nameserver':'192.0.2.1:53'}]}");
}
