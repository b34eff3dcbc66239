/* Keys by zone, canonical order, and signatures: their fields, when they are given again, made anew
 * or missing, and which keys make them. */
#include <pthread.h>

#include "common/base/clock.h"
#include "common/dns/dns.h"
#include "skydns/dnssec/dnssec.h"
#include "tests/support/from_text.h"
#include "tests/support/log_capture.h"
#include "tests/support/skydns/rrsig_check.h"
#include "tests/support/skydns/sample_keys.h"
#include "tests/support/unit_test.h"

CLEANUP_POINTER(dnssec_unref, struct dnssec)

UNIT_TESTS_HAVE_THREADS

enum { NOW_S = 1800000000 };

static struct dnssec_signature signatures[DNSSEC_ZONE_KEYS_MAX];
static size_t count;

static struct dnssec *dnssec_with(const enum sample_key_name *names, size_t key_count,
                                  size_t signatures_max)
{
    struct signing_key *keys[DNSSEC_KEYS_MAX];
    struct dnssec *dnssec = NULL;
    for (size_t i = 0; i < key_count; i++) {
        keys[i] = sample_key_new(names[i]);
    }
    assert_int_equal(dnssec_new(keys, key_count, signatures_max, &dnssec, NULL), 0);
    return dnssec;
}

static struct dnssec *dnssec_of(enum sample_key_name name)
{
    return dnssec_with(&name, 1, 100);
}

/* Signs one address of a name. */
static enum dnssec_outcome sign_one_record(struct dnssec *dnssec, const char *owner, uint16_t type,
                                           uint32_t ttl_s, const char *data, int64_t now_s,
                                           bool may_make)
{
    struct dname name = dname_from(owner);
    struct slice rdata = slice_str(data);
    const struct dnssec_zone *zone = dnssec_zone_of(dnssec, &name);
    const struct dnssec_rrset rrset = {slice_of(name.wire, name.len), type, ttl_s, 1, &rdata};
    enum dnssec_outcome outcome =
        dnssec_sign(dnssec, zone, &rrset, now_s, may_make, signatures, &count);
    for (size_t i = 0, k = 0; outcome == DNSSEC_SIGNED && i < count; i++, k++) {
        const struct rrsig_records records = {rrset.owner, type, ttl_s, 1, &rdata};
        while (zone->keys[k]->tag != (signatures[i].rdata[16] << 8 | signatures[i].rdata[17])) {
            k++;
            assert_true(k < zone->key_count);
        }
        assert_null(rrsig_fault(slice_of(signatures[i].rdata, signatures[i].len),
                                slice_of(zone->keys[k]->rdata, zone->keys[k]->rdata_len),
                                slice_of(zone->name.wire, zone->name.len), &records, now_s));
    }
    return outcome;
}

static enum dnssec_outcome sign_a(struct dnssec *dnssec, int64_t now_s, bool may_make)
{
    return sign_one_record(dnssec, "a.cluster.local", DNS_TYPE_A, 30, "\012\1\1\1", now_s,
                           may_make);
}

static uint32_t dnssec_sign_field(size_t at)
{
    const uint8_t *p = signatures[0].rdata + at;
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

enum { AT_LABELS = 3, AT_TTL = 4, AT_END = 8, AT_BEGIN = 12 };

/* ---- Zones ---- */

UNIT_TEST(test_zones)
{
    const enum sample_key_name names[] = {SAMPLE_RSASHA512, SAMPLE_LDNS_RSASHA512,
                                          SAMPLE_ECDSAP256_ZSK, SAMPLE_ECDSAP256_KSK,
                                          SAMPLE_ED25519};
    struct dnssec *dnssec = dnssec_with(names, 5, 1);
    assert_int_equal(dnssec_zone_count(dnssec), 3);
    for (size_t i = 1; i < 3; i++) {
        assert_true(dnssec_zone_at(dnssec, i - 1)->labels >= dnssec_zone_at(dnssec, i)->labels);
    }
    struct dname name = dname_from("a.b.cluster.local"), other = dname_from("notcluster.local");
    const struct dnssec_zone *zone = dnssec_zone_of(dnssec, &name);
    assert_int_equal(zone->key_count, 3);
    assert_true(zone->has_both);
    assert_int_equal(zone->dnskey.count, 3);
    assert_int_equal(zone->dnskey.ttl_s, 300); /* the smallest of 300 and 3600 */
    assert_int_equal(zone->cds.count, 1);
    assert_int_equal(zone->cds.ttl_s, 0); /* the SEP key's file has none */
    assert_int_equal(zone->cdnskey.count, 1);
    assert_int_equal(zone->ds.rdata[0].len, SIGNING_KEY_DS_SIZE);
    for (size_t i = 1; i < 3; i++) {
        assert_true(slice_compare(zone->dnskey.rdata[i - 1], zone->dnskey.rdata[i]) < 0);
    }
    assert_null(dnssec_zone_of(dnssec, &other));
    dnssec_unref(dnssec_ref(dnssec));
    dnssec_unref(dnssec);
    dnssec_unref(NULL);
}

/* On failure the keys stay the caller's. */
UNIT_TEST(test_refused_keys)
{
    struct signing_key *keys[DNSSEC_KEYS_MAX + 1];
    struct dnssec *dnssec = NULL;
    struct err err = {0};
    for (size_t i = 0; i <= DNSSEC_KEYS_MAX; i++) {
        keys[i] = sample_key_new(SAMPLE_ED25519);
        keys[i]->rdata[10] = (uint8_t)i;
    }
    assert_int_equal(dnssec_new(keys, DNSSEC_KEYS_MAX + 1, 1, &dnssec, &err), ERR_USAGE);
    assert_string_equal(err.msg, "more than 64 keys");
    assert_int_equal(dnssec_new(keys, DNSSEC_ZONE_KEYS_MAX + 1, 1, &dnssec, &err), ERR_USAGE);
    assert_string_equal(err.msg, "cluster.local. has more than 8 keys");
    keys[1]->rdata[10] = 0;
    assert_int_equal(dnssec_new(keys, 2, 1, &dnssec, &err), ERR_USAGE);
    assert_non_null(strstr(err.msg, " of cluster.local. is given twice"));
    for (size_t i = 0; i <= DNSSEC_KEYS_MAX; i++) {
        signing_key_free(keys[i]);
    }
}

/* ---- Order ---- */

UNIT_TEST(test_sort)
{
    struct slice items[] = {slice_str("b"), slice_str("\377"), slice_of("a\0", 2), slice_str("a"),
                            slice_str("b"), slice_of("", 0),   slice_of(NULL, 0)};
    assert_int_equal(dnssec_sort(items, 7), 5);
    assert_int_equal(items[0].len, 0);
    assert_true(slice_equal(items[1], slice_str("a")));
    assert_true(slice_equal(items[2], slice_of("a\0", 2)));
    assert_true(slice_equal(items[4], slice_str("\377")));
    assert_int_equal(dnssec_sort(items, 0), 0);
}

UNIT_TEST(test_sort_many)
{
    enum { MANY = 20000 };
    static uint32_t numbers[MANY];
    static struct slice items[MANY];
    for (uint32_t i = 0; i < MANY; i++) {
        numbers[i] = __builtin_bswap32(i * 2654435761u % 15000);
        items[i] = slice_of(&numbers[i], 4);
    }
    size_t cached = dnssec_sort(items, MANY);
    assert_true(cached <= 15000);
    for (size_t i = 1; i < cached; i++) {
        assert_true(slice_compare(items[i - 1], items[i]) < 0);
    }
}

/* ---- Signatures ---- */

UNIT_TEST(test_fields)
{
    CLEANUP(dnssec_unref_of) struct dnssec *dnssec = dnssec_of(SAMPLE_ECDSAP256_KSK);
    assert_int_equal(sign_a(dnssec, NOW_S, true), DNSSEC_SIGNED);
    assert_int_equal(count, 1);
    assert_int_equal(signatures[0].rdata[AT_LABELS], 3);
    assert_int_equal(dnssec_sign_field(AT_TTL), 30);
    assert_int_equal(dnssec_sign_field(AT_BEGIN), NOW_S - 3 * 3600);
    assert_int_equal(dnssec_sign_field(AT_END), NOW_S + 7 * 86400);
    assert_int_equal(
        sign_one_record(dnssec, "*.cluster.local", DNS_TYPE_TXT, 0, "\1a", NOW_S, true),
        DNSSEC_SIGNED);
    assert_int_equal(signatures[0].rdata[AT_LABELS], 2);
    assert_int_equal(
        sign_one_record(dnssec, "a.*.cluster.local", DNS_TYPE_TXT, 0, "\1a", NOW_S, true),
        DNSSEC_SIGNED);
    assert_int_equal(signatures[0].rdata[AT_LABELS], 4);
}

/* Serial numbers: RFC 4034 3.1.5. Beyond 2106, and around it. */
UNIT_TEST(test_far_times)
{
    const int64_t times[] = {0, INT64_C(2147483648), INT64_C(4294967296) - 5, INT64_C(5000000000)};
    CLEANUP(dnssec_unref_of) struct dnssec *dnssec = dnssec_of(SAMPLE_ED25519);
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        assert_int_equal(sign_a(dnssec, times[i], false), DNSSEC_MISSING);
        assert_int_equal(sign_a(dnssec, times[i], true), DNSSEC_SIGNED);
        assert_int_equal(dnssec_sign_field(AT_END), (uint32_t)(times[i] + DNSSEC_ENDS_S));
        assert_int_equal(sign_a(dnssec, times[i] + 1, false), DNSSEC_SIGNED);
    }
}

/* Any other content is another RRset. */
UNIT_TEST(test_contents)
{
    CLEANUP(dnssec_unref_of) struct dnssec *dnssec = dnssec_of(SAMPLE_ECDSAP256_KSK);
    assert_int_equal(sign_a(dnssec, NOW_S, false), DNSSEC_MISSING);
    assert_int_equal(sign_a(dnssec, NOW_S, true), DNSSEC_SIGNED);
    assert_int_equal(sign_a(dnssec, NOW_S, false), DNSSEC_SIGNED);
    assert_int_equal(
        sign_one_record(dnssec, "a.cluster.local", DNS_TYPE_A, 31, "\012\1\1\1", NOW_S, false),
        DNSSEC_MISSING);
    assert_int_equal(
        sign_one_record(dnssec, "a.cluster.local", DNS_TYPE_A, 30, "\012\1\1\2", NOW_S, false),
        DNSSEC_MISSING);
    assert_int_equal(
        sign_one_record(dnssec, "a.cluster.local", DNS_TYPE_TXT, 30, "\012\1\1\1", NOW_S, false),
        DNSSEC_MISSING);
    assert_int_equal(
        sign_one_record(dnssec, "b.cluster.local", DNS_TYPE_A, 30, "\012\1\1\1", NOW_S, false),
        DNSSEC_MISSING);
}

/* One that is to be renewed is missing for one asker at a time; the others have it for as long as
 * it is of use. */
UNIT_TEST(test_renewal)
{
    CLEANUP(dnssec_unref_of) struct dnssec *dnssec = dnssec_of(SAMPLE_ECDSAP256_KSK);
    const int64_t old_s = NOW_S + DNSSEC_RENEW_S;
    assert_int_equal(sign_a(dnssec, NOW_S, true), DNSSEC_SIGNED);
    assert_int_equal(sign_a(dnssec, old_s - 1, false), DNSSEC_SIGNED);
    assert_int_equal(sign_a(dnssec, old_s, false), DNSSEC_MISSING);
    assert_int_equal(sign_a(dnssec, old_s, false), DNSSEC_SIGNED);
    assert_int_equal(sign_a(dnssec, old_s + DNSSEC_RENEW_AGAIN_S - 1, false), DNSSEC_SIGNED);
    assert_int_equal(dnssec_sign_field(AT_END), NOW_S + DNSSEC_ENDS_S);
    assert_int_equal(sign_a(dnssec, old_s + DNSSEC_RENEW_AGAIN_S, false), DNSSEC_MISSING);
    assert_int_equal(sign_a(dnssec, NOW_S + DNSSEC_LAST_S, false), DNSSEC_MISSING);
    assert_int_equal(sign_a(dnssec, NOW_S + DNSSEC_LAST_S, false), DNSSEC_MISSING);
    assert_int_equal(sign_a(dnssec, old_s, true), DNSSEC_SIGNED);
    assert_int_equal(dnssec_sign_field(AT_END), (uint32_t)(old_s + DNSSEC_ENDS_S));
    assert_int_equal(sign_a(dnssec, old_s, false), DNSSEC_SIGNED);
    assert_int_equal(dnssec_sign_field(AT_END), (uint32_t)(old_s + DNSSEC_ENDS_S));
    assert_int_equal(dnssec_figures(dnssec).cached, 1);
}

/* A clock that went back: what is not valid yet is missing, and made anew. */
UNIT_TEST(test_clock_back)
{
    CLEANUP(dnssec_unref_of) struct dnssec *dnssec = dnssec_of(SAMPLE_ED25519);
    const int64_t begin_s = NOW_S - DNSSEC_BEGAN_S;
    assert_int_equal(sign_a(dnssec, NOW_S, true), DNSSEC_SIGNED);
    assert_int_equal(sign_a(dnssec, begin_s, false), DNSSEC_SIGNED);
    assert_int_equal(sign_a(dnssec, begin_s - 1, false), DNSSEC_MISSING);
    assert_int_equal(sign_a(dnssec, begin_s - 1, true), DNSSEC_SIGNED);
    assert_int_equal(dnssec_sign_field(AT_END), (uint32_t)(begin_s - 1 + DNSSEC_ENDS_S));
    assert_int_equal(sign_a(dnssec, NOW_S, false), DNSSEC_SIGNED);
}

static int64_t dnssec_sign_peek(const struct dnssec *dnssec, size_t key, uint16_t type)
{
    struct dname name = dname_from("cluster.local");
    struct slice rdata = slice_str("x");
    const struct dnssec_rrset rrset = {slice_of(name.wire, name.len), type, 30, 1, &rdata};
    return dnssec_peek(dnssec, dnssec_zone_of(dnssec, &name), key, &rrset);
}

/* Tests which keys sign what, with all combinations of kinds. */
UNIT_TEST(test_kinds)
{
    const enum sample_key_name both[] = {SAMPLE_ECDSAP256_KSK, SAMPLE_ED25519,
                                         SAMPLE_ECDSAP256_ZSK};
    const uint16_t types[] = {DNS_TYPE_DNSKEY, DNS_TYPE_CDS, DNS_TYPE_CDNSKEY};
    struct dnssec *dnssec = dnssec_with(both, 3, 100);
    assert_int_equal(dnssec_sign_peek(dnssec, 0, DNS_TYPE_A), -1);
    assert_int_equal(dnssec_sign_peek(dnssec, 1, DNS_TYPE_A), 0);
    assert_int_equal(sign_one_record(dnssec, "cluster.local", DNS_TYPE_A, 30, "x", NOW_S, true),
                     DNSSEC_SIGNED);
    assert_int_equal(count, 2);
    assert_int_equal(dnssec_sign_peek(dnssec, 1, DNS_TYPE_A), NOW_S + DNSSEC_ENDS_S);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(sign_one_record(dnssec, "cluster.local", types[i], 30, "x", NOW_S, true),
                         DNSSEC_SIGNED);
        assert_int_equal(count, 1);
        assert_int_equal(dnssec_sign_peek(dnssec, 1, types[i]), -1);
    }
    dnssec_unref(dnssec);
    const enum sample_key_name same[] = {SAMPLE_ECDSAP256_KSK, SAMPLE_ECDSAP384};
    dnssec = dnssec_with(same, 2, 100);
    assert_int_equal(sign_one_record(dnssec, "cluster.local", DNS_TYPE_A, 30, "x", NOW_S, true),
                     DNSSEC_SIGNED);
    assert_int_equal(count, 2);
    dnssec_unref(dnssec);
}

/* ---- Figures and failures ---- */

UNIT_TEST(test_figures)
{
    struct dnssec *dnssec = dnssec_of(SAMPLE_ECDSAP256_KSK);
    struct dnssec_figures before = dnssec_figures(NULL);
    int64_t now_s = clock_wall_s();
    assert_int_equal(before.cached_max, 0);
    assert_int_equal(sign_a(dnssec, now_s, true), DNSSEC_SIGNED);
    assert_int_equal(sign_a(dnssec, now_s, false), DNSSEC_SIGNED);
    assert_int_equal(sign_a(dnssec, now_s, false), DNSSEC_SIGNED);
    struct dnssec_figures after = dnssec_figures(dnssec);
    assert_int_equal(after.cached, 1);
    assert_int_equal(after.cached_max, 100);
    assert_int_equal(after.made - before.made, 1);
    assert_int_equal(after.reused - before.reused, 2);
    assert_int_equal(after.failed, before.failed);
    assert_true(after.made_us >= before.made_us);
    assert_int_equal(after.first_end_s, now_s + DNSSEC_ENDS_S);
    dnssec_unref(dnssec);
    assert_int_equal(dnssec_figures(NULL).made, after.made);
}

/* A failure to sign is logged once; the old signature stays while it is of use. */
UNIT_TEST(test_failure)
{
    struct signing_key *key = sample_key_new(SAMPLE_ECDSAP256_KSK);
    struct dnssec *dnssec = NULL;
    struct log_capture capture;
    uint64_t failed = dnssec_figures(NULL).failed;
    assert_int_equal(dnssec_new(&key, 1, 10, &dnssec, NULL), 0);
    assert_int_equal(sign_a(dnssec, NOW_S, true), DNSSEC_SIGNED);
    struct evp_md_ctx_st *signer = key->signer;
    key->signer = NULL; /* which libcrypto refuses */
    log_capture_begin(&capture);
    assert_int_equal(sign_a(dnssec, NOW_S + DNSSEC_RENEW_S, true), DNSSEC_SIGNED);
    assert_int_equal(dnssec_sign_field(AT_END), NOW_S + DNSSEC_ENDS_S);
    assert_int_equal(sign_a(dnssec, NOW_S + DNSSEC_LAST_S, true), DNSSEC_FAILED);
    const char *text = log_capture_end(&capture);
    assert_int_equal(log_occurrences(text, "a signature cannot be made zone=cluster.local."), 1);
    assert_int_equal(dnssec_figures(NULL).failed - failed, 2);
    key->signer = signer;
    assert_int_equal(sign_a(dnssec, NOW_S + DNSSEC_LAST_S, true), DNSSEC_SIGNED);
    dnssec_unref(dnssec);
}

/* ---- Threads ---- */

enum { THREADS = 4, NAMES = 40, ROUNDS = 5 };

static struct dnssec *shared;

/* All threads want the same signatures at the same time, of addresses that are their numbers. */
static void *sign_all(void *unused)
{
    CLEANUP_FREE struct dnssec_signature *given = malloc(DNSSEC_ZONE_KEYS_MAX * sizeof(*given));
    struct dname name = dname_from("cluster.local");
    const struct dnssec_zone *zone = dnssec_zone_of(shared, &name);
    for (uint32_t i = 0; given && i < ROUNDS * NAMES; i++) {
        uint32_t address = i % NAMES;
        struct slice rdata = slice_of(&address, sizeof(address));
        const struct dnssec_rrset rrset = {slice_of(zone->name.wire, zone->name.len), DNS_TYPE_A,
                                           30, 1, &rdata};
        const struct rrsig_records records = {rrset.owner, DNS_TYPE_A, 30, 1, &rdata};
        const struct signing_key *key = zone->keys[0];
        bool may_make = i < NAMES;
        size_t given_count;
        if (dnssec_sign(shared, zone, &rrset, NOW_S, may_make, given, &given_count) !=
                DNSSEC_SIGNED ||
            rrsig_fault(slice_of(given[0].rdata, given[0].len),
                        slice_of(key->rdata, key->rdata_len), rrset.owner, &records, NOW_S)) {
            abort();
        }
    }
    return NULL;
}

UNIT_TEST(test_threads)
{
    pthread_t threads[THREADS];
    shared = dnssec_of(SAMPLE_ECDSAP256_KSK);
    struct dnssec_figures before = dnssec_figures(NULL);
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, sign_all, NULL), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    struct dnssec_figures after = dnssec_figures(shared);
    assert_int_equal(after.made - before.made, NAMES); /* each once */
    assert_int_equal(after.reused - before.reused, THREADS * NAMES * ROUNDS - NAMES);
    dnssec_unref(shared);
}
