#include "common/base/log_queue_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/attributes.h"
#include "common/base/log_line_internal.h"
#include "common/base/privileges.h"
#include "common/base/threads.h"

/* Has room for the thread's one large variable, a line; sanitizers multiply that. */
enum { STACK_BYTES = 256 * 1024 };

/* Delays the thread after bulk lines, since waking it costs more than writing a line. It sleeps for
 * so long, or until there is half of what they may take. */
enum { REST_MS = 100, REST_BYTES_MAX = (LOG_QUEUE_BYTES - LOG_QUEUE_RESERVE_BYTES) / 2 };

static char buffers[2][LOG_QUEUE_BYTES];

static struct {
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t filled; /* there is something to write, or it is stopping */
    pthread_cond_t ended;
    char *filling; /* one of the buffers; the thread may be writing the other */
    size_t len;
    bool has_bulk;   /* some of its lines may wait */
    bool is_hurried; /* others may not */
    bool is_resting; /* the thread, and those do not wake it */
    bool is_running;
    bool is_stopping;
    size_t (*write_loss)(char *text, uint64_t count);
} queue = {.mutex = PTHREAD_MUTEX_INITIALIZER,
           .filled = PTHREAD_COND_INITIALIZER,
           .ended = PTHREAD_COND_INITIALIZER,
           .filling = buffers[0]};

static _Atomic bool is_queued; /* else lines are written directly */
static _Atomic bool is_losing; /* set and cleared under the mutex */
static _Atomic uint64_t lost;
static _Atomic uint64_t lost_untold; /* for want of room, since the last swap */

/* ---- Callers ---- */

static bool is_reserved_for(enum log_level level)
{
    return level <= LOG_LEVEL_WARN;
}

static void count_lost(void)
{
    atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&lost_untold, 1, memory_order_relaxed);
}

bool log_queue_takes(enum log_level level)
{
    if (is_reserved_for(level) || !atomic_load_explicit(&is_losing, memory_order_relaxed)) {
        return true;
    }
    count_lost();
    return false;
}

/* Returns whether the line fits. Needs the mutex. */
static bool log_queue_has_room(enum log_level level, size_t len)
{
    size_t reserve = is_reserved_for(level) ? 0 : LOG_QUEUE_RESERVE_BYTES;
    bool is_late = reserve > 0 && atomic_load_explicit(&is_losing, memory_order_relaxed);
    return !is_late && queue.len + len <= LOG_QUEUE_BYTES - reserve;
}

/* Wakes the thread behind a line. Needs the mutex. */
static void log_queue_wake(bool is_bulk)
{
    queue.has_bulk = queue.has_bulk || is_bulk;
    queue.is_hurried = queue.is_hurried || !is_bulk;
    if (!is_bulk || !queue.is_resting || queue.len > REST_BYTES_MAX) {
        queue.is_resting = false;
        (void)pthread_cond_signal(&queue.filled);
    }
}

static bool base_log_queue_put(enum log_level level, bool is_bulk, const char *line, size_t len)
{
    if (!atomic_load_explicit(&is_queued, memory_order_acquire)) {
        ssize_t written = write(STDERR_FILENO, line, len);
        (void)written; /* nowhere left to report a failed log write */
        return true;
    }
    (void)pthread_mutex_lock(&queue.mutex); /* fails only for misuse, as all of them here */
    bool fits = log_queue_has_room(level, len);
    if (fits) {
        memcpy(queue.filling + queue.len, line, len);
        queue.len += len;
        log_queue_wake(is_bulk);
    } else {
        atomic_store_explicit(&is_losing, true, memory_order_relaxed);
        count_lost();
    }
    (void)pthread_mutex_unlock(&queue.mutex);
    return fits;
}

bool log_queue_put(enum log_level level, const char *line, size_t len)
{
    return base_log_queue_put(level, false, line, len);
}

bool log_queue_put_bulk(const char *line, size_t len)
{
    return base_log_queue_put(LOG_LEVEL_INFO, true, line, len);
}

uint64_t log_queue_lost(void)
{
    return atomic_load_explicit(&lost, memory_order_relaxed);
}

/* ---- Writing, on the thread ---- */

struct batch {
    const char *text;
    size_t len;
    uint64_t lost_after; /* lines that did not fit behind it */
};

/* Remembers failed writes, for the thread. */
struct writer {
    bool is_cut;        /* stderr has the beginning of a line */
    uint64_t unwritten; /* lines that stderr refused, not told yet */
};

static bool log_queue_write_bytes(const char *bytes, size_t len, size_t *ret_written)
{
    *ret_written = 0;
    while (*ret_written < len) {
        ssize_t n = write(STDERR_FILENO, bytes + *ret_written, len - *ret_written);
        if (n >= 0) {
            *ret_written += (size_t)n;
        } else if (errno == EAGAIN) { /* a pipe that another process made non-blocking */
            struct pollfd full = {.fd = STDERR_FILENO, .events = POLLOUT};
            (void)poll(&full, 1, -1); /* whatever it says, the write tells */
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

/* Writes whole lines, LOG_LINE_MAX bytes at most. The newline of a line that was cut comes
 * first. */
static bool write_lines(struct writer *w, const char *lines, size_t len, size_t *ret_written)
{
    size_t written = 0;
    *ret_written = 0;
    if (w->is_cut && !log_queue_write_bytes("\n", 1, &written)) {
        return false;
    }
    w->is_cut = false;
    bool is_whole = log_queue_write_bytes(lines, len, ret_written);
    w->is_cut = !is_whole && *ret_written > 0 && lines[*ret_written - 1] != '\n';
    return is_whole;
}

static bool tell_unwritten(struct writer *w)
{
    char line[LOG_LINE_MAX];
    size_t written;
    if (w->unwritten > 0) {
        if (!write_lines(w, line, queue.write_loss(line, w->unwritten), &written)) {
            return false;
        }
        w->unwritten = 0;
    }
    return true;
}

static size_t log_queue_count_lines(const char *text, size_t len)
{
    size_t count = 0;
    for (size_t i = 0; i < len; i++) {
        count += text[i] == '\n';
    }
    return count;
}

/* Returns the length of the first lines that one write takes; a line always fits. */
static size_t next_lines(const char *text, size_t len)
{
    size_t window = len < LOG_LINE_MAX ? len : LOG_LINE_MAX;
    const char *end = memrchr(text, '\n', window);
    return (size_t)(end - text) + 1;
}

/* Writes lines up to the first error, such as a full disk; the next batch tries again. */
static void write_batch(struct writer *w, const struct batch *b)
{
    size_t done = 0, written;
    bool works = tell_unwritten(w);
    while (works && done < b->len) {
        size_t len = next_lines(b->text + done, b->len - done);
        works = write_lines(w, b->text + done, len, &written);
        done += written;
    }
    size_t refused = log_queue_count_lines(b->text + done, b->len - done);
    atomic_fetch_add_explicit(&lost, refused, memory_order_relaxed);
    w->unwritten += refused + b->lost_after;
    if (works) {
        (void)tell_unwritten(w); /* the next batch tries again */
    }
}

/* Swaps the buffers. Needs the mutex. */
static struct batch swap_buffers(void)
{
    struct batch b = {.text = queue.filling, .len = queue.len};
    b.lost_after = atomic_exchange_explicit(&lost_untold, 0, memory_order_relaxed);
    atomic_store_explicit(&is_losing, false, memory_order_relaxed);
    queue.filling = queue.filling == buffers[0] ? buffers[1] : buffers[0];
    queue.len = 0;
    queue.has_bulk = queue.is_hurried = false;
    return b;
}

static struct timespec deadline_in(int64_t ms)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at); /* cannot fail */
    at.tv_nsec += ms % 1000 * 1000000;
    at.tv_sec += ms / 1000 + at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return at;
}

/* Waits until there are lines. Needs the mutex. */
static void log_queue_wait_for_work(void)
{
    const struct timespec deadline = deadline_in(REST_MS);
    int r = 0;
    queue.is_resting = !queue.is_stopping && queue.len <= REST_BYTES_MAX;
    while (queue.is_resting && !queue.is_stopping && r == 0) {
        r = pthread_cond_clockwait(&queue.filled, &queue.mutex, CLOCK_MONOTONIC, &deadline);
    }
    queue.is_resting = false;
}

static void *log_queue_run(void *data UNUSED)
{
    struct writer writer = {.unwritten = 0};
    privileges_drop_thread(); /* it starts before the program has dropped its own */
    (void)pthread_setname_np(pthread_self(), "log"); /* for top and gdb only */
    (void)pthread_mutex_lock(&queue.mutex);
    do {
        while (queue.len == 0 && !queue.is_stopping) {
            (void)pthread_cond_wait(&queue.filled, &queue.mutex);
        }
        bool has_bulk = queue.has_bulk;
        struct batch batch = swap_buffers();
        (void)pthread_mutex_unlock(&queue.mutex);
        write_batch(&writer, &batch);
        (void)pthread_mutex_lock(&queue.mutex);
        if (has_bulk && !queue.is_hurried) {
            log_queue_wait_for_work();
        }
    } while (queue.len > 0 || !queue.is_stopping);
    queue.is_running = false;
    (void)pthread_cond_signal(&queue.ended);
    (void)pthread_mutex_unlock(&queue.mutex);
    return NULL;
}

/* ---- Start and stop ---- */

static void open_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0) {
            (void)open("/dev/null", O_RDWR); /* takes the lowest free number, this one */
        }
    }
}

/* Starts the thread detached: a stop that gives up leaves it behind, in its write. */
static int log_queue_start_thread(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    /* Only the creation can fail with such arguments. */
    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    int r = thread_start(&thread, &attributes, log_queue_run, NULL);
    (void)pthread_attr_destroy(&attributes);
    return r;
}

int log_queue_start(size_t (*write_loss)(char *text, uint64_t count))
{
    open_standard_descriptors();
    (void)pthread_mutex_lock(&queue.mutex);
    queue.write_loss = write_loss;
    queue.is_stopping = false;
    queue.is_running = true;
    int r = log_queue_start_thread();
    queue.is_running = r == 0;
    atomic_store_explicit(&is_queued, r == 0, memory_order_release);
    (void)pthread_mutex_unlock(&queue.mutex);
    return r;
}

void log_queue_stop(int64_t timeout_ms)
{
    const struct timespec deadline = deadline_in(timeout_ms);
    int r = 0;
    (void)pthread_mutex_lock(&queue.mutex);
    queue.is_stopping = true;
    (void)pthread_cond_signal(&queue.filled);
    while (queue.is_running && r == 0) {
        r = pthread_cond_clockwait(&queue.ended, &queue.mutex, CLOCK_MONOTONIC, &deadline);
    }
    if (!queue.is_running) {
        atomic_store_explicit(&is_queued, false, memory_order_release);
    }
    (void)pthread_mutex_unlock(&queue.mutex);
}
