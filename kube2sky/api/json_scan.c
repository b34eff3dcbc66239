#include "kube2sky/api/json_scan_internal.h"

bool json_scan_is_blank(char c)
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

/* ---- Values ---- */

/* Tracks strings and bracket depth from byte to byte. Returns true if the byte ends the value. */
static bool ends_value(struct json_value *value, char c)
{
    if (value->is_escaped) {
        value->is_escaped = false;
    } else if (value->is_in_string) {
        value->is_escaped = c == '\\';
        value->is_in_string = c != '"';
        return c == '"' && value->depth == 0;
    } else if (c == '"') {
        value->is_in_string = true;
    } else if (c == '{' || c == '[') {
        value->depth++;
    } else if (c == '}' || c == ']') {
        return --value->depth == 0;
    }
    return false;
}

bool json_value_take(struct json_value *value, struct slice text, struct slice *ret_value)
{
    char first = text.ptr[0];
    bool is_scalar = first != '{' && first != '[' && first != '"';
    for (size_t i = value->scanned; i < text.len; i++) {
        char c = text.ptr[i];
        bool is_behind = is_scalar && (json_scan_is_blank(c) || c == ',' || c == '}' || c == ']');
        if (is_behind || (!is_scalar && ends_value(value, c))) {
            *ret_value = slice_of(text.ptr, is_scalar ? i : i + 1);
            *value = (struct json_value){0};
            return true;
        }
    }
    value->scanned = text.len;
    return false;
}

/* ---- Objects ---- */

/* Takes the value behind blanks; a number or word may be cut off by the end of the text. */
static bool json_scan_take_value(struct json_scan *scan, struct slice *ret_value)
{
    struct json_value value = {0};
    json_scan_skip_blanks(scan);
    struct slice text = slice_of(scan->pos, (size_t)(scan->end - scan->pos));
    bool is_taken = text.len > 0 && json_value_take(&value, text, ret_value);
    if (text.len > 0 && !is_taken && !memchr("{[\"", text.ptr[0], 3)) {
        *ret_value = text;
        is_taken = true;
    }
    scan->pos += is_taken ? ret_value->len : 0;
    return is_taken && ret_value->len > 0;
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
    struct slice key;
    if (!has_next(scan)) {
        return false;
    }
    scan->failed = !json_scan_take_value(scan, &key) || key.ptr[0] != '"' ||
                   !json_scan_accept(scan, ':') || !json_scan_take_value(scan, ret_value);
    if (!scan->failed) {
        *ret_key = slice_of(key.ptr + 1, key.len - 2);
    }
    return !scan->failed;
}
