/* Starts threads that handle no signal, and lowers the priority of those whose work may wait. */
#ifndef COMMON_BASE_THREADS_H
#define COMMON_BASE_THREADS_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>

/* Starts a thread with all signals blocked: they go to the main thread. Returns 0 or -errno. */
static inline int thread_start(pthread_t *ret_thread, const pthread_attr_t *attributes,
                               void *(*run)(void *), void *data)
{
    sigset_t all, before;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* cannot fail with these arguments */
    int r = -pthread_create(ret_thread, attributes, run, data);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL); /* the same */
    return r;
}

/* Gives the calling thread a low priority: it never preempts others when it wakes up, and has the
 * share of a busy processor that `nice` gives: a quarter for 5, a tenth for 10. If the kernel
 * refuses, it stays as any other. */
static inline void low_priority_thread(int nice)
{
    const struct sched_param batch = {.sched_priority = 0};
    (void)sched_setscheduler(0, SCHED_BATCH, &batch); /* of this thread, as the next one */
    (void)setpriority(PRIO_PROCESS, 0, nice);         /* Linux: not the process's */
}

#endif
