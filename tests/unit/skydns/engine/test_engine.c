/* The engine as the sockets see it: EDNS, limits, what is dropped, refused, deferred and forwarded,
 * and what happens when a deferred question comes back. */
#include "common/dns/dns.h"
#include "skydns/records/rr.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/skydns/response_bytes.h"
#include "tests/support/unit_test.h"

#define OK "NOERROR qr aa rd ra"
#define SOA                                                                      \
    "\n! cluster.local. 60 SOA ns.dns.cluster.local. hostmaster.cluster.local. " \
    "1760702400 28800 7200 604800 60"

static const struct fixture_key keys[] = {
    {"local/cluster/web/a", "{'host':'10.0.0.1','ttl':30}"},
    {"local/cluster/ext", "{'host':'www.example.com','ttl':300}"},
    {"local/cluster/single", "{'host':'router'}"},
    {"local/cluster/_s/a", "{'host':'www.example.com','port':80}"},
    {"local/cluster/_s/b", "{'host':'www.example.com','port':81}"},
    {"local/cluster/_s/c", "{'host':'web.cluster.local','port':82}"},
    {"arpa/in-addr/10/0/0/1", "{'host':'web.cluster.local'}"},
};

static struct fixture *engine_setup(void)
{
    return fixture_new(keys, ARRAY_LEN(keys));
}

UNIT_FIXTURE_MADE(engine_setup(), fixture_free)

static void engine_want(struct fixture *fixture, const char *question, const char *text)
{
    const char *got = fixture_ask(fixture, question);
    assert_that(strcmp(got, text) == 0, "%s\nwant: %s\ngot:  %s", question, text, got);
}

/* `count` addresses at `name`.cluster.local. */
static void engine_put_many(struct fixture *fixture, const char *name, unsigned count)
{
    CLEANUP_FREE struct fixture_key *many = xcalloc(count, sizeof(*many));
    for (unsigned i = 0; i < count; i++) {
        many[i].key = xasprintf("local/cluster/%s/h%u", name, i);
        many[i].value =
            xasprintf("{'host':'10.%u.%u.%u'}", 100 + i / 65536, i / 256 % 256, i % 256);
    }
    fixture_put(fixture, many, count);
    for (unsigned i = 0; i < count; i++) {
        free((void *)(uintptr_t)many[i].key);
        free((void *)(uintptr_t)many[i].value);
    }
}

static unsigned engine_count_lines(const char *text, const char *mark)
{
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, mark)); at++) {
        n++;
    }
    return n;
}

UNIT_TEST_ON(edns, struct fixture *f)
{
    engine_want(f, "web.cluster.local. A edns=4096",
                OK "\n? web.cluster.local. IN A\n= web.cluster.local. 30 A 10.0.0.1\nedns 1232");
    engine_want(f, "web.cluster.local. A edns=512 do",
                OK "\n? web.cluster.local. IN A\n= web.cluster.local. 30 A 10.0.0.1\nedns 1232 do");
    engine_want(f, "nope.cluster.local. A edns=1232",
                "NXDOMAIN qr aa rd ra\n? nope.cluster.local. IN A" SOA "\nedns 1232");
    engine_want(f, "web.cluster.local. ANY edns=1232",
                "REFUSED qr rd\n? web.cluster.local. IN ANY\nedns 1232 ede=21");
    enum engine_transport transport = fixture_query(f, "web.cluster.local. A edns=1232 do");
    f->query[f->query_len - 5] = 1; /* the version */
    assert_string_equal(fixture_answer(f, transport), "NOERROR qr rd\n? web.cluster.local. IN A\n"
                                                      "edns 1232 do rcode=16 version=0 flags=0");
}

/* 12 + 17 + 4 bytes of header and question, 16 for each answer, 11 for OPT. */
UNIT_TEST_ON(limits, struct fixture *f)
{
    static const struct {
        const char *question;
        unsigned answers;
        bool is_truncated;
    } cases[] = {
        {"m.cluster.local. A", 29, true},
        {"m.cluster.local. A edns=100", 29, true},
        {"m.cluster.local. A edns=512", 29, true},
        {"m.cluster.local. A edns=1000", 59, true},
        {"m.cluster.local. A edns=1232", 74, true},
        {"m.cluster.local. A edns=65535", 74, true}, /* no more than max_udp_size */
        {"m.cluster.local. A tcp", 300, false},
        {"m.cluster.local. A edns=512 tcp", 300, false},
    };
    engine_put_many(f, "m", 300);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *got = fixture_ask(f, cases[i].question);
        assert_that(engine_count_lines(got, "\n= ") == cases[i].answers &&
                        (strstr(got, " tc") != NULL) == cases[i].is_truncated,
                    "%s: want %u answers:\n%s", cases[i].question, cases[i].answers, got);
    }
}

/* 33 bytes of header and question, 38 or 39 for each SRV record, 16 for its address: twelve records
 * fit 512 bytes, but not with their addresses; sixteen do not fit. */
UNIT_TEST_ON(additional_goes_first, struct fixture *f)
{
    engine_put_many(f, "n", 12);
    const char *got = fixture_ask(f, "n.cluster.local. SRV edns=1232");
    assert_int_equal(engine_count_lines(got, "\n= "), 12);
    assert_int_equal(engine_count_lines(got, "\n+ "), 12);
    assert_null(strstr(got, " tc"));
    got = fixture_ask(f, "n.cluster.local. SRV");
    assert_int_equal(engine_count_lines(got, "\n= "), 12);
    assert_int_equal(engine_count_lines(got, "\n+ "), 0);
    assert_null(strstr(got, " tc"));
    engine_put_many(f, "n", 16);
    got = fixture_ask(f, "n.cluster.local. SRV");
    assert_int_equal(engine_count_lines(got, "\n+ "), 0);
    assert_non_null(strstr(got, " tc"));
}

UNIT_TEST_ON(odd_messages, struct fixture *f)
{
    enum engine_transport udp = fixture_query(f, "web.cluster.local. A");
    f->query_len--;
    assert_string_equal(fixture_answer(f, udp), "FORMERR qr rd");
    assert_memory_equal(f->reply, "\x12\x34", 2);
    f->query_len = 11;
    assert_string_equal(fixture_answer(f, udp), "drop");
    f->query_len = 0;
    assert_string_equal(fixture_answer(f, udp), "drop");
    fixture_query(f, "web.cluster.local. A");
    f->query[2] |= 0x80; /* a response */
    assert_string_equal(fixture_answer(f, udp), "drop");
    fixture_query(f, "web.cluster.local. A");
    f->query[2] |= 0x20; /* NOTIFY */
    assert_string_equal(fixture_answer(f, udp), "NOTIMP qr rd opcode=4");
    fixture_query(f, "web.cluster.local. A");
    f->query[5] = 2;
    assert_string_equal(fixture_answer(f, udp), "FORMERR qr rd");
    fixture_query(f, "web.cluster.local. A");
    f->query[f->query_len++] = 0;
    assert_string_equal(fixture_answer(f, udp), "FORMERR qr rd\n? web.cluster.local. IN A");
    fixture_query(f, "web.cluster.local. A edns=512");
    f->query[11] = 2;
    memcpy(f->query + f->query_len, f->query + f->query_len - 11, 11);
    f->query_len += 11;
    assert_int_equal(strncmp(fixture_answer(f, udp), "FORMERR qr rd\n?", 15), 0);
}

UNIT_TEST_ON(before_the_first_sync, struct fixture *f)
{
    f->store = NULL;
    f->config.has_nameservers = true;
    engine_want(f, "web.cluster.local. A", "SERVFAIL qr aa rd ra\n? web.cluster.local. IN A");
    engine_want(f, "cluster.local. SOA", "SERVFAIL qr aa rd ra\n? cluster.local. IN SOA");
    engine_want(f, "nope.cluster.local. TXT edns=512",
                "SERVFAIL qr aa rd ra\n? nope.cluster.local. IN TXT\nedns 1232 ede=14");
    engine_want(f, "1.0.0.10.in-addr.arpa. PTR",
                "SERVFAIL qr aa rd ra\n? 1.0.0.10.in-addr.arpa. IN PTR");
    engine_want(f, "www.example.com. A", "forward");
    engine_want(f, "web.cluster.local. ANY", "REFUSED qr rd\n? web.cluster.local. IN ANY");
}

/* A zone known to lack records: what it has is answered, nothing is denied. On both paths: the
 * fixture asks the whole engine. */
UNIT_TEST_ON(incomplete, struct fixture *f)
{
    static const char *const denied[] = {
        "nope.cluster.local. A",
        "nope.cluster.local. AAAA",
        "nope.cluster.local. TYPE65",
        "web.cluster.local. AAAA",
        "web.cluster.local. TYPE65",
        "web.cluster.local. MX tcp",
        "cluster.local. MX",
        "x.web.cluster.local. TXT",
        "gone.cluster.local. A",
        "to.whole.test. A", /* the target's zone is the one that lacks records */
        "to.whole.test. AAAA",
        "nope.cluster.local. ANY",
        "2.0.0.10.in-addr.arpa. A",
        "2.0.0.10.in-addr.arpa. PTR",
        "NOPE.cluster.local. A edns=512",
    };
    static const struct fixture_key gone[] = {
        {"local/cluster/gone", "{'host':'nope.cluster.local'}"},
        {"test/whole/to", "{'host':'nope.cluster.local'}"},
    };
    fixture_put(f, gone, ARRAY_LEN(gone));
    fixture_domain(f, "whole.test.");
    f->config.settings.reverse_zone_count = 1;
    f->config.settings.reverse_zones[0] = (struct network){.prefix_bits = 8};
    assert_true(ip_parse(slice_str("10.0.0.0"), &f->config.settings.reverse_zones[0].ip));
    f->config.settings.any_is_hinfo = true;
    for (int schema = 0; schema < 2; schema++) {
        f->config.settings.schema = schema ? ENGINE_SCHEMA_KUBERNETES : ENGINE_SCHEMA_SKYDNS;
        for (int is_incomplete = 0; is_incomplete < 2; is_incomplete++) {
            for (size_t i = 0; i < f->config.zone_count; i++) {
                struct engine_zone *zone = &f->config.zones[i];
                zone->is_incomplete = is_incomplete && zone->domain.wire[0] == 7; /* cluster */
            }
            engine_want(f, "web.cluster.local. A",
                        OK "\n? web.cluster.local. IN A\n= web.cluster.local. 30 A 10.0.0.1");
            assert_non_null(strstr(fixture_ask(f, "cluster.local. SOA"), OK));
            assert_non_null(strstr(fixture_ask(f, "1.0.0.10.in-addr.arpa. PTR"), " PTR web"));
            assert_non_null(strstr(fixture_ask(f, "nope.whole.test. A"), "NXDOMAIN"));
            for (size_t i = 0; i < ARRAY_LEN(denied); i++) {
                bool is_failed =
                    strncmp(fixture_ask(f, denied[i]), "SERVFAIL qr aa rd ra\n?", 21) == 0 &&
                    engine_count_lines(fixture_ask(f, denied[i]), "\n= ") == 0;
                assert_that(is_failed == is_incomplete, "schema %d, incomplete %d, %s: %s", schema,
                            is_incomplete, denied[i], fixture_ask(f, denied[i]));
            }
        }
    }
    engine_want(f, "nope.cluster.local. A edns=512",
                "SERVFAIL qr aa rd ra\n? nope.cluster.local. IN A\nedns 1232 ede=14");
}

UNIT_TEST_ON(external_names, struct fixture *f)
{
    engine_want(f, "www.example.com. A", "SERVFAIL qr rd ra\n? www.example.com. IN A");
    f->config.has_nameservers = true;
    engine_want(f, "www.example.com. A", "forward");
    engine_want(f, "example.com. TYPE65", "forward");
    engine_want(f, "xcluster.local. A", "forward");
    static const char *const short_types[] = {"A", "AAAA", "TYPE65", "SRV", "TXT", "MX", "TYPE64"};
    static const char *const zone_types[] = {"DS", "DNSKEY", "NS", "SOA"};
    char question[64], right[256];
    for (size_t i = 0; i < ARRAY_LEN(short_types); i++) {
        (void)snprintf(question, sizeof(question), "cOm. %s", short_types[i]);
        (void)snprintf(right, sizeof(right),
                       "NXDOMAIN qr rd ra\n? cOm. IN %s\n! . 60 SOA ns.dns.cluster.local. "
                       "hostmaster.cluster.local. 1760702400 28800 7200 604800 60",
                       short_types[i]);
        engine_want(f, question, right);
    }
    for (size_t i = 0; i < ARRAY_LEN(zone_types); i++) {
        for (unsigned is_root = 0; is_root < 2; is_root++) {
            (void)snprintf(question, sizeof(question), "%s %s", is_root ? "." : "com.",
                           zone_types[i]);
            engine_want(f, question, "forward");
        }
    }
    engine_want(f, ". A", "SERVFAIL qr rd ra\n? . IN A");
    f->config.settings.ndots = 3; /* others may exist below a name of two labels */
    engine_want(f, "example.com. A", "SERVFAIL qr rd ra\n? example.com. IN A");
    engine_want(f, "example.com. NS", "SERVFAIL qr rd ra\n? example.com. IN NS");
    f->config.settings.ndots = 0;
    engine_want(f, "com. A", "forward");
    f->config.settings.no_rec = true;
    engine_want(f, "www.example.com. A edns=512",
                "SERVFAIL qr rd\n? www.example.com. IN A\nedns 1232 ede=20");
}

/* Types and classes that no record has: neither data nor forwarded, with or without a store. */
UNIT_TEST_ON(no_questions_about_records, struct fixture *f)
{
    static const struct {
        const char *rest, *rcode;
    } cases[] = {
        {"TYPE251", "REFUSED"},         {"TYPE252", "REFUSED"},
        {"TYPE252 tcp", "REFUSED"},     {"TYPE249", "NOTIMP"},
        {"TYPE253", "NOTIMP"},          {"TYPE254", "NOTIMP"},
        {"TYPE41", "FORMERR"},          {"TYPE250", "FORMERR"},
        {"TYPE128", "FORMERR"},         {"TYPE248", "FORMERR"},
        {"A class=4", "REFUSED"},       {"A class=254", "REFUSED"},
        {"A class=0", "REFUSED"},       {"SRV class=65535", "REFUSED"},
        {"TYPE255 class=4", "REFUSED"}, {"TYPE252 class=3", "REFUSED"},
    };
    static const char *const names[] = {"web.cluster.local.",
                                        "nope.cluster.local.",
                                        "cluster.local.",
                                        "1.0.0.10.in-addr.arpa.",
                                        "www.example.com.",
                                        "version.bind.",
                                        "."};
    const struct store *store = f->store;
    f->config.has_nameservers = true;
    f->config.settings.ndots = 0;
    for (size_t i = 0; i < ARRAY_LEN(names) * ARRAY_LEN(cases) * 2; i++) {
        char question[80], start[40];
        size_t which = i / 2 % ARRAY_LEN(cases);
        (void)snprintf(question, sizeof(question), "%s %s", names[i / 2 / ARRAY_LEN(cases)],
                       cases[which].rest);
        (void)snprintf(start, sizeof(start), "%s qr rd\n?", cases[which].rcode);
        f->store = i % 2 ? store : NULL;
        const char *got = fixture_ask(f, question);
        assert_that(strncmp(got, start, strlen(start)) == 0 && engine_count_lines(got, "\n") == 1,
                    "%s\nwant: %s\ngot:  %s", question, start, got);
    }
    engine_want(f, "web.cluster.local. TYPE127 class=255",
                "NOERROR qr rd ra\n? web.cluster.local. CLASS255 TYPE127" SOA);
    engine_want(f, "www.example.com. A class=255 cd",
                "REFUSED qr rd cd\n? www.example.com. CLASS255 A");
    engine_want(f, "web.cluster.local. TYPE127 cd", OK "\n? web.cluster.local. IN TYPE127" SOA);
    engine_want(f, "www.example.com. A class=255", "REFUSED qr rd\n? www.example.com. CLASS255 A");
    engine_want(f, "web.cluster.local. TYPE127", OK "\n? web.cluster.local. IN TYPE127" SOA);
    engine_want(f, "web.cluster.local. TYPE256", OK "\n? web.cluster.local. IN TYPE256" SOA);
    engine_want(f, "www.example.com. TYPE256", "forward");
}

/* The upstreams' outcomes for www.example.com.: one for A and one for AAAA. */
struct said {
    struct external_answer answers[2];
    struct buf packed[2];
};

static void said_init(struct said *said, struct fixture *f)
{
    for (unsigned i = 0; i < 2; i++) {
        buf_init(&said->packed[i], 4096);
        said->answers[i] = (struct external_answer){
            .question = {dname_from("WWW.example.com."), i ? DNS_TYPE_AAAA : DNS_TYPE_A}};
    }
    f->externals = (struct external_answers){.count = 2, .items = said->answers};
    f->has_externals = true;
}

static void said_fini(struct said *said)
{
    buf_fini(&said->packed[0]);
    buf_fini(&said->packed[1]);
}

static void engine_say(struct said *said, unsigned i, enum external_outcome outcome, uint32_t ttl_s,
                       const char *target, const char *address)
{
    struct dname name;
    struct ip ip;
    buf_clear(&said->packed[i]);
    if (target) {
        name = dname_from(target);
        external_answer_put(&said->packed[i], DNS_TYPE_CNAME, 5, rr_name(&name));
    }
    if (address) {
        assert_true(ip_parse(slice_str(address), &ip));
        external_answer_put(&said->packed[i], said->answers[i].question.type, ttl_s,
                            slice_of(ip.bytes, ip.family_bytes));
    }
    said->answers[i].outcome = outcome;
    said->answers[i].records = buf_slice(&said->packed[i]);
}

#define EXT_ALONE OK "\n? ext.cluster.local. IN A\n= ext.cluster.local. 300 CNAME www.example.com."

UNIT_TEST_ON(external_alias, struct fixture *f)
{
    CLEANUP(said_fini) struct said said;
    engine_want(f, "ext.cluster.local. A", EXT_ALONE); /* no upstream: the client may follow it */
    f->config.has_nameservers = true;
    f->config.settings.no_rec = true; /* only affects clients' questions */
    engine_want(f, "ext.cluster.local. A", "lookup www.example.com./A");
    engine_want(f, "ext.cluster.local. AAAA", "lookup www.example.com./AAAA");
    engine_want(
        f, "single.cluster.local. A",
        OK
        "\n? single.cluster.local. IN A\n= single.cluster.local. 3600 CNAME router."); /* ndots */

    said_init(&said, f);
    engine_say(&said, 0, EXTERNAL_ANSWERED, 500, "cdn.example.net.", "192.0.2.1");
    engine_want(f, "ext.cluster.local. A",
                OK "\n? ext.cluster.local. IN A\n= ext.cluster.local. 5 CNAME www.example.com.\n"
                   "= www.example.com. 5 CNAME cdn.example.net.\n= cdn.example.net. 5 A 192.0.2.1");
    engine_say(&said, 0, EXTERNAL_ANSWERED, 100, NULL, "192.0.2.1");
    engine_want(f, "ext.cluster.local. A",
                OK "\n? ext.cluster.local. IN A\n= ext.cluster.local. 100 CNAME www.example.com.\n"
                   "= www.example.com. 100 A 192.0.2.1");
}

/* Upstreams deny a target, fail, or were not asked, in either schema. */
UNIT_TEST_ON(external_outcomes, struct fixture *f)
{
    enum { SCHEMAS = 2 };
    static const struct {
        enum external_outcome outcome;
        const char *target, *address, *want[SCHEMAS];
    } rows[] = {
        {EXTERNAL_NOT_ASKED,
         NULL,
         NULL,
         {OK "\n? ext.cluster.local. IN A",
          OK "\n? ext.cluster.local. IN A\n= ext.cluster.local. 300 CNAME www.example.com."}},
        {EXTERNAL_DENIED,
         NULL,
         NULL,
         {OK "\n? ext.cluster.local. IN A" SOA,
          OK "\n? ext.cluster.local. IN A\n= ext.cluster.local. 300 CNAME www.example.com."}},
        {EXTERNAL_TRUNCATED,
         NULL,
         "192.0.2.1",
         {"NOERROR qr aa tc rd ra\n? ext.cluster.local. IN A\n"
          "= ext.cluster.local. 100 CNAME www.example.com.\n= www.example.com. 100 A 192.0.2.1",
          "NOERROR qr aa tc rd ra\n? ext.cluster.local. IN A\n"
          "= ext.cluster.local. 100 CNAME www.example.com.\n= www.example.com. 100 A 192.0.2.1"}},
        {EXTERNAL_TRUNCATED,
         NULL,
         NULL,
         {"NOERROR qr aa tc rd ra\n? ext.cluster.local. IN A",
          "NOERROR qr aa tc rd ra\n? ext.cluster.local. IN A\n"
          "= ext.cluster.local. 300 CNAME www.example.com."}},
        {EXTERNAL_FAILED,
         NULL,
         NULL,
         {"SERVFAIL qr rd ra\n? ext.cluster.local. IN A",
          "SERVFAIL qr rd ra\n? ext.cluster.local. IN A"}},
    };
    CLEANUP(said_fini) struct said said;
    f->config.has_nameservers = true;
    said_init(&said, f);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (unsigned schema = 0; schema < SCHEMAS; schema++) {
            f->config.settings.schema = schema ? ENGINE_SCHEMA_KUBERNETES : ENGINE_SCHEMA_SKYDNS;
            engine_say(&said, 0, rows[i].outcome, 100, rows[i].target, rows[i].address);
            engine_want(f, "ext.cluster.local. A", rows[i].want[schema]);
        }
    }
}

/* RD is clear: nobody is asked, whatever the schema, the flags and the way to the target. */
UNIT_TEST_ON(without_recursion, struct fixture *f)
{
    static const struct fixture_key more[] = {
        {"local/cluster/way", "{'host':'ext.cluster.local','ttl':50}"},
        {"local/cluster/both/1", "{'host':'10.0.0.9','ttl':50}"},
        {"local/cluster/both/2", "{'host':'www.example.com','ttl':50}"},
    };
    static const char ext_alone[] =
        "NOERROR qr aa ra\n? ext.cluster.local. IN A\n= ext.cluster.local. 300 CNAME "
        "www.example.com.";
    static const char way_alone[] =
        "NOERROR qr aa ra\n? way.cluster.local. IN A\n= way.cluster.local. 50 CNAME "
        "ext.cluster.local.\n= ext.cluster.local. 50 CNAME www.example.com.";
    fixture_put(f, more, ARRAY_LEN(more));
    for (unsigned i = 0; i < 8; i++) {
        f->config.has_nameservers = i & 1;
        f->config.settings.no_rec = i & 2;
        f->config.settings.schema = i & 4 ? ENGINE_SCHEMA_KUBERNETES : ENGINE_SCHEMA_SKYDNS;
        engine_want(f, "ext.cluster.local. A nord", ext_alone);
        engine_want(f, "ext.cluster.local. A nord tcp", ext_alone);
        engine_want(f, "way.cluster.local. A nord", way_alone);
        engine_want(
            f, "both.cluster.local. A nord",
            "NOERROR qr aa ra\n? both.cluster.local. IN A\n= both.cluster.local. 50 A 10.0.0.9");
    }
    f->config.settings.schema = ENGINE_SCHEMA_SKYDNS;
    f->config.has_nameservers = true;
    engine_want(f, "_s.cluster.local. SRV nord",
                "NOERROR qr aa ra\n? _s.cluster.local. IN SRV"
                "\n= _s.cluster.local. 3600 SRV 10 33 80 www.example.com."
                "\n= _s.cluster.local. 3600 SRV 10 33 81 www.example.com."
                "\n= _s.cluster.local. 3600 SRV 10 33 82 web.cluster.local."
                "\n+ web.cluster.local. 30 A 10.0.0.1");
}

/* Two ways to one target: its records are there once, and all CNAMEs that lead to it. */
UNIT_TEST_ON(external_target_of_many, struct fixture *f)
{
    static const struct fixture_key ways[] = {
        {"local/cluster/way/1", "{'host':'p.cluster.local','ttl':50}"},
        {"local/cluster/way/2", "{'host':'q.cluster.local','ttl':50}"},
        {"local/cluster/p", "{'host':'www.example.com','ttl':50}"},
        {"local/cluster/q", "{'host':'WWW.example.com','ttl':50}"},
    };
    CLEANUP(said_fini) struct said said;
    fixture_put(f, ways, ARRAY_LEN(ways));
    f->config.has_nameservers = true;
    said_init(&said, f);
    engine_say(&said, 0, EXTERNAL_ANSWERED, 50, NULL, "192.0.2.1");
    engine_want(f, "way.cluster.local. A",
                OK
                "\n? way.cluster.local. IN A\n= way.cluster.local. 50 CNAME q.cluster.local.\n"
                "= p.cluster.local. 50 CNAME www.example.com.\n= www.example.com. 50 A 192.0.2.1\n"
                "= q.cluster.local. 50 CNAME WWW.example.com.");
}

UNIT_TEST_ON(external_targets, struct fixture *f)
{
    CLEANUP(said_fini) struct said said;
    f->config.has_nameservers = true;
    engine_want(f, "_s.cluster.local. SRV", "lookup www.example.com./A www.example.com./AAAA");
    engine_want(f, "_s.cluster.local. AAAA", "lookup www.example.com./AAAA");
#define SRVS                                                      \
    OK "\n? _s.cluster.local. IN SRV\n"                           \
       "= _s.cluster.local. 3600 SRV 10 33 80 www.example.com.\n" \
       "= _s.cluster.local. 3600 SRV 10 33 81 www.example.com.\n" \
       "= _s.cluster.local. 3600 SRV 10 33 82 web.cluster.local.\n"
    said_init(&said, f);
    engine_say(&said, 0, EXTERNAL_ANSWERED, 500, "cdn.example.net.", "192.0.2.1");
    engine_say(&said, 1, EXTERNAL_ANSWERED, 70, "cdn.example.net.", "2001:db8::1");
    engine_want(f, "_s.cluster.local. SRV",
                SRVS
                "+ www.example.com. 5 CNAME cdn.example.net.\n+ cdn.example.net. 500 A 192.0.2.1\n"
                "+ cdn.example.net. 70 AAAA 2001:db8::1\n+ web.cluster.local. 30 A 10.0.0.1");
    /* Part of an address set would look like the whole. */
    engine_say(&said, 0, EXTERNAL_TRUNCATED, 500, NULL, "192.0.2.1");
    engine_say(&said, 1, EXTERNAL_FAILED, 0, NULL, NULL);
    engine_want(f, "_s.cluster.local. SRV", SRVS "+ web.cluster.local. 30 A 10.0.0.1");
    engine_want(f, "_s.cluster.local. AAAA", "SERVFAIL qr rd ra\n? _s.cluster.local. IN AAAA");
    /* An address of ours is still an answer. */
    engine_say(&said, 0, EXTERNAL_FAILED, 0, NULL, NULL);
    engine_want(f, "_s.cluster.local. A",
                OK "\n? _s.cluster.local. IN A\n= _s.cluster.local. 30 CNAME web.cluster.local.\n"
                   "= web.cluster.local. 30 A 10.0.0.1");
}

/* Sixteen questions go upstream, two for each target; the other targets get no addresses. */
UNIT_TEST_ON(many_external_targets, struct fixture *f)
{
    for (unsigned i = 0; i < 20; i++) {
        char key[64], value[64];
        (void)snprintf(key, sizeof(key), "local/cluster/_t/%c", 'a' + (int)i);
        (void)snprintf(value, sizeof(value), "{'host':'h%u.example.com'}", i);
        fixture_put(f, &(struct fixture_key){key, value}, 1);
    }
    f->config.has_nameservers = true;
    fixture_ask(f, "_t.cluster.local. SRV");
    assert_int_equal(f->verdict, ENGINE_DEFER);
    assert_int_equal(f->deferral.kind, ENGINE_DEFER_LOOKUP);
    assert_int_equal(f->deferral.question_count, ENGINE_EXTERNAL_MAX);
    f->has_externals = true;
    assert_int_equal(engine_count_lines(fixture_ask(f, "_t.cluster.local. SRV tcp"), "\n= "), 20);
}

/* Up to 512 records the worker answers itself; one more goes to the walker. */
UNIT_TEST_ON(scans, struct fixture *f)
{
    engine_put_many(f, "w", ENGINE_SCAN_MAX - 1);
    assert_int_equal(engine_count_lines(fixture_ask(f, "w.cluster.local. A tcp"), "\n= "), 511);
    engine_put_many(f, "w", ENGINE_SCAN_MAX + 1);
    engine_want(f, "w.cluster.local. A tcp", "walk");
    engine_want(f, "cluster.local. SRV tcp", "walk");
    engine_want(f, "*.w.cluster.local. A tcp", "walk");
    engine_want(f, "h1.*.cluster.local. A",
                OK "\n? h1.*.cluster.local. IN A\n= h1.*.cluster.local. 3600 A 10.100.0.1");
    engine_want(f, "w.cluster.local. TYPE65", OK "\n? w.cluster.local. IN TYPE65" SOA);
    f->may_scan = true;
    const char *got = fixture_ask(f, "w.cluster.local. A");
    assert_int_equal(engine_count_lines(got, "\n= "), 29);
    assert_non_null(strstr(got, " tc"));
    /* 4,093 fit 65,535 bytes after header and question; there is no way to ask for more */
    f->config.settings.round_robin = true;
    engine_put_many(f, "w", 4093);
    assert_int_equal(engine_count_lines(fixture_ask(f, "w.cluster.local. A tcp"), "\n= "), 4093);
    engine_put_many(f, "w", 4094);
    assert_int_equal(engine_count_lines(fixture_ask(f, "w.cluster.local. A tcp"), "\n= "), 4093);
    assert_non_null(strstr(f->text, "NOERROR qr aa tc rd ra"));
    assert_int_equal(engine_count_lines(fixture_ask(f, "w.cluster.local. A tcp edns=512"), "\n= "),
                     4093);
    assert_non_null(strstr(f->text, "NOERROR qr aa tc rd ra"));
    assert_non_null(strstr(fixture_ask(f, "w.cluster.local. A"), "NOERROR qr aa tc rd ra"));
}

/* Over a stream, a client asks for no more: each of the records that do not fit has its turn. */
UNIT_TEST_ON(parts_over_streams, struct fixture *f)
{
    enum { MANY = 3000, TURNS = 12 };
    static const char *const questions[] = {"w.cluster.local. SRV tcp", "w.cluster.local. A tcp",
                                            "t.cluster.local. TXT tcp"};
    engine_put_many(f, "w", 2 * MANY);
    for (unsigned i = 0; i < MANY; i++) {
        char key[40], value[60];
        (void)snprintf(key, sizeof(key), "local/cluster/t/k%u", i);
        (void)snprintf(value, sizeof(value), "{'text':'a text of some bytes, and this: %u'}", i);
        fixture_put(f, &(struct fixture_key){key, value}, 1);
    }
    f->may_scan = true;
    for (unsigned q = 0; q < ARRAY_LEN(questions); q++) {
        char *first = NULL;
        for (unsigned rotates = 0; rotates < 2; rotates++) {
            unsigned different = 0;
            f->config.settings.round_robin = rotates;
            for (unsigned turn = 0; turn < TURNS; turn++) {
                f->random = turn * 1000;
                const char *got = fixture_ask(f, questions[q]);
                assert_int_equal(strncmp(got, "NOERROR qr aa tc rd ra", 22), 0);
                assert_true(f->reply_len > 65535 - 100);
                first = first ? first : xstrdup(got);
                different += strcmp(first, got) != 0;
            }
            assert_int_equal(different > TURNS / 2, rotates);
        }
        free(first);
    }
}

/* ---- Names with thousands of records ---- */

enum { LARGE = 4000 };

/* A name without such data is denied for its depth, not its records: also when others wait. */
UNIT_TEST_ON(no_data_at_large_names, struct fixture *f)
{
    static const char *const questions[] = {"m.cluster.local. AAAA",  "m.cluster.local. TXT",
                                            "m.cluster.local. MX",    "*.m.cluster.local. AAAA",
                                            "cluster.local. MX",      "*.cluster.local. TXT tcp",
                                            "m.cluster.local. TYPE65"};
    engine_put_many(f, "m", LARGE);
    f->is_brief = true;
    for (size_t i = 0; i < ARRAY_LEN(questions); i++) {
        const char *got = fixture_ask(f, questions[i]);
        assert_that(strncmp(got, OK "\n? ", sizeof(OK "\n? ") - 1) == 0 && strstr(got, SOA),
                    "%s: %s", questions[i], got);
    }
}

/* An answer that cannot hold all costs what it holds: EDNS options keep it off the fast path. */
UNIT_TEST_ON(answers_cost_what_fits, struct fixture *f)
{
    const struct fixture_key alias = {"local/cluster/alias",
                                      "{'host':'m.cluster.local','port':80}"};
    engine_put_many(f, "m", LARGE);
    fixture_put(f, &alias, 1);
    f->is_brief = true;
    for (int rotates = 0; rotates < 2; rotates++) {
        f->config.settings.round_robin = rotates;
        assert_int_equal(engine_count_lines(fixture_ask(f, "m.cluster.local. A"), "\n= "), 29);
        const char *got = fixture_ask(f, "alias.cluster.local. A edns=1232");
        assert_int_equal(engine_count_lines(got, "\n= "), 74); /* a CNAME, and 73 addresses */
        assert_non_null(strstr(got, " tc"));
        /* all addresses of a target or none */
        engine_want(f, "alias.cluster.local. SRV",
                    OK "\n? alias.cluster.local. IN SRV\n= "
                       "alias.cluster.local. 3600 SRV 10 100 80 "
                       "m.cluster.local.");
    }
}

/* The last two bytes of each address of the answer count one. */
static unsigned count_addresses(const struct fixture *f, size_t name_len, unsigned *seen)
{
    enum { QUESTION = 12 + 4, RECORD = 16 };
    unsigned answers = (unsigned)f->reply[6] << 8 | f->reply[7];
    for (unsigned i = 0; i < answers; i++) {
        const uint8_t *end = f->reply + QUESTION + name_len + (size_t)(i + 1) * RECORD;
        seen[end[-2] * 256 + end[-1]]++;
    }
    return answers;
}

/* Over UDP, a reply that cannot hold all is cut without a walk, with as many as fit. What might fit
 * is walked. */
UNIT_TEST_ON(replies_that_are_cut_need_no_scan, struct fixture *f)
{
    static const char *const copies = "{'host':'web.cluster.local','port':80}";
    static const struct {
        const char *question;
        unsigned least;
    } cut[] = {{"m.cluster.local. SRV", 11}, {"*.m.cluster.local. SRV edns=1232", 28}};
    engine_put_many(f, "m", LARGE);
    f->config.settings.round_robin = true;
    for (int brief = 0; brief < 2; brief++) {
        f->is_brief = brief;
        for (size_t i = 0; i < ARRAY_LEN(cut); i++) {
            const char *srv = fixture_ask(f, cut[i].question);
            assert_in_range(engine_count_lines(srv, "\n= "), cut[i].least, cut[i].least + 3);
            assert_int_equal(engine_count_lines(srv, "\n+ "), 0);
            assert_non_null(strstr(srv, " tc"));
        }
        const char *got = fixture_ask(f, "*.m.cluster.local. A");
        assert_int_equal(engine_count_lines(got, "\n= "), 29);
        assert_non_null(strstr(got, " tc"));
        engine_want(f, "*.m.cluster.local. SRV tcp", "walk");
    }
    for (unsigned i = 0; i <= ENGINE_SCAN_MAX; i++) {
        char key[64];
        (void)snprintf(key, sizeof(key), "local/cluster/c/%u", i);
        fixture_put(f, &(struct fixture_key){key, copies}, 1);
    }
    engine_want(f, "c.cluster.local. SRV", "walk"); /* all are one record */
    fixture_put(f, &(struct fixture_key){"local/cluster/m/g", "{'host':'10.0.0.1','group':'g'}"},
                1);
    engine_want(f, "m.cluster.local. SRV", "walk"); /* perhaps it is the only one of its group */
}

/* Each of the names that a wildcard matches has its turn. */
UNIT_TEST_ON(all_matches_have_their_turn, struct fixture *f)
{
    enum { MANY = 1000, ROUNDS = 4000 };
    static unsigned seen[MANY];
    unsigned unseen = 0;
    engine_put_many(f, "m", MANY);
    f->config.settings.round_robin = true;
    f->random = 1;
    for (unsigned i = 0; i < ROUNDS; i++) {
        f->random = f->random * 1664525 + 1013904223;
        (void)fixture_ask(f, "*.m.cluster.local. A");
        (void)count_addresses(f, 19, seen);
    }
    for (unsigned i = 0; i < MANY; i++) {
        unseen += seen[i] == 0;
    }
    assert_int_equal(unseen, 0);
}

/* Each of many addresses has its turn in replies that hold a few, and about as often. */
UNIT_TEST_ON(all_addresses_have_their_turn, struct fixture *f)
{
    enum { MANY = 500, ROUNDS = 20000 };
    static unsigned seen[MANY], total;
    engine_put_many(f, "m", MANY);
    f->config.settings.round_robin = true;
    f->random = 1;
    for (unsigned i = 0; i < ROUNDS; i++) {
        f->random = f->random * 1664525 + 1013904223;
        (void)fixture_ask(f, "m.cluster.local. A");
        total += count_addresses(f, 17, seen);
    }
    assert_int_equal(total, ROUNDS * 29);
    for (unsigned i = 0; i < MANY; i++) { /* 1,160 is an even share: 8 standard deviations */
        assert_in_range(seen[i], 880, 1440);
    }
}

/* TC says that there is more: not that there are more records than different addresses. */
UNIT_TEST_ON(repeated_addresses_are_one, struct fixture *f)
{
    enum { COPIES = 100 };
    for (unsigned i = 0; i < COPIES; i++) {
        char key[64], value[64];
        (void)snprintf(key, sizeof(key), "local/cluster/r/%u", i);
        (void)snprintf(value, sizeof(value), "{'host':'10.7.0.%u','ttl':%u,'port':%u}", i % 3,
                       100 + i, i);
        fixture_put(f, &(struct fixture_key){key, value}, 1);
    }
    for (int rotates = 0; rotates < 2; rotates++) {
        f->config.settings.round_robin = rotates;
        const char *got = fixture_ask(f, "r.cluster.local. A");
        assert_int_equal(engine_count_lines(got, "\n= r.cluster.local. 100 A 10.7.0."), 3);
        assert_int_equal(engine_count_lines(got, "\n= "), 3);
        assert_null(strstr(got, " tc"));
    }
}

/* A name among many addresses is not left out as long as it could fit. */
UNIT_TEST_ON(names_among_many_addresses, struct fixture *f)
{
    static const struct fixture_key name = {"local/cluster/m/alias",
                                            "{'host':'web.cluster.local','ttl':30}"};
    engine_put_many(f, "m", 60);
    fixture_put(f, &name, 1);
    f->config.settings.round_robin = true;
    const char *got = fixture_ask(f, "m.cluster.local. A edns=1232");
    assert_int_equal(engine_count_lines(got, "\n= "), 62);
    assert_null(strstr(got, " tc"));
    got = fixture_ask(f, "m.cluster.local. A");
    assert_non_null(strstr(got, " tc"));
}

/* ---- Walkers ---- */

static unsigned late_asked, late_after;

static bool engine_count_late(void *data)
{
    return ++late_asked > late_after;
}

/* How often an answer asks whether it is late: at its start, and with every thousand visits. */
static unsigned lates_of(struct fixture *f, const char *question, const char *part)
{
    late_asked = 0;
    const char *got = fixture_ask(f, question);
    assert_that(strstr(got, part), "%s: %s\nlacks %s", question, got, part);
    return late_asked;
}

/* The same question costs one walk for each version of the store; others cost their own. */
UNIT_TEST_ON(scans_are_cached_for_their_version, struct fixture *f)
{
    static const char question[] = "h77.*.cluster.local. A tcp";
    static const struct fixture_key other = {"local/cluster/other/h77", "{'host':'10.0.7.7'}"};
    for (unsigned i = 0; i < 3000; i++) {
        char key[64];
        (void)snprintf(key, sizeof(key), "local/cluster/n%u/h77", i);
        fixture_put(f, &(struct fixture_key){key, "{'host':'10.0.0.77'}"}, 1);
    }
    f->may_scan = true;
    f->is_late = engine_count_late;
    late_after = UINT32_MAX;
    assert_true(lates_of(f, question, "10.0.0.77") > 1);
    assert_in_range(lates_of(f, question, "10.0.0.77"), 0, 1);
    assert_in_range(lates_of(f, "H77.*.cluster.local. A", "10.0.0.77"), 0, 1);
    assert_true(lates_of(f, "h78.*.cluster.local. A tcp", "NOERROR") > 1);
    assert_in_range(lates_of(f, question, "10.0.0.77"), 0, 1);
    fixture_put(f, &other, 1);
    assert_true(lates_of(f, question, "10.0.7.7") > 1);
    assert_in_range(lates_of(f, question, "10.0.7.7"), 0, 1);
    for (unsigned i = 0; i < 40; i++) { /* more names than are kept */
        char name[64];
        (void)snprintf(name, sizeof(name), "y%u.*.cluster.local. A tcp", i);
        assert_true(lates_of(f, name, "NOERROR") > 1);
    }
    assert_true(lates_of(f, question, "10.0.7.7") > 1);
}

/* A walk that takes too long is a failure, not part of an answer; the next question is answered. */
UNIT_TEST_ON(scans_end_in_time, struct fixture *f)
{
    static const char *const questions[] = {
        "*.m.cluster.local. A tcp", "m.cluster.local. SRV tcp",
        "alias.cluster.local. SRV tcp", /* in the middle of a target's addresses */
    };
    static const struct fixture_key alias = {"local/cluster/alias/x",
                                             "{'host':'*.m.cluster.local','port':80}"};
    engine_put_many(f, "m", LARGE);
    fixture_put(f, &alias, 1);
    f->may_scan = true;
    f->is_late = engine_count_late;
    late_after = 1;
    for (size_t i = 0; i < ARRAY_LEN(questions); i++) {
        (void)lates_of(f, questions[i], "SERVFAIL");
        assert_int_equal(f->verdict, ENGINE_REPLY);
    }
    late_after = UINT32_MAX;
    (void)lates_of(f, questions[0], "NOERROR");
}

/* Records that each point to a name with many records: the work stays bounded on both threads. */
UNIT_TEST_ON(fan_out, struct fixture *f)
{
    for (unsigned i = 0; i < 64; i++) {
        char key[64], value[64];
        (void)snprintf(key, sizeof(key), "local/cluster/f%u/%u", i / 8, i % 8);
        (void)snprintf(value, sizeof(value), "{'host':'f%u.cluster.local','port':%u}",
                       (i / 8 + 1 + i % 3) % 8, i + 1);
        fixture_put(f, &(struct fixture_key){key, value}, 1);
    }
    engine_want(f, "f0.cluster.local. A", "walk");
    f->may_scan = true;
    engine_want(f, "f0.cluster.local. A", OK "\n? f0.cluster.local. IN A" SOA);
}

static struct engine_query engine_query_of(const struct fixture *f, enum engine_transport transport)
{
    return (struct engine_query){.wire = f->query,
                                 .len = f->query_len,
                                 .client = &f->local,
                                 .local = &f->local,
                                 .transport = transport};
}

UNIT_TEST_ON(servfail, struct fixture *f)
{
    struct engine_query query =
        engine_query_of(f, fixture_query(f, "WWW.example.com. A edns=512 do"));
    query.len = f->query_len;
    assert_true(engine_servfail(f->engine, &query, EDNS_ERROR_NONE, &f->response));
    assert_string_equal(dns_text(f->reply, f->response.len, f->text, sizeof(f->text)),
                        "SERVFAIL qr rd ra\n? WWW.example.com. IN A\nedns 1232 do");
    assert_memory_equal(f->reply, "\x12\x34", 2);
    query.len = 11;
    assert_false(engine_servfail(f->engine, &query, EDNS_ERROR_NONE, &f->response));
}

/* Padding and keepalive, of an answer and of an error; plain TCP has neither. */
UNIT_TEST_ON(asked_of_the_transport, struct fixture *f)
{
    static const uint8_t options[] = {0, 12, 0, 2, 0, 0, 0, 11, 0, 0};
    (void)fixture_query(f, "nope.cluster.local. A edns=1232");
    memcpy(f->query + f->query_len, options, sizeof(options));
    f->query[f->query_len - 1] = sizeof(options);
    f->query_len += sizeof(options);
    (void)fixture_answer(f, ENGINE_TCP);
    const size_t len = f->reply_len, opt_at = f->response.opt_at;
    assert_int_equal(opt_at + EDNS_OPT_SIZE, len);
    assert_non_null(strstr(fixture_answer(f, ENGINE_TLS), "\nedns 1232 keepalive=0 padding="));
    assert_int_equal(f->reply_len, 468);
    assert_int_equal(f->response.opt_at, opt_at);
    assert_non_null(strstr(fixture_answer(f, ENGINE_HTTP), "\nedns 1232 padding="));
    assert_int_equal(f->reply_len, 468);
    struct engine_query query = engine_query_of(f, ENGINE_TLS);
    query.idle_ms = 30000;
    assert_true(engine_servfail(f->engine, &query, EDNS_ERROR_NONE, &f->response));
    assert_int_equal(f->response.len, 468);
    assert_non_null(strstr(dns_text(f->reply, f->response.len, f->text, sizeof(f->text)),
                           "\nedns 1232 keepalive=300 padding="));
}

/* An upstream's reply to `WWW.example.com. A` with `count` addresses. Returns the length. */
static size_t make_upstream(uint8_t *wire, uint16_t flags, unsigned count)
{
    static const uint8_t question[] = "\x03www\x07"
                                      "example\x03"
                                      "com\x00\x00\x01\x00\x01";
    uint8_t header[] = {0x99,
                        0x99,
                        (uint8_t)(flags >> 8),
                        (uint8_t)flags,
                        0,
                        1,
                        (uint8_t)(count >> 8),
                        (uint8_t)count,
                        0,
                        0,
                        0,
                        0};
    memcpy(wire, header, 12);
    memcpy(wire + 12, question, sizeof(question) - 1);
    size_t len = 12 + sizeof(question) - 1;
    for (unsigned i = 0; i < count; i++, len += 16) {
        memcpy(wire + len, "\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x4d\x00\x04\xc0\x00\x02", 15);
        wire[len + 15] = (uint8_t)i;
    }
    return len;
}

static const char *forwarded_text(struct fixture *f, const char *question, const uint8_t *upstream,
                                  size_t upstream_len)
{
    enum engine_transport transport = fixture_query(f, question);
    struct engine_query query = engine_query_of(f, transport);
    return engine_forwarded_bytes(f->engine, &query, upstream, upstream_len, &f->response)
               ? dns_text(f->reply, f->response.len, f->text, sizeof(f->text))
               : "invalid";
}

UNIT_TEST_ON(forwarded_replies, struct fixture *f)
{
    static const char asked[] = "WWW.example.com. A";
    static uint8_t up[DNS_MESSAGE_MAX];
    size_t len = make_upstream(up, 0x8180, 1);
    assert_string_equal(
        forwarded_text(f, asked, up, len),
        "NOERROR qr rd ra\n? WWW.example.com. IN A\n= WWW.example.com. 77 A 192.0.2.0");
    assert_memory_equal(f->reply, "\x12\x34", 2);
    assert_string_equal(forwarded_text(f, "www.example.org. A", up, len), "invalid");
    assert_string_equal(forwarded_text(f, "www.example.com. AAAA", up, len), "invalid");
    assert_string_equal(forwarded_text(f, "www.example.com. A ch", up, len), "invalid");
    assert_string_equal(forwarded_text(f, asked, up, 11), "invalid");
    assert_string_equal(forwarded_text(f, asked, up, 30), "invalid");
    up[2] = 0x01; /* a query */
    assert_string_equal(forwarded_text(f, asked, up, len), "invalid");
    up[2] = 0xa1; /* a reply to something else */
    assert_string_equal(forwarded_text(f, asked, up, len), "invalid");

    len = make_upstream(up, 0x8180, 40); /* 33 + 640 */
    assert_int_equal(engine_count_lines(forwarded_text(f, asked, up, len), "\n= "), 29);
    assert_non_null(strstr(forwarded_text(f, asked, up, len), " tc"));
    assert_int_equal(
        engine_count_lines(forwarded_text(f, "www.example.com. A edns=600 do", up, len), "\n= "),
        34);
    assert_int_equal(
        engine_count_lines(forwarded_text(f, "www.example.com. A edns=683", up, len), "\n= "), 39);
    assert_int_equal(
        engine_count_lines(forwarded_text(f, "www.example.com. A edns=684", up, len), "\n= "), 40);
    assert_int_equal(
        engine_count_lines(forwarded_text(f, "www.example.com. A tcp", up, len), "\n= "), 40);

    len = make_upstream(up, 0x8380, 1); /* truncated: a TCP client needs the complete reply */
    assert_string_equal(
        forwarded_text(f, "www.example.com. A", up, len),
        "NOERROR qr tc rd ra\n? www.example.com. IN A\n= www.example.com. 77 A 192.0.2.0");
    assert_string_equal(forwarded_text(f, "www.example.com. A tcp", up, len), "invalid");

    len = make_upstream(up, 0x8180, 4093); /* 65,521 bytes, then 14: without room for EDNS */
    memcpy(up + len, "\0\0\x10\0\1\0\0\0\0\0\3\2hi", 14);
    up[7]++;
    len += 14;
    assert_int_equal(
        engine_count_lines(forwarded_text(f, "www.example.com. A tcp", up, len), "\n= "), 4094);
    assert_string_equal(forwarded_text(f, "www.example.com. A tcp edns=512", up, len), "invalid");

    len = make_upstream(up, 0x8583, 0); /* NXDOMAIN with AA */
    assert_string_equal(forwarded_text(f, asked, up, len),
                        "NXDOMAIN qr rd ra\n? WWW.example.com. IN A");
    up[5] = 0; /* an error may be a bare header, an answer may not */
    up[3] = 0x85;
    assert_string_equal(forwarded_text(f, asked, up, 12),
                        "REFUSED qr rd ra\n? WWW.example.com. IN A");
    up[3] = 0x80;
    assert_string_equal(forwarded_text(f, asked, up, 12), "invalid");
}
