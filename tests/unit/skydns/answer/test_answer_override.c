/* External names that etcd or -alias has: whose answer counts, flattened targets and their ends,
 * wildcards, what a client may not see; and a domain's apex. */
#include "skydns/clients/visibility.h"
#include "skydns/external/hosts_table.h"
#include "skydns/sync/override_index.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/hosts_table_of.h"
#include "tests/support/unit_test.h"
#include "tests/unit/skydns/engine/search_list_bed.h"

#define SOA(ttl)                                                                           \
    "\n! . " #ttl " SOA ns.dns.cluster.local. hostmaster.cluster.local. 1760702400 28800 " \
    "7200 604800 " #ttl
#define OWN_SOA                                                                             \
    "\n! second.test. 60 SOA ns.dns.second.test. hostmaster.second.test. 1760702400 28800 " \
    "7200 604800 60"
#define NO_DATA(question) "NOERROR qr rd ra\n? " question SOA(60)
#define FOUND(question)   "NOERROR qr rd ra\n? " question "\n= "
#define TEAM_WEB          "'host':'web.team.svc.cluster.local.'"

static const struct fixture_key keys[] = {
    {"local/cluster/svc/team/web/a", "{'host':'10.1.0.1','ttl':20}"},
    {"local/cluster/svc/team/web/b", "{'host':'10.1.0.2','ttl':50}"},
    {"local/cluster/svc/team/out", "{'host':'led.example.com.','ttl':100}"},
    {"local/cluster/svc/team/caught", "{'host':'ring1.example.com.','ttl':100}"},
    {"local/cluster/svc/team/_tcp/_x/a", "{'host':'own.example.com.','port':80,'ttl':100}"},
    {"local/cluster/svc/team/_tcp/_x/b", "{'host':'ring1.example.com.','port':81,'ttl':100}"},
    {"local/cluster/svc/vault/web/a", "{'host':'10.2.0.1','ttl':20}"},
    {"com/example/own/3f", "{'host':'192.0.2.1','ttl':40,'targetstrip':1}"},
    {"com/example/set", "{'host':'192.0.2.2'}"},
    {"com/example/two/a", "{'host':'192.0.2.3','ttl':9,'targetstrip':1}"},
    {"com/example/two/b", "{'host':'2001:db8::3','targetstrip':1}"},
    {"com/example/led", "{" TEAM_WEB "}"},
    {"com/example/low", "{" TEAM_WEB ",'ttl':5}"},
    {"com/example/gone", "{'host':'nothing.team.svc.cluster.local.'}"},
    {"com/example/text", "{'text':'hello','ttl':70}"},
    {"com/example/note", "{'host':'192.0.2.4','text':'heritage=external-dns'}"},
    {"com/example/rr", "{'ttl':50,'rr':['MX 5 mx.example.net.','A 192.0.2.9','TXT two']}"},
    {"com/example/more", "{'host':'192.0.2.10','rr':['A 192.0.2.11','AAAA 2001:db8::b']}"},
    {"com/example/both", "{'text':'one','rr':['TXT two']}"},
    {"com/example/veiled", "{'host':'Web.Vault.svc.cluster.local.','rr':['TXT secret']}"},
    {"com/example/mixed/a", "{'host':'web.vault.svc.cluster.local.','targetstrip':1}"},
    {"com/example/mixed/b", "{'host':'192.0.2.12','targetstrip':1}"},
    {"com/example/behind", "{'host':'veiled.example.com.'}"},
    {"com/example/far", "{'host':'www.elsewhere.test.','ttl':300}"},
    {"com/example/stubbed", "{'host':'db.acme.test.'}"},
    {"com/example/home", "{'host':'localhost.'}"},
    {"com/example/ring1", "{'host':'ring2.example.com.'}"},
    {"com/example/ring2", "{'host':'ring1.example.com.'}"},
    {"com/example/self", "{'host':'self.example.com.'}"},
    {"com/example/c0", "{'host':'c1.example.com.'}"},
    {"com/example/c1", "{'host':'c2.example.com.'}"},
    {"com/example/c2", "{'host':'c3.example.com.','ttl':3}"},
    {"com/example/c3", "{'host':'c4.example.com.'}"},
    {"com/example/c4", "{'host':'c5.example.com.'}"},
    {"com/example/c5", "{'host':'c6.example.com.'}"},
    {"com/example/c6", "{'host':'c7.example.com.'}"},
    {"com/example/c7", "{'host':'c8.example.com.'}"},
    {"com/example/c8", "{'host':'c9.example.com.'}"},
    {"com/example/c9", "{'host':'192.0.2.13'}"},
    {"com/example/apps/*", "{'host':'192.0.2.7'}"},
    {"com/example/apps/fixed/3f", "{'host':'192.0.2.8','targetstrip':1}"},
    {"com/example/apps/deep/er", "{'text':'x'}"},
    {"corp", "{'host':'192.0.2.5'}"},
    {"test/*", "{'host':'192.0.2.14'}"},
    {"test/acme/deep/*", "{'host':'192.0.2.15'}"},
    {"test/acme/www", "{'host':'192.0.2.16'}"},
    {"test/listed", "{'host':'192.0.2.17'}"},
    {"test/second/dns/apex/a", "{'host':'192.0.2.20','ttl':35}"},
    {"test/second/dns/apex/b", "{'host':'192.0.2.21','ttl':25,'text':'v=spf1 -all'}"},
    {"test/second/dns/apex/c", "{'ttl':60,'rr':['MX 10 mail.second.test.','AAAA 2001:db8::c']}"},
    {"test/second/dns/apex/d", "{'host':'mx.second.test.','mail':true,'priority':20,'ttl':60}"},
    {"test/second/mx", "{'host':'192.0.2.22','ttl':15}"},
    {"local/cluster/dns/apex/a", "{'host':'192.0.2.23'}"},
};

struct bed {
    struct search_list_bed p;
    struct fixture *f;
    struct override_index *index;
};

/* Reads the store's external names anew, as after a change of any key. */
static void read_overrides(struct bed *b)
{
    struct engine_config *config = &b->f->config;
    struct store_garbage *garbage;
    struct dname domains[ENGINE_ZONES_MAX];
    for (size_t i = 0; i < config->zone_count; i++) {
        domains[i] = config->zones[i].domain;
    }
    override_index_set(b->index, &(struct override_index_rule){.is_on = true,
                                                               .ttl_s = 30,
                                                               .domain_count = config->zone_count,
                                                               .domains = domains});
    override_index_note_all(b->index);
    store_writer_set_overrides(b->f->writer,
                               override_index_follow(b->index, NULL, b->f->store, &garbage));
    store_garbage_free(garbage);
}

/* The domains are cluster.local. and second.test., the stub zones acme.test. and empty.test. */
static struct bed override_bed_new(void)
{
    struct bed b = {.p = path_bed_new(keys, ARRAY_LEN(keys)), .index = override_index_new()};
    path_bed_without_stub_below(&b.p);
    b.f = b.p.f;
    fixture_domain(b.f, "second.test.");
    b.f->config.settings.autopath = false;
    b.f->config.settings.overrides = true;
    b.f->config.has_nameservers = true;
    read_overrides(&b);
    return b;
}

static void override_bed_free(struct bed *b)
{
    search_list_bed_free(&b->p);
    override_index_free(b->index);
}

static void answer_override_set_up(struct bed *b)
{
    *b = override_bed_new();
}

UNIT_FIXTURE(struct bed, answer_override_set_up, override_bed_free)

struct row {
    const char *question, *want;
};

static void want_rows(struct bed *b, const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *got = fixture_ask(b->f, rows[i].question);
        assert_that(strcmp(got, rows[i].want) == 0, "`%s`: got\n%s\nwant\n%s", rows[i].question,
                    got, rows[i].want);
    }
}
#define WANT(b, ...)                                  \
    want_rows((b), (const struct row[]){__VA_ARGS__}, \
              ARRAY_LEN(((const struct row[]){__VA_ARGS__})))

static void put_denial(struct bed *b, const char *question)
{
    static struct bed_reply r;
    reply_begin(&r, &b->p.b, question, 0x8183);
    reply_add_soa(&r, ".", 1000);
    assert_int_equal(bed_put(&b->p.b, question, &r), CACHE_HIT);
}

/* ---- Overrides ---- */

/* Only the very name, whose type upstream has unless it is here. */
UNIT_TEST_ON(test_exact_names, struct bed *b)
{
    for (int schema = 0; schema < 2; schema++) {
        b->f->config.settings.schema = schema ? ENGINE_SCHEMA_KUBERNETES : ENGINE_SCHEMA_SKYDNS;
        WANT(
            b,
            {"own.example.com. A", FOUND("own.example.com. IN A") "own.example.com. 40 A "
                                                                  "192.0.2.1"},
            {"OWN.Example.com. A nord", "NOERROR qr ra\n? OWN.Example.com. IN A"
                                        "\n= OWN.Example.com. 40 A 192.0.2.1"},
            {"own.example.com. AAAA", NO_DATA("own.example.com. IN AAAA")},
            {"own.example.com. MX", "forward"}, {"own.example.com. SOA", "forward"},
            {"3f.own.example.com. A", "forward"}, {"below.own.example.com. A", "forward"},
            {"example.com. A", "forward"}, {"own.example.org. A", "forward"},
            {"set.example.com. A",
             FOUND("set.example.com. IN A") "set.example.com. 30 A 192.0.2.2"},
            {"two.example.com. A", FOUND("two.example.com. IN A") "two.example.com. 9 A 192.0.2.3"},
            {"two.example.com. AAAA",
             FOUND("two.example.com. IN AAAA") "two.example.com. 30 AAAA 2001:db8::3"},
            {"corp. A", FOUND("corp. IN A") "corp. 30 A 192.0.2.5"}, /* -ndots=2 */
            {"corp. TXT", NO_DATA("corp. IN TXT")});
    }
    b->f->config.settings.no_rec = true;
    b->f->config.settings.min_ttl_s = 5;
    WANT(b,
         {"own.example.com. A", FOUND("own.example.com. IN A") "own.example.com. 40 A 192.0.2.1"},
         {"own.example.com. MX", "NOERROR qr rd ra\n? own.example.com. IN MX" SOA(5)},
         {"own.example.org. A edns=1232", "SERVFAIL qr rd\n? own.example.org. IN A\nedns 1232 "
                                          "ede=20"});
    b->f->store = NULL; /* before the first sync, no override is known */
    b->f->config.settings.no_rec = false;
    WANT(b, {"own.example.com. A", "forward"});
}

UNIT_TEST_ON(test_types, struct bed *b)
{
    WANT(
        b,
        {"text.example.com. TXT",
         FOUND("text.example.com. IN TXT") "text.example.com. 70 TXT \"hello\""},
        {"text.example.com. A", "forward"}, {"note.example.com. TXT", "forward"},
        {"note.example.com. A", FOUND("note.example.com. IN A") "note.example.com. 30 A 192.0.2.4"},
        {"rr.example.com. A", FOUND("rr.example.com. IN A") "rr.example.com. 50 A 192.0.2.9"},
        {"rr.example.com. AAAA", "forward"}, {"rr.example.com. SRV", "forward"},
        {"rr.example.com. MX",
         FOUND("rr.example.com. IN MX") "rr.example.com. 50 MX 5 mx.example.net."},
        {"rr.example.com. TXT", FOUND("rr.example.com. IN TXT") "rr.example.com. 50 TXT \"two\""},
        {"more.example.com. A", FOUND("more.example.com. IN A") "more.example.com. 30 A 192.0.2.10"
                                                                "\n= more.example.com. 30 A "
                                                                "192.0.2.11"},
        {"more.example.com. AAAA",
         FOUND("more.example.com. IN AAAA") "more.example.com. 30 AAAA 2001:db8::b"},
        {"both.example.com. TXT", FOUND("both.example.com. IN TXT") "both.example.com. 30 TXT "
                                                                    "\"one\"\n= both.example.com. "
                                                                    "30 TXT \"two\""});
}

/* An upstream's NXDOMAIN for a type that is not here: the name exists. */
UNIT_TEST_ON(test_denials_from_upstream, struct bed *b)
{
    static const char no_data[] = "NOERROR qr rd ra\n? own.example.com. IN MX\n! . ";
    put_denial(b, "own.example.com. MX");
    put_denial(b, "x.own.example.com. MX");
    put_denial(b, "own.example.com. A"); /* of no use */
    assert_int_equal(
        strncmp(fixture_ask(b->f, "own.example.com. MX"), no_data, sizeof(no_data) - 1), 0);
    assert_int_equal(strncmp(fixture_ask(b->f, "x.own.example.com. MX"), "NXDOMAIN ", 9), 0);
    WANT(b,
         {"own.example.com. A", FOUND("own.example.com. IN A") "own.example.com. 40 A 192.0.2.1"});
}

/* RFC 4592 2.2.1's cases; beside stub zones, the longest counts, but an exact name always. */
UNIT_TEST_ON(test_wildcards, struct bed *b)
{
    WANT(b,
         {"x.apps.example.com. A",
          FOUND("x.apps.example.com. IN A") "x.apps.example.com. 30 A 192.0.2.7"},
         {"X.y.apps.example.com. A",
          FOUND("X.y.apps.example.com. IN A") "X.y.apps.example.com. 30 A 192.0.2.7"},
         {"*.apps.example.com. A",
          FOUND("*.apps.example.com. IN A") "*.apps.example.com. 30 A 192.0.2.7"},
         {"x.apps.example.com. AAAA", NO_DATA("x.apps.example.com. IN AAAA")},
         {"x.apps.example.com. TXT", "forward"}, {"apps.example.com. A", "forward"},
         {"fixed.apps.example.com. A",
          FOUND("fixed.apps.example.com. IN A") "fixed.apps.example.com. 30 A 192.0.2.8"},
         {"x.fixed.apps.example.com. A", "forward"}, {"deep.apps.example.com. A", "forward"},
         {"x.deep.apps.example.com. A", "forward"}, {"er.deep.apps.example.com. A", "forward"},
         {"any.test. A", FOUND("any.test. IN A") "any.test. 30 A 192.0.2.14"},
         {"acme.test. A", "forward"}, {"x.acme.test. A", "forward"},
         {"x.deep.acme.test. A",
          FOUND("x.deep.acme.test. IN A") "x.deep.acme.test. 30 A 192.0.2.15"},
         {"www.acme.test. A", FOUND("www.acme.test. IN A") "www.acme.test. 30 A 192.0.2.16"});
}

/* Addresses of the target at the name itself, with the lowest TTL on the way. */
UNIT_TEST_ON(test_flat_targets, struct bed *b)
{
    for (int schema = 0; schema < 2; schema++) {
        b->f->config.settings.schema = schema ? ENGINE_SCHEMA_KUBERNETES : ENGINE_SCHEMA_SKYDNS;
        WANT(b,
             {"led.example.com. A", FOUND("led.example.com. IN A") "led.example.com. 20 A "
                                                                   "10.1.0.1\n= "
                                                                   "led.example.com. 20 A "
                                                                   "10.1.0.2"},
             {"led.example.com. AAAA", NO_DATA("led.example.com. IN AAAA")},
             {"low.example.com. A", FOUND("low.example.com. IN A") "low.example.com. 5 A 10.1.0.1"
                                                                   "\n= low.example.com. 5 A "
                                                                   "10.1.0.2"},
             {"led.example.com. CNAME", "forward"},
             {"gone.example.com. A", NO_DATA("gone.example.com. IN A")},
             {"home.example.com. A",
              FOUND("home.example.com. IN A") "home.example.com. 30 A 127.0.0.1"},
             {"home.example.com. AAAA",
              FOUND("home.example.com. IN AAAA") "home.example.com. 30 AAAA ::1"},
             {"c1.example.com. A", FOUND("c1.example.com. IN A") "c1.example.com. 3 A 192.0.2.13"},
             {"c0.example.com. A edns=1232",
              "SERVFAIL qr rd ra\n? c0.example.com. IN A\nedns 1232 ede=0"},
             {"c0.example.com. AAAA", "SERVFAIL qr rd ra\n? c0.example.com. IN AAAA"},
             {"ring1.example.com. A edns=1232",
              "SERVFAIL qr rd ra\n? ring1.example.com. IN A\nedns 1232 ede=0"},
             {"self.example.com. A", "SERVFAIL qr rd ra\n? self.example.com. IN A"});
    }
}

/* While etcd lacks records, an absent target is no denial. */
UNIT_TEST_ON(test_targets_of_incomplete_domains, struct bed *b)
{
    b->f->config.zones[0].is_incomplete = true;
    WANT(b,
         {"gone.example.com. A edns=1232",
          "SERVFAIL qr rd ra\n? gone.example.com. IN A\nedns 1232 ede=14"},
         {"low.example.com. A", FOUND("low.example.com. IN A") "low.example.com. 5 A 10.1.0.1"
                                                               "\n= low.example.com. 5 A "
                                                               "10.1.0.2"});
}

/* From the domain, an override is a CNAME's target like any other; only a target's own loop fails.
 */
UNIT_TEST_ON(test_overrides_as_targets, struct bed *b)
{
    WANT(b,
         {"out.team.svc.cluster.local. A",
          "NOERROR qr aa rd ra\n? out.team.svc.cluster.local. IN A"
          "\n= out.team.svc.cluster.local. 20 CNAME led.example.com."
          "\n= led.example.com. 20 A 10.1.0.1\n= led.example.com. 20 A 10.1.0.2"},
         {"_x._tcp.team.svc.cluster.local. SRV",
          "NOERROR qr aa rd ra\n? _x._tcp.team.svc.cluster.local. IN SRV"
          "\n= _x._tcp.team.svc.cluster.local. 100 SRV 10 50 80 own.example.com."
          "\n= _x._tcp.team.svc.cluster.local. 100 SRV 10 50 81 ring1.example.com."
          "\n+ own.example.com. 40 A 192.0.2.1"});
}

/* Asks it as a thread's first query: no other one has said how much may be looked up. */
UNIT_TEST_ON(test_alias_of_an_override, struct bed *b)
{
    b->f->config.settings.schema = ENGINE_SCHEMA_KUBERNETES;
    WANT(b, {"out.team.svc.cluster.local. A",
             "NOERROR qr aa rd ra\n? out.team.svc.cluster.local. IN A"
             "\n= out.team.svc.cluster.local. 20 CNAME led.example.com."
             "\n= led.example.com. 20 A 10.1.0.1\n= led.example.com. 20 A 10.1.0.2"});
}

UNIT_TEST_ON(test_external_targets, struct bed *b)
{
    static const char far[] = "far.example.com. A", asked[] = "www.elsewhere.test. A";
    static struct bed_reply r;
    WANT(b,
         {"far.example.com. A", FOUND("far.example.com. IN A") "far.example.com. 30 A "
                                                               "192.0.2.14"}); /* by the wildcard */
    fixture_put(b->f, (const struct fixture_key[]){{"test/elsewhere/x", "{'text':'-'}"}}, 1);
    read_overrides(b); /* elsewhere.test. exists now, so the wildcard does not cover www below */
    WANT(b, {far, "lookup www.elsewhere.test./A"},
         {"far.example.com. AAAA", "lookup www.elsewhere.test./AAAA"},
         {"far.example.com. A nord", "SERVFAIL qr ra\n? far.example.com. IN A"},
         {far, "lookup www.elsewhere.test./A"});
    assert_true(b->f->deferral.needs_recursion);

    reply_begin(&r, &b->p.b, asked, 0x8180);
    reply_add_cname(&r, "www.elsewhere.test.", 90, "x.elsewhere.net.");
    reply_add_a(&r, "x.elsewhere.net.", 200, 1);
    assert_int_equal(bed_put(&b->p.b, asked, &r), CACHE_HIT);
    WANT(b, {far, FOUND("far.example.com. IN A") "far.example.com. 90 A 192.0.0.1"});
    b->f->config.allows_all = false; /* -allow-recursion is up to the resolver, as for the target */
    WANT(b, {far, "lookup www.elsewhere.test./A"});
    b->f->config.allows_all = true;

    b->f->now_ms += 2000 * 1000;
    b->f->config.cache_limits.stale_ms = 0;
    put_denial(b, asked);
    WANT(b, {far, NO_DATA("far.example.com. IN A")});
    b->f->now_ms += 2000 * 1000;
    bed_fail(&b->p.b, asked);
    WANT(b, {far, "SERVFAIL qr rd ra\n? far.example.com. IN A"});

    b->f->config.settings.no_rec = true; /* concerns names that are not answered here, */
    b->f->config.zones_of_others = NULL; /* so this one's nameservers are missing */
    b->f->config.has_nameservers = false;
    b->f->config.settings.no_rec = false;
    WANT(b, {"far.example.com. A edns=1232",
             "SERVFAIL qr rd ra\n? far.example.com. IN A\nedns 1232 ede=20"});
}

/* Two servers of stub zones with overrides to each other's names do not ask in a circle. */
UNIT_TEST_ON(test_targets_from_stub_servers, struct bed *b)
{
    WANT(b, {"stubbed.example.com. A", "lookup db.acme.test./A"},
         {"stubbed.example.com. A edns=1232 stub",
          "SERVFAIL qr rd ra\n? stubbed.example.com. IN A\nedns 1232 ede=20"});
}

/* Before hosts files: aliases; behind them: overrides. */
UNIT_TEST_ON(test_hosts_files_between, struct bed *b)
{
    static const char *const names[] = {"own.example.com.", "al.example.com.", "c9.example.com."};
    struct hosts_entry entries[ARRAY_LEN(names)];
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        entries[i] = (struct hosts_entry){.name = dname_from(names[i])};
        assert_true(ip_parse(slice_str("10.9.0.1"), &entries[i].ip));
    }
    b->f->config.hosts = hosts_table_of(entries, ARRAY_LEN(names));
    b->f->config.settings.aliases[b->f->config.settings.alias_count++] = (struct engine_alias){
        .from = dname_from("al.example.com."), .to = dname_from("set.example.com.")};
    WANT(b,
         {"own.example.com. A", FOUND("own.example.com. IN A") "own.example.com. 30 A "
                                                               "10.9.0.1"},
         {"al.example.com. A", FOUND("al.example.com. IN A") "al.example.com. 30 A 192.0.2.2"},
         {"c8.example.com. A", FOUND("c8.example.com. IN A") "c8.example.com. 30 A 10.9.0.1"});
    hosts_table_unref(b->f->config.hosts);
}

/* ---- Aliases ---- */

static void add_alias(struct bed *b, const char *from, const char *to, bool is_below,
                      bool keeps_labels)
{
    struct engine_settings *s = &b->f->config.settings;
    s->aliases[s->alias_count++] = (struct engine_alias){.from = dname_from(from),
                                                         .to = dname_from(to),
                                                         .is_below = is_below,
                                                         .keeps_labels = keeps_labels};
}

/* One label of 63 letters. */
#define LABEL "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffggg."

UNIT_TEST_ON(test_aliases, struct bed *b)
{
    static const char too_long[] = LABEL LABEL LABEL "xxxxxxxxxx.keep.example.net. A";
    add_alias(b, "app.example.net.", "web.team.svc.cluster.local.", false, false);
    add_alias(b, "example.net.", "own.example.com.", true, false);
    add_alias(b, "keep.example.net.", "a-name-that-is-longer-than-the-other.apps.example.com.",
              true, true);
    add_alias(b, "absent.example.net.", "nothing.team.svc.cluster.local.", false, false);
    add_alias(b, "round.example.net.", "round.example.net.", false, false);
    WANT(
        b,
        {"App.example.net. A", FOUND("App.example.net. IN A") "App.example.net. 20 A 10.1.0.1"
                                                              "\n= App.example.net. 20 A "
                                                              "10.1.0.2"},
        {"app.example.net. AAAA", "NOERROR qr rd ra\n? app.example.net. IN AAAA" SOA(300)},
        {"app.example.net. MX", "forward"}, {"example.net. A", "forward"},
        {"x.app.example.net. A",
         FOUND("x.app.example.net. IN A") "x.app.example.net. 40 A 192.0.2.1"},
        {"keep.example.net. A", FOUND("keep.example.net. IN A") "keep.example.net. 40 A 192.0.2.1"},
        {"x.keep.example.net. A",
         FOUND("x.keep.example.net. IN A") "x.keep.example.net. 30 A 192.0.2.7"},
        {"absent.example.net. A", "NOERROR qr rd ra\n? absent.example.net. IN A" SOA(300)},
        {"round.example.net. A edns=1232",
         "SERVFAIL qr rd ra\n? round.example.net. IN A\nedns 1232 ede=0"},
        {too_long, "forward"});
    put_denial(b, "app.example.net. MX");
    assert_int_equal(strncmp(fixture_ask(b->f, "app.example.net. MX"), "NOERROR qr rd ra\n", 17),
                     0);
    b->f->config.settings.no_rec = true;
    WANT(b, {"app.example.net. MX", "NOERROR qr rd ra\n? app.example.net. IN MX" SOA(300)});
}

/* ---- Visibility ---- */

/* The client is in "team", "vault" hides. For it, records that lead there do not exist. */
UNIT_TEST(test_hidden_targets)
{
    const struct visible_namespace listed = {slice_str("vault"), slice_str("")};
    struct bed b = override_bed_new();
    add_alias(&b, "al.example.net.", "web.vault.svc.cluster.local.", false, false);
    struct visibility *visibility = visibility_new(VISIBILITY_UNKNOWN_PUBLIC, NULL, 0, &listed, 1);
    WANT(&b,
         {"veiled.example.com. A",
          FOUND("veiled.example.com. IN A") "veiled.example.com. 20 A 10.2.0.1"},
         {"al.example.net. A", FOUND("al.example.net. IN A") "al.example.net. 20 A 10.2.0.1"});
    b.f->config.visibility = visibility;
    WANT(&b, {"veiled.example.com. A", "forward"}, {"veiled.example.com. AAAA", "forward"},
         {"veiled.example.com. TXT", "forward"}, {"al.example.net. A", "forward"},
         {"mixed.example.com. A",
          FOUND("mixed.example.com. IN A") "mixed.example.com. 30 A 192.0.2.12"},
         {"behind.example.com. A", "lookup veiled.example.com./A"},
         {"low.example.com. A", FOUND("low.example.com. IN A") "low.example.com. 5 A 10.1.0.1"
                                                               "\n= low.example.com. 5 A "
                                                               "10.1.0.2"});
    path_bed_pod(&b.p, 2, "vault");
    b.f->client = pod_address(2);
    WANT(&b,
         {"veiled.example.com. A",
          FOUND("veiled.example.com. IN A") "veiled.example.com. 20 A 10.2.0.1"},
         {"low.example.com. A", "forward"});
    override_bed_free(&b);
    visibility_unref(visibility);
}

/* ---- Many records ---- */

static unsigned answer_count(const struct fixture *f)
{
    return (unsigned)(f->reply[6] << 8 | f->reply[7]);
}

/* Leaves what a worker may not visit to the walker, which answers the same: as much as fits over
 * UDP, all over TCP. */
UNIT_TEST_ON(test_many_records, struct bed *b)
{
    enum { MANY = ENGINE_SCAN_MAX + 100 };
    static const char *const types[] = {"A", "TXT"};
    static char names[MANY][40], values[MANY][96];
    static struct fixture_key many[MANY];
    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "com/example/many/k%u", i);
        (void)snprintf(values[i], sizeof(values[i]),
                       "{'rr':['A 10.3.%u.%u','TXT %u'],'targetstrip':1}", i / 250, i % 250, i);
        many[i] = (struct fixture_key){names[i], values[i]};
    }
    fixture_put(b->f, many, MANY);
    read_overrides(b);
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        char udp[40], tcp[40];
        (void)snprintf(udp, sizeof(udp), "many.example.com. %s", types[i]);
        (void)snprintf(tcp, sizeof(tcp), "many.example.com. %s tcp", types[i]);
        b->f->may_scan = false;
        WANT(b, {udp, "walk"}, {tcp, "walk"});
        b->f->may_scan = true;
        assert_int_equal(strncmp(fixture_ask(b->f, udp), "NOERROR qr tc rd ra\n", 20), 0);
        assert_int_equal(strncmp(fixture_ask(b->f, tcp), "NOERROR qr rd ra\n", 17), 0);
        assert_int_equal(answer_count(b->f), MANY);
    }
}

/* ---- The apex of a domain other than the first ---- */

UNIT_TEST_ON(test_apex, struct bed *b)
{
    static const struct fixture_key host[] = {
        {"test/second/dns/apex/a", "{" TEAM_WEB ",'ttl':25}"},
        {"test/second/dns/apex/b", "{'ttl':70}"},
        {"test/second/dns/apex/c", "{'ttl':70}"},
        {"test/second/dns/apex/d", "{'ttl':70}"},
    };
    static const struct fixture_key ring[] = {
        {"test/second/dns/apex/a", "{'host':'ring1.example.com.'}"}};
    static const struct fixture_key absent[] = {
        {"test/second/dns/apex/a", "{'host':'nothing.team.svc.cluster.local.'}"}};
    b->f->config.settings.schema = ENGINE_SCHEMA_KUBERNETES;
    WANT(b,
         {"second.test. A", "NOERROR qr aa rd ra\n? second.test. IN A"
                            "\n= second.test. 15 A 192.0.2.20\n= second.test. 15 A 192.0.2.21"
                            "\n= second.test. 15 A 192.0.2.22"},
         {"second.test. AAAA", "NOERROR qr aa rd ra\n? second.test. IN AAAA"
                               "\n= second.test. 60 AAAA 2001:db8::c"},
         {"second.test. TXT", "NOERROR qr aa rd ra\n? second.test. IN TXT"
                              "\n= second.test. 25 TXT \"v=spf1 -all\""},
         {"second.test. MX", "NOERROR qr aa rd ra\n? second.test. IN MX"
                             "\n= second.test. 60 MX 10 mail.second.test."
                             "\n= second.test. 60 MX 20 mx.second.test."
                             "\n+ mx.second.test. 15 A 192.0.2.22"},
         {"second.test. PTR", "NOERROR qr aa rd ra\n? second.test. IN PTR" OWN_SOA},
         {"second.test. CNAME", "NOERROR qr aa rd ra\n? second.test. IN CNAME" OWN_SOA},
         {"cluster.local. A", "NOERROR qr aa rd ra\n? cluster.local. IN A"
                              "\n! cluster.local. 60 SOA ns.dns.cluster.local. "
                              "hostmaster.cluster.local. 1760702400 28800 7200 604800 60"});
    fixture_put(b->f, host, ARRAY_LEN(host));
    WANT(b,
         {"second.test. A", "NOERROR qr aa rd ra\n? second.test. IN A"
                            "\n= second.test. 20 A 10.1.0.1\n= second.test. 20 A 10.1.0.2"},
         {"second.test. AAAA", "NOERROR qr aa rd ra\n? second.test. IN AAAA" OWN_SOA});
    fixture_put(b->f, ring, 1);
    read_overrides(b);
    WANT(b, {"second.test. A edns=1232",
             "SERVFAIL qr aa rd ra\n? second.test. IN A\nedns 1232 ede=0"});
    fixture_put(b->f, absent, 1);
    b->f->config.zones[0].is_incomplete = true;
    WANT(b, {"second.test. A edns=1232",
             "SERVFAIL qr aa rd ra\n? second.test. IN A\nedns 1232 ede=14"});
}
