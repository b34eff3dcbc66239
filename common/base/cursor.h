/* Bounded big-endian reader and writer with a sticky error, for all bytes from outside.
 *
 * After the first step out of bounds every call is a no-op (reads return 0), so a parser reads
 * straight down and checks `failed` once. Nothing allocates. Pure; any thread. */
#ifndef COMMON_BASE_CURSOR_H
#define COMMON_BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/slice.h"

struct reader {
    const uint8_t *data;
    size_t len;
    size_t pos;
    bool failed;
};

static inline struct reader reader_of(const void *data, size_t len)
{
    return (struct reader){.data = data, .len = len};
}

static inline size_t reader_left(const struct reader *r)
{
    return r->failed ? 0 : r->len - r->pos;
}

/* Returns the next len bytes, borrowed from the data; NULL if there are fewer. */
static inline const uint8_t *reader_take(struct reader *r, size_t len)
{
    if (r->failed || len > r->len - r->pos) {
        r->failed = true;
        return NULL;
    }
    const uint8_t *p = r->data + r->pos;
    r->pos += len;
    return p;
}

static inline uint8_t reader_u8(struct reader *r)
{
    const uint8_t *p = reader_take(r, 1);
    return p ? p[0] : 0;
}

static inline uint16_t reader_u16(struct reader *r)
{
    const uint8_t *p = reader_take(r, 2);
    return p ? (uint16_t)(p[0] << 8 | p[1]) : 0;
}

static inline uint32_t reader_u32(struct reader *r)
{
    const uint8_t *p = reader_take(r, 4);
    return p ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3] : 0;
}

static inline uint64_t reader_u64(struct reader *r)
{
    uint64_t high = reader_u32(r);
    return high << 32 | reader_u32(r);
}

/* Reads bytes behind their length, as buf_append_sized writes them; empty if there are fewer. */
static inline struct slice reader_sized(struct reader *r)
{
    uint32_t len = reader_u32(r);
    const uint8_t *p = reader_take(r, len);
    return slice_of(p, p ? len : 0);
}

static inline void reader_seek(struct reader *r, size_t pos)
{
    if (pos > r->len) {
        r->failed = true;
    } else {
        r->pos = pos;
    }
}

struct writer {
    uint8_t *data;
    size_t cap;
    size_t pos;
    bool failed;
};

static inline struct writer writer_of(void *data, size_t cap)
{
    return (struct writer){.data = data, .cap = cap};
}

/* Reserves len bytes, already counted; returns NULL if they do not fit. */
static inline uint8_t *writer_take(struct writer *w, size_t len)
{
    if (w->failed || len > w->cap - w->pos) {
        w->failed = true;
        return NULL;
    }
    uint8_t *p = w->data + w->pos;
    w->pos += len;
    return p;
}

static inline void writer_bytes(struct writer *w, const void *bytes, size_t len)
{
    uint8_t *p = writer_take(w, len);
    if (p && len) {
        memcpy(p, bytes, len);
    }
}

static inline void writer_u8(struct writer *w, uint8_t v)
{
    writer_bytes(w, &v, 1);
}

static inline void writer_u16(struct writer *w, uint16_t v)
{
    uint8_t *p = writer_take(w, 2);
    if (p) {
        p[0] = (uint8_t)(v >> 8);
        p[1] = (uint8_t)v;
    }
}

static inline void writer_u32(struct writer *w, uint32_t v)
{
    uint8_t *p = writer_take(w, 4);
    if (p) {
        p[0] = (uint8_t)(v >> 24);
        p[1] = (uint8_t)(v >> 16);
        p[2] = (uint8_t)(v >> 8);
        p[3] = (uint8_t)v;
    }
}

#endif
