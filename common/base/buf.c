#include "common/base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

struct buf buf_of(size_t limit)
{
    return (struct buf){.limit = limit};
}

void buf_init(struct buf *b, size_t limit)
{
    *b = buf_of(limit);
}

void buf_fini(struct buf *b)
{
    free(b->data);
    *b = (struct buf){.limit = b->limit};
}

/* Grows the buffer; always reserves one extra byte, for the NUL of buf_cstr. */
static void buf_grow(struct buf *b, size_t need)
{
    if (need + 1 <= b->cap) {
        return;
    }
    size_t cap = b->cap ? b->cap : 64;
    while (cap < need + 1) {
        cap *= 2;
    }
    b->cap = cap - 1 > b->limit ? b->limit + 1 : cap;
    b->data = xrealloc(b->data, b->cap);
}

uint8_t *buf_reserve(struct buf *b, size_t len)
{
    if (b->failed || len > b->limit - b->len) {
        b->failed = true;
        return NULL;
    }
    buf_grow(b, b->len + len);
    return b->data + b->len;
}

void buf_append_growing(struct buf *b, const void *bytes, size_t len)
{
    uint8_t *room = buf_reserve(b, len);
    if (room && bytes) { /* NULL: from an empty slice */
        memcpy(room, bytes, len);
        b->len += len;
    }
}

void buf_append_u8(struct buf *b, uint8_t v)
{
    buf_append(b, &v, sizeof(v));
}

void buf_append_u16(struct buf *b, uint16_t v)
{
    const uint8_t bytes[] = {(uint8_t)(v >> 8), (uint8_t)v};
    buf_append(b, bytes, sizeof(bytes));
}

void buf_append_u32(struct buf *b, uint32_t v)
{
    buf_append_u16(b, (uint16_t)(v >> 16));
    buf_append_u16(b, (uint16_t)v);
}

void buf_append_u64(struct buf *b, uint64_t v)
{
    buf_append_u32(b, (uint32_t)(v >> 32));
    buf_append_u32(b, (uint32_t)v);
}

void buf_append_sized(struct buf *b, struct slice s)
{
    buf_append_u32(b, (uint32_t)s.len);
    buf_append_slice(b, s);
}

void buf_append_lower(struct buf *b, struct slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        buf_append_char(b, (char)ascii_lower((uint8_t)s.ptr[i]));
    }
}

void buf_printf(struct buf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = xvasprintf(format, args);
    va_end(args);
    buf_append_str(b, text);
    free(text);
}

void buf_consume(struct buf *b, size_t len)
{
    if (len >= b->len) {
        b->len = 0;
        return;
    }
    memmove(b->data, b->data + len, b->len - len);
    b->len -= len;
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    b->failed = false;
}

const char *buf_cstr(struct buf *b)
{
    buf_grow(b, b->len);
    b->data[b->len] = '\0';
    return (const char *)b->data;
}
