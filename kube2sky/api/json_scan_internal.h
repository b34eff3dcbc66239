/* Finds the members of a JSON object as slices of the text, without building a tree: for what has
 * to be told of an object that may be broken inside, and of an event before its object is decoded.
 * It only looks at brackets and strings; whether a value is JSON is for whoever parses it. Pure;
 * allocates nothing, recurses never.
 *
 *     struct json_scan scan = json_scan_object(text);
 *     while (json_scan_member(&scan, &key, &value)) { ... }
 *     if (scan.failed) { ... }
 */
#ifndef KUBE2SKY_API_JSON_SCAN_INTERNAL_H
#define KUBE2SKY_API_JSON_SCAN_INTERNAL_H

#include <stdbool.h>

#include "common/base/slice.h"

struct json_scan {
    const char *pos;
    const char *end;
    bool is_first; /* nothing has been read yet: no comma is due */
    bool is_done;  /* the closing bracket was read */
    bool failed;   /* the text is no object, or ends too early; sticky */
};

/* Blanks around the text are fine; anything else behind the closing bracket is a failure. */
struct json_scan json_scan_object(struct slice text);

/* The next member: its key between the quotes, escapes as they are, and its value. False: no more,
 * or failed. The slices are views of the text. */
bool json_scan_member(struct json_scan *scan, struct slice *ret_key, struct slice *ret_value);

#endif
