/* The processor time that a test's own thread has used: to compare two costs within one run,
 * whatever the machine's speed. */
#ifndef TESTS_SUPPORT_THREAD_CPU_H
#define TESTS_SUPPORT_THREAD_CPU_H

#include <time.h>

/* In microseconds. */
static inline double thread_cpu_us(void)
{
    struct timespec t = {.tv_sec = 0};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* is always there */
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

#endif
