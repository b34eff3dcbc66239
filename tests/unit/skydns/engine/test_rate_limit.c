/* The rate of one client: exact, whatever the number of threads; what others can do to it. */
#include <pthread.h>
#include <stdatomic.h>

#include "common/base/seeded_hash.h"
#include "skydns/engine/rate_limit.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"

enum { SECOND_US = 1000 * 1000, START_US = 100 * SECOND_US };

static uint64_t rate_limit_client_of(const char *text)
{
    struct ip ip = ip_from(text);
    const struct addr addr = addr_of_ip(&ip, 5353);
    return rate_limit_client(&addr);
}

struct verdicts {
    unsigned passed, truncated, dropped;
};

static struct verdicts rate_limit_ask(struct rate_limit *limit, uint64_t client,
                                      const struct rate *rate, int64_t now_us, unsigned count)
{
    struct verdicts v = {0};
    for (unsigned i = 0; i < count; i++) {
        enum rate_verdict verdict = rate_limit_take(limit, client, rate, now_us);
        v.passed += verdict == RATE_PASS;
        v.truncated += verdict == RATE_TRUNCATE;
        v.dropped += verdict == RATE_DROP;
    }
    return v;
}

#define assert_verdicts(got, pass, cut, drop) \
    do {                                      \
        const struct verdicts v = (got);      \
        assert_int_equal(v.passed, (pass));   \
        assert_int_equal(v.truncated, (cut)); \
        assert_int_equal(v.dropped, (drop));  \
    } while (0)

static int rate_limit_before_tests(void **state)
{
    seeded_hash_init();
    return 0;
}

UNIT_TESTS_ONCE(rate_limit_before_tests, NULL)
UNIT_TESTS_HAVE_THREADS

UNIT_FIXTURE_MADE(rate_limit_new(), rate_limit_free)

UNIT_TEST_ON(tells_what_is_left, struct rate_limit *limit)
{
    static const struct rate rate = {2, 10}, smaller = {2, 3};
    uint64_t client = rate_limit_client_of("10.1.2.3"), other = rate_limit_client_of("10.1.2.4");
    assert_int_equal(rate_limit_left(limit, client, &rate, START_US), 10);
    (void)rate_limit_ask(limit, client, &rate, START_US, 4);
    assert_int_equal(rate_limit_left(limit, client, &rate, START_US), 6);
    assert_int_equal(rate_limit_left(limit, client, &smaller, START_US), 0);
    assert_int_equal(rate_limit_left(limit, other, &rate, START_US), 10);
    assert_int_equal(rate_limit_left(limit, client, &rate, START_US + SECOND_US), 8);
    (void)rate_limit_ask(limit, client, &rate, START_US, 20);
    assert_int_equal(rate_limit_left(limit, client, &smaller, START_US), 0);
    assert_int_equal(rate_limit_left(limit, client, &rate, START_US), 0);
    assert_int_equal(rate_limit_left(limit, client, &rate, START_US + 60 * SECOND_US), 10);
}

UNIT_TEST(counts_exactly)
{
    static const struct rate rates[] = {{1, 1},     {1, 10},      {3, 3},          {10, 100},
                                        {1000, 1},  {1000, 1000}, {500000, 10000}, {1000000, 1},
                                        {7, 50000}, {1, 1000000}};
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        struct rate_limit *limit = rate_limit_new();
        const struct rate *rate = &rates[i];
        uint64_t client = rate_limit_client_of("10.1.2.3");
        assert_verdicts(rate_limit_ask(limit, client, rate, START_US, rate->burst), rate->burst, 0,
                        0);
        assert_verdicts(rate_limit_ask(limit, client, rate, START_US, 7), 0, 4, 3);
        /* One comes back for each share of a second; the order of replies and drops goes on, unless
         * the client is even. */
        int64_t next_us = START_US + (SECOND_US + rate->per_s - 1) / rate->per_s;
        assert_verdicts(rate_limit_ask(limit, client, rate, next_us, 2), 1, rate->burst == 1,
                        rate->burst > 1);
        /* And never more than the burst. */
        int64_t idle_us = next_us + ((int64_t)rate->burst / rate->per_s + 2) * SECOND_US;
        assert_verdicts(rate_limit_ask(limit, client, rate, idle_us, rate->burst + 2), rate->burst,
                        1, 1);
        rate_limit_free(limit);
    }
}

UNIT_TEST_ON(paces, struct rate_limit *limit)
{
    static const struct rate rate = {100, 10};
    uint64_t client = rate_limit_client_of("10.1.2.3");
    unsigned passed = 0;
    for (int64_t us = 0; us < 10 * SECOND_US; us += 100) { /* 10,000 a second, for 10 s */
        passed += rate_limit_take(limit, client, &rate, START_US + us) == RATE_PASS;
    }
    assert_int_equal(passed, 10 + 10 * 100 - 1); /* the next share comes after the end */
}

UNIT_TEST(knows_clients)
{
    static const struct {
        const char *a, *b;
        bool is_one;
    } cases[] = {
        {"10.0.0.1", "10.0.0.1", true},
        {"10.0.0.1", "10.0.0.2", false},
        {"10.0.0.1", "::ffff:10.0.0.1", true},
        {"2001:db8:1:200::1", "2001:db8:1:2ff:1:2:3:4", true},
        {"2001:db8:1:200::1", "2001:db8:1:300::1", false},
        {"0.0.0.0", "::", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_true((rate_limit_client_of(cases[i].a) == rate_limit_client_of(cases[i].b)) ==
                    cases[i].is_one);
        assert_true(rate_limit_client_of(cases[i].a) != 0);
    }
}

UNIT_TEST_ON(takes_another_rate, struct rate_limit *limit)
{
    static const struct rate slow = {1, 1000000}, fast = {1000, 2};
    uint64_t client = rate_limit_client_of("10.1.2.3");
    assert_verdicts(rate_limit_ask(limit, client, &slow, START_US, 1000000), 1000000, 0, 0);
    /* Days ahead by the old rate, two queries by the new one. */
    assert_verdicts(rate_limit_ask(limit, client, &fast, START_US, 2), 0, 1, 1);
    assert_verdicts(rate_limit_ask(limit, client, &fast, START_US + 1000, 2), 1, 1, 0);
    /* It is remembered, not begun anew. */
    assert_verdicts(rate_limit_ask(limit, client, &slow, START_US + 1000, 1), 1, 0, 0);
}

/* Others, as many as there are slots and more, cannot evict a client over its limit; none of them
 * is limited for another's queries. */
UNIT_TEST_ON(keeps_who_is_over_the_limit, struct rate_limit *limit)
{
    static const struct rate rate = {10, 20};
    uint64_t client = rate_limit_client_of("10.1.2.3");
    assert_verdicts(rate_limit_ask(limit, client, &rate, START_US, 21), 20, 1, 0);
    for (uint64_t i = 0; i < 4 * RATE_LIMIT_CLIENTS; i++) {
        assert_int_equal(rate_limit_take(limit, (UINT64_C(4) << 32) + i, &rate, START_US),
                         RATE_PASS);
    }
    assert_verdicts(rate_limit_ask(limit, client, &rate, START_US, 2), 0, 1, 1);
}

/* ---- Threads ---- */

enum { THREADS = 4, EACH = 200000 };

struct crowd {
    struct rate_limit *limit;
    struct rate rate;
    _Atomic unsigned passed, truncated, dropped;
};

static void *rate_limit_run(void *data)
{
    struct crowd *crowd = data;
    uint64_t client = rate_limit_client_of("10.1.2.3");
    struct verdicts v = rate_limit_ask(crowd->limit, client, &crowd->rate, START_US, EACH);
    atomic_fetch_add(&crowd->passed, v.passed);
    atomic_fetch_add(&crowd->truncated, v.truncated);
    atomic_fetch_add(&crowd->dropped, v.dropped);
    return NULL;
}

UNIT_TEST(counts_exactly_with_threads)
{
    struct crowd crowd = {.limit = rate_limit_new(), .rate = {1000, 50001}};
    pthread_t threads[THREADS];
    (void)rate_limit_take(crowd.limit, rate_limit_client_of("10.1.2.3"), &crowd.rate, START_US);
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, rate_limit_run, &crowd), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    unsigned over = THREADS * EACH - 50000;
    assert_int_equal(crowd.passed, 50000);
    assert_int_equal(crowd.truncated, over / 2);
    assert_int_equal(crowd.dropped, over / 2);
    rate_limit_free(crowd.limit);
}
