/* Answers, type by type: question and complete reply as text, over a store of (key, value) pairs.
 * Encoding and truncation are in test_encode.c, odd messages and deferred questions in
 * test_engine.c. */
#include "common/base/version.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/unit_test.h"

#define OK "NOERROR qr aa rd ra"
#define SOA                                                                      \
    "\n! cluster.local. 60 SOA ns.dns.cluster.local. hostmaster.cluster.local. " \
    "1760702400 28800 7200 604800 60"

struct answer_case {
    const char *question;
    const char *want;
};

static const struct fixture_key keys[] = {
    /* a service with a cluster IP, as the writer stores it */
    {"local/cluster/svc/default/web/c88f1059",
     "{'host':'10.0.0.1','priority':10,'weight':10,'ttl':30,'targetstrip':0}"},
    {"local/cluster/svc/default/web/_tcp/_http/c88f1059",
     "{'host':'web.default.svc.cluster.local.','port':80,'priority':10,'weight':10,'ttl':30}"},
    {"local/cluster/svc/default/web/_tcp/_metrics/c88f1059",
     "{'host':'web.default.svc.cluster.local.','port':9090,'priority':10,'weight':10,'ttl':30}"},
    {"local/cluster/svc/other/web/19ccb11", "{'host':'10.0.0.9','ttl':30}"},
    /* headless, with an IPv6 endpoint */
    {"local/cluster/svc/default/db/db-0", "{'host':'10.1.0.1','ttl':30}"},
    {"local/cluster/svc/default/db/db-1", "{'host':'fd00::1','ttl':20}"},
    {"local/cluster/svc/default/db/_tcp/_sql/db-0",
     "{'host':'db-0.db.default.svc.cluster.local.','port':5432,'weight':10,'ttl':30}"},
    {"local/cluster/svc/default/db/_tcp/_sql/db-1",
     "{'host':'db-1.db.default.svc.cluster.local.','port':5432,'weight':20,'ttl':30}"},
    /* an external name */
    {"local/cluster/svc/default/ext", "{'host':'db.example.com.','ttl':30}"},
    {"arpa/in-addr/10/0/0/1", "{'host':'web.default.svc.cluster.local.','ttl':30}"},
    {"arpa/in-addr/10/0/0/2", "{'host':'10.9.9.9','ttl':30}"},
    {"arpa/ip6/f/d", "{'host':'v6.default.svc.cluster.local.'}"},

    /* CNAMEs: a1 -> a2 -> ... -> a10 -> address, b -> c -> b, d -> d */
    {"local/cluster/c/a1", "{'host':'a2.c.cluster.local'}"},
    {"local/cluster/c/a2", "{'host':'a3.c.cluster.local'}"},
    {"local/cluster/c/a3", "{'host':'a4.c.cluster.local'}"},
    {"local/cluster/c/a4", "{'host':'a5.c.cluster.local'}"},
    {"local/cluster/c/a5", "{'host':'a6.c.cluster.local'}"},
    {"local/cluster/c/a6", "{'host':'a7.c.cluster.local'}"},
    {"local/cluster/c/a7", "{'host':'a8.c.cluster.local'}"},
    {"local/cluster/c/a8", "{'host':'A9.c.cluster.local'}"},
    {"local/cluster/c/a9", "{'host':'a10.c.cluster.local'}"},
    {"local/cluster/c/a10", "{'host':'10.2.0.1'}"},
    {"local/cluster/c/b", "{'host':'c.c.cluster.local'}"},
    {"local/cluster/c/c", "{'host':'B.c.cluster.local'}"},
    {"local/cluster/c/d", "{'host':'D.C.cluster.local'}"},
    {"local/cluster/c/dangling", "{'host':'nope.c.cluster.local'}"},
    /* names that point to themselves and to an address */
    {"local/cluster/ring/x", "{'host':'RING.cluster.local'}"},
    {"local/cluster/ring/y", "{'host':'10.2.1.1'}"},
    {"local/cluster/r1/x", "{'host':'r2.cluster.local'}"},
    {"local/cluster/r1/y", "{'host':'10.2.1.2'}"},
    {"local/cluster/r2/x", "{'host':'R1.cluster.local'}"},
    {"local/cluster/r2/y", "{'host':'10.2.1.3'}"},
    {"local/cluster/two/x", "{'host':'a10.c.cluster.local','ttl':50}"},
    {"local/cluster/two/y", "{'host':'db-0.db.default.svc.cluster.local','ttl':40}"},

    /* values */
    {"local/cluster/ttl/long", "{'host':'10.3.0.1','ttl':7200}"},
    {"local/cluster/ttl/longer", "{'host':'10.3.0.2','ttl':7300}"},
    {"local/cluster/dup/a", "{'host':'10.4.0.1','port':80}"},
    {"local/cluster/dup/b", "{'host':'10.4.0.1','port':80,'ttl':5}"},
    {"local/cluster/dup/c", "{'host':'10.4.0.1','port':81}"},
    {"local/cluster/text/only", "{'text':'hello'}"},
    {"local/cluster/escaped/a", "{'text':'v=1\\\\; \\\\065\\\\\\\\c'}"},
    {"local/cluster/escaped/b", "{'text':'v=1; A\\\\\\\\c'}"}, /* the same bytes */
    {"local/cluster/half", "{'text':'\\\\'}"},
    {"local/cluster/text/host", "{'text':'a text','host':'10.5.0.1'}"},
    {"local/cluster/bad", "{'host':'a..b'}"},
    {"local/cluster/both", "{'host':'10.6.0.1'}"},
    {"local/cluster/both/below", "{'host':'10.6.0.2'}"},
    {"local/cluster/strip/a/b", "{'host':'10.7.0.1','port':1,'targetstrip':2}"},
    {"local/cluster/strip/c", "{'host':'srv.example.com','port':2,'targetstrip':1}"},
    {"local/cluster/strip/d", "{'host':'10.7.0.2','port':3,'targetstrip':9}"},
    {"local/cluster/strip/e", "{'host':'a.b','port':4,'targetstrip':2}"},

    /* weights: 1, 2, 3 of 6; two without at another priority */
    {"local/cluster/weight/a", "{'host':'10.8.0.1','weight':1}"},
    {"local/cluster/weight/b", "{'host':'10.8.0.2','weight':2}"},
    {"local/cluster/weight/c", "{'host':'10.8.0.3','weight':3}"},
    {"local/cluster/weight/d", "{'host':'10.8.0.4','priority':20}"},
    {"local/cluster/weight/e", "{'host':'10.8.0.5','priority':20,'weight':300}"},
    {"local/cluster/heavy/a", "{'host':'10.8.1.1','weight':1}"},
    {"local/cluster/heavy/b", "{'host':'10.8.1.2','weight':65535}"},

    /* groups */
    {"local/cluster/g1/a", "{'host':'10.9.0.1','group':'x'}"},
    {"local/cluster/g1/sub/b", "{'host':'10.9.0.2','group':'y'}"},
    {"local/cluster/g1/sub/c", "{'host':'10.9.0.3','group':'x'}"},
    {"local/cluster/g1/sub/d", "{'host':'10.9.0.4'}"},
    {"local/cluster/g2/a", "{'host':'10.9.1.1','group':'x'}"},
    {"local/cluster/g2/b", "{'host':'10.9.1.2','group':'y'}"},
    {"local/cluster/g3/a", "{'host':'10.9.2.1'}"},
    {"local/cluster/g3/sub/b", "{'host':'10.9.2.2','group':'y'}"},
    {"local/cluster/g4/a/deep", "{'host':'10.9.3.1','group':'y'}"},
    {"local/cluster/g4/b", "{'host':'10.9.3.2','group':'x'}"},
    {"local/cluster/g5/a/deep", "{'host':'10.9.4.1','group':'y'}"},
    {"local/cluster/g5/b", "{'host':'10.9.4.2'}"},
    {"local/cluster/g5/c", "{'host':'10.9.4.3','group':'x'}"},
    {"local/cluster/g6/a", "{'text':'of the group','group':'x'}"},
    {"local/cluster/g6/sub/b", "{'text':'of another','group':'y'}"},

    /* mail */
    {"local/cluster/mail/a", "{'host':'10.10.0.1','mail':true,'targetstrip':1}"},
    {"local/cluster/mail/b", "{'host':'db.default.svc.cluster.local','mail':true,'priority':5}"},
    {"local/cluster/mail/c", "{'host':'10.10.0.3'}"},
    {"local/cluster/mail/d", "{'text':'no host','mail':true}"},

    {"local/cluster/dotted/a.b", "{'host':'10.12.0.1'}"},
    {"arpa/in-addr/a.b", "{'host':'web.default.svc.cluster.local'}"},
};

static struct fixture *answer_setup(void)
{
    return fixture_new(keys, ARRAY_LEN(keys));
}

UNIT_FIXTURE_MADE(answer_setup(), fixture_free)

static void answer_check(struct fixture *fixture, const struct answer_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        CLEANUP_FREE char *want = xasprintf("%s", cases[i].want);
        const char *got = fixture_ask(fixture, cases[i].question);
        assert_that(strcmp(got, want) == 0, "%s\nwant: %s\ngot:  %s", cases[i].question, want, got);
    }
}

static void check_once(const struct answer_case *cases, size_t count)
{
    struct fixture *fixture = answer_setup();
    answer_check(fixture, cases, count);
    fixture_free(fixture);
}

UNIT_TEST(addresses)
{
    static const struct answer_case cases[] = {
        {"web.default.svc.cluster.local. A", OK
         "\n? web.default.svc.cluster.local. IN A\n= web.default.svc.cluster.local. 30 A 10.0.0.1"},
        {"WEB.Default.svc.Cluster.LOCAL. A", OK
         "\n? WEB.Default.svc.Cluster.LOCAL. IN A\n= WEB.Default.svc.Cluster.LOCAL. 30 A 10.0.0.1"},
        {"web.default.svc.cluster.local. A nord",
         "NOERROR qr aa ra\n? web.default.svc.cluster.local. IN A\n"
         "= web.default.svc.cluster.local. 30 A 10.0.0.1"},
        {"web.default.svc.cluster.local. AAAA",
         OK "\n? web.default.svc.cluster.local. IN AAAA" SOA},
        {"db.default.svc.cluster.local. A", OK
         "\n? db.default.svc.cluster.local. IN A\n= db.default.svc.cluster.local. 30 A 10.1.0.1"},
        {"db.default.svc.cluster.local. AAAA", OK "\n? db.default.svc.cluster.local. IN AAAA\n= "
                                                  "db.default.svc.cluster.local. 20 AAAA fd00::1"},
        {"db-1.db.default.svc.cluster.local. AAAA",
         OK "\n? db-1.db.default.svc.cluster.local. IN AAAA\n"
            "= db-1.db.default.svc.cluster.local. 20 AAAA fd00::1"},
        {"nope.default.svc.cluster.local. A",
         "NXDOMAIN qr aa rd ra\n? nope.default.svc.cluster.local. IN A" SOA},
        {"x.web.default.svc.cluster.local. A",
         "NXDOMAIN qr aa rd ra\n? x.web.default.svc.cluster.local. IN A" SOA},
        {"text.cluster.local. A",
         OK "\n? text.cluster.local. IN A\n= text.cluster.local. 3600 A 10.5.0.1"},
        {"only.text.cluster.local. A", OK "\n? only.text.cluster.local. IN A" SOA},
        {"bad.cluster.local. A", OK "\n? bad.cluster.local. IN A" SOA},
        {"both.cluster.local. A",
         OK "\n? both.cluster.local. IN A\n= both.cluster.local. 3600 A 10.6.0.1\n"
            "= both.cluster.local. 3600 A 10.6.0.2"},
        {"ttl.cluster.local. A",
         OK "\n? ttl.cluster.local. IN A\n= ttl.cluster.local. 3600 A 10.3.0.1\n"
            "= ttl.cluster.local. 3600 A 10.3.0.2"},
        {"long.ttl.cluster.local. A",
         OK "\n? long.ttl.cluster.local. IN A\n= long.ttl.cluster.local. 7200 A 10.3.0.1"},
        {"dotted.cluster.local. A",
         OK "\n? dotted.cluster.local. IN A\n= dotted.cluster.local. 3600 A 10.12.0.1"},
        {"a\\.b.dotted.cluster.local. A",
         "NXDOMAIN qr aa rd ra\n? a\\.b.dotted.cluster.local. IN A" SOA},
        {"a\\.b.dotted.cluster.local. CNAME",
         "NXDOMAIN qr aa rd ra\n? a\\.b.dotted.cluster.local. IN CNAME" SOA},
        {"dup.cluster.local. A",
         OK "\n? dup.cluster.local. IN A\n= dup.cluster.local. 3600 A 10.4.0.1"},
    };
    check_once(cases, ARRAY_LEN(cases));
}

/* Labels before a name select, labels below it are listed, `_` hides from both. */
UNIT_TEST(subtrees)
{
    static const struct answer_case cases[] = {
        {"svc.cluster.local. A",
         OK "\n? svc.cluster.local. IN A\n= svc.cluster.local. 30 A 10.1.0.1\n"
            "= svc.cluster.local. 30 A 10.0.0.1\n= svc.cluster.local. 30 A 10.0.0.9"},
        {"svc.cluster.local. SRV",
         OK "\n? svc.cluster.local. IN SRV\n"
            "= svc.cluster.local. 20 SRV 10 24 0 db-0.db.default.svc.cluster.local.\n"
            "= svc.cluster.local. 20 SRV 10 24 0 db-1.db.default.svc.cluster.local.\n"
            "= svc.cluster.local. 20 SRV 10 24 0 db.example.com.\n"
            "= svc.cluster.local. 20 SRV 10 2 0 c88f1059.web.default.svc.cluster.local.\n"
            "= svc.cluster.local. 20 SRV 10 24 0 19ccb11.web.other.svc.cluster.local.\n"
            "+ db-0.db.default.svc.cluster.local. 30 A 10.1.0.1\n"
            "+ db-1.db.default.svc.cluster.local. 20 AAAA fd00::1\n"
            "+ c88f1059.web.default.svc.cluster.local. 30 A 10.0.0.1\n"
            "+ 19ccb11.web.other.svc.cluster.local. 30 A 10.0.0.9"},
        {"_tcp.web.default.svc.cluster.local. A",
         OK "\n? _tcp.web.default.svc.cluster.local. IN A" SOA},
        {"web.*.svc.cluster.local. A",
         OK "\n? web.*.svc.cluster.local. IN A\n= web.*.svc.cluster.local. 30 A 10.0.0.1\n"
            "= web.*.svc.cluster.local. 30 A 10.0.0.9"},
        {"web.ANY.svc.cluster.local. A",
         OK "\n? web.ANY.svc.cluster.local. IN A\n= web.ANY.svc.cluster.local. 30 A 10.0.0.1\n"
            "= web.ANY.svc.cluster.local. 30 A 10.0.0.9"},
        {"*.web.*.svc.cluster.local. A",
         OK "\n? *.web.*.svc.cluster.local. IN A\n= *.web.*.svc.cluster.local. 30 A 10.0.0.1\n"
            "= *.web.*.svc.cluster.local. 30 A 10.0.0.9"},
        {"*.*.web.*.svc.cluster.local. A", OK "\n? *.*.web.*.svc.cluster.local. IN A" SOA},
        {"*.c88f1059.web.default.svc.cluster.local. A",
         OK "\n? *.c88f1059.web.default.svc.cluster.local. IN A\n"
            "= *.c88f1059.web.default.svc.cluster.local. 30 A 10.0.0.1"},
        {"_http._tcp.*.default.svc.cluster.local. SRV",
         OK "\n? _http._tcp.*.default.svc.cluster.local. IN SRV" SOA},
        {"*._tcp.web.default.svc.cluster.local. SRV",
         OK "\n? *._tcp.web.default.svc.cluster.local. IN SRV" SOA},
        {"*.nope.cluster.local. A", "NXDOMAIN qr aa rd ra\n? *.nope.cluster.local. IN A" SOA},
        {"nope.*.cluster.local. TYPE65", OK "\n? nope.*.cluster.local. IN TYPE65" SOA},
        {"*.ttl.cluster.local. CNAME", OK "\n? *.ttl.cluster.local. IN CNAME" SOA},
    };
    check_once(cases, ARRAY_LEN(cases));
}

UNIT_TEST(services)
{
    static const struct answer_case cases[] = {
        {"_http._tcp.web.default.svc.cluster.local. SRV",
         OK "\n? _http._tcp.web.default.svc.cluster.local. IN SRV\n"
            "= _http._tcp.web.default.svc.cluster.local. 30 SRV 10 100 80 "
            "web.default.svc.cluster.local.\n"
            "+ web.default.svc.cluster.local. 30 A 10.0.0.1"},
        {"_HTTP._Tcp.web.default.svc.cluster.local. SRV",
         OK "\n? _HTTP._Tcp.web.default.svc.cluster.local. IN SRV\n"
            "= _HTTP._Tcp.web.default.svc.cluster.local. 30 SRV 10 100 80 "
            "web.default.svc.cluster.local.\n"
            "+ web.default.svc.cluster.local. 30 A 10.0.0.1"},
        {"_sql._tcp.db.default.svc.cluster.local. SRV",
         OK "\n? _sql._tcp.db.default.svc.cluster.local. IN SRV\n"
            "= _sql._tcp.db.default.svc.cluster.local. 30 SRV 10 33 5432 "
            "db-0.db.default.svc.cluster.local.\n"
            "= _sql._tcp.db.default.svc.cluster.local. 30 SRV 10 66 5432 "
            "db-1.db.default.svc.cluster.local.\n"
            "+ db-0.db.default.svc.cluster.local. 30 A 10.1.0.1\n"
            "+ db-1.db.default.svc.cluster.local. 20 AAAA fd00::1"},
        {"_nope._tcp.web.default.svc.cluster.local. SRV",
         "NXDOMAIN qr aa rd ra\n? _nope._tcp.web.default.svc.cluster.local. IN SRV" SOA},
        {"weight.cluster.local. SRV",
         OK "\n? weight.cluster.local. IN SRV\n"
            "= weight.cluster.local. 3600 SRV 10 16 0 a.weight.cluster.local.\n"
            "= weight.cluster.local. 3600 SRV 10 33 0 b.weight.cluster.local.\n"
            "= weight.cluster.local. 3600 SRV 10 50 0 c.weight.cluster.local.\n"
            "= weight.cluster.local. 3600 SRV 20 25 0 d.weight.cluster.local.\n"
            "= weight.cluster.local. 3600 SRV 20 75 0 e.weight.cluster.local.\n"
            "+ a.weight.cluster.local. 3600 A 10.8.0.1\n+ b.weight.cluster.local. 3600 A 10.8.0.2\n"
            "+ c.weight.cluster.local. 3600 A 10.8.0.3\n+ d.weight.cluster.local. 3600 A 10.8.0.4\n"
            "+ e.weight.cluster.local. 3600 A 10.8.0.5"},
        /* no weight is 0 */
        {"heavy.cluster.local. SRV",
         OK "\n? heavy.cluster.local. IN SRV\n"
            "= heavy.cluster.local. 3600 SRV 10 1 0 a.heavy.cluster.local.\n"
            "= heavy.cluster.local. 3600 SRV 10 99 0 b.heavy.cluster.local.\n"
            "+ a.heavy.cluster.local. 3600 A 10.8.1.1\n+ b.heavy.cluster.local. 3600 A 10.8.1.2"},
        /* weight sums of one answer do not carry over to the next */
        {"a.weight.cluster.local. SRV",
         OK "\n? a.weight.cluster.local. IN SRV\n"
            "= a.weight.cluster.local. 3600 SRV 10 100 0 a.weight.cluster.local.\n"
            "+ a.weight.cluster.local. 3600 A 10.8.0.1"},
        {"dup.cluster.local. SRV",
         OK "\n? dup.cluster.local. IN SRV\n"
            "= dup.cluster.local. 3600 SRV 10 50 80 a.dup.cluster.local.\n"
            "= dup.cluster.local. 3600 SRV 10 50 81 c.dup.cluster.local.\n"
            "+ a.dup.cluster.local. 3600 A 10.4.0.1\n+ c.dup.cluster.local. 3600 A 10.4.0.1"},
        {"strip.cluster.local. SRV",
         OK "\n? strip.cluster.local. IN SRV\n"
            "= strip.cluster.local. 3600 SRV 10 25 1 strip.cluster.local.\n"
            "= strip.cluster.local. 3600 SRV 10 25 2 example.com.\n"
            "= strip.cluster.local. 3600 SRV 10 25 3 d.strip.cluster.local.\n"
            "= strip.cluster.local. 3600 SRV 10 25 4 a.b.\n"
            "+ strip.cluster.local. 3600 A 10.7.0.1\n+ d.strip.cluster.local. 3600 A 10.7.0.2"},
        {"text.cluster.local. SRV",
         OK "\n? text.cluster.local. IN SRV\n"
            "= text.cluster.local. 3600 SRV 10 100 0 host.text.cluster.local.\n"
            "+ host.text.cluster.local. 3600 A 10.5.0.1"},
        {"only.text.cluster.local. SRV", OK "\n? only.text.cluster.local. IN SRV" SOA},
        /* an SRV target that is itself an alias */
        {"a9.c.cluster.local. SRV",
         OK "\n? a9.c.cluster.local. IN SRV\n= a9.c.cluster.local. 3600 SRV 10 100 0 "
            "a10.c.cluster.local.\n+ a10.c.cluster.local. 3600 A 10.2.0.1"},
        {"a8.c.cluster.local. SRV",
         OK "\n? a8.c.cluster.local. IN SRV\n= a8.c.cluster.local. 3600 SRV 10 100 0 "
            "A9.c.cluster.local.\n+ A9.c.cluster.local. 3600 CNAME a10.c.cluster.local.\n"
            "+ a10.c.cluster.local. 3600 A 10.2.0.1"},
    };
    check_once(cases, ARRAY_LEN(cases));
}

UNIT_TEST(aliases)
{
    static const struct answer_case cases[] = {
        {"a8.c.cluster.local. A",
         OK "\n? a8.c.cluster.local. IN A\n= a8.c.cluster.local. 3600 CNAME A9.c.cluster.local.\n"
            "= A9.c.cluster.local. 3600 CNAME a10.c.cluster.local.\n"
            "= a10.c.cluster.local. 3600 A 10.2.0.1"},
        {"a8.c.cluster.local. AAAA", OK "\n? a8.c.cluster.local. IN AAAA" SOA},
        /* eight CNAMEs are followed, nine are not */
        {"a2.c.cluster.local. A",
         OK "\n? a2.c.cluster.local. IN A\n= a2.c.cluster.local. 3600 CNAME a3.c.cluster.local.\n"
            "= a3.c.cluster.local. 3600 CNAME a4.c.cluster.local.\n"
            "= a4.c.cluster.local. 3600 CNAME a5.c.cluster.local.\n"
            "= a5.c.cluster.local. 3600 CNAME a6.c.cluster.local.\n"
            "= a6.c.cluster.local. 3600 CNAME a7.c.cluster.local.\n"
            "= a7.c.cluster.local. 3600 CNAME a8.c.cluster.local.\n"
            "= a8.c.cluster.local. 3600 CNAME A9.c.cluster.local.\n"
            "= A9.c.cluster.local. 3600 CNAME a10.c.cluster.local.\n"
            "= a10.c.cluster.local. 3600 A 10.2.0.1"},
        {"a1.c.cluster.local. A", OK "\n? a1.c.cluster.local. IN A" SOA},
        {"b.c.cluster.local. A", OK "\n? b.c.cluster.local. IN A" SOA},
        {"d.c.cluster.local. A", OK "\n? d.c.cluster.local. IN A" SOA},
        {"ring.cluster.local. A",
         OK "\n? ring.cluster.local. IN A\n= ring.cluster.local. 3600 A 10.2.1.1"},
        {"r1.cluster.local. A",
         OK "\n? r1.cluster.local. IN A\n= r1.cluster.local. 3600 CNAME r2.cluster.local.\n"
            "= r2.cluster.local. 3600 A 10.2.1.3\n= r1.cluster.local. 3600 A 10.2.1.2"},
        {"dangling.c.cluster.local. A", OK "\n? dangling.c.cluster.local. IN A" SOA},
        {"dangling.c.cluster.local. CNAME",
         OK "\n? dangling.c.cluster.local. IN CNAME\n"
            "= dangling.c.cluster.local. 3600 CNAME nope.c.cluster.local."},
        {"a8.c.cluster.local. CNAME", OK
         "\n? a8.c.cluster.local. IN CNAME\n= a8.c.cluster.local. 3600 CNAME A9.c.cluster.local."},
        {"a10.c.cluster.local. CNAME", OK "\n? a10.c.cluster.local. IN CNAME" SOA},
        {"c.cluster.local. CNAME", OK "\n? c.cluster.local. IN CNAME" SOA},
        {"nope.c.cluster.local. CNAME",
         "NXDOMAIN qr aa rd ra\n? nope.c.cluster.local. IN CNAME" SOA},
        {"only.text.cluster.local. CNAME", OK "\n? only.text.cluster.local. IN CNAME" SOA},
        {"ext.default.svc.cluster.local. CNAME",
         OK "\n? ext.default.svc.cluster.local. IN CNAME\n"
            "= ext.default.svc.cluster.local. 30 CNAME db.example.com."},
        /* no upstream is configured, so nobody was asked */
        {"ext.default.svc.cluster.local. A",
         OK "\n? ext.default.svc.cluster.local. IN A\n"
            "= ext.default.svc.cluster.local. 30 CNAME db.example.com."},
        /* a name has one CNAME, the last; addresses of the others stay */
        {"two.cluster.local. A",
         OK "\n? two.cluster.local. IN A\n"
            "= two.cluster.local. 30 CNAME db-0.db.default.svc.cluster.local.\n"
            "= a10.c.cluster.local. 30 A 10.2.0.1\n"
            "= db-0.db.default.svc.cluster.local. 30 A 10.1.0.1"},
    };
    check_once(cases, ARRAY_LEN(cases));
}

UNIT_TEST(other_types)
{
    static const struct answer_case cases[] = {
        {"cluster.local. SOA",
         OK "\n? cluster.local. IN SOA\n= cluster.local. 3600 SOA ns.dns.cluster.local. "
            "hostmaster.cluster.local. 1760702400 28800 7200 604800 60"},
        {"web.default.svc.cluster.local. SOA", OK "\n? web.default.svc.cluster.local. IN SOA" SOA},
        {"nope.cluster.local. SOA", "NXDOMAIN qr aa rd ra\n? nope.cluster.local. IN SOA" SOA},
        {"text.cluster.local. TXT",
         OK "\n? text.cluster.local. IN TXT\n= text.cluster.local. 3600 TXT \"a text\"\n"
            "= text.cluster.local. 3600 TXT \"hello\""},
        {"escaped.cluster.local. TXT", OK "\n? escaped.cluster.local. IN TXT\n"
                                          "= escaped.cluster.local. 3600 TXT \"v=1; A\\c\""},
        {"half.cluster.local. TXT",
         OK "\n? half.cluster.local. IN TXT\n= half.cluster.local. 3600 TXT \"\""},
        {"g6.cluster.local. TXT",
         OK "\n? g6.cluster.local. IN TXT\n= g6.cluster.local. 3600 TXT \"of the group\""},
        {"web.default.svc.cluster.local. TXT", OK "\n? web.default.svc.cluster.local. IN TXT" SOA},
        {"web.default.svc.cluster.local. TYPE65",
         OK "\n? web.default.svc.cluster.local. IN TYPE65" SOA},
        {"nope.cluster.local. TYPE65", "NXDOMAIN qr aa rd ra\n? nope.cluster.local. IN TYPE65" SOA},
        {"web.default.svc.cluster.local. PTR", OK "\n? web.default.svc.cluster.local. IN PTR" SOA},
        {"cluster.local. TYPE65", OK "\n? cluster.local. IN TYPE65" SOA},
        {"web.default.svc.cluster.local. ANY",
         "REFUSED qr rd\n? web.default.svc.cluster.local. IN ANY"},
        {"example.com. ANY", "REFUSED qr rd\n? example.com. IN ANY"},
        {"mail.cluster.local. MX",
         OK "\n? mail.cluster.local. IN MX\n= mail.cluster.local. 3600 MX 10 mail.cluster.local.\n"
            "= mail.cluster.local. 3600 MX 5 db.default.svc.cluster.local.\n"
            "+ a.mail.cluster.local. 3600 A 10.10.0.1\n"
            "+ db.default.svc.cluster.local. 30 A 10.1.0.1\n"
            "+ db.default.svc.cluster.local. 20 AAAA fd00::1"},
        {"c.mail.cluster.local. MX", OK "\n? c.mail.cluster.local. IN MX" SOA},
        {"web.default.svc.cluster.local. NS", OK "\n? web.default.svc.cluster.local. IN NS" SOA},
        {"nope.cluster.local. NS", "NXDOMAIN qr aa rd ra\n? nope.cluster.local. IN NS" SOA},
        {"g1.cluster.local. A",
         OK "\n? g1.cluster.local. IN A\n= g1.cluster.local. 3600 A 10.9.0.1\n"
            "= g1.cluster.local. 3600 A 10.9.0.3\n= g1.cluster.local. 3600 A 10.9.0.4"},
        {"g2.cluster.local. A",
         OK "\n? g2.cluster.local. IN A\n= g2.cluster.local. 3600 A 10.9.1.1\n"
            "= g2.cluster.local. 3600 A 10.9.1.2"},
        {"g4.cluster.local. A",
         OK "\n? g4.cluster.local. IN A\n= g4.cluster.local. 3600 A 10.9.3.2"},
        {"g5.cluster.local. A",
         OK "\n? g5.cluster.local. IN A\n= g5.cluster.local. 3600 A 10.9.4.1\n"
            "= g5.cluster.local. 3600 A 10.9.4.2"},
        {"g3.cluster.local. A",
         OK "\n? g3.cluster.local. IN A\n= g3.cluster.local. 3600 A 10.9.2.1\n"
            "= g3.cluster.local. 3600 A 10.9.2.2"},
    };
    check_once(cases, ARRAY_LEN(cases));
}

UNIT_TEST_ON(reverse_names, struct fixture *fixture)
{
    static const struct answer_case cases[] = {
        {"1.0.0.10.in-addr.arpa. PTR",
         OK "\n? 1.0.0.10.in-addr.arpa. IN PTR\n"
            "= 1.0.0.10.in-addr.arpa. 30 PTR web.default.svc.cluster.local."},
        {"1.0.0.10.IN-ADDR.arpa. PTR",
         OK "\n? 1.0.0.10.IN-ADDR.arpa. IN PTR\n"
            "= 1.0.0.10.IN-ADDR.arpa. 30 PTR web.default.svc.cluster.local."},
        {"d.f.ip6.arpa. PTR", OK "\n? d.f.ip6.arpa. IN PTR\n"
                                 "= d.f.ip6.arpa. 3600 PTR v6.default.svc.cluster.local."},
        {"2.0.0.10.in-addr.arpa. PTR", "forward"}, /* its host is not a name */
        {"0.0.10.in-addr.arpa. PTR", "forward"},   /* exists only as a parent */
        {"*.0.0.10.in-addr.arpa. PTR", "forward"},
        {"9.9.9.9.in-addr.arpa. PTR", "forward"},
        {"1.0.0.10.in-addr.arpa. A", "forward"},
        {"a\\.b.in-addr.arpa. PTR", "forward"},
        {"d.f.ip6.arpa. TXT", "forward"},
    };
    fixture->config.has_nameservers = true;
    answer_check(fixture, cases, ARRAY_LEN(cases));
}

UNIT_TEST_ON(name_servers, struct fixture *fixture)
{
    static const struct answer_case own[] = {
        {"cluster.local. NS",
         OK "\n? cluster.local. IN NS\n= cluster.local. 3600 NS ns.dns.cluster.local.\n"
            "+ ns.dns.cluster.local. 3600 A 10.0.0.10"},
        {"NS.dns.cluster.local. A",
         OK "\n? NS.dns.cluster.local. IN A\n= NS.dns.cluster.local. 3600 A 10.0.0.10"},
        {"ns.dns.cluster.local. AAAA", OK "\n? ns.dns.cluster.local. IN AAAA" SOA},
        {"ns.dns.cluster.local. TXT", OK "\n? ns.dns.cluster.local. IN TXT" SOA},
        {"dns.cluster.local. A", OK "\n? dns.cluster.local. IN A" SOA},
        {"x.dns.cluster.local. A", "NXDOMAIN qr aa rd ra\n? x.dns.cluster.local. IN A" SOA},
    };
    static const struct answer_case own_v6[] = {
        {"cluster.local. NS",
         OK "\n? cluster.local. IN NS\n= cluster.local. 3600 NS ns.dns.cluster.local.\n"
            "+ ns.dns.cluster.local. 3600 AAAA fd00::a"},
        {"ns.dns.cluster.local. AAAA",
         OK "\n? ns.dns.cluster.local. IN AAAA\n= ns.dns.cluster.local. 3600 AAAA fd00::a"},
    };
    static const struct answer_case unknown[] = {
        {"cluster.local. NS",
         OK "\n? cluster.local. IN NS\n= cluster.local. 3600 NS ns.dns.cluster.local."},
        {"ns.dns.cluster.local. A", OK "\n? ns.dns.cluster.local. IN A" SOA},
    };
    static const struct fixture_key ns_keys[] = {
        {"local/cluster/dns/ns/a", "{'host':'10.11.0.1'}"},
        {"local/cluster/dns/ns/b", "{'host':'fd00::b'}"},
    };
    static const struct answer_case stored[] = {
        {"cluster.LOCAL. NS",
         OK "\n? cluster.LOCAL. IN NS\n= cluster.LOCAL. 3600 NS a.ns.dns.cluster.local.\n"
            "= cluster.LOCAL. 3600 NS b.ns.dns.cluster.local.\n"
            "+ a.ns.dns.cluster.local. 3600 A 10.11.0.1\n"
            "+ b.ns.dns.cluster.local. 3600 AAAA fd00::b"},
        {"ns.dns.cluster.local. A",
         OK "\n? ns.dns.cluster.local. IN A\n= ns.dns.cluster.local. 3600 A 10.11.0.1"},
    };
    static const struct fixture_key named_ns[] = {
        {"local/cluster/dns/ns/c", "{'host':'ns.example.com'}"}};
    static const struct answer_case named[] = {
        {"cluster.local. NS", OK "\n? cluster.local. IN NS" SOA}};
    answer_check(fixture, unknown, ARRAY_LEN(unknown));
    assert_int_equal(addr_parse("0.0.0.0:53", &fixture->local, NULL), 0);
    answer_check(fixture, unknown, ARRAY_LEN(unknown));
    assert_int_equal(addr_parse("10.0.0.10:53", &fixture->local, NULL), 0);
    answer_check(fixture, own, ARRAY_LEN(own));
    assert_int_equal(addr_parse("[fd00::a]:53", &fixture->local, NULL), 0);
    answer_check(fixture, own_v6, ARRAY_LEN(own_v6));
    fixture_put(fixture, ns_keys, ARRAY_LEN(ns_keys));
    answer_check(fixture, stored, ARRAY_LEN(stored));
    fixture_put(fixture, named_ns, ARRAY_LEN(named_ns));
    answer_check(fixture, named, ARRAY_LEN(named));
}

UNIT_TEST_ON(local_name, struct fixture *fixture)
{
    static const struct answer_case cases[] = {
        {"local.dns.cluster.local. A",
         OK "\n? local.dns.cluster.local. IN A\n= local.dns.cluster.local. 30 A 10.0.0.1"},
    };
    fixture->config.settings.local = dname_from("web.default.svc.cluster.local.");
    answer_check(fixture, cases, ARRAY_LEN(cases));
}

UNIT_TEST_ON(chaos, struct fixture *fixture)
{
    static const struct answer_case cases[] = {
        {"id.server. TXT ch", OK "\n? id.server. CH TXT\n= id.server. 0 CH TXT \"localhost\""},
        {"HOSTNAME.bind. TXT ch",
         OK "\n? HOSTNAME.bind. CH TXT\n= HOSTNAME.bind. 0 CH TXT \"localhost\""},
        {"cluster.local. TXT ch",
         OK "\n? cluster.local. CH TXT\n= cluster.local. 0 CH TXT \"Erik St. Martin\"\n"
            "= cluster.local. 0 CH TXT \"Brian Ketelsen\"\n"
            "= cluster.local. 0 CH TXT \"Miek Gieben\"\n"
            "= cluster.local. 0 CH TXT \"Michael Crosby\""},
        {"id.server. A ch", "REFUSED qr rd\n? id.server. CH A"},
        {"nosuch.bind. TXT ch", "REFUSED qr rd\n? nosuch.bind. CH TXT"},
        {"cluster.local. A ch", "REFUSED qr rd\n? cluster.local. CH A"},
        {"web.default.svc.cluster.local. A ch",
         "REFUSED qr rd\n? web.default.svc.cluster.local. CH A"},
        {"example.com. TXT ch", "REFUSED qr rd\n? example.com. CH TXT"},
    };
    check_once(cases, ARRAY_LEN(cases));

    CLEANUP_FREE char *version =
        xasprintf(OK "\n? version.bind. CH TXT\n= version.bind. 0 CH TXT \"%s\"", version_string);
    assert_string_equal(fixture_ask(fixture, "version.bind. TXT ch"), version);
}

/* With rotation, the same addresses in an order set by `random`, alias first. */
UNIT_TEST_ON(rotation, struct fixture *fixture)
{
    static const struct fixture_key many[] = {
        {"local/cluster/many/a", "{'host':'10.20.0.1'}"},
        {"local/cluster/many/b", "{'host':'10.20.0.2'}"},
        {"local/cluster/many/c", "{'host':'10.20.0.3'}"},
        {"local/cluster/alias", "{'host':'many.cluster.local'}"},
    };
    static const char head[] = OK "\n? alias.cluster.local. IN A\n"
                                  "= alias.cluster.local. 3600 CNAME many.cluster.local.\n= ";
    fixture_put(fixture, many, ARRAY_LEN(many));
    fixture->config.settings.round_robin = true;
    unsigned first[3] = {0};
    for (uint32_t i = 0; i < 300; i++) {
        fixture->random = i * 2654435761u;
        const char *got = fixture_ask(fixture, "alias.cluster.local. A");
        assert_int_equal(strncmp(got, head, sizeof(head) - 1), 0);
        for (unsigned k = 0; k < 3; k++) {
            char address[64];
            (void)snprintf(address, sizeof(address), "many.cluster.local. 3600 A 10.20.0.%u",
                           k + 1);
            const char *at = strstr(got, address);
            assert_non_null(at);
            first[k] += at == got + sizeof(head) - 1;
        }
    }
    for (unsigned k = 0; k < 3; k++) {
        assert_in_range(first[k], 60, 140); /* of 300: about a third each */
    }
}

/* The order of keys decides which of equal records stays, not the order of writing. */
UNIT_TEST_ON(key_order, struct fixture *fixture)
{
    static const struct fixture_key written[] = {
        {"local/cluster/order/b/x", "{'host':'10.21.0.2','port':2}"},
        {"local/cluster/order/b-c", "{'host':'10.21.0.3','port':3}"},
        {"local/cluster/order/a", "{'host':'10.21.0.1','port':1}"},
        {"local/cluster/order/0/z", "{'host':'10.21.0.1','port':1,'ttl':9}"},
    };
    static const struct answer_case cases[] = {
        {"order.cluster.local. SRV",
         OK "\n? order.cluster.local. IN SRV\n"
            "= order.cluster.local. 9 SRV 10 33 1 z.0.order.cluster.local.\n"
            "= order.cluster.local. 9 SRV 10 33 2 x.b.order.cluster.local.\n"
            "= order.cluster.local. 9 SRV 10 33 3 b-c.order.cluster.local.\n"
            "+ z.0.order.cluster.local. 9 A 10.21.0.1\n"
            "+ x.b.order.cluster.local. 3600 A 10.21.0.2\n"
            "+ b-c.order.cluster.local. 3600 A 10.21.0.3"},
    };
    fixture_put(fixture, written, ARRAY_LEN(written));
    answer_check(fixture, cases, ARRAY_LEN(cases));
}
