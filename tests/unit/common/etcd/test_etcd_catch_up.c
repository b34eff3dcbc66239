/* common/etcd/etcd_catch_up_internal.h, with the clock stopped. */
#include "common/etcd/etcd_catch_up_internal.h"
#include "tests/support/test_clock.h"
#include "tests/support/unit_test.h"

static struct ev_loop *loop;
static struct etcd_catch_up c;
static unsigned done;

static void etcd_catch_up_on_done(void *data)
{
    done++;
}

/* Runs the loop for that time; returns how often it called `done`. */
static unsigned done_after_ms(int64_t ms)
{
    test_clock_advance_ms(ms);
    ev_run(loop, EVRUN_NOWAIT);
    return done;
}

static int etcd_catch_up_setup(void **state)
{
    test_clock_stop();
    loop = ev_loop_new(EVFLAG_AUTO);
    done = 0;
    etcd_catch_up_init(&c, loop, etcd_catch_up_on_done, NULL);
    return 0;
}

static int etcd_catch_up_teardown(void **state)
{
    etcd_catch_up_end(&c);
    ev_loop_destroy(loop);
    return 0;
}

UNIT_TESTS_EACH(etcd_catch_up_setup, etcd_catch_up_teardown)

/* The store has nothing new: at once, but only when the watch is confirmed, and from the loop. */
UNIT_TEST(test_nothing_new)
{
    etcd_catch_up_begin(&c, 7, 7);
    assert_int_equal(done_after_ms(5000), 0);
    etcd_catch_up_confirmed(&c);
    assert_int_equal(done, 0);
    assert_int_equal(done_after_ms(1), 1);
    assert_true(c.is_done);
    etcd_catch_up_reached(&c, 8);
    assert_int_equal(done_after_ms(5000), 1);
}

/* Events reach the target: at once. */
UNIT_TEST(test_events_tell)
{
    etcd_catch_up_begin(&c, 5, 100);
    etcd_catch_up_confirmed(&c);
    etcd_catch_up_reached(&c, 99);
    assert_int_equal(done_after_ms(1), 0);
    etcd_catch_up_reached(&c, 100);
    assert_int_equal(done_after_ms(1), 1);
}

/* No event tells: a quiet time, which each event begins anew. */
UNIT_TEST(test_quiet_time)
{
    etcd_catch_up_begin(&c, 5, 100);
    etcd_catch_up_confirmed(&c);
    for (int64_t reached = 6; reached < 16; reached++) {
        assert_int_equal(done_after_ms(ETCD_CATCH_UP_QUIET_MS - 1), 0);
        etcd_catch_up_reached(&c, reached);
    }
    assert_int_equal(done_after_ms(ETCD_CATCH_UP_QUIET_MS - 1), 0);
    assert_int_equal(done_after_ms(2), 1);
}

UNIT_TEST(test_each_session_anew)
{
    etcd_catch_up_begin(&c, 5, 5);
    etcd_catch_up_confirmed(&c);
    etcd_catch_up_end(&c);
    assert_int_equal(done_after_ms(5000), 0);
    for (unsigned i = 1; i <= 3; i++) {
        etcd_catch_up_begin(&c, 5, 5);
        assert_false(c.is_done);
        etcd_catch_up_confirmed(&c);
        assert_int_equal(done_after_ms(1), i);
        assert_true(c.is_done);
        etcd_catch_up_end(&c);
        assert_false(c.is_done);
    }
}

/* This process was stopped for longer than the quiet time: what arrived meanwhile comes first. */
static void etcd_catch_up_on_input(struct ev_loop *l, ev_timer *timer, int events)
{
    etcd_catch_up_reached(&c, 50);
}

UNIT_TEST(test_input_before_the_timer)
{
    ev_timer input;
    etcd_catch_up_begin(&c, 5, 100);
    etcd_catch_up_confirmed(&c);
    ev_timer_init(&input, etcd_catch_up_on_input, ETCD_CATCH_UP_QUIET_MS / 1000. + 1., 0.);
    ev_timer_start(loop, &input);
    assert_int_equal(done_after_ms(60000), 0);
    assert_int_equal(done_after_ms(ETCD_CATCH_UP_QUIET_MS + 1), 1);
}
