/* Tests what the log says when the wall clock jumps. The test advances the monotonic clock alone,
 * beside which the wall clock goes back; and lets it catch up. */
#include "skydns/config/dnssec_files.h"
#include "tests/support/log_capture.h"
#include "tests/support/test_clock.h"
#include "tests/support/unit_test.h"

struct fixture {
    struct ev_loop *loop;
    struct clock_watch *watch;
    struct log_capture capture;
};

static struct fixture fixture;

static int clock_watch_setup(void **state)
{
    fixture.loop = ev_loop_new(0);
    fixture.watch = clock_watch_new(fixture.loop);
    test_clock_stop();
    *state = &fixture;
    return 0;
}

static int clock_watch_teardown(void **state)
{
    struct fixture *f = *state;
    test_clock_run();
    clock_watch_free(f->watch);
    clock_watch_free(NULL);
    ev_loop_destroy(f->loop);
    return 0;
}

UNIT_TESTS_EACH(clock_watch_setup, clock_watch_teardown)

static const char *log_after(struct fixture *f, int64_t ms)
{
    log_capture_begin(&f->capture);
    test_clock_advance_ms(ms);
    ev_run(f->loop, EVRUN_NOWAIT);
    return log_capture_end(&f->capture);
}

UNIT_TEST_ON(test_jump, struct fixture *f)
{
    clock_watch_turn(f->watch, true);
    const char *log = log_after(f, 7261000);
    assert_int_equal(log_occurrences(log, "the wall clock jumped"), 1);
    assert_int_equal(log_occurrences(log, " seconds=-72"), 1);
    assert_int_equal(log_occurrences(log, " from=2"), 1);
    assert_int_equal(log_occurrences(log, " to=2"), 1);
    assert_string_equal(log_after(f, 1000), ""); /* once */
}

UNIT_TEST_ON(test_small_steps, struct fixture *f)
{
    clock_watch_turn(f->watch, true);
    clock_watch_turn(f->watch, true);
    for (int i = 0; i < 10; i++) {
        assert_string_equal(log_after(f, 30000), "");
    }
}

UNIT_TEST_ON(test_off, struct fixture *f)
{
    assert_string_equal(log_after(f, 7200000), "");
    clock_watch_turn(f->watch, true);
    clock_watch_turn(f->watch, false);
    assert_string_equal(log_after(f, 7200000), "");
    clock_watch_turn(f->watch, true); /* looks from now on */
    assert_string_equal(log_after(f, 1000), "");
}
