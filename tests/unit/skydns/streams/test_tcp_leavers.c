/* Tests which connections are briefly left unwatched, and that each comes back once. */
#include "skydns/streams/tcp_leavers_internal.h"
#include "tests/support/test_clock.h"
#include "tests/support/unit_test.h"

struct fixture {
    struct ev_loop *loop;
    struct tcp_leavers *leavers;
    uint32_t next; /* the next slot to come back */
};

static void tcp_leavers_on_leaver(void *data, struct tcp_ref connection)
{
    struct fixture *f = data;
    assert_int_equal(connection.slot, f->next++);
    assert_int_equal(connection.generation, 7);
}

static void tcp_leavers_setup(struct fixture *f)
{
    *f = (struct fixture){.loop = ev_loop_new(EVFLAG_AUTO)};
    f->leavers = tcp_leavers_new(f->loop, tcp_leavers_on_leaver, f);
}

static void tcp_leavers_teardown(struct fixture *f)
{
    test_clock_run();
    tcp_leavers_free(f->leavers);
    ev_loop_destroy(f->loop);
}

UNIT_FIXTURE(struct fixture, tcp_leavers_setup, tcp_leavers_teardown)

static bool streams_tcp_leavers_take(struct fixture *f, uint32_t slot)
{
    return tcp_leavers_take(f->leavers, (struct tcp_ref){.slot = slot, .generation = 7});
}

static void streams_tcp_leavers_learn(struct fixture *f, unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        tcp_leavers_learn(f->leavers, true);
    }
}

UNIT_TEST_ON(test_learns_from_those_before, struct fixture *f)
{
    assert_false(streams_tcp_leavers_take(f, 0));
    streams_tcp_leavers_learn(f, TCP_LEAVERS_LEARNT - 1);
    assert_false(streams_tcp_leavers_take(f, 0));
    streams_tcp_leavers_learn(f, 1);
    assert_true(streams_tcp_leavers_take(f, 0));
    tcp_leavers_learn(f->leavers, false);
    assert_false(streams_tcp_leavers_take(f, 1));
    streams_tcp_leavers_learn(f, TCP_LEAVERS_LEARNT);
    assert_true(streams_tcp_leavers_take(f, 1));
    ev_run(f->loop, 0); /* until no timer is left */
    assert_int_equal(f->next, 2);
}

UNIT_TEST_ON(test_comes_back_in_turn_and_not_early, struct fixture *f)
{
    streams_tcp_leavers_learn(f, TCP_LEAVERS_LEARNT);
    test_clock_stop();
    for (int round = 0; round < 3; round++) { /* the ring wraps around */
        uint32_t first = f->next;
        for (uint32_t i = 0; i < TCP_LEAVERS_MAX; i++) {
            assert_true(streams_tcp_leavers_take(f, first + i));
        }
        assert_false(streams_tcp_leavers_take(f, 0)); /* no room */
        ev_run(f->loop, EVRUN_NOWAIT);
        assert_int_equal(f->next, first);
        test_clock_advance_ms(TCP_LEAVE_MS + 1);
        ev_run(f->loop, EVRUN_NOWAIT);
        assert_int_equal(f->next, first + TCP_LEAVERS_MAX);
    }
}

/* A wall clock that is set back delays none: here it falls behind by a minute. */
UNIT_TEST_ON(test_whatever_the_wall_clock_says, struct fixture *f)
{
    enum { MINUTE_MS = 60000 };
    streams_tcp_leavers_learn(f, TCP_LEAVERS_LEARNT);
    test_clock_stop();
    assert_true(streams_tcp_leavers_take(f, 0));
    test_clock_advance_ms(MINUTE_MS);
    ev_run(f->loop, EVRUN_NOWAIT);
    assert_int_equal(f->next, 1);
}

UNIT_TEST_ON(test_freed_while_one_is_out, struct fixture *f)
{
    streams_tcp_leavers_learn(f, TCP_LEAVERS_LEARNT);
    assert_true(streams_tcp_leavers_take(f, 0));
    tcp_leavers_free(f->leavers);
    f->leavers = NULL;
    ev_run(f->loop, 0);
    assert_int_equal(f->next, 0);
}
