#include "kube2sky/api/json_scan_internal.h"

static bool json_scan_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void json_scan_skip_blanks(struct json_scan *scan)
{
    while (scan->pos < scan->end && json_scan_is_blank(*scan->pos)) {
        scan->pos++;
    }
}

/* Skips blanks, and consumes the next byte if it is c. */
static bool json_scan_accept(struct json_scan *scan, char c)
{
    json_scan_skip_blanks(scan);
    if (scan->pos < scan->end && *scan->pos == c) {
        scan->pos++;
        return true;
    }
    return false;
}

/* Skips from after the opening quote to after the closing one. */
static bool skip_string(struct json_scan *scan)
{
    while (scan->pos < scan->end) {
        char c = *scan->pos++;
        if (c == '"') {
            return true;
        }
        if (c == '\\' && scan->pos < scan->end) {
            scan->pos++;
        }
    }
    return false;
}

/* Skips an object or array up to its closing bracket. It does not check that brackets match in
 * kind: callers parse the text between. */
static bool skip_nested(struct json_scan *scan)
{
    size_t depth = 0;
    while (scan->pos < scan->end) {
        char c = *scan->pos++;
        if (c == '"') {
            if (!skip_string(scan)) {
                return false;
            }
        } else if (c == '{' || c == '[') {
            depth++;
        } else if ((c == '}' || c == ']') && --depth == 0) {
            return true;
        }
    }
    return false;
}

static bool skip_scalar(struct json_scan *scan)
{
    const char *start = scan->pos;
    while (scan->pos < scan->end && !json_scan_is_blank(*scan->pos) && *scan->pos != ',' &&
           *scan->pos != '}' && *scan->pos != ']') {
        scan->pos++;
    }
    return scan->pos > start;
}

static bool json_scan_take_value(struct json_scan *scan, struct slice *ret_value)
{
    json_scan_skip_blanks(scan);
    const char *start = scan->pos;
    bool ok = false;
    if (start == scan->end) {
        return false;
    }
    if (*start == '{' || *start == '[') {
        ok = skip_nested(scan);
    } else if (*start == '"') {
        scan->pos++;
        ok = skip_string(scan);
    } else {
        ok = skip_scalar(scan);
    }
    *ret_value = slice_of(start, (size_t)(scan->pos - start));
    return ok;
}

struct json_scan json_scan_object(struct slice text)
{
    struct json_scan scan = {.is_first = true, .failed = true};
    if (text.len > 0) {
        scan.pos = text.ptr;
        scan.end = text.ptr + text.len;
        scan.failed = !json_scan_accept(&scan, '{');
    }
    return scan;
}

/* Returns true if another member must follow. */
static bool has_next(struct json_scan *scan)
{
    if (scan->failed || scan->is_done) {
        return false;
    }
    if (json_scan_accept(scan, '}')) {
        scan->is_done = true;
        json_scan_skip_blanks(scan);
        scan->failed = scan->pos != scan->end;
        return false;
    }
    if (!scan->is_first && !json_scan_accept(scan, ',')) {
        scan->failed = true;
        return false;
    }
    scan->is_first = false;
    return true;
}

bool json_scan_member(struct json_scan *scan, struct slice *ret_key, struct slice *ret_value)
{
    if (!has_next(scan)) {
        return false;
    }
    if (!json_scan_accept(scan, '"')) {
        scan->failed = true;
        return false;
    }
    const char *key = scan->pos;
    if (!skip_string(scan)) {
        scan->failed = true;
        return false;
    }
    *ret_key = slice_of(key, (size_t)(scan->pos - key) - 1);
    scan->failed = !json_scan_accept(scan, ':') || !json_scan_take_value(scan, ret_value);
    return !scan->failed;
}
