/* Runs one shell command at a time, without waiting for it. A probe and the health actions each
 * have one; everything on one loop's thread.
 *
 *     start ──▶ sh -c COMMAND in a process group of its own ──▶ on_end(error), output
 *                    │ longer than the timeout: the whole group is killed
 *
 * When the shell ends, everything left in its group is killed. */
#ifndef EXECHEALTHZ_SHELL_RUN_H
#define EXECHEALTHZ_SHELL_RUN_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "exechealthz/reaper.h"

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
    struct reaper_child child; /* pid 0: none runs */
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
