/* The two clocks. Any thread. Pure code takes times as arguments; only the edges call these. */
#ifndef COMMON_BASE_CLOCK_H
#define COMMON_BASE_CLOCK_H

#include <stdint.h>

/* Monotonic, for deadlines and delays; its origin is arbitrary. */
int64_t clock_monotonic_ms(void);
int64_t clock_monotonic_us(void);

/* Wall clock, Unix seconds, for SOA serials and log lines. */
int64_t clock_wall_s(void);

/* The same in milliseconds, for times that outlive the process. */
int64_t clock_wall_ms(void);

/* In nanoseconds, as the kernel stamps packets. */
int64_t clock_wall_ns(void);

#endif
