#include "common/base/log_line_internal.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *const level_names[] = {"error", "warn", "info", "debug"};

/* Reserves the end of an overlong line: a quote, a brace, the newline. */
enum { LINE_END_BYTES = 3 };

struct line {
    char *text; /* LOG_LINE_MAX bytes */
    size_t len;
    enum log_format format;
    bool is_full; /* something did not fit: the line ends before it */
};

/* Puts all bytes or none, so that an escape sequence, for example, is never split. */
static void log_line_put(struct line *line, const char *bytes, size_t len)
{
    if (line->is_full || line->len + len > LOG_LINE_MAX - LINE_END_BYTES) {
        line->is_full = true;
        return;
    }
    memcpy(line->text + line->len, bytes, len);
    line->len += len;
}

static void put_str(struct line *line, const char *s)
{
    log_line_put(line, s, strlen(s));
}

static void log_line_put_time(struct line *line)
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

static struct slice field_text(const struct log_field *field)
{
    return field->kind == LOG_FIELD_SLICE ? field->slice : slice_str(field->str ? field->str : "");
}

/* Has room for 22 digits, a point and a sign. */
enum { NUMBER_BYTES_MAX = 28 };

static const char *number_text(const struct log_field *field, char text[NUMBER_BYTES_MAX])
{
    if (field->kind == LOG_FIELD_SECONDS) {
        (void)snprintf(text, NUMBER_BYTES_MAX, "%.6f", (double)field->integer / 1e6);
    } else {
        (void)snprintf(text, NUMBER_BYTES_MAX, "%lld", (long long)field->integer);
    }
    return text;
}

static bool log_line_is_number(const struct log_field *field)
{
    return field->kind == LOG_FIELD_INT || field->kind == LOG_FIELD_SECONDS;
}

/* Puts a byte inside quotes. */
static void put_quoted_byte(struct line *line, unsigned char c)
{
    char escaped[8] = {'\\', (char)c};
    if (c == '"' || c == '\\') {
        log_line_put(line, escaped, 2);
    } else if (c == '\n') {
        log_line_put(line, "\\n", 2);
    } else if (c < ' ' || c >= 0x7f) {
        bool is_json = line->format == LOG_FORMAT_JSON;
        (void)snprintf(escaped, sizeof(escaped), is_json ? "\\u%04x" : "\\x%02x", c); /* fits */
        put_str(line, escaped);
    } else {
        log_line_put(line, (const char *)&c, 1);
    }
}

/* ---- Text ---- */

static bool log_line_is_plain(unsigned char c)
{
    return c > ' ' && c < 0x7f && c != '"' && c != '\\' && c != '=';
}

static void put_value(struct line *line, struct slice value)
{
    bool quoted = value.len == 0;
    for (size_t i = 0; i < value.len && !quoted; i++) {
        quoted = !log_line_is_plain((unsigned char)value.ptr[i]);
    }
    log_line_put(line, "\"", quoted);
    for (size_t i = 0; i < value.len; i++) {
        put_quoted_byte(line, (unsigned char)value.ptr[i]);
    }
    log_line_put(line, "\"", quoted);
}

static void log_line_write_text(struct line *line, enum log_level level, const char *message,
                                size_t count, const struct log_field *fields)
{
    put_str(line, level_names[level]);
    log_line_put(line, " ", 1);
    log_line_put_time(line);
    log_line_put(line, " ", 1);
    put_str(line, message);
    for (size_t i = 0; i < count; i++) {
        log_line_put(line, " ", 1);
        put_str(line, fields[i].key);
        log_line_put(line, "=", 1);
        if (log_line_is_number(&fields[i])) {
            char number[NUMBER_BYTES_MAX];
            put_str(line, number_text(&fields[i], number));
        } else {
            put_value(line, field_text(&fields[i]));
        }
    }
}

/* ---- JSON ---- */

/* Holds a key with its punctuation, and a number: keys are ours and short. */
enum { MEMBER_BYTES_MAX = 64 };

/* Puts a string, truncated and closed if it does not fit; a number or a key is all or nothing. */
static void log_line_put_string(struct line *line, const char *before, const char *key,
                                struct slice value)
{
    char text[MEMBER_BYTES_MAX];
    (void)snprintf(text, sizeof(text), "%s\"%s\":\"", before, key);
    put_str(line, text);
    if (!line->is_full) {
        for (size_t i = 0; i < value.len; i++) {
            put_quoted_byte(line, (unsigned char)value.ptr[i]);
        }
        line->text[line->len++] = '"';
    }
}

static void log_line_put_number(struct line *line, const struct log_field *field)
{
    char text[MEMBER_BYTES_MAX], number[NUMBER_BYTES_MAX];
    (void)snprintf(text, sizeof(text), ",\"%s\":%s", field->key, number_text(field, number));
    put_str(line, text);
}

static void write_json(struct line *line, enum log_level level, const char *message, size_t count,
                       const struct log_field *fields)
{
    log_line_put_string(line, "{", "level", slice_str(level_names[level]));
    put_str(line, ",\"time\":\"");
    log_line_put_time(line);
    put_str(line, "\"");
    log_line_put_string(line, ",", "message", slice_str(message));
    for (size_t i = 0; i < count; i++) {
        if (log_line_is_number(&fields[i])) {
            log_line_put_number(line, &fields[i]);
        } else {
            log_line_put_string(line, ",", fields[i].key, field_text(&fields[i]));
        }
    }
    line->text[line->len++] = '}';
}

size_t log_line_write(char *text, enum log_format format, enum log_level level, const char *message,
                      size_t count, const struct log_field *fields)
{
    struct line line = {.text = text, .format = format};
    if (format == LOG_FORMAT_JSON) {
        write_json(&line, level, message, count, fields);
    } else {
        log_line_write_text(&line, level, message, count, fields);
    }
    line.text[line.len++] = '\n';
    return line.len;
}
