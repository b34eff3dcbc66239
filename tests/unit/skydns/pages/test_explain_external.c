/* explain.h on names of other domains: where the answer would come from, and what is kept. Reading
 * the cache to explain it changes and counts nothing. */
#include "tests/unit/skydns/pages/pages_bed.h"

#include "common/base/clock.h"
#include "common/base/cursor.h"
#include "skydns/external/cache_counts.h"
#include "skydns/external/hosts_table.h"
#include "skydns/external/zone_table.h"
#include "skydns/pages/explain_page.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/skydns/hosts_table_of.h"
#include "tests/support/skydns/response_bytes.h"
#include "tests/support/test_clock.h"
#include "tests/support/unit_test.h"

enum { TTL_S = 300, REPLY_MAX = 512, PAGE_MAX = 65536 };

static const char servers[] =
    "-nameservers=192.0.2.1:53 -stub=acme.local=192.0.2.2 -stub=x.cluster.local=192.0.2.3:5353";

static const struct bed_key keys[] = {
    {"local/cluster/web", "{'host':'10.0.0.1'}"},
    {"local/cluster/ext", "{'host':'db.example.com.'}"},
    {"local/cluster/x/below", "{'host':'10.0.0.2'}"},
};

struct told {
    struct pages_bed bed;
    struct engine_config *config; /* in force; owned by the bed's publisher */
    struct cache_tally *tally;
};

/* Publishes what main does: the flags' zones, and a cache. */
static void explain_external_publish(struct told *t, struct hosts_table *hosts)
{
    struct forward_zone zones[3] = {{.name = {.len = 1}, .server_count = 1}};
    struct err err;
    assert_int_equal(addr_parse("192.0.2.1:53", &zones[0].servers[0].address, &err), 0);
    zones[1] = (struct forward_zone){
        .name = dname_from("acme.local"), .origin = ZONE_FROM_FLAG, .server_count = 1};
    assert_int_equal(addr_parse("192.0.2.2:53", &zones[1].servers[0].address, &err), 0);
    zones[2] = (struct forward_zone){.name = dname_from("x.cluster.local")};
    t->config = options_engine_config(&t->bed.options);
    t->config->zones_of_others = zone_table_new(zones, ARRAY_LEN(zones), NULL);
    t->config->cache = cache_new(100);
    t->config->cache_limits = (struct cache_limits){.ttl_max_s = 3600, .stale_ms = 3600000};
    t->config->cache_tally = t->tally;
    t->config->hosts = hosts;
    publisher_configure(t->bed.publisher, t->config);
}

static void explain_external_setup(struct told *t)
{
    t->tally = cache_tally_new();
    bed_start(&t->bed, servers);
    bed_fill(&t->bed, keys, ARRAY_LEN(keys));
    explain_external_publish(t, NULL);
    test_clock_stop();
}

static void explain_external_teardown(struct told *t)
{
    struct cache_counts sums;
    cache_tally_sum(t->tally, &sums);
    assert_int_equal(counter_get(&sums.hits_positive) + counter_get(&sums.hits_negative) +
                         counter_get(&sums.hits_failure) + counter_get(&sums.hits_stale) +
                         counter_get(&sums.misses),
                     0);
    test_clock_run();
    bed_stop(&t->bed);
    cache_tally_free(t->tally);
}

UNIT_FIXTURE(struct told, explain_external_setup, explain_external_teardown)

static struct cache_key key_of(const struct told *t, const char *text)
{
    struct dname name = dname_from(text);
    return (struct cache_key){
        .name = name,
        .type = DNS_TYPE_A,
        .qclass = DNS_CLASS_IN,
        .zone_serial = zone_table_find(t->config->zones_of_others, &name)->serial,
    };
}

/* Keeps an address for the name. */
static void explain_external_keep(struct told *t, const char *text, uint8_t from)
{
    const struct cache_key key = key_of(t, text);
    const struct ip ip = {.family_bytes = 4, .bytes = {192, 0, 2, from}};
    const struct addr server = addr_of_ip(&ip, 53);
    uint8_t reply[REPLY_MAX];
    struct writer w = writer_of(reply, sizeof(reply));
    writer_bytes(&w, "\0\0\x81\x80\0\1\0\1\0\0\0\0", DNS_HEADER_SIZE);
    writer_bytes(&w, key.name.wire, key.name.len);
    writer_u32(&w, DNS_TYPE_A << 16 | DNS_CLASS_IN);
    writer_u16(&w, 0xc00c);
    writer_u32(&w, DNS_TYPE_A << 16 | DNS_CLASS_IN);
    writer_u32(&w, TTL_S);
    writer_bytes(&w, "\0\4\xc6\x33\x64\7", 6);
    assert_false(w.failed);
    assert_int_equal(cache_put_bytes(t->config->cache, &key, reply, w.pos, &server,
                                     &t->config->cache_limits, clock_monotonic_ms()),
                     CACHE_HIT);
}

static void expect_page(const struct explanation *x, const char *part)
{
    CLEANUP_BUF struct buf page = buf_of(PAGE_MAX);
    explain_page_text(x, &page);
    assert_that(strstr(buf_cstr(&page), part), "`%s` is not in:\n%s", part, buf_cstr(&page));
}

static void expect_nameserver(const struct explain_external *x, const char *want)
{
    char text[NAMESERVER_TEXT_MAX];
    struct nameserver server;
    assert_true(explain_external_nameserver(x, &server));
    assert_string_equal(nameserver_format(&server, text), want);
}

UNIT_TEST_ON(test_not_cached, struct told *t)
{
    const struct explanation *x = bed_explain(&t->bed, "WWW.example.com", "A");
    assert_int_equal(x->external.source, EXPLAIN_FROM_NAMESERVER);
    expect_nameserver(&x->external, "192.0.2.1:53");
    assert_int_equal(x->external.cached.state, CACHE_MISS);
    x = bed_explain(&t->bed, "www.acme.local", "A");
    assert_int_equal(x->external.source, EXPLAIN_FROM_STUB);
    expect_nameserver(&x->external, "192.0.2.2:53");
    assert_int_equal(x->name_count, 0);
    x = bed_explain(&t->bed, "web.cluster.local", "A");
    assert_int_equal(x->external.source, EXPLAIN_FROM_HERE);
    assert_int_equal(x->name_count, 1);
}

UNIT_TEST_ON(test_cached, struct told *t)
{
    explain_external_keep(t, "www.example.com", 9);
    explain_external_keep(t, "www.acme.local", 8);
    test_clock_advance_ms(10000);
    const struct explanation *x = bed_explain(&t->bed, "WWW.Example.com", "A");
    assert_int_equal(x->external.source, EXPLAIN_FROM_CACHE);
    expect_nameserver(&x->external, "192.0.2.9:53");
    assert_int_equal(x->external.cached.cached_s, 10);
    assert_int_equal(x->external.ttl_s, TTL_S - 10);
    expect_page(x, "answer     www.example.com. 290 A 198.51.100.7\n");
    assert_int_equal(bed_explain(&t->bed, "www.example.com", "AAAA")->external.source,
                     EXPLAIN_FROM_NAMESERVER);
    x = bed_explain(&t->bed, "www.acme.local", "A");
    assert_int_equal(x->external.source, EXPLAIN_FROM_CACHE);
    expect_nameserver(&x->external, "192.0.2.8:53");
    expect_page(x, "stub zone  acme.local., from the flag\n");
}

UNIT_TEST_ON(test_expired_and_failed, struct told *t)
{
    explain_external_keep(t, "www.example.com", 9);
    test_clock_advance_ms((TTL_S + 1) * 1000);
    const struct explanation *x = bed_explain(&t->bed, "www.example.com", "A");
    assert_int_equal(x->external.source, EXPLAIN_FROM_NAMESERVER);
    assert_int_equal(x->external.cached.state, CACHE_STALE);
    const struct cache_key key = key_of(t, "www.example.com"), other = key_of(t, "x.example.com");
    cache_fail(t->config->cache, &key, CACHE_PLAIN, clock_monotonic_ms());
    x = bed_explain(&t->bed, "www.example.com", "A");
    assert_int_equal(x->external.source, EXPLAIN_FROM_CACHE);
    assert_int_equal(x->external.ttl_s, CACHE_STALE_TTL_S);
    expect_page(x, "answer     www.example.com. 30 A 198.51.100.7\n");
    cache_fail(t->config->cache, &other, CACHE_PLAIN, clock_monotonic_ms());
    x = bed_explain(&t->bed, "x.example.com", "A");
    assert_int_equal(x->external.source, EXPLAIN_FROM_CACHE);
    expect_page(x, "A: SERVFAIL; ");
    assert_false(explain_external_nameserver(&x->external, &(struct nameserver){0}));
}

/* Even below a domain of ours, whose keys do not matter there. */
UNIT_TEST_ON(test_a_stub_zone_without_nameservers, struct told *t)
{
    const struct explanation *x = bed_explain(&t->bed, "below.x.cluster.local", "A");
    assert_int_equal(x->external.source, EXPLAIN_FROM_STUB);
    assert_false(explain_external_nameserver(&x->external, &(struct nameserver){0}));
    assert_int_equal(x->plan->rcode, DNS_RCODE_SERVFAIL);
    assert_int_equal(x->name_count, 0);
    expect_page(x, "\nwhy        in a stub zone without a usable upstream\n");
}

UNIT_TEST_ON(test_hosts, struct told *t)
{
    const struct hosts_entry entry = {.ip = {.family_bytes = 4, .bytes = {10, 9, 8, 7}},
                                      .name = dname_from("printer.office")};
    explain_external_publish(t, hosts_table_of(&entry, 1));
    const struct explanation *x = bed_explain(&t->bed, "Printer.Office", "A");
    assert_int_equal(x->external.source, EXPLAIN_FROM_HOSTS);
    assert_int_equal(x->external.ttl_s, HOSTS_TTL_S);
    expect_page(x, " 30 A 10.9.8.7\n");
    expect_page(x, "-hosts");
    x = bed_explain(&t->bed, "7.8.9.10.in-addr.arpa", "PTR");
    assert_int_equal(x->external.source, EXPLAIN_FROM_HOSTS);
    x = bed_explain(&t->bed, "printer.office", "TXT"); /* a nameserver's */
    assert_int_equal(x->external.source, EXPLAIN_FROM_NAMESERVER);
    assert_true(x->external.is_listed);
    expect_page(x, "which has A and AAAA");
}

UNIT_TEST_ON(test_targets, struct told *t)
{
    const struct explanation *x = bed_explain(&t->bed, "ext.cluster.local", "A");
    assert_int_equal(x->external_count, 1);
    assert_int_equal(x->externals[0].source, EXPLAIN_FROM_NAMESERVER);
    explain_external_keep(t, "db.example.com", 9);
    x = bed_explain(&t->bed, "ext.cluster.local", "A");
    assert_int_equal(x->external_count, 1);
    assert_int_equal(x->externals[0].source, EXPLAIN_FROM_CACHE);
    assert_int_equal(x->externals[0].ttl_s, TTL_S);
    expect_nameserver(&x->externals[0], "192.0.2.9:53");
}
