/* Does what a flag asks for instead of serving: -version, -healthcheck, -explain and the like.
 * These talk to a running skydns, or read files. Before the first thread starts. */
#ifndef SKYDNS_COMMANDS_H
#define SKYDNS_COMMANDS_H

#include <stdbool.h>

#include "common/base/err.h"

struct options;

/* Returns false if no flag asks for a command; else its exit status is in *ret_status, and the
 * flags' stub zones are released if it read them. */
bool commands_run(const struct options *flags, int *ret_status);

/* Logs the error, and returns the exit status that goes with it. */
int commands_fail(const struct err *err);

#endif
