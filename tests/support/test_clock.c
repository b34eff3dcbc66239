#include "tests/support/test_clock.h"

#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The monotonic clock; the wall clock, which no deadline uses, only where a test asks for it. */
static bool is_stopped;
static bool is_wall_stopped;
static struct timespec stopped_wall;
static int64_t stopped_ns;
static int64_t ahead_ns; /* offset from the system clock: it never goes back */

static int64_t system_ns(void)
{
    struct timespec now;
    (void)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int clock_gettime(clockid_t id, struct timespec *ret)
{
    bool is_wall = id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE;
    if (is_wall && is_wall_stopped) {
        *ret = stopped_wall;
        return 0;
    }
    if (id != CLOCK_MONOTONIC) {
        return (int)syscall(SYS_clock_gettime, id, ret);
    }
    int64_t ns = is_stopped ? stopped_ns : system_ns() + ahead_ns;
    *ret = (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    return 0;
}

void test_clock_stop(void)
{
    if (!is_stopped) {
        stopped_ns = system_ns() + ahead_ns;
        is_stopped = true;
    }
}

void test_clock_stop_wall(void)
{
    (void)syscall(SYS_clock_gettime, CLOCK_REALTIME, &stopped_wall);
    is_wall_stopped = true;
}

void test_clock_advance_ms(int64_t ms)
{
    stopped_ns += ms * 1000000;
}

void test_clock_run(void)
{
    is_wall_stopped = false;
    if (is_stopped) {
        ahead_ns = stopped_ns - system_ns();
        is_stopped = false;
    }
}
