/* The clock of a test program: overrides clock_gettime, also for libev. It follows the system's
 * clock until a test stops it; then only the test advances it, so that a limit of half a minute is
 * tested instantly and on any machine.
 *
 * For the test's own thread. While it is stopped, no timer fires by itself: loop_until has no
 * limit. */
#ifndef TESTS_SUPPORT_TEST_CLOCK_H
#define TESTS_SUPPORT_TEST_CLOCK_H

#include <stdint.h>

void test_clock_stop(void);
void test_clock_stop_wall(void);        /* until test_clock_run; the monotonic one goes on */
void test_clock_advance_ms(int64_t ms); /* while stopped */
void test_clock_run(void);              /* resumes from where it stopped */

#endif
