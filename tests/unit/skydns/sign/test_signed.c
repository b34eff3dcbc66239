/* Signed replies as a validator sees them: every name and type of a small cluster, by both schemas,
 * over UDP and TCP; without DO, the bytes that there are without keys. */
#include "skydns/dnssec/dnssec.h"
#include "skydns/external/zone_table.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/skydns/sample_keys.h"
#include "tests/support/skydns/signed_check.h"
#include "tests/support/unit_test.h"

static const struct fixture_key keys[] = {
    {"local/cluster/svc/default/web", "{'host':'10.0.0.1','ttl':30}"},
    {"local/cluster/svc/default/web/_tcp/_http/a",
     "{'host':'web.default.svc.cluster.local','port':80}"},
    {"local/cluster/svc/default/db/a", "{'host':'10.0.0.2'}"},
    {"local/cluster/svc/default/db/b", "{'host':'10.0.0.3','ttl':20}"},
    {"local/cluster/svc/default/db/c", "{'host':'fd00::3'}"},
    {"local/cluster/svc/default/db/_tcp/_pg/a",
     "{'host':'a.db.default.svc.cluster.local','port':5432}"},
    {"local/cluster/svc/default/db/_tcp/_pg/b",
     "{'host':'b.db.default.svc.cluster.local','port':5432}"},
    {"local/cluster/svc/default/alias", "{'host':'Web.default.svc.cluster.local'}"},
    {"local/cluster/svc/default/gone", "{'host':'nothing.default.svc.cluster.local'}"},
    {"local/cluster/svc/default/two", "{'host':'alias.default.svc.cluster.local'}"},
    {"local/cluster/svc/default/out", "{'host':'www.example.com'}"},
    {"local/cluster/svc/default/child", "{'host':'x.sub.cluster.local'}"},
    {"local/cluster/svc/default/bare", "{'host':'y.plain.cluster.local'}"},
    {"local/cluster/svc/other/mail/a", "{'host':'10.0.0.9','mail':true,'text':'hello'}"},
    {"local/cluster/svc/other/deep/q/w/e", "{'host':'10.0.0.10'}"},
    {"local/cluster/sub/x", "{'host':'10.1.0.1'}"},
    {"local/cluster/plain/y", "{'host':'10.1.0.2'}"},
    {"arpa/in-addr/10/0/0/1", "{'host':'Web.default.svc.cluster.local'}"},
    {"arpa/in-addr/192/168/0/1", "{'host':'web.default.svc.cluster.local'}"},
};

/* The name just before a wildcard. */
#define EIGHT       "\\255\\255\\255\\255\\255\\255\\255\\255"
#define BEFORE_STAR "\\)" EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT "\\255\\255\\255\\255\\255\\255"

static const char *const names[] = {
    "cluster.local.",
    "svc.cluster.local.",
    "default.svc.cluster.local.",
    "web.default.svc.cluster.local.",
    "WEB.default.SVC.cluster.local.",
    "_tcp.web.default.svc.cluster.local.",
    "_http._tcp.web.default.svc.cluster.local.",
    "db.default.svc.cluster.local.",
    "a.db.default.svc.cluster.local.",
    "_pg._tcp.db.default.svc.cluster.local.",
    "alias.default.svc.cluster.local.",
    "gone.default.svc.cluster.local.",
    "two.default.svc.cluster.local.",
    "child.default.svc.cluster.local.",
    "bare.default.svc.cluster.local.",
    "mail.other.svc.cluster.local.",
    "e.w.q.deep.other.svc.cluster.local.",
    "w.q.deep.other.svc.cluster.local.",
    "nope.cluster.local.",
    "x.y.z.nope.cluster.local.",
    "nope.default.svc.cluster.local.",
    "a.b.c.d.e.f.web.default.svc.cluster.local.",
    "\\000.default.svc.cluster.local.",
    "web\\000.default.svc.cluster.local.",
    "*.default.svc.cluster.local.",
    "any.nope.svc.cluster.local.",
    BEFORE_STAR ".default.svc.cluster.local.", /* its proof's bounds are each other's names */
    "*\\000.default.svc.cluster.local.",
    "*.cluster.local.",
    "+.cluster.local.",
    "pod.cluster.local.",
    "1-2-3-4.default.pod.cluster.local.",
    "sub.cluster.local.",
    "x.sub.cluster.local.",
    "no.sub.cluster.local.",
    "plain.cluster.local.",
    "y.plain.cluster.local.",
    "no.plain.cluster.local.",
    "ns.dns.cluster.local.",
    "dns.cluster.local.",
    "local.dns.cluster.local.",
    "dns-version.cluster.local.",
    "stub.cluster.local.",
    "10.in-addr.arpa.",
    "0.0.10.in-addr.arpa.",
    "1.0.0.10.in-addr.arpa.",
    "2.0.0.10.in-addr.arpa.",
    "x.1.0.0.10.in-addr.arpa.",
    "1.0.168.192.in-addr.arpa.",
};

static const char *const types[] = {
    "A",      "AAAA", "SRV",   "MX",  "TXT", "NS",     "CNAME", "PTR",     "SOA",    "HINFO",
    "TYPE65", "NSEC", "RRSIG", "ANY", "DS",  "DNSKEY", "CDS",   "CDNSKEY", "TYPE10",
};

/* ---- Keys ---- */

/* A key of a sample's data, for another zone. */
static struct signing_key *signed_new_key(const char *owner, bool is_sep,
                                          enum sample_key_name sample)
{
    struct signing_key *key = NULL;
    struct err err;
    const char *data = strstr(sample_keys[sample].public_text, "DNSKEY");
    assert_non_null(data);
    CLEANUP_FREE char *text =
        xasprintf("%s IN DNSKEY %u %s", owner, is_sep ? 257U : 256U, data + strlen("DNSKEY 257 "));
    assert_that(signing_key_parse(slice_str(text), slice_str(sample_keys[sample].private_text),
                                  &key, &err) == 0,
                "%s: %s", text, err.msg);
    return key;
}

struct bed {
    struct fixture *f;
    struct dnssec *dnssec;
    struct zone_table *zones;
    struct signed_check check;
    struct dname existing[ARRAY_LEN(names)];
};

static void signed_add_key(struct bed *bed, struct signing_key *key)
{
    bed->check.keys[bed->check.key_count++] = key;
}

static void signed_use_keys(struct bed *bed)
{
    struct err err;
    assert_that(dnssec_new(bed->check.keys, bed->check.key_count, 10000, &bed->dnssec, &err) == 0,
                "%s", err.msg);
    bed->f->config.dnssec = bed->dnssec;
}

static struct bed *new_bed(enum engine_schema schema)
{
    struct bed *bed = xcalloc(1, sizeof(*bed));
    struct err err;
    struct fixture *f = bed->f = fixture_new(keys, ARRAY_LEN(keys));
    fixture_domain(f, "sub.cluster.local.");
    fixture_domain(f, "plain.cluster.local.");
    f->config.settings.schema = schema;
    f->config.settings.any_is_hinfo = true;
    assert_int_equal(
        network_parse(slice_str("10.0.0.0/8"), &f->config.settings.reverse_zones[0], &err), 0);
    f->config.settings.reverse_zone_count = 1;
    struct forward_zone *stub = xcalloc(2, sizeof(*stub));
    stub[0].name = dname_from("stub.cluster.local.");
    stub[1].name = dname_from(".");
    bed->zones = zone_table_new(stub, 2, NULL);
    free(stub);
    f->config.zones_of_others = bed->zones;
    fixture_ask(f, "cluster.local. SOA");
    signed_add_key(bed, signed_new_key("cluster.local.", true, SAMPLE_ED25519));
    signed_add_key(bed, signed_new_key("cluster.local.", false, SAMPLE_ECDSAP256_ZSK));
    signed_add_key(bed, signed_new_key("sub.cluster.local.", true, SAMPLE_LDNS_ED25519));
    signed_add_key(bed, signed_new_key("10.in-addr.arpa.", false, SAMPLE_ED25519));
    bed->check.unsigned_zones[0] = "plain.cluster.local.";
    bed->check.unsigned_zones[1] = "stub.cluster.local.";
    bed->check.unsigned_count = 2;
    bed->check.now_s = FIXTURE_NOW_S;
    return bed;
}

static void free_bed(struct bed *bed)
{
    fixture_free(bed->f);
    dnssec_unref(bed->dnssec);
    zone_table_unref(bed->zones);
    free(bed);
}

UNIT_FIXTURE_MADE(new_bed(ENGINE_SCHEMA_KUBERNETES), free_bed)

/* Names that the engine without DO says exist. */
static void find_existing(struct bed *bed)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char question[300];
        (void)snprintf(question, sizeof(question), "%s CNAME", names[i]);
        const char *got = fixture_ask(bed->f, question);
        if (strncmp(got, "NOERROR", 7) == 0 && !strchr(names[i], '*') &&
            strncmp(names[i], "any.", 4) != 0) {
            struct dname *name = &bed->existing[bed->check.name_count++];
            *name = dname_from(names[i]);
            dname_lower(name);
        }
    }
    bed->check.names = bed->existing;
}

/* ---- Sweeps ---- */

static bool is_key_type(const char *type)
{
    return strcmp(type, "DNSKEY") == 0 || strcmp(type, "CDS") == 0 || strcmp(type, "CDNSKEY") == 0;
}

struct plain {
    enum engine_verdict verdict;
    size_t len;
    uint8_t bytes[ENGINE_REPLY_MAX];
};

static void signed_keep(const struct fixture *f, struct plain *plain)
{
    plain->verdict = f->verdict;
    plain->len = f->verdict == ENGINE_REPLY ? f->reply_len : 0;
    memcpy(plain->bytes, f->reply, plain->len);
}

static void want_same(const struct fixture *f, const struct plain *plain, const char *question)
{
    if (f->verdict != plain->verdict ||
        (f->verdict == ENGINE_REPLY &&
         (f->reply_len != plain->len || memcmp(f->reply, plain->bytes, plain->len) != 0))) {
        char *text = xcalloc(1, DNS_TEXT_MAX);
        fail_msg("%s: another reply:\n%s\nthan:\n%s", question, f->text,
                 dns_text(plain->bytes, plain->len, text, DNS_TEXT_MAX));
    }
}

static void want_signed(struct bed *bed, const char *question)
{
    struct fixture *f = bed->f;
    const char *text = fixture_ask(f, question);
    const char *error =
        f->verdict == ENGINE_REPLY ? signed_check(&bed->check, f->reply, f->reply_len) : NULL;
    assert_that(!error && strncmp(text, "malformed", 9) != 0, "%s: %s\n%s", question, error, text);
}

/* One question in all ways. */
static void try_question(struct bed *bed, const char *name, const char *type, const char *how)
{
    static struct plain plain;
    struct fixture *f = bed->f;
    char question[400];
    (void)snprintf(question, sizeof(question), "%s %s %s", name, type, how);
    f->may_sign = false;
    f->config.dnssec = NULL;
    fixture_ask(f, question);
    signed_keep(f, &plain);
    f->config.dnssec = bed->dnssec;
    fixture_ask(f, question);
    if (!is_key_type(type)) {
        want_same(f, &plain, question);
    }
    (void)snprintf(question, sizeof(question), "%s %s %s do", name, type, how);
    const char *first = fixture_ask(f, question);
    bool was_missing = f->verdict == ENGINE_DEFER && strcmp(first, "sign") == 0;
    f->may_sign = true;
    want_signed(bed, question);
    assert_true(f->verdict == ENGINE_REPLY || !was_missing);
    signed_keep(f, &plain);
    f->may_sign = false;
    fixture_ask(f, question);
    want_same(f, &plain, question);
    (void)snprintf(question, sizeof(question), "%s %s %s do subnet", name, type, how);
    fixture_ask(f, question); /* not the fast path */
    want_same(f, &plain, question);
}

static void signed_sweep(enum engine_schema schema)
{
    static const char *const ways[] = {"edns=1232", "edns=512", "edns=700 tcp"};
    struct bed *bed = new_bed(schema);
    find_existing(bed);
    signed_use_keys(bed);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        for (size_t j = 0; j < ARRAY_LEN(types); j++) {
            for (size_t k = 0; k < ARRAY_LEN(ways); k++) {
                try_question(bed, names[i], types[j], ways[k]);
            }
        }
    }
    free_bed(bed);
}

UNIT_TEST(skydns)
{
    signed_sweep(ENGINE_SCHEMA_SKYDNS);
}

UNIT_TEST(kubernetes)
{
    signed_sweep(ENGINE_SCHEMA_KUBERNETES);
}

/* ---- Sizes ---- */

/* `count` endpoints at many.default, each of a named port, too. */
static void signed_put_many(struct fixture *f, unsigned count)
{
    CLEANUP_FREE struct fixture_key *many = xcalloc((size_t)count * 2, sizeof(*many));
    for (unsigned i = 0; i < count; i++) {
        many[2 * i].key = xasprintf("local/cluster/svc/default/many/h%u", i);
        many[2 * i].value = xasprintf("{'host':'10.2.%u.%u'}", i / 256, i % 256);
        many[2 * i + 1].key = xasprintf("local/cluster/svc/default/many/_tcp/_p/h%u", i);
        many[2 * i + 1].value =
            xasprintf("{'host':'h%u.many.default.svc.cluster.local','port':1}", i);
    }
    fixture_put(f, many, (size_t)count * 2);
    for (unsigned i = 0; i < 2 * count; i++) {
        free((void *)(uintptr_t)many[i].key);
        free((void *)(uintptr_t)many[i].value);
    }
}

static unsigned signed_count_of(const char *text, const char *mark)
{
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, mark)); at++) {
        n++;
    }
    return n;
}

/* Whatever the size, a reply is whole, without additional records, or empty. */
UNIT_TEST_ON(limits, struct bed *bed)
{
    static const char *const questions[] = {
        "_p._tcp.many.default.svc.cluster.local. SRV", "many.default.svc.cluster.local. A",
        "two.default.svc.cluster.local. AAAA", "nope.default.svc.cluster.local. A",
        "x.y.z.nope.cluster.local. TXT"};
    struct fixture *f = bed->f;
    unsigned whole = 0, without = 0, cut = 0;
    signed_put_many(f, 3);
    find_existing(bed);
    signed_use_keys(bed);
    f->may_sign = true;
    for (size_t i = 0; i < ARRAY_LEN(questions); i++) {
        for (unsigned size = 512; size <= 1240; size++) {
            char question[200];
            (void)snprintf(question, sizeof(question), "%s edns=%u do", questions[i], size);
            want_signed(bed, question);
            assert_true(f->reply_len <= size && f->verdict == ENGINE_REPLY);
            bool is_cut = strstr(f->text, " tc") != NULL;
            bool is_empty = !strstr(f->text, "\n=") && !strstr(f->text, "\n!");
            assert_true(is_cut == is_empty && (!is_cut || !strstr(f->text, "\n+")));
            whole += strstr(f->text, "\n+") != NULL;
            without += !is_cut;
            cut += is_cut;
        }
    }
    assert_true(whole > 0 && without > whole && cut > 0);
}

/* Over TCP: all that validators verify in good time, else no additional records, else a part
 * without signatures, and TC. */
UNIT_TEST_ON(large, struct bed *bed)
{
    struct fixture *f = bed->f;
    signed_use_keys(bed);
    f->may_sign = f->may_scan = true;
    signed_put_many(f, 12);
    want_signed(bed, "_p._tcp.many.default.svc.cluster.local. SRV edns=1232 do tcp");
    assert_int_equal(signed_count_of(f->text, " SRV 10 "), 12);
    assert_int_equal(signed_count_of(f->text, " RRSIG A "), 12);
    signed_put_many(f, 13);
    want_signed(bed, "_p._tcp.many.default.svc.cluster.local. SRV edns=1232 do tcp");
    assert_int_equal(signed_count_of(f->text, " SRV "),
                     14); /* and the type that the RRSIG covers */
    assert_int_equal(signed_count_of(f->text, "\n+"), 0);
    signed_put_many(f, 700);
    want_signed(bed, "_p._tcp.many.default.svc.cluster.local. SRV edns=1232 do tcp");
    assert_int_equal(signed_count_of(f->text, " SRV 10 "), 700);
    assert_int_equal(signed_count_of(f->text, "\n+"), 0);
    want_signed(bed, "many.default.svc.cluster.local. A edns=1232 do tcp");
    assert_int_equal(signed_count_of(f->text, " A 10.2."), 700);
    signed_put_many(f, 1200);
    want_signed(bed, "many.default.svc.cluster.local. A edns=1232 do tcp");
    assert_int_equal(signed_count_of(f->text, " A 10.2."), 1200);
}

/* More than validators can verify, and more than a message holds: a choice, signed, without TC, for
 * which there would be no larger message. */
UNIT_TEST_ON(choices, struct bed *bed)
{
    static const char *const questions[] = {
        "_p._tcp.many.default.svc.cluster.local. SRV edns=1232 do tcp",
        "many.default.svc.cluster.local. A edns=1232 do tcp",
        "to-many.default.svc.cluster.local. A edns=1232 do tcp"};
    struct fixture *f = bed->f;
    signed_put_many(f, 5000);
    fixture_put(f,
                &(struct fixture_key){"local/cluster/svc/default/to-many",
                                      "{'host':'many.default.svc.cluster.local'}"},
                1);
    signed_use_keys(bed);
    f->may_sign = f->may_scan = true;
    for (size_t i = 0; i < ARRAY_LEN(questions); i++) {
        want_signed(bed, questions[i]);
        assert_int_equal(strncmp(f->text, "NOERROR qr aa rd ra", 19), 0);
        const bool is_srv = strstr(questions[i], " SRV ") != NULL;
        const unsigned count = signed_count_of(f->text, is_srv ? " SRV 10 " : " A 10.2.");
        /* The owner, numbers and data of each: 37 + 10 + 6 + 38 bytes at most, and 32 + 10 + 4. */
        assert_in_range(count, is_srv ? 680 : 1400, is_srv ? 720 : 1460);
        assert_int_equal(signed_count_of(f->text, " RRSIG "), i == 2 ? 2 : 1);
    }
    fixture_ask(f, "many.default.svc.cluster.local. A edns=1232 do");
    assert_int_equal(strncmp(f->text, "NOERROR qr aa tc rd ra", 22), 0);
}

/* CNAMEs to what answers questions for itself alone: they are signed, and their end is not denied.
 */
UNIT_TEST_ON(open_ends, struct bed *bed)
{
    static const struct fixture_key aliases[] = {
        {"local/cluster/svc/default/to-top", "{'host':'cluster.local'}"},
        {"local/cluster/svc/default/to-sub", "{'host':'sub.cluster.local'}"},
        {"local/cluster/svc/default/to-plain", "{'host':'plain.cluster.local'}"},
        {"local/cluster/svc/default/to-local", "{'host':'local.dns.cluster.local'}"},
    };
    static const char *const open[] = {
        "to-top.default.svc.cluster.local. DNSKEY",   "to-top.default.svc.cluster.local. CDS",
        "to-top.default.svc.cluster.local. CDNSKEY",  "to-top.default.svc.cluster.local. DS",
        "to-sub.default.svc.cluster.local. DNSKEY",   "to-sub.default.svc.cluster.local. DS",
        "to-plain.default.svc.cluster.local. DS",     "to-local.default.svc.cluster.local. A",
        "to-local.default.svc.cluster.local. TYPE65",
    };
    struct fixture *f = bed->f;
    fixture_put(f, aliases, ARRAY_LEN(aliases));
    f->config.settings.local = dname_from("web.default.svc.cluster.local.");
    signed_use_keys(bed);
    f->may_sign = true;
    for (size_t i = 0; i < ARRAY_LEN(open); i++) {
        char question[200];
        (void)snprintf(question, sizeof(question), "%s edns=1232 do", open[i]);
        bed->check.may_be_open = true;
        want_signed(bed, question);
        if (strncmp(f->text, "NOERROR", 7) != 0 || strstr(f->text, "\n!") ||
            signed_count_of(f->text, " CNAME ") != 2) { /* it, and in its signature */
            fail_msg("%s:\n%s", question, f->text);
        }
    }
    bed->check.may_be_open = false;
    want_signed(bed, "to-sub.default.svc.cluster.local. TXT edns=1232 do");
    assert_int_equal(signed_count_of(f->text, "NSEC"), 2); /* it and its signature */
}

/* The eighth alias of a chain is the last one that is followed; what its target lacks is denied. */
UNIT_TEST_ON(longest_chain, struct bed *bed)
{
    struct fixture *f = bed->f;
    for (int i = 0; i < 8; i++) {
        char key[60], value[80];
        (void)snprintf(key, sizeof(key), "local/cluster/svc/default/link-%d", i);
        (void)snprintf(value, sizeof(value), "{'host':'%s%d.default.svc.cluster.local'}",
                       i < 7 ? "link-" : "last-", i + 1);
        fixture_put(f, &(struct fixture_key){key, value}, 1);
    }
    fixture_put(
        f, &(struct fixture_key){"local/cluster/svc/default/last-8/x", "{'host':'10.0.0.8'}"}, 1);
    signed_use_keys(bed);
    f->may_sign = true;
    want_signed(bed, "link-0.default.svc.cluster.local. A edns=1232 do tcp");
    assert_int_equal(signed_count_of(f->text, " A 10.0.0.8"), 1);
    want_signed(bed, "link-0.default.svc.cluster.local. AAAA edns=1232 do tcp");
    assert_int_equal(signed_count_of(f->text, " NSEC "), 2); /* it and its signature */
}
