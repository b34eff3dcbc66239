#include "common/log.h"

#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"

/* One line: a message, some ten fields, one of them an escaped DNS name (255 bytes, each up to 4).
 * Longer lines are cut. */
enum { LINE_MAX_BYTES = 4096 };

static _Atomic int minimum_level = LOG_LEVEL_INFO;

struct line {
    char text[LINE_MAX_BYTES];
    size_t len;
};

void log_set_level(enum log_level level)
{
    atomic_store_explicit(&minimum_level, (int)level, memory_order_relaxed);
}

bool log_is_on(enum log_level level)
{
    return (int)level >= atomic_load_explicit(&minimum_level, memory_order_relaxed);
}

/* The last byte stays free for the newline. */
static void put(struct line *line, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len && line->len < sizeof(line->text) - 1; i++) {
        line->text[line->len++] = bytes[i];
    }
}

static void put_str(struct line *line, const char *s)
{
    put(line, s, strlen(s));
}

static bool is_plain(unsigned char c)
{
    return c > ' ' && c < 0x7f && c != '"' && c != '\\' && c != '=';
}

static void put_value(struct line *line, struct slice value)
{
    bool quoted = value.len == 0;
    for (size_t i = 0; i < value.len && !quoted; i++) {
        quoted = !is_plain((unsigned char)value.ptr[i]);
    }
    if (!quoted) {
        put(line, value.ptr, value.len);
        return;
    }
    put(line, "\"", 1);
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.ptr[i];
        if (c == '"' || c == '\\') {
            char escaped[2] = {'\\', (char)c};
            put(line, escaped, sizeof(escaped));
        } else if (c == '\n') {
            put(line, "\\n", 2);
        } else if (c < ' ' || c >= 0x7f) {
            char escaped[5];
            (void)snprintf(escaped, sizeof(escaped), "\\x%02x", c); /* four bytes, always */
            put(line, escaped, 4);
        } else {
            put(line, (const char *)&c, 1);
        }
    }
    put(line, "\"", 1);
}

static void put_time(struct line *line)
{
    struct timespec now;
    struct tm utc;
    char text[40];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    size_t n = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
    (void)snprintf(text + n, sizeof(text) - n, ".%03ldZ", now.tv_nsec / 1000000); /* 25 bytes */
    put_str(line, text);
}

static void put_field(struct line *line, const struct log_field *field)
{
    char number[24];
    put(line, " ", 1);
    put_str(line, field->key);
    put(line, "=", 1);
    switch (field->kind) {
    case LOG_FIELD_STR:
        put_value(line, slice_str(field->str ? field->str : ""));
        break;
    case LOG_FIELD_SLICE:
        put_value(line, field->slice);
        break;
    case LOG_FIELD_INT:
        (void)snprintf(number, sizeof(number), "%lld", (long long)field->integer); /* 20 digits */
        put_str(line, number);
        break;
    }
}

void log_write(enum log_level level, const char *message, size_t count,
               const struct log_field *fields)
{
    static const char *const names[] = {"debug", "info", "warn", "error"};
    struct line line;
    line.len = 0;
    put_str(&line, names[level]);
    put(&line, " ", 1);
    put_time(&line);
    put(&line, " ", 1);
    put_str(&line, message);
    for (size_t i = 0; i < count; i++) {
        put_field(&line, &fields[i]);
    }
    line.text[line.len++] = '\n';
    ssize_t written = write(STDERR_FILENO, line.text, line.len);
    (void)written; /* a log that cannot be written has no better place to say so */
}

bool log_limit_pass(struct log_limit *limit)
{
    int64_t minute = clock_monotonic_ms() / 60000;
    if (atomic_exchange_explicit(&limit->minute, minute, memory_order_relaxed) != minute) {
        atomic_store_explicit(&limit->in_minute, 0, memory_order_relaxed);
    }
    if (atomic_fetch_add_explicit(&limit->in_minute, 1, memory_order_relaxed) < limit->burst) {
        return true;
    }
    atomic_fetch_add_explicit(&limit->suppressed, 1, memory_order_relaxed);
    return false;
}
