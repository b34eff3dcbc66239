#include "common/http/http_chunks.h"

#include "common/http/http_head.h"

/* Bounds a chunk's size to 256 MB, more than is ever read of a body. */
enum { DIGITS_MAX = 7 };

int http_hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c |= 'a' - 'A';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int take_size(struct http_chunks *c, uint8_t byte)
{
    int digit = http_hex_digit(byte);
    if (digit >= 0) {
        c->left = c->left << 4 | (uint32_t)digit;
        return c->digits++ < DIGITS_MAX ? HTTP_CHUNKS_MORE : HTTP_BAD_REQUEST;
    }
    if (c->digits == 0 || (byte != '\r' && byte != ';' && byte != ' ' && byte != '\t')) {
        return HTTP_BAD_REQUEST;
    }
    c->phase = byte == '\r' ? HTTP_CHUNK_SIZE_LF : HTTP_CHUNK_EXTENSION;
    return HTTP_CHUNKS_MORE;
}

/* Counts a byte that is skipped, an extension's or a trailer's. */
static int take_extra(struct http_chunks *c, uint8_t byte)
{
    if ((byte < ' ' && byte != '\t') || byte == 0x7f) {
        return HTTP_BAD_REQUEST;
    }
    return c->extra++ < HTTP_CHUNKS_EXTRA_MAX ? HTTP_CHUNKS_MORE : HTTP_HEAD_TOO_LONG;
}

static int take_extension(struct http_chunks *c, uint8_t byte)
{
    if (byte != '\r') {
        return take_extra(c, byte);
    }
    c->phase = HTTP_CHUNK_SIZE_LF;
    return HTTP_CHUNKS_MORE;
}

static int take_trailer(struct http_chunks *c, uint8_t byte)
{
    if (byte != '\r') {
        c->left++;
        return take_extra(c, byte);
    }
    c->phase = HTTP_CHUNK_TRAILER_LF;
    return HTTP_CHUNKS_MORE;
}

/* Checks for the byte that must come, and moves to the next phase. */
static int http_chunks_expect(struct http_chunks *c, uint8_t byte, uint8_t want, unsigned next)
{
    c->phase = next;
    return byte == want ? HTTP_CHUNKS_MORE : HTTP_BAD_REQUEST;
}

/* Handles any byte that is not data. */
static int take_byte(struct http_chunks *c, uint8_t byte)
{
    int r;
    switch (c->phase) {
    case HTTP_CHUNK_SIZE:
        return take_size(c, byte);
    case HTTP_CHUNK_EXTENSION:
        return take_extension(c, byte);
    case HTTP_CHUNK_SIZE_LF:
        return http_chunks_expect(c, byte, '\n',
                                  c->left > 0 ? HTTP_CHUNK_DATA : HTTP_CHUNK_TRAILER);
    case HTTP_CHUNK_DATA_CR:
        return http_chunks_expect(c, byte, '\r', HTTP_CHUNK_DATA_LF);
    case HTTP_CHUNK_DATA_LF:
        c->digits = 0;
        return http_chunks_expect(c, byte, '\n', HTTP_CHUNK_SIZE);
    case HTTP_CHUNK_TRAILER:
        return take_trailer(c, byte);
    case HTTP_CHUNK_TRAILER_LF:
        r = http_chunks_expect(c, byte, '\n', HTTP_CHUNK_TRAILER);
        if (r == HTTP_CHUNKS_MORE && c->left == 0) {
            return 0; /* an empty line */
        }
        c->left = 0;
        return r;
    case HTTP_CHUNK_DATA:
        break;
    }
    return HTTP_BAD_REQUEST;
}

int http_chunks_take(struct http_chunks *chunks, const uint8_t *bytes, size_t len, struct buf *body,
                     size_t *ret_taken)
{
    struct http_chunks *c = chunks;
    int r = HTTP_CHUNKS_MORE;
    size_t at = 0;
    while (r == HTTP_CHUNKS_MORE && at < len) {
        if (c->phase != HTTP_CHUNK_DATA) {
            r = take_byte(c, bytes[at++]);
            continue;
        }
        size_t part = len - at < c->left ? len - at : c->left;
        if (body) {
            buf_append(body, bytes + at, part);
        }
        at += part;
        c->left -= (uint32_t)part;
        c->phase = c->left > 0 ? HTTP_CHUNK_DATA : HTTP_CHUNK_DATA_CR;
        r = body && body->failed ? HTTP_TOO_LONG : HTTP_CHUNKS_MORE;
    }
    *ret_taken = at;
    return r;
}
