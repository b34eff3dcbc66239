#include "common/base/log.h"

#include <stdatomic.h>
#include <stdio.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/base/log_line_internal.h"
#include "common/base/log_queue_internal.h"

static _Atomic int least_severe = LOG_LEVEL_INFO;
static _Atomic int line_format = LOG_FORMAT_TEXT;

void log_set_level(enum log_level level)
{
    atomic_store_explicit(&least_severe, (int)level, memory_order_relaxed);
}

void log_set_format(enum log_format format)
{
    atomic_store_explicit(&line_format, (int)format, memory_order_relaxed);
}

bool log_is_on(enum log_level level)
{
    return (int)level <= atomic_load_explicit(&least_severe, memory_order_relaxed);
}

bool log_takes(enum log_level level)
{
    return log_is_on(level) && log_queue_takes(level);
}

static enum log_format format_now(void)
{
    return (enum log_format)atomic_load_explicit(&line_format, memory_order_relaxed);
}

void log_write(enum log_level level, const char *message, size_t count,
               const struct log_field *fields)
{
    char text[LOG_LINE_MAX];
    size_t len = log_line_write(text, format_now(), level, message, count, fields);
    (void)log_queue_put(level, text, len); /* a loss is counted there */
}

bool log_bulk_takes(void)
{
    return log_queue_takes(LOG_LEVEL_INFO);
}

bool log_bulk_write(const char *message, size_t count, const struct log_field *fields)
{
    char text[LOG_LINE_MAX];
    size_t len = log_line_write(text, format_now(), LOG_LEVEL_INFO, message, count, fields);
    return log_queue_put_bulk(text, len);
}

void log_plain(const char *program, const char *message)
{
    char text[LOG_LINE_MAX];
    int len = snprintf(text, sizeof(text) - 1, "%s: %s", program, message);
    size_t end = (size_t)len < sizeof(text) - 1 ? (size_t)len : sizeof(text) - 2;
    text[end] = '\n';                                    /* instead of the final 0 */
    (void)log_queue_put(LOG_LEVEL_ERROR, text, end + 1); /* the same */
}

/* Writes the line that stands where lines are missing. */
static size_t write_loss(char *text, uint64_t count)
{
    return log_line_write(text, format_now(), LOG_LEVEL_WARN, "log lines were lost", 1,
                          &LOG_INT("count", (int64_t)count));
}

void log_start(void)
{
    int r = log_queue_start(write_loss);
    if (r < 0) {
        log_warn("no thread for the log, lines are written directly",
                 LOG_STR("error", err_code_text(r)));
    }
}

void log_stop(int64_t timeout_ms)
{
    log_queue_stop(timeout_ms);
}

uint64_t log_lost(void)
{
    return log_queue_lost();
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
