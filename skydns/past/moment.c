#include "skydns/past/moment_internal.h"

#include <string.h>

#include "common/base/duration.h"
#include "common/base/utc_time.h"
#include "skydns/sync/revision_marks.h"

enum {
    WHEN_MAX = 64, /* the longest time with its fraction is shorter */
    US_PER_MS = 1000,
    DIGITS_MAX = 18, /* of a number below 2^63 */
};

static bool parse_revision(const char *text, int64_t *ret_revision)
{
    const size_t len = strlen(text);
    int64_t revision = 0;
    if (len == 0 || len > DIGITS_MAX || strspn(text, "0123456789") != len) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        revision = 10 * revision + (text[i] - '0');
    }
    *ret_revision = revision;
    return revision > 0;
}

int moment_parse(const char *text, int64_t now_ms, struct moment *ret, struct err *err)
{
    int64_t age_ms;
    *ret = (struct moment){.revision = 0};
    const bool is_short = strlen(text) <= WHEN_MAX;
    if (is_short && parse_revision(text, &ret->revision)) {
        return 0;
    }
    ret->time_ms = is_short ? utc_time_parse_us(slice_str(text)) / US_PER_MS : 0;
    if (is_short && ret->time_ms == 0 && strcmp(text, "0") != 0 &&
        duration_parse_ms(text, &age_ms) && age_ms >= 0 && age_ms < now_ms) {
        ret->time_ms = now_ms - age_ms;
    }
    if (ret->time_ms > now_ms) {
        return err_set(err, ERR_USAGE, "`%s` is still to come: expected a time before now", text);
    }
    if (ret->time_ms == 0) {
        return err_set(err, ERR_USAGE,
                       "`%.*s`: expected a revision like 1234, a time like 2026-05-01T03:12:00Z or "
                       "an age like 10m",
                       WHEN_MAX, text);
    }
    return 0;
}

bool moment_find(const struct moment *moment, const struct revision_marks *marks,
                 struct moment_found *ret)
{
    const struct revision_mark *mark = moment->revision > 0
                                           ? revision_marks_at_revision(marks, moment->revision)
                                           : revision_marks_at_time(marks, moment->time_ms);
    *ret = (struct moment_found){.revision = moment->revision, .has_mark = mark != NULL};
    if (mark) {
        ret->mark_ms = mark->time_ms;
        ret->mark_revision = mark->revision;
        ret->revision = moment->revision > 0 ? moment->revision : mark->revision;
    }
    return ret->revision > 0;
}
