/* The rate of a namespace: exact, over all its clients and threads, and shared evenly by those who
 * want more than there is. */
#include "skydns/engine/namespace_rate.h"

#include <pthread.h>
#include <stdatomic.h>

#include "common/base/seeded_hash.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"

CLEANUP_POINTER(namespace_rate_free, struct namespace_rate)

enum { SECOND_US = 1000 * 1000, START_US = 100 * SECOND_US };

static struct client_space namespace_rate_space(const char *label)
{
    struct client_space space = {.label_len = (uint8_t)strlen(label)};
    memcpy(space.label, label, strlen(label));
    return space;
}

static int namespace_rate_before_tests(void **state)
{
    seeded_hash_init();
    return 0;
}

UNIT_TESTS_ONCE(namespace_rate_before_tests, NULL)
UNIT_TESTS_HAVE_THREADS

/* How many of `count` queries at one moment pass. */
static unsigned namespace_rate_ask(struct namespace_rate *limit, const struct client_space *space,
                                   const struct ip *ip, const struct rate *rate, int64_t now_us,
                                   unsigned count)
{
    unsigned passed = 0;
    for (unsigned i = 0; i < count; i++) {
        const int64_t wait_us = namespace_rate_take(limit, space, ip, rate, now_us);
        assert_true(wait_us >= 0);
        passed += wait_us == 0;
    }
    return passed;
}

/* Two clients have the burst together: the first one half of it, the next half of the rest. */
UNIT_TEST(test_one_burst_for_all)
{
    static const struct rate rate = {100, 64};
    CLEANUP(namespace_rate_free_of) struct namespace_rate *limit = namespace_rate_new();
    const struct client_space a = namespace_rate_space("a"), b = namespace_rate_space("b");
    const struct ip first = ip_from("10.1.0.1"), second = ip_from("10.1.0.2"),
                    third = ip_from("fd00::1"), other = ip_from("10.2.0.1");
    assert_int_equal(namespace_rate_left(limit, &a, &first, &rate, START_US), 32);
    assert_int_equal(namespace_rate_ask(limit, &a, &first, &rate, START_US, 100), 32);
    assert_int_equal(namespace_rate_left(limit, &a, &first, &rate, START_US), 0);
    assert_int_equal(namespace_rate_left(limit, &a, &second, &rate, START_US), 16);
    assert_int_equal(namespace_rate_ask(limit, &a, &second, &rate, START_US, 100), 16);
    assert_int_equal(namespace_rate_ask(limit, &a, &third, &rate, START_US, 100), 8);
    assert_int_equal(namespace_rate_ask(limit, &a, &first, &rate, START_US, 100), 0);
    /* Another namespace has its own. */
    assert_int_equal(namespace_rate_ask(limit, &b, &other, &rate, START_US, 100), 32);
    /* Everything is there again once it is paid for. */
    assert_int_equal(namespace_rate_left(limit, &a, &first, &rate, START_US + SECOND_US), 32);
    assert_int_equal(namespace_rate_ask(limit, &a, &second, &rate, START_US + SECOND_US, 100), 32);
}

/* One client alone gets the whole rate, and any number of them no more than it, whatever it is. */
UNIT_TEST(test_the_rate_is_exact)
{
    static const struct rate rates[] = {{1, 1},       {1, 10},    {10, 2},     {100, 100},
                                        {1000, 1000}, {5000, 50}, {333, 1000}, {1000000, 1000000}};
    enum { SECONDS = 5 };
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        for (unsigned clients = 1; clients <= 7; clients += 3) {
            CLEANUP(namespace_rate_free_of) struct namespace_rate *limit = namespace_rate_new();
            const struct client_space space = namespace_rate_space("flood");
            const struct rate *rate = &rates[i];
            uint64_t passed = 0;
            const int64_t step_us = rate->per_s > 10000 ? 1000 : 100;
            for (int64_t us = 0; us < (int64_t)SECONDS * SECOND_US; us += step_us) {
                for (unsigned c = 0; c < clients; c++) {
                    struct ip ip = ip_from("10.1.0.0");
                    ip.bytes[3] = (uint8_t)c;
                    passed += namespace_rate_ask(limit, &space, &ip, rate, START_US + us,
                                                 rate->per_s > 10000 ? 3000 / clients : 2);
                }
            }
            const uint64_t most = (uint64_t)SECONDS * rate->per_s + rate->burst;
            const uint64_t least = (uint64_t)SECONDS * rate->per_s * 98 / 100;
            assert_that(passed <= most && passed >= least,
                        "%u/%u, %u clients: %llu passed, expected %llu to %llu", rate->per_s,
                        rate->burst, clients, (unsigned long long)passed, (unsigned long long)least,
                        (unsigned long long)most);
        }
    }
}

/* ---- Turns ---- */

/* Clients that send evenly, each at its own moments; `wants` a second each. */
struct turns {
    unsigned wants, count;
    unsigned least, most; /* passed in a second, of each */
};

static void namespace_rate_check_turns(const struct rate *rate, const struct turns *groups,
                                       size_t group_count)
{
    enum { CLIENTS = 128, WARM_S = 5, SECONDS = 20, STEPS = 20000 };
    CLEANUP(namespace_rate_free_of) struct namespace_rate *limit = namespace_rate_new();
    const struct client_space space = namespace_rate_space("team-a");
    static unsigned passed[CLIENTS];
    static double owed[CLIENTS];
    memset(passed, 0, sizeof(passed));
    for (unsigned i = 0; i < CLIENTS; i++) {
        owed[i] = (double)(i * 37 % CLIENTS) / CLIENTS; /* not all at the same moment */
    }
    for (int64_t step = 0; step < (int64_t)(WARM_S + SECONDS) * STEPS; step++) {
        const int64_t now_us = START_US + step * SECOND_US / STEPS;
        unsigned client = 0;
        for (size_t g = 0; g < group_count; g++) {
            for (unsigned i = 0; i < groups[g].count; i++, client++) {
                struct ip ip = {.family_bytes = 4, .bytes = {10, 1, 0, (uint8_t)client}};
                for (owed[client] += (double)groups[g].wants / STEPS; owed[client] >= 1;
                     owed[client]--) {
                    bool is_warm = step >= (int64_t)WARM_S * STEPS;
                    passed[client] +=
                        namespace_rate_take(limit, &space, &ip, rate, now_us) == 0 && is_warm;
                }
            }
        }
    }
    unsigned client = 0;
    for (size_t g = 0; g < group_count; g++) {
        for (unsigned i = 0; i < groups[g].count; i++, client++) {
            assert_that(passed[client] >= groups[g].least * SECONDS &&
                            passed[client] <= groups[g].most * SECONDS,
                        "%u/%u: client %u wants %u/s and gets %u in %d s, expected %u to %u/s",
                        rate->per_s, rate->burst, client, groups[g].wants, passed[client], SECONDS,
                        groups[g].least, groups[g].most);
        }
    }
}

/* A client that wants less than an even share loses nothing to a flood. */
UNIT_TEST(test_a_flood_of_one_client)
{
    static const struct rate rate = {1000, 1000};
    static const struct turns turns[] = {{50000, 1, 480, 520}, {50, 10, 50, 50}};
    namespace_rate_check_turns(&rate, turns, 2);
    static const struct turns many[] = {{50000, 1, 90, 120}, {9, 100, 9, 9}};
    namespace_rate_check_turns(&rate, many, 2);
}

/* Those that want more get an even share, however much more. */
UNIT_TEST(test_even_shares)
{
    static const struct rate rate = {1000, 1000}, small = {100, 20};
    static const struct turns turns[] = {
        {50000, 1, 300, 370}, {4000, 1, 300, 370}, {1000, 1, 300, 350}};
    namespace_rate_check_turns(&rate, turns, 3);
    static const struct turns few[] = {{20000, 1, 35, 60}, {1000, 1, 35, 60}, {5, 1, 5, 5}};
    namespace_rate_check_turns(&small, few, 3);
}

/* Within the rate, everything passes. */
UNIT_TEST(test_nobody_is_limited_within_the_rate)
{
    static const struct rate rate = {1000, 1000};
    static const struct turns turns[] = {{800, 1, 800, 800}, {19, 10, 19, 19}};
    namespace_rate_check_turns(&rate, turns, 2);
}

/* ---- Changes ---- */

UNIT_TEST(test_another_rate)
{
    static const struct rate slow = {1, 1000000}, fast = {1000, 4};
    CLEANUP(namespace_rate_free_of) struct namespace_rate *limit = namespace_rate_new();
    const struct client_space space = namespace_rate_space("a");
    const struct ip first = ip_from("10.1.0.1"), second = ip_from("10.1.0.2");
    assert_int_equal(namespace_rate_ask(limit, &space, &first, &slow, START_US, 1000000), 500000);
    /* Days ahead by the old rate, four queries by the new one. */
    assert_int_equal(namespace_rate_ask(limit, &space, &second, &fast, START_US, 4), 0);
    assert_int_equal(namespace_rate_ask(limit, &space, &second, &fast, START_US, 4), 0);
}

/* A client that was full days ago has no part left of that, whatever its clock said then. */
UNIT_TEST(test_after_a_long_time)
{
    static const struct rate rate = {100, 100};
    struct namespace_rate *limit = namespace_rate_new();
    const struct client_space space = namespace_rate_space("a");
    const struct ip old = ip_from("10.1.0.1"), hog = ip_from("10.1.0.2");
    for (int64_t hours = 1; hours <= 100; hours++) {
        const int64_t now_us = START_US + hours * 3600 * SECOND_US;
        (void)namespace_rate_ask(limit, &space, &old, &rate, START_US, 50);
        assert_int_equal(namespace_rate_ask(limit, &space, &hog, &rate, now_us, 100), 50);
        assert_int_equal(namespace_rate_ask(limit, &space, &old, &rate, now_us, 1), 1);
        namespace_rate_free(limit);
        limit = namespace_rate_new();
    }
    namespace_rate_free(limit);
}

/* The wait that a refusal says is enough, and not much more. */
UNIT_TEST(test_waits)
{
    static const struct rate rates[] = {{1, 1}, {10, 10}, {1000, 1000}, {100000, 10}};
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        CLEANUP(namespace_rate_free_of) struct namespace_rate *limit = namespace_rate_new();
        const struct client_space space = namespace_rate_space("a");
        const struct ip ip = ip_from("10.1.0.1");
        int64_t now_us = START_US, wait_us = 0;
        unsigned tries = 0;
        while ((wait_us = namespace_rate_take(limit, &space, &ip, &rates[i], now_us)) == 0) {
        }
        assert_true(wait_us <= SECOND_US / rates[i].per_s + 1);
        for (; wait_us > 0; tries++) {
            now_us += wait_us;
            wait_us = namespace_rate_take(limit, &space, &ip, &rates[i], now_us);
        }
        assert_in_range(tries, 1, 32);
        assert_true(now_us - START_US <= 2 * SECOND_US / rates[i].per_s + 10);
    }
}

/* ---- Threads ---- */

enum { THREADS = 4, EACH = 100000 };

struct namespace_crowd {
    struct namespace_rate *limit;
    struct client_space space;
    struct rate rate;
    unsigned number;
    _Atomic unsigned *passed;
};

static void *namespace_rate_run(void *data)
{
    struct namespace_crowd *crowd = data;
    struct ip ip = ip_from("10.1.0.1");
    ip.bytes[3] = (uint8_t)(crowd->number / 2); /* two clients, of two threads each */
    atomic_fetch_add(crowd->passed, namespace_rate_ask(crowd->limit, &crowd->space, &ip,
                                                       &crowd->rate, START_US, EACH));
    return NULL;
}

/* Two clients in two threads each: together never more than the burst, and none more than half. */
UNIT_TEST(test_threads)
{
    _Atomic unsigned passed = 0;
    CLEANUP(namespace_rate_free_of) struct namespace_rate *limit = namespace_rate_new();
    struct namespace_crowd crowds[THREADS];
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        crowds[i] = (struct namespace_crowd){
            limit, namespace_rate_space("team-a"), {1000, 60000}, i, &passed};
        assert_int_equal(pthread_create(&threads[i], NULL, namespace_rate_run, &crowds[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    /* A third each at most if they run at the same time, a half and a quarter if one after the
     * other; a query more for each thread that came at the same moment. */
    assert_in_range(passed, 40000, 45000 + THREADS);
}

/* A cluster's namespaces have places: few have lost theirs, and with it what they owe. */
UNIT_TEST(test_places_for_all_namespaces)
{
    enum { SPACES = 10000 };
    static const struct rate rate = {1, 2};
    CLEANUP(namespace_rate_free_of) struct namespace_rate *limit = namespace_rate_new();
    unsigned lost = 0;
    char label[32];
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < SPACES; i++) {
            (void)snprintf(label, sizeof(label), "team-%u", i); /* fits */
            const struct client_space space = namespace_rate_space(label);
            struct ip ip = ip_from("10.1.0.0");
            memcpy(ip.bytes + 2, &(uint16_t){(uint16_t)i}, sizeof(uint16_t));
            if (pass == 0) {
                (void)namespace_rate_ask(limit, &space, &ip, &rate, START_US, 4);
            } else {
                lost += namespace_rate_left(limit, &space, &ip, &rate, START_US) > 0;
            }
        }
    }
    print_message("%u of %u namespaces have lost their places\n", lost, SPACES);
    assert_true(lost < SPACES / 10);
}
