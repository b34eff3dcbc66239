/* Figures of upstreams and the response cache on /metrics, after real questions to one. */
#include "tests/unit/skydns/resolver/resolver_bed.h"

#include "common/base/metrics.h"
#include "skydns/pages/metrics_parts_internal.h"

UNIT_TESTS_HAVE_THREADS

enum { PAGE_MAX = 64 * 1024, MINUTE_MS = 60000 };

static void external_configure(struct fixture *f, struct engine_config *config)
{
    const struct forward_zone zones[] = {
        {.name = {.len = 1}, .server_count = 1, .servers = {{.address = f->upstream_address}}},
        {.name = dname_from("acme.test."),
         .server_count = 1,
         .servers = {{.address = f->upstream_address}}},
    };
    struct zone_table *old = config->zones_of_others;
    config->zones_of_others = zone_table_new(zones, 2, old);
    zone_table_unref(old);
    config->cache = cache_new(1000);
    config->cache_limits = (struct cache_limits){.ttl_max_s = 3600};
    config->allows_all = true;
}

/* Asks, and answers as the upstream, with SERVFAIL if `is_failing`. Once the response is here, the
 * counts have it. */
static void external_exchange(struct fixture *f, int udp, uint16_t id, const char *name,
                              bool is_failing)
{
    const struct message q = question(id, name);
    struct addr from;
    send_udp(udp, &q);
    struct message m = receive_as_upstream(f, &from);
    if (is_failing) {
        m.wire[2] |= 0x80;
        m.wire[3] = 0x80 | SERVFAIL;
    } else {
        make_reply(&m, name);
    }
    assert_int_equal(sendto(f->upstream_udp, m.wire, m.len, 0, &from.sa, from.len), m.len);
    const struct message reply = receive_udp(udp);
    assert_int_equal(id_of(&reply), id);
    assert_int_equal(rcode_of(&reply), is_failing ? SERVFAIL : NOERROR);
}

/* A line of the page, "upstream_queries_total", with the labels of this upstream. */
static void expect_upstream(const struct fixture *f, const char *page, const char *name,
                            const char *zone, unsigned value)
{
    char line[256], address[ADDR_TEXT_MAX];
    (void)snprintf(line, sizeof(line),
                   "\nskydns_%s{zone=\"%s\",address=\"%s\",transport=\"udp\"} %u\n", name, zone,
                   addr_format(&f->upstream_address, address), value); /* fits */
    assert_that(strstr(page, line), "no %s in %s", line, page);
}

static char *external_page(const struct fixture *f, uint64_t *ret_misses)
{
    CLEANUP_BUF struct buf text = buf_of(PAGE_MAX);
    struct metrics_page page = metrics_page_begin(&text, "skydns_");
    *ret_misses = metrics_external_write(&page, publisher_newest_config(f->publisher), f->resolver);
    return xstrdup(buf_cstr(&text));
}

UNIT_TEST(test_upstreams)
{
    struct fixture *f = setup_still_with(MINUTE_MS, RESOLVER_STALE_WAIT_MS, external_configure);
    uint64_t misses;
    publish(f);
    start_threads(f);
    char *page = external_page(f, &misses);
    assert_null(strstr(page, "upstream_queries_total{"));
    assert_int_equal(misses, 0);
    free(page);
    int udp = client(f, SOCK_DGRAM);
    external_exchange(f, udp, 1, "www.test", false);
    external_exchange(f, udp, 2, "web.acme.test", false);
    external_exchange(f, udp, 3, "bad.acme.test", true);
    const struct message again = question(4, "www.test");
    send_udp(udp, &again);
    (void)receive_udp(udp); /* from the cache */
    close(udp);
    stop(f);
    page = external_page(f, &misses);
    expect_upstream(f, page, "upstream_queries_total", ".", 1);
    expect_upstream(f, page, "upstream_failures_total", ".", 0);
    expect_upstream(f, page, "upstream_seconds_count", ".", 1);
    expect_upstream(f, page, "upstream_queries_total", "acme.test.", 2);
    expect_upstream(f, page, "upstream_failures_total", "acme.test.", 1);
    expect_upstream(f, page, "upstream_seconds_count", "acme.test.", 2);
    assert_non_null(strstr(page, "\nskydns_stub_zones 1\n"));
    assert_non_null(strstr(page, "\nskydns_stub_nameservers{zone=\"acme.test.\"} 1\n"));
    assert_null(strstr(page, "zone=\"others\""));
    assert_int_equal(misses, 3);
    free(page);
    teardown(f);
}
