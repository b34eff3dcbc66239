/* The text of one log line, in either format. Pure but for the time of day; any thread. */
#ifndef COMMON_BASE_LOG_LINE_INTERNAL_H
#define COMMON_BASE_LOG_LINE_INTERNAL_H

#include <stddef.h>

#include "common/base/log.h"

/* Bounds a line: a message, about ten fields, one of them an escaped DNS name (255 bytes, each up
 * to 4). Longer lines are truncated. A pipe takes as many bytes at once (PIPE_BUF), so that lines
 * of several processes do not mix. */
enum { LOG_LINE_MAX = 4096 };

/* Writes at most LOG_LINE_MAX bytes, the last of them the only newline. Returns their number. */
size_t log_line_write(char *text, enum log_format format, enum log_level level, const char *message,
                      size_t count, const struct log_field *fields);

#endif
