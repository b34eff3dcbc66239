/* Writes JSON directly, for pages too long to build as a tree. Pure; any thread. */
#ifndef COMMON_BASE_JSON_TEXT_H
#define COMMON_BASE_JSON_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/slice.h"

/* Appends the bytes as a quoted JSON string: valid UTF-8 verbatim, control characters escaped,
 * invalid bytes replaced by U+FFFD. */
void json_text_string(struct buf *out, struct slice bytes);

/* Append `"name":value`, a field of an object, after a comma unless it is the first one, or a line
 * was just begun. The name is written as it is; without one (NULL) the value is the item of a
 * list. */
void json_text_string_field(struct buf *out, const char *name, const char *value);
void json_text_slice_field(struct buf *out, const char *name, struct slice value);
void json_text_number_field(struct buf *out, const char *name, uint64_t value);
void json_text_integer_field(struct buf *out, const char *name, int64_t value);
void json_text_flag_field(struct buf *out, const char *name, bool value);

/* Appends a time as two fields: "time":"2026-05-01T03:12:00.000Z","time_ms":1777605120000. */
void json_text_time_fields(struct buf *out, int64_t time_ms);

/* Begins such a field whose value the caller appends from its second byte on: `{`, `[`, `"`; _row:
 * on a new line. */
void json_text_open(struct buf *out, const char *name, char first);
void json_text_open_row(struct buf *out, const char *name, char first);

#endif
