/* Reaps every dead child of the process. As PID 1 of a container, exechealthz inherits whatever its
 * commands leave behind, so it does not suffice to wait for its own shells.
 *
 * One per process, on the loop that handles SIGCHLD; not the default loop, whose own handler would
 * reap the children first. Everything runs on that loop's thread. */
#ifndef EXECHEALTHZ_REAPER_H
#define EXECHEALTHZ_REAPER_H

#include <ev.h>
#include <signal.h>
#include <sys/types.h>

/* A child with a listener, in the caller's storage. */
struct reaper_child {
    pid_t pid;
    /* Called once, already off the list, while the child is still a zombie, so that its pid and
     * process group cannot be reused. */
    void (*on_exit)(struct reaper_child *child, const siginfo_t *info);
    struct reaper_child *next;
};

struct reaper {
    struct ev_loop *loop;
    ev_signal sigchld;
    struct reaper_child *children;
};

void reaper_start(struct reaper *reaper, struct ev_loop *loop);
void reaper_stop(struct reaper *reaper);

/* Listens until on_exit or reaper_forget, which does nothing for a child not on the list. */
void reaper_watch(struct reaper *reaper, struct reaper_child *child);
void reaper_forget(struct reaper *reaper, struct reaper_child *child);

#endif
