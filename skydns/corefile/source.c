#include "skydns/corefile/source_internal.h"

#include <stdbool.h>
#include <string.h>

/* Takes the next line, without its end. Returns false at the end. */
static bool take_source_line(struct slice *rest, struct slice *ret_line)
{
    const char *end = rest->len ? memchr(rest->ptr, '\n', rest->len) : NULL;
    size_t n = end ? (size_t)(end - rest->ptr) : rest->len;
    *ret_line = slice_of(rest->ptr, n);
    bool has_line = rest->len > 0;
    n += end != NULL;
    *rest = slice_of(rest->ptr + n, rest->len - n);
    return has_line;
}

static bool begins_with(struct slice line, const char *start)
{
    size_t n = strlen(start);
    return line.len >= n && memcmp(line.ptr, start, n) == 0;
}

static size_t indent_of(struct slice line)
{
    size_t n = 0;
    while (n < line.len && line.ptr[n] == ' ') {
        n++;
    }
    return n;
}

static bool is_blank_text(struct slice line)
{
    size_t n = indent_of(line);
    return n == line.len || (line.ptr[n] == '\r' && n + 1 == line.len);
}

/* Returns whether it is an object: no zone has the name of the two fields that every object of
 * Kubernetes has. */
static bool is_object(struct slice text)
{
    struct slice line;
    bool has_version = false, has_kind = false;
    while (take_source_line(&text, &line)) {
        has_version |= begins_with(line, "apiVersion: ");
        has_kind |= begins_with(line, "kind: ");
    }
    return has_version && has_kind;
}

/* Returns whether the line is like "  Corefile: |-". *ret_indicator: its indentation indicator,
 * which is rare; 0: none. */
static bool is_yaml_key(struct slice line, size_t *ret_indicator)
{
    size_t at = indent_of(line);
    struct slice key = slice_of(line.ptr + at, line.len - at);
    *ret_indicator = 0;
    if (at == 0 || !begins_with(key, "Corefile: |")) {
        return false;
    }
    for (size_t i = strlen("Corefile: |"); i < key.len; i++) {
        char c = key.ptr[i];
        if (c >= '1' && c <= '9') {
            *ret_indicator = (size_t)(c - '0');
        } else if (c != '-' && c != '+' && c != ' ' && c != '\r') {
            return c == '#';
        }
    }
    return true;
}

/* Appends the lines below the key, as far as they are indented more. */
static void append_block(struct slice rest, size_t key_indent, size_t indicator, struct buf *out)
{
    struct slice line;
    size_t indent = indicator ? key_indent + indicator : 0;
    while (take_source_line(&rest, &line)) {
        if (!is_blank_text(line)) {
            indent = indent ? indent : indent_of(line);
            if (indent_of(line) <= key_indent) {
                return;
            }
            size_t skipped = indent_of(line) < indent ? indent_of(line) : indent;
            buf_append(out, line.ptr + skipped, line.len - skipped);
        }
        buf_append_char(out, '\n');
    }
}

int source_extract(struct slice text, struct buf *out, struct err *err)
{
    struct slice line;
    size_t indicator;
    if (begins_with(text, "\xef\xbb\xbf")) {
        text = slice_of(text.ptr + 3, text.len - 3);
    }
    if (!is_object(text)) {
        buf_append_slice(out, text);
        return 0;
    }
    while (take_source_line(&text, &line)) {
        buf_append_char(out, '\n');
        if (is_yaml_key(line, &indicator)) {
            append_block(text, indent_of(line), indicator, out);
            return 0;
        }
    }
    return err_set(err, ERR_SYNTAX,
                   "1: expected `Corefile: |` in an object of Kubernetes: take its text by "
                   "kubectl get configmap coredns -o jsonpath='{.data.Corefile}'");
}
