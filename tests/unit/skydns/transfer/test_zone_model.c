/* The contents of zones (skydns/answer/zone_answers.h, skydns/transfer/zone_names_internal.h) and
 * what changes in them (zone_diff_internal.h), over random versions of a store that are all kept:
 *
 *     what a zone has is what an engine answers a client, name by name;
 *     a zone at A, less what was removed up to B, and with what was added, is the zone at B. */
#include "common/dns/record_json.h"
#include "skydns/transfer/zone_diff_internal.h"
#include "skydns/transfer/zone_names_internal.h"
#include "tests/support/from_text.h"
#include "tests/support/random_numbers.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/skydns/records.h"
#include "tests/support/unit_test.h"

enum { STORES = 12, VERSIONS = 12, CHANGES_MAX = 12, PAIRS = 40, NAMES_MAX = 4000 };

/* ---- The store ---- */

static const char *const apexes[] = {"cluster.local.", "second.cluster.local.", "other.test.",
                                     "96.10.in-addr.arpa.", "0.0.d.f.ip6.arpa."};
enum { APEXES = sizeof(apexes) / sizeof(apexes[0]) };

/* Few, so that they collide: services with endpoints and ports, pods, aliases, the name servers'
 * keys, names of no schema, and reverse names. */
static const char *const names[] = {"a.web.default.svc.",
                                    "b.web.default.svc.",
                                    "c.web.default.svc.",
                                    "web.default.svc.",
                                    "a.db.other.svc.",
                                    "db.other.svc.",
                                    "x.alias.default.svc.",
                                    "alias.default.svc.",
                                    "a._http._tcp.web.default.svc.",
                                    "b._http._tcp.web.default.svc.",
                                    "a._dns._udp.db.other.svc.",
                                    "10-0-0-1.default.pod.",
                                    "10-0-0-2.default.pod.",
                                    "ns1.ns.dns.",
                                    "ns.dns.",
                                    "a.mail.",
                                    "b.mail.",
                                    "odd.",
                                    "x.y.odd.",
                                    "svc.",
                                    "",
                                    "1.0.",
                                    "2.0.",
                                    "local.dns.",
                                    "dns-version."};
static const char *const values[] = {
    "{'host':'10.0.0.1'}",
    "{'host':'10.0.0.2','ttl':30}",
    "{'host':'fd00::1'}",
    "{'host':'10.0.0.1','port':80}",
    "{'host':'10.0.0.1','port':80,'weight':20000}",
    "{'host':'web.default.svc.cluster.local','port':80}",
    "{'host':'db.other.svc.other.test','port':81,'priority':5,'weight':7}",
    "{'host':'www.example.com'}",
    "{'host':'a.web.default.svc.cluster.local'}",
    "{'text':'some text'}",
    "{'host':'10.0.0.3','mail':true}",
    "{'host':'alias.default.svc.other.test'}",
    "{'host':'10.0.0.4','group':'g'}",
    "{}",
    "{'host':'10.0.0.1','targetstrip':1,'port':9}"};
enum { NAMES = sizeof(names) / sizeof(names[0]), VALUES = sizeof(values) / sizeof(values[0]) };

struct bed {
    struct fixture *fixture;
    struct zone_answers *answers;
    const struct store *versions[VERSIONS];
    struct store_garbage *garbage[VERSIONS];
    int64_t revision;
    uint64_t removed; /* records that differences told of */
};

static struct dname zone_model_random_name(void)
{
    CLEANUP_FREE char *text =
        xasprintf("%s%s", names[random_below(NAMES)], apexes[random_below(APEXES)]);
    return dname_from(text);
}

static void zone_model_put(struct bed *bed, const struct dname *name)
{
    struct record record;
    struct err err;
    CLEANUP_FREE char *json = xstrdup(values[random_below(VALUES)]);
    for (char *p = json; *p; p++) {
        *p = *p == '\'' ? '"' : *p;
    }
    assert_int_equal(record_from_json(slice_str(json), &record, &err), 0);
    (void)records_put(bed->fixture->writer, name, &record, ++bed->revision);
}

static bool put_again(void *data, const struct store_record *record)
{
    struct bed *bed = data;
    struct dname name;
    store_record_name(record, &name);
    if (random_below(8) > 0) {
        const struct record view = {
            .host = slice_str("10.0.0.1"), .text = slice_str(""), .group = slice_str("")};
        (void)store_writer_put_view(bed->fixture->writer, &name, &view, ++bed->revision);
    }
    return true;
}

static void make_version(struct bed *bed, unsigned i)
{
    struct store_writer *writer = bed->fixture->writer;
    if (i > 0 && random_below(6) == 0) { /* a full read */
        const struct store *last = bed->versions[i - 1];
        store_writer_clear(writer);
        assert_true(store_each_record(last, put_again, bed));
    }
    for (unsigned n = random_below(CHANGES_MAX) + (i == 0 ? 40 : 0); n > 0; n--) {
        struct dname name = zone_model_random_name();
        if (random_below(3) == 0) {
            store_writer_del(writer, &name);
        } else {
            zone_model_put(bed, &name);
        }
    }
    bed->versions[i] = store_writer_commit(writer, ++bed->revision, &bed->garbage[i]);
}

static void zone_model_configure(struct engine_config *config)
{
    config->settings.schema = ENGINE_SCHEMA_KUBERNETES;
    config->settings.reverse_zone_count = 2;
    struct err err;
    assert_int_equal(
        network_parse(slice_str("10.96.0.0/16"), &config->settings.reverse_zones[0], &err), 0);
    assert_int_equal(
        network_parse(slice_str("fd00::/16"), &config->settings.reverse_zones[1], &err), 0);
    if (random_below(2)) {
        config->settings.local = dname_from("a.web.default.svc.other.test.");
    }
}

static struct bed *bed_new(uint64_t seed)
{
    struct bed *bed = xcalloc(1, sizeof(*bed));
    random_state = seed;
    bed->fixture = fixture_new(NULL, 0);
    assert_int_equal(addr_parse("10.9.8.7:53", &bed->fixture->local, NULL), 0);
    for (size_t i = 1; i < 3; i++) {
        fixture_domain(bed->fixture, apexes[i]);
    }
    zone_model_configure(&bed->fixture->config);
    for (unsigned i = 0; i < VERSIONS; i++) {
        make_version(bed, i);
    }
    bed->answers = zone_answers_new(&bed->fixture->config);
    return bed;
}

static void bed_free(struct bed *bed)
{
    zone_answers_free(bed->answers);
    for (unsigned i = 0; i < VERSIONS; i++) {
        store_garbage_free(bed->garbage[i]);
    }
    fixture_free(bed->fixture);
    free(bed);
}

/* ---- A zone: all records of all names ---- */

static void zone_model_add_bytes(struct zone_rrs *out, struct slice bytes)
{
    struct reader r = reader_of(bytes.ptr, bytes.len);
    struct zone_rr rr;
    assert_true(zone_rr_read(&r, &rr));
    assert_int_equal(reader_left(&r), 0);
    zone_rrs_add(out, &rr);
}

static void read_zone(struct bed *bed, const struct store *store, const struct dname *apex,
                      struct zone_rrs *out)
{
    struct zone_names at;
    struct dname name;
    struct zone_rrs of_name, seen;
    const struct engine_config *config = &bed->fixture->config;
    zone_rrs_init(&of_name);
    zone_rrs_init(&seen);
    zone_names_begin(&at, apex);
    size_t given = 0;
    while (zone_names_next(&at, config, store, &name)) {
        assert_true(given++ < NAMES_MAX);
        assert_true(zone_answers_is_of_zone(config, apex, &name));
        zone_rrs_add(&seen, &(struct zone_rr){.owner = slice_of(name.wire, name.len)});
        assert_true(zone_answers_of(bed->answers, store, &name, &of_name));
        for (size_t i = 0; i < of_name.count; i++) {
            zone_model_add_bytes(out, zone_rrs_get(&of_name, i));
        }
    }
    zone_rrs_sort(&seen);
    assert_int_equal(seen.count, given); /* each once */
    zone_rrs_sort(out);
    zone_rrs_fini(&of_name);
    zone_rrs_fini(&seen);
}

/* ---- A + differences = B ---- */

struct told {
    struct zone_rrs removed, added;
};

static void on_diff(void *data, bool is_added, struct slice bytes)
{
    struct told *told = data;
    zone_model_add_bytes(is_added ? &told->added : &told->removed, bytes);
}

static void expect_only_in(void *data, bool is_added, struct slice bytes)
{
    struct zone_rrs *out = data;
    zone_model_add_bytes(out, bytes);
}

static void expect_same(const struct zone_rrs *a, const struct zone_rrs *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        assert_true(slice_equal(zone_rrs_get(a, i), zone_rrs_get(b, i)));
    }
}

static void check_diff(struct bed *bed, const struct dname *apex, unsigned a, unsigned b)
{
    struct zone_rrs zone_a, zone_b, only;
    struct told told, exact;
    struct zone_rrs *all[] = {&zone_a,     &zone_b,        &only,       &told.removed,
                              &told.added, &exact.removed, &exact.added};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        zone_rrs_init(all[i]);
    }
    read_zone(bed, bed->versions[a], apex, &zone_a);
    read_zone(bed, bed->versions[b], apex, &zone_b);
    const struct zone_diff_ask ask = {.answers = bed->answers,
                                      .config = &bed->fixture->config,
                                      .before = bed->versions[a],
                                      .after = bed->versions[b],
                                      .apex = apex,
                                      .fn = on_diff,
                                      .data = &told};
    assert_int_equal(zone_diff(&ask), ZONE_DIFF_DONE);
    zone_rrs_sort(&told.removed);
    zone_rrs_sort(&told.added);
    zone_rrs_diff(&zone_a, &zone_b, on_diff, &exact);
    zone_rrs_sort(&exact.removed);
    zone_rrs_sort(&exact.added);
    expect_same(&told.removed, &exact.removed);
    expect_same(&told.added, &exact.added);
    bed->removed += told.removed.count;
    zone_rrs_diff(&zone_b, &zone_b, expect_only_in, &only);
    assert_int_equal(only.count, 0);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        zone_rrs_fini(all[i]);
    }
}

UNIT_TEST(test_differences)
{
    uint64_t removed = 0;
    for (unsigned seed = 0; seed < STORES; seed++) {
        struct bed *bed = bed_new(seed);
        for (unsigned i = 0; i < PAIRS; i++) {
            struct dname apex = dname_from(apexes[random_below(APEXES)]);
            check_diff(bed, &apex, random_below(VERSIONS), random_below(VERSIONS));
        }
        removed += bed->removed;
        bed_free(bed);
    }
    assert_true(removed > 1000); /* it was no empty exercise */
}

/* ---- What clients are answered ---- */

/* How many records of its own the reply has for the name, and their TTL: "= owner TTL type data".
 */
static size_t zone_model_count_answers(struct bed *bed, const char *name, const char *type,
                                       uint32_t *ret_ttl)
{
    CLEANUP_FREE char *question = xasprintf("%s %s tcp", name, type);
    char *text = xstrdup(fixture_ask(bed->fixture, question)), *rest = NULL;
    size_t count = 0;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char owner[DNAME_TEXT_MAX], rr_type[16];
        unsigned ttl_s;
        bool is_record = sscanf(line, "= %1000s %u %15s", owner, &ttl_s, rr_type) == 3;
        if (is_record && strcmp(rr_type, type) == 0 && strcmp(owner, name) == 0) {
            *ret_ttl = ttl_s;
            count++;
        }
    }
    free(text);
    return count;
}

static const struct {
    const char *text;
    uint16_t type;
} types[] = {{"A", 1},    {"AAAA", 28}, {"SRV", 33},  {"MX", 15},
             {"TXT", 16}, {"NS", 2},    {"CNAME", 5}, {"PTR", 12}};

/* Checks that the zone has as many records of each type as a client gets, but of an alias only the
 * CNAME. */
static void check_name(struct bed *bed, const struct dname *name, const struct zone_rrs *rrs)
{
    char text[DNAME_TEXT_MAX];
    size_t of_type[sizeof(types) / sizeof(types[0])] = {0}, all = 0;
    uint32_t ttls[sizeof(types) / sizeof(types[0])] = {0};
    for (size_t i = 0; i < rrs->count; i++) {
        struct slice bytes = zone_rrs_get(rrs, i);
        struct reader r = reader_of(bytes.ptr, bytes.len);
        struct zone_rr rr;
        assert_true(zone_rr_read(&r, &rr));
        for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
            bool is_type = types[t].type == rr.type;
            of_type[t] += is_type;
            ttls[t] = is_type ? rr.ttl_s : ttls[t];
            all += is_type;
        }
    }
    assert_int_equal(all, rrs->count);
    (void)dname_to_text(name, text);
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
        uint32_t ttl_s = 0;
        assert_int_equal(of_type[t], zone_model_count_answers(bed, text, types[t].text, &ttl_s));
        assert_int_equal(ttls[t], ttl_s);
    }
}

UNIT_TEST(test_answers)
{
    for (unsigned seed = 0; seed < STORES; seed++) {
        struct bed *bed = bed_new(seed);
        struct zone_rrs rrs;
        zone_rrs_init(&rrs);
        const struct store *store = bed->fixture->store = bed->versions[random_below(VERSIONS)];
        for (unsigned i = 0; i < APEXES; i++) {
            struct dname apex = dname_from(apexes[i]), name;
            struct zone_names at;
            zone_names_begin(&at, &apex);
            while (zone_names_next(&at, &bed->fixture->config, store, &name)) {
                assert_true(zone_answers_of(bed->answers, store, &name, &rrs));
                check_name(bed, &name, &rrs);
            }
        }
        zone_rrs_fini(&rrs);
        bed_free(bed);
    }
}

/* ---- Single cases ---- */

static const struct store *zone_model_commit(struct bed *bed, unsigned i,
                                             const struct fixture_key *keys, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        struct dname name = dname_from(keys[k].key);
        const struct record view = {
            .host = slice_str(keys[k].value), .text = slice_str(""), .group = slice_str("")};
        (void)store_writer_put_view(bed->fixture->writer, &name, &view, ++bed->revision);
    }
    store_garbage_free(bed->garbage[i]);
    return bed->versions[i] =
               store_writer_commit(bed->fixture->writer, ++bed->revision, &bed->garbage[i]);
}

static struct bed *bed_empty(void)
{
    struct bed *bed = xcalloc(1, sizeof(*bed));
    bed->fixture = fixture_new(NULL, 0);
    zone_model_configure(&bed->fixture->config);
    bed->answers = zone_answers_new(&bed->fixture->config);
    return bed;
}

/* An endpoint that is a host name beside one that is an address: with -schema=kubernetes, the
 * service has nothing of that name, and no difference when it changes. */
UNIT_TEST(test_answers_follow_nothing)
{
    struct bed *bed = bed_empty();
    const struct dname apex = dname_from("cluster.local.");
    const struct fixture_key before[] = {
        {"a.web.default.svc.cluster.local.", "10.0.0.1"},
        {"b.web.default.svc.cluster.local.", "db.other.svc.cluster.local"},
        {"db.other.svc.cluster.local.", "10.0.0.2"}};
    const struct fixture_key after[] = {{"db.other.svc.cluster.local.", "10.0.0.3"}};
    (void)zone_model_commit(bed, 0, before, 3);
    (void)zone_model_commit(bed, 1, after, 1);
    check_diff(bed, &apex, 0, 1);
    assert_int_equal(bed->removed, 1); /* db's address */
    bed_free(bed);
}

/* The name server without keys, and a domain that is known to lack records. */
UNIT_TEST(test_own_address_and_not_ready)
{
    struct bed *bed = bed_empty();
    const struct dname ns = dname_from("ns.dns.cluster.local.");
    const struct fixture_key key = {"db.other.svc.cluster.local.", "10.0.0.2"};
    const struct store *store = zone_model_commit(bed, 0, &key, 1);
    struct zone_rrs rrs;
    zone_rrs_init(&rrs);
    assert_true(zone_answers_of(bed->answers, store, &ns, &rrs));
    assert_int_equal(rrs.count, 1);
    struct slice bytes = zone_rrs_get(&rrs, 0);
    struct reader r = reader_of(bytes.ptr, bytes.len);
    struct zone_rr rr;
    assert_true(zone_rr_read(&r, &rr));
    assert_int_equal(rr.type, 1);
    assert_int_equal(rr.data.len, 0);

    struct engine_config lacking = bed->fixture->config;
    const struct dname absent = dname_from("nobody.other.svc.cluster.local.");
    lacking.zones[0].is_incomplete = true;
    zone_answers_configure(bed->answers, &lacking);
    assert_false(zone_answers_of(bed->answers, store, &absent, &rrs));
    zone_rrs_fini(&rrs);
    bed_free(bed);
}
