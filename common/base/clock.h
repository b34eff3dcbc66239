/* The monotonic clock and the wall clock. Any thread. Pure code takes times as arguments; only the
 * edges call these. */
#ifndef COMMON_BASE_CLOCK_H
#define COMMON_BASE_CLOCK_H

#include <stdint.h>

/* Returns monotonic time, for deadlines and delays; its origin is arbitrary. */
int64_t clock_monotonic_ms(void);
int64_t clock_monotonic_us(void);

/* Returns wall-clock Unix seconds, for SOA serials and log lines. */
int64_t clock_wall_s(void);

/* Returns the same in milliseconds, for times that outlive the process. */
int64_t clock_wall_ms(void);

/* Returns it in nanoseconds, as the kernel stamps packets. */
int64_t clock_wall_ns(void);

#endif
