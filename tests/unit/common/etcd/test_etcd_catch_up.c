/* common/etcd/etcd_catch_up_internal.h, with the clock stopped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/etcd/etcd_catch_up_internal.h"
#include "tests/support/test_clock.h"

static struct ev_loop *loop;
static struct etcd_catch_up c;
static unsigned done;

static void on_done(void *data)
{
    (void)data;
    done++;
}

/* What the loop does within that time. */
static unsigned done_after_ms(int64_t ms)
{
    test_clock_advance_ms(ms);
    ev_run(loop, EVRUN_NOWAIT);
    return done;
}

static int setup(void **state)
{
    (void)state;
    test_clock_stop();
    loop = ev_loop_new(EVFLAG_AUTO);
    done = 0;
    etcd_catch_up_init(&c, loop, on_done, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    etcd_catch_up_end(&c);
    ev_loop_destroy(loop);
    return 0;
}

/* The store has nothing new: at once, but only when the watch is confirmed, and from the loop. */
static void test_nothing_new(void **state)
{
    (void)state;
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
static void test_events_tell(void **state)
{
    (void)state;
    etcd_catch_up_begin(&c, 5, 100);
    etcd_catch_up_confirmed(&c);
    etcd_catch_up_reached(&c, 99);
    assert_int_equal(done_after_ms(1), 0);
    etcd_catch_up_reached(&c, 100);
    assert_int_equal(done_after_ms(1), 1);
}

/* No event tells: a quiet time, which each event begins anew. */
static void test_quiet_time(void **state)
{
    (void)state;
    etcd_catch_up_begin(&c, 5, 100);
    etcd_catch_up_confirmed(&c);
    for (int64_t reached = 6; reached < 16; reached++) {
        assert_int_equal(done_after_ms(ETCD_CATCH_UP_QUIET_MS - 1), 0);
        etcd_catch_up_reached(&c, reached);
    }
    assert_int_equal(done_after_ms(ETCD_CATCH_UP_QUIET_MS - 1), 0);
    assert_int_equal(done_after_ms(2), 1);
}

static void test_each_session_anew(void **state)
{
    (void)state;
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
static void on_input(struct ev_loop *l, ev_timer *timer, int events)
{
    (void)l;
    (void)timer;
    (void)events;
    etcd_catch_up_reached(&c, 50);
}

static void test_input_before_the_timer(void **state)
{
    (void)state;
    ev_timer input;
    etcd_catch_up_begin(&c, 5, 100);
    etcd_catch_up_confirmed(&c);
    ev_timer_init(&input, on_input, ETCD_CATCH_UP_QUIET_MS / 1000. + 1., 0.);
    ev_timer_start(loop, &input);
    assert_int_equal(done_after_ms(60000), 0);
    assert_int_equal(done_after_ms(ETCD_CATCH_UP_QUIET_MS + 1), 1);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_new),
        TEST(test_events_tell),
        TEST(test_quiet_time),
        TEST(test_each_session_anew),
        TEST(test_input_before_the_timer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
