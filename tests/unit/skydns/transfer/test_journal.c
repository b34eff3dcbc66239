/* skydns/transfer/journal_internal.h and serial.h */
#include "skydns/transfer/journal_internal.h"
#include "skydns/transfer/serial.h"
#include "tests/support/unit_test.h"

static struct journal_bytes account;
static struct journal zone, other;

static int journal_setup(void **state)
{
    account = (struct journal_bytes){.limit = SIZE_MAX};
    journal_init(&zone, &account, 10);
    journal_init(&other, &account, 500);
    return 0;
}

static int journal_teardown(void **state)
{
    journal_fini(&zone);
    journal_fini(&other);
    assert_int_equal(account.all, 0);
    assert_int_equal(account.kept, 0);
    assert_null(account.journals);
    return 0;
}

static void transfer_journal_append(struct journal *journal, uint32_t serial)
{
    journal_append(journal, serial, slice_str("removed"), slice_str("added."));
}

/* RFC 1982, 3.2, and its examples of 32 bits. */
UNIT_TEST(test_serials)
{
    assert_true(serial_is_after(1, 0) && !serial_is_after(0, 1));
    assert_true(serial_is_after(0, UINT32_MAX) && !serial_is_after(UINT32_MAX, 0));
    assert_false(serial_is_after(7, 7));
    assert_true(serial_is_after(UINT32_C(0x7fffffff), 0));
    assert_false(serial_is_after(UINT32_C(0x80000000), 0)); /* no order */
    assert_false(serial_is_after(0, UINT32_C(0x80000000)));
    assert_false(serial_is_after(UINT32_C(0x80000001), 0));
}

/* From any serial and to any plain one, RFC 1982: after it, with the same settings' part. */
UNIT_TEST(test_turns)
{
    const uint32_t shown[] = {0, 7, SERIAL_TURN, UINT32_C(3000000000), UINT32_MAX};
    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
        const uint32_t now = shown[i];
        assert_int_equal(serial_after(now + 1, now), now + 1);
        assert_int_equal(serial_after(now, now), now + SERIAL_TURN);
        assert_int_equal(serial_after(now - 1, now), now - 1 + SERIAL_TURN);
        assert_int_equal(serial_after(now - SERIAL_TURN, now), now + SERIAL_TURN);
        assert_int_equal(serial_after(now - SERIAL_TURN - 5, now), now - 5 + SERIAL_TURN);
        assert_int_equal(serial_after(now + 5 - 9 * SERIAL_TURN, now), now + 5);
    }
}

/* A reader that starts goes on from the serial that a secondary has. */
UNIT_TEST(test_above)
{
    const uint32_t own = UINT32_MAX - 10;
    assert_int_equal(serial_above(own, own), own);
    assert_int_equal(serial_above(own, own - 5), own); /* it has yet to come */
    assert_int_equal(serial_above(own, own + 5), own); /* we have yet to come */
    assert_int_equal(serial_above(own, own + SERIAL_TURN), own + SERIAL_TURN);
    assert_int_equal(serial_above(own, own + SERIAL_TURN - 3), own + SERIAL_TURN);
    assert_int_equal(serial_above(own, own + 2 * SERIAL_TURN + 3), own + 2 * SERIAL_TURN);
    assert_int_equal(serial_above(own, own + SERIAL_STEP), own + SERIAL_TURN); /* other settings */
    assert_int_equal(serial_above(own, own + SERIAL_TURN + 7 * SERIAL_STEP), own + 2 * SERIAL_TURN);
    assert_int_equal(serial_above(own, own + (UINT32_C(1) << 30)), own);
}

/* A reader that hears again goes on with others' turns, if they have its settings. */
UNIT_TEST(test_join)
{
    const uint32_t own = UINT32_MAX - 10;
    const uint32_t near = SERIAL_STEP / 2 - 1;
    assert_int_equal(serial_join(own, own), own);
    assert_int_equal(serial_join(own, own + near), own);
    assert_int_equal(serial_join(own, own - near), own);
    assert_int_equal(serial_join(own, own + SERIAL_TURN), own + SERIAL_TURN);
    assert_int_equal(serial_join(own, own + SERIAL_TURN + near), own + SERIAL_TURN);
    assert_int_equal(serial_join(own, own + SERIAL_TURN - near), own + SERIAL_TURN);
    assert_int_equal(serial_join(own, own + 3 * SERIAL_TURN - 9), own + 3 * SERIAL_TURN);
    assert_int_equal(serial_join(own, own - SERIAL_TURN), own);
    assert_int_equal(serial_join(own, own + SERIAL_STEP), own); /* other settings */
    assert_int_equal(serial_join(own, own + 2 * SERIAL_TURN - SERIAL_STEP), own);
    assert_int_equal(serial_join(own, own + (UINT32_C(1) << 30)), own);
}

UNIT_TEST_IN(test_finds, journal_setup, journal_teardown)
{
    struct journal_step *step = NULL;
    transfer_journal_append(&zone, 12);
    transfer_journal_append(&zone, 15);
    assert_int_equal(journal_find(&zone, 15, &step), JOURNAL_UP_TO_DATE);
    assert_int_equal(journal_find(&zone, 16, &step), JOURNAL_UP_TO_DATE);
    assert_int_equal(journal_find(&zone, 11, &step), JOURNAL_UNKNOWN);
    assert_int_equal(journal_find(&zone, 9, &step), JOURNAL_UNKNOWN);
    assert_int_equal(journal_find(&zone, 10, &step), JOURNAL_FOUND);
    assert_int_equal(step->from, 10);
    assert_int_equal(step->to, 12);
    assert_true(slice_equal(step->removed, slice_str("removed")));
    assert_true(slice_equal(step->added, slice_str("added.")));
    step = journal_next(step);
    assert_int_equal(step->to, 15);
    assert_null(journal_next(step));
}

UNIT_TEST_IN(test_reset, journal_setup, journal_teardown)
{
    struct journal_step *step = NULL;
    transfer_journal_append(&zone, 12);
    journal_reset(&zone, 20);
    assert_int_equal(journal_find(&zone, 10, &step), JOURNAL_UNKNOWN);
    assert_int_equal(journal_find(&zone, 20, &step), JOURNAL_UP_TO_DATE);
    transfer_journal_append(&zone, 21);
    assert_int_equal(journal_find(&zone, 20, &step), JOURNAL_FOUND);
    journal_release(step);
}

/* The oldest step of all zones goes first. */
UNIT_TEST_IN(test_limit, journal_setup, journal_teardown)
{
    struct journal_step *step = NULL;
    transfer_journal_append(&zone, 11);
    size_t one = account.kept;
    transfer_journal_append(&other, 501);
    transfer_journal_append(&zone, 12);
    transfer_journal_append(&zone, 13);
    account.limit = 3 * one;
    transfer_journal_append(&zone, 14); /* 10 to 11 and 500 to 501 go */
    assert_int_equal(account.kept, 3 * one);
    assert_int_equal(account.all, 3 * one);
    assert_int_equal(journal_find(&zone, 10, &step), JOURNAL_UNKNOWN);
    assert_int_equal(journal_find(&other, 500, &step), JOURNAL_UNKNOWN);
    assert_int_equal(journal_find(&zone, 11, &step), JOURNAL_FOUND);
    journal_release(step);
    account.limit = one - 1;
    transfer_journal_append(&zone, 15); /* larger than all there may be */
    assert_int_equal(account.kept, 0);
    assert_int_equal(journal_find(&zone, 15, &step), JOURNAL_UP_TO_DATE);
    assert_int_equal(journal_find(&zone, 14, &step), JOURNAL_UNKNOWN);
}

/* A reader has what followed when it began, whatever is dropped. */
UNIT_TEST_IN(test_reader_keeps_its_steps, journal_setup, journal_teardown)
{
    struct journal_step *step = NULL;
    transfer_journal_append(&zone, 11);
    transfer_journal_append(&zone, 12);
    transfer_journal_append(&zone, 13);
    size_t three = account.all;
    assert_int_equal(journal_find(&zone, 11, &step), JOURNAL_FOUND);
    journal_reset(&zone, 13);
    assert_int_equal(account.kept, 0);
    assert_int_equal(account.all, three / 3 * 2); /* the first is gone */
    transfer_journal_append(&zone, 14);
    assert_int_equal(step->to, 12);
    step = journal_next(step);
    assert_int_equal(step->to, 13);
    assert_int_equal(account.all, three / 3 * 2);
    assert_null(journal_next(step)); /* what came after the reset is another chain */
    assert_int_equal(account.all, three / 3);
}

UNIT_TEST_IN(test_count, journal_setup, journal_teardown)
{
    struct journal_step *step = NULL;
    for (uint32_t i = 1; i <= JOURNAL_STEPS_MAX + 5; i++) {
        journal_append(&zone, 10 + i, slice_of(NULL, 0), slice_of(NULL, 0));
    }
    assert_int_equal(zone.count, JOURNAL_STEPS_MAX);
    assert_int_equal(journal_find(&zone, 14, &step), JOURNAL_UNKNOWN);
    assert_int_equal(journal_find(&zone, 15, &step), JOURNAL_FOUND);
    journal_release(step);
}
