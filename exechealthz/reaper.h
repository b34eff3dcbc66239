/* Collects every dead child of the process. As PID 1 of a container exechealthz inherits whatever
 * its commands leave behind, so it is not enough to wait for the shells it started.
 *
 * One of these in a process, on the loop that handles its SIGCHLD; not the default loop, whose own
 * handler would collect the children first. Everything runs on that loop's thread. */
#ifndef EXECHEALTHZ_REAPER_H
#define EXECHEALTHZ_REAPER_H

#include <ev.h>
#include <signal.h>
#include <sys/types.h>

/* A child somebody wants to hear of; caller storage. */
struct reaper_child {
    pid_t pid;
    /* Called once, off the list already, while the child is still a zombie, so that its pid and
     * process group are nobody else's. */
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

/* From here on until on_exit or reaper_forget, which for a child not on the list does nothing. */
void reaper_watch(struct reaper *reaper, struct reaper_child *child);
void reaper_forget(struct reaper *reaper, struct reaper_child *child);

#endif
