/* moment.h: what WHEN may be, and which revision that is. */
#include "skydns/past/past_job_internal.h"

#include "skydns/sync/revision_marks.h"
#include "tests/support/unit_test.h"

/* 2026-05-01T12:00:00Z */
static const int64_t now_ms = INT64_C(1777636800000);

UNIT_TEST(test_forms)
{
    static const struct {
        const char *text;
        int64_t revision, before_ms;
    } cases[] = {
        {"1", 1, 0},
        {"123456789012345678", INT64_C(123456789012345678), 0},
        {"0s", 0, 0},
        {"10m", 0, 600000},
        {"1h30m", 0, 5400000},
        {"1.5s", 0, 1500},
        {"2026-05-01T12:00:00Z", 0, 0},
        {"2026-05-01T11:59:59.250Z", 0, 750},
        {"2026-05-01T13:59:00+02:00", 0, 60000},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct moment moment;
        struct err err = {0};
        assert_that(moment_parse(cases[i].text, now_ms, &moment, &err) == 0 &&
                        moment.revision == cases[i].revision &&
                        moment.time_ms == (cases[i].revision ? 0 : now_ms - cases[i].before_ms),
                    "%s: %s", cases[i].text, err.msg);
    }
}

UNIT_TEST(test_nothing_of_these)
{
    static const char *const texts[] = {
        "",
        "0",
        "-1",
        "-10m",
        "10",
        "yesterday",
        "2026-05-01",
        "2026-05-01T12:00:00",
        "1234567890123456789012",
        "10 m",
        " 10m",
        "900000h",
        "2026-05-01T12:00:00Z2026-05-01T12:00:00Z2026-05-01T12:00:00Z2026-05-01T12:00:00Z",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct moment moment;
        struct err err = {0};
        int r = moment_parse(texts[i], now_ms, &moment, &err);
        if (strcmp(texts[i], "10") == 0) {
            assert_int_equal(r, 0); /* a revision */
        } else if (r != ERR_USAGE || !strstr(err.msg, "expected a revision like 1234")) {
            fail_msg("%s: %d %s", texts[i], r, err.msg);
        }
    }
}

UNIT_TEST(test_times_to_come)
{
    struct moment moment;
    struct err err = {0};
    assert_int_equal(moment_parse("2026-05-01T12:00:01Z", now_ms, &moment, &err), ERR_USAGE);
    assert_string_equal(err.msg,
                        "`2026-05-01T12:00:01Z` is still to come: expected a time before now");
}

UNIT_TEST(test_marks)
{
    struct revision_marks *marks = revision_marks_new();
    struct moment_found found;
    const struct moment time = {.time_ms = now_ms}, revision = {.revision = 15};
    assert_false(moment_find(&time, marks, &found));
    assert_true(moment_find(&revision, marks, &found));
    assert_true(found.revision == 15 && !found.has_mark);
    revision_marks_note(marks, now_ms - 5000, 12);
    revision_marks_note(marks, now_ms - 3000, 20);
    assert_true(moment_find(&time, marks, &found));
    assert_true(found.revision == 20 && found.has_mark && found.mark_ms == now_ms - 3000);
    assert_true(moment_find(&revision, marks, &found));
    assert_true(found.revision == 15 && found.mark_revision == 20 &&
                found.mark_ms == now_ms - 3000);
    const struct moment before = {.time_ms = now_ms - 6000};
    assert_false(moment_find(&before, marks, &found));
    revision_marks_free(marks);
}
