#include "exechealthz/shell_run.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/attributes.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"

/* Bounds the output: enough for any message that people read in a probe's response, and a pipe's
 * capacity. The rest is read and dropped, so that the command does not block. */
enum { OUTPUT_MAX = 64 * 1024 };

/* Describes how a child ended, in the old program's words, which alerts match. */
static void describe_end(const siginfo_t *info, char out[SHELL_ERROR_MAX])
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
            (void)snprintf(out, SHELL_ERROR_MAX, "exit status %u", number); /* fits */
        }
    } else if (number < ARRAY_LEN(signals) && signals[number]) {
        (void)snprintf(out, SHELL_ERROR_MAX, "signal: %s%s", signals[number], core); /* fits */
    } else {
        (void)snprintf(out, SHELL_ERROR_MAX, "signal: signal %u%s", number, core); /* fits */
    }
}

/* ---- The running command ---- */

/* Reads what is available, at most `limit` bytes. Returns false at the end of output. */
static bool read_output(struct shell_run *run, size_t limit)
{
    char bytes[4096];
    while (limit > 0) {
        ssize_t n = read(run->output_fd, bytes, limit < sizeof(bytes) ? limit : sizeof(bytes));
        if (n <= 0) {
            return n < 0 && (errno == EAGAIN || errno == EINTR);
        }
        size_t room = OUTPUT_MAX - run->output.len;
        buf_append(&run->output, bytes, (size_t)n < room ? (size_t)n : room);
        limit -= (size_t)n;
    }
    return true;
}

static void shell_run_on_output(struct ev_loop *loop, ev_io *w, int events UNUSED)
{
    if (!read_output(w->data, OUTPUT_MAX)) {
        ev_io_stop(loop, w);
    }
}

static void shell_run_on_timeout(struct ev_loop *loop UNUSED, ev_timer *w, int events UNUSED)
{
    struct shell_run *run = w->data;
    run->is_timed_out = true;
    log_debug("run timed out, killing it", LOG_STR("path", run->name),
              LOG_INT("timeout_ms", (int64_t)(run->timeout.repeat * 1000)));
    (void)kill(-run->pid, SIGKILL); /* the shell is not reaped yet: the group exists */
}

/* Stops watching the command, whose shell is dead or about to be. */
static void shell_run_leave(struct shell_run *run)
{
    ev_io_stop(run->loop, &run->output_ready);
    ev_timer_stop(run->loop, &run->timeout);
    (void)close(run->output_fd); /* read side only */
    LIST_REMOVE(run, others);
    run->pid = 0;
}

/* Ends the run of a shell that has ended. It is still a zombie, so that its pid and process group
 * cannot be reused. */
static void shell_run_on_exit(struct shell_run *run, const siginfo_t *info)
{
    char error[SHELL_ERROR_MAX];
    (void)kill(-run->pid, SIGKILL); /* anything the shell left behind */
    /* A process that left the group may write forever: read at most one pipe's capacity. */
    (void)read_output(run, OUTPUT_MAX);
    shell_run_leave(run);
    describe_end(info, error);
    run->on_end(run, error);
}

/* Starts a shell without input, with its output on the pipe, none of our other descriptors, no
 * signal ignored or blocked, as leader of a process group. Returns 0 or an errno. */
static int spawn_shell(const char *command, char *const *environment, int output_fd, pid_t *ret_pid)
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
    int r = posix_spawnp(ret_pid, shell, &files, &attributes, argv, environment);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&files);
    return r;
}

/* Returns 0 or an errno. */
static int spawn_with_pipe(const char *command, char *const *environment, pid_t *ret_pid,
                           int *ret_output_fd)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return errno;
    }
    int r = spawn_shell(command, environment, ends[1], ret_pid);
    (void)close(ends[1]); /* the shell has its own */
    if (r != 0) {
        (void)close(ends[0]); /* empty */
        return r;
    }
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK); /* only this end */
    *ret_output_fd = ends[0];
    return 0;
}

void shell_run_start(struct shell_run *run, const char *name, const char *command,
                     char *const *environment)
{
    pid_t pid = 0;
    assert(!shell_run_is_active(run));
    run->name = name;
    buf_clear(&run->output);
    run->started_us = clock_monotonic_us();
    run->is_timed_out = false;
    int r = spawn_with_pipe(command, environment, &pid, &run->output_fd);
    if (r != 0) {
        char error[SHELL_ERROR_MAX];
        (void)snprintf(error, sizeof(error), "start sh: %s", err_code_text(-r)); /* fits */
        run->on_end(run, error);
        return;
    }
    run->pid = pid;
    LIST_INSERT_HEAD(&run->reaper->runs, run, others);
    ev_io_set(&run->output_ready, run->output_fd, EV_READ);
    ev_io_start(run->loop, &run->output_ready);
    ev_now_update(run->loop);
    ev_timer_again(run->loop, &run->timeout);
}

/* ---- The reaper ---- */

static struct shell_run *reaper_find_run(const struct reaper *reaper, pid_t pid)
{
    struct shell_run *run = LIST_FIRST(&reaper->runs);
    while (run && run->pid != pid) {
        run = LIST_NEXT(run, others);
    }
    return run;
}

/* Reaps all children that have ended: one signal may stand for several. */
static void on_sigchld(struct ev_loop *loop UNUSED, ev_signal *w, int events UNUSED)
{
    for (;;) {
        siginfo_t info = {0};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
            return;
        }
        const pid_t pid = info.si_pid;
        struct shell_run *run = reaper_find_run(w->data, pid);
        if (run) {
            shell_run_on_exit(run, &info);
        }
        (void)waitpid(pid, NULL, 0); /* it is dead: neither waits nor fails */
    }
}

void reaper_start(struct reaper *reaper, struct ev_loop *loop)
{
    *reaper = (struct reaper){.loop = loop};
    LIST_INIT(&reaper->runs);
    ev_signal_init(&reaper->sigchld, on_sigchld, SIGCHLD);
    reaper->sigchld.data = reaper;
    ev_signal_start(loop, &reaper->sigchld);
}

void reaper_stop(struct reaper *reaper)
{
    ev_signal_stop(reaper->loop, &reaper->sigchld);
}

/* ---- Lifetime ---- */

void shell_run_init(struct shell_run *run, struct ev_loop *loop, struct reaper *reaper,
                    int64_t timeout_ms, void (*on_end)(struct shell_run *run, const char *error))
{
    *run = (struct shell_run){.loop = loop, .reaper = reaper, .on_end = on_end};
    buf_init(&run->output, OUTPUT_MAX);
    ev_timer_init(&run->timeout, shell_run_on_timeout, 0., (double)timeout_ms / 1000);
    ev_init(&run->output_ready, shell_run_on_output);
    run->timeout.data = run->output_ready.data = run;
}

void shell_run_fini(struct shell_run *run)
{
    if (shell_run_is_active(run)) {
        (void)kill(-run->pid, SIGKILL); /* not reaped yet: the group exists */
        shell_run_leave(run);
    }
    buf_fini(&run->output);
}

bool shell_run_is_active(const struct shell_run *run)
{
    return run->pid != 0;
}
