/* Tests which signatures stay: those found again, whatever flood of others comes; and that any
 * number of threads, reading and adding, get whole ones under their own IDs. */
#include <pthread.h>
#include <stdatomic.h>

#include "skydns/dnssec/signature_cache_internal.h"
#include "tests/support/unit_test.h"

CLEANUP_POINTER(signature_cache_free, struct signature_cache)

UNIT_TESTS_HAVE_THREADS

enum { LEN = 64 };

static struct signature_cache *cache_of(size_t entries, size_t len)
{
    struct signature_cache *cache = NULL;
    assert_int_equal(signature_cache_new(entries, len, &cache, NULL), 0);
    return cache;
}

static struct signature_id dnssec_signature_cache_id_of(const struct signature_cache *cache,
                                                        uint32_t number)
{
    struct slice rdata = slice_of(&number, sizeof(number));
    const struct dnssec_rrset rrset = {slice_of("", 1), 1, 30, 1, &rdata};
    return signature_cache_id(cache, &rrset);
}

/* Bytes that tell their number. */
static void dnssec_signature_cache_put(struct signature_cache *cache, uint32_t number,
                                       uint32_t version)
{
    uint32_t words[LEN / 4];
    for (uint32_t i = 0; i < LEN / 4; i++) {
        words[i] = number ^ version << 16 ^ i << 24;
    }
    signature_cache_put(cache, dnssec_signature_cache_id_of(cache, number), version,
                        slice_of(words, LEN));
}

/* Whether it is there; whole, then. */
static bool signature_cache_has(const struct signature_cache *cache, uint32_t number,
                                struct signature_found *ret_found)
{
    uint8_t bytes[SIGNING_KEY_SIGNATURE_MAX];
    uint32_t words[LEN / 4];
    if (!signature_cache_find(cache, dnssec_signature_cache_id_of(cache, number), ret_found,
                              bytes)) {
        return false;
    }
    memcpy(words, bytes, LEN);
    for (uint32_t i = 0; i < LEN / 4; i++) {
        if (ret_found->len != LEN ||
            words[i] != (number ^ (uint32_t)ret_found->made_s << 16 ^ i << 24)) {
            abort(); /* also on other threads */
        }
    }
    return true;
}

static bool dnssec_signature_cache_use(struct signature_cache *cache, uint32_t number)
{
    struct signature_found found;
    bool is_there = signature_cache_has(cache, number, &found);
    if (is_there) {
        signature_cache_use(cache, &found);
    }
    return is_there;
}

/* Acts as an answer does: makes what is missing. */
static bool signature_cache_answer(struct signature_cache *cache, uint32_t number)
{
    bool is_there = dnssec_signature_cache_use(cache, number);
    if (!is_there) {
        dnssec_signature_cache_put(cache, number, 1);
    }
    return is_there;
}

UNIT_TEST(test_exact_size)
{
    for (uint32_t size = 1; size < 40; size++) {
        CLEANUP(signature_cache_free_of) struct signature_cache *cache = cache_of(size, LEN);
        struct signature_found found;
        for (uint32_t i = 0; i < size; i++) {
            dnssec_signature_cache_put(cache, i, 1);
        }
        for (uint32_t i = 0; i < size; i++) {
            assert_true(signature_cache_has(cache, i, &found));
        }
        for (uint32_t i = size; i < 1000; i++) {
            dnssec_signature_cache_put(cache, i, 1);
            assert_true(signature_cache_has(cache, i, &found));
        }
        assert_int_equal(signature_cache_cached(cache), size);
        assert_int_equal(signature_cache_max(cache), size);
    }
}

/* Signatures of every length, in memory for exactly those. */
UNIT_TEST(test_lengths)
{
    uint8_t given[SIGNING_KEY_SIGNATURE_MAX], found_bytes[SIGNING_KEY_SIGNATURE_MAX];
    for (size_t i = 0; i < sizeof(given); i++) {
        given[i] = (uint8_t)(i * 7 + 1);
    }
    for (size_t len = 1; len <= sizeof(given); len++) {
        CLEANUP(signature_cache_free_of) struct signature_cache *cache = cache_of(1, len);
        struct signature_found found;
        signature_cache_put(cache, dnssec_signature_cache_id_of(cache, 1), 5, slice_of(given, len));
        assert_true(signature_cache_find(cache, dnssec_signature_cache_id_of(cache, 1), &found,
                                         found_bytes));
        assert_int_equal(found.len, len);
        assert_int_equal(found.made_s, 5);
        assert_memory_equal(found_bytes, given, len);
    }
}

/* Names asked for once do not push out those in use, even if nobody asks for them meanwhile. */
UNIT_TEST(test_flood)
{
    enum { SIZE = 1000, USED = 800, FLOOD = 100000 };
    CLEANUP(signature_cache_free_of) struct signature_cache *cache = cache_of(SIZE, LEN);
    for (uint32_t i = 0; i < USED; i++) {
        assert_false(signature_cache_answer(cache, i));
        assert_true(signature_cache_answer(cache, i));
    }
    for (uint32_t i = 0; i < FLOOD; i++) {
        assert_false(signature_cache_answer(cache, USED + i));
    }
    for (uint32_t i = 0; i < USED; i++) {
        assert_true(dnssec_signature_cache_use(cache, i));
    }
}

/* Names of a flood asked for twice are no better than those that are asked for now and then. */
UNIT_TEST(test_flood_twice)
{
    enum { SIZE = 1000, USED = 100, FLOOD = 50000 };
    CLEANUP(signature_cache_free_of) struct signature_cache *cache = cache_of(SIZE, LEN);
    unsigned missed = 0;
    for (uint32_t i = 0; i < FLOOD; i++) {
        (void)signature_cache_answer(cache, USED + i);
        (void)signature_cache_answer(cache, USED + i);
        if (i % 5 == 0) { /* each once in 500 */
            missed += !signature_cache_answer(cache, i / 5 % USED);
        }
    }
    assert_true(missed <= 3 * USED); /* of 10000; the first two times each can only miss */
}

/* While a flood goes on, new names come into use; and all of another working set replaces one that
 * is not used any more, although it is larger than the queue of fresh ones. */
UNIT_TEST(test_changes)
{
    enum { SIZE = 1000, SET = 700, ROUNDS = 12 };
    CLEANUP(signature_cache_free_of) struct signature_cache *cache = cache_of(SIZE, LEN);
    uint32_t flood = 1 << 20;
    for (uint32_t set = 0; set < 4; set++) {
        unsigned missed = 0;
        for (unsigned round = 0; round < ROUNDS; round++) {
            missed = 0;
            for (uint32_t i = 0; i < SET; i++) {
                missed += !signature_cache_answer(cache, set * SET + i);
                (void)signature_cache_answer(cache, flood++);
            }
        }
        assert_true(missed <= SET / 4);
    }
}

/* Replaced in its place; the claim to renew is given once in a while. */
UNIT_TEST(test_renewal)
{
    CLEANUP(signature_cache_free_of) struct signature_cache *cache = cache_of(10, LEN);
    struct signature_found found;
    dnssec_signature_cache_put(cache, 1, 1);
    dnssec_signature_cache_put(cache, 1, 2);
    assert_int_equal(signature_cache_cached(cache), 1);
    assert_true(signature_cache_has(cache, 1, &found));
    assert_int_equal(found.made_s, 2);
    assert_true(signature_cache_claim(cache, &found, 1000));
    assert_false(signature_cache_claim(cache, &found, 1000 + DNSSEC_RENEW_AGAIN_S - 1));
    signature_cache_use(cache, &found);
    assert_false(signature_cache_claim(cache, &found, 1000));
    assert_true(signature_cache_claim(cache, &found, 999)); /* a clock went back */
    assert_true(signature_cache_claim(cache, &found, 1000 + DNSSEC_RENEW_AGAIN_S));
}

/* Data of any length around the hasher's buffer, other in one bit, has another id. */
UNIT_TEST(test_ids)
{
    static uint8_t bytes[5000];
    CLEANUP(signature_cache_free_of) struct signature_cache *cache = cache_of(1, LEN);
    for (size_t len = 0; len < sizeof(bytes); len += 1 + len / 40) {
        struct slice parts[] = {slice_of(bytes, len / 3), slice_of(bytes, len - len / 3)};
        const struct dnssec_rrset rrset = {slice_of("", 1), 1, 30, 2, parts};
        struct signature_id id = signature_cache_id(cache, &rrset);
        for (size_t at = 0; at < len - len / 3; at += 1 + len / 7) {
            bytes[at] ^= 1;
            struct signature_id other = signature_cache_id(cache, &rrset);
            assert_true(other.low != id.low && other.high != id.high);
            bytes[at] ^= 1;
        }
        parts[0].len = 0;
        assert_true(len < 3 || signature_cache_id(cache, &rrset).low != id.low);
    }
}

/* ---- Threads ---- */

enum { READERS = 3, WRITERS = 2, NUMBERS = 300, ENTRIES = 64, STEPS = 30000 };

static struct signature_cache *shared;

static void *signature_cache_read_all(void *data)
{
    uint32_t random = *(const uint32_t *)data, claims = 0;
    for (unsigned i = 0; i < STEPS; i++) {
        struct signature_found found;
        random = random * 1664525 + 1013904223;
        if (signature_cache_has(shared, (random >> 16) % NUMBERS, &found)) {
            signature_cache_use(shared, &found);
            claims += signature_cache_claim(shared, &found, i);
        }
    }
    assert_true(claims <= STEPS);
    return NULL;
}

static void *signature_cache_write_all(void *data)
{
    uint32_t random = *(const uint32_t *)data;
    for (unsigned i = 0; i < STEPS; i++) {
        random = random * 1664525 + 1013904223;
        dnssec_signature_cache_put(shared, (random >> 16) % NUMBERS, 1 + random % 200);
    }
    return NULL;
}

UNIT_TEST(test_threads)
{
    pthread_t threads[READERS + WRITERS];
    uint32_t seeds[READERS + WRITERS];
    shared = cache_of(ENTRIES, LEN);
    for (uint32_t i = 0; i < READERS + WRITERS; i++) {
        seeds[i] = i * 77 + 1;
        assert_int_equal(
            pthread_create(&threads[i], NULL,
                           i < READERS ? signature_cache_read_all : signature_cache_write_all,
                           &seeds[i]),
            0);
    }
    for (unsigned i = 0; i < READERS + WRITERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(signature_cache_cached(shared), ENTRIES);
    signature_cache_free(shared);
}
