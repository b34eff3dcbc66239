/* Time and random as a plan has them: the linker substitutes this file's functions for
 * clock_gettime and getrandom in the program (--wrap=..., check_recorded.py), and OpenSSL asks them
 * for its random bytes, so that the same message always gets the same ECDSA signature. */
#ifndef TESTS_RECORDED_FIXED_H
#define TESTS_RECORDED_FIXED_H

#include <stdint.h>

/* Before anything of the program is called. */
void fixed_begin(void);

void fixed_set_time(int64_t now_s, int64_t now_ms);

#endif
