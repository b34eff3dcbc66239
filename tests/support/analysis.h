/* Facts that the analysers of `make analyze` cannot see, since they analyse one file at a time.
 * Included before every file there, and nowhere else. */
#ifndef TESTS_SUPPORT_ANALYSIS_H
#define TESTS_SUPPORT_ANALYSIS_H

#include "common/base/err.h"

/* Both return the code passed in, which is negative. */
#define err_set(...)  ((err_set)(__VA_ARGS__), -1)
#define err_wrap(...) ((err_wrap)(__VA_ARGS__), -1)

#endif
