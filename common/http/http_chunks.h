/* Decodes a chunked body (RFC 9112 7.1) as its bytes arrive.
 *
 * Proxies that stream send one when they do not know its length, as from an HTTP/2 client without
 * content-length. Strict about CR LF, as http_head.h. Pure. */
#ifndef COMMON_HTTP_HTTP_CHUNKS_H
#define COMMON_HTTP_HTTP_CHUNKS_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"

enum {
    /* Bounds extensions and trailers of one body, which are rare, to as much as a head. */
    HTTP_CHUNKS_EXTRA_MAX = 16 * 1024,
    HTTP_CHUNKS_MORE = -1,
};

int http_hex_digit(uint8_t c); /* returns -1 if it is none */

/* Zeroed before the first byte. */
struct http_chunks {
    enum {
        HTTP_CHUNK_SIZE,
        HTTP_CHUNK_EXTENSION,
        HTTP_CHUNK_SIZE_LF,
        HTTP_CHUNK_DATA,
        HTTP_CHUNK_DATA_CR,
        HTTP_CHUNK_DATA_LF,
        HTTP_CHUNK_TRAILER,
        HTTP_CHUNK_TRAILER_LF,
    } phase;
    uint32_t left;  /* of the chunk; in a trailer, the length of its line */
    uint8_t digits; /* of the chunk's size */
    uint32_t extra;
};

/* Appends the data to the body (NULL: skips it) and sets how many bytes were used. Returns 0: the
 * body is complete. HTTP_CHUNKS_MORE: it is not. 413: the body's limit is exceeded; the rest can be
 * skipped. Any other status: what follows cannot be understood. */
int http_chunks_take(struct http_chunks *chunks, const uint8_t *bytes, size_t len, struct buf *body,
                     size_t *ret_taken) MUST_CHECK;

#endif
