#include "common/base/log.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/log_queue_internal.h"
#include "tests/support/unit_test.h"

/* A safety net: a test that works never waits for it. */
enum { HANG_MS = 60000, THREADS = 4, LINES_PER_THREAD = 5000 };

/* More lines than both buffers and a pipe hold. */
enum { FLOOD = 40000 };

/* ---- stderr in the test's hands ---- */

static int real_stderr = -1;

static void stderr_is(int fd)
{
    real_stderr = dup(STDERR_FILENO);
    assert_true(real_stderr >= 0 && dup2(fd, STDERR_FILENO) >= 0);
}

static int log_queue_restore(void **state)
{
    log_stop(HANG_MS);
    if (real_stderr >= 0) {
        (void)dup2(real_stderr, STDERR_FILENO);
        (void)close(real_stderr);
        real_stderr = -1;
    }
    return 0;
}

static int log_queue_before_tests(void **state)
{
    (void)signal(SIGPIPE, SIG_IGN);
    return 0;
}

UNIT_TESTS_EACH(NULL, log_queue_restore)
UNIT_TESTS_ONCE(log_queue_before_tests, NULL)
UNIT_TESTS_HAVE_THREADS

/* Holds what a reader has seen; read until the writing ends are closed or `until` is there. */
struct reader {
    int fd;
    size_t len;
    char *text;
    size_t room;
};

static void read_some(struct reader *r)
{
    struct pollfd ready = {.fd = r->fd, .events = POLLIN};
    if (r->len + 65536 + 1 > r->room) {
        r->room = r->room * 2 + 2 * 65536;
        r->text = realloc(r->text, r->room);
        assert_non_null(r->text);
    }
    assert_int_equal(poll(&ready, 1, HANG_MS), 1);
    ssize_t n = read(r->fd, r->text + r->len, 65536);
    assert_true(n > 0);
    r->len += (size_t)n;
    r->text[r->len] = '\0';
}

/* The place of the text, read until there; searches from `from` on. */
static size_t read_until(struct reader *r, size_t from, const char *what)
{
    for (;;) {
        const char *found = r->len > from ? strstr(r->text + from, what) : NULL;
        if (found) {
            return (size_t)(found - r->text);
        }
        read_some(r);
    }
}

static size_t log_queue_occurrences(const char *text, const char *end, const char *part)
{
    size_t n = 0;
    for (const char *p = strstr(text, part); p && p < end; p = strstr(p + 1, part)) {
        n++;
    }
    return n;
}

/* ---- Tests ---- */

struct talker {
    int number;
    pthread_t thread;
};

static void *log_queue_talk(void *data)
{
    const struct talker *t = data;
    for (int i = 0; i < LINES_PER_THREAD; i++) {
        log_warn("said", LOG_INT("thread", t->number), LOG_INT("line", i));
    }
    return NULL;
}

/* Each thread's lines arrive whole and in its order; written and lost ones add up. */
UNIT_TEST(test_threads)
{
    struct talker talkers[THREADS];
    int next[THREADS] = {0};
    size_t seen = 0;
    int file = memfd_create("log", MFD_CLOEXEC);
    uint64_t lost = log_lost();
    stderr_is(file);
    log_start();
    for (int i = 0; i < THREADS; i++) {
        talkers[i].number = i;
        assert_int_equal(pthread_create(&talkers[i].thread, NULL, log_queue_talk, &talkers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(talkers[i].thread, NULL), 0);
    }
    log_queue_restore(state);
    FILE *lines = fdopen(file, "r");
    char line[256];
    rewind(lines);
    while (fgets(line, sizeof(line), lines)) {
        int thread = 0, number = 0;
        const char *fields = strstr(line, " thread=");
        if (!fields) {
            assert_non_null(strstr(line, " log lines were lost count="));
            continue;
        }
        assert_int_equal(sscanf(fields, " thread=%d line=%d\n", &thread, &number), 2);
        assert_in_range(thread, 0, THREADS - 1);
        assert_true(number >= next[thread]);
        next[thread] = number + 1;
        seen++;
    }
    (void)fclose(lines);
    assert_int_equal(seen + (log_lost() - lost), THREADS * LINES_PER_THREAD);
}

/* Nobody reads: no line waits, what does not fit is counted, and the gap is told where it is. */
static void log_queue_stall(bool is_nonblocking)
{
    int ends[2];
    static const char gap_text[] = "log lines were lost count=";
    uint64_t before = log_lost();
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    if (is_nonblocking) {
        assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    }
    stderr_is(ends[1]);
    log_start();
    for (int i = 0; i < FLOOD; i++) {
        log_info("flood", LOG_INT("line", i));
    }
    uint64_t lost = log_lost() - before;
    assert_in_range(lost, 1, FLOOD - 1);
    log_error("not pushed out by the flood");

    struct reader r = {.fd = ends[0]};
    size_t at = 0;
    for (uint64_t told = 0; told < lost;) { /* more than one gap if the thread was slow to start */
        at = read_until(&r, at, gap_text) + strlen(gap_text);
        (void)read_until(&r, at, "\n");
        told += strtoull(r.text + at, NULL, 10);
        assert_true(told <= lost);
    }
    assert_int_equal(log_queue_occurrences(r.text, r.text + at, " flood line="), FLOOD - lost);
    assert_int_equal(log_queue_occurrences(r.text, r.text + r.len, "not pushed out by the flood"),
                     1);
    log_info("flows again");
    size_t end = read_until(&r, at, "flows again\n");
    assert_int_equal(log_queue_occurrences(r.text + at, r.text + end, gap_text), 0);
    assert_int_equal(log_lost() - before, lost);
    log_stop(HANG_MS);
    (void)close(ends[0]);
    (void)close(ends[1]);
    free(r.text);
}

UNIT_TEST(test_nobody_reads)
{
    log_queue_stall(false);
}

UNIT_TEST(test_nobody_reads_a_pipe_that_does_not_block)
{
    log_queue_stall(true);
}

/* While lines are being lost, those of the flood are not even made. */
UNIT_TEST(test_lost_lines_cost_nothing)
{
    int ends[2];
    int64_t evaluated = 0;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    stderr_is(ends[1]);
    log_start();
    for (int i = 0; i < FLOOD && evaluated == i; i++) {
        log_info("flood", LOG_INT("line", ++evaluated));
    }
    assert_in_range(evaluated, 1, FLOOD - 1);
    struct reader r = {.fd = ends[0]};
    (void)read_until(&r, 0, "log lines were lost count=");
    free(r.text);
    log_stop(HANG_MS);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* A stop that gives up leaves the thread in its write; whoever reads later finds the lines. */
UNIT_TEST(test_stop_does_not_wait_for_a_reader)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    stderr_is(ends[1]);
    log_start();
    for (int i = 0; i < FLOOD; i++) {
        log_info("flood", LOG_INT("line", i));
    }
    log_stop(1);
    log_error("after the stop"); /* does not block either */
    struct reader r = {.fd = ends[0]};
    (void)read_until(&r, 0, "after the stop\n");
    free(r.text);
    log_stop(HANG_MS);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* Writes what is queued before the end, in order with a line in plain words. */
UNIT_TEST(test_stop_writes_everything)
{
    char text[256] = "";
    int file = memfd_create("log", MFD_CLOEXEC);
    stderr_is(file);
    log_start();
    log_info("last line");
    log_plain("skydns", "exits");
    log_stop(HANG_MS);
    log_info("directly");
    assert_true(pread(file, text, sizeof(text) - 1, 0) > 0);
    const char *last = strstr(text, " last line\nskydns: exits\ninfo ");
    assert_non_null(last);
    assert_non_null(strstr(last, " directly\n"));
    (void)close(file);
}

/* A disk that is full in the middle of a line, then has room again. */
UNIT_TEST(test_full_disk)
{
    enum { LINES = 10, ROOM = 100 }; /* for one line and a part of the next */
    char path[] = "/tmp/log-queue-XXXXXX", text[4096] = "";
    const struct rlimit small = {.rlim_cur = ROOM, .rlim_max = RLIM_INFINITY};
    const struct rlimit all = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    int file = mkostemp(path, O_CLOEXEC | O_APPEND);
    uint64_t lost = log_lost();
    assert_true(file >= 0 && unlink(path) == 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    stderr_is(file);
    log_start();
    for (int i = 0; i < LINES; i++) {
        log_info("a line of more than fifty bytes with its time");
    }
    while (log_lost() - lost < LINES - 1) {
        (void)sched_yield();
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
    log_info("room again");
    log_stop(HANG_MS);
    assert_int_equal(log_lost() - lost, LINES - 1);
    assert_true(pread(file, text, sizeof(text) - 1, 0) > ROOM);
    assert_memory_equal(text + ROOM, "\nwarn ", 6);
    const char *told = strstr(text, " log lines were lost count=9\ninfo ");
    assert_true(told && strstr(told, " room again\n"));
    (void)close(file);
}

UNIT_TEST(test_closed_reader)
{
    int ends[2];
    uint64_t lost = log_lost();
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    (void)close(ends[0]);
    stderr_is(ends[1]);
    (void)close(ends[1]);
    log_start();
    log_info("to nobody");
    log_stop(HANG_MS);
    assert_int_equal(log_lost() - lost, 1);
}

/* Else the next descriptor, a socket perhaps, would get the number of stderr, and the log. */
UNIT_TEST(test_closed_stderr)
{
    real_stderr = dup(STDERR_FILENO);
    (void)close(STDERR_FILENO);
    log_start();
    int next = dup(real_stderr);
    assert_true(next > STDERR_FILENO);
    (void)close(next);
    log_info("to /dev/null");
}

/* Bulk lines come by themselves, though they do not wake the thread; others take along those before
 * them, and so does the end. */
UNIT_TEST(test_bulk_lines_wait)
{
    enum { ROUNDS = 4 };
    const struct log_field none = {.key = NULL};
    struct reader r = {.fd = -1};
    size_t at = 0;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    r.fd = ends[0];
    stderr_is(ends[1]);
    (void)close(ends[1]);
    log_start();
    for (int i = 0; i < ROUNDS; i++) {
        assert_true(log_bulk_write("first", 0, &none));
        at = read_until(&r, at, " first\n");
        assert_true(log_bulk_write("second", 0, &none));
        log_warn("third");
        at = read_until(&r, at, " third\n");
        assert_int_equal(log_queue_occurrences(r.text, r.text + at, " second\n"), i + 1);
    }
    assert_true(log_bulk_write("first", 0, &none));
    at = read_until(&r, at, " first\n");
    assert_true(log_bulk_write("last", 0, &none));
    log_stop(HANG_MS);
    (void)read_until(&r, at, " last\n");
    (void)close(ends[0]);
    free(r.text);
}
