/* Special names: which they are, what they answer, and as targets of our records. */
#include "skydns/answer/special_names.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"
#include "tests/unit/skydns/answer/foreign_bed.h"

#define LOOPBACK6 "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa."
#define SOA                                                                                \
    "\n! . 300 SOA ns.dns.cluster.local. hostmaster.cluster.local. 1760702400 28800 7200 " \
    "604800 300"

UNIT_TEST(test_kinds)
{
    static const struct {
        const char *name;
        enum special_kind kind;
    } rows[] = {
        {"localhost.", SPECIAL_LOCALHOST},
        {"a.b.localhost.", SPECIAL_LOCALHOST},
        {"alocalhost.", SPECIAL_NONE},
        {"localhost.test.", SPECIAL_NONE},
        {"invalid.", SPECIAL_DENIED},
        {"a.invalid.", SPECIAL_DENIED},
        {"onion.", SPECIAL_DENIED},
        {"a.b.onion.", SPECIAL_DENIED},
        {"ionion.", SPECIAL_NONE},
        {"resolver.arpa.", SPECIAL_NO_DATA},
        {"_dns.resolver.arpa.", SPECIAL_NO_DATA},
        {"arpa.", SPECIAL_NONE},
        {".", SPECIAL_NONE},
        {"1.0.0.127.in-addr.arpa.", SPECIAL_POINTER},
        {"a.1.0.0.127.in-addr.arpa.", SPECIAL_NONE},
        {"2.0.0.127.in-addr.arpa.", SPECIAL_NONE},
        {"0.0.127.in-addr.arpa.", SPECIAL_NONE},
        {LOOPBACK6, SPECIAL_POINTER},
        {"2" LOOPBACK6, SPECIAL_NONE},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct dname name = dname_from(rows[i].name);
        assert_that(special_name_find(&name, NULL) == rows[i].kind, "%s", rows[i].name);
    }
}

/* The root's nameservers and a stub zone above do not matter. */
UNIT_TEST(test_zones)
{
    static const struct {
        const char *zone;
        enum special_kind kind;
    } rows[] = {{".", SPECIAL_NO_DATA},
                {"arpa.", SPECIAL_NO_DATA},
                {"resolver.arpa.", SPECIAL_NONE},
                {"b.resolver.arpa.", SPECIAL_NONE}};
    const struct dname name = dname_from("a.b.resolver.arpa.");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct forward_zone zone;
        bed_zone(&zone, rows[i].zone, 1);
        assert_int_equal(special_name_find(&name, &zone), rows[i].kind);
    }
}

UNIT_TEST(test_answers)
{
    static const struct fixture_key keys[] = {
        {"local/cluster/home", "{'host':'x.localhost','ttl':400}"},
        {"local/cluster/gone", "{'host':'x.onion','ttl':400}"},
        {"arpa/in-addr/127/0/0/1", "{'host':'web.cluster.local','ttl':30}"},
    };
    static const struct {
        const char *question, *want;
    } rows[] = {
        {"LocalHost. A", "NOERROR qr rd ra\n? LocalHost. IN A\n= LocalHost. 300 A 127.0.0.1"},
        {"localhost. AAAA nord", "NOERROR qr ra\n? localhost. IN AAAA\n= localhost. 300 AAAA ::1"},
        {"a.localhost. TXT", "NOERROR qr rd ra\n? a.localhost. IN TXT" SOA},
        {"invalid. A", "NXDOMAIN qr rd ra\n? invalid. IN A" SOA},
        {"a.onion. AAAA", "NXDOMAIN qr rd ra\n? a.onion. IN AAAA" SOA},
        {"_dns.resolver.arpa. TYPE64", "NOERROR qr rd ra\n? _dns.resolver.arpa. IN TYPE64" SOA},
        {LOOPBACK6 " PTR",
         "NOERROR qr rd ra\n? " LOOPBACK6 " IN PTR\n= " LOOPBACK6 " 300 PTR localhost."},
        {"1.0.0.127.in-addr.arpa. PTR", /* a key in etcd comes first, for this type */
         "NOERROR qr aa rd ra\n? 1.0.0.127.in-addr.arpa. IN PTR"
         "\n= 1.0.0.127.in-addr.arpa. 30 PTR web.cluster.local."},
        {"1.0.0.127.in-addr.arpa. A", "NOERROR qr rd ra\n? 1.0.0.127.in-addr.arpa. IN A" SOA},
        {"home.cluster.local. AAAA", "NOERROR qr aa rd ra\n? home.cluster.local. IN AAAA"
                                     "\n= home.cluster.local. 300 CNAME x.localhost."
                                     "\n= x.localhost. 300 AAAA ::1"},
        {"gone.cluster.local. A",
         "NOERROR qr aa rd ra\n? gone.cluster.local. IN A"
         "\n! cluster.local. 60 SOA ns.dns.cluster.local. hostmaster.cluster.local. 1760702400 "
         "28800 7200 604800 60"},
    };
    CLEANUP(bed_free) struct external_bed b = bed_new(keys, ARRAY_LEN(keys));
    for (unsigned is_off = 0; is_off < 2; is_off++) { /* -no-rec is about others */
        b.f->config.settings.no_rec = is_off;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            const char *got = fixture_ask(b.f, rows[i].question);
            assert_that(strcmp(got, rows[i].want) == 0, "`%s`: got\n%s\nwant\n%s", rows[i].question,
                        got, rows[i].want);
        }
    }
}
