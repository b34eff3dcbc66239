/* explain_why: which reasons other than keys it gives, and when none. */
#include "skydns/pages/explain.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/unit_test.h"

/* The differences from a plan for web.default.svc.cluster.local A, which keys alone explain. */
struct row {
    const char *name, *type;
    const char *word; /* in the sentence; NULL: no sentence */
    enum engine_pods pods;
    enum engine_schema schema;
    bool no_rec, has_nameservers;
    bool is_authoritative; /* for a name outside the domains */
    bool has_no_plan, has_no_store, is_incomplete;
    struct explain_external external;
    enum edns_error error; /* the answer's; 0: none */
    enum dns_rcode rcode;
    enum answer_rule rule;
    bool has_dns64, is_of_keys;
};

static const struct forward_zone general = {.name = {.len = 1}, .server_count = 1};
static const struct forward_zone stub = {.name = {.len = 12, .wire = "\4acme\5local"},
                                         .server_count = 1};
static const struct forward_zone useless = {.name = {.len = 12, .wire = "\4acme\5local"}};

static const struct row rows[] = {
    {.name = "web.default.svc.cluster.local", .type = "A"},
    {.name = "nothing.cluster.local", .type = "A"},
    {.name = "nothing.cluster.local", .type = "A", .is_incomplete = true},
    {.name = "nothing.cluster.local",
     .type = "A",
     .is_incomplete = true,
     .error = EDNS_ERROR_NOT_READY,
     .word = "the domain is incomplete"},
    {.name = "alias.cluster.local",
     .type = "A",
     .error = EDNS_ERROR_NOT_READY,
     .word = "another domain"},
    {.name = "1.0.0.10.in-addr.arpa",
     .type = "PTR",
     .is_authoritative = true,
     .error = EDNS_ERROR_NOT_READY,
     .word = "the domain is incomplete"},
    {.name = "web.default.svc.cluster.local", .type = "ANY", .word = "-any"},
    {.name = "web.default.svc.cluster.local", .type = "TYPE252", .word = "transfers"},
    {.name = "www.example.com", .type = "TYPE41", .word = "no record has this type"},
    {.name = "web.default.svc.cluster.local", .type = "A", .has_no_store = true, .word = "etcd"},
    {.name = "web.default.svc.cluster.local", .type = "A", .has_no_plan = true, .word = "records"},
    {.name = "cluster.local", .type = "A"},
    {.name = "cluster.local", .type = "SOA", .word = "SOA"},
    {.name = "cluster.local", .type = "NS", .word = "dns/ns"},
    {.name = "ns.dns.cluster.local", .type = "A", .word = "own name"},
    {.name = "10-0-0-1.x.pod.cluster.local",
     .type = "A",
     .pods = ENGINE_PODS_DISABLED,
     .word = "-pods=disabled"},
    {.name = "10-0-0-1.x.pod.cluster.local",
     .type = "A",
     .pods = ENGINE_PODS_INSECURE,
     .word = "-pods=insecure"},
    {.name = "10-0-0-1.x.pod.cluster.local", .type = "A", .pods = ENGINE_PODS_VERIFIED},
    {.name = "dns-version.cluster.local", .type = "TXT"},
    {.name = "dns-version.cluster.local",
     .type = "TXT",
     .schema = ENGINE_SCHEMA_KUBERNETES,
     .word = "version"},
    {.name = "www.example.com", .type = "A", .no_rec = true, .word = "-no-rec"},
    {.name = "www.example.com", .type = "A", .word = "there is no upstream"},
    {.name = "single", .type = "A", .has_nameservers = true, .word = "-ndots"},
    {.name = "www.example.com",
     .type = "A",
     .has_nameservers = true,
     .has_no_plan = true,
     .external = {.source = EXPLAIN_FROM_NAMESERVER},
     .word = "an upstream is queried"},
    {.name = "www.example.com",
     .type = "A",
     .has_no_plan = true,
     .external = {.source = EXPLAIN_FROM_NAMESERVER, .zone = &general},
     .word = "an upstream is queried"},
    {.name = "www.example.com",
     .type = "A",
     .has_no_plan = true,
     .external = {.source = EXPLAIN_FROM_CACHE, .zone = &general, .cached = {.state = CACHE_FRESH}},
     .word = "the response is cached"},
    {.name = "www.example.com",
     .type = "A",
     .has_no_plan = true,
     .external = {.source = EXPLAIN_FROM_CACHE,
                  .zone = &general,
                  .cached = {.state = CACHE_FAILED}},
     .word = "none is queried"},
    {.name = "www.example.com",
     .type = "A",
     .external = {.source = EXPLAIN_FROM_HOSTS},
     .word = "-hosts"},
    {.name = "www.example.com",
     .type = "MX",
     .has_no_plan = true,
     .external = {.source = EXPLAIN_FROM_CACHE, .zone = &general, .is_listed = true},
     .word = "-hosts, which has A and AAAA"},
    {.name = "www.example.com",
     .type = "MX",
     .has_no_plan = true,
     .external = {.source = EXPLAIN_FROM_NAMESERVER, .zone = &general, .has_override = true},
     .word = "-overrides has the name; this type is its upstream's"},
    {.name = "www.acme.local",
     .type = "A",
     .has_no_plan = true,
     .external = {.source = EXPLAIN_FROM_CACHE, .zone = &stub, .cached = {.state = CACHE_FRESH}},
     .word = "in a stub zone: -ndots"},
    {.name = "www.acme.local",
     .type = "A",
     .has_no_plan = true,
     .external = {.source = EXPLAIN_FROM_STUB, .zone = &useless},
     .word = "without a usable upstream"},
    {.name = "1.0.0.10.in-addr.arpa", .type = "PTR", .is_authoritative = true, .word = "reverse"},
    {.name = "single",
     .type = "A",
     .has_nameservers = true,
     .rcode = DNS_RCODE_NXDOMAIN,
     .word = "so it does not exist"},
    {.name = "cluster.local", .type = "DNSKEY", .is_of_keys = true, .word = "the keys of -dnssec"},
    {.name = "localhost",
     .type = "A",
     .rule = ANSWER_BY_SPECIAL_NAME,
     .word = "a special name (RFC 6761"},
    {.name = "www.example.com", .type = "AAAA", .rule = ANSWER_BY_NO_AAAA, .word = "-no-aaaa"},
    {.name = "www.example.com", .type = "AAAA", .rule = ANSWER_BY_DNS64, .word = "made by -dns64"},
    {.name = "1.0.0.0.b.9.f.f.4.6.0.0.ip6.arpa",
     .type = "PTR",
     .rule = ANSWER_BY_DNS64,
     .has_no_plan = true,
     .external = {.source = EXPLAIN_FROM_NAMESERVER},
     .word = "a CNAME to the reverse name of its IPv4 address"},
    {.name = "www.example.com", .type = "A", .rule = ANSWER_BY_ALIAS, .word = "-alias: "},
    {.name = "www.example.com", .type = "A", .rule = ANSWER_BY_OVERRIDE, .word = "-overrides: "},
    {.name = "www.example.com",
     .type = "MX",
     .rule = ANSWER_BY_OVERRIDE,
     .has_no_plan = true, /* another type than the override's */
     .external = {.source = EXPLAIN_FROM_NAMESERVER},
     .word = "an upstream is queried"},
    {.name = "www.example.com",
     .type = "AAAA",
     .has_dns64 = true,
     .has_no_plan = true,
     .external = {.source = EXPLAIN_FROM_NAMESERVER},
     .word = "without AAAA, -dns64"},
    {.name = "www.example.com",
     .type = "A",
     .has_dns64 = true,
     .has_no_plan = true,
     .external = {.source = EXPLAIN_FROM_NAMESERVER},
     .word = "an upstream is queried"},
    {.name = "www.example.com",
     .type = "AAAA",
     .has_dns64 = true,
     .external = {.source = EXPLAIN_FROM_HOSTS},
     .word = "in a file of -hosts"},
};

UNIT_TEST(test_sentences)
{
    static const struct fixture_key keys[] = {
        {"local/cluster/svc/default/web", "{'host':'10.0.0.1'}"},
        {"arpa/in-addr/10/0/0/1", "{'host':'web.default.svc.cluster.local.'}"},
    };
    struct fixture *f = fixture_new(keys, ARRAY_LEN(keys));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct dname name = dname_from(rows[i].name);
        const struct answer_plan plan = {.is_authoritative = rows[i].is_authoritative,
                                         .rcode = rows[i].rcode,
                                         .error = rows[i].error};
        f->config.zones[0].is_incomplete = rows[i].is_incomplete;
        f->config.settings.pods = rows[i].pods;
        f->config.settings.schema = rows[i].schema;
        f->config.settings.no_rec = rows[i].no_rec;
        f->config.settings.dns64.is_on = rows[i].has_dns64;
        f->config.has_nameservers = rows[i].has_nameservers;
        const struct explain_case c = {
            .config = &f->config,
            .store = rows[i].has_no_store ? NULL : f->store,
            .zone = engine_config_zone(&f->config, &name),
            .name = &name,
            .type = dns_text_type(rows[i].type),
            .plan = rows[i].has_no_plan ? NULL : &plan,
            .external = &rows[i].external,
            .rule = rows[i].rule,
            .is_of_keys = rows[i].is_of_keys,
        };
        const char *why = explain_why(&c);
        if (rows[i].word ? !why || !strstr(why, rows[i].word) : why != NULL) {
            fail_msg("%s %s: %s", rows[i].name, rows[i].type, why ? why : "nothing");
        }
    }
    fixture_free(f);
}

/* The server's own name is not special once keys define the domain's nameservers. */
UNIT_TEST(test_name_servers_in_keys)
{
    static const struct fixture_key keys[] = {
        {"local/cluster/dns/ns/one", "{'host':'10.0.0.53'}"},
    };
    struct fixture *f = fixture_new(keys, ARRAY_LEN(keys));
    static const struct explain_external here;
    struct dname name = dname_from("ns.dns.cluster.local");
    const struct answer_plan plan = {.is_authoritative = true};
    assert_null(explain_why(&(struct explain_case){.config = &f->config,
                                                   .store = f->store,
                                                   .zone = engine_config_zone(&f->config, &name),
                                                   .name = &name,
                                                   .type = DNS_TYPE_A,
                                                   .plan = &plan,
                                                   .external = &here}));
    fixture_free(f);
}
