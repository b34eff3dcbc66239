/* revision_marks.h: one a second, for a day; the clock set back; what snapshots hold. */
#include "skydns/sync/revision_marks.h"

#include "common/base/buf.h"
#include "tests/support/unit_test.h"

enum { SAVED_MAX = 4 * 1024 * 1024 };

static const int64_t start_ms = INT64_C(1700000000000);

/* Returns the revision at a time, 0 if no mark is that old. */
static int64_t marked_at(const struct revision_marks *marks, int64_t after_ms)
{
    const struct revision_mark *mark = revision_marks_at_time(marks, start_ms + after_ms);
    return mark ? mark->revision : 0;
}

/* Returns when the revision was reached, -1: no mark says. */
static int64_t reached_after(const struct revision_marks *marks, int64_t revision)
{
    const struct revision_mark *mark = revision_marks_at_revision(marks, revision);
    return mark ? mark->time_ms - start_ms : -1;
}

UNIT_FIXTURE_MADE(revision_marks_new(), revision_marks_free)

UNIT_TEST_ON(test_times_and_revisions, struct revision_marks *marks)
{
    assert_int_equal(marked_at(marks, 0), 0);
    assert_int_equal(reached_after(marks, 1), -1);
    revision_marks_note(marks, start_ms, 10);
    revision_marks_note(marks, start_ms + 5000, 10); /* nothing changed */
    revision_marks_note(marks, start_ms + 9000, 12);
    assert_int_equal(revision_marks_count(marks), 2);
    assert_int_equal(marked_at(marks, -1), 0);
    assert_int_equal(marked_at(marks, 0), 10);
    assert_int_equal(marked_at(marks, 8999), 10);
    assert_int_equal(marked_at(marks, 9000), 12);
    assert_int_equal(revision_marks_at_time(marks, INT64_MAX)->revision, 12);
    assert_int_equal(reached_after(marks, 1), 0);
    assert_int_equal(reached_after(marks, 11), 9000);
    assert_int_equal(reached_after(marks, 12), 9000);
    assert_int_equal(reached_after(marks, 13), -1);
    revision_marks_clear(marks);
    assert_int_equal(marked_at(marks, 10000), 0);
}

/* The last revision of a second counts, so that none is lost when nothing follows. */
UNIT_TEST_ON(test_one_a_second, struct revision_marks *marks)
{
    for (int64_t i = 0; i < 100; i++) {
        revision_marks_note(marks, start_ms + 100 * i, 1 + i);
    }
    assert_int_equal(revision_marks_count(marks), 10);
    for (int64_t s = 0; s < 10; s++) {
        assert_int_equal(marked_at(marks, 1000 * s + 999), 10 * (s + 1));
    }
}

UNIT_TEST_ON(test_a_day, struct revision_marks *marks)
{
    const int64_t total = REVISION_MARKS_MAX + 5000;
    for (int64_t i = 0; i < total; i++) {
        revision_marks_note(marks, start_ms + 1000 * i, 1 + i);
    }
    assert_int_equal(revision_marks_count(marks), REVISION_MARKS_MAX);
    const int64_t oldest = total - REVISION_MARKS_MAX;
    assert_int_equal(marked_at(marks, 1000 * oldest), 1 + oldest);
    assert_int_equal(marked_at(marks, 1000 * oldest - 1), 0);
    /* A quiet store keeps the mark that holds at the beginning of the day. */
    revision_marks_note(marks, start_ms + 1000 * total + 2 * (int64_t)REVISION_MARKS_AGE_MS,
                        total + 1);
    assert_int_equal(revision_marks_count(marks), 2);
    assert_int_equal(marked_at(marks, 1000 * total), total);
}

UNIT_TEST_ON(test_a_clock_set_back, struct revision_marks *marks)
{
    revision_marks_note(marks, start_ms, 10);
    revision_marks_note(marks, start_ms + 60000, 20);
    revision_marks_note(marks, start_ms + 30000, 30);
    assert_int_equal(marked_at(marks, 29999), 10);
    assert_int_equal(marked_at(marks, 70000), 30);
}

UNIT_TEST_ON(test_another_data_set, struct revision_marks *marks)
{
    revision_marks_note(marks, start_ms, 10);
    revision_marks_note(marks, start_ms + 2000, 5);
    assert_int_equal(marked_at(marks, 1999), 0);
    assert_int_equal(marked_at(marks, 2000), 5);
}

UNIT_TEST(test_snapshots)
{
    struct revision_marks *marks = revision_marks_new(), *again = revision_marks_new();
    CLEANUP_BUF struct buf saved = buf_of(SAVED_MAX);
    assert_true(revision_marks_is_saved(buf_slice(&saved)));
    for (int64_t i = 0; i < 1000; i++) {
        revision_marks_note(marks, start_ms + 1500 * i, 3 * i + 1);
    }
    revision_marks_save(marks, &saved);
    assert_int_equal(saved.len, 16000);
    assert_true(revision_marks_is_saved(buf_slice(&saved)));
    revision_marks_load(again, buf_slice(&saved));
    assert_int_equal(revision_marks_count(again), 1000);
    for (int64_t i = 0; i < 1000; i++) {
        assert_int_equal(marked_at(again, 1500 * i), 3 * i + 1);
    }
    assert_false(revision_marks_is_saved(slice_of(saved.data, saved.len - 1)));
    saved.data[24] ^= 0x80; /* a revision below 0 */
    assert_false(revision_marks_is_saved(buf_slice(&saved)));
    buf_clear(&saved);
    for (unsigned i = 0; i < 2; i++) { /* two in a second */
        buf_append_u64(&saved, (uint64_t)start_ms + i);
        buf_append_u64(&saved, 7 + i);
    }
    assert_false(revision_marks_is_saved(buf_slice(&saved)));
    revision_marks_free(again);
    revision_marks_free(marks);
}
