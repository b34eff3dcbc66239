/* The flag -healthcheck=URL: asks a running program whether it is healthy.
 *
 * It serves an image's HEALTHCHECK or an exec probe where there is no curl. main() calls it instead
 * of everything else. Blocks for at most 4 s, less than the usual timeout of such checks. */
#ifndef COMMON_HEALTH_HEALTHCHECK_H
#define COMMON_HEALTH_HEALTHCHECK_H

#include "common/base/attributes.h"
#include "common/base/err.h"

/* Checks http://IP:PORT/PATH, which is healthy when the status is 200, or udp://IP:PORT, which is
 * when any response to a DNS query arrives. http://unix:FILE:/PATH asks at a Unix socket. Returns 0
 * when healthy, ERR_USAGE for any other URL, and another code with the reason when unhealthy. */
int healthcheck_run(const char *url, struct err *err) MUST_CHECK;

/* Does the same for main(): returns the exit status, 0, 1 when unhealthy, 2 for a bad URL, and
 * prints a line on stderr that begins with the program's name. */
int healthcheck_main(const char *program, const char *url) MUST_CHECK;

#endif
