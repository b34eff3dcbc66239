/* outage: which source is away and why, when it is overdue, and the log lines about it. */
#include "common/base/outage.h"

#include <errno.h>

#include "tests/support/log_capture.h"
#include "tests/support/test_clock.h"
#include "tests/support/unit_test.h"

/* Captures stderr between outage_set_up and outage_tear_down. */
struct fixture {
    struct ev_loop *loop;
    struct outage outage;
    struct outage_source followed;
    struct outage_source written;
    struct log_capture log;
};

static const char *outage_endpoint(const void *data)
{
    return data;
}

/* Both sources; the first is away. */
static void outage_set_up(struct fixture *f, int64_t timeout_ms)
{
    *f = (struct fixture){
        .loop = ev_loop_new(EVFLAG_AUTO),
        .followed = {.away_line = "cannot follow",
                     .back_line = "is followed",
                     .endpoint = outage_endpoint,
                     .data = "http://here:1"},
        .written = {.away_line = "cannot write", .back_line = "is written", .kind = "keys"},
    };
    outage_init(&f->outage, f->loop, "etcd", timeout_ms, "trying on");
    outage_join(&f->outage, &f->followed, true);
    outage_join(&f->outage, &f->written, false);
    log_capture_begin(&f->log);
}

/* How often the text occurs in the log. */
static int outage_tear_down(struct fixture *f, int want_lines)
{
    log_capture_end(&f->log);
    assert_int_equal(log_occurrences(f->log.text, "\n"), want_lines);
    outage_fini(&f->outage);
    ev_loop_destroy(f->loop);
    return 0;
}

static struct err err_of(int code, const char *text)
{
    struct err err;
    (void)err_set(&err, code, "%s", text);
    return err;
}

UNIT_TEST(test_away_until_all_are_back)
{
    struct fixture f;
    struct err lost = err_of(ERR_UNAVAILABLE, "lost"), no = err_of(ERR_REFUSED, "no");
    outage_set_up(&f, 60000);
    assert_true(outage_is_away(&f.outage));
    assert_string_equal(outage_why(&f.outage), "");
    outage_away(&f.followed, &lost);
    assert_string_equal(outage_why(&f.outage), "lost");
    outage_away(&f.written, &no);
    assert_string_equal(outage_why(&f.outage), "no"); /* the latest */
    outage_back(&f.followed);
    assert_true(outage_is_away(&f.outage));
    assert_string_equal(outage_why(&f.outage), "no");
    outage_back(&f.written);
    outage_back(&f.written);
    assert_false(outage_is_away(&f.outage));
    assert_string_equal(outage_why(&f.outage), "");
    outage_tear_down(&f, 4);
    assert_int_equal(log_occurrences(f.log.text, " cannot follow reason=lost\n"), 1);
    assert_int_equal(log_occurrences(f.log.text, " cannot write kind=keys reason=no\n"), 1);
    assert_int_equal(log_occurrences(f.log.text, " is followed after_ms="), 1);
    assert_int_equal(log_occurrences(f.log.text, " endpoint=http://here:1\n"), 1);
    assert_int_equal(log_occurrences(f.log.text, " is written kind=keys after_ms="), 1);
}

UNIT_TEST(test_returns_are_counted_by_the_first_reason)
{
    struct fixture f;
    struct err lost = err_of(-ECONNREFUSED, "lost"), silent = err_of(ERR_TIMEOUT, "silent");
    outage_set_up(&f, 60000);
    outage_away(&f.followed, &lost);
    outage_back(&f.followed); /* the first time: not a return */
    assert_int_equal(f.followed.returns[OUTAGE_UNAVAILABLE], 0);
    outage_away(&f.followed, &lost);
    outage_away(&f.followed, &silent);
    outage_back(&f.followed);
    outage_away(&f.followed, &silent);
    outage_back(&f.followed);
    assert_int_equal(f.followed.returns[OUTAGE_UNAVAILABLE], 1);
    assert_int_equal(f.followed.returns[OUTAGE_TIMEOUT], 1);
    outage_tear_down(&f, 7);
}

UNIT_TEST(test_nothing_is_said_twice)
{
    struct fixture f;
    struct err lost = err_of(ERR_UNAVAILABLE, "lost"), silent = err_of(ERR_TIMEOUT, "silent");
    outage_set_up(&f, 60000);
    for (int i = 0; i < 1000; i++) {
        outage_away(&f.followed, &lost);
        outage_away(&f.followed, &silent);
    }
    outage_tear_down(&f, 2);
}

UNIT_TEST(test_a_flapping_source_is_cut_off)
{
    struct fixture f;
    struct err lost = err_of(ERR_UNAVAILABLE, "lost");
    outage_set_up(&f, 60000);
    outage_back(&f.followed);
    for (int i = 0; i < 1000; i++) {
        outage_away(&f.followed, &lost);
        outage_back(&f.followed);
    }
    log_capture_end(&f.log);
    int away = log_occurrences(f.log.text, "cannot follow"),
        back = log_occurrences(f.log.text, "followed");
    assert_in_range(away, 10, 20); /* ten a minute, and the test may span two */
    assert_int_equal(back, away + 1);
    assert_int_equal(f.followed.returns[OUTAGE_UNAVAILABLE], 1000);
    outage_fini(&f.outage);
    ev_loop_destroy(f.loop);
}

UNIT_TEST(test_overdue_once_an_outage)
{
    struct fixture f;
    struct err lost = err_of(ERR_UNAVAILABLE, "lost"), no = err_of(ERR_REFUSED, "no");
    CLEANUP_BUF struct buf out = buf_of(1024);
    outage_set_up(&f, 1);
    outage_away(&f.followed, &lost);
    assert_false(outage_explain_overdue(&f.outage, &out));
    ev_run(f.loop, 0); /* returns when no timer is left */
    assert_true(f.outage.is_overdue);
    outage_away(&f.written, &no);
    outage_back(&f.followed);
    ev_run(f.loop, 0);
    assert_true(outage_explain_overdue(&f.outage, &out));
    assert_non_null(strstr(buf_cstr(&out), "etcd has been failing for more than 1 ms: no (for "));
    outage_back(&f.written);
    assert_false(f.outage.is_overdue);
    buf_clear(&out);
    assert_false(outage_explain_overdue(&f.outage, &out));
    assert_int_equal(out.len, 0);
    outage_away(&f.written, &no);
    ev_run(f.loop, 0);
    assert_true(f.outage.is_overdue);
    outage_tear_down(&f, 7);
    assert_int_equal(log_occurrences(f.log.text, "error "), 2);
    assert_int_equal(log_occurrences(f.log.text, " trying on timeout_ms=1 reason=lost\n"), 1);
}

/* The reason of the last attempt, how long it has been this one, and how long the outage lasts. */
UNIT_TEST(test_the_current_reason)
{
    struct fixture f;
    struct err lost = err_of(ERR_UNAVAILABLE, "lost"), refused = err_of(ERR_UNAVAILABLE, "refused");
    CLEANUP_BUF struct buf out = buf_of(1024);
    test_clock_stop();
    outage_set_up(&f, 60000);
    outage_explain(&f.outage, &out);
    assert_string_equal(buf_cstr(&out), ""); /* away, but nobody knows why */
    outage_back(&f.followed);
    outage_away(&f.written, &lost); /* and tries no more until the other is back */
    outage_away(&f.followed, &lost);
    test_clock_advance_ms(2000);
    outage_explain(&f.outage, &out);
    assert_string_equal(buf_cstr(&out), ": lost (for 2 s)");
    outage_away(&f.followed, &refused);
    test_clock_advance_ms(4000);
    outage_away(&f.followed, &refused);
    buf_clear(&out);
    outage_explain(&f.outage, &out);
    assert_string_equal(buf_cstr(&out), ": refused (for 4 s, 6 s in all)");
    test_clock_advance_ms(120000); /* no line repeats within an outage */
    outage_away(&f.followed, &refused);
    outage_back(&f.followed);
    buf_clear(&out);
    outage_explain(&f.outage, &out);
    assert_string_equal(buf_cstr(&out), ": lost (for 126 s)");
    outage_away(&f.followed, &refused); /* another one */
    outage_tear_down(&f, 6);
    test_clock_run();
    assert_int_equal(log_occurrences(f.log.text, " cannot follow reason=lost\n"), 1);
    assert_int_equal(log_occurrences(f.log.text, " cannot follow reason=refused after_ms=2000\n"),
                     1);
    assert_int_equal(log_occurrences(f.log.text, " cannot follow reason=refused\n"), 1);
}

static void outage_count(void *data)
{
    ++*(int *)data;
}

UNIT_TEST(test_who_wants_to_know_is_told_once_an_outage)
{
    struct fixture f;
    int times = 0;
    struct err lost = err_of(ERR_UNAVAILABLE, "lost");
    outage_set_up(&f, 1);
    outage_when_overdue(&f.outage, outage_count, &times);
    outage_away(&f.followed, &lost);
    assert_int_equal(times, 0);
    ev_run(f.loop, 0);
    outage_away(&f.written, &lost);
    ev_run(f.loop, 0);
    assert_int_equal(times, 1);
    outage_back(&f.followed);
    outage_back(&f.written);
    outage_away(&f.written, &lost);
    ev_run(f.loop, 0);
    assert_int_equal(times, 2);
    outage_tear_down(&f, 7);
}

/* A source that has not failed yet may just be slow. */
UNIT_TEST(test_overdue_without_a_reason)
{
    struct fixture f;
    int times = 0;
    struct err lost = err_of(ERR_UNAVAILABLE, "lost");
    outage_set_up(&f, 1);
    outage_when_overdue(&f.outage, outage_count, &times);
    ev_run(f.loop, 0);
    assert_true(f.outage.is_overdue);
    assert_int_equal(times, 0);
    outage_away(&f.followed, &lost);
    outage_away(&f.followed, &lost);
    assert_int_equal(times, 1);
    outage_tear_down(&f, 2);
    assert_int_equal(log_occurrences(f.log.text, " trying on timeout_ms=1 reason=lost\n"), 1);
}

UNIT_TEST(test_who_leaves_is_not_away)
{
    struct fixture f;
    outage_set_up(&f, 60000);
    outage_leave(&f.followed);
    assert_false(outage_is_away(&f.outage));
    ev_run(f.loop, 0); /* no timer is left */
    outage_leave(&f.written);
    assert_false(outage_is_away(&f.outage));
    outage_tear_down(&f, 0);
}

UNIT_TEST(test_reason_classes)
{
    static const struct {
        int code;
        const char *want;
    } rows[] = {
        {ERR_UNAVAILABLE, "unavailable"}, {-ECONNRESET, "unavailable"},
        {ERR_TIMEOUT, "timeout"},         {ERR_REFUSED, "refused"},
        {ERR_SHUT_OUT, "refused"},        {ERR_PROTOCOL, "protocol"},
        {ERR_SYNTAX, "protocol"},         {ERR_TOO_LARGE, "protocol"},
        {ERR_COMPACTED, "other"},         {0, "other"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_string_equal(outage_reason_name(outage_reason_of(rows[i].code)), rows[i].want);
    }
}
