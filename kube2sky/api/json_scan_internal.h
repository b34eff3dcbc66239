/* Finds the members of a JSON object as slices of the text, without building a tree: to identify
 * objects that may be malformed, and to read events before decoding their object. Looks only at
 * brackets and strings; parsing a value is the caller's job. Pure; never allocates or recurses.
 *
 *     struct json_scan scan = json_scan_object(text);
 *     while (json_scan_member(&scan, &key, &value)) { ... }
 *     if (scan.failed) { ... }
 */
#ifndef KUBE2SKY_API_JSON_SCAN_INTERNAL_H
#define KUBE2SKY_API_JSON_SCAN_INTERNAL_H

#include <stdbool.h>

#include "common/base/slice.h"

/* Holds how far a value has been scanned that arrives in pieces; zero at first. */
struct json_value {
    size_t scanned;    /* bytes */
    size_t depth;      /* open brackets at that point */
    bool is_in_string; /* or inside a string */
    bool is_escaped;
};

/* Takes the value at the start of the text, which has no leading blank and is not empty. Returns
 * false if it is incomplete: call it again with more bytes. An empty slice: there is no value. It
 * does not check that brackets match in kind: callers parse the text between. */
bool json_value_take(struct json_value *value, struct slice text, struct slice *ret_value);

bool json_scan_is_blank(char c);

struct json_scan {
    const char *pos;
    const char *end;
    bool is_first; /* nothing read yet: no comma expected */
    bool is_done;  /* the closing bracket was read */
    bool failed;   /* not an object, or truncated; sticky */
};

/* Begins a scan. Blanks around the text are fine; anything else after the closing bracket is an
 * error. */
struct json_scan json_scan_object(struct slice text);

/* Sets the next member: its key between the quotes, with escapes, and its value. Returns false at
 * the end, or if the scan failed. The slices are views of the text. */
bool json_scan_member(struct json_scan *scan, struct slice *ret_key, struct slice *ret_value);

#endif
