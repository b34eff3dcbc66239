/* Converts between times as RFC 3339 writes them, as the Kubernetes API and people do, and Unix
 * time. Pure; any thread. */
#ifndef COMMON_BASE_UTC_TIME_H
#define COMMON_BASE_UTC_TIME_H

#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/slice.h"

/* Parses "2024-05-01T12:00:00Z", with or without a fraction and with any offset from UTC, into
 * microseconds since 1970; further digits are cut off. Returns 0 for another text, and for a time
 * that is not after 1970. */
int64_t utc_time_parse_us(struct slice text);

/* Does the same in whole seconds. */
int64_t utc_time_parse_s(const char *text);

/* Appends a time in the form of the API's MicroTime: "2024-05-01T12:00:00.000000Z". */
void utc_time_append(int64_t time_us, struct buf *out);

/* Appends a time as people read it: "2024-05-01T12:00:00.000Z". */
void utc_time_append_ms(int64_t time_ms, struct buf *out);

/* Writes "2024-05-01T12:00:00Z"; nothing for a year that has not four digits. Returns out. */
enum { UTC_TIME_TEXT_MAX = 32 };
const char *utc_time_text_s(int64_t time_s, char out[UTC_TIME_TEXT_MAX]);

#endif
