/* Features behind flags: the Kubernetes schema, pod names, reverse zones, several domains, class
 * CHAOS and ANY. Question and complete reply as text, as in test_answer.c. */
#include "tests/support/skydns/fixture.h"
#include "tests/support/unit_test.h"

#define SOA_OF(zone)                                                                \
    "! " zone " 60 SOA ns.dns.cluster.local. hostmaster.cluster.local. 1760702400 " \
    "28800 7200 604800 60"
#define SOA                                                                               \
    "! cluster.local. 60 SOA ns.dns.cluster.local. hostmaster.cluster.local. 1760702400 " \
    "28800 7200 604800 60"

/* `want` lacks the question's line. */
struct answer_case {
    const char *question;
    const char *want;
};

#define NODATA   "NOERROR qr aa rd ra\n" SOA
#define NXDOMAIN "NXDOMAIN qr aa rd ra\n" SOA
#define OK       "NOERROR qr aa rd ra\n"

static const struct fixture_key keys[] = {
    {"local/cluster/svc/default/web/c88f1059", "{'host':'10.0.0.1','ttl':30}"},
    {"local/cluster/svc/default/web/_tcp/_http/c88f1059",
     "{'host':'web.default.svc.cluster.local.','port':80,'weight':10,'ttl':30}"},
    {"local/cluster/svc/default/web/_tcp/_metrics/c88f1059",
     "{'host':'web.default.svc.cluster.local.','port':9090,'weight':10,'ttl':30}"},
    {"local/cluster/svc/default/web/_udp/_http/c88f1059",
     "{'host':'web.default.svc.cluster.local.','port':80,'weight':10,'ttl':30}"},
    {"local/cluster/svc/default/plain/19ccb11", "{'host':'10.0.0.9','ttl':30}"},
    {"local/cluster/svc/default/db/db-0", "{'host':'10.1.0.1','ttl':30}"},
    {"local/cluster/svc/default/db/_tcp/_sql/db-0",
     "{'host':'db-0.db.default.svc.cluster.local.','port':5432,'ttl':30}"},
    {"local/cluster/svc/default/ext", "{'host':'db.example.com.','ttl':30}"},
    {"local/cluster/svc/default/gone", "{'host':'nope.default.svc.cluster.local.','ttl':30}"},
    {"local/cluster/svc/default/alias", "{'host':'web.default.svc.cluster.local.','ttl':30}"},
    {"local/cluster/svc/default/*/x", "{'host':'10.0.0.7','ttl':30}"},
    {"local/cluster/pod/default/10-0-0-5/1", "{'host':'10.0.0.5','ttl':30}"},
    {"local/cluster/own/a", "{'host':'10.0.0.2','ttl':30}"},
    {"local/cluster/own/b", "{'text':'own','ttl':30}"},
    {"arpa/in-addr/10/96/0/1", "{'host':'web.default.svc.cluster.local.','ttl':30}"},
    {"arpa/in-addr/10/112/0/1", "{'host':'plain.default.svc.cluster.local.','ttl':30}"},
    {"arpa/ip6/f/d/0/0/1", "{'host':'v6.default.svc.cluster.local.','ttl':30}"},
};

static struct fixture *answer_schema_setup(void)
{
    return fixture_new(keys, sizeof(keys) / sizeof(keys[0]));
}

/* The question is on the second line. */
static void remove_question(char *text)
{
    char *start = strstr(text, "\n?");
    if (start) {
        char *end = strchr(start + 1, '\n');
        memmove(start, end ? end : "", end ? strlen(end) + 1 : 1);
    }
}

static void answer_schema_check(struct fixture *fixture, const struct answer_case *cases,
                                size_t count)
{
    for (size_t i = 0; i < count; i++) {
        CLEANUP_FREE char *got = xstrdup(fixture_ask(fixture, cases[i].question));
        remove_question(got);
        assert_that(strcmp(got, cases[i].want) == 0, "%s\nwant: %s\ngot:  %s", cases[i].question,
                    cases[i].want, got);
    }
    fixture_free(fixture);
}

#define CHECK(fixture, cases) \
    answer_schema_check(fixture, cases, sizeof(cases) / sizeof((cases)[0]))

UNIT_TEST(kubernetes)
{
    static const struct answer_case cases[] = {
        {"web.default.svc.cluster.local. A", OK "= web.default.svc.cluster.local. 30 A 10.0.0.1"},
        {"web.default.svc.cluster.local. AAAA", NODATA},
        {"db-0.db.default.svc.cluster.local. A",
         OK "= db-0.db.default.svc.cluster.local. 30 A 10.1.0.1"},
        {"nope.default.svc.cluster.local. A", NXDOMAIN},
        /* between the domain and the services */
        {"cluster.local. A", NODATA},
        {"cluster.local. SRV", NODATA},
        {"cluster.local. TXT", NODATA},
        {"cluster.local. SOA", OK "= cluster.local. 3600 SOA ns.dns.cluster.local. "
                                  "hostmaster.cluster.local. 1760702400 28800 7200 604800 60"},
        {"svc.cluster.local. A", NODATA},
        {"default.svc.cluster.local. A", NODATA},
        {"default.svc.cluster.local. SRV", NODATA},
        {"other.svc.cluster.local. A", NXDOMAIN},
        {"pod.cluster.local. A", NODATA},
        {"default.pod.cluster.local. TXT", NODATA},
        {"other.pod.cluster.local. A", NXDOMAIN},
        {"10-0-0-5.default.pod.cluster.local. A",
         OK "= 10-0-0-5.default.pod.cluster.local. 30 A 10.0.0.5"},
        {"10-0-0-5.default.pod.cluster.local. SRV", NODATA},
        /* wildcards are labels */
        {"*.default.svc.cluster.local. A", OK "= *.default.svc.cluster.local. 30 A 10.0.0.7"},
        {"any.default.svc.cluster.local. A", NXDOMAIN},
        {"web.*.svc.cluster.local. A", NXDOMAIN},
        {"a\\.b.default.svc.cluster.local. A", NXDOMAIN},
        /* ports */
        {"web.default.svc.cluster.local. SRV",
         OK "= web.default.svc.cluster.local. 30 SRV 10 50 80 web.default.svc.cluster.local.\n"
            "= web.default.svc.cluster.local. 30 SRV 10 50 9090 web.default.svc.cluster.local.\n"
            "+ web.default.svc.cluster.local. 30 A 10.0.0.1"},
        {"plain.default.svc.cluster.local. SRV", NODATA},
        {"nope.default.svc.cluster.local. SRV", NXDOMAIN},
        {"db.default.svc.cluster.local. SRV",
         OK "= db.default.svc.cluster.local. 30 SRV 10 100 5432 "
            "db-0.db.default.svc.cluster.local.\n"
            "+ db-0.db.default.svc.cluster.local. 30 A 10.1.0.1"},
        {"_http._tcp.web.default.svc.cluster.local. SRV",
         OK "= _http._tcp.web.default.svc.cluster.local. 30 SRV 10 100 80 "
            "web.default.svc.cluster.local.\n+ web.default.svc.cluster.local. 30 A 10.0.0.1"},
        {"_http._tcp.web.default.svc.cluster.local. A", NODATA},
        {"_http._tcp.web.default.svc.cluster.local. AAAA", NODATA},
        {"_http._tcp.web.default.svc.cluster.local. TYPE65", NODATA},
        {"_nope._tcp.web.default.svc.cluster.local. A", NXDOMAIN},
        {"_tcp.web.default.svc.cluster.local. SRV", NODATA},
        {"_sctp.web.default.svc.cluster.local. SRV", NXDOMAIN},
        {"c88f1059._http._tcp.web.default.svc.cluster.local. A", NODATA},
        {"c88f1059.web.default.svc.cluster.local. SRV", NODATA},
        /* external names */
        {"ext.default.svc.cluster.local. A",
         OK "= ext.default.svc.cluster.local. 30 CNAME db.example.com."},
        {"ext.default.svc.cluster.local. CNAME",
         OK "= ext.default.svc.cluster.local. 30 CNAME db.example.com."},
        {"gone.default.svc.cluster.local. AAAA",
         "NXDOMAIN qr aa rd ra\n"
         "= gone.default.svc.cluster.local. 30 CNAME nope.default.svc.cluster.local.\n" SOA},
        {"alias.default.svc.cluster.local. A",
         OK "= alias.default.svc.cluster.local. 30 CNAME web.default.svc.cluster.local.\n"
            "= web.default.svc.cluster.local. 30 A 10.0.0.1"},
        /* its own version */
        {"dns-version.cluster.local. TXT", OK "= dns-version.cluster.local. 3600 TXT \"1.1.0\""},
        {"DNS-version.cluster.local. A", NODATA},
        {"dns-version.svc.cluster.local. TXT", NXDOMAIN},
        /* not covered by the specification */
        {"own.cluster.local. A", OK "= own.cluster.local. 30 A 10.0.0.2"},
        {"b.own.cluster.local. TXT", OK "= b.own.cluster.local. 30 TXT \"own\""},
    };
    struct fixture *f = answer_schema_setup();
    f->config.settings.schema = ENGINE_SCHEMA_KUBERNETES;
    CHECK(f, cases);
}

/* A name has no more addresses as a target than when asked for directly. */
UNIT_TEST(kubernetes_targets)
{
    static const struct fixture_key more[] = {
        {"local/cluster/svc/x/above", "{'host':'default.svc.cluster.local.','ttl':30}"},
        {"local/cluster/svc/x/port", "{'host':'_http._tcp.web.default.svc.cluster.local.'}"},
        {"local/cluster/svc/x/srv/_tcp/_p/1", "{'host':'svc.cluster.local.','port':1,'ttl':30}"},
    };
    static const struct answer_case cases[] = {
        {"above.x.svc.cluster.local. A",
         OK "= above.x.svc.cluster.local. 30 CNAME default.svc.cluster.local.\n" SOA},
        {"port.x.svc.cluster.local. A", OK "= port.x.svc.cluster.local. 3600 CNAME "
                                           "_http._tcp.web.default.svc.cluster.local.\n" SOA},
        {"srv.x.svc.cluster.local. SRV",
         OK "= srv.x.svc.cluster.local. 30 SRV 10 100 1 svc.cluster.local."},
    };
    struct fixture *f = answer_schema_setup();
    fixture_put(f, more, sizeof(more) / sizeof(more[0]));
    f->config.settings.schema = ENGINE_SCHEMA_KUBERNETES;
    CHECK(f, cases);
}

/* ---- One owner, one truth ---- */

/* The types, and ANY with -any=hinfo, to ask every name for. */
static const char *const types[] = {"A",      "AAAA",   "SRV",    "TXT",    "MX",  "CNAME",
                                    "NS",     "SOA",    "PTR",    "TYPE43", "ANY", "TYPE64",
                                    "TYPE65", "TYPE48", "TYPE13", "TYPE35"};

static const struct fixture_key mixtures[] = {
    {"local/cluster/svc/n/own", "{'host':'web.default.svc.cluster.local.','text':'t','ttl':30}"},
    {"local/cluster/svc/n/own/a", "{'host':'10.0.0.3','text':'below','mail':true,'ttl':30}"},
    {"local/cluster/svc/n/own/_tcp/_p/a", "{'host':'own.n.svc.cluster.local.','port':1,'ttl':30}"},
    {"local/cluster/svc/n/below/a", "{'host':'web.default.svc.cluster.local.','ttl':30}"},
    {"local/cluster/svc/n/below/b", "{'host':'db.default.svc.cluster.local.','ttl':30}"},
    {"local/cluster/svc/n/both/a", "{'host':'10.0.0.4','ttl':30}"},
    {"local/cluster/svc/n/both/b", "{'host':'web.default.svc.cluster.local.','ttl':30}"},
    {"local/cluster/svc/n/hop", "{'host':'below.n.svc.cluster.local.','ttl':30}"},
    {"local/cluster/svc/n/self", "{'host':'Self.n.svc.cluster.local.','ttl':30}"},
    {"local/cluster/svc/n/ring1", "{'host':'ring2.n.svc.cluster.local.','ttl':30}"},
    {"local/cluster/svc/n/ring2", "{'host':'ring1.n.svc.cluster.local.','ttl':30}"},
    {"local/cluster/svc/n/web/_tcp/_p/x",
     "{'host':'web.default.svc.cluster.local.','port':1,'text':'t','mail':true,'ttl':30}"},
    {"local/cluster/svc/n/web/_tcp/_p/x/y/z", "{'host':'10.0.0.5','text':'t','ttl':30}"},
    {"local/cluster/pod/n/10-0-0-9", "{'host':'www.example.','ttl':30}"},
    {"local/cluster/alias", "{'host':'mx.cluster.local','ttl':30}"},
    {"local/cluster/mx/1", "{'host':'web.default.svc.cluster.local.','mail':true,'ttl':30}"},
    {"local/cluster/srv/1", "{'host':'web.default.svc.cluster.local.','port':9,'ttl':30}"},
    {"local/cluster/dns-version", "{'host':'web.default.svc.cluster.local.','ttl':30}"},
    {"local/cluster/out", "{'host':'www.example.','ttl':30}"},
    {"local/cluster/svc/n/to-own", "{'host':'own.n.svc.cluster.local','ttl':30}"},
    /* as external-dns writes them */
    {"local/cluster/owned/1",
     "{'host':'web.default.svc.cluster.local','text':'heritage=x','targetstrip':1,'ttl':30}"},
    {"local/cluster/owned/2",
     "{'host':'web.default.svc.cluster.local','text':'owner=y','targetstrip':1,'ttl':30}"},
};

static struct fixture *setup_mixtures(void)
{
    struct fixture *f = answer_schema_setup();
    fixture_put(f, mixtures, sizeof(mixtures) / sizeof(mixtures[0]));
    f->config.settings.schema = ENGINE_SCHEMA_KUBERNETES;
    f->config.settings.any_is_hinfo = true;
    return f;
}

static unsigned answer_schema_count_lines(const char *text, const char *start, const char *part)
{
    unsigned n = 0;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *end = strchrnul(line, '\n'), *found = strstr(line, part);
        n += strncmp(line, start, strlen(start)) == 0 && found && found < end;
    }
    return n;
}

/* A name answers all types with one CNAME, the same, or none; TXT differs where the record has a
 * text. */
UNIT_TEST(kubernetes_cname_alone)
{
    static const char *const aliases[] = {
        "own.n.svc", "below.n.svc", "a.below.n.svc", "b.below.n.svc", "b.both.n.svc",
        "hop.n.svc", "self.n.svc",  "ring1.n.svc",   "ring2.n.svc",   "10-0-0-9.n.pod",
        "alias",     "out",         "1.mx",          "1.srv",
    };
    static const char *const others[] = {
        "a.own.n.svc",
        "both.n.svc",
        "web.n.svc",
        "_p._tcp.web.n.svc",
        "_tcp.web.n.svc",
        "x._p._tcp.web.n.svc",
        "mx",
        "dns-version",
        "_p._tcp.own.n.svc",
        "n.svc",
        "a._p._tcp.own.n.svc",
        "n.pod",
        "svc",
        "y.x._p._tcp.web.n.svc",
        "srv",
        "z.y.x._p._tcp.web.n.svc",
    };
    struct fixture *f = setup_mixtures();
    for (size_t i = 0; i < 2 * sizeof(aliases) / sizeof(aliases[0]); i++) {
        bool is_alias = i < sizeof(aliases) / sizeof(aliases[0]);
        size_t other = i - sizeof(aliases) / sizeof(aliases[0]);
        if (!is_alias && other >= sizeof(others) / sizeof(others[0])) {
            break;
        }
        for (size_t k = 0; k < sizeof(types) / sizeof(types[0]); k++) {
            char question[120], owner[120], cname[160];
            const char *name = is_alias ? aliases[i] : others[other];
            (void)snprintf(question, sizeof(question), "%s.cluster.local. %s", name, types[k]);
            (void)snprintf(owner, sizeof(owner), "= %s.cluster.local. ", name);
            (void)snprintf(cname, sizeof(cname), "%s30 CNAME ", owner);
            const char *got = fixture_ask(f, question);
            bool has_text = strcmp(name, "own.n.svc") == 0 && strcmp(types[k], "TXT") == 0;
            assert_that(answer_schema_count_lines(got, owner, " CNAME ") ==
                                (is_alias && !has_text) &&
                            (!is_alias || answer_schema_count_lines(got, owner, "") == 1),
                        "%s\ngot: %s", question, got);
        }
    }
    fixture_free(f);
}

/* Host and text of one record, by wildcards, too. */
UNIT_TEST(skydns_texts_beside_hosts)
{
#define TO_WEB       "CNAME web.default.svc.cluster.local.\n"
#define WEB          "= web.default.svc.cluster.local. 30 A 10.0.0.1"
#define TEXTS(owner) "= " owner " 30 TXT \"heritage=x\"\n= " owner " 30 TXT \"owner=y\""
    static const struct answer_case cases[] = {
        {"owned.cluster.local. A", OK "= owned.cluster.local. 30 " TO_WEB WEB},
        {"owned.cluster.local. TXT", OK TEXTS("owned.cluster.local.")},
        {"*.owned.cluster.local. A", OK "= *.owned.cluster.local. 30 " TO_WEB WEB},
        {"*.owned.cluster.local. TXT", OK TEXTS("*.owned.cluster.local.")},
        {"2.owned.cluster.local. CNAME",
         OK "= 2.owned.cluster.local. 30 CNAME web.default.svc.cluster.local."},
        {"2.owned.cluster.local. TXT", OK "= 2.owned.cluster.local. 30 TXT \"owner=y\""},
        {"a.own.n.svc.cluster.local. A", OK "= a.own.n.svc.cluster.local. 30 A 10.0.0.3"},
        {"a.own.n.svc.cluster.local. TXT", OK "= a.own.n.svc.cluster.local. 30 TXT \"below\""},
        {"a.own.any.svc.cluster.local. TXT", OK "= a.own.any.svc.cluster.local. 30 TXT \"below\""},
    };
    struct fixture *f = setup_mixtures();
    f->config.settings.schema = ENGINE_SCHEMA_SKYDNS;
    CHECK(f, cases);
}

UNIT_TEST(kubernetes_after_a_cname)
{
    static const struct answer_case cases[] = {
        {"own.n.svc.cluster.local. A", OK "= own.n.svc.cluster.local. 30 " TO_WEB
                                          "= web.default.svc.cluster.local. 30 A 10.0.0.1"},
        {"own.n.svc.cluster.local. TXT", OK "= own.n.svc.cluster.local. 30 TXT \"t\""},
        {"to-own.n.svc.cluster.local. TXT",
         OK "= to-own.n.svc.cluster.local. 30 CNAME own.n.svc.cluster.local.\n"
            "= own.n.svc.cluster.local. 30 TXT \"t\""},
        {"below.n.svc.cluster.local. TXT", OK "= below.n.svc.cluster.local. 30 " TO_WEB SOA},
        {"owned.cluster.local. A",
         OK "= owned.cluster.local. 30 " TO_WEB "= web.default.svc.cluster.local. 30 A 10.0.0.1"},
        {"owned.cluster.local. CNAME",
         OK "= owned.cluster.local. 30 CNAME web.default.svc.cluster.local."},
        {"owned.cluster.local. MX", OK "= owned.cluster.local. 30 " TO_WEB SOA},
        {"owned.cluster.local. TXT", OK "= owned.cluster.local. 30 TXT \"heritage=x\"\n"
                                        "= owned.cluster.local. 30 TXT \"owner=y\""},
        {"2.owned.cluster.local. TXT", OK "= 2.owned.cluster.local. 30 TXT \"owner=y\""},
        {"2.owned.cluster.local. A",
         OK "= 2.owned.cluster.local. 30 " TO_WEB "= web.default.svc.cluster.local. 30 A 10.0.0.1"},
        {"a.own.n.svc.cluster.local. A", OK "= a.own.n.svc.cluster.local. 30 A 10.0.0.3"},
        {"a.own.n.svc.cluster.local. TXT", OK "= a.own.n.svc.cluster.local. 30 TXT \"below\""},
        {"own.n.svc.cluster.local. CNAME",
         OK "= own.n.svc.cluster.local. 30 CNAME web.default.svc.cluster.local."},
        {"own.n.svc.cluster.local. ANY",
         OK "= own.n.svc.cluster.local. 30 CNAME web.default.svc.cluster.local."},
        {"alias.cluster.local. MX",
         OK "= alias.cluster.local. 30 CNAME mx.cluster.local.\n"
            "= mx.cluster.local. 30 MX 10 web.default.svc.cluster.local.\n"
            "+ web.default.svc.cluster.local. 30 A 10.0.0.1"},
        {"own.n.svc.cluster.local. SRV",
         OK "= own.n.svc.cluster.local. 30 " TO_WEB
            "= web.default.svc.cluster.local. 30 SRV 10 50 80 web.default.svc.cluster.local.\n"
            "= web.default.svc.cluster.local. 30 SRV 10 50 9090 web.default.svc.cluster.local.\n"
            "+ web.default.svc.cluster.local. 30 A 10.0.0.1"},
        {"hop.n.svc.cluster.local. A",
         OK "= hop.n.svc.cluster.local. 30 CNAME below.n.svc.cluster.local.\n"
            "= below.n.svc.cluster.local. 30 " TO_WEB
            "= web.default.svc.cluster.local. 30 A 10.0.0.1"},
        {"gone.default.svc.cluster.local. CNAME",
         OK "= gone.default.svc.cluster.local. 30 CNAME nope.default.svc.cluster.local."},
        {"gone.default.svc.cluster.local. TYPE65",
         "NXDOMAIN qr aa rd ra\n"
         "= gone.default.svc.cluster.local. 30 CNAME nope.default.svc.cluster.local.\n" SOA},
        {"self.n.svc.cluster.local. A",
         OK "= self.n.svc.cluster.local. 30 CNAME Self.n.svc.cluster.local."},
        {"ring1.n.svc.cluster.local. A",
         OK "= ring1.n.svc.cluster.local. 30 CNAME ring2.n.svc.cluster.local.\n"
            "= ring2.n.svc.cluster.local. 30 CNAME ring1.n.svc.cluster.local."},
        {"out.cluster.local. TXT", OK "= out.cluster.local. 30 CNAME www.example."},
        {"both.n.svc.cluster.local. A", OK "= both.n.svc.cluster.local. 30 A 10.0.0.4"},
        {"mx.cluster.local. A", NODATA},
        {"srv.cluster.local. A", NODATA},
        {"srv.cluster.local. SRV",
         OK "= srv.cluster.local. 30 SRV 10 100 9 web.default.svc.cluster.local.\n"
            "+ web.default.svc.cluster.local. 30 A 10.0.0.1"},
        {"dns-version.cluster.local. TXT", OK "= dns-version.cluster.local. 3600 TXT \"1.1.0\""},
        /* below a port, only SRV */
        {"x._p._tcp.web.n.svc.cluster.local. SRV",
         OK "= x._p._tcp.web.n.svc.cluster.local. 30 SRV 10 50 1 web.default.svc.cluster.local.\n"
            "= x._p._tcp.web.n.svc.cluster.local. 30 SRV 10 50 0 "
            "z.y.x._p._tcp.web.n.svc.cluster.local.\n"
            "+ web.default.svc.cluster.local. 30 A 10.0.0.1\n"
            "+ z.y.x._p._tcp.web.n.svc.cluster.local. 30 A 10.0.0.5"},
        {"x._p._tcp.web.n.svc.cluster.local. TXT", NODATA},
        {"x._p._tcp.web.n.svc.cluster.local. MX", NODATA},
        {"x._p._tcp.web.n.svc.cluster.local. CNAME", NODATA},
        {"z.y.x._p._tcp.web.n.svc.cluster.local. TXT", NODATA},
        {"z.y.x._p._tcp.web.n.svc.cluster.local. A", NODATA},
    };
    CHECK(setup_mixtures(), cases);
}

/* A chain ends after eight CNAMEs, with what the last name has, and that is in its own domain. */
UNIT_TEST(kubernetes_chains)
{
    struct fixture *f = setup_mixtures();
    fixture_domain(f, "other.test.");
    for (char c = 'a'; c < 'k'; c++) {
        char key[40], value[80];
        (void)snprintf(key, sizeof(key), "local/cluster/chain-%c", c);
        (void)snprintf(value, sizeof(value), "{'host':'chain-%c.cluster.local'}", c + 1);
        fixture_put(f, &(struct fixture_key){key, value}, 1);
    }
    fixture_put(f, &(struct fixture_key){"local/cluster/away", "{'host':'x.other.test.'}"}, 1);
    assert_int_equal(
        answer_schema_count_lines(fixture_ask(f, "chain-a.cluster.local. A"), "= ", "CNAME"), 8);
    const char *got = fixture_ask(f, "chain-c.cluster.local. A");
    assert_int_equal(answer_schema_count_lines(got, "= ", "CNAME"), 8);
    assert_int_equal(answer_schema_count_lines(got, "NXDOMAIN", ""), 1);
    fixture_put(f, &(struct fixture_key){"local/cluster/chain-k", "{'host':'10.0.0.9'}"}, 1);
    assert_int_equal(
        answer_schema_count_lines(fixture_ask(f, "chain-b.cluster.local. A"), "= ", "10.0.0.9"), 0);
    assert_int_equal(
        answer_schema_count_lines(fixture_ask(f, "chain-c.cluster.local. A"), "= ", "10.0.0.9"), 1);
    got = fixture_ask(f, "away.cluster.local. AAAA");
    assert_int_equal(answer_schema_count_lines(got, "NXDOMAIN", ""), 1);
    assert_int_equal(answer_schema_count_lines(got, "! other.test. 60 SOA ns.dns.other.test. ", ""),
                     1);
    fixture_free(f);
}

/* The default schema does none of that. */
UNIT_TEST(skydns)
{
    static const struct answer_case cases[] = {
        {"dns-version.cluster.local. TXT", NXDOMAIN},
        {"default.pod.cluster.local. A", OK "= default.pod.cluster.local. 30 A 10.0.0.5"},
        {"gone.default.svc.cluster.local. A", NODATA},
        {"*.default.pod.cluster.local. A", OK "= *.default.pod.cluster.local. 30 A 10.0.0.5"},
    };
    CHECK(answer_schema_setup(), cases);
}

UNIT_TEST(pods_insecure)
{
    static const struct answer_case cases[] = {
        {"10-0-0-5.default.pod.cluster.local. A",
         OK "= 10-0-0-5.default.pod.cluster.local. 3600 A 10.0.0.5"},
        {"192-0-2-1.no-such.pod.cluster.local. A",
         OK "= 192-0-2-1.no-such.pod.cluster.local. 3600 A 192.0.2.1"},
        {"192-0-2-1.x.pod.cluster.local. AAAA", NODATA},
        {"fd00--1.x.pod.cluster.local. AAAA",
         OK "= fd00--1.x.pod.cluster.local. 3600 AAAA fd00::1"},
        {"FD00--A.x.pod.cluster.local. AAAA",
         OK "= FD00--A.x.pod.cluster.local. 3600 AAAA fd00::a"},
        {"fd00--1.x.pod.cluster.local. A", NODATA},
        {"2001-db8-0-0-0-0-0-1.x.pod.cluster.local. AAAA",
         OK "= 2001-db8-0-0-0-0-0-1.x.pod.cluster.local. 3600 AAAA 2001:db8::1"},
        {"192-0-2-256.x.pod.cluster.local. A", NXDOMAIN},
        {"192-0-2.x.pod.cluster.local. A", NXDOMAIN},
        {"192-0-2-01.x.pod.cluster.local. A", NXDOMAIN},
        {"192-0-2-1-.x.pod.cluster.local. A", NXDOMAIN},
        {"192\\.0\\.2\\.1.x.pod.cluster.local. A",
         OK "= 192\\.0\\.2\\.1.x.pod.cluster.local. 3600 A 192.0.2.1"},
        {"web.x.pod.cluster.local. A", NXDOMAIN},
        {"1.10-0-0-5.default.pod.cluster.local. A", NXDOMAIN},
        {"x.pod.cluster.local. A", NODATA},
        {"pod.cluster.local. A", NODATA},
        {"192-0-2-1.x.svc.cluster.local. A", NXDOMAIN},
    };
    struct fixture *f = answer_schema_setup();
    f->config.settings.pods = ENGINE_PODS_INSECURE;
    CHECK(f, cases);
}

UNIT_TEST(pods_disabled)
{
    static const struct answer_case cases[] = {
        {"10-0-0-5.default.pod.cluster.local. A", NXDOMAIN},
        {"default.pod.cluster.local. A", NXDOMAIN},
        {"pod.cluster.local. SOA", NXDOMAIN},
        {"web.default.svc.cluster.local. A", OK "= web.default.svc.cluster.local. 30 A 10.0.0.1"},
    };
    struct fixture *f = answer_schema_setup();
    f->config.settings.pods = ENGINE_PODS_DISABLED;
    CHECK(f, cases);
}

static void answer_schema_add_network(struct fixture *f, const char *address, uint8_t bits)
{
    struct network *network =
        &f->config.settings.reverse_zones[f->config.settings.reverse_zone_count++];
    assert_true(ip_parse(slice_str(address), &network->ip));
    network->prefix_bits = bits;
}

UNIT_TEST(reverse_zones)
{
#define POINTER "= 1.0.96.10.in-addr.arpa. 30 PTR web.default.svc.cluster.local."
    static const struct answer_case cases[] = {
        {"1.0.96.10.in-addr.arpa. PTR", OK POINTER},
        {"1.0.96.10.IN-ADDR.arpa. A",
         "NOERROR qr aa rd ra\n! 96.10.in-addr.arpa. 60 SOA ns.dns.cluster.local. "
         "hostmaster.cluster.local. 1760702400 28800 7200 604800 60"},
        {"0.96.10.in-addr.arpa. PTR", OK SOA_OF("96.10.in-addr.arpa.")},
        {"2.0.96.10.in-addr.arpa. PTR", "NXDOMAIN qr aa rd ra\n" SOA_OF("96.10.in-addr.arpa.")},
        {"x.1.0.96.10.in-addr.arpa. A", "NXDOMAIN qr aa rd ra\n" SOA_OF("96.10.in-addr.arpa.")},
        {"01.0.96.10.in-addr.arpa. PTR", "NXDOMAIN qr aa rd ra\n" SOA_OF("96.10.in-addr.arpa.")},
        {"9.9.111.10.in-addr.arpa. PTR", "NXDOMAIN qr aa rd ra\n" SOA_OF("111.10.in-addr.arpa.")},
        {"111.10.in-addr.arpa. SOA",
         OK "= 111.10.in-addr.arpa. 3600 SOA ns.dns.cluster.local. hostmaster.cluster.local. "
            "1760702400 28800 7200 604800 60"},
        {"111.10.in-addr.arpa. NS", OK "= 111.10.in-addr.arpa. 3600 NS ns.dns.cluster.local."},
        {"111.10.in-addr.arpa. PTR", OK SOA_OF("111.10.in-addr.arpa.")},
        /* outside: answered from etcd, else forwarded */
        {"10.in-addr.arpa. PTR", "forward"},
        {"9.9.112.10.in-addr.arpa. PTR", "forward"},
        {"1.0.112.10.in-addr.arpa. PTR",
         OK "= 1.0.112.10.in-addr.arpa. 30 PTR plain.default.svc.cluster.local."},
        {"1.0.112.10.in-addr.arpa. A", "forward"},
        {"256.96.10.in-addr.arpa. PTR", "NXDOMAIN qr aa rd ra\n" SOA_OF("96.10.in-addr.arpa.")},
        /* a single address; IPv6 by nibbles */
        {"7.2.0.192.in-addr.arpa. PTR", OK SOA_OF("7.2.0.192.in-addr.arpa.")},
        {"8.2.0.192.in-addr.arpa. PTR", "forward"},
        {"1.0.0.d.f.ip6.arpa. PTR",
         OK "= 1.0.0.d.f.ip6.arpa. 30 PTR v6.default.svc.cluster.local."},
        {"2.0.0.d.f.ip6.arpa. PTR", "NXDOMAIN qr aa rd ra\n" SOA_OF("0.0.d.f.ip6.arpa.")},
        {"2.0.d.f.ip6.arpa. PTR", "forward"},
        {"0.0.d.f.ip6.arpa. TYPE65", OK SOA_OF("0.0.d.f.ip6.arpa.")},
        {"g.0.0.d.f.ip6.arpa. PTR", "NXDOMAIN qr aa rd ra\n" SOA_OF("0.0.d.f.ip6.arpa.")},
    };
    struct fixture *f = answer_schema_setup();
    f->config.has_nameservers = true;
    answer_schema_add_network(f, "10.96.0.0", 12);
    answer_schema_add_network(f, "192.0.2.7", 32);
    answer_schema_add_network(f, "fd00::", 15);
    CHECK(f, cases);
}

UNIT_TEST(reverse_before_the_first_sync)
{
    static const struct answer_case cases[] = {
        {"2.0.96.10.in-addr.arpa. A", "SERVFAIL qr aa rd ra"},
        {"2.0.97.10.in-addr.arpa. A", "forward"},
        {"2.0.97.10.in-addr.arpa. PTR", "SERVFAIL qr aa rd ra"},
    };
    struct fixture *f = answer_schema_setup();
    f->store = NULL;
    f->config.has_nameservers = true;
    answer_schema_add_network(f, "10.96.0.0", 16);
    CHECK(f, cases);
}

UNIT_TEST(domains)
{
    static const struct fixture_key more[] = {
        {"test/a", "{'host':'10.20.0.1'}"},
        {"test/sub/b", "{'host':'10.20.0.2'}"},
        {"test/sub/c", "{'host':'a.test'}"},
        {"test/sub/*", "{'host':'10.20.0.3'}"},
    };
    static const struct answer_case cases[] = {
        {"a.test. A", OK "= a.test. 3600 A 10.20.0.1"},
        {"nope.test. A", "NXDOMAIN qr aa rd ra\n! test. 60 SOA ns.dns.test. hostmaster.test. "
                         "1760702400 28800 7200 604800 60"},
        {"nope.sub.test. A",
         "NXDOMAIN qr aa rd ra\n! sub.test. 60 SOA ns.dns.sub.test. hostmaster.sub.test. "
         "1760702400 28800 7200 604800 60"},
        {"sub.test. SOA", OK "= sub.test. 3600 SOA ns.dns.sub.test. hostmaster.sub.test. "
                             "1760702400 28800 7200 604800 60"},
        {"deep.empty.test. NS", OK "= deep.empty.test. 3600 NS ns.dns.deep.empty.test."},
        /* above one of our domains, inside another */
        {"empty.test. A", "NOERROR qr aa rd ra\n! test. 60 SOA ns.dns.test. hostmaster.test. "
                          "1760702400 28800 7200 604800 60"},
        /* from one domain into another */
        {"c.sub.test. A", OK "= c.sub.test. 3600 CNAME a.test.\n= a.test. 3600 A 10.20.0.1"},
        {"web.default.svc.cluster.local. A", OK "= web.default.svc.cluster.local. 30 A 10.0.0.1"},
        {"x.example. A", "forward"},
    };
    struct fixture *f = answer_schema_setup();
    fixture_domain(f, "test.");
    fixture_domain(f, "sub.test.");
    fixture_domain(f, "deep.empty.test.");
    fixture_put(f, more, sizeof(more) / sizeof(more[0]));
    f->config.has_nameservers = true;
    CHECK(f, cases);
}

UNIT_TEST(chaos_refused)
{
    static const struct answer_case cases[] = {
        {"version.bind. TXT ch", "REFUSED qr rd"},
        {"web.default.svc.cluster.local. A", OK "= web.default.svc.cluster.local. 30 A 10.0.0.1"},
    };
    struct fixture *f = answer_schema_setup();
    f->config.settings.chaos = false;
    CHECK(f, cases);
}

/* The rest comes over TCP. */
#define OK_TC "NOERROR qr aa tc rd ra\n"

UNIT_TEST(any_as_hinfo)
{
    static const struct answer_case cases[] = {
        {"web.default.svc.cluster.local. ANY",
         OK_TC "= web.default.svc.cluster.local. 3600 HINFO \"RFC8482\" \"\""},
        {"web.*.svc.cluster.local. ANY",
         OK_TC "= web.*.svc.cluster.local. 3600 HINFO \"RFC8482\" \"\""},
        {"cluster.local. ANY", OK_TC "= cluster.local. 3600 HINFO \"RFC8482\" \"\""},
        {"ns.dns.cluster.local. ANY", OK_TC "= ns.dns.cluster.local. 3600 HINFO \"RFC8482\" \"\""},
        /* with the addresses over streams */
        {"web.default.svc.cluster.local. ANY tcp",
         OK "= web.default.svc.cluster.local. 30 HINFO \"RFC8482\" \"\"\n"
            "= web.default.svc.cluster.local. 30 A 10.0.0.1"},
        {"out.default.svc.cluster.local. ANY tcp", /* nobody is asked */
         OK "= out.default.svc.cluster.local. 30 HINFO \"RFC8482\" \"\"\n"
            "= out.default.svc.cluster.local. 30 CNAME www.example."},
        {"dual.default.svc.cluster.local. ANY tcp",
         OK "= dual.default.svc.cluster.local. 30 HINFO \"RFC8482\" \"\"\n"
            "= dual.default.svc.cluster.local. 30 A 10.0.0.7\n"
            "= dual.default.svc.cluster.local. 30 AAAA fd00::7"},
        {"nope.cluster.local. ANY", NXDOMAIN},
        {"nope.cluster.local. ANY tcp", NXDOMAIN},
        {"example.com. ANY", "REFUSED qr rd"},
        {"version.bind. ANY ch", "REFUSED qr rd"},
    };
    static const struct fixture_key more[] = {
        {"local/cluster/svc/default/out", "{'host':'www.example.','ttl':30}"},
        {"local/cluster/svc/default/dual/1", "{'host':'10.0.0.7','ttl':30}"},
        {"local/cluster/svc/default/dual/2", "{'host':'fd00::7','ttl':30}"},
    };
    struct fixture *f = answer_schema_setup();
    fixture_put(f, more, sizeof(more) / sizeof(more[0]));
    f->config.has_nameservers = true;
    f->config.settings.any_is_hinfo = true;
    CHECK(f, cases);
}

/* Whether a name exists does not depend on the type. */
UNIT_TEST(any_where_flags_say_what_exists)
{
    static const struct answer_case insecure[] = {
        {"10-9-9-9.x.pod.cluster.local. ANY",
         OK_TC "= 10-9-9-9.x.pod.cluster.local. 3600 HINFO \"RFC8482\" \"\""},
        {"10-9-9-9.x.pod.cluster.local. ANY tcp",
         OK "= 10-9-9-9.x.pod.cluster.local. 3600 HINFO \"RFC8482\" \"\"\n"
            "= 10-9-9-9.x.pod.cluster.local. 3600 A 10.9.9.9"},
        {"dns-version.cluster.local. ANY tcp",
         OK "= dns-version.cluster.local. 3600 HINFO \"RFC8482\" \"\""},
        {"nope.x.pod.cluster.local. ANY", NXDOMAIN},
        {"dns-version.cluster.local. ANY",
         OK_TC "= dns-version.cluster.local. 3600 HINFO \"RFC8482\" \"\""},
    };
    static const struct answer_case disabled[] = {
        {"10-0-0-5.default.pod.cluster.local. ANY", NXDOMAIN},
    };
    struct fixture *f = answer_schema_setup();
    f->config.settings.any_is_hinfo = true;
    f->config.settings.schema = ENGINE_SCHEMA_KUBERNETES;
    f->config.settings.pods = ENGINE_PODS_INSECURE;
    CHECK(f, insecure);
    f = answer_schema_setup();
    f->config.settings.any_is_hinfo = true;
    f->config.settings.pods = ENGINE_PODS_DISABLED;
    CHECK(f, disabled);
}
