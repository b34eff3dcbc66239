/* Search paths: which queries have one, what each kind of answer at a place means, and what the
 * reply looks like. test_path_model compares with a client that searches by itself. */
#include "skydns/external/hosts_table.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/hosts_table_of.h"
#include "tests/support/skydns/response_bytes.h"
#include "tests/support/unit_test.h"
#include "tests/unit/skydns/engine/search_list_bed.h"

#define DENIED(name)                                                                        \
    "NXDOMAIN qr aa rd ra\n? " name " IN A\n! cluster.local. 60 SOA ns.dns.cluster.local. " \
    "hostmaster.cluster.local. 1760702400 28800 7200 604800 60"

static const struct fixture_key keys[] = {
    {"local/cluster/svc/team/web/1", "{'host':'10.0.0.1','ttl':30}"},
    {"local/cluster/svc/other/db/1", "{'host':'10.0.0.2','ttl':20}"},
    {"local/cluster/top/1", "{'host':'10.0.0.3','ttl':10}"},
    {"local/cluster/svc/team/both/1", "{'host':'10.0.0.4'}"},
    {"local/cluster/both/1", "{'host':'10.0.0.5'}"},
    {"local/cluster/svc/team/out", "{'host':'far.test.'}"},
    {"local/cluster/svc/team/other/gone", "{'host':'gone.test.'}"},
    {"local/cluster/svc/other/gone", "{'host':'near.test.'}"},
    {"local/cluster/other/gone", "{'host':'10.0.0.6'}"},
};

static bool may_rule_out; /* once every test with names ruled out by the store, once without */

static struct search_list_bed search_list_setup(void)
{
    struct search_list_bed p = path_bed_new(keys, ARRAY_LEN(keys));
    if (may_rule_out) {
        path_bed_without_stub_below(&p);
    }
    return p;
}

static void search_list_set_up(struct search_list_bed *p)
{
    *p = search_list_setup();
}

UNIT_FIXTURE(struct search_list_bed, search_list_set_up, search_list_bed_free)

static void search_list_put(struct search_list_bed *p, const char *question, const char *owner,
                            uint32_t ttl_s)
{
    bed_put_addresses(&p->b, question, owner, ttl_s, 1);
}

static void search_list_put_denial(struct search_list_bed *p, const char *question, uint16_t flags,
                                   uint32_t ttl_s)
{
    static struct bed_reply r;
    reply_begin(&r, &p->b, question, flags);
    reply_add_soa(&r, ".", ttl_s);
    assert_int_equal(bed_put(&p->b, question, &r), CACHE_HIT);
}

#define check(p, question, expected) assert_string_equal(fixture_ask((p)->f, question), expected)

/* ---- Which queries ---- */

UNIT_TEST_ON(who_and_what, struct search_list_bed *p)
{
    search_list_put(p, "www.example. A", "www.example.", 300);
    static const char found[] = "NOERROR qr rd ra\n? www.example" TEAM "IN A\n= www.example" TEAM
                                "300 CNAME www.example.\n= www.example. 300 A 192.0.0.1";
    static const char spelled[] =
        "NOERROR qr rd ra\n? WWW.eXample.Team.SVC.Cluster.LOCAL. IN A\n= "
        "WWW.eXample.Team.SVC.Cluster.LOCAL. 300 CNAME WWW.eXample.\n= WWW.eXample. 300 A "
        "192.0.0.1";
    check(p, "www.example" TEAM "A", found);
    check(p, "WWW.eXample.Team.SVC.Cluster.LOCAL. A", spelled);
    assert_int_equal(path_bed_answers(p), 2);
    assert_int_equal(path_bed_saved(p), 6);
    /* another namespace's, another domain's, the search domain itself */
    check(p, "www.example.other.svc.cluster.local. A",
          DENIED("www.example.other.svc.cluster.local."));
    check(p, "www.example.team.svc.acme.test. A", "forward");
    assert_non_null(strstr(fixture_ask(p->f, "team.svc.cluster.local. TXT"), "NOERROR qr aa"));
    assert_null(strstr(p->f->text, "CNAME"));
    assert_int_equal(path_bed_answers(p), 2);
    check(p, "www.example" TEAM "A ch", "REFUSED qr rd\n? www.example" TEAM "CH A");
    check(p, "www.example" TEAM "ANY", "REFUSED qr rd\n? www.example" TEAM "IN ANY");
    /* another client, and without the flag */
    p->f->client = pod_address(2);
    check(p, "www.example" TEAM "A", DENIED("www.example.team.svc.cluster.local."));
    path_bed_pod(p, 2, "other");
    check(p, "www.example" TEAM "A", DENIED("www.example.team.svc.cluster.local."));
    p->f->client = pod_address(1);
    p->f->config.settings.autopath = false;
    check(p, "www.example" TEAM "A", DENIED("www.example.team.svc.cluster.local."));
    assert_int_equal(path_bed_answers(p), 2);
}

/* ---- The places ---- */

UNIT_TEST_ON(places, struct search_list_bed *p)
{
    /* a whole name of ours */
    check(p, "web.team.svc.cluster.local" TEAM "A",
          "NOERROR qr aa rd ra\n? web.team.svc.cluster.local" TEAM
          "IN A\n= web.team.svc.cluster.local" TEAM
          "30 CNAME web.team.svc.cluster.local.\n= web.team.svc.cluster.local. 30 A 10.0.0.1");
    path_bed_search(p, "example.");
    search_list_put(p, "far.example. A", "far.example.", 50);
    search_list_put_denial(p, "deep.far.example. A", 0x8183, 40);
    search_list_put(p, "deep.far. A", "deep.far.", 60);
    check(p, "web" TEAM "A", "NOERROR qr aa rd ra\n? web" TEAM "IN A\n= web" TEAM "30 A 10.0.0.1");
    check(p, "both" TEAM "A",
          "NOERROR qr aa rd ra\n? both" TEAM "IN A\n= both" TEAM "3600 A 10.0.0.4");
    check(p, "db.other" TEAM "A",
          "NOERROR qr aa rd ra\n? db.other" TEAM "IN A\n= db.other" TEAM
          "20 CNAME db.other.svc.cluster.local.\n= db.other.svc.cluster.local. 20 A 10.0.0.2");
    check(p, "top" TEAM "A",
          "NOERROR qr aa rd ra\n? top" TEAM "IN A\n= top" TEAM
          "10 CNAME top.cluster.local.\n= top.cluster.local. 10 A 10.0.0.3");
    check(p, "far" TEAM "A",
          "NOERROR qr rd ra\n? far" TEAM "IN A\n= far" TEAM
          "50 CNAME far.example.\n= far.example. 50 A 192.0.0.1");
    check(p, "deep.far" TEAM "A",
          "NOERROR qr rd ra\n? deep.far" TEAM "IN A\n= deep.far" TEAM
          "60 CNAME deep.far.\n= deep.far. 60 A 192.0.0.1");
    assert_int_equal(path_bed_answers(p), 5);
    assert_int_equal(path_bed_saved(p), 3 + 1 + 2 + 3 + 4);
    /* SERVFAIL at one place: the next ones may answer, and if not, nobody knows */
    bed_fail(&p->b, "top.example. A");
    bed_fail(&p->b, "a.b.example. A");
    search_list_put(p, "a.b. A", "a.b.", 60);
    check(p, "a.b" TEAM "A",
          "NOERROR qr rd ra\n? a.b" TEAM "IN A\n= a.b" TEAM "60 CNAME a.b.\n= a.b. 60 A 192.0.0.1");
    search_list_put_denial(p, "a.b. A", 0x8183, 40);
    check(p, "a.b" TEAM "A", "SERVFAIL qr rd ra\n? a.b" TEAM "IN A");
    search_list_put_denial(p, "a.b.example. A", 0x8183, 40);
    check(p, "a.b" TEAM "A", DENIED("a.b.team.svc.cluster.local."));
}

UNIT_TEST_ON(no_data, struct search_list_bed *p)
{
    search_list_put_denial(p, "www.example. AAAA", 0x8180, 100); /* its minimum is 60 */
    assert_non_null(
        strstr(fixture_ask(p->f, "www.example" TEAM "AAAA"), "60 CNAME www.example.\n! . "));
    assert_non_null(strstr(fixture_ask(p->f, "top" TEAM "MX"),
                           "60 CNAME top.cluster.local.\n! cluster.local. 60 SOA "));
    assert_non_null(strstr(fixture_ask(p->f, "both" TEAM "MX"), "NOERROR qr aa"));
    assert_null(strstr(p->f->text, "CNAME"));
}

UNIT_TEST_ON(few_dots, struct search_list_bed *p)
{
    struct hosts_entry entry = {.name = dname_from("nas.")};
    check(p, "redis" TEAM "A", DENIED("redis.team.svc.cluster.local."));
    p->f->config.settings.ndots = 3;
    check(p, "redis.x" TEAM "A", DENIED("redis.x.team.svc.cluster.local."));
    check(p, "redis.acme.test" TEAM "A", "forward");
    check(p, "x.y.z" TEAM "A", "forward");
    assert_true(ip_parse(slice_str("192.168.0.1"), &entry.ip));
    p->f->config.hosts = hosts_table_of(&entry, 1);
    check(p, "redis" TEAM "A", DENIED("redis.team.svc.cluster.local."));
    static const char nas[] = "? nas" TEAM "IN A\n= nas" TEAM;
    assert_non_null(strstr(fixture_ask(p->f, "nas" TEAM "A"), nas));
    /* a hosts file says nothing about how long it lacks other types */
    assert_non_null(strstr(fixture_ask(p->f, "nas" TEAM "MX"), "= nas" TEAM "0 CNAME nas."));
    p->f->config.settings.no_rec = true;
    check(p, "redis" TEAM "A", DENIED("redis.team.svc.cluster.local."));
    check(p, "x.y.z" TEAM "A", "SERVFAIL qr rd ra\n? x.y.z" TEAM "IN A");
    hosts_table_unref(p->f->config.hosts);
}

/* RD is clear: a target in another domain is left to the client, at any place. */
UNIT_TEST_ON(without_recursion, struct search_list_bed *p)
{
    check(p, "out" TEAM "A nord",
          "NOERROR qr aa ra\n? out" TEAM "IN A\n= out" TEAM "3600 CNAME far.test.");
    check(p, "gone.other.svc" TEAM "A nord",
          "NOERROR qr aa ra\n? gone.other.svc" TEAM "IN A\n= gone.other.svc" TEAM
          "3600 CNAME gone.other.svc.cluster.local.\n= gone.other.svc.cluster.local. 3600 CNAME "
          "near.test.");
}

UNIT_TEST_ON(not_ready, struct search_list_bed *p)
{
    const struct store *store = p->f->store;
    search_list_put(p, "www.example. A", "www.example.", 300);
    p->f->store = NULL;
    assert_non_null(strstr(fixture_ask(p->f, "www.example" TEAM "A"), "CNAME www.example."));
    assert_non_null(strstr(fixture_ask(p->f, "redis" TEAM "A edns=1232"), "SERVFAIL qr aa rd ra"));
    p->f->store = store;
    p->f->config.zones[0].is_incomplete = true;
    assert_non_null(strstr(fixture_ask(p->f, "www.example" TEAM "A"), "CNAME www.example."));
    assert_non_null(strstr(fixture_ask(p->f, "redis" TEAM "A"), "SERVFAIL"));
}

/* ---- The reply's form ---- */

UNIT_TEST_ON(flags_and_edns, struct search_list_bed *p)
{
    static struct bed_reply r;
    reply_begin(&r, &p->b, "www.example. A edns=1232 do", 0x81a0); /* AD */
    reply_add_a(&r, "www.example.", 300, 1);
    assert_int_equal(bed_put(&p->b, "www.example. A edns=1232 do", &r), CACHE_HIT);
    check(p, "www.example. A edns=1232 do",
          "NOERROR qr rd ra ad\n? www.example. IN A\n= www.example. 300 A 192.0.0.1\nedns 1232 do");
    check(p, "www.example" TEAM "A edns=1232 do",
          "NOERROR qr rd ra\n? www.example" TEAM "IN A\n= www.example" TEAM
          "300 CNAME www.example.\n= www.example. 300 A 192.0.0.1\nedns 1232 do");
}

/* A reply that just fits without the CNAME does not with it: cut, as the client would have it. */
UNIT_TEST_ON(limits, struct search_list_bed *p)
{
    enum { FIT = (512 - 12 - 17 - 16) / 16 };
    bed_put_addresses(&p->b, "www.example. A", "www.example.", 300, FIT);
    assert_null(strstr(fixture_ask(p->f, "www.example. A"), "tc"));
    assert_non_null(strstr(fixture_ask(p->f, "www.example" TEAM "A"), "NOERROR qr tc rd ra\n"));
    assert_true(p->f->reply_len <= 512);
    assert_null(strstr(fixture_ask(p->f, "www.example" TEAM "A tcp"), "tc"));
    assert_null(strstr(fixture_ask(p->f, "www.example" TEAM "A edns=1232"), "tc"));
}

/* A question so long that 512 bytes hold little else: the client is left to its own search. Names
 * that would be too long are no places. */
UNIT_TEST_ON(long_names, struct search_list_bed *p)
{
    char prefix[64 * 4 + 1] = "", question[512], whole[512], owner[512];
    for (unsigned i = 0; i < 3; i++) {
        memset(prefix + 64 * i, 'x', 63);
        prefix[64 * i + 63] = '.';
    }
    (void)snprintf(whole, sizeof(whole), "%san-example-of-a-label-that-is-long. A", prefix);
    (void)snprintf(question, sizeof(question), "%san-example-of-a-label-that-is-long" TEAM "A",
                   prefix);
    (void)snprintf(owner, sizeof(owner), "%san-example-of-a-label-that-is-long.", prefix);
    search_list_put(p, whole, owner, 300);
    assert_non_null(strstr(fixture_ask(p->f, question), "NXDOMAIN"));
    (void)snprintf(question, sizeof(question),
                   "%san-example-of-a-label-that-is-long" TEAM "A edns=1232", prefix);
    assert_non_null(strstr(fixture_ask(p->f, question), "CNAME"));
    (void)snprintf(question, sizeof(question), "%san-example-of-a-label-that-is-long" TEAM "A tcp",
                   prefix);
    assert_non_null(strstr(fixture_ask(p->f, question), "CNAME"));
    path_bed_search(p, "a-search-name-that-makes-this-one-longer-than-names-may-be.example.");
    assert_non_null(strstr(fixture_ask(p->f, question), "CNAME"));
}

/* ---- Deferrals ---- */

static const char *search_list_forwarded(struct search_list_bed *p, const char *question,
                                         unsigned place, struct bed_reply *r)
{
    enum engine_transport transport = fixture_query(p->f, question);
    struct engine_query query = {.wire = p->f->query,
                                 .len = p->f->query_len,
                                 .client = &p->f->client,
                                 .local = &p->f->local,
                                 .transport = transport,
                                 .search_list_at = (uint8_t)place,
                                 .search_list_serial = p->f->config.serial - p->f->path_age};
    return engine_forwarded_bytes(p->f->engine, &query, r->wire, r->w.pos, &p->f->response)
               ? dns_text(p->f->reply, p->f->response.len, p->f->text, sizeof(p->f->text))
               : "none";
}

static void check_forward(struct search_list_bed *p, const char *name, unsigned place)
{
    struct dname asked = dname_from(name);
    assert_int_equal(p->f->verdict, ENGINE_DEFER);
    assert_int_equal(p->f->deferral.kind, ENGINE_DEFER_FORWARD);
    assert_int_equal(p->f->deferral.search_list_at, place);
    assert_int_equal(p->f->deferral.forward.len, asked.len);
    assert_memory_equal(p->f->deferral.forward.wire, asked.wire, asked.len);
}

UNIT_TEST_ON(forwarding, struct search_list_bed *p)
{
    static struct bed_reply r;
    path_bed_search(p, "example.");
    (void)fixture_ask(p->f, "www.acme" TEAM "A edns=1232 do");
    check_forward(p, "www.acme.example.", 3);
    reply_begin(&r, &p->b, "www.acme.example. A", 0x8180);
    reply_add_a(&r, "www.acme.example.", 77, 1);
    assert_string_equal(search_list_forwarded(p, "www.acme" TEAM "A", 3, &r),
                        "NOERROR qr rd ra\n? www.acme" TEAM "IN A\n= www.acme" TEAM
                        "77 CNAME www.acme.example.\n= www.acme.example. 77 A 192.0.0.1");
    assert_int_equal(path_bed_answers(p), 1);
    /* it answers another place's name, and that place's the same */
    assert_string_equal(search_list_forwarded(p, "www.acme" TEAM "A", 4, &r), "none");
    assert_string_equal(search_list_forwarded(p, "www.acme" TEAM "A", 5, &r), "none");
    reply_begin(&r, &p->b, "www.acme.example. A", 0x8183);
    reply_add_soa(&r, "example.", 60);
    assert_string_equal(search_list_forwarded(p, "www.acme" TEAM "A", 3, &r), "none");
    p->f->search_list_at = 4;
    (void)fixture_ask(p->f, "www.acme" TEAM "A");
    check_forward(p, "www.acme.", 4);
    p->f->search_list_at = 5;
    check(p, "www.acme" TEAM "A", DENIED("www.acme.team.svc.cluster.local."));
    p->f->search_list_seen = ENGINE_PATH_SAW_FAILURE;
    check(p, "www.acme" TEAM "A", "SERVFAIL qr rd ra\n? www.acme" TEAM "IN A");
    /* and one that is over */
    p->f->search_list_at = ENGINE_PATH_OVER;
    check(p, "www.acme" TEAM "A", DENIED("www.acme.team.svc.cluster.local."));
    assert_int_equal(bed_misses(&p->b), 2);
}

/* A place of an earlier configuration may be another name's now: it counts as none. */
UNIT_TEST_ON(earlier_configurations, struct search_list_bed *p)
{
    static struct bed_reply r;
    path_bed_search(p, "example.");
    reply_begin(&r, &p->b, "www.acme.example. A", 0x8180);
    reply_add_a(&r, "www.acme.example.", 77, 1);
    (void)fixture_ask(p->f, "www.acme" TEAM "A");
    check_forward(p, "www.acme.example.", 3);
    assert_int_equal(p->f->deferral.search_list_serial, p->f->config.serial);
    p->f->search_list_at = 3;
    p->f->path_age = 1;
    check(p, "www.acme" TEAM "A", DENIED("www.acme.team.svc.cluster.local."));
    assert_string_equal(search_list_forwarded(p, "www.acme" TEAM "A", 3, &r), "none");
    p->f->path_age = 0;
    (void)fixture_ask(p->f, "www.acme" TEAM "A");
    check_forward(p, "www.acme.example.", 3);
}

/* A client that may not ask about other domains gets nothing from the cache. */
UNIT_TEST_ON(not_allowed, struct search_list_bed *p)
{
    search_list_put(p, "www.example. A", "www.example.", 300);
    p->f->config.allows_all = false;
    (void)fixture_ask(p->f, "www.example" TEAM "A");
    check_forward(p, "www.example.", 3);
    p->f->search_list_at = 4;
    check(p, "www.example" TEAM "A", DENIED("www.example.team.svc.cluster.local."));
}

/* Externals answer the place that asked for them; a later one asks for its own. */
UNIT_TEST_ON(lookups, struct search_list_bed *p)
{
    struct external_answer gone = {.question = {dname_from("gone.test."), 1},
                                   .outcome = EXTERNAL_DENIED};
    p->f->config.settings.schema = ENGINE_SCHEMA_KUBERNETES;
    check(p, "out" TEAM "A", "lookup far.test./A");
    assert_int_equal(p->f->deferral.search_list_at, 0);
    check(p, "gone.other" TEAM "A", "lookup gone.test./A");
    p->f->externals = (struct external_answers){1, &gone};
    p->f->has_externals = true;
    assert_non_null(strstr(fixture_ask(p->f, "gone.other" TEAM "A"), "CNAME gone.test."));
    gone.outcome = EXTERNAL_FAILED;
    check(p, "gone.other" TEAM "A", "lookup near.test./A");
    assert_int_equal(p->f->deferral.search_list_at, 1);
    struct external_answer near = {.question = {dname_from("near.test."), 1},
                                   .outcome = EXTERNAL_DENIED};
    p->f->externals = (struct external_answers){1, &near};
    p->f->search_list_at = 1;
    assert_non_null(strstr(fixture_ask(p->f, "gone.other" TEAM "A"), "CNAME near.test."));
    near.outcome = EXTERNAL_FAILED;
    assert_non_null(
        strstr(fixture_ask(p->f, "gone.other" TEAM "A"), "CNAME gone.other.cluster.local."));
}

/* The refresh asks about the cached name, not the client's, with the client's flags. */
UNIT_TEST_ON(refreshes, struct search_list_bed *p)
{
    const struct dname bare = dname_from("www.example.");
    search_list_put(p, "www.example. A edns=1232 do", "www.example.", 100);
    for (unsigned i = 0; i < CACHE_REFRESH_HITS; i++) {
        (void)fixture_ask(p->f, "www.example" TEAM "A edns=1232 do");
        assert_int_equal(p->f->verdict, ENGINE_REPLY);
    }
    p->f->now_ms += 95 * 1000;
    (void)fixture_ask(p->f, "www.example" TEAM "A edns=1232 do");
    assert_true(p->f->deferral.wants_refresh);
    const struct question *refresh = &p->f->deferral.refresh;
    assert_int_equal(refresh->name.len, bare.len);
    assert_memory_equal(refresh->name.wire, bare.wire, bare.len);
    assert_true(refresh->dnssec_ok && refresh->recursion_desired);
    (void)fixture_ask(p->f, "www.example" TEAM "A edns=1232 do");
    assert_false(p->f->deferral.wants_refresh);
}

UNIT_TEST_ON(stale, struct search_list_bed *p)
{
    search_list_put(p, "www.example. A", "www.example.", 100);
    p->f->now_ms += 200 * 1000;
    (void)fixture_ask(p->f, "www.example" TEAM "A");
    check_forward(p, "www.example.", 3);
    p->f->takes_stale = true;
    p->f->search_list_at = 3;
    check(p, "www.example" TEAM "A",
          "NOERROR qr rd ra\n? www.example" TEAM "IN A\n= www.example" TEAM
          "30 CNAME www.example.\n= www.example. 30 A 192.0.0.1");
}

int main(void)
{
    int failed = unit_tests_run("in_full");
    may_rule_out = true;
    return failed + unit_tests_run("ruled_out");
}
