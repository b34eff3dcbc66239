#include "kube2sky/kube_lines.h"

#include <string.h>

void kube_lines_init(struct kube_lines *lines)
{
    *lines = (struct kube_lines){0};
    buf_init(&lines->partial, KUBE_LINE_MAX);
}

void kube_lines_fini(struct kube_lines *lines)
{
    buf_fini(&lines->partial);
}

void kube_lines_push(struct kube_lines *lines, struct slice bytes)
{
    lines->input = bytes;
}

static void skip(struct slice *s, size_t len)
{
    s->ptr += len;
    s->len -= len;
}

/* A buffer that once held a huge object is not kept for the small ones after it. */
static void drop_handed_out(struct kube_lines *lines)
{
    enum { KEEP_BYTES = 64 * 1024 };
    if (lines->is_partial_out && lines->partial.cap > KEEP_BYTES) {
        buf_fini(&lines->partial);
    } else if (lines->is_partial_out) {
        buf_clear(&lines->partial);
    }
    lines->is_partial_out = false;
}

bool kube_lines_next(struct kube_lines *lines, struct slice *ret_line)
{
    drop_handed_out(lines);
    while (!lines->failed && lines->input.len > 0) {
        const char *newline = memchr(lines->input.ptr, '\n', lines->input.len);
        size_t len = newline ? (size_t)(newline - lines->input.ptr) : lines->input.len;
        struct slice line = slice_of(lines->input.ptr, len);
        skip(&lines->input, newline ? len + 1 : len);
        if (lines->partial.len > 0 || !newline) {
            buf_append_slice(&lines->partial, line);
            line = buf_slice(&lines->partial);
            lines->is_partial_out = newline != NULL;
        }
        lines->failed = lines->partial.failed || line.len > KUBE_LINE_MAX;
        if (newline && line.len > 0 && !lines->failed) {
            *ret_line = line;
            return true;
        }
    }
    return false;
}
