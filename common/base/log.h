/* Writes one line per event to stderr: `level time message key=value ...`, untrusted bytes escaped.
 *
 *     log_warn("etcd connection lost", LOG_STR("endpoint", url), LOG_INT("retry_ms", ms));
 *     warn 2026-01-02T03:04:05.678Z etcd connection lost endpoint=http://[::1]:2379 retry_ms=9
 *
 * error = act now; warn = degraded, continuing; info = a state changed; debug = each step that led
 * there. Lines that a client or peer can trigger at will are debug. A line below the level costs
 * one comparison: its fields are not evaluated. common/ logs at debug only; a program's modules log
 * an error once, where they decide how to handle it. The message is a constant of ours; data from a
 * peer goes into fields.
 *
 * Any thread may log, and none ever waits for the reader of the log: between log_start and log_stop
 * a line goes into a bounded queue, which a thread writes to stderr. A line that does not fit, or
 * that stderr refuses, is lost and counted; when lines flow again, one says how many are missing
 * there. Before and after, as in tests, a line is one write(2). */
#ifndef COMMON_BASE_LOG_H
#define COMMON_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"

/* Order levels from the most severe, as in LOG_LEVEL_CHOICES (a FLAG_CHOICE). */
enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };
#define LOG_LEVEL_CHOICES "error|warn|info|debug"
#define LOG_LEVEL_HELP    "the least severe lines to log"

enum log_field_kind { LOG_FIELD_STR, LOG_FIELD_SLICE, LOG_FIELD_INT, LOG_FIELD_SECONDS };

struct log_field {
    const char *key;
    enum log_field_kind kind;
    union {
        const char *str; /* NULL prints as empty */
        struct slice slice;
        int64_t integer; /* of SECONDS: microseconds, printed as seconds */
    };
};

#define LOG_STR(k, v)   ((struct log_field){.key = (k), .kind = LOG_FIELD_STR, .str = (v)})
#define LOG_SLICE(k, v) ((struct log_field){.key = (k), .kind = LOG_FIELD_SLICE, .slice = (v)})
#define LOG_INT(k, v)   ((struct log_field){.key = (k), .kind = LOG_FIELD_INT, .integer = (v)})
#define LOG_SECONDS(k, v_us) \
    ((struct log_field){.key = (k), .kind = LOG_FIELD_SECONDS, .integer = (v_us)})

/* Writes a line; fields may be NULL when count is 0. */
void log_write(enum log_level level, const char *message, size_t count,
               const struct log_field *fields);

#define LOG_AT(level, message, ...)                                                         \
    do {                                                                                    \
        if (log_takes(level)) {                                                             \
            const struct log_field log_fields_[] = {{.key = NULL}, ##__VA_ARGS__};          \
            log_write((level), (message), sizeof(log_fields_) / sizeof(log_fields_[0]) - 1, \
                      log_fields_ + 1);                                                     \
        }                                                                                   \
    } while (0)
#define log_debug(...) LOG_AT(LOG_LEVEL_DEBUG, __VA_ARGS__)
#define log_info(...)  LOG_AT(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_warn(...)  LOG_AT(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_error(...) LOG_AT(LOG_LEVEL_ERROR, __VA_ARGS__)

/* Selects text, or the same as JSON, one object per line. Each untrusted byte is one character:
 * \u00XX unless printable ASCII.
 *
 *     {"level":"warn","time":"2026-...Z","message":"etcd connection lost","retry_ms":200} */
enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON };

/* Lists the choices of a FLAG_CHOICE of an enum log_format. */
#define LOG_FORMAT_CHOICES "text|json"

/* Set the level and the format once at start, before threads. Default: info, text. */
void log_set_level(enum log_level level);
void log_set_format(enum log_format format);
bool log_is_on(enum log_level level);

/* Returns whether to make this line, for lines whose fields cost something to make. False below the
 * level, and while lines are being lost: then it counts as lost. */
bool log_takes(enum log_level level);

/* Serve lines that come in floods and are switched on by themselves, such as one for each query.
 * They are written at info whatever the level, at most 100 ms later. Returns false if there is no
 * room now; it counts as lost. The first tells whether to make such a line. */
bool log_bulk_takes(void);
bool log_bulk_write(const char *message, size_t count, const struct log_field *fields);

/* Writes a line `program: message` for the person who started the program, in its place among the
 * others. */
void log_plain(const char *program, const char *message);

/* ---- The thread; called on the main thread ---- */

/* Bounds how long an exit waits for a reader: healthy ones take milliseconds, and a supervisor
 * kills only after several seconds. */
enum { LOG_STOP_MS = 1000 };

/* Starts the thread, before other threads and descriptors: it fills closed standard descriptors
 * with /dev/null, lest log lines go to whatever gets the number of stderr. Without a thread (a
 * limit), lines are written directly. */
void log_start(void);

/* Writes what is queued; gives up after that time, and then the rest is lost. Call it last before
 * exit; without effect if not started. */
void log_stop(int64_t timeout_ms);

/* Returns the lines lost since the program started. Any thread. */
uint64_t log_lost(void);

/* ---- Limits ---- */

/* Limits lines that the network can trigger, so that hostile packets cannot fill a disk: at most
 * `burst` lines per minute and call site; the next line has the count of suppressed ones. Static
 * storage:
 *
 *     static struct log_limit limit = {.burst = 10};
 *     if (log_limit_pass(&limit)) { log_warn(..., LOG_INT("suppressed", ...)); } */
struct log_limit {
    uint32_t burst;
    _Atomic uint32_t in_minute;
    _Atomic int64_t minute;
    _Atomic uint64_t suppressed; /* since the program started */
};
bool log_limit_pass(struct log_limit *limit);

#endif
