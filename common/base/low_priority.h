/* Threads whose work may wait for that of the threads that answer. */
#ifndef COMMON_BASE_LOW_PRIORITY_H
#define COMMON_BASE_LOW_PRIORITY_H

#include <sched.h>
#include <sys/resource.h>

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
