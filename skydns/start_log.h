/* What the log says of the start. Main thread. */
#ifndef SKYDNS_START_LOG_H
#define SKYDNS_START_LOG_H

#include "common/base/flags.h"
#include "skydns/settings/options.h"

struct answering;

/* The flags and variables that are accepted and ignored, in one warning; none: nothing. */
void start_log_ignored(const struct flag_strings *ignored);

/* Where queries are answered, and with which settings. */
void start_log_started(const struct options *options, const struct answering *answering);

#endif
