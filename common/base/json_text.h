/* Writing JSON by hand, where a page is too long for a tree of it. Pure; any thread. */
#ifndef COMMON_BASE_JSON_TEXT_H
#define COMMON_BASE_JSON_TEXT_H

#include "common/base/buf.h"
#include "common/base/slice.h"

/* Appends the bytes as a JSON string with its quotes: valid UTF-8 stays as it is, control
 * characters are escaped, and a byte that is no UTF-8 becomes U+FFFD. */
void json_text_string(struct buf *out, struct slice bytes);

#endif
