#include "exechealthz/reaper.h"

#include <stddef.h>
#include <sys/wait.h>

#include "common/base/attributes.h"

static struct reaper_child *reaper_find_child(struct reaper *reaper, pid_t pid)
{
    for (struct reaper_child **at = &reaper->children; *at; at = &(*at)->next) {
        struct reaper_child *child = *at;
        if (child->pid == pid) {
            *at = child->next;
            return child;
        }
    }
    return NULL;
}

/* Reaps all children that have ended: one signal may stand for several. */
static void on_sigchld(struct ev_loop *loop UNUSED, ev_signal *w, int events UNUSED)
{
    struct reaper *reaper = w->data;
    for (;;) {
        siginfo_t info = {0};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
            return;
        }
        pid_t pid = info.si_pid;
        struct reaper_child *child = reaper_find_child(reaper, pid);
        if (child) {
            child->on_exit(child, &info);
        }
        (void)waitpid(pid, NULL, 0); /* it is dead: neither waits nor fails */
    }
}

void reaper_start(struct reaper *reaper, struct ev_loop *loop)
{
    *reaper = (struct reaper){.loop = loop};
    ev_signal_init(&reaper->sigchld, on_sigchld, SIGCHLD);
    reaper->sigchld.data = reaper;
    ev_signal_start(loop, &reaper->sigchld);
}

void reaper_stop(struct reaper *reaper)
{
    ev_signal_stop(reaper->loop, &reaper->sigchld);
}

void reaper_watch(struct reaper *reaper, struct reaper_child *child)
{
    child->next = reaper->children;
    reaper->children = child;
}

void reaper_forget(struct reaper *reaper, struct reaper_child *child)
{
    for (struct reaper_child **at = &reaper->children; *at; at = &(*at)->next) {
        if (*at == child) {
            *at = child->next;
            return;
        }
    }
}
