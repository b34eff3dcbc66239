#include "common/live/live_form.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/attributes.h"
#include "common/base/duration.h"

/* ---- How figures are written ---- */

/* Keeps what a peer sends within an integer. */
static const double seconds_max = 1e10;

static long long whole_seconds(double seconds)
{
    return (long long)(seconds < 0 ? 0 : seconds < seconds_max ? seconds : seconds_max);
}

/* Writes the two largest units, each behind its number and `gap`; one for less than a minute. */
static void write_units(long long s, const char *gap, const char *between, char out[LIVE_TIME_MAX])
{
    static const struct {
        long long seconds, part;
        const char *units;
    } sizes[] = {{86400, 3600, "dh"}, {3600, 60, "hm"}, {60, 1, "ms"}};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        if (s >= sizes[i].seconds) {
            (void)snprintf(out, LIVE_TIME_MAX, "%lld%s%c%s%lld%s%c", s / sizes[i].seconds, gap,
                           sizes[i].units[0], between, s % sizes[i].seconds / sizes[i].part, gap,
                           sizes[i].units[1]);
            return;
        }
    }
    (void)snprintf(out, LIVE_TIME_MAX, "%lld%ss", s, gap);
}

const char *live_form_age(double seconds, char out[LIVE_TIME_MAX])
{
    write_units(whole_seconds(seconds), "", " ", out);
    return out;
}

const char *live_form_clock(double time_ms, char out[LIVE_TIME_MAX])
{
    double seconds = time_ms / 1000;
    time_t time = (time_t)(seconds > 0 && seconds < seconds_max ? seconds : 0);
    struct tm parts = {0};
    (void)gmtime_r(&time, &parts); /* within its range */
    (void)snprintf(out, LIVE_TIME_MAX, "%02d:%02d:%02d", parts.tm_hour, parts.tm_min, parts.tm_sec);
    return out;
}

const char *live_form_rate(double rate, char out[LIVE_TIME_MAX])
{
    if (rate < 0) {
        (void)snprintf(out, LIVE_TIME_MAX, "-");
    } else {
        (void)snprintf(out, LIVE_TIME_MAX, rate < 1e9 ? "%.1f" : "%.3g", rate);
    }
    return out;
}

const char *live_form_micros(double us, char out[LIVE_TIME_MAX])
{
    if (us < 0) {
        (void)snprintf(out, LIVE_TIME_MAX, "-");
    } else if (us < 1000) {
        (void)snprintf(out, LIVE_TIME_MAX, "%.0fus", us);
    } else if (us < 1e6) {
        (void)snprintf(out, LIVE_TIME_MAX, "%.1fms", us / 1000);
    } else {
        (void)snprintf(out, LIVE_TIME_MAX, "%.3gs", us / 1e6);
    }
    return out;
}

/* Bounds the buckets: more are not ours. */
enum { BUCKETS_MAX = 64 };

/* Returns the time within which that part of what buckets have counted since `past` lies, in one
 * step of them; negative: nothing was counted. */
static double within_us(const struct live_scope *at, double part)
{
    const struct live_node *bounds = live_get(at->now, "bounds_us");
    const struct live_node *counts = live_get(at->now, "counts");
    const struct live_node *counts_past = live_get(at->past, "counts");
    size_t count = live_count(counts) < BUCKETS_MAX ? live_count(counts) : BUCKETS_MAX;
    double counted[BUCKETS_MAX], all = 0, sum = 0;
    for (size_t i = 0; i < count; i++) {
        double more = live_number_at(counts, i) - live_number_at(counts_past, i);
        counted[i] = more > 0 ? more : 0;
        all += counted[i];
    }
    for (size_t i = 0; i < count && all > 0; i++) {
        sum += counted[i];
        if (sum >= all * part) {
            bool is_longer = i >= live_count(bounds);
            return is_longer ? live_number_at(bounds, live_count(bounds) - 1) * 2
                             : live_number_at(bounds, i);
        }
    }
    return -1;
}

/* ---- Paths ---- */

/* Strips each ^ off the path; returns the scope where the rest of it begins. */
static const struct live_scope *scope_of_path(const struct live_scope *scope, const char **path)
{
    for (; **path == '^'; (*path)++) {
        assert(scope->around);
        scope = scope->around;
    }
    return scope;
}

/* Returns the scope at the path; what surrounds it stays. */
static struct live_scope scope_at(const struct live_scope *scope, const char *path)
{
    scope = scope_of_path(scope, &path);
    struct live_scope value = *scope;
    value.now = live_find(scope->now, path);
    value.before = live_find(scope->before, path);
    value.past = live_find(scope->past, path);
    return value;
}

bool live_scope_item(const struct live_scope *around, const char *path, size_t index,
                     struct live_scope *ret_item)
{
    size_t len = strlen(path);
    struct live_scope at = scope_at(around, path);
    const char *member = NULL;
    if (path[len - 1] == '/') {
        member = live_next_name(at.now, index ? ret_item->member : NULL);
        at.now = member ? live_get(at.now, member) : NULL;
        at.before = live_get(at.before, member);
        at.past = live_get(at.past, member);
    } else if (!live_is_object(at.now)) {
        at = (struct live_scope){.now = live_at(at.now, index)};
    } else if (index > 0) {
        return false;
    }
    at.member = member;
    at.index = index;
    at.around = around;
    *ret_item = at;
    return at.now != NULL;
}

/* ---- Values ---- */

struct form {
    const struct live_model *model; /* NULL: a page */
    struct buf *out;
};

/* Names a way to write a number, by a word; 0 is that of no other. */
enum way {
    WAY_NUMBER,
    WAY_AGE,
    WAY_LONG,
    WAY_MS,
    WAY_S,
    WAY_CLOCK,
    WAY_MICROS,
    WAY_RATE,
    WAY_PART
};

static const struct {
    const char *word;
    enum way way;
    double by; /* the number is multiplied with it; WAY_PART: which part */
} ways[] = {
    {"", WAY_NUMBER, 1},
    {"age", WAY_AGE, 1},       /* "3d 4h" */
    {"age_ms", WAY_AGE, 1e-3}, /* the same of milliseconds */
    {"long", WAY_LONG, 1},     /* "3 d 4 h" */
    {"ms", WAY_MS, 1},         /* "1m30s500ms" */
    {"s", WAY_S, 1},           /* the same of seconds */
    {"clock", WAY_CLOCK, 1},   /* "12:34:56", of Unix milliseconds */
    {"micros", WAY_MICROS, 1}, /* "1.6ms", "-" if absent */
    {"rate", WAY_RATE, 1},     /* of a counter, a second: "1234.5", "-" if not known */
    {"half", WAY_PART, 0.5},   /* of an object {"bounds_us":[...],"counts":[...]}: the time */
    {"most", WAY_PART, 0.9},   /* within which that part of what was counted lately lies */
    {"nearly", WAY_PART, 0.99},
};

static double rate_of(const struct form *form, const struct live_scope *at)
{
    return form->model
               ? live_model_rate_of(form->model, live_value(at->now, 0), live_value(at->before, 0))
               : -1;
}

/* Has room for any number without an exponent. */
enum { FIGURE_MAX = 512 };

static void format_figure(const struct form *form, const struct live_scope *at, size_t way,
                          char figure[FIGURE_MAX])
{
    double value = live_value(at->now, 0) * ways[way].by;
    switch (ways[way].way) {
    case WAY_NUMBER:
        (void)snprintf(figure, FIGURE_MAX, "%.0f", value);
        break;
    case WAY_AGE:
        (void)live_form_age(value, figure);
        break;
    case WAY_LONG:
        write_units(whole_seconds(value), " ", " ", figure);
        break;
    case WAY_MS:
        (void)duration_text((int64_t)value, figure);
        break;
    case WAY_S:
        (void)duration_text_s((int64_t)value, figure);
        break;
    case WAY_CLOCK:
        (void)live_form_clock(value, figure);
        break;
    case WAY_MICROS:
        (void)live_form_micros(live_value(at->now, -1), figure);
        break;
    case WAY_RATE:
        (void)live_form_rate(rate_of(form, at), figure);
        break;
    case WAY_PART:
        (void)live_form_micros(within_us(at, ways[way].by), figure);
        break;
    }
}

/* Appends the text with `?` for what is not ASCII. U+FFFD, which stands in JSON for a byte that is
 * no UTF-8, becomes one `?`. */
static void append_plain(struct buf *out, struct slice text)
{
    static const char replaced[] = "\xef\xbf\xbd";
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        buf_append_char(out, c >= ' ' && c <= '~' ? c : '?');
        if (slice_has_prefix(slice_of(text.ptr + i, text.len - i), slice_str(replaced))) {
            i += 2;
        }
    }
}

static void append_form_text(const struct form *form, struct slice text)
{
    if (form->model) {
        buf_append_slice(form->out, text);
    } else {
        append_plain(form->out, text);
    }
}

/* Appends a value; `how` is what follows `|`. */
static void append_value(const struct form *form, const struct live_scope *at, const char *how)
{
    char figure[FIGURE_MAX], *end;
    size_t len = strcspn(how, "0123456789."), way = 0;
    unsigned long width = strtoul(how + len, &end, 10);
    if (live_is_text(at->now)) {
        struct slice text = live_bytes(at->now);
        unsigned long most = *end == '.' ? strtoul(end + 1, NULL, 10) : text.len;
        append_form_text(form, slice_of(text.ptr, text.len < most ? text.len : most));
        return;
    }
    while (strlen(ways[way].word) != len || memcmp(ways[way].word, how, len) != 0) {
        way++;
        assert(way < ARRAY_LEN(ways));
    }
    format_figure(form, at, way, figure);
    buf_printf(form->out, "%*s", (int)width, figure);
}

static void append_place(const struct form *form, const struct live_scope *scope, char *place)
{
    char *how = strchr(place, '|');
    if (how) {
        *how++ = '\0';
    }
    if (strcmp(place, "@") == 0) {
        append_form_text(form, slice_str(scope->member ? scope->member : ""));
    } else if (strcmp(place, "#") == 0) {
        buf_printf(form->out, "%zu", scope->index + 1);
    } else {
        struct live_scope at = scope_at(scope, place);
        if (at.now || how) {
            append_value(form, &at, how ? how : "");
        }
    }
}

/* ---- Forms ---- */

/* Evaluates a condition without its `?`. */
static bool is_met(const struct form *form, const struct live_scope *scope, char *condition)
{
    char *word = strchr(condition, '=');
    bool is_negated = *condition == '!', is_presence = *condition == '?';
    condition += is_negated || is_presence;
    if (word) {
        *word++ = '\0';
        struct live_scope at = scope_at(scope, condition);
        return slice_equal(live_bytes(at.now), slice_str(word));
    }
    char *how = strchr(condition, '|');
    const char *rest = condition;
    const struct live_scope *loop = scope_of_path(scope, &rest);
    if (*rest == '+') {
        return (loop->index > 0) != is_negated;
    }
    if (how) { /* the only one in a condition: |rate */
        *how = '\0';
        struct live_scope at = scope_at(scope, condition);
        return (rate_of(form, &at) > 0) != is_negated;
    }
    struct live_scope at = scope_at(scope, condition);
    return is_presence ? at.now != NULL : live_is_true(at.now) != is_negated;
}

static const char *write_block(const struct form *form, const struct live_scope *scope,
                               const char *at, bool is_wanted);

/* Write a choice or a list. Both return the place behind their {/}; `at` is behind what begins
 * them. */
static const char *write_choice(const struct form *form, const struct live_scope *scope,
                                char *condition, const char *at, bool is_wanted)
{
    bool is_true = is_wanted && is_met(form, scope, condition);
    at = write_block(form, scope, at, is_true);
    if (at[1] == ':') {
        at = write_block(form, scope, at + 3, is_wanted && !is_true);
    }
    assert(at[0] && at[1] == '/');
    return at + 3;
}

static const char *write_items(const struct form *form, const struct live_scope *scope,
                               const char *path, const char *at, bool is_wanted)
{
    struct live_scope item;
    for (size_t i = 0; is_wanted && live_scope_item(scope, path, i, &item); i++) {
        (void)write_block(form, &item, at, true); /* the last one's end is found below */
    }
    at = write_block(form, scope, at, false);
    assert(at[0] && at[1] == '/');
    return at + 3;
}

/* Writes up to the {:} or {/} that is not of a block within, or to the end. */
static const char *write_block(const struct form *form, const struct live_scope *scope,
                               const char *at, bool is_wanted)
{
    char place[LIVE_PATH_MAX];
    for (;;) {
        size_t len = strcspn(at, "{");
        if (is_wanted) {
            buf_append(form->out, at, len);
        }
        at += len;
        if (!*at || at[1] == ':' || at[1] == '/') {
            return at;
        }
        len = strcspn(++at, "}");
        assert(len < sizeof(place) && at[len]);
        memcpy(place, at, len);
        place[len] = '\0';
        at += len + 1;
        if (*place == '?') {
            at = write_choice(form, scope, place + 1, at, is_wanted);
        } else if (*place == '*') {
            at = write_items(form, scope, place + 1, at, is_wanted);
        } else if (is_wanted) {
            append_place(form, scope, place);
        }
    }
}

void live_form_write(const char *form, const struct live_scope *scope,
                     const struct live_model *model, struct buf *out)
{
    const char *end = write_block(&(struct form){model, out}, scope, form, true);
    assert(!*end);
    (void)end;
}

void live_form_page(const char *form, struct buf *json, struct buf *out)
{
    struct live_node *page = json->failed ? NULL : live_event_parse(buf_slice(json));
    buf_fini(json);
    if (page) {
        live_form_write(form, &(struct live_scope){.now = page}, NULL, out);
    } else {
        out->failed = true;
    }
    live_event_free(page);
}
