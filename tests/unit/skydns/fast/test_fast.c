/* Checks what the fast path must answer, and what it must leave; cases in which it once disagreed
 * with the slow path; names looked up in a batch. test_fast_model.c compares the two on random
 * stores. */
#include "tests/support/from_text.h"
#include "tests/support/loopback.h"
#include "tests/support/unit_test.h"
#include "tests/unit/skydns/fast/fast_bed.h"

/* ---- What it must answer, and what it must not ---- */

static const struct fixture_key keys[] = {
    {"local/cluster/svc/default/web/c8", "{'host':'10.0.0.1','ttl':30,'priority':10}"},
    {"local/cluster/svc/default/web/_tcp/_http/c8",
     "{'host':'web.default.svc.cluster.local.','port':80,'ttl':30,'priority':10}"},
    {"local/cluster/svc/default/db/db-0", "{'host':'10.0.1.1','ttl':30,'priority':10}"},
    {"local/cluster/svc/default/db/db-1", "{'host':'10.0.1.2','ttl':30,'priority':10}"},
    {"local/cluster/svc/default/db/_tcp/_sql/db-0",
     "{'host':'db-0.db.default.svc.cluster.local.','port':80,'ttl':30,'priority':10}"},
    {"local/cluster/svc/default/db/_tcp/_sql/db-1",
     "{'host':'db-1.db.default.svc.cluster.local.','port':80,'ttl':30,'priority':10}"},
    {"local/cluster/svc/default/ext", "{'host':'www.test.','ttl':30}"},
    {"arpa/in-addr/10/0/0/1", "{'host':'web.default.svc.cluster.local.','ttl':30}"},
    {"arpa/in-addr/10/0/0/3", "{'host':'x.Arpa.','ttl':30}"},
    {"arpa/other/10/0/0/1", "{'host':'web.default.svc.cluster.local.','ttl':30}"},
};

UNIT_TEST(test_what_is_asked_often)
{
    static const struct {
        const char *question;
        bool want;
    } rows[] = {
        {"web.default.svc.cluster.local. A", true},
        {"WEB.default.svc.cluster.local. A", true},
        {"web.default.svc.cluster.local. A edns=1232 do", true},
        {"web.default.svc.cluster.local. A tcp", true},
        {"web.default.svc.cluster.local. AAAA", true},
        {"web.default.svc.cluster.local. TYPE65", true},
        {"web.default.svc.cluster.local.default.svc.cluster.local. A", true},
        {"web.default.svc.cluster.local.cluster.local. AAAA", true},
        {"absent.default.svc.cluster.local. SRV", true},
        {"db.default.svc.cluster.local. A", true},
        {"db-0.db.default.svc.cluster.local. A", true},
        {"_http._tcp.web.default.svc.cluster.local. SRV", true},
        {"_sql._tcp.db.default.svc.cluster.local. SRV", true},
        {"1.0.0.10.in-addr.arpa. PTR", true},
        {"1.0.0.10.in-addr.ARPA. PTR", true},
        {"2.0.0.10.in-addr.arpa. PTR", false},
        {"3.0.0.10.in-addr.Arpa. PTR", false},
        {"1.0.0.10.other.arpa. PTR", false},
        {"1.0.0.10.in-addr.x\\004arpa. PTR", false}, /* one label */
        {"x\\004arpa. PTR", false},
        {"cluster.local. A", false},
        {"*.default.svc.cluster.local. A", false},
        {"ext.default.svc.cluster.local. A", false},
        {"ns.dns.cluster.local. A", false},
        {"www.test. A", false},
        {"web.default.svc.cluster.local. A ch", false},
        {"web.default.svc.cluster.local. ANY", false},
        {"ABSENT.default.svc.cluster.local. A", true},
        {"absent.default.svc.Cluster.local. A", true},
        {"absent.default.svc.cluster.LOCAL. A", true},
        {"_http._tcp.web.default.svc.cluster.LOCAL. SRV", false},
    };
    struct bed b = {0};
    b.f = fixture_new(keys, sizeof(keys) / sizeof(keys[0]));
    for (int schema = 0; schema < 2; schema++) {
        b.f->config.settings.schema = schema ? ENGINE_SCHEMA_KUBERNETES : ENGINE_SCHEMA_SKYDNS;
        open_paths(&b);
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
            unsigned long before = b.answered;
            compare(&b, rows[i].question, 0);
            assert_that((b.answered > before) == rows[i].want, "schema %d: `%s`: not %d", schema,
                        rows[i].question, rows[i].want);
        }
        close_paths(&b);
    }
    fixture_free(b.f);
}

#define PORT(host) "{'host':'" host "','port':80,'ttl':30,'priority':10}"

/* Ports with unusual targets. */
static const struct fixture_key odd_keys[] = {
    {"local/cluster/svc/n/a/c8", "{'host':'10.0.2.1','ttl':30,'priority':10}"},
    /* A namespace's only addresses; in the other schema its name has none. */
    {"local/cluster/svc/n/a/_tcp/_up/c8", PORT("n.svc.cluster.local.")},
    /* One target is a suffix of the other, but not of the question. */
    {"local/cluster/svc/n/a/_tcp/_ends/c8", PORT("db-0.db.default.svc.cluster.local.")},
    {"local/cluster/svc/n/a/_tcp/_ends/c9", PORT("db.default.svc.cluster.local.")},
    /* In another domain, if the namespace is one. */
    {"local/cluster/svc/default/web/_tcp/_other/c8", PORT("a.n.svc.cluster.local.")},
    {"local/cluster/svc/default/web/_tcp/_ns/c8", PORT("ns.dns.n.svc.cluster.local.")},
    /* Below more labels than a walk remembers. */
    {"local/cluster/svc/d/e/e/p/e/r/s/t/u/c8", "{'host':'10.0.2.2','ttl':30,'priority':10}"},
    {"local/cluster/svc/d/e/e/p/e/r/s/t/u/_tcp/_http/c8",
     PORT("u.t.s.r.e.p.e.e.d.svc.cluster.local.")},
};

UNIT_TEST(test_what_is_asked_seldom)
{
    static const char *const questions[] = {
        "_up._tcp.a.n.svc.cluster.local. SRV",
        "_ends._tcp.a.n.svc.cluster.local. SRV",
        "_other._tcp.web.default.svc.cluster.local. SRV",
        "_ns._tcp.web.default.svc.cluster.local. SRV",
        "_http._tcp.u.t.s.r.e.p.e.e.d.svc.cluster.local. SRV",
        "above.cluster.local. A",
        "a.above.cluster.local. A",
        "x.above.cluster.local. A",
    };
    struct bed b = {0};
    b.f = fixture_new(keys, sizeof(keys) / sizeof(keys[0]));
    b.f->local = loopback_addr(53);
    fixture_put(b.f, odd_keys, sizeof(odd_keys) / sizeof(odd_keys[0]));
    for (int variant = 0; variant < 4; variant++) {
        b.f->config.settings.schema = variant % 2 ? ENGINE_SCHEMA_KUBERNETES : ENGINE_SCHEMA_SKYDNS;
        if (variant == 2) {
            fixture_domain(b.f, "n.svc.cluster.local.");
            fixture_domain(b.f, "a.above.cluster.local.");
        }
        open_paths(&b);
        for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
            compare(&b, questions[i], 0);
        }
        close_paths(&b);
    }
    assert_true(b.with_targets > 0);
    fixture_free(b.f);
}

/* ---- Where the two paths once disagreed ---- */

/* ---- Where the two paths once disagreed ---- */

UNIT_TEST(test_aliases)
{
    static const struct fixture_key aliases[] = {
        {"local/cluster/own/h", "{'host':'web.default.svc.cluster.local.','ttl':30,'priority':10}"},
        {"local/cluster/svc/n/ext/h", "{'host':'own.cluster.local.','ttl':30,'priority':10}"},
        {"local/cluster/svc/n/a/_tcp/_p/x", PORT("ext.n.svc.cluster.local.")},
    };
    static const char *const names[] = {"own",         "h.own",           "ext.n.svc",
                                        "h.ext.n.svc", "_p._tcp.a.n.svc", "x._p._tcp.a.n.svc",
                                        "a.n.svc"};
    static const char *const types[] = {"A", "AAAA", "SRV", "TYPE64", "TYPE65", "TXT"};
    static char text[7 * 6][80];
    const char *questions[7 * 6];
    struct bed b = {.f = fixture_new(keys, sizeof(keys) / sizeof(keys[0]))};
    for (unsigned i = 0; i < 7 * 6; i++) {
        questions[i] = text[i];
        (void)snprintf(text[i], sizeof(text[i]), "%s.cluster.local. %s", names[i / 6],
                       types[i % 6]);
    }
    fixture_put(b.f, aliases, sizeof(aliases) / sizeof(aliases[0]));
    b.f->config.settings.schema = ENGINE_SCHEMA_KUBERNETES;
    compare_all(&b, questions, 7 * 6);
    assert_true(b.answered > 0);
}

/* A pod has no ports, whatever lies below its name. */
UNIT_TEST(test_ports_of_pods)
{
    static const struct fixture_key key = {"local/cluster/pod/n/x/_tcp/_http/h",
                                           PORT("a.n.svc.cluster.local.")};
    static const char *const questions[] = {
        "_http._tcp.x.n.pod.cluster.local. SRV",
        "_tcp.x.n.pod.cluster.local. SRV",
        "_http._tcp.x.n.pod.cluster.local. A",
        "_tcp.x.n.pod.cluster.local. AAAA",
    };
    struct bed b = {.f = fixture_new(&key, 1)};
    b.f->config.settings.schema = ENGINE_SCHEMA_KUBERNETES;
    compare_all(&b, questions, sizeof(questions) / sizeof(questions[0]));
    assert_true(b.answered > 0);
}

/* A network of -reverse-zones takes precedence over a domain inside or around it. */
UNIT_TEST(test_domains_in_reverse_zones)
{
    static const struct fixture_key key = {"arpa/in-addr/10/96/x/y/h",
                                           "{'host':'10.0.0.1','ttl':30,'priority':10}"};
    static const char *const domains[] = {"10.in-addr.arpa.",
                                          "x.96.10.in-addr.arpa.",
                                          "96.10.in-addr.arpa.",
                                          "in-addr.arpa.",
                                          "arpa.",
                                          "."};
    static const char *const questions[] = {
        "y.x.96.10.in-addr.arpa. A", "y.x.96.10.in-addr.arpa. AAAA", "y.x.96.10.in-addr.arpa. SRV",
        "z.x.96.10.in-addr.arpa. A", "z.10.in-addr.arpa. A",
    };
    for (size_t i = 0; i < sizeof(domains) / sizeof(domains[0]); i++) {
        struct bed b = {.f = fixture_new(&key, 1)};
        fixture_domain(b.f, domains[i]);
        add_reverse_zone(b.f, "10.96.0.0", 12);
        (void)snprintf(b.config, sizeof(b.config), "domain %s", domains[i]);
        compare_all(&b, questions, sizeof(questions) / sizeof(questions[0]));
    }
}

/* local.dns.<domain> stands for another name, even where the name looks reverse. */
UNIT_TEST(test_a_reverse_name_of_this_server)
{
    static const struct fixture_key key = {"arpa/in-addr/10/dns/local",
                                           "{'host':'a.n.svc.cluster.local.','ttl':30}"};
    static const char *const questions[] = {"local.dns.10.in-addr.arpa. PTR"};
    struct bed b = {.f = fixture_new(&key, 1)};
    fixture_domain(b.f, "10.in-addr.arpa.");
    b.f->config.settings.local = dname_from("web.default.svc.cluster.local.");
    compare_all(&b, questions, 1);
}

/* The hostmaster is in a domain that differs from this one by a bit, and by the case that clients
 * mix. */
UNIT_TEST(test_a_hostmaster_next_door)
{
    static const struct fixture_key key = {"corp/b/svc/n/a/h", "{'host':'10.0.0.1'}"};
    static const char *const questions[] = {"nope.n.svc.B.corp. A", "nope.n.svc.b.CORP. A",
                                            "nope.n.svc.C.corp. A", "nope.n.svc.b.corp. A"};
    struct bed b = {.f = fixture_new(&key, 1)};
    fixture_domain(b.f, "b.corp.");
    for (size_t i = 0; i < b.f->config.zone_count; i++) {
        b.f->config.zones[i].hostmaster = dname_from("ops.c.corp.");
    }
    compare_all(&b, questions, sizeof(questions) / sizeof(questions[0]));
    assert_int_equal(b.answered, 3); /* one is of another domain */
}

/* ---- Names looked up in a batch ---- */

static const char *ask_ahead(struct fixture *f, const char *question, unsigned ahead)
{
    enum engine_transport transport = fixture_query(f, question);
    f->ahead = ahead;
    return fixture_answer(f, transport);
}

/* Lookahead results only count for the version and configuration they were made in. */
UNIT_TEST(test_what_changes_after_looking_ahead)
{
    static const char absent[] = "absent.default.svc.cluster.local. A";
    static const char web[] = "web.default.svc.cluster.local. A";
    static const struct fixture_key changed = {"local/cluster/svc/default/web/c8",
                                               "{'host':'10.0.0.2','ttl':30,'priority':10}"};
    static uint8_t wire[2][DNS_UDP_SIZE];
    struct slice queries[2];
    struct fixture *f = fixture_new(keys, sizeof(keys) / sizeof(keys[0]));
    struct engine_config config = f->config;
    for (int i = 0; i < 2; i++) {
        (void)fixture_query(f, i == 0 ? absent : web);
        queries[i] = slice_of(memcpy(wire[i], f->query, f->query_len), f->query_len);
    }
    engine_look_ahead(f->engine, f->store, queries, 2);
    assert_non_null(strstr(ask_ahead(f, absent, 1), "NXDOMAIN"));
    assert_non_null(strstr(ask_ahead(f, web, 2), "10.0.0.1"));
    assert_non_null(strstr(ask_ahead(f, web, 3), "10.0.0.1")); /* there is no third */

    fixture_put(f, &changed, 1);
    assert_non_null(strstr(ask_ahead(f, web, 2), "10.0.0.2"));

    engine_look_ahead(f->engine, f->store, queries, 2);
    config.serial = f->config.serial + 1;
    engine_configure(f->engine, &config);
    assert_non_null(strstr(ask_ahead(f, web, 1), "10.0.0.2")); /* there is no first any more */

    engine_look_ahead(f->engine, f->store, queries, 2);
    engine_look_ahead(f->engine, NULL, queries, 2);
    assert_non_null(strstr(ask_ahead(f, web, 2), "10.0.0.2"));
    fixture_free(f);
}
