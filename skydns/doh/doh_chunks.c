#include "skydns/doh/doh_chunks_internal.h"

#include "skydns/doh/doh_reply_internal.h"

/* Of a chunk's size: 256 MB, more than is ever read of a body. */
enum { DIGITS_MAX = 7 };

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c |= 'a' - 'A';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int take_size(struct doh_chunks *c, uint8_t byte)
{
    int digit = hex_digit(byte);
    if (digit >= 0) {
        c->left = c->left << 4 | (uint32_t)digit;
        return c->digits++ < DIGITS_MAX ? DOH_CHUNKS_MORE : DOH_BAD_REQUEST;
    }
    if (c->digits == 0 || (byte != '\r' && byte != ';' && byte != ' ' && byte != '\t')) {
        return DOH_BAD_REQUEST;
    }
    c->phase = byte == '\r' ? DOH_CHUNK_SIZE_LF : DOH_CHUNK_EXTENSION;
    return DOH_CHUNKS_MORE;
}

/* A byte that is passed over. */
static int take_extra(struct doh_chunks *c, uint8_t byte)
{
    if ((byte < ' ' && byte != '\t') || byte == 0x7f) {
        return DOH_BAD_REQUEST;
    }
    return c->extra++ < DOH_CHUNKS_EXTRA_MAX ? DOH_CHUNKS_MORE : DOH_HEAD_TOO_LONG;
}

static int take_extension(struct doh_chunks *c, uint8_t byte)
{
    if (byte != '\r') {
        return take_extra(c, byte);
    }
    c->phase = DOH_CHUNK_SIZE_LF;
    return DOH_CHUNKS_MORE;
}

static int take_trailer(struct doh_chunks *c, uint8_t byte)
{
    if (byte != '\r') {
        c->left++;
        return take_extra(c, byte);
    }
    c->phase = DOH_CHUNK_TRAILER_LF;
    return DOH_CHUNKS_MORE;
}

/* The byte that must come; then the next phase. */
static int expect(struct doh_chunks *c, uint8_t byte, uint8_t want, unsigned next)
{
    c->phase = next;
    return byte == want ? DOH_CHUNKS_MORE : DOH_BAD_REQUEST;
}

/* Any byte that is not data. */
static int take_byte(struct doh_chunks *c, uint8_t byte)
{
    int r;
    switch (c->phase) {
    case DOH_CHUNK_SIZE:
        return take_size(c, byte);
    case DOH_CHUNK_EXTENSION:
        return take_extension(c, byte);
    case DOH_CHUNK_SIZE_LF:
        return expect(c, byte, '\n', c->left > 0 ? DOH_CHUNK_DATA : DOH_CHUNK_TRAILER);
    case DOH_CHUNK_DATA_CR:
        return expect(c, byte, '\r', DOH_CHUNK_DATA_LF);
    case DOH_CHUNK_DATA_LF:
        c->digits = 0;
        return expect(c, byte, '\n', DOH_CHUNK_SIZE);
    case DOH_CHUNK_TRAILER:
        return take_trailer(c, byte);
    case DOH_CHUNK_TRAILER_LF:
        r = expect(c, byte, '\n', DOH_CHUNK_TRAILER);
        if (r == DOH_CHUNKS_MORE && c->left == 0) {
            return 0; /* an empty line */
        }
        c->left = 0;
        return r;
    case DOH_CHUNK_DATA:
        break;
    }
    return DOH_BAD_REQUEST;
}

int doh_chunks_take(struct doh_chunks *chunks, const uint8_t *bytes, size_t len, struct buf *body,
                    size_t *ret_taken)
{
    struct doh_chunks *c = chunks;
    int r = DOH_CHUNKS_MORE;
    size_t at = 0;
    while (r == DOH_CHUNKS_MORE && at < len) {
        if (c->phase != DOH_CHUNK_DATA) {
            r = take_byte(c, bytes[at++]);
            continue;
        }
        size_t part = len - at < c->left ? len - at : c->left;
        if (body) {
            buf_append(body, bytes + at, part);
        }
        at += part;
        c->left -= (uint32_t)part;
        c->phase = c->left > 0 ? DOH_CHUNK_DATA : DOH_CHUNK_DATA_CR;
        r = body && body->failed ? DOH_TOO_LONG : DOH_CHUNKS_MORE;
    }
    *ret_taken = at;
    return r;
}
