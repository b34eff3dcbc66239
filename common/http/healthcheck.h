/* -healthcheck=URL of the programs: asks one that runs whether it is well, for the HEALTHCHECK of
 * an image or a probe that runs a command, where there is no curl. Called by main() instead of
 * everything else; blocks for at most 4 s, less than such checks are commonly given. */
#ifndef COMMON_HTTP_HEALTHCHECK_H
#define COMMON_HTTP_HEALTHCHECK_H

#include "common/base/attributes.h"
#include "common/base/err.h"

/* http://IP:PORT/PATH: well when the status is 200. udp://IP:PORT: well when any reply to a DNS
 * query comes, whatever it says. 0; ERR_USAGE for another URL; any other code, with what was wrong,
 * when it is not well. */
int healthcheck(const char *url, struct err *err) MUST_CHECK;

/* The same for main(): the exit status, 0, 1 for not well, 2 for a URL that is none, with a line on
 * stderr that begins with the program's name. */
int healthcheck_main(const char *program, const char *url) MUST_CHECK;

#endif
