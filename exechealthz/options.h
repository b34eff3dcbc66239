/* The command line of exechealthz, checked. Used by main() before anything else. */
#ifndef EXECHEALTHZ_OPTIONS_H
#define EXECHEALTHZ_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/attributes.h"
#include "common/err.h"

struct options {
    const char *command; /* from argv, borrowed for good */
    int64_t port;
    int64_t period_ms;
    int64_t latency_ms;
    int64_t timeout_ms; /* never 0: the latency unless given */
    bool want_output;
    bool is_quiet;
    bool want_version;
};

/* 0; FLAGS_HELP when help was asked for, and printed; ERR_USAGE with a message. */
int options_parse(int argc, char *const *argv, struct options *ret_options,
                  struct err *err) MUST_CHECK;

#endif
