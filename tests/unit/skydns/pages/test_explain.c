/* explain.h: what became of each key, which names led to an answer, what it says about missing
 * names, and the limits of the work. */
#include "tests/unit/skydns/pages/pages_bed.h"

#include "common/dns/record.h"
#include "skydns/records/rr.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"

static const struct explain_name *explain_find_name(const struct explanation *x, const char *text)
{
    struct dname name = dname_from(text);
    for (size_t i = 0; i < x->name_count; i++) {
        if (dname_equal(&x->names[i].name, &name)) {
            return &x->names[i];
        }
    }
    return NULL;
}

/* "local/cluster/x/a" */
static bool explain_is_key(const struct store_record *record, const char *key)
{
    struct dname own, wanted;
    store_record_name(record, &own);
    assert_true(record_key_to_name(slice_str(""), slice_str(key), &wanted));
    return dname_equal(&own, &wanted);
}

static const struct explain_record *explain_find_record(const struct explanation *x,
                                                        const char *key)
{
    for (size_t i = 0; i < x->name_count; i++) {
        for (size_t k = 0; k < x->names[i].record_count; k++) {
            if (explain_is_key(x->names[i].records[k].record, key)) {
                return &x->names[i].records[k];
            }
        }
    }
    return NULL;
}

/* ---- Rules ---- */

static const struct bed_key mixed[] = {
    {"local/cluster/x/a", "{'host':'10.0.0.1','ttl':30}"},
    {"local/cluster/x/c", "{'host':'fd00::1'}"},
    {"local/cluster/x/d", "{'host':'a.y.cluster.local.'}"},
    {"local/cluster/x/e", "{'host':'nowhere.cluster.local.'}"},
    {"local/cluster/x/f", "{'text':'only'}"},
    {"local/cluster/x/g", "{'host':'a..b'}"},
    {"local/cluster/x/m", "{'host':'mail.y.cluster.local.','mail':true}"},
    {"local/cluster/x/out", "{'host':'db.example.com.'}"},
    {"local/cluster/x/_tcp/_http/j", "{'host':'x.cluster.local.','port':80}"},
    {"local/cluster/y/a", "{'host':'10.0.0.2'}"},
    {"local/cluster/same/a", "{'host':'10.0.0.7','ttl':30}"},
    {"local/cluster/same/b", "{'host':'10.0.0.7'}"},
    {"local/cluster/g/a", "{'host':'10.0.0.3','group':'g1'}"},
    {"local/cluster/g/sub/b", "{'host':'10.0.0.4','group':'g2'}"},
    {"local/cluster/g/sub/c", "{'host':'10.0.0.5','group':'g1'}"},
    {"local/cluster/svc/one/web", "{'host':'10.0.0.8'}"},
    {"local/cluster/svc/two/web", "{'host':'10.0.0.9'}"},
    {"local/cluster/svc/two/db", "{'host':'10.0.0.10'}"},
    {"arpa/in-addr/10/0/0/1", "{'host':'x.cluster.local.'}"},
};

static void explain_set_up(struct pages_bed *bed)
{
    bed_start(bed, "-no-rec");
}

UNIT_FIXTURE(struct pages_bed, explain_set_up, bed_stop)

UNIT_TEST(test_rules)
{
    static const struct {
        const char *name, *type, *key;
        enum explain_rule rule;
    } rows[] = {
        {"X.Cluster.Local", "A", "local/cluster/x/a", EXPLAIN_GAVE},
        {"x.cluster.local", "", "local/cluster/x/a", EXPLAIN_GAVE},
        {"x.cluster.local", "A", "local/cluster/x/c", EXPLAIN_FAMILY},
        {"x.cluster.local", "A", "local/cluster/x/d", EXPLAIN_GAVE},
        {"x.cluster.local", "A", "local/cluster/y/a", EXPLAIN_GAVE},
        {"x.cluster.local", "A", "local/cluster/x/e", EXPLAIN_TARGET},
        {"x.cluster.local", "A", "local/cluster/x/f", EXPLAIN_NO_HOST},
        {"x.cluster.local", "A", "local/cluster/x/g", EXPLAIN_BAD_HOST},
        {"x.cluster.local", "A", "local/cluster/x/out", EXPLAIN_EXTERNAL},
        {"x.cluster.local", "A", "local/cluster/x/_tcp/_http/j", EXPLAIN_HIDDEN},
        {"x.cluster.local", "AAAA", "local/cluster/x/c", EXPLAIN_GAVE},
        {"x.cluster.local", "AAAA", "local/cluster/x/a", EXPLAIN_FAMILY},
        {"x.cluster.local", "TXT", "local/cluster/x/f", EXPLAIN_GAVE},
        {"x.cluster.local", "TXT", "local/cluster/x/a", EXPLAIN_NO_TEXT},
        {"x.cluster.local", "MX", "local/cluster/x/m", EXPLAIN_GAVE},
        {"x.cluster.local", "MX", "local/cluster/x/a", EXPLAIN_NO_MAIL},
        {"x.cluster.local", "SRV", "local/cluster/x/a", EXPLAIN_GAVE},
        {"x.cluster.local", "SRV", "local/cluster/x/f", EXPLAIN_NO_HOST},
        {"_http._tcp.x.cluster.local", "SRV", "local/cluster/x/_tcp/_http/j", EXPLAIN_GAVE},
        {"d.x.cluster.local", "CNAME", "local/cluster/x/d", EXPLAIN_GAVE},
        {"x.cluster.local", "CNAME", "local/cluster/x/d", EXPLAIN_BELOW},
        {"a.x.cluster.local", "CNAME", "local/cluster/x/a", EXPLAIN_ADDRESS},
        {"f.x.cluster.local", "CNAME", "local/cluster/x/f", EXPLAIN_NO_HOST},
        {"y.cluster.local", "HTTPS", "local/cluster/y/a", EXPLAIN_TYPE},
        {"g.cluster.local", "A", "local/cluster/g/a", EXPLAIN_GAVE},
        {"g.cluster.local", "A", "local/cluster/g/sub/b", EXPLAIN_GROUP},
        {"g.cluster.local", "A", "local/cluster/g/sub/c", EXPLAIN_GAVE},
        {"web.*.svc.cluster.local", "A", "local/cluster/svc/one/web", EXPLAIN_GAVE},
        {"web.any.svc.cluster.local", "A", "local/cluster/svc/two/web", EXPLAIN_GAVE},
        {"web.*.svc.cluster.local", "A", "local/cluster/svc/two/db", EXPLAIN_PATTERN},
        {"1.0.0.10.in-addr.arpa", "PTR", "arpa/in-addr/10/0/0/1", EXPLAIN_GAVE},
    };
    CLEANUP(bed_stop) struct pages_bed bed;
    bed_start(&bed, "-nameservers=127.0.0.1:10253");
    bed_fill(&bed, mixed, ARRAY_LEN(mixed));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct explanation *x = bed_explain(&bed, rows[i].name, rows[i].type);
        const struct explain_record *record = explain_find_record(x, rows[i].key);
        assert_that(record && record->rule == rows[i].rule, "%s %s, %s: rule %d, expected %d",
                    rows[i].name, rows[i].type, rows[i].key, record ? (int)record->rule : -1,
                    (int)rows[i].rule);
        assert_int_equal(x->revision, ARRAY_LEN(mixed));
        assert_non_null(x->plan);
    }
}

/* The store chooses which of two equal keys gives the record; the other one refers to it. */
UNIT_TEST_ON(test_duplicates, struct pages_bed *bed)
{
    bed_fill(bed, mixed, ARRAY_LEN(mixed));
    const struct explanation *x = bed_explain(bed, "same.cluster.local", "A");
    const struct explain_record *a = explain_find_record(x, "local/cluster/same/a");
    const struct explain_record *b = explain_find_record(x, "local/cluster/same/b");
    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal(x->plan->answers.count, 1);
    const struct explain_record *gave = a->rule == EXPLAIN_GAVE ? a : b;
    const struct explain_record *other = gave == a ? b : a;
    assert_int_equal(gave->rule, EXPLAIN_GAVE);
    assert_int_equal(other->rule, EXPLAIN_DUPLICATE);
    assert_ptr_equal(other->other, gave->record);
    assert_null(gave->other);
}

UNIT_TEST(test_schema_of_kubernetes)
{
    static const struct bed_key keys[] = {
        {"local/cluster/svc/default/web/a", "{'host':'10.0.0.1'}"},
        {"local/cluster/svc/default/web/_tcp/_http/a",
         "{'host':'web.default.svc.cluster.local.','port':80}"},
        {"local/cluster/svc/other/alias", "{'host':'default.svc.cluster.local.'}"},
    };
    static const struct {
        const char *name, *type;
        enum explain_rule address, port;
    } rows[] = {
        {"web.default.svc.cluster.local", "A", EXPLAIN_GAVE, EXPLAIN_HIDDEN},
        {"web.default.svc.cluster.local", "AAAA", EXPLAIN_FAMILY, EXPLAIN_HIDDEN},
        {"web.default.svc.cluster.local", "SRV", EXPLAIN_SCHEMA, EXPLAIN_GAVE},
        {"default.svc.cluster.local", "A", EXPLAIN_SCHEMA, EXPLAIN_HIDDEN},
        {"alias.other.svc.cluster.local", "A", EXPLAIN_SCHEMA, EXPLAIN_HIDDEN},
    };
    CLEANUP(bed_stop) struct pages_bed bed;
    bed_start(&bed, "-no-rec -schema=kubernetes");
    bed_fill(&bed, keys, ARRAY_LEN(keys));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct explanation *x = bed_explain(&bed, rows[i].name, rows[i].type);
        const struct explain_record *address = explain_find_record(x, keys[0].key);
        const struct explain_record *port = explain_find_record(x, keys[1].key);
        assert_that(address && port && address->rule == rows[i].address &&
                        port->rule == rows[i].port,
                    "%s %s: rules %d, %d", rows[i].name, rows[i].type,
                    address ? (int)address->rule : -1, port ? (int)port->rule : -1);
    }
}

/* With -schema=kubernetes a CNAME stands alone, and leads on for every type. */
UNIT_TEST(test_aliases)
{
    static const struct bed_key keys[] = {
        {"local/cluster/svc/default/ext", "{'host':'web.default.svc.cluster.local.'}"},
        {"local/cluster/svc/default/ext/a", "{'host':'10.0.0.2','text':'t'}"},
        {"local/cluster/svc/default/web/a", "{'host':'10.0.0.1'}"},
        {"local/cluster/svc/default/web/b", "{'host':'ext.default.svc.cluster.local.'}"},
        {"local/cluster/said", "{'host':'web.default.svc.cluster.local.','text':'t'}"},
    };
    static const struct {
        const char *type;
        enum explain_rule beside, target, ignored;
    } rows[] = {
        {"A", EXPLAIN_ALIAS, EXPLAIN_GAVE, EXPLAIN_SCHEMA},
        {"AAAA", EXPLAIN_ALIAS, EXPLAIN_FAMILY, EXPLAIN_SCHEMA},
        {"TXT", EXPLAIN_ALIAS, EXPLAIN_NO_TEXT, EXPLAIN_NO_TEXT},
    };
    CLEANUP(bed_stop) struct pages_bed bed;
    bed_start(&bed, "-no-rec -schema=kubernetes");
    bed_fill(&bed, keys, ARRAY_LEN(keys));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct explanation *x =
            bed_explain(&bed, "ext.default.svc.cluster.local", rows[i].type);
        assert_int_equal(x->name_count, 2);
        assert_int_equal(explain_find_record(x, keys[0].key)->rule, EXPLAIN_GAVE);
        assert_int_equal(explain_find_record(x, keys[1].key)->rule, rows[i].beside);
        assert_int_equal(explain_find_record(x, keys[2].key)->rule, rows[i].target);
        assert_int_equal(explain_find_record(x, keys[3].key)->rule, rows[i].ignored);
    }
    assert_int_equal(bed_explain(&bed, "said.cluster.local", "MX")->name_count, 2);
    const struct explanation *said = bed_explain(&bed, "said.cluster.local", "TXT");
    assert_int_equal(said->name_count, 1); /* not its target */
    assert_int_equal(explain_find_record(said, keys[4].key)->rule, EXPLAIN_GAVE);
}

/* ---- Names ---- */

UNIT_TEST_ON(test_names_on_the_way, struct pages_bed *bed)
{
    bed_fill(bed, mixed, ARRAY_LEN(mixed));
    const struct explanation *x = bed_explain(bed, "X.cluster.local", "A");
    const struct explain_name *asked = explain_find_name(x, "x.cluster.local");
    const struct explain_name *target = explain_find_name(x, "a.y.cluster.local");
    const struct explain_name *nowhere = explain_find_name(x, "nowhere.cluster.local");
    assert_ptr_equal(asked, &x->names[0]);
    assert_null(asked->from);
    assert_true(asked->exists);
    assert_int_equal(asked->record_total, 9);
    assert_int_equal(asked->record_count, 9);
    assert_non_null(target);
    assert_true(explain_is_key(target->from, "local/cluster/x/d"));
    assert_non_null(nowhere);
    assert_true(explain_is_key(nowhere->from, "local/cluster/x/e"));
    assert_false(nowhere->exists);
    assert_null(explain_find_name(x, "db.example.com")); /* not in our domains */
    /* TXT does not follow hosts that are names. */
    assert_int_equal(bed_explain(bed, "x.cluster.local", "TXT")->name_count, 1);
}

/* Names in a loop are each visited once. */
UNIT_TEST_ON(test_ring, struct pages_bed *bed)
{
    static const struct bed_key ring[] = {
        {"local/cluster/r/a", "{'host':'b.r.cluster.local.'}"},
        {"local/cluster/r/b", "{'host':'a.r.cluster.local.'}"},
    };
    bed_fill(bed, ring, ARRAY_LEN(ring));
    const struct explanation *x = bed_explain(bed, "a.r.cluster.local", "A");
    assert_int_equal(x->name_count, 2);
    assert_true(explain_is_key(x->names[1].from, "local/cluster/r/a"));
}

UNIT_TEST(test_what_local_stands_for)
{
    CLEANUP(bed_stop) struct pages_bed bed;
    bed_start(&bed, "-no-rec -local=y.cluster.local");
    bed_fill(&bed, mixed, ARRAY_LEN(mixed));
    const struct explanation *x = bed_explain(&bed, "local.dns.cluster.local", "A");
    assert_int_equal(x->plan->answers.count, 1);
    assert_int_equal(x->name_count, 1);
    assert_ptr_equal(explain_find_name(x, "y.cluster.local"), &x->names[0]);
}

/* A domain's NS records come from the keys below dns/ns. */
UNIT_TEST_ON(test_name_servers, struct pages_bed *bed)
{
    static const struct bed_key keys[] = {
        {"local/cluster/dns/ns/one", "{'host':'10.0.0.53'}"},
    };
    bed_fill(bed, keys, ARRAY_LEN(keys));
    const struct explanation *x = bed_explain(bed, "cluster.local", "NS");
    assert_non_null(x->why);
    assert_ptr_equal(explain_find_name(x, "ns.dns.cluster.local"), &x->names[0]);
    assert_non_null(explain_find_record(x, keys[0].key));
}

UNIT_TEST_ON(test_absent, struct pages_bed *bed)
{
    bed_fill(bed, mixed, ARRAY_LEN(mixed));
    const struct explanation *x = bed_explain(bed, "wbe.one.svc.cluster.local", "A");
    struct dname closest = dname_from("one.svc.cluster.local"),
                 near = dname_from("web.one.svc.cluster.local");
    assert_int_equal(x->plan->rcode, DNS_RCODE_NXDOMAIN);
    assert_int_equal(x->name_count, 1);
    assert_false(x->names[0].exists);
    assert_true(dname_equal(&x->names[0].closest, &closest));
    assert_int_equal(x->names[0].near_count, 1);
    assert_true(dname_equal(&x->names[0].near[0], &near));
    assert_int_equal(x->names[0].record_total, 0);
}

/* ---- Broken keys ---- */

UNIT_TEST_ON(test_broken_keys, struct pages_bed *bed)
{
    static const struct bed_key keys[] = {
        {"local/cluster/x/good", "{'host':'10.0.0.1'}"},
        {"local/cluster/x/port", "{'host':'10.0.0.8','port':'80'}"},
        {"local/cluster/x/sub/host", "{'host':'a..b'}"},
        {"local/cluster/xy", "no JSON"}, /* next to the name, not below it */
    };
    bed_fill(bed, keys, ARRAY_LEN(keys));
    const struct explain_name *name = &bed_explain(bed, "x.cluster.local", "A")->names[0];
    assert_int_equal(name->broken_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct broken_key *broken = &name->broken[i];
        bool is_port = slice_equal(broken->key, slice_str("/skydns/local/cluster/x/port"));
        assert_true(is_port ||
                    slice_equal(broken->key, slice_str("/skydns/local/cluster/x/sub/host")));
        assert_int_equal(broken->mod_revision, is_port ? 2 : 3);
        assert_true(*broken->reason != '\0');
    }
    /* A valid value ends it; a name with nothing but a broken key is explained, too. */
    bed_add(bed, "local/cluster/x/port", "{'host':'10.0.0.8','port':80}");
    assert_int_equal(bed_explain(bed, "x.cluster.local", "A")->names[0].broken_count, 1);
    assert_int_equal(bed_explain(bed, "xy.cluster.local", "A")->names[0].broken_count, 1);
}

/* ---- Limits ---- */

/* `count` keys below local/cluster/many with different addresses, or all of them broken. */
static void fill_many(struct pages_bed *bed, unsigned count, bool is_broken)
{
    char key[64], value[64];
    bed_mirror.full_begin(bed_mirror.data, &(struct etcd_mirror_read){.reason = ""});
    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(key, sizeof(key), "local/cluster/many/k%u", i); /* fits */
        (void)snprintf(value, sizeof(value), "{'host':'10.%u.%u.%u'%s", i >> 16, i >> 8 & 255,
                       i & 255, is_broken ? "" : "}"); /* fits */
        bed_put(bed, &(struct bed_key){key, value});
    }
    bed_mirror.commit(bed_mirror.data, bed->revision, true);
}

UNIT_TEST_ON(test_more_than_is_shown, struct pages_bed *bed)
{
    fill_many(bed, EXPLAIN_RECORDS_MAX + 7, false);
    const struct explanation *x = bed_explain(bed, "many.cluster.local", "A");
    assert_int_equal(x->names[0].record_count, EXPLAIN_RECORDS_MAX);
    assert_int_equal(x->names[0].record_total, EXPLAIN_RECORDS_MAX + 7);
    assert_int_equal(x->plan->answers.count, EXPLAIN_RECORDS_MAX + 7);
    fill_many(bed, EXPLAIN_BROKEN_MAX + 1, true);
    x = bed_explain(bed, "many.cluster.local", "A");
    assert_int_equal(x->names[0].broken_count, EXPLAIN_BROKEN_MAX);
}

/* Questions that the resolver thread would answer get no plan here, and a name with more keys than
 * a page may visit lists none. */
UNIT_TEST_ON(test_more_than_is_looked_at, struct pages_bed *bed)
{
    fill_many(bed, RR_LIST_MAX + 1, false);
    const struct explanation *x = bed_explain(bed, "many.cluster.local", "A");
    assert_null(x->plan);
    assert_non_null(x->why);
    assert_true(x->names[0].exists);
    assert_false(x->names[0].is_too_large);
    assert_int_equal(x->names[0].record_total, RR_LIST_MAX + 1);
    fill_many(bed, 50001, false);
    x = bed_explain(bed, "many.cluster.local", "A");
    assert_true(x->names[0].exists);
    assert_true(x->names[0].is_too_large);
    assert_int_equal(x->names[0].record_count, 0);
}

UNIT_TEST_ON(test_names_are_limited, struct pages_bed *bed)
{
    char key[64], value[64];
    bed_fill(bed, NULL, 0);
    for (unsigned i = 0; i < EXPLAIN_NAMES_MAX + 3; i++) {
        (void)snprintf(key, sizeof(key), "local/cluster/x/k%u", i);                 /* fits */
        (void)snprintf(value, sizeof(value), "{'host':'t%u.y.cluster.local.'}", i); /* fits */
        bed_add(bed, key, value);
    }
    assert_int_equal(bed_explain(bed, "x.cluster.local", "A")->name_count, EXPLAIN_NAMES_MAX);
}

/* ---- Without keys ---- */

UNIT_TEST(test_external_questions)
{
    CLEANUP(bed_stop) struct pages_bed bed;
    bed_start(&bed, "-nameservers=127.0.0.1:10253");
    bed_fill(&bed, mixed, ARRAY_LEN(mixed));
    const struct explanation *x = bed_explain(&bed, "out.x.cluster.local", "A");
    struct dname outside = dname_from("db.example.com");
    assert_int_equal(x->external_count, 1);
    assert_true(dname_equal(&x->externals[0].question.name, &outside));
    assert_int_equal(x->externals[0].question.type, DNS_TYPE_A);
    assert_non_null(x->plan);
    assert_int_equal(x->plan->authority_count, 0); /* nobody has denied anything */
    /* The next explanation keeps nothing of it. */
    assert_int_equal(bed_explain(&bed, "y.cluster.local", "A")->external_count, 0);
}

UNIT_TEST(test_not_from_here)
{
    CLEANUP(bed_stop) struct pages_bed bed;
    bed_start(&bed, "-nameservers=127.0.0.1:10253");
    bed_fill(&bed, mixed, ARRAY_LEN(mixed));
    const struct explanation *x = bed_explain(&bed, "www.example.com", "AAAA");
    assert_null(x->plan);
    assert_non_null(x->why);
    assert_int_equal(x->name_count, 0);
    assert_int_equal(x->question.type, DNS_TYPE_AAAA);
}

UNIT_TEST_ON(test_nothing_read_yet, struct pages_bed *bed)
{
    const struct explanation *x = bed_explain(bed, "x.cluster.local", "A");
    assert_int_equal(x->revision, 0);
    assert_non_null(x->plan);
    assert_int_equal(x->plan->rcode, DNS_RCODE_SERVFAIL);
    assert_non_null(x->why);
    assert_int_equal(x->name_count, 0);
}

/* The configuration passed counts, not the one at the explainer's creation. */
UNIT_TEST_ON(test_configuration_in_force, struct pages_bed *bed)
{
    struct dname domain = dname_from("example.com");
    bed_fill(bed, NULL, 0);
    bed_add(bed, "com/example/www", "{'host':'10.0.0.1'}");
    assert_int_equal(bed_explain(bed, "www.example.com", "A")->plan->rcode, DNS_RCODE_SERVFAIL);
    bed->options.domains[bed->options.domain_count++] = domain;
    publisher_configure(bed->publisher, options_engine_config(&bed->options));
    assert_int_equal(bed_explain(bed, "www.example.com", "A")->plan->answers.count, 1);
}

UNIT_TEST_ON(test_questions_that_cannot_be_read, struct pages_bed *bed)
{
    static const struct {
        struct explain_query query;
        const char *says;
    } rows[] = {
        {{.name = NULL, .type = "A"}, "name"},
        {{.name = "a..b", .type = "A"}, "name"},
        {{.name = "a", .type = "NOPE"}, "NOPE"},
        {{.name = "a", .type = "TYPE70000", .client = ""}, "TYPE70000"},
        {{.name = "a", .type = "A", .client = "10.0.0"}, "client `10.0.0`: expected an address"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct explanation *x = NULL;
        struct err err;
        assert_int_equal(explainer_explain(bed->explainer, &rows[i].query, &x, &err), ERR_USAGE);
        assert_null(x);
        assert_non_null(strstr(err.msg, rows[i].says));
    }
    assert_int_equal(bed_explain(bed, "x.cluster.local", NULL)->question.type, DNS_TYPE_A);
}

/* ---- The answer alone, for /watch ---- */

static int explain_alone(struct pages_bed *bed, const char *name, const char *type,
                         const struct explanation **ret, struct err *err)
{
    const struct explain_query query = {.name = name, .type = type};
    return explainer_answer(bed->explainer, &query, ret, err);
}

UNIT_TEST_ON(test_answers_alone, struct pages_bed *bed)
{
    static const struct bed_key keys[] = {
        {"local/cluster/a", "{'host':'10.0.0.1'}"},
        {"local/cluster/b", "{'host':'a.cluster.local.'}"},
    };
    const struct explanation *x;
    struct err err;
    bed_fill(bed, keys, ARRAY_LEN(keys));
    assert_int_equal(explain_alone(bed, "b.cluster.local", "A", &x, &err), 0);
    assert_non_null(x->plan);
    assert_true(x->plan->answers.count > 0);
    assert_int_equal(x->name_count, 0);
    assert_int_equal(explain_alone(bed, "c.cluster.local", NULL, &x, &err), 0);
    assert_int_equal(x->plan->rcode, DNS_RCODE_NXDOMAIN);
    assert_int_equal(explain_alone(bed, "www.example.com", "A", &x, &err), ERR_USAGE);
    assert_non_null(strstr(err.msg, "name `www.example.com`: expected one of our domains"));
    assert_int_equal(explain_alone(bed, "a.cluster.local", "X", &x, &err), ERR_USAGE);
}

UNIT_TEST_ON(test_too_many_records_for_an_answer_alone, struct pages_bed *bed)
{
    const struct explanation *x;
    struct err err;
    fill_many(bed, EXPLAIN_NOW_SCAN_MAX - 2048, false);
    assert_int_equal(explain_alone(bed, "many.cluster.local", "A", &x, &err), 0);
    assert_true(x->plan->answers.count > 1000);
    assert_int_equal(explain_alone(bed, "*.cluster.local", "TXT", &x, &err), 0);
    fill_many(bed, 3 * EXPLAIN_NOW_SCAN_MAX, false);
    assert_int_equal(explain_alone(bed, "many.cluster.local", "SRV", &x, &err), ERR_USAGE);
    assert_non_null(strstr(err.msg, "too many to watch"));
    /* An explanation after it is as before. */
    assert_int_equal(bed_explain(bed, "k1.many.cluster.local", "A")->names[0].record_count, 1);
}
