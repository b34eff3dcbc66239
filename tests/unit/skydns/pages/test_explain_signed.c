/* Tests what /explain tells of signatures: those cached, by each key, for the very RRsets of an
 * answer. The RRsets that are signed here are written by hand. */
#include "tests/unit/skydns/pages/pages_bed.h"

#include <time.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "skydns/dnssec/dnssec.h"
#include "skydns/pages/explain_page.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/sample_keys.h"
#include "tests/support/test_clock.h"
#include "tests/support/unit_test.h"
#include "tests/unit/skydns/pages/read_pages.h"

enum { PAGE_MAX = 1024 * 1024 };

static const struct bed_key keys[] = {
    {"local/cluster/x", "{'host':'10.0.0.1','ttl':30}"},
    {"local/cluster/many/a", "{'host':'10.0.0.7','ttl':30}"},
    {"local/cluster/many/b", "{'host':'10.0.0.1','ttl':60}"},
    {"local/cluster/alias", "{'host':'Y.Cluster.local.','ttl':30}"},
    {"local/cluster/y", "{'host':'10.0.0.9','ttl':30}"},
    {"arpa/in-addr/10/0/0/1", "{'host':'x.cluster.local.','ttl':30}"},
};

struct pages {
    struct pages_bed bed;
    struct buf page;
    struct dnssec *dnssec;
};

/* Both keys of cluster.local: one for keys, one for all else. */
static void explain_signed_setup(struct pages *p)
{
    struct err err;
    struct signing_key *pair[] = {sample_key_new(SAMPLE_ECDSAP256_KSK),
                                  sample_key_new(SAMPLE_ECDSAP256_ZSK)};
    test_clock_stop();
    test_clock_stop_wall();
    buf_init(&p->page, PAGE_MAX);
    bed_start(&p->bed, "-nameservers=127.0.0.1:10253");
    bed_fill(&p->bed, keys, ARRAY_LEN(keys));
    assert_int_equal(dnssec_new(pair, ARRAY_LEN(pair), 100, &p->dnssec, &err), 0);
    struct engine_config *config = options_engine_config(&p->bed.options);
    config->dnssec = p->dnssec;
    publisher_configure(p->bed.publisher, config);
}

static void explain_signed_teardown(struct pages *p)
{
    bed_stop(&p->bed);
    buf_fini(&p->page);
    test_clock_run();
}

UNIT_FIXTURE(struct pages, explain_signed_setup, explain_signed_teardown)

static const char *explain_signed_text_of(struct pages *p, const char *name, const char *type)
{
    return read_explained_text(bed_explain(&p->bed, name, type), &p->page);
}

static json_t *explain_signed_json_of(struct pages *p, const char *name, const char *type)
{
    return read_explained_json(bed_explain(&p->bed, name, type), &p->page);
}

static void explain_signed_expect(const char *text, const char *part, bool is_there)
{
    assert_that((strstr(text, part) != NULL) == is_there, "`%s` is%s in:\n%s", part,
                is_there ? " not" : "", text);
}

/* Makes the signatures of an RRset of one type, the data in canonical order. */
static void explain_signed_sign(struct pages *p, const char *owner, uint16_t type, uint32_t ttl_s,
                                const struct slice *data, size_t count)
{
    struct dnssec_signature made[DNSSEC_ZONE_KEYS_MAX];
    size_t made_count;
    struct dname name = dname_from(owner);
    const struct dnssec_rrset rrset = {.owner = slice_of(name.wire, name.len),
                                       .type = type,
                                       .ttl_s = ttl_s,
                                       .count = count,
                                       .rdata = data};
    assert_int_equal(dnssec_sign(p->dnssec, dnssec_zone_at(p->dnssec, 0), &rrset, clock_wall_s(),
                                 true, made, &made_count),
                     DNSSEC_SIGNED);
    assert_int_equal(made_count, 1);
}

/* The i-th entry of `signed`, which is about this RRset, and its only key. */
static const json_t *explain_signed_entry(const json_t *json, size_t i, const char *name,
                                          const char *type)
{
    const json_t *set = json_array_get(json_object_get(json, "signed"), i);
    assert_non_null(set);
    assert_string_equal(json_string_value(json_object_get(set, "name")), name);
    assert_string_equal(json_string_value(json_object_get(set, "type")), type);
    assert_string_equal(json_string_value(json_object_get(set, "zone")), "cluster.local.");
    const json_t *list = json_object_get(set, "keys");
    assert_int_equal(json_array_size(list), 1);
    return json_array_get(list, 0);
}

static unsigned explain_signed_tag_of(const struct pages *p, bool is_sep)
{
    const struct dnssec_zone *zone = dnssec_zone_at(p->dnssec, 0);
    return zone->keys[zone->keys[0]->is_sep == is_sep ? 0 : 1]->tag;
}

static void expect_key(const struct pages *p, const json_t *key, bool is_sep, bool is_cached)
{
    assert_int_equal(json_integer_value(json_object_get(key, "tag")),
                     explain_signed_tag_of(p, is_sep));
    assert_int_equal(json_integer_value(json_object_get(key, "algorithm")), 13);
    assert_int_equal(json_object_get(key, "expires") != NULL, is_cached);
    assert_int_equal(json_object_get(key, "left_s") != NULL, is_cached);
}

UNIT_TEST_ON(test_before_and_after, struct pages *p)
{
    char line[200], day[64];
    const struct slice address = slice_of("\12\0\0\1", 4);
    snprintf(line, sizeof(line),
             "\nsigned     x.cluster.local. A, key %u of cluster.local. (algorithm 13): ",
             explain_signed_tag_of(p, false));
    const char *text = explain_signed_text_of(p, "x.cluster.local", "A");
    explain_signed_expect(text, line, true);
    explain_signed_expect(text, "no signature is cached yet\n", true);
    json_t *json = explain_signed_json_of(p, "X.Cluster.local", "A");
    expect_key(p, explain_signed_entry(json, 0, "x.cluster.local.", "A"), false, false);
    assert_int_equal(json_array_size(json_object_get(json, "signed")), 1);
    json_decref(json);
    /* Another TTL is another RRset. */
    explain_signed_sign(p, "x.cluster.local", DNS_TYPE_A, 31, &address, 1);
    explain_signed_expect(explain_signed_text_of(p, "x.cluster.local", "A"),
                          "no signature is cached yet\n", true);
    explain_signed_sign(p, "x.cluster.local", DNS_TYPE_A, 30, &address, 1);
    text = explain_signed_text_of(p, "x.cluster.local", "A");
    time_t end = (time_t)(clock_wall_s() + DNSSEC_ENDS_S);
    struct tm utc;
    strftime(day, sizeof(day), "until %Y-%m-%dT%H:%M:%SZ, 7 d 0 h ahead\n", gmtime_r(&end, &utc));
    explain_signed_expect(text, line, true);
    explain_signed_expect(text, day, true);
    explain_signed_expect(text, "no signature", false);
    json = explain_signed_json_of(p, "X.Cluster.local", "A");
    const json_t *key = explain_signed_entry(json, 0, "x.cluster.local.", "A");
    expect_key(p, key, false, true);
    assert_int_equal(json_integer_value(json_object_get(key, "left_s")), DNSSEC_ENDS_S);
    json_decref(json);
}

/* The smallest TTL is that of all; canonical order; the names of a chain, in lower case. */
UNIT_TEST_ON(test_sets, struct pages *p)
{
    const struct slice addresses[] = {slice_of("\12\0\0\1", 4), slice_of("\12\0\0\7", 4)};
    const struct slice alias = slice_of("\1y\7cluster\5local\0", 17);
    explain_signed_sign(p, "many.cluster.local", DNS_TYPE_A, 30, addresses, 2);
    json_t *json = explain_signed_json_of(p, "many.cluster.local", "A");
    expect_key(p, explain_signed_entry(json, 0, "many.cluster.local.", "A"), false, true);
    json_decref(json);
    explain_signed_sign(p, "alias.cluster.local", DNS_TYPE_CNAME, 30, &alias, 1);
    json = explain_signed_json_of(p, "alias.cluster.local", "A");
    expect_key(p, explain_signed_entry(json, 0, "alias.cluster.local.", "CNAME"), false, true);
    expect_key(p, explain_signed_entry(json, 1, "y.cluster.local.", "A"), false, false);
    json_decref(json);
    json = explain_signed_json_of(p, "nothing.cluster.local", "A");
    expect_key(p, explain_signed_entry(json, 0, "cluster.local.", "SOA"), false, false);
    json_decref(json);
}

UNIT_TEST_ON(test_keys, struct pages *p)
{
    static const char *const types[] = {"DNSKEY", "CDS", "CDNSKEY"};
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        json_t *json = explain_signed_json_of(p, "cluster.local", types[i]);
        expect_key(p, explain_signed_entry(json, 0, "cluster.local.", types[i]), true, false);
        assert_int_equal(json_array_size(json_object_get(json, "answer")), i == 0 ? 2 : 1);
        assert_null(json_object_get(json, "authority"));
        assert_string_equal(json_string_value(json_object_get(json, "status")), "NOERROR");
        json_decref(json);
    }
    const char *text = explain_signed_text_of(p, "cluster.local", "DNSKEY");
    explain_signed_expect(text, "cluster.local. DNSKEY: NOERROR, answers: 2; etcd revision ", true);
    explain_signed_expect(text, "\nanswer     cluster.local. 300 DNSKEY \\# 68 010", true);
    explain_signed_expect(text, "\nwhy        the domain's own records: the keys of -dnssec\n",
                          true);
    const struct dnssec_apex_set *set = &dnssec_zone_at(p->dnssec, 0)->dnskey;
    explain_signed_sign(p, "cluster.local", DNS_TYPE_DNSKEY, set->ttl_s, set->rdata, set->count);
    json_t *json = explain_signed_json_of(p, "cluster.local", "DNSKEY");
    expect_key(p, explain_signed_entry(json, 0, "cluster.local.", "DNSKEY"), true, true);
    json_decref(json);
    explain_signed_expect(explain_signed_text_of(p, "x.cluster.local", "DNSKEY"), "answers: 0",
                          true);
}

UNIT_TEST_ON(test_nothing_to_tell, struct pages *p)
{
    static const char *const cases[][2] = {
        {"www.example.com", "A"},    {"1.0.0.10.in-addr.arpa", "PTR"}, {"single", "A"},
        {"x.cluster.local", "AXFR"}, {"example.com", "DNSKEY"},        {"cluster.local", "ANY"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        explain_signed_expect(explain_signed_text_of(p, cases[i][0], cases[i][1]), "\nsigned ",
                              false);
        json_t *json = explain_signed_json_of(p, cases[i][0], cases[i][1]);
        assert_null(json_object_get(json, "signed"));
        json_decref(json);
    }
}
