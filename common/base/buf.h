/* A growable byte buffer with a limit. Past the limit nothing is appended and `failed` stays set,
 * so a writer appends freely and checks once. One thread. */
#ifndef COMMON_BASE_BUF_H
#define COMMON_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/slice.h"

struct buf {
    uint8_t *data; /* owned; NULL until the first append */
    size_t len;
    size_t cap;
    size_t limit; /* len never exceeds it */
    bool failed;  /* something did not fit; sticky until buf_clear */
};

void buf_init(struct buf *b, size_t limit);
void buf_fini(struct buf *b);

/* For a local that is released at the end of its scope:
 * CLEANUP_BUF struct buf text = buf_of(TEXT_MAX); */
#define CLEANUP_BUF __attribute__((cleanup(buf_fini)))
struct buf buf_of(size_t limit);

static inline void buf_append(struct buf *b, const void *bytes, size_t len);
static inline void buf_append_slice(struct buf *b, struct slice s);
static inline void buf_append_str(struct buf *b, const char *s);
void buf_append_lower(struct buf *b, struct slice s); /* in lower case */
static inline void buf_append_char(struct buf *b, char c);
void buf_printf(struct buf *b, const char *format, ...) PRINTF_LIKE(2, 3);

/* Append big-endian numbers, for cursor.h's readers; _sized: the length as u32, then the bytes. */
void buf_append_u8(struct buf *b, uint8_t v);
void buf_append_u16(struct buf *b, uint16_t v);
void buf_append_u32(struct buf *b, uint32_t v);
void buf_append_u64(struct buf *b, uint64_t v);
void buf_append_sized(struct buf *b, struct slice s);

/* Reserves len bytes for the caller to write, which then adds to b->len. Returns NULL, with failed
 * set, if that exceeds the limit. */
uint8_t *buf_reserve(struct buf *b, size_t len);

/* Removes the first len bytes. */
void buf_consume(struct buf *b, size_t len);

/* Empties the buffer and resets failed, but keeps the memory. */
void buf_clear(struct buf *b);

/* Returns the content with a NUL after it, outside len; never NULL. Borrowed until the next
 * change. */
const char *buf_cstr(struct buf *b);

static inline struct slice buf_slice(const struct buf *b)
{
    return slice_of(b->data, b->len);
}

/* ---- Inline: keys and values are written byte by byte ---- */

void buf_append_growing(struct buf *b, const void *bytes, size_t len);

static inline void buf_append(struct buf *b, const void *bytes, size_t len)
{
    bool has_room = len < b->cap - b->len && len <= b->limit - b->len; /* false without memory */
    if (has_room && bytes && !b->failed) {
        memcpy(b->data + b->len, bytes, len);
        b->len += len;
    } else {
        buf_append_growing(b, bytes, len);
    }
}

static inline void buf_append_slice(struct buf *b, struct slice s)
{
    buf_append(b, s.ptr, s.len);
}

static inline void buf_append_str(struct buf *b, const char *s)
{
    buf_append(b, s, strlen(s));
}

static inline void buf_append_char(struct buf *b, char c)
{
    buf_append(b, &c, 1);
}

#endif
