/* Runs one shell command at a time, without waiting for it. A probe and the health actions each
 * have one; everything on one loop's thread.
 *
 *     start ──▶ sh -c COMMAND in a process group of its own ──▶ on_end(error), output
 *                    │ longer than the timeout: the whole group is killed
 *
 * When the shell ends, everything left in its group is killed. The reaper reaps every dead child of
 * the process: as PID 1 of a container, exechealthz inherits whatever its commands leave behind, so
 * it does not suffice to wait for its own shells. */
#ifndef EXECHEALTHZ_SHELL_RUN_H
#define EXECHEALTHZ_SHELL_RUN_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "common/base/buf.h"

/* Reaps the children and ends their runs. One per process, on the loop that handles SIGCHLD; not
 * the default loop, whose own handler would reap the children first. */
struct reaper {
    struct ev_loop *loop;
    ev_signal sigchld;
    LIST_HEAD(, shell_run) runs; /* the active ones */
};

void reaper_start(struct reaper *reaper, struct ev_loop *loop);
void reaper_stop(struct reaper *reaper);

enum { SHELL_ERROR_MAX = 128 }; /* "start sh: " and a system error text, at most 50 characters */

/* Lies in its owner, who reads the first members. */
struct shell_run {
    struct buf output; /* stdout and stderr interleaved, at most 64 KiB; of the last run */
    int64_t started_us;
    bool is_timed_out;

    struct ev_loop *loop;
    /* Called once for each start, perhaps from inside it, when the run has ended; may start the
     * next. error "": status 0; else "exit status 1", "signal: killed", "start sh: …". */
    void (*on_end)(struct shell_run *run, const char *error);
    struct reaper *reaper;
    pid_t pid; /* the shell's; 0: none runs */
    LIST_ENTRY(shell_run) others;
    const char *name;
    int output_fd;
    ev_io output_ready;
    ev_timer timeout;
};

/* timeout_ms: > 0. */
void shell_run_init(struct shell_run *run, struct ev_loop *loop, struct reaper *reaper,
                    int64_t timeout_ms, void (*on_end)(struct shell_run *run, const char *error));

/* Kills a running command with all its processes. */
void shell_run_fini(struct shell_run *run);

bool shell_run_is_active(const struct shell_run *run);

/* Starts the command with this environment; none may be running. name: of a path or flag, for the
 * log, borrowed until the end. */
void shell_run_start(struct shell_run *run, const char *name, const char *command,
                     char *const *environment);

#endif
