#include "exechealthz/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/attributes.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"

enum {
    /* Bounds the output: enough for any message that people read in a probe's response, and a
     * pipe's capacity. The rest is read and dropped, so that the command does not block. */
    OUTPUT_MAX = 64 * 1024,
    ERROR_MAX = 128, /* "start sh: " and a system error text, at most 50 characters */
};

/* Holds a finished run. */
struct outcome {
    struct buf output;
    char error[ERROR_MAX]; /* empty: success */
    int64_t at_ms;         /* monotonic, for its age */
    struct timespec at;    /* wall clock, for its text */
};

struct probe {
    struct ev_loop *loop;
    struct reaper *reaper;
    struct probe_config config;
    ev_timer tick;
    bool tick_missed; /* a tick came during a run */

    /* Holds the running command; child.pid 0: none. */
    struct reaper_child child;
    int output_fd;
    ev_io output_ready;
    ev_timer timeout;
    struct buf output;
    int64_t started_us;
    bool is_timed_out;

    struct outcome last;
    struct probe_counts counts;
};

static struct probe *exechealthz_probe_of(struct reaper_child *child)
{
    return (struct probe *)(void *)((char *)child - offsetof(struct probe, child));
}

/* ---- Results ---- */

static void probe_log_result(const struct probe *probe, bool had_failed, int64_t duration_us)
{
    const struct outcome *last = &probe->last;
    bool has_failed = last->error[0] != '\0';
    log_debug("run ended", LOG_STR("path", probe->config.path), LOG_STR("status", last->error),
              LOG_INT("duration_ms", duration_us / 1000));
    if (has_failed && !had_failed) {
        log_warn("command failed, reporting unhealthy", LOG_STR("error", last->error),
                 LOG_SLICE("output", buf_slice(&last->output)));
    } else if (!has_failed && had_failed) {
        log_info("command succeeded, reporting healthy");
    }
    if (!probe->config.settings.is_quiet) {
        log_info("command run", LOG_STR("cmd", probe->config.command),
                 LOG_STR("error", has_failed ? last->error : "None"),
                 LOG_INT("duration_ms", duration_us / 1000));
    }
}

/* Swaps the run's output into the last result, whose buffer serves the next run. */
static void probe_record(struct probe *probe, const char *error)
{
    struct outcome *last = &probe->last;
    struct buf old = last->output;
    bool had_failed = last->error[0] != '\0';
    int64_t duration_us = clock_monotonic_us() - probe->started_us;
    last->output = probe->output;
    probe->output = old;
    buf_clear(&probe->output);
    (void)snprintf(last->error, sizeof(last->error), "%s", error); /* ERROR_MAX is enough */
    last->at_ms = clock_monotonic_ms();
    clock_gettime(CLOCK_REALTIME, &last->at);
    probe->counts.runs++;
    probe->counts.failures += error[0] != '\0';
    probe->counts.timeouts += probe->is_timed_out;
    histogram_observe_us(&probe->counts.duration, duration_us);
    probe_log_result(probe, had_failed, duration_us);
}

/* Describes how a child ended, in the old program's words, which alerts match. */
static void describe_end(const siginfo_t *info, char out[ERROR_MAX])
{
    static const char *const signals[] = {
        [SIGHUP] = "hangup",
        [SIGINT] = "interrupt",
        [SIGQUIT] = "quit",
        [SIGILL] = "illegal instruction",
        [SIGTRAP] = "trace/breakpoint trap",
        [SIGABRT] = "aborted",
        [SIGBUS] = "bus error",
        [SIGFPE] = "floating point exception",
        [SIGKILL] = "killed",
        [SIGUSR1] = "user defined signal 1",
        [SIGSEGV] = "segmentation fault",
        [SIGUSR2] = "user defined signal 2",
        [SIGPIPE] = "broken pipe",
        [SIGALRM] = "alarm clock",
        [SIGTERM] = "terminated",
    };
    unsigned number = (unsigned)info->si_status;
    const char *core = info->si_code == CLD_DUMPED ? " (core dumped)" : "";
    out[0] = '\0';
    if (info->si_code == CLD_EXITED) {
        if (number != 0) {
            (void)snprintf(out, ERROR_MAX, "exit status %u", number); /* fits */
        }
    } else if (number < ARRAY_LEN(signals) && signals[number]) {
        (void)snprintf(out, ERROR_MAX, "signal: %s%s", signals[number], core); /* fits */
    } else {
        (void)snprintf(out, ERROR_MAX, "signal: signal %u%s", number, core); /* fits */
    }
}

/* ---- The running command ---- */

/* Reads what is available, at most `limit` bytes. Returns false at the end of output. */
static bool read_output(struct probe *probe, size_t limit)
{
    char bytes[4096];
    while (limit > 0) {
        ssize_t n = read(probe->output_fd, bytes, limit < sizeof(bytes) ? limit : sizeof(bytes));
        if (n <= 0) {
            return n < 0 && (errno == EAGAIN || errno == EINTR);
        }
        size_t room = OUTPUT_MAX - probe->output.len;
        buf_append(&probe->output, bytes, (size_t)n < room ? (size_t)n : room);
        limit -= (size_t)n;
    }
    return true;
}

static void on_output(struct ev_loop *loop, ev_io *w, int events UNUSED)
{
    if (!read_output(w->data, OUTPUT_MAX)) {
        ev_io_stop(loop, w);
    }
}

static void probe_on_timeout(struct ev_loop *loop UNUSED, ev_timer *w, int events UNUSED)
{
    struct probe *probe = w->data;
    probe->is_timed_out = true;
    log_debug("run timed out, killing it", LOG_STR("path", probe->config.path),
              LOG_INT("timeout_ms", probe->config.settings.timeout_ms));
    (void)kill(-probe->child.pid, SIGKILL); /* the shell is not reaped yet: the group exists */
}

static void start_command(struct probe *probe);

static void on_exit_of_shell(struct reaper_child *child, const siginfo_t *info)
{
    struct probe *probe = exechealthz_probe_of(child);
    char error[ERROR_MAX];
    (void)kill(-child->pid, SIGKILL); /* anything the shell left behind */
    /* A process that left the group may write forever: read at most one pipe's capacity. */
    (void)read_output(probe, OUTPUT_MAX);
    ev_io_stop(probe->loop, &probe->output_ready);
    ev_timer_stop(probe->loop, &probe->timeout);
    (void)close(probe->output_fd); /* read side only */
    child->pid = 0;
    describe_end(info, error);
    probe_record(probe, error);
    if (probe->tick_missed) {
        probe->tick_missed = false;
        start_command(probe);
    }
}

/* Starts a shell without input, with its output on the pipe, none of our other descriptors, no
 * signal ignored or blocked, as leader of a process group. Returns 0 or an errno. */
static int spawn_shell(const char *command, int output_fd, pid_t *ret_pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t all, none;
    char shell[] = "sh", option[] = "-c";
    CLEANUP_FREE char *text = xstrdup(command);
    char *const argv[] = {shell, option, text, NULL};
    sigfillset(&all);
    sigemptyset(&none);
    /* These fail only for lack of memory or wrong arguments. */
    (void)posix_spawn_file_actions_init(&files);
    (void)posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_adddup2(&files, output_fd, STDOUT_FILENO);
    (void)posix_spawn_file_actions_adddup2(&files, output_fd, STDERR_FILENO);
    (void)posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
                                                    POSIX_SPAWN_SETSIGMASK);
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    (void)posix_spawnattr_setsigdefault(&attributes, &all);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    int r = posix_spawnp(ret_pid, shell, &files, &attributes, argv, environ);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&files);
    return r;
}

/* Returns 0 or an errno. */
static int spawn_with_pipe(const char *command, pid_t *ret_pid, int *ret_output_fd)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return errno;
    }
    int r = spawn_shell(command, ends[1], ret_pid);
    (void)close(ends[1]); /* the shell has its own */
    if (r != 0) {
        (void)close(ends[0]); /* empty */
        return r;
    }
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK); /* only this end */
    *ret_output_fd = ends[0];
    return 0;
}

static void start_command(struct probe *probe)
{
    pid_t pid = 0;
    probe->started_us = clock_monotonic_us();
    probe->is_timed_out = false;
    int r = spawn_with_pipe(probe->config.command, &pid, &probe->output_fd);
    if (r != 0) {
        char error[ERROR_MAX];
        (void)snprintf(error, sizeof(error), "start sh: %s", err_code_text(-r)); /* fits */
        probe_record(probe, error);
        return;
    }
    log_debug("run started", LOG_STR("path", probe->config.path), LOG_INT("pid", pid));
    probe->child.pid = pid;
    reaper_watch(probe->reaper, &probe->child);
    ev_io_set(&probe->output_ready, probe->output_fd, EV_READ);
    ev_io_start(probe->loop, &probe->output_ready);
    ev_now_update(probe->loop);
    ev_timer_set(&probe->timeout, (double)probe->config.settings.timeout_ms / 1000, 0.);
    ev_timer_start(probe->loop, &probe->timeout);
}

static void probe_on_tick(struct ev_loop *loop UNUSED, ev_timer *w, int events UNUSED)
{
    struct probe *probe = w->data;
    if (probe->child.pid != 0) {
        probe->tick_missed = true;
    } else {
        start_command(probe);
    }
}

/* ---- Lifetime ---- */

struct probe *probe_new(struct ev_loop *loop, struct reaper *reaper,
                        const struct probe_config *config)
{
    double period_s = (double)config->settings.period_ms / 1000;
    struct probe *probe = xcalloc(1, sizeof(*probe));
    probe->loop = loop;
    probe->reaper = reaper;
    probe->config = *config;
    probe->child.on_exit = on_exit_of_shell;
    buf_init(&probe->output, OUTPUT_MAX);
    buf_init(&probe->last.output, OUTPUT_MAX);
    if (config->settings.starts_unhealthy) {
        (void)snprintf(probe->last.error, ERROR_MAX, "waiting for first run"); /* fits */
    }
    ev_timer_init(&probe->tick, probe_on_tick, config->settings.starts_unhealthy ? 0. : period_s,
                  period_s);
    ev_init(&probe->timeout, probe_on_timeout);
    ev_init(&probe->output_ready, on_output);
    probe->tick.data = probe->timeout.data = probe->output_ready.data = probe;
    return probe;
}

void probe_start(struct probe *probe)
{
    probe->last.at_ms = clock_monotonic_ms();
    clock_gettime(CLOCK_REALTIME, &probe->last.at);
    ev_now_update(probe->loop);
    ev_timer_start(probe->loop, &probe->tick);
}

void probe_free(struct probe *probe)
{
    if (!probe) {
        return;
    }
    ev_timer_stop(probe->loop, &probe->tick);
    ev_timer_stop(probe->loop, &probe->timeout);
    ev_io_stop(probe->loop, &probe->output_ready);
    if (probe->child.pid != 0) {
        (void)kill(-probe->child.pid, SIGKILL); /* not reaped yet: the group exists */
        reaper_forget(probe->reaper, &probe->child);
        (void)close(probe->output_fd); /* read side only */
    }
    buf_fini(&probe->output);
    buf_fini(&probe->last.output);
    free(probe);
}

/* ---- For the HTTP handler ---- */

struct probe_result probe_last(const struct probe *probe)
{
    const struct outcome *last = &probe->last;
    return (struct probe_result){
        .run = probe->counts.runs,
        .output = buf_slice(&last->output),
        .error = last->error[0] ? last->error : NULL,
    };
}

const char *probe_path(const struct probe *probe)
{
    return probe->config.path;
}

const struct probe_counts *probe_counts(const struct probe *probe)
{
    return &probe->counts;
}

/* Appends "2016-04-07 12:34:56.789 +0000 UTC": fractions without trailing zeros. */
static void append_time(struct buf *reply, struct timespec time)
{
    char text[64];
    struct tm utc;
    gmtime_r(&time.tv_sec, &utc);
    size_t n = strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &utc);
    (void)snprintf(text + n, sizeof(text) - n, ".%09ld", time.tv_nsec); /* 29 bytes */
    n = strlen(text);
    while (text[n - 1] == '0') {
        n--;
    }
    buf_append(reply, text, text[n - 1] == '.' ? n - 1 : n);
    buf_append_str(reply, " +0000 UTC");
}

static void append_result(struct buf *reply, const struct outcome *last)
{
    buf_append_str(reply, "Result of last exec: ");
    buf_append_slice(reply, buf_slice(&last->output));
    buf_append_str(reply, ", at ");
    append_time(reply, last->at);
    buf_append_str(reply, ", error ");
    buf_append_str(reply, last->error[0] ? last->error : "None");
}

static bool is_too_old(const struct probe *probe, int64_t now_ms)
{
    return now_ms - probe->last.at_ms > probe->config.settings.latency_ms;
}

bool probe_is_healthy(const struct probe *probe, int64_t now_ms)
{
    return !probe->last.error[0] && !is_too_old(probe, now_ms);
}

bool probe_report(const struct probe *probe, int64_t now_ms, struct buf *reply)
{
    const struct outcome *last = &probe->last;
    if (last->error[0]) {
        buf_printf(reply, "Healthz probe on %s error: ", probe->config.path);
        append_result(reply, last);
        buf_append_str(reply, "\n");
        return false;
    }
    if (is_too_old(probe, now_ms)) {
        buf_append_str(reply, "Latest result too old to be useful: ");
        append_result(reply, last);
        buf_append_str(reply, ".\n");
        return false;
    }
    if (probe->config.settings.want_output) {
        buf_append_slice(reply, buf_slice(&last->output));
    } else {
        buf_append_str(reply, "ok");
    }
    return true;
}
