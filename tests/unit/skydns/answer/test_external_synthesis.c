/* -no-aaaa and DNS64: addresses and reverse names (RFC 6052 2.4's table), what an answer is worth,
 * and answers made of what is kept. */
#include <arpa/inet.h>

#include "skydns/answer/external_synthesis.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"
#include "tests/unit/skydns/answer/foreign_bed.h"

#define SOA(ttl)                                                                           \
    "\n! . " #ttl " SOA ns.dns.cluster.local. hostmaster.cluster.local. 1760702400 28800 " \
    "7200 604800 " #ttl

static struct network external_synthesis_network6(const char *address, uint8_t bits)
{
    struct ip ip = {.family_bytes = 16};
    assert_int_equal(inet_pton(AF_INET6, address, ip.bytes), 1);
    return network_of(&ip, bits);
}

static struct dns64_settings dns64_of(const char *prefix, uint8_t bits)
{
    struct dns64_settings dns64 = {.is_on = true,
                                   .prefix = external_synthesis_network6(prefix, bits)};
    dns64.excluded[dns64.excluded_count++] = external_synthesis_network6("::ffff:0:0", 96);
    return dns64;
}

/* RFC 6052 2.4 */
UNIT_TEST(test_addresses)
{
    static const struct {
        const char *prefix;
        uint8_t bits;
        const char *want;
    } rows[] = {
        {"2001:db8::", 32, "2001:db8:c000:221::"},
        {"2001:db8:100::", 40, "2001:db8:1c0:2:21::"},
        {"2001:db8:122::", 48, "2001:db8:122:c000:2:2100::"},
        {"2001:db8:122:300::", 56, "2001:db8:122:3c0:0:221::"},
        {"2001:db8:122:344::", 64, "2001:db8:122:344:c0:2:2100::"},
        {"2001:db8:122:344::", 96, "2001:db8:122:344::192.0.2.33"},
    };
    static const uint8_t ipv4[] = {192, 0, 2, 33};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct dns64_settings dns64 = dns64_of(rows[i].prefix, rows[i].bits);
        uint8_t got[16], want[16];
        assert_int_equal(inet_pton(AF_INET6, rows[i].want, want), 1);
        assert_true(synthesis_map(&dns64, slice_of(ipv4, sizeof(ipv4)), got));
        assert_memory_equal(got, want, sizeof(want));
    }
}

UNIT_TEST(test_well_known)
{
    static const struct {
        const char *ipv4;
        bool is_mapped;
    } rows[] = {{"8.8.8.8", true},       {"10.255.0.1", false},     {"11.0.0.1", true},
                {"0.0.0.1", false},      {"100.64.0.1", false},     {"100.63.255.255", true},
                {"100.128.0.0", true},   {"127.0.0.1", false},      {"169.254.1.1", false},
                {"172.15.0.1", true},    {"172.31.255.1", false},   {"192.0.0.1", false},
                {"192.0.0.170", true},   {"192.0.0.171", true},     {"192.0.0.172", false},
                {"192.0.2.1", false},    {"192.0.1.1", true},       {"192.88.99.1", false},
                {"192.168.0.1", false},  {"198.17.255.1", true},    {"198.19.255.1", false},
                {"198.51.100.9", false}, {"203.0.113.9", false},    {"223.255.255.255", true},
                {"224.0.0.1", false},    {"255.255.255.255", false}};
    const struct dns64_settings known = dns64_of("64:ff9b::", 96);
    const struct dns64_settings own = dns64_of("64:ff9b:1::", 96);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint8_t ipv4[4], ipv6[16];
        assert_int_equal(inet_pton(AF_INET, rows[i].ipv4, ipv4), 1);
        assert_that(synthesis_map(&known, slice_of(ipv4, 4), ipv6) == rows[i].is_mapped, "%s",
                    rows[i].ipv4);
        assert_true(synthesis_map(&own, slice_of(ipv4, 4), ipv6));
    }
}

UNIT_TEST(test_reverse_names)
{
    static const struct {
        const char *prefix;
        uint8_t bits;
        const char *name, *want; /* NULL: none */
    } rows[] = {
        {"64:ff9b::", 96,
         "1.2.2.0.0.0.0.c.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.b.9.f.f.4.6.0.0.ip6.arpa.",
         "33.2.0.192.in-addr.arpa."},
        {"2001:db8:100::", 40,
         "0.0.0.0.0.0.0.0.0.0.0.0.1.2.0.0.2.0.0.0.0.c.1.0.8.b.d.0.1.0.0.2.ip6.arpa.",
         "33.2.0.192.in-addr.arpa."},
        {"2001:db8:100::", 40, /* what is behind the address does not matter */
         "f.0.0.0.0.0.0.0.0.0.0.0.1.2.0.0.2.0.0.0.0.c.1.0.8.b.d.0.1.0.0.2.ip6.arpa.",
         "33.2.0.192.in-addr.arpa."},
        {"64:ff9b::", 96,
         "1.2.2.0.0.0.0.c.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.c.9.f.f.4.6.0.0.ip6.arpa.", NULL},
        {"64:ff9b::", 96, "2.2.0.0.0.0.c.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.b.9.f.f.4.6.0.0.ip6.arpa.",
         NULL},
        {"64:ff9b::", 96,
         "x.1.2.2.0.0.0.0.c.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.b.9.f.f.4.6.0.0.ip6.arpa.", NULL},
        {"64:ff9b::", 96, "33.2.0.192.in-addr.arpa.", NULL},
        {"64:ff9b::", 96, "www.test.", NULL},
    };
    CLEANUP_FREE struct engine_config *config = calloc(1, sizeof(*config));
    struct forward_zone above, at;
    struct dname got;
    assert_non_null(config);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct dname name = dname_from(rows[i].name);
        config->settings.dns64 = dns64_of(rows[i].prefix, rows[i].bits);
        assert_int_equal(synthesis_reverse(config, &name, NULL, &got), rows[i].want != NULL);
        if (rows[i].want) {
            const struct dname want = dname_from(rows[i].want);
            assert_true(dname_equal(&got, &want));
        }
    }
    bed_zone(&above, "0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.b.9.f.f.4.6.0.0.ip6.arpa.", 1);
    bed_zone(&at, "0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.b.9.f.f.4.6.0.0.ip6.arpa.", 1);
    config->settings.dns64 = dns64_of("64:ff9b::", 96);
    const struct dname name = dname_from(rows[0].name);
    assert_true(synthesis_reverse(config, &name, &above, &got));
    assert_false(synthesis_reverse(config, &name, &at, &got));
    config->settings.dns64.is_on = false;
    assert_false(synthesis_reverse(config, &name, NULL, &got));
}

/* ---- Answers ---- */

static struct external_bed external_synthesis_setup(void)
{
    static const struct fixture_key keys[] = {
        {"local/cluster/ext", "{'host':'www.test','ttl':300}"},
        {"local/cluster/own", "{'host':'10.0.0.1','ttl':300}"},
    };
    struct external_bed b = bed_new(keys, ARRAY_LEN(keys));
    b.f->config.settings.dns64 = dns64_of("2001:db8:64::", 96);
    return b;
}

static void external_synthesis_set_up(struct external_bed *b)
{
    *b = external_synthesis_setup();
}

UNIT_FIXTURE(struct external_bed, external_synthesis_set_up, bed_free)

static void external_synthesis_put_denial(struct external_bed *b, const char *question,
                                          const char *zone, uint16_t rcode)
{
    static struct bed_reply r;
    reply_begin(&r, b, question, 0x8180 | rcode);
    reply_add_soa(&r, zone, 1000);
    assert_int_equal(bed_put(b, question, &r), CACHE_HIT);
}

static void put_aaaa(struct external_bed *b, const char *question, const char *owner,
                     const char *const *items, size_t count)
{
    static struct bed_reply r;
    reply_begin(&r, b, question, 0x8180);
    for (size_t i = 0; i < count; i++) {
        uint8_t bytes[16];
        assert_int_equal(inet_pton(AF_INET6, items[i], bytes), 1);
        reply_add(&r, 1, owner, DNS_TYPE_AAAA, 50, bytes, sizeof(bytes));
    }
    assert_int_equal(bed_put(b, question, &r), CACHE_HIT);
}

static void external_synthesis_want(struct external_bed *b, const char *question,
                                    const char *wanted)
{
    const char *got = fixture_ask(b->f, question);
    assert_that(strcmp(got, wanted) == 0, "`%s`: got\n%s\nwant\n%s", question, got, wanted);
}

/* A denial and IPv4 addresses, both kept, whoever put them there. */
UNIT_TEST_ON(test_made_of_cached, struct external_bed *b)
{
    external_synthesis_want(b, "www.test. AAAA", "forward"); /* first for AAAA, */
    external_synthesis_put_denial(b, "www.test. AAAA", "test.", 0);
    external_synthesis_want(b, "www.test. AAAA",
                            "lookup www.test./AAAA www.test./A"); /* then for A */
    bed_put_addresses(b, "www.test. A", "www.test.", 300, 1);
    external_synthesis_want(
        b, "Www.test. AAAA",
        "NOERROR qr rd ra\n? Www.test. IN AAAA\n= Www.test. 60 AAAA 2001:db8:64::c000:1");
    external_synthesis_want(
        b, "ext.cluster.local. AAAA",
        "NOERROR qr aa rd ra\n? ext.cluster.local. IN AAAA\n= ext.cluster.local. 60 CNAME "
        "www.test.\n= www.test. 60 AAAA 2001:db8:64::c000:1");
    external_synthesis_want(
        b, "own.cluster.local. AAAA",
        "NOERROR qr aa rd ra\n? own.cluster.local. IN AAAA\n! cluster.local. 60 SOA "
        "ns.dns.cluster.local. hostmaster.cluster.local. 1760702400 28800 7200 604800 60");
    external_synthesis_want(
        b, "www.test. AAAA nord",
        "NOERROR qr ra\n? www.test. IN AAAA\n= www.test. 60 AAAA 2001:db8:64::c000:1");
    b->f->config.settings.dns64.is_on = false; /* the cache has what upstream said */
    assert_non_null(strstr(fixture_ask(b->f, "www.test. AAAA"), "\n! test. "));
}

UNIT_TEST_ON(test_excluded, struct external_bed *b)
{
    static const char *const some[] = {"::ffff:192.0.2.1", "2001:db8::1"};
    put_aaaa(b, "some.test. AAAA", "some.test.", some, 2);
    put_aaaa(b, "all.test. AAAA", "all.test.", some, 1);
    external_synthesis_put_denial(b, "all.test. A", "test.", 0);
    put_aaaa(b, "both.test. AAAA", "both.test.", some, 1);
    bed_put_addresses(b, "both.test. A", "both.test.", 300, 1);
    external_synthesis_want(
        b, "some.test. AAAA",
        "NOERROR qr rd ra\n? some.test. IN AAAA\n= some.test. 50 AAAA 2001:db8::1");
    external_synthesis_want(b, "all.test. AAAA", "NOERROR qr rd ra\n? all.test. IN AAAA" SOA(300));
    external_synthesis_want(
        b, "both.test. AAAA",
        "NOERROR qr rd ra\n? both.test. IN AAAA\n= both.test. 300 AAAA 2001:db8:64::c000:1");
}

UNIT_TEST_ON(test_left_alone, struct external_bed *b)
{
    external_synthesis_put_denial(b, "gone.test. AAAA", "test.", 3);
    bed_put_addresses(b, "gone.test. A", "gone.test.", 300, 1);
    assert_non_null(strstr(fixture_ask(b->f, "gone.test. AAAA"), "NXDOMAIN"));
    external_synthesis_put_denial(b, "www.stub.cluster.local. AAAA", "stub.cluster.local.",
                                  0); /* not external */
    bed_put_addresses(b, "www.stub.cluster.local. A", "www.stub.cluster.local.", 300, 1);
    assert_null(strstr(fixture_ask(b->f, "www.stub.cluster.local. AAAA"), "AAAA 2001"));
}

UNIT_TEST_ON(test_zones_without, struct external_bed *b)
{
    static const char *const cached[] = {"2001:db8::1"};
    struct engine_settings *settings = &b->f->config.settings;
    put_aaaa(b, "www.test. AAAA", "www.test.", cached, 1);
    settings->no_aaaa[settings->no_aaaa_count++] = dname_from("example.com.");
    settings->no_aaaa[settings->no_aaaa_count++] = dname_from("test.");
    external_synthesis_want(b, "www.TEST. AAAA", "NOERROR qr rd ra\n? www.TEST. IN AAAA" SOA(300));
    external_synthesis_want(b, "example.com. AAAA",
                            "NOERROR qr rd ra\n? example.com. IN AAAA" SOA(300));
    external_synthesis_want(b, "com. A", "NXDOMAIN qr rd ra\n? com. IN A" SOA(60));
    external_synthesis_want(b, "xexample.com. AAAA", "forward");
    external_synthesis_want(b, "www.test. A", "forward");
    settings->no_aaaa[0] = dname_from(".");
    settings->no_aaaa_count = 1;
    settings->no_rec = true;
    external_synthesis_want(b, "com. AAAA", "NOERROR qr rd ra\n? com. IN AAAA" SOA(300));
    external_synthesis_want(b, "localhost. AAAA",
                            "NOERROR qr rd ra\n? localhost. IN AAAA\n= localhost. 300 AAAA ::1");
}
