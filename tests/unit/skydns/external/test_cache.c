/* The response cache, rule by rule, each at its boundary. */
#include <unistd.h>

#include "tests/support/skydns/dns_text.h"
#include "tests/support/skydns/hash_seed.h"
#include "tests/support/skydns/response_bytes.h"
#include "tests/support/unit_test.h"
#include "tests/unit/skydns/external/cache_bed.h"

CLEANUP_POINTER(cache_unref, struct cache)

static const struct cache_limits day = {.ttl_max_s = 3600, .stale_ms = 24 * 3600 * 1000};
static const struct cache_limits strict = {.ttl_max_s = 3600};
static uint8_t records[65535];
static char text[DNS_TEXT_MAX];

static struct cache_hit cache_check(struct cache *cache, const struct cache_key *key,
                                    const struct cache_limits *limits, int64_t now_ms)
{
    struct cache_hit hit;
    cache_read(cache, key, limits, now_ms, CACHE_ANSWER, 0, records, sizeof(records), &hit);
    return hit;
}

static enum cache_verdict external_cache_put(struct cache *cache, const char *question,
                                             const char *given, int64_t now_ms)
{
    static struct external_reply reply;
    const struct cache_key key = others_key(question);
    const struct addr nameserver = external_nameserver();
    external_reply_make(&reply, given);
    return cache_put_bytes(cache, &key, reply.wire, reply.len, &nameserver, &day, now_ms);
}

/* "miss", "failed", or the reply. */
static const char *cache_get(struct cache *cache, const char *question, int64_t now_ms)
{
    const struct cache_key key = others_key(question);
    struct cache_hit hit = cache_check(cache, &key, &day, now_ms);
    if (hit.state == CACHE_MISS || hit.state == CACHE_FAILED) {
        return hit.state == CACHE_MISS ? "miss" : "failed";
    }
    return external_text(&key, &hit, records, text, sizeof(text));
}

UNIT_TESTS_ONCE(hash_seed, NULL)

/* Only the same name, type, class, DO, CD and nameservers find it. */
UNIT_TEST(test_key)
{
    CLEANUP(cache_unref_of) struct cache *cache = cache_new(10);
    struct cache_key key = others_key("a.test. A"), other;
    assert_int_equal(bed_put(cache, &key, 7, 1, 60, 0), CACHE_HIT);
    assert_int_equal(cache_check(cache, &key, &strict, 0).state, CACHE_FRESH);
    other = others_key("b.test. A");
    assert_int_equal(cache_check(cache, &other, &strict, 0).state, CACHE_MISS);
    other = others_key("a.test. AAAA");
    assert_int_equal(cache_check(cache, &other, &strict, 0).state, CACHE_MISS);
    other = others_key("a.test. A do");
    assert_int_equal(cache_check(cache, &other, &strict, 0).state, CACHE_MISS);
    other = others_key("a.test. A cd");
    assert_int_equal(cache_check(cache, &other, &strict, 0).state, CACHE_MISS);
    other = key;
    other.qclass = DNS_CLASS_CH;
    assert_int_equal(cache_check(cache, &other, &strict, 0).state, CACHE_MISS);
    other = key;
    other.zone_serial = 2;
    assert_int_equal(cache_check(cache, &other, &strict, 0).state, CACHE_MISS);
}

UNIT_TEST(test_names)
{
    enum { LABELS = 127 };
    CLEANUP(cache_unref_of) struct cache *cache = cache_new(1000);
    for (unsigned round = 0; round < 2; round++) { /* every length of a name, then all again */
        for (unsigned labels = 1; labels <= LABELS; labels++) {
            struct cache_key key = others_key(". A");
            for (unsigned i = 0; i < labels; i++) {
                assert_true(dname_prepend(&key.name, slice_str("x")));
            }
            memset(key.name.wire + key.name.len, round == 0 ? 0xaa : 0x55, /* means nothing */
                   sizeof(key.name.wire) - key.name.len);
            if (round == 0) {
                assert_int_equal(bed_put(cache, &key, labels, 2, 60, 0), CACHE_HIT);
            }
            struct cache_hit hit = cache_check(cache, &key, &strict, 0);
            uint32_t version = 0;
            assert_int_equal(hit.state, CACHE_FRESH);
            assert_true(bed_is_whole(records, &hit, &version));
            assert_int_equal(version, labels);
        }
    }
}

UNIT_TEST(test_times)
{
    CLEANUP(cache_unref_of) struct cache *cache = cache_new(10);
    const int64_t then = 1000000;
    struct cache_key key = others_key("a.test. A");
    external_cache_put(cache, "a.test. A",
                       "NOERROR qr ad\n? a.test. IN A\n= a.test. 50 CNAME b.test.\n"
                       "= b.test. 20 A 10.0.0.1",
                       then);
    struct cache_hit hit = cache_check(cache, &key, &strict, then + 5999);
    assert_int_equal(hit.state, CACHE_FRESH);
    assert_int_equal(hit.cached_s, 5);
    assert_int_equal(hit.left_s, 15);
    assert_true(hit.is_authentic);
    const struct addr nameserver = external_nameserver();
    cache_read(cache, &key, &strict, then, CACHE_PEEK, 0, records, sizeof(records), &hit);
    assert_true(addr_equal(&hit.nameserver, &nameserver));
    assert_string_equal(cache_get(cache, "a.test. A", then + 5999),
                        "NOERROR ad\n? a.test. IN A\n= a.test. 45 CNAME b.test.\n"
                        "= b.test. 15 A 10.0.0.1");
    assert_string_equal(cache_get(cache, "a.test. A", then + 19999),
                        "NOERROR ad\n? a.test. IN A\n= a.test. 31 CNAME b.test.\n"
                        "= b.test. 1 A 10.0.0.1");
    assert_int_equal(cache_check(cache, &key, &strict, then + 20000).state, CACHE_MISS);
    /* A clock that stands, or another thread's older time. */
    assert_int_equal(cache_check(cache, &key, &strict, then - 5).cached_s, 0);
}

/* The current limit counts, not that of when the response was cached. */
UNIT_TEST(test_shorter_limit)
{
    CLEANUP(cache_unref_of) struct cache *cache = cache_new(10);
    struct cache_key key = others_key("a.test. A");
    const struct cache_limits ten = {.ttl_max_s = 10};
    external_cache_put(cache, "a.test. A", "NOERROR qr\n? a.test. IN A\n= a.test. 60 A 10.0.0.1",
                       0);
    struct cache_hit hit = cache_check(cache, &key, &ten, 4000);
    assert_int_equal(hit.left_s, 6);
    assert_string_equal(external_text(&key, &hit, records, text, sizeof(text)),
                        "NOERROR\n? a.test. IN A\n= a.test. 6 A 10.0.0.1");
    assert_int_equal(cache_check(cache, &key, &ten, 9999).state, CACHE_FRESH);
    assert_int_equal(cache_check(cache, &key, &ten, 10000).state, CACHE_MISS);
    assert_int_equal(cache_check(cache, &key, &strict, 10000).state, CACHE_FRESH);
}

UNIT_TEST(test_denial)
{
    CLEANUP(cache_unref_of) struct cache *cache = cache_new(10);
    external_cache_put(cache, "a.test. A",
                       "NXDOMAIN qr\n? a.test. IN A\n"
                       "! test. 900 SOA ns.test. admin.test. 1 2 3 4 300",
                       0);
    assert_string_equal(cache_get(cache, "a.test. A", 100000),
                        "NXDOMAIN\n? a.test. IN A\n"
                        "! test. 200 SOA ns.test. admin.test. 1 2 3 4 300");
    const struct cache_key key = others_key("a.test. A");
    assert_true(cache_check(cache, &key, &day, 0).is_negative);
    assert_int_equal(cache_check(cache, &key, &day, 0).rcode, DNS_RCODE_NXDOMAIN);
    assert_int_equal(cache_check(cache, &key, &strict, 299999).state, CACHE_FRESH);
    assert_int_equal(cache_check(cache, &key, &strict, 300000).state, CACHE_MISS);
}

UNIT_TEST(test_stale)
{
    CLEANUP(cache_unref_of) struct cache *cache = cache_new(10);
    struct cache_key key = others_key("a.test. A");
    const struct cache_limits limits = {.ttl_max_s = 3600, .stale_ms = 5000};
    external_cache_put(cache, "a.test. A",
                       "NOERROR qr\n? a.test. IN A\n= a.test. 50 CNAME b.test.\n"
                       "= b.test. 20 A 10.0.0.1",
                       0);
    struct cache_hit hit = cache_check(cache, &key, &limits, 20000);
    assert_int_equal(hit.state, CACHE_STALE);
    assert_int_equal(hit.left_s, 0);
    assert_false(hit.is_failing);
    assert_string_equal(external_text(&key, &hit, records, text, sizeof(text)),
                        "NOERROR\n? a.test. IN A\n= a.test. 30 CNAME b.test.\n"
                        "= b.test. 30 A 10.0.0.1");
    assert_int_equal(cache_check(cache, &key, &limits, 24999).state, CACHE_STALE);
    assert_int_equal(cache_check(cache, &key, &limits, 25000).state, CACHE_MISS);
    cache_fail(cache, &key, CACHE_PLAIN, 21000);
    assert_true(cache_check(cache, &key, &limits, 21999).is_failing);
    assert_false(cache_check(cache, &key, &limits, 22000).is_failing);
    cache_fail(cache, &key, CACHE_PLAIN, 24500);
    assert_int_equal(cache_check(cache, &key, &limits, 25000).state, CACHE_FAILED);
    assert_int_equal(cache_check(cache, &key, &strict, 24600).state, CACHE_FAILED);
}

/* 1 s, doubled up to 30 s; from the beginning after a reply, or after a while without questions. */
UNIT_TEST(test_failures)
{
    static const int64_t waits_ms[] = {1000, 2000, 4000, 8000, 16000, 30000, 30000};
    CLEANUP(cache_unref_of) struct cache *cache = cache_new(10);
    struct cache_key key = others_key("a.test. A");
    int64_t now_ms = 5000;
    for (size_t i = 0; i < ARRAY_LEN(waits_ms); i++) {
        cache_fail(cache, &key, CACHE_PLAIN, now_ms);
        cache_fail(cache, &key, CACHE_PLAIN, now_ms + 1); /* of the same time: no second step */
        assert_int_equal(cache_check(cache, &key, &day, now_ms + waits_ms[i] - 1).state,
                         CACHE_FAILED);
        now_ms += waits_ms[i];
        assert_int_equal(cache_check(cache, &key, &day, now_ms).state, CACHE_MISS);
    }
    assert_int_equal(cache_figures(cache).entries, 0); /* no reply is kept */
    bed_put(cache, &key, 1, 1, 1, now_ms);
    assert_int_equal(cache_check(cache, &key, &day, now_ms).state, CACHE_FRESH);
    cache_fail(cache, &key, CACHE_PLAIN, now_ms + 2000);
    assert_true(cache_check(cache, &key, &day, now_ms + 2999).is_failing);
    assert_false(cache_check(cache, &key, &day, now_ms + 3000).is_failing);
    cache_fail(cache, &key, CACHE_PLAIN, now_ms + 3000);
    assert_true(cache_check(cache, &key, &day, now_ms + 4999).is_failing);
    now_ms += 5000 + CACHE_FAILURE_MAX_MS + 1;
    cache_fail(cache, &key, CACHE_PLAIN, now_ms);
    assert_true(cache_check(cache, &key, &day, now_ms + 999).is_failing);
    assert_false(cache_check(cache, &key, &day, now_ms + 1000).is_failing);
}

static struct cache_key key_in(uint32_t zone_serial, unsigned number)
{
    struct cache_key key = bed_key(number);
    key.zone_serial = zone_serial;
    return key;
}

/* When each of `count` names fails so often in a row that it is not asked for 30 s. */
static int64_t fail_often(struct cache *cache, uint32_t zone_serial, unsigned count)
{
    static const int64_t times_ms[] = {0, 1000, 3000, 7000, 15000, 31000};
    for (size_t i = 0; i < ARRAY_LEN(times_ms); i++) {
        for (unsigned number = 0; number < count; number++) {
            const struct cache_key key = key_in(zone_serial, number);
            cache_fail(cache, &key, CACHE_PLAIN, 50000 + times_ms[i]);
        }
    }
    return 81000;
}

static enum cache_state cache_state_of(struct cache *cache, uint32_t zone_serial, unsigned number,
                                       int64_t now_ms)
{
    const struct cache_key key = key_in(zone_serial, number);
    return cache_check(cache, &key, &day, now_ms).state;
}

/* A dead server that answers ends the waiting of its zone's names, but for the first second, and
 * the doubling. */
UNIT_TEST(test_a_revived_zone)
{
    enum { ZONE = 7, OTHER = 8, STRANGER = ZONE + 256 };
    CLEANUP(cache_unref_of) struct cache *cache = cache_new(10);
    const struct cache_key key = key_in(ZONE, 0);
    int64_t failed_ms = fail_often(cache, ZONE, 1);
    (void)fail_often(cache, OTHER, 1);
    cache_zone_revived(cache, STRANGER, true, failed_ms + 1); /* of the same place: says nothing */
    cache_zone_revived(cache, ZONE, false, failed_ms + 1);    /* silent for this name only */
    assert_int_equal(cache_state_of(cache, ZONE, 0, failed_ms + 1000), CACHE_FAILED);
    cache_zone_revived(cache, ZONE, true, failed_ms + 1);
    assert_int_equal(cache_state_of(cache, ZONE, 0, failed_ms + 999), CACHE_FAILED);
    assert_int_equal(cache_state_of(cache, ZONE, 0, failed_ms + 1000), CACHE_MISS);
    assert_int_equal(cache_state_of(cache, OTHER, 0, failed_ms + 29999), CACHE_FAILED);
    cache_fail(cache, &key, CACHE_PLAIN, failed_ms + 1500); /* it still does */
    assert_int_equal(cache_state_of(cache, ZONE, 0, failed_ms + 2499), CACHE_FAILED);
    assert_int_equal(cache_state_of(cache, ZONE, 0, failed_ms + 2500), CACHE_MISS);
    cache_fail(cache, &key, CACHE_PLAIN, failed_ms + 2500);
    assert_int_equal(cache_state_of(cache, ZONE, 0, failed_ms + 4499), CACHE_FAILED);
}

/* A good reply says that the zone recovered, if two names had failed; not if one had, of whatever
 * types. */
UNIT_TEST(test_a_good_reply_after_failures)
{
    enum { ONE = 7, TWO = 8 };
    CLEANUP(cache_unref_of) struct cache *cache = cache_new(20);
    struct cache_key aaaa = key_in(ONE, 0);
    int64_t failed_ms = fail_often(cache, ONE, 1);
    aaaa.type = DNS_TYPE_AAAA;
    cache_fail(cache, &aaaa, CACHE_PLAIN, failed_ms);
    (void)fail_often(cache, TWO, 2);
    cache_zone_answered(cache, ONE, failed_ms + 500);
    cache_zone_answered(cache, TWO, failed_ms + 500);
    assert_int_equal(cache_state_of(cache, ONE, 0, failed_ms + 29999), CACHE_FAILED);
    for (unsigned number = 0; number < 2; number++) {
        assert_int_equal(cache_state_of(cache, TWO, number, failed_ms + 999), CACHE_FAILED);
        assert_int_equal(cache_state_of(cache, TWO, number, failed_ms + 1000), CACHE_MISS);
    }
    /* One that fails afterwards, and more good replies: it is alone, and waits. */
    const struct cache_key key = key_in(TWO, 0);
    cache_fail(cache, &key, CACHE_PLAIN, failed_ms + 1000);
    cache_fail(cache, &key, CACHE_PLAIN, failed_ms + 2000);
    cache_zone_answered(cache, TWO, failed_ms + 2001);
    assert_int_equal(cache_state_of(cache, TWO, 0, failed_ms + 3999), CACHE_FAILED);
}

/* One question a second is asked, by whichever threads, while all of a zone fails; none while only
 * a few names do. */
UNIT_TEST(test_trials)
{
    enum { FEW = 7, ALL = 8, NAMES = 4 };
    CLEANUP(cache_unref_of) struct cache *cache = cache_new(50);
    struct cache_hit hit;
    int64_t now_ms = fail_often(cache, FEW, NAMES - 1);
    (void)fail_often(cache, ALL, NAMES);
    now_ms += 999;
    for (unsigned number = 0; number < NAMES; number++) { /* the first second, whatever comes */
        assert_int_equal(cache_state_of(cache, ALL, number, now_ms), CACHE_FAILED);
    }
    now_ms += 1;
    const struct cache_key first = key_in(ALL, 0);
    cache_read(cache, &first, &day, now_ms, CACHE_PEEK, 0, records, sizeof(records), &hit);
    assert_int_equal(hit.state, CACHE_FAILED); /* looking is not asking */
    for (unsigned round = 0; round < 3; round++) {
        const struct cache_key probe = key_in(ALL, round);
        for (unsigned i = 0; i < 2 * NAMES; i++) {
            unsigned number = (round + i) % NAMES;
            assert_int_equal(cache_state_of(cache, ALL, number, now_ms + i),
                             number == round ? CACHE_MISS : CACHE_FAILED);
            assert_int_equal(number >= NAMES - 1 ? CACHE_FAILED
                                                 : cache_state_of(cache, FEW, number, now_ms),
                             CACHE_FAILED);
        }
        cache_fail(cache, &probe, CACHE_PLAIN, now_ms + 10);
        assert_int_equal(cache_state_of(cache, ALL, round, now_ms + 11), CACHE_FAILED);
        assert_int_equal(cache_state_of(cache, ALL, 3, now_ms + 999), CACHE_FAILED);
        now_ms += 1000;
        assert_int_equal(cache_state_of(cache, ALL, round, now_ms),
                         CACHE_FAILED); /* its own second */
    }
    cache_zone_answered(cache, ALL, now_ms);
    for (unsigned number = 0; number < NAMES; number++) {
        assert_int_equal(cache_state_of(cache, ALL, number, now_ms + 10), CACHE_MISS);
    }
}

/* The third hit, this one included, with under a tenth and at least a second left: once. */
UNIT_TEST(test_refresh)
{
    CLEANUP(cache_unref_of) struct cache *cache = cache_new(10);
    struct cache_key key = others_key("a.test. A");
    struct cache_hit hit;
    bed_put(cache, &key, 1, 1, 100, 0);
    assert_false(cache_check(cache, &key, &day, 0).wants_refresh);
    assert_false(cache_check(cache, &key, &day, 95000).wants_refresh);
    for (unsigned i = 0; i < 5; i++) { /* looking is not asking */
        cache_read(cache, &key, &day, 95000, CACHE_PEEK, 0, records, sizeof(records), &hit);
        assert_false(hit.wants_refresh);
    }
    assert_false(
        cache_check(cache, &key, &day, 90000).wants_refresh); /* the third, but a tenth left */
    assert_false(cache_check(cache, &key, &day, 99001).wants_refresh);
    cache_fail(cache, &key, CACHE_PLAIN, 90500);
    assert_false(cache_check(cache, &key, &day, 90501).wants_refresh);
    assert_true(cache_check(cache, &key, &day, 99000).wants_refresh);
    assert_false(cache_check(cache, &key, &day, 99000).wants_refresh);
    cache_refresh_over(cache, &key);
    assert_true(cache_check(cache, &key, &day, 98000).wants_refresh);
    /* The next copy's hits count from 0. */
    bed_put(cache, &key, 2, 1, 100, 100000);
    assert_false(cache_check(cache, &key, &day, 195000).wants_refresh);
    assert_false(cache_check(cache, &key, &day, 195000).wants_refresh);
    assert_true(cache_check(cache, &key, &day, 195000).wants_refresh);
    assert_false(cache_check(cache, &key, &day, 200000).wants_refresh);
}

/* Exactly so many; a reply in place of an older one evicts nothing. */
UNIT_TEST(test_entries)
{
    static const size_t sizes[] = {1, 2, 3, 17, 1000};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        CLEANUP(cache_unref_of) struct cache *cache = cache_new(sizes[i]);
        for (unsigned k = 0; k < 2 * sizes[i]; k++) {
            struct cache_key key = bed_key(k % (unsigned)sizes[i]);
            assert_int_equal(bed_put(cache, &key, k, 1, 60, 0), CACHE_HIT);
        }
        struct cache_figures figures = cache_figures(cache);
        assert_int_equal(figures.entries, sizes[i]);
        assert_int_equal(figures.entries_max, sizes[i]);
        assert_int_equal(figures.insertions, 2 * sizes[i]);
        assert_int_equal(figures.evictions, 0);
        struct cache_key one_more = bed_key(100000);
        bed_put(cache, &one_more, 1, 1, 60, 0);
        figures = cache_figures(cache);
        assert_int_equal(figures.entries, sizes[i]);
        assert_int_equal(figures.evictions, 1);
        assert_int_equal(cache_check(cache, &one_more, &day, 0).state, CACHE_FRESH);
    }
}

static unsigned count_cached(struct cache *cache, unsigned from, unsigned to)
{
    unsigned count = 0;
    struct cache_hit hit;
    for (unsigned i = from; i < to; i++) {
        struct cache_key key = bed_key(i);
        cache_read(cache, &key, &day, 0, CACHE_PEEK, 0, records, sizeof(records), &hit);
        count += hit.state == CACHE_FRESH;
    }
    return count;
}

/* Whatever was evicted around it, every entry is found. */
UNIT_TEST(test_index)
{
    enum { ENTRIES = 4000, NAMES = 12000 };
    CLEANUP(cache_unref_of) struct cache *cache = cache_new(ENTRIES);
    for (unsigned i = 0; i < NAMES; i++) {
        struct cache_key key = bed_key(i);
        bed_put(cache, &key, i, 1, 60, 0);
        assert_int_equal(cache_check(cache, &key, &day, 0).state, CACHE_FRESH);
    }
    assert_int_equal(cache_figures(cache).entries, ENTRIES);
    assert_int_equal(count_cached(cache, 0, NAMES), ENTRIES);
}

/* Names that are asked for stay while ten times as many as fit go through. */
UNIT_TEST(test_scan)
{
    enum { ENTRIES = 1000, POPULAR = 500, SCAN = 10000 };
    CLEANUP(cache_unref_of) struct cache *cache = cache_new(ENTRIES);
    for (unsigned i = 0; i < POPULAR; i++) {
        struct cache_key key = bed_key(i);
        bed_put(cache, &key, i, 1, 60, 0);
    }
    for (unsigned i = 0; i < SCAN; i++) {
        struct cache_key scan = bed_key(POPULAR + i), popular = bed_key(i % POPULAR);
        assert_int_equal(cache_check(cache, &popular, &day, 0).state, CACHE_FRESH);
        bed_put(cache, &scan, 1, 1, 60, 0);
    }
    assert_int_equal(count_cached(cache, 0, POPULAR), POPULAR);
}

/* Long replies push out each other, and short ones only up to their share of the memory. */
UNIT_TEST(test_large)
{
    enum { ENTRIES = 1000, SHORT = 900, LONG = 500, ADDRESSES = 1000 };
    CLEANUP(cache_unref_of) struct cache *cache = cache_new(ENTRIES);
    for (unsigned i = 0; i < SHORT; i++) {
        struct cache_key key = bed_key(i);
        bed_put(cache, &key, i, 28, 60, 0); /* three quarters of an entry's share */
    }
    for (unsigned i = 0; i < LONG; i++) {
        struct cache_key key = bed_key(SHORT + i);
        assert_int_equal(bed_put(cache, &key, i, ADDRESSES, 60, 0), CACHE_HIT);
        assert_int_equal(cache_check(cache, &key, &day, 0).answers, ADDRESSES);
    }
    assert_int_equal(count_cached(cache, 0, SHORT), SHORT);
    unsigned cached = count_cached(cache, SHORT, SHORT + LONG);
    assert_in_range(cached, 10, ENTRIES * 1200 / 4 / (ADDRESSES * 16));
    /* Short ones, now many more, take what the long ones have not. */
    for (unsigned i = 0; i < ENTRIES; i++) {
        struct cache_key key = bed_key(10000 + i);
        bed_put(cache, &key, i, 28, 60, 0);
    }
    assert_in_range(cache_figures(cache).entries, ENTRIES - 1, ENTRIES);
}

/* A reply longer than the share of long ones. */
UNIT_TEST(test_too_large)
{
    struct cache *cache = cache_new(1);
    struct cache_key key = bed_key(1);
    assert_int_equal(bed_put(cache, &key, 1, 50, 60, 0), CACHE_HIT);
    assert_int_equal(bed_put(cache, &key, 1, 1000, 60, 0), CACHE_TOO_LARGE);
    assert_int_equal(cache_check(cache, &key, &day, 0).answers, 50);
    cache_unref(cache);
    cache = cache_new(10000);
    assert_int_equal(bed_put(cache, &key, 1, 4000, 60, 0), CACHE_HIT); /* 64 KB */
    struct cache_hit hit = cache_check(cache, &key, &day, 0);
    uint32_t version;
    assert_int_equal(hit.answers, 4000);
    assert_true(bed_is_whole(records, &hit, &version));
    cache_unref(cache);
}

/* Failures push out only each other. */
UNIT_TEST(test_many_failures)
{
    enum { ENTRIES = 100, FAILURES = 10000 };
    CLEANUP(cache_unref_of) struct cache *cache = cache_new(ENTRIES);
    for (unsigned i = 0; i < ENTRIES; i++) {
        struct cache_key key = bed_key(i);
        bed_put(cache, &key, i, 50, 60, 0);
    }
    for (unsigned i = ENTRIES; i < FAILURES; i++) {
        struct cache_key key = bed_key(i);
        cache_fail(cache, &key, CACHE_PLAIN, 0);
        assert_int_equal(cache_check(cache, &key, &day, 0).state, CACHE_FAILED);
    }
    assert_int_equal(count_cached(cache, 0, ENTRIES), ENTRIES);
    assert_int_equal(cache_figures(cache).evictions, 0);
    assert_in_range(cache_figures(cache).bytes, 1, ENTRIES * 1200 + 16 * 512);
}

UNIT_TEST(test_room)
{
    CLEANUP(cache_unref_of) struct cache *cache = cache_new(10);
    struct cache_key key = others_key("a.test. A");
    external_cache_put(cache, "a.test. A",
                       "NOERROR qr\n? a.test. IN A\n= a.test. 60 CNAME b.test.\n"
                       "! test. 900 SOA ns.test. admin.test. 1 2 3 4 300",
                       0);
    struct cache_hit whole = cache_check(cache, &key, &day, 0), hit;
    assert_int_equal(whole.answers + whole.authorities, 2);
    for (size_t room = 0; room <= whole.len; room++) {
        uint8_t *exact = test_malloc(room + 1);
        memset(exact, 0x55, room + 1);
        cache_read(cache, &key, &day, 0, CACHE_ANSWER, 1, exact, room, &hit);
        size_t copied = room >= whole.len           ? whole.len
                        : room >= whole.answers_len ? whole.answers_len
                                                    : 0;
        assert_memory_equal(exact, records, copied);
        assert_int_equal(hit.shown_len, copied);
        assert_int_equal(exact[room], 0x55);
        assert_int_equal(hit.len, whole.len);
        test_free(exact);
    }
}

static size_t resident_bytes(void)
{
    unsigned long size, resident;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%lu %lu", &size, &resident), 2);
    assert_int_equal(fclose(f), 0);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

/* Sanitizers' own memory counts, too, and may be twelve times ours. */
static void assert_more_resident(size_t before, size_t min, size_t max)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    const size_t now = resident_bytes(); /* less, if an allocation gave pages of others back */
    assert_in_range(now > before ? now - before : 0, min, max);
#else
    (void)before, (void)min, (void)max;
#endif
}

/* The default size, whatever the replies: short, of every length, the longest; and nothing before
 * there are any. */
UNIT_TEST(test_memory)
{
    enum { ENTRIES = 10000, MIB = 1 << 20 };
    static const unsigned lengths[] = {1, 5, 50, 50, 50, 50, 50, 50, 50, 300, 2000};
    size_t before = resident_bytes();
    CLEANUP(cache_unref_of) struct cache *cache = cache_new(ENTRIES);
    assert_more_resident(before, 0, MIB);
    for (unsigned i = 0; i < 2 * ENTRIES; i++) {
        struct cache_key key = bed_key(i);
        bed_put(cache, &key, i, lengths[i % ARRAY_LEN(lengths)], 60, 0);
        cache_fail(cache, &key, CACHE_PLAIN, 0);
        key.zone_serial++;
        cache_fail(cache, &key, CACHE_PLAIN, 0);
    }
    assert_in_range(cache_figures(cache).bytes, ENTRIES * 1000, ENTRIES * 1200);
    assert_more_resident(before, ENTRIES * 1000, ENTRIES * 1200 + MIB / 2);
}

UNIT_TEST(test_look_ahead)
{
    CLEANUP(cache_unref_of) struct cache *cache = cache_new(10);
    struct cache_key key = bed_key(1), other = bed_key(2);
    bed_put(cache, &key, 1, 1, 60, 0);
    cache_look_ahead(cache, &key);
    cache_look_ahead(cache, &other);
    assert_int_equal(cache_check(cache, &key, &day, 0).state, CACHE_FRESH);
    cache_unref(cache_ref(NULL));
}

static uint64_t flush_all(struct cache *cache, const char *name, bool is_zone, unsigned *ret_steps)
{
    struct cache_flush flush = {.is_zone = is_zone};
    size_t at = 0;
    uint64_t dropped = 0;
    assert_true(dname_from_text(slice_str(name), &flush.name));
    for (*ret_steps = 1; !cache_flush(cache, &flush, &at, &dropped); ++*ret_steps) {
    }
    return dropped;
}

/* Whatever was asked of the name; others stay, those whose text only ends alike, too. */
UNIT_TEST(test_flush)
{
    static const char *const questions[] = {"a.test. A",   "a.test. A do", "b.a.test. A",
                                            "xa.test. A",  "test. A",      "a.test.org. A",
                                            "A.b.test. A", "c.test. A"};
    static const struct {
        const char *name;
        bool is_zone;
        unsigned dropped;
        const char *left; /* of the questions */
    } rows[] = {{"a.test.", false, 2, "..xxxxxx"}, {"a.test.", true, 3, "...xxxxx"},
                {"test.", false, 1, "xxxx.xxx"},   {"test.", true, 7, ".....x.."},
                {".", true, 8, "........"},        {"other.", true, 0, "xxxxxxxx"},
                {"test.org.", true, 1, "xxxxx.xx"}};
    unsigned steps;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(cache_unref_of) struct cache *cache = cache_new(10);
        for (size_t k = 0; k < ARRAY_LEN(questions); k++) {
            const struct cache_key key = others_key(questions[k]);
            assert_int_equal(bed_put(cache, &key, 7, 1, 60, 0), CACHE_HIT);
        }
        assert_int_equal(flush_all(cache, rows[i].name, rows[i].is_zone, &steps), rows[i].dropped);
        for (size_t k = 0; k < ARRAY_LEN(questions); k++) {
            const struct cache_key key = others_key(questions[k]);
            assert_int_equal(cache_check(cache, &key, &strict, 0).state,
                             rows[i].left[k] == 'x' ? CACHE_FRESH : CACHE_MISS);
        }
        assert_int_equal(cache_figures(cache).entries, ARRAY_LEN(questions) - rows[i].dropped);
    }
}

/* A failure goes, too, and is no response. */
UNIT_TEST(test_flush_a_failure)
{
    CLEANUP(cache_unref_of) struct cache *cache = cache_new(10);
    const struct cache_key key = others_key("a.test. A");
    unsigned steps;
    cache_fail(cache, &key, CACHE_PLAIN, 0);
    cache_fail(cache, &key, CACHE_WITHOUT_RD, 0);
    assert_int_equal(cache_check(cache, &key, &strict, 1).state, CACHE_FAILED);
    assert_int_equal(flush_all(cache, "a.test.", false, &steps), 0);
    assert_int_equal(cache_check(cache, &key, &strict, 1).state, CACHE_MISS);
    assert_false(cache_is_failing(cache, &key, CACHE_WITHOUT_RD, 1));
}

/* Each portion is bounded. A removal moves entries in the index: none is passed over. */
UNIT_TEST(test_flush_many)
{
    enum { ENTRIES = 20000 };
    CLEANUP(cache_unref_of) struct cache *cache = cache_new(ENTRIES);
    char question[32];
    unsigned steps;
    for (unsigned i = 0; i < ENTRIES; i++) {
        (void)snprintf(question, sizeof(question), "n%u.%s. A", i,
                       i % 2 ? "odd" : "even"); /* fits */
        const struct cache_key key = others_key(question);
        assert_int_equal(bed_put(cache, &key, i, 1, 60, 0), CACHE_HIT);
    }
    assert_int_equal(flush_all(cache, "odd.", true, &steps), ENTRIES / 2);
    assert_true(steps > ENTRIES / CACHE_FLUSH_STEP);
    assert_int_equal(cache_figures(cache).entries, ENTRIES / 2);
    assert_int_equal(flush_all(cache, ".", true, &steps), ENTRIES / 2);
    assert_int_equal(cache_figures(cache).entries, 0);
    assert_int_equal(cache_figures(cache).bytes, 0);
}
