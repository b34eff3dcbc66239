/* The clock of a test program: clock_gettime, libev's calls of it included, goes through here. It
 * runs with the system's until a test stops it; from then on it stands still but for what the test
 * adds, so that a limit of half a minute is tested in no time and on any machine.
 *
 * For the test's own thread. While it stands, no timer fires by itself: loop_until has no limit. */
#ifndef TESTS_SUPPORT_TEST_CLOCK_H
#define TESTS_SUPPORT_TEST_CLOCK_H

#include <stdint.h>

void test_clock_stop(void);
void test_clock_advance_ms(int64_t ms); /* while it stands */
void test_clock_run(void);              /* on from where it stood */

#endif
