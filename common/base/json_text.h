/* Writes JSON directly, for pages too long to build as a tree. Pure; any thread. */
#ifndef COMMON_BASE_JSON_TEXT_H
#define COMMON_BASE_JSON_TEXT_H

#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/slice.h"

/* Appends the bytes as a quoted JSON string: valid UTF-8 verbatim, control characters escaped,
 * invalid bytes replaced by U+FFFD. */
void json_text_string(struct buf *out, struct slice bytes);

/* Append `,"name":value`: a further field of an object. The name is written as it is. */
void json_text_string_field(struct buf *out, const char *name, const char *value);
void json_text_number_field(struct buf *out, const char *name, uint64_t value);

#endif
