/* The ways around -visibility=own, one by one. The client 10.9.0.1 is a pod of "team"; "vault" is
 * hidden from it, "default" is public. test_visibility_model.c tries the rest at random. */
#include "skydns/clients/visibility.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"
#include "tests/unit/skydns/engine/search_list_bed.h"

#define HOST(host)       "{'host':'" host "','ttl':30,'priority':10}"
#define PORT(host, more) "{'host':'" host "','port':80,'ttl':30,'priority':10" more "}"
#define VAULT            ".vault.svc.cluster.local."

static const struct fixture_key keys[] = {
    {"local/cluster/svc/default/kubernetes/k", HOST("10.0.0.1")},
    {"local/cluster/svc/team/web/a", HOST("10.1.0.1")},
    {"local/cluster/svc/team/web/_tcp/_http/a", PORT("web.team.svc.cluster.local.", "")},
    {"local/cluster/svc/team/alias", HOST("web.vault.svc.cluster.local.")},
    {"local/cluster/svc/team/ring", HOST("own.vault.svc.cluster.local.")},
    {"local/cluster/svc/team/mix/_tcp/_http/a", PORT("web.team.svc.cluster.local.", "")},
    {"local/cluster/svc/team/mix/_tcp/_http/b", PORT("Web.Vault.svc.cluster.local.", "")},
    {"local/cluster/svc/team/mail/a", PORT("web.vault.svc.cluster.local.", ",'mail':true")},
    {"local/cluster/svc/team/stub", HOST("x.stub.vault.svc.cluster.local.")},
    {"local/cluster/svc/vault/web/a", HOST("10.2.0.1")},
    {"local/cluster/svc/vault/web/b", "{'host':'10.2.0.2','text':'secret','ttl':30}"},
    {"local/cluster/svc/vault/web/_tcp/_http/a", PORT("web.vault.svc.cluster.local.", "")},
    {"local/cluster/svc/vault/own", HOST("web.team.svc.cluster.local.")},
    {"local/cluster/svc/lone/web/a", "{'host':'10.3.0.1','group':'g','ttl':30}"},
    {"local/cluster/pod/vault/10-2-0-9/h", HOST("10.2.0.9")},
    {"local/cluster/pod/team/10-9-0-1/h", HOST("10.9.0.1")},
    {"arpa/in-addr/10/1/0/1", HOST("web.team.svc.cluster.local.")},
    {"arpa/in-addr/10/2/0/1", HOST("web.vault.svc.cluster.local.")},
    {"arpa/in-addr/10/3/0/1", HOST("web.lone.svc.cluster.local.")},
    {"arpa/in-addr/192/0/2/1", HOST("WEB.vault.SVC.cluster.local.")},
};
enum { KEYS = sizeof(keys) / sizeof(keys[0]) };

struct bed {
    struct search_list_bed p;
    struct fixture *f;
    struct visibility *visibility;
    char summary[DNS_TEXT_MAX];
};

static const struct slice public_names[] = {{"default", 7}};

static void visibility_see(struct bed *b, enum visibility_unknown unknown, const char *vault_text)
{
    const struct visible_namespace listed = {slice_of("vault", 5), slice_str(vault_text)};
    struct visibility *before = b->visibility;
    b->visibility = visibility_new(unknown, public_names, 1, &listed, 1);
    b->f->config.visibility = b->visibility; /* another pointer: another configuration */
    visibility_unref(before);
}

static struct bed *visibility_bed_of(enum engine_schema schema)
{
    static struct bed b;
    b = (struct bed){.p = path_bed_new(keys, KEYS)};
    path_bed_without_stub_below(&b.p);
    b.f = b.p.f;
    b.f->config.settings.schema = schema;
    b.f->config.settings.autopath = false;
    visibility_see(&b, VISIBILITY_UNKNOWN_PUBLIC, "");
    return &b;
}

static void bed_free_all(struct bed *b)
{
    search_list_bed_free(&b->p);
    visibility_unref(b->visibility);
}

UNIT_FIXTURE_MADE(visibility_bed_of(ENGINE_SCHEMA_SKYDNS), bed_free_all)

/* "NOERROR =A 10.0.0.1 +A 10.0.0.2": the rcode, then answers and additionals, without owners and
 * TTLs; "tc" behind the rcode. */
static const char *summary_of(struct bed *b, const char *text)
{
    char *copy = xstrdup(text), *rest = NULL;
    const char *first = strtok_r(copy, "\n", &rest);
    size_t used =
        (size_t)snprintf(b->summary, sizeof(b->summary), "%.*s%s", (int)strcspn(first, " "), first,
                         strstr(first, " tc") ? " tc" : "");
    for (const char *line; (line = strtok_r(NULL, "\n", &rest));) {
        int at = 0;
        if ((line[0] == '=' || line[0] == '+') && sscanf(line + 2, "%*s %*u %n", &at) == 0) {
            used += (size_t)snprintf(b->summary + used, sizeof(b->summary) - used, " %c%s", line[0],
                                     line + 2 + at);
        }
    }
    free(copy);
    return b->summary;
}

static void visibility_expect(struct bed *b, const char *question, const char *want)
{
    const char *got = summary_of(b, fixture_ask(b->f, question));
    assert_that(strcmp(got, want) == 0, "schema %d, `%s`:\n  got  %s\n  want %s",
                (int)b->f->config.settings.schema, question, got, want);
}

struct row {
    const char *question, *want;
};

static void visibility_expect_all(struct bed *b, const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char with_tcp[200];
        (void)snprintf(with_tcp, sizeof(with_tcp), "%s tcp", rows[i].question);
        visibility_expect(b, rows[i].question, rows[i].want);
        visibility_expect(b, with_tcp, rows[i].want);
    }
}
#define EXPECT_ALL(b, ...)                                        \
    visibility_expect_all((b), (const struct row[]){__VA_ARGS__}, \
                          sizeof((const struct row[]){__VA_ARGS__}) / sizeof(struct row))

#define WEB_TEAM  "web.team.svc.cluster.local."
#define WEB_VAULT "web.vault.svc.cluster.local."

UNIT_TEST(test_names_and_types)
{
    for (int schema = 0; schema < 2; schema++) {
        struct bed *b = visibility_bed_of((enum engine_schema)schema);
        b->f->config.settings.any_is_hinfo = true;
        EXPECT_ALL(b, {"web.team.svc.cluster.local. A", "NOERROR =A 10.1.0.1"},
                   {"kubernetes.default.svc.cluster.local. A", "NOERROR =A 10.0.0.1"},
                   {"web" VAULT " A", "NXDOMAIN"}, {"WEB.Vault.SVC.cluster.local. A", "NXDOMAIN"},
                   {"web" VAULT " AAAA", "NXDOMAIN"}, {"web" VAULT " SRV", "NXDOMAIN"},
                   {"web" VAULT " TXT", "NXDOMAIN"}, {"web" VAULT " MX", "NXDOMAIN"},
                   {"web" VAULT " NS", "NXDOMAIN"}, {"web" VAULT " SOA", "NXDOMAIN"},
                   {"web" VAULT " TYPE65", "NXDOMAIN"}, {"web" VAULT " TYPE257", "NXDOMAIN"},
                   {"web" VAULT " ANY", "NXDOMAIN"}, {"own" VAULT " CNAME", "NXDOMAIN"},
                   {"a.web" VAULT " A", "NXDOMAIN"}, {"_http._tcp.web" VAULT " SRV", "NXDOMAIN"},
                   {"_tcp.web" VAULT " A", "NXDOMAIN"}, {"vault.svc.cluster.local. A", "NXDOMAIN"},
                   {"vault.svc.cluster.local. ANY", "NXDOMAIN"},
                   {"vault.pod.cluster.local. A", "NXDOMAIN"},
                   {"10-2-0-9.vault.pod.cluster.local. A", "NXDOMAIN"},
                   {"10-9-0-1.team.pod.cluster.local. A", "NOERROR =A 10.9.0.1"},
                   {"nothing.nowhere.svc.cluster.local. A", "NXDOMAIN"});
        bed_free_all(b);
    }
}

/* Lists all records below a name, and asks for wildcards at each label. */
UNIT_TEST_ON(test_listings, struct bed *b)
{
    static const char team[] = "NOERROR =A 10.0.0.1 =A 10.1.0.1";
    EXPECT_ALL(
        b, {"svc.cluster.local. A", team}, {"*.svc.cluster.local. A", team},
        {"any.svc.cluster.local. A", team}, {"*.*.svc.cluster.local. A", team},
        {"web.*.svc.cluster.local. A", "NOERROR =A 10.1.0.1"},
        {"web.any.svc.cluster.local. A", "NOERROR =A 10.1.0.1"},
        {"web.vault.*.cluster.local. A", "NOERROR"}, {"*.vault.svc.cluster.local. A", "NXDOMAIN"},
        {"web.vault.any.cluster.local. A", "NOERROR"}, {"*.vault.*.cluster.local. TXT", "NOERROR"},
        {"svc.cluster.local. TXT", "NOERROR"}, {"*.svc.cluster.local. TXT", "NOERROR"},
        {"pod.cluster.local. A", "NOERROR =A 10.9.0.1"},
        {"*.pod.cluster.local. A", "NOERROR =A 10.9.0.1"},
        {"10-2-0-9.*.pod.cluster.local. A", "NOERROR"},
        {"cluster.local. A", "NOERROR =A 10.9.0.1 =A 10.0.0.1 =A 10.1.0.1"},
        {"*.cluster.local. A", "NOERROR =A 10.9.0.1 =A 10.0.0.1 =A 10.1.0.1"});
}

/* Names above namespaces exist for the sake of those that the client sees. */
UNIT_TEST(test_names_above)
{
    static const struct fixture_key hidden[] = {
        {"local/cluster/svc/vault/web/a", HOST("10.2.0.1")},
        {"local/cluster/pod/vault/10-2-0-1/a", HOST("10.2.0.1")},
    };
    for (int schema = 0; schema < 2; schema++) {
        struct bed *b = visibility_bed_of((enum engine_schema)schema);
        struct search_list_bed all = b->p;
        b->p = path_bed_new(hidden, 2);
        path_bed_without_stub_below(&b->p);
        b->f = b->p.f;
        b->f->config.settings.schema = (enum engine_schema)schema;
        b->f->config.visibility = b->visibility;
        EXPECT_ALL(b, {"svc.cluster.local. A", "NXDOMAIN"}, {"pod.cluster.local. TXT", "NXDOMAIN"},
                   {"*.svc.cluster.local. A", "NXDOMAIN"}, {"cluster.local. A", "NOERROR"});
        visibility_see(b, VISIBILITY_UNKNOWN_PUBLIC, "team");
        visibility_expect(b, "svc.cluster.local. TXT", "NOERROR");
        search_list_bed_free(&b->p);
        b->p = all;
        bed_free_all(b);
    }
}

/* The target that a visible record names may be shown; its addresses, and whether it exists, not.
 */
UNIT_TEST(test_targets)
{
    struct bed *b = visibility_bed_of(ENGINE_SCHEMA_SKYDNS);
    EXPECT_ALL(b, {"alias" TEAM "A", "NOERROR"},
               {"alias" TEAM "CNAME", "NOERROR =CNAME " WEB_VAULT}, {"ring" TEAM "A", "NOERROR"},
               {"_http._tcp.mix" TEAM "SRV",
                "NOERROR =SRV 10 50 80 " WEB_TEAM " =SRV 10 50 80 Web.Vault.svc.cluster.local."
                " +A 10.1.0.1"},
               {"mail" TEAM "MX", "NOERROR =MX 10 " WEB_VAULT});
    bed_free_all(b);
    b = visibility_bed_of(ENGINE_SCHEMA_KUBERNETES);
    EXPECT_ALL(b, {"alias" TEAM "A", "NXDOMAIN =CNAME " WEB_VAULT},
               {"ring" TEAM "A", "NXDOMAIN =CNAME own.vault.svc.cluster.local."},
               {"alias" TEAM "TYPE65", "NXDOMAIN =CNAME " WEB_VAULT});
    bed_free_all(b);
}

UNIT_TEST(test_pods_that_only_names_give)
{
    struct bed *b = visibility_bed_of(ENGINE_SCHEMA_KUBERNETES);
    b->f->config.settings.pods = ENGINE_PODS_INSECURE;
    EXPECT_ALL(b, {"10-2-0-9.vault.pod.cluster.local. A", "NXDOMAIN"},
               {"10-2-0-9.nowhere.pod.cluster.local. A", "NXDOMAIN"},
               {"vault.pod.cluster.local. A", "NXDOMAIN"},
               {"10-2-0-9.team.pod.cluster.local. A", "NOERROR =A 10.2.0.9"},
               {"pod.cluster.local. A", "NOERROR"});
    b->f->config.settings.pods = ENGINE_PODS_DISABLED;
    EXPECT_ALL(b, {"10-2-0-9.vault.pod.cluster.local. A", "NXDOMAIN"},
               {"10-9-0-1.team.pod.cluster.local. A", "NXDOMAIN"});
    bed_free_all(b);
}

UNIT_TEST_ON(test_local_dns, struct bed *b)
{
    b->f->config.settings.local = dname_from(WEB_VAULT);
    visibility_expect(b, "local.dns.cluster.local. A", "NXDOMAIN");
    b->f->config.settings.local = dname_from(WEB_TEAM);
    visibility_expect(b, "local.dns.cluster.local. A", "NOERROR =A 10.1.0.1");
}

UNIT_TEST(test_reverse_names)
{
    static const char *const elsewhere[] = {
        "1.2.0.192.in-addr.arpa. PTR", "1.2.0.192.IN-ADDR.arpa. PTR", "1.2.0.192.in-addr.arpa. TXT",
        "2.2.0.192.in-addr.arpa. PTR"}; /* has no record */
    struct bed *b = visibility_bed_of(ENGINE_SCHEMA_KUBERNETES);
    b->f->config.settings.reverse_zone_count = 1;
    b->f->config.settings.reverse_zones[0] =
        (struct network){{.family_bytes = 4, .bytes = {10}}, 8};
    EXPECT_ALL(b, {"1.0.1.10.in-addr.arpa. PTR", "NOERROR =PTR " WEB_TEAM},
               {"1.0.2.10.in-addr.arpa. PTR", "NXDOMAIN"}, {"1.0.2.10.in-addr.arpa. A", "NXDOMAIN"},
               {"0.1.10.in-addr.arpa. PTR", "NOERROR"}, /* whatever is below */
               {"0.2.10.in-addr.arpa. PTR", "NOERROR"}, {"0.9.10.in-addr.arpa. PTR", "NOERROR"},
               {"2.10.in-addr.arpa. PTR", "NOERROR"}, {"x.2.10.in-addr.arpa. PTR", "NXDOMAIN"});
    for (size_t i = 0; i < ARRAY_LEN(elsewhere); i++) {
        assert_string_equal(fixture_ask(b->f, elsewhere[i]), "forward");
    }
    visibility_see(b, VISIBILITY_UNKNOWN_PUBLIC, "team");
    EXPECT_ALL(b, {"1.2.0.192.in-addr.arpa. PTR", "NOERROR =PTR WEB.vault.SVC.cluster.local."},
               {"1.0.2.10.in-addr.arpa. PTR", "NOERROR =PTR " WEB_VAULT});
    bed_free_all(b);
}

/* A stub zone below a hidden name is as hidden; one above a domain of ours changes nothing. */
UNIT_TEST_ON(test_stub_zones, struct bed *b)
{
    struct forward_zone zones[3];
    bed_zone(&zones[0], ".", 1);
    bed_zone(&zones[1], "stub.vault.svc.cluster.local.", 1);
    bed_zone(&zones[2], "local.", 1);
    zone_table_unref(b->p.b.zones);
    b->p.b.zones = zone_table_new(zones, 3, NULL);
    b->f->config.zones_of_others = b->p.b.zones;
    for (int schema = 0; schema < 2; schema++) {
        b->f->config.settings.schema = (enum engine_schema)schema;
        EXPECT_ALL(b, {"x.stub.vault.svc.cluster.local. A", "NXDOMAIN"},
                   {"stub.vault.svc.cluster.local. A", "NXDOMAIN"},
                   {"vault.svc.cluster.local. A", "NXDOMAIN"}, {"web" VAULT " A", "NXDOMAIN"},
                   {"stub" TEAM "A",
                    schema ? "NXDOMAIN =CNAME x.stub.vault.svc.cluster.local." : "NOERROR"});
    }
    visibility_see(b, VISIBILITY_UNKNOWN_PUBLIC, "team");
    assert_string_equal(fixture_ask(b->f, "x.stub.vault.svc.cluster.local. A"), "forward");
}

UNIT_TEST_ON(test_other_domains, struct bed *b)
{
    static const struct fixture_key more[] = {
        {"org/second/svc/vault/web/a", HOST("10.4.0.1")},
        {"org/second/svc/team/web/a", HOST("10.4.0.2")},
        {"org/second/top", HOST("web.vault.svc.second.org.")},
    };
    fixture_domain(b->f, "second.org.");
    fixture_put(b->f, more, 3);
    EXPECT_ALL(b, {"web.vault.svc.second.org. A", "NXDOMAIN"},
               {"web.team.svc.second.org. A", "NOERROR =A 10.4.0.2"},
               {"*.svc.second.org. A", "NOERROR =A 10.4.0.2"}, {"top.second.org. A", "NOERROR"});
}

UNIT_TEST_ON(test_clients_without_a_namespace, struct bed *b)
{
    b->f->client = pod_address(9);
    EXPECT_ALL(b, {"web" TEAM "A", "NXDOMAIN"},
               {"kubernetes.default.svc.cluster.local. A", "NOERROR =A 10.0.0.1"},
               {"svc.cluster.local. A", "NOERROR =A 10.0.0.1"},
               {"pod.cluster.local. A", "NXDOMAIN"});
    visibility_see(b, VISIBILITY_UNKNOWN_PUBLIC, "*");
    visibility_expect(b, "web" VAULT " TXT", "NOERROR =TXT \"secret\"");
    visibility_see(b, VISIBILITY_UNKNOWN_ALL, "");
    visibility_expect(b, "web" VAULT " TXT", "NOERROR =TXT \"secret\"");
    visibility_expect(b, "web" TEAM "A", "NOERROR =A 10.1.0.1");
    b->f->client = pod_address(1);
    visibility_expect(b, "web" VAULT " TXT", "NXDOMAIN");
}

/* How much is hidden neither cuts a reply nor defers it. */
UNIT_TEST_ON(test_what_is_hidden_takes_no_room, struct bed *b)
{
    for (unsigned i = 0; i < 2000; i++) {
        char key[80], host[80];
        (void)snprintf(key, sizeof(key), "local/cluster/svc/n%u/web/a", i);
        (void)snprintf(host, sizeof(host), "{'host':'10.5.%u.%u','ttl':30}", i / 200, i % 200 + 1);
        fixture_put(b->f, &(struct fixture_key){key, host}, 1);
    }
    b->f->is_brief = true;
    EXPECT_ALL(b, {"svc.cluster.local. A", "NOERROR =A 10.0.0.1 =A 10.1.0.1"},
               {"web.*.svc.cluster.local. A", "NOERROR =A 10.1.0.1"},
               {"*.svc.cluster.local. TXT", "NOERROR"});
    b->f->client = pod_address(9);
    visibility_expect(b, "svc.cluster.local. A", "NOERROR =A 10.0.0.1");
}

/* A walk is kept for those who see the same, under the same configuration. */
UNIT_TEST_ON(test_cached_scans, struct bed *b)
{
    for (unsigned i = 0; i < 900; i++) {
        char key[80], host[80];
        (void)snprintf(key, sizeof(key), "local/cluster/svc/%s/m%u/a", i % 3 ? "team" : "vault", i);
        (void)snprintf(host, sizeof(host), "{'host':'10.5.0.1','text':'%s%u'}",
                       i % 3 ? "team" : "secret", i);
        fixture_put(b->f, &(struct fixture_key){key, host}, 1);
    }
    path_bed_pod(&b->p, 2, "vault");
    b->f->config.settings.max_udp_size = 1232;
    assert_string_equal(fixture_ask(b->f, "svc.cluster.local. TXT tcp"), "walk");
    b->f->may_scan = true;
    for (int round = 0; round < 3; round++) {
        b->f->client = pod_address(1);
        const char *text = fixture_ask(b->f, "svc.cluster.local. TXT tcp");
        assert_non_null(strstr(text, "\"team899\""));
        assert_null(strstr(text, "secret"));
        b->f->client = pod_address(2);
        text = fixture_ask(b->f, "svc.cluster.local. TXT tcp");
        assert_non_null(strstr(text, "\"secret897\""));
        assert_null(strstr(text, "\"team"));
        b->f->client = pod_address(9);
        text = fixture_ask(b->f, "svc.cluster.local. TXT tcp");
        assert_null(strstr(text, "\"secret"));
        assert_null(strstr(text, "\"team"));
    }
    b->f->client = pod_address(1);
    visibility_see(b, VISIBILITY_UNKNOWN_PUBLIC, "team");
    assert_non_null(strstr(fixture_ask(b->f, "svc.cluster.local. TXT tcp"), "\"secret897\""));
    visibility_see(b, VISIBILITY_UNKNOWN_PUBLIC, "");
    assert_null(strstr(fixture_ask(b->f, "svc.cluster.local. TXT tcp"), "secret"));
}

/* Names looked up for a batch belong to no client. */
UNIT_TEST_ON(test_looking_ahead, struct bed *b)
{
    static const char *const rows[][2] = {
        {"web" VAULT " A", "NXDOMAIN"},
        {"web" TEAM "A", "NOERROR =A 10.1.0.1"},
        {"1.0.2.10.in-addr.arpa. PTR", "forward"},
    };
    for (unsigned i = 0; i < 3; i++) {
        enum engine_transport transport = fixture_query(b->f, rows[i][0]);
        const struct slice query = slice_of(b->f->query, b->f->query_len);
        engine_look_ahead(b->f->engine, b->f->store, &query, 1);
        b->f->ahead = 1;
        assert_string_equal(summary_of(b, fixture_answer(b->f, transport)), rows[i][1]);
    }
}

/* A search path leads to what the client may see. */
UNIT_TEST(test_search_paths)
{
    struct bed *b = visibility_bed_of(ENGINE_SCHEMA_KUBERNETES);
    b->f->config.settings.autopath = true;
    b->f->config.has_nameservers = false;
    b->f->config.zones_of_others = NULL;
    visibility_expect(b, "web.vault" TEAM "A", "SERVFAIL");
    visibility_expect(b, "kubernetes.default" TEAM "A",
                      "NOERROR =CNAME kubernetes.default.svc.cluster.local. =A 10.0.0.1");
    bed_free_all(b);
}
