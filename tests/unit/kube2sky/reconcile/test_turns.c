/* turns: who is next among those who share. */
#include "kube2sky/reconcile/turns_internal.h"
#include "tests/support/unit_test.h"

enum { QUANTUM = 100 };

static struct turns turns;
static struct turn a, b, c;

static int turns_set_up(void **state)
{
    static char names[] = "abc";
    turns = (struct turns){.quantum = QUANTUM};
    a = (struct turn){.who = &names[0]};
    b = (struct turn){.who = &names[1]};
    c = (struct turn){.who = &names[2]};
    return 0;
}

UNIT_TESTS_EACH(turns_set_up, NULL)

/* Serves the next ones, each time with so much, and returns who they were. */
static const char *turns_serve(unsigned times, int64_t cost)
{
    static char names[64];
    assert_true(times < sizeof(names));
    for (unsigned i = 0; i < times; i++) {
        struct turn *turn = turns_next(&turns);
        turns_charge(turn, cost);
        names[i] = *(const char *)turn->who;
    }
    names[times] = '\0';
    return names;
}

UNIT_TEST(test_equal_ones_take_turns)
{
    assert_null(turns_next(&turns));
    turns_set_work(&turns, &a, true);
    turns_set_work(&turns, &b, true);
    turns_set_work(&turns, &c, true);
    assert_string_equal(turns_serve(7, QUANTUM), "abcabca");
}

UNIT_TEST(test_within_its_credit_it_stays_next)
{
    turns_set_work(&turns, &a, true);
    turns_set_work(&turns, &b, true);
    assert_string_equal(turns_serve(6, QUANTUM / 2), "aabbaa");
}

/* a took what the others get in four rounds. */
UNIT_TEST(test_who_took_much_waits)
{
    turns_set_work(&turns, &a, true);
    turns_set_work(&turns, &b, true);
    assert_string_equal(turns_serve(1, 4 * (int64_t)QUANTUM), "a");
    assert_string_equal(turns_serve(6, QUANTUM), "bbbbab");
}

UNIT_TEST(test_alone_it_does_not_wait)
{
    turns_set_work(&turns, &a, true);
    assert_string_equal(turns_serve(3, 50 * (int64_t)QUANTUM), "aaa");
}

UNIT_TEST(test_who_is_new_comes_first)
{
    turns_set_work(&turns, &a, true);
    turns_set_work(&turns, &b, true);
    assert_string_equal(turns_serve(3, QUANTUM), "aba");
    turns_set_work(&turns, &c, true);
    assert_string_equal(turns_serve(4, QUANTUM), "cbca");
}

/* Whoever asks again and again for little is not new each time. */
UNIT_TEST(test_coming_and_going_gains_nothing)
{
    turns_set_work(&turns, &a, true);
    turns_set_work(&turns, &b, true);
    assert_string_equal(turns_serve(1, 2 * (int64_t)QUANTUM), "a");
    turns_set_work(&turns, &a, false);
    turns_set_work(&turns, &a, true);
    assert_string_equal(turns_serve(3, QUANTUM), "bba");
}

UNIT_TEST(test_being_served_it_is_out_of_the_rounds)
{
    turns_set_work(&turns, &a, true);
    turns_begin(&turns, &a);
    assert_null(turns_next(&turns));
    assert_ptr_equal(turns_next_further(&turns), &a);
    turns_set_work(&turns, &b, true);
    assert_string_equal(turns_serve(2, QUANTUM), "bb");
    turns_set_work(&turns, &a, false);
    assert_false(turns_has_further(&turns));
    turns_set_work(&turns, &a, true);
    turns_end(&turns, &a);
    assert_string_equal(turns_serve(2, QUANTUM), "ab");
}

UNIT_TEST(test_what_is_removed_is_forgotten)
{
    turns_set_work(&turns, &a, true);
    turns_set_work(&turns, &b, true);
    turns_remove(&turns, &a);
    assert_string_equal(turns_serve(2, QUANTUM), "bb");
    turns_set_work(&turns, &b, false);
    assert_null(turns_next(&turns));
    turns_remove(&turns, &b);
}
