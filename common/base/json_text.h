/* Writes JSON directly, for pages too long to build as a tree. Pure; any thread. */
#ifndef COMMON_BASE_JSON_TEXT_H
#define COMMON_BASE_JSON_TEXT_H

#include "common/base/buf.h"
#include "common/base/slice.h"

/* Appends the bytes as a quoted JSON string: valid UTF-8 verbatim, control characters escaped,
 * invalid bytes replaced by U+FFFD. */
void json_text_string(struct buf *out, struct slice bytes);

#endif
