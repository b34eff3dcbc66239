/* Silences of common/etcd/etcd_catch_up_internal.h. */
#include "common/etcd/etcd_catch_up_internal.h"
#include "tests/support/unit_test.h"

enum { FIRST = ETCD_SILENCE_FIRST_MS };

static struct etcd_silence s;

static int etcd_silence_setup(void **state)
{
    etcd_silence_init(&s);
    etcd_silence_begin(&s);
    return 0;
}

UNIT_TESTS_EACH(etcd_silence_setup, NULL)

/* Makes the watch suspect at the second check: the first is at `now_ms`, the second when the
 * timeout is over. */
static void make_suspect(int64_t store, int64_t heard, int64_t now_ms)
{
    assert_false(etcd_silence_is_suspect(&s, store, heard, now_ms));
    assert_false(etcd_silence_is_suspect(&s, store, heard, now_ms + s.timeout_ms - 1));
    assert_true(etcd_silence_is_suspect(&s, store, heard, now_ms + s.timeout_ms));
}

UNIT_TEST(test_nothing_changed)
{
    assert_false(etcd_silence_is_suspect(&s, 7, 7, 0));
    assert_false(etcd_silence_is_suspect(&s, 7, 7, 1000 * FIRST));
    assert_false(etcd_silence_is_suspect(&s, 7, 9, 2000 * FIRST)); /* the watch was quicker */
}

UNIT_TEST(test_silent)
{
    make_suspect(8, 7, 0);
}

/* However far behind the watch is each time, it moves. */
UNIT_TEST(test_late_but_alive)
{
    for (int64_t i = 0; i < 10; i++) {
        assert_false(etcd_silence_is_suspect(&s, 100 + 10 * i, 90 + 10 * i, i * 10 * FIRST));
    }
    assert_false(etcd_silence_is_suspect(&s, 190, 190, 100 * FIRST));
    assert_int_equal(s.timeout_ms, FIRST);
}

/* A new watch has the whole timeout again. */
UNIT_TEST(test_new_watch)
{
    assert_false(etcd_silence_is_suspect(&s, 8, 7, 0));
    etcd_silence_begin(&s);
    assert_false(etcd_silence_is_suspect(&s, 8, 7, FIRST));
    assert_true(etcd_silence_is_suspect(&s, 8, 7, 2 * FIRST));
}

UNIT_TEST(test_timeout_grows_up_to_a_limit)
{
    int64_t now_ms = 0;
    for (int64_t timeout_ms = FIRST; timeout_ms < ETCD_SILENCE_MAX_MS; timeout_ms *= 2) {
        assert_int_equal(s.timeout_ms, timeout_ms);
        make_suspect(8, 7, now_ms);
        now_ms += 2 * timeout_ms;
    }
    assert_int_equal(s.timeout_ms, ETCD_SILENCE_MAX_MS);
    make_suspect(8, 7, now_ms);
    assert_int_equal(s.timeout_ms, ETCD_SILENCE_MAX_MS);
}

/* Judges a suspicion by what comes after it. */
UNIT_TEST(test_judged)
{
    make_suspect(8, 7, 0);
    etcd_silence_delivered(&s, 9); /* a later change: nothing had been missed */
    assert_int_equal(s.timeout_ms, 2 * FIRST);
    etcd_silence_delivered(&s, 8);
    assert_int_equal(s.timeout_ms, 2 * FIRST);
    make_suspect(12, 9, 10 * FIRST);
    etcd_silence_delivered(&s, 12);
    assert_int_equal(s.timeout_ms, FIRST);
}

/* Until something comes, be it only what was known. */
UNIT_TEST(test_hopeless)
{
    make_suspect(8, 7, 0);
    assert_false(etcd_silence_is_hopeless(&s));
    etcd_silence_begin(&s);
    make_suspect(8, 7, 10 * FIRST);
    assert_true(etcd_silence_is_hopeless(&s));
    etcd_silence_repeated(&s);
    assert_false(etcd_silence_is_hopeless(&s));
    assert_int_equal(s.timeout_ms, 4 * FIRST);
    make_suspect(8, 7, 20 * FIRST);
    assert_false(etcd_silence_is_hopeless(&s));
}
