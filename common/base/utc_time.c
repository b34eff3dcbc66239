#include "common/base/utc_time.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

enum { US_PER_S = 1000 * 1000, MS_PER_S = 1000, FRACTION_DIGITS = 6 };

/* Takes a fixed number of digits off the text. Returns false if there are not as many, or if the
 * number is outside of min..max. */
static bool take_number(struct slice *text, size_t digits, int min, int max, int *ret_number)
{
    int number = 0;
    bool is_number = text->len >= digits;
    for (size_t i = 0; i < digits && is_number; i++) {
        is_number = text->ptr[i] >= '0' && text->ptr[i] <= '9';
        number = 10 * number + (text->ptr[i] - '0');
    }
    if (is_number) {
        *text = slice_of(text->ptr + digits, text->len - digits);
        *ret_number = number;
    }
    return is_number && number >= min && number <= max;
}

static bool take_mark(struct slice *text, char mark)
{
    bool is_there = text->len > 0 && text->ptr[0] == mark;
    if (is_there) {
        *text = slice_of(text->ptr + 1, text->len - 1);
    }
    return is_there;
}

/* Takes "2024-05-01T12:00:00". */
static bool take_seconds(struct slice *text, struct tm *ret_time)
{
    bool is_time = take_number(text, 4, 1970, 9999, &ret_time->tm_year) && take_mark(text, '-') &&
                   take_number(text, 2, 1, 12, &ret_time->tm_mon) && take_mark(text, '-') &&
                   take_number(text, 2, 1, 31, &ret_time->tm_mday) && take_mark(text, 'T') &&
                   take_number(text, 2, 0, 23, &ret_time->tm_hour) && take_mark(text, ':') &&
                   take_number(text, 2, 0, 59, &ret_time->tm_min) && take_mark(text, ':') &&
                   take_number(text, 2, 0, 60, &ret_time->tm_sec);
    ret_time->tm_year -= 1900;
    ret_time->tm_mon--;
    return is_time;
}

/* Takes ".123456789", if it is there. */
static bool take_fraction(struct slice *text, int64_t *ret_us)
{
    size_t digits = 0;
    int64_t us = 0;
    if (!take_mark(text, '.')) {
        *ret_us = 0;
        return true;
    }
    while (digits < text->len && text->ptr[digits] >= '0' && text->ptr[digits] <= '9') {
        us = digits < FRACTION_DIGITS ? 10 * us + (text->ptr[digits] - '0') : us;
        digits++;
    }
    for (size_t i = digits; i < FRACTION_DIGITS; i++) {
        us *= 10;
    }
    *text = slice_of(text->ptr + digits, text->len - digits);
    *ret_us = us;
    return digits > 0;
}

/* Takes "Z" or "+02:00", the text's end. */
static bool take_offset(struct slice *text, int64_t *ret_s)
{
    int hours = 0, minutes = 0;
    bool is_utc = take_mark(text, 'Z');
    bool is_west = !is_utc && take_mark(text, '-');
    bool is_offset =
        is_utc || ((is_west || take_mark(text, '+')) && take_number(text, 2, 0, 23, &hours) &&
                   take_mark(text, ':') && take_number(text, 2, 0, 59, &minutes));
    *ret_s = (hours * 60 + minutes) * 60 * (is_west ? -1 : 1);
    return is_offset && text->len == 0;
}

int64_t utc_time_parse_us(struct slice text)
{
    struct tm time = {.tm_isdst = 0};
    int64_t fraction_us = 0, offset_s = 0;
    if (!take_seconds(&text, &time) || !take_fraction(&text, &fraction_us) ||
        !take_offset(&text, &offset_s)) {
        return 0;
    }
    int64_t us = ((int64_t)timegm(&time) - offset_s) * US_PER_S + fraction_us;
    return us > 0 ? us : 0;
}

int64_t utc_time_parse_s(const char *text)
{
    return utc_time_parse_us(slice_str(text)) / US_PER_S;
}

const char *utc_time_text_s(int64_t time_s, char out[UTC_TIME_TEXT_MAX])
{
    const time_t s = (time_t)time_s;
    struct tm time;
    if (!gmtime_r(&s, &time) ||
        strftime(out, sizeof("2024-05-01T12:00:00Z"), "%Y-%m-%dT%H:%M:%SZ", &time) == 0) {
        out[0] = '\0';
    }
    return out;
}

/* Appends "2024-05-01T12:00:00". */
static void append_seconds(int64_t time_s, struct buf *out)
{
    char text[UTC_TIME_TEXT_MAX];
    const size_t len = strcspn(utc_time_text_s(time_s, text), "Z");
    buf_append(out, text, len);
}

void utc_time_append(int64_t time_us, struct buf *out)
{
    append_seconds(time_us / US_PER_S, out);
    buf_printf(out, ".%06" PRId64 "Z", time_us % US_PER_S);
}

void utc_time_append_ms(int64_t time_ms, struct buf *out)
{
    append_seconds(time_ms / MS_PER_S, out);
    buf_printf(out, ".%03" PRId64 "Z", time_ms % MS_PER_S);
}
