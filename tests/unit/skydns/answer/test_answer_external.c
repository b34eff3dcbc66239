/* Other domains' names before any nameserver is asked: hosts files, stub zones and what comes
 * before them; and targets of our records there. */
#include "skydns/external/hosts_table.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/hosts_table_of.h"
#include "tests/support/unit_test.h"
#include "tests/unit/skydns/answer/foreign_bed.h"

static const struct fixture_key keys[] = {
    {"local/cluster/web/a", "{'host':'10.0.0.1','ttl':30}"},
    {"local/cluster/stub/x", "{'host':'10.0.0.2','ttl':30}"},
    {"local/cluster/ext", "{'host':'www.example.com','ttl':300}"},
    {"local/cluster/inner", "{'host':'x.stub.cluster.local','ttl':300}"},
    {"local/cluster/keyed", "{'host':'www.example.com','ttl':300}"},
    {"local/cluster/listed", "{'host':'db.acme.test','ttl':300}"},
    {"local/cluster/lost", "{'host':'db.empty.test','ttl':300}"},
    {"local/cluster/_s/a", "{'host':'www.example.com','port':80}"},
    {"local/cluster/_s/b", "{'host':'ftp.example.com','port':81}"},
    {"arpa/in-addr/192/0/2/1", "{'host':'web.cluster.local'}"},
};

/* The bed with a hosts file. */
static struct external_bed answer_external_setup(void)
{
    static const struct {
        const char *ip, *name;
    } lines[] = {{"10.9.0.1", "db.acme.test."},    {"fd00::9", "db.acme.test."},
                 {"10.9.0.1", "second.test."},     {"192.0.2.1", "one.test."},
                 {"192.0.2.2", "two.test."},       {"10.9.0.3", "web.cluster.local."},
                 {"10.9.0.4", "www.example.com."}, {"10.9.0.5", "www.example.com."},
                 {"10.96.0.7", "ours.test."},      {"10.9.0.6", "single."}};
    struct hosts_entry entries[ARRAY_LEN(lines)];
    struct external_bed b = bed_new(keys, ARRAY_LEN(keys));
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        entries[i] = (struct hosts_entry){.name = dname_from(lines[i].name)};
        assert_true(ip_parse(slice_str(lines[i].ip), &entries[i].ip));
    }
    b.f->config.hosts = hosts_table_of(entries, ARRAY_LEN(lines));
    return b;
}

static void answer_external_teardown(struct external_bed *b)
{
    hosts_table_unref(b->f->config.hosts);
    bed_free(b);
}

struct row {
    const char *question, *want;
};

static void answer_external_check(struct external_bed *b, const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *got = fixture_ask(b->f, rows[i].question);
        assert_that(strcmp(got, rows[i].want) == 0, "`%s`: got\n%s\nwant\n%s", rows[i].question,
                    got, rows[i].want);
    }
}

static void answer_external_set_up(struct external_bed *b)
{
    *b = bed_new(keys, ARRAY_LEN(keys));
}

UNIT_FIXTURE(struct external_bed, answer_external_set_up, bed_free)

/* For every client, before stub zones and nameservers; never for names of ours. */
UNIT_TEST(hosts)
{
    static const struct row rows[] = {
        {"DB.acme.test. A",
         "NOERROR qr rd ra\n? DB.acme.test. IN A\n= DB.acme.test. 30 A 10.9.0.1"},
        {"db.acme.test. AAAA edns=512", "NOERROR qr rd ra\n? db.acme.test. IN AAAA"
                                        "\n= db.acme.test. 30 AAAA fd00::9\nedns 1232"},
        {"db.acme.test. TXT nord", "forward"}, /* other types are upstream's, */
        {"www.example.com. MX", "forward"},
        {"single. TXT", "NOERROR qr rd ra\n? single. IN TXT"}, /* if one is asked */
        {"second.test. AAAA", "NOERROR qr rd ra\n? second.test. IN AAAA"},
        {"single. A", "NOERROR qr rd ra\n? single. IN A\n= single. 30 A 10.9.0.6"},
        {"db.acme.test. A edns=512 stub", "NOERROR qr rd ra\n? db.acme.test. IN A"
                                          "\n= db.acme.test. 30 A 10.9.0.1\nedns 1232"},
        {"1.0.9.10.in-addr.arpa. PTR", "NOERROR qr rd ra\n? 1.0.9.10.in-addr.arpa. IN PTR"
                                       "\n= 1.0.9.10.in-addr.arpa. 30 PTR db.acme.test."},
        {"1.0.9.10.in-addr.arpa. A", "NOERROR qr rd ra\n? 1.0.9.10.in-addr.arpa. IN A"},
        {"web.cluster.local. A",
         "NOERROR qr aa rd ra\n? web.cluster.local. IN A\n= web.cluster.local. 30 A 10.0.0.1"},
        {"1.2.0.192.in-addr.arpa. PTR", /* etcd's comes first, */
         "NOERROR qr aa rd ra\n? 1.2.0.192.in-addr.arpa. IN PTR"
         "\n= 1.2.0.192.in-addr.arpa. 3600 PTR web.cluster.local."},
        {"2.2.0.192.in-addr.arpa. PTR", /* and a stub zone last */
         "NOERROR qr rd ra\n? 2.2.0.192.in-addr.arpa. IN PTR"
         "\n= 2.2.0.192.in-addr.arpa. 30 PTR two.test."},
        {"ANY.acme.test. ANY", "REFUSED qr rd\n? ANY.acme.test. IN ANY"},
    };
    struct external_bed b = answer_external_setup();
    bed_put_addresses(&b, "db.acme.test. A", "db.acme.test.", 100, 1); /* of no use */
    answer_external_check(&b, rows, ARRAY_LEN(rows));
    b.f->config.settings.no_rec = true;
    b.f->config.allows_all = false;
    b.f->config.settings.ttl_s = 20; /* of our records, not of these */
    static const struct row others[] = {
        {"db.acme.test. A",
         "NOERROR qr rd ra\n? db.acme.test. IN A\n= db.acme.test. 30 A 10.9.0.1"},
        {"www.example.com. A",
         "NOERROR qr rd ra\n? www.example.com. IN A"
         "\n= www.example.com. 30 A 10.9.0.4\n= www.example.com. 30 A 10.9.0.5"},
        {"www.example.com. TXT", "NOERROR qr rd ra\n? www.example.com. IN TXT"},
        {"nope.example.com. A", "SERVFAIL qr rd\n? nope.example.com. IN A"},
        {"1.0.9.10.in-addr.arpa. PTR", "NOERROR qr rd ra\n? 1.0.9.10.in-addr.arpa. IN PTR"
                                       "\n= 1.0.9.10.in-addr.arpa. 30 PTR db.acme.test."},
    };
    answer_external_check(&b, others, ARRAY_LEN(others));
    answer_external_teardown(&b);
}

/* An upstream's NXDOMAIN for another type of a name that a hosts file has: the name exists. */
UNIT_TEST(hosts_and_denials)
{
    static struct bed_reply r;
    static const char *const questions[] = {"www.example.com. MX", "nope.example.com. MX"};
    struct external_bed b = answer_external_setup();
    for (size_t i = 0; i < ARRAY_LEN(questions); i++) {
        reply_begin(&r, &b, questions[i], 0x8183);
        reply_add_soa(&r, "example.com.", 1000);
        assert_int_equal(bed_put(&b, questions[i], &r), CACHE_HIT);
    }
    assert_int_equal(strncmp(fixture_ask(b.f, "WWW.example.com. MX"),
                             "NOERROR qr rd ra\n? WWW.example.com. IN MX\n! ", 43),
                     0);
    assert_int_equal(strncmp(fixture_ask(b.f, questions[1]), "NXDOMAIN qr rd ra\n", 18), 0);
    answer_external_teardown(&b);
}

/* -no-rec and -ndots do not apply; the longest zone counts, ours or another's. */
UNIT_TEST_ON(stubs, struct external_bed *b)
{
    static const struct row rows[] = {
        {"www.acme.test. A", "forward"},
        {"acme.test. NS", "forward"},
        {"www.acme.test. A edns=512 subnet", "forward"},
        {"www.acme.test. A edns=512 stub",
         "REFUSED qr rd\n? www.acme.test. IN A\nedns 1232 ede=18"},
        {"www.acme.test. A edns=512 stub tcp",
         "REFUSED qr rd\n? www.acme.test. IN A\nedns 1232 ede=18"},
        {"acme.test. DS", "SERVFAIL qr rd\n? acme.test. IN DS"}, /* the parent's */
        {"www.acme.test. DS", "forward"},
        {"acme.test. DNSKEY", "forward"},
        {"xacme.test. A", "SERVFAIL qr rd\n? xacme.test. IN A"}, /* the general ones', -no-rec */
        {"www.empty.test. A", "SERVFAIL qr rd ra\n? www.empty.test. IN A"},
        {"www.empty.test. A edns=512 stub",
         "REFUSED qr rd\n? www.empty.test. IN A\nedns 1232 ede=18"},
        {"x.stub.cluster.local. A", "forward"}, /* whatever the keys */
        {"STUB.cluster.local. TXT", "forward"},
        {"xstub.cluster.local. A", "NXDOMAIN qr aa rd ra\n? xstub.cluster.local. IN A"
                                   "\n! cluster.local. 60 SOA ns.dns.cluster.local. "
                                   "hostmaster.cluster.local. 1760702400 28800 7200 604800 60"},
        {"x.stub.cluster.local. ANY", "REFUSED qr rd\n? x.stub.cluster.local. IN ANY"},
        {"9.2.0.192.in-addr.arpa. PTR", "forward"},
        {"9.2.0.192.in-addr.arpa. TXT", "forward"},
        {"1.2.0.192.in-addr.arpa. PTR", /* of ours */
         "NOERROR qr aa rd ra\n? 1.2.0.192.in-addr.arpa. IN PTR"
         "\n= 1.2.0.192.in-addr.arpa. 3600 PTR web.cluster.local."},
        {"web.cluster.local. A edns=512 stub", "NOERROR qr aa rd ra\n? web.cluster.local. IN A"
                                               "\n= web.cluster.local. 30 A 10.0.0.1\nedns 1232"},
    };
    b->f->config.settings.no_rec = true;
    b->f->config.settings.ndots = 5;
    answer_external_check(b, rows, ARRAY_LEN(rows));
    b->f->store = NULL; /* before the first sync */
    assert_string_equal(fixture_ask(b->f, "x.stub.cluster.local. A"), "forward");
    bed_put_addresses(b, "x.stub.cluster.local. A", "x.stub.cluster.local.", 100, 1);
    assert_string_equal(fixture_ask(b->f, "x.stub.cluster.local. A"),
                        "NOERROR qr rd ra\n? x.stub.cluster.local. IN A"
                        "\n= x.stub.cluster.local. 100 A 192.0.0.1");
}

/* A stub zone within a reverse zone of ours, the same, and around it; a domain below a stub zone.
 */
UNIT_TEST(zones_in_zones)
{
    static const struct row inside[] = {
        {"1.2.96.10.in-addr.arpa. PTR", "forward"},
        {"1.3.96.10.in-addr.arpa. TXT",
         "NXDOMAIN qr aa rd ra\n? 1.3.96.10.in-addr.arpa. IN TXT"
         "\n! 96.10.in-addr.arpa. 60 SOA ns.dns.cluster.local. hostmaster.cluster.local. "
         "1760702400 28800 7200 604800 60"},
        {"1.97.10.in-addr.arpa. TXT", "forward"}, /* the stub zone around */
        {"7.0.96.10.in-addr.arpa. PTR", "NOERROR qr rd ra\n? 7.0.96.10.in-addr.arpa. IN PTR"
                                        "\n= 7.0.96.10.in-addr.arpa. 30 PTR ours.test."},
        {"www.any.test. A", "forward"},
        /* The DS of a zone is its parent's: ours, whatever the keys, or another stub zone's. */
        {"keyed.cluster.local. DS",
         "NOERROR qr aa rd ra\n? keyed.cluster.local. IN DS"
         "\n! cluster.local. 60 SOA ns.dns.cluster.local. hostmaster.cluster.local. "
         "1760702400 28800 7200 604800 60"},
        {"keyed.cluster.local. CNAME", "forward"},
        {"2.96.10.in-addr.arpa. DS",
         "NOERROR qr aa rd ra\n? 2.96.10.in-addr.arpa. IN DS"
         "\n! 96.10.in-addr.arpa. 60 SOA ns.dns.cluster.local. hostmaster.cluster.local. "
         "1760702400 28800 7200 604800 60"},
        {"eu.any.test. DS edns=512 stub", /* the stub zone around */
         "REFUSED qr rd\n? eu.any.test. IN DS\nedns 1232 ede=18"},
        {"www.own.test. A", "NXDOMAIN qr aa rd ra\n? www.own.test. IN A"
                            "\n! own.test. 60 SOA ns.dns.own.test. hostmaster.own.test. "
                            "1760702400 28800 7200 604800 60"},
        /* Names above a stub zone exist. */
        {"above.cluster.local. A",
         "NOERROR qr aa rd ra\n? above.cluster.local. IN A"
         "\n! cluster.local. 60 SOA ns.dns.cluster.local. hostmaster.cluster.local. "
         "1760702400 28800 7200 604800 60"},
        {"96.10.in-addr.arpa. PTR",
         "NOERROR qr aa rd ra\n? 96.10.in-addr.arpa. IN PTR"
         "\n! 96.10.in-addr.arpa. 60 SOA ns.dns.cluster.local. hostmaster.cluster.local. "
         "1760702400 28800 7200 604800 60"},
    };
    struct external_bed b = answer_external_setup();
    struct forward_zone zones[6];
    struct engine_config *config = &b.f->config;
    bed_zone(&zones[0], "2.96.10.in-addr.arpa.", 1);
    bed_zone(&zones[1], "10.in-addr.arpa.", 1);
    bed_zone(&zones[2], "test.", 1);
    bed_zone(&zones[3], "below.above.cluster.local.", 1);
    bed_zone(&zones[4], "keyed.cluster.local.", 1);
    bed_zone(&zones[5], "eu.any.test.", 1);
    zone_table_unref(b.zones);
    config->zones_of_others = b.zones = zone_table_new(zones, ARRAY_LEN(zones), NULL);
    fixture_domain(b.f, "own.test.");
    config->settings.reverse_zone_count = 1;
    assert_true(ip_parse(slice_str("10.96.0.0"), &config->settings.reverse_zones[0].ip));
    config->settings.reverse_zones[0].prefix_bits = 16;
    answer_external_check(&b, inside, ARRAY_LEN(inside));
    answer_external_teardown(&b);
}

/* ---- Targets ---- */

/* A client's query is answered at once when all of its targets are kept. */
UNIT_TEST_ON(cached_targets, struct external_bed *b)
{
    static const char ext[] = "ext.cluster.local. A", port[] = "_s.cluster.local. SRV";
    static struct bed_reply r;
    assert_string_equal(fixture_ask(b->f, ext), "lookup www.example.com./A");
    reply_begin(&r, b, "www.example.com. A", 0x8180);
    reply_add_cname(&r, "www.example.com.", 50, "x.example.com.");
    reply_add_a(&r, "x.example.com.", 100, 1);
    assert_int_equal(bed_put(b, "www.example.com. A", &r), CACHE_HIT);
    b->f->now_ms += 10 * 1000;
    static const char want[] = "NOERROR qr aa rd ra\n? ext.cluster.local. IN A"
                               "\n= ext.cluster.local. 40 CNAME www.example.com."
                               "\n= www.example.com. 40 CNAME x.example.com."
                               "\n= x.example.com. 40 A 192.0.0.1";
    assert_string_equal(fixture_ask(b->f, ext), want); /* one TTL for all, as ever */
    assert_string_equal(fixture_ask(b->f, "ext.cluster.local. A tcp"), want);
    b->f->config.allows_all = false; /* is about clients' own questions */
    assert_string_equal(fixture_ask(b->f, ext), want);
    b->f->config.allows_all = true;
    struct cache_counts sums = bed_counts(b);
    assert_int_equal(counter_get(&sums.misses), 1);
    assert_int_equal(counter_get(&sums.hits_positive), 3);

    /* One of them is not kept: all are asked about, since the others may expire. */
    assert_string_equal(
        fixture_ask(b->f, port),
        "lookup www.example.com./A www.example.com./AAAA ftp.example.com./A ftp.example.com./AAAA");
    static const char *const denied[] = {"www.example.com. AAAA", "ftp.example.com. AAAA"};
    for (size_t i = 0; i < ARRAY_LEN(denied); i++) {
        reply_begin(&r, b, denied[i], 0x8180);
        reply_add_soa(&r, "example.com.", 1000);
        assert_int_equal(bed_put(b, denied[i], &r), CACHE_HIT);
    }
    bed_put_addresses(b, "ftp.example.com. A", "ftp.example.com.", 1000, 1);
    assert_string_equal(fixture_ask(b->f, port),
                        "NOERROR qr aa rd ra\n? _s.cluster.local. IN SRV"
                        "\n= _s.cluster.local. 3600 SRV 10 50 80 www.example.com."
                        "\n= _s.cluster.local. 3600 SRV 10 50 81 ftp.example.com."
                        "\n+ www.example.com. 40 CNAME x.example.com."
                        "\n+ x.example.com. 90 A 192.0.0.1"
                        "\n+ ftp.example.com. 1000 A 192.0.0.1");

    /* More than the reply holds. */
    bed_put_addresses(b, "www.example.com. A", "www.example.com.", 1000, 100);
    assert_int_equal(strncmp(fixture_ask(b->f, ext), "NOERROR qr aa tc rd ra", 22), 0);
    assert_non_null(strstr(fixture_ask(b->f, "ext.cluster.local. A tcp"), "192.0.0.100"));
    assert_null(strstr(fixture_ask(b->f, port), "+ www"));

    /* Expired, then failed. */
    b->f->now_ms += 2000 * 1000;
    assert_string_equal(fixture_ask(b->f, ext), "lookup www.example.com./A");
    b->f->takes_stale = true;
    assert_non_null(strstr(fixture_ask(b->f, "ext.cluster.local. A tcp"), " 30 A 192.0.0.100"));
    b->f->takes_stale = false;
    b->f->config.cache_limits.stale_ms = 0;
    bed_fail(b, "www.example.com. A");
    assert_string_equal(fixture_ask(b->f, ext), "SERVFAIL qr rd ra\n? ext.cluster.local. IN A");
    b->f->config.cache = NULL;
    assert_string_equal(fixture_ask(b->f, ext), "lookup www.example.com./A");
}

/* RD is clear: nobody is asked, the cache may answer, and what failed for others is not said. */
UNIT_TEST_ON(targets_without_recursion, struct external_bed *b)
{
    static const char alone[] = "NOERROR qr aa ra\n? ext.cluster.local. IN A"
                                "\n= ext.cluster.local. 300 CNAME www.example.com.";
    assert_string_equal(fixture_ask(b->f, "ext.cluster.local. A nord"), alone);
    bed_fail(b, "www.example.com. A");
    assert_string_equal(fixture_ask(b->f, "ext.cluster.local. A"),
                        "SERVFAIL qr rd ra\n? ext.cluster.local. IN A");
    assert_string_equal(fixture_ask(b->f, "ext.cluster.local. A nord"), alone);
    bed_put_addresses(b, "www.example.com. A", "www.example.com.", 100, 1);
    b->f->now_ms += 95 * 1000;
    for (unsigned i = 1; i <= CACHE_REFRESH_HITS; i++) {
        assert_string_equal(fixture_ask(b->f, "ext.cluster.local. A nord"),
                            "NOERROR qr aa ra\n? ext.cluster.local. IN A"
                            "\n= ext.cluster.local. 5 CNAME www.example.com."
                            "\n= www.example.com. 5 A 192.0.0.1");
        assert_false(b->f->deferral.wants_refresh);
    }
}

/* A target's outcome counts when it was asked about; one that was not may be in the response cache.
 */
UNIT_TEST_ON(targets_with_externals, struct external_bed *b)
{
    struct external_answer failed = {
        .question = {.name = dname_from("www.example.com."), .type = DNS_TYPE_A},
        .outcome = EXTERNAL_FAILED};
    bed_put_addresses(b, "www.example.com. A", "www.example.com.", 1000, 1);
    b->f->has_externals = true;
    b->f->externals = (struct external_answers){.count = 1, .items = &failed};
    assert_string_equal(fixture_ask(b->f, "ext.cluster.local. A"),
                        "SERVFAIL qr rd ra\n? ext.cluster.local. IN A");
    failed.question.name = dname_from("other.example.com.");
    assert_non_null(strstr(fixture_ask(b->f, "ext.cluster.local. A"), "A 192.0.0.1"));
}

/* Hosts files and stub zones are there for targets, too; of the zone's keys below it, none counts.
 */
UNIT_TEST(other_targets)
{
    struct external_bed b = answer_external_setup();
    b.f->config.settings.ndots = 5; /* not for stub zones */
    for (int schema = 0; schema < 2; schema++) {
        b.f->config.settings.schema = schema ? ENGINE_SCHEMA_KUBERNETES : ENGINE_SCHEMA_SKYDNS;
        assert_string_equal(fixture_ask(b.f, "listed.cluster.local. A"),
                            "NOERROR qr aa rd ra\n? listed.cluster.local. IN A"
                            "\n= listed.cluster.local. 30 CNAME db.acme.test."
                            "\n= db.acme.test. 30 A 10.9.0.1");
        assert_string_equal(fixture_ask(b.f, "inner.cluster.local. A"),
                            "lookup x.stub.cluster.local./A");
        assert_string_equal(fixture_ask(b.f, "lost.cluster.local. A"),
                            "SERVFAIL qr rd ra\n? lost.cluster.local. IN A");
    }
    bed_put_addresses(&b, "x.stub.cluster.local. A", "x.stub.cluster.local.", 1000, 1);
    assert_string_equal(fixture_ask(b.f, "inner.cluster.local. A"),
                        "NOERROR qr aa rd ra\n? inner.cluster.local. IN A"
                        "\n= inner.cluster.local. 300 CNAME x.stub.cluster.local."
                        "\n= x.stub.cluster.local. 300 A 192.0.0.1");
    answer_external_teardown(&b);
}

/* The query to pass on is one for the target, not the client's. */
UNIT_TEST_ON(refreshed_targets, struct external_bed *b)
{
    const struct question *q = &b->f->deferral.refresh;
    bed_put_addresses(b, "www.example.com. A", "www.example.com.", 100, 1);
    b->f->now_ms += 95 * 1000;
    for (unsigned i = 1; i <= CACHE_REFRESH_HITS; i++) {
        (void)fixture_ask(b->f, "ext.cluster.local. A");
        assert_int_equal(b->f->deferral.wants_refresh, i == CACHE_REFRESH_HITS);
    }
    struct dname name = dname_from("www.example.com.");
    assert_true(dname_equal(&q->name, &name));
    assert_int_equal(q->type, DNS_TYPE_A);
    assert_true(q->recursion_desired);
    (void)fixture_ask(b->f, "ext.cluster.local. A");
    assert_false(b->f->deferral.wants_refresh);
}
