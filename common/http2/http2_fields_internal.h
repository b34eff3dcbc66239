/* Header fields of HTTP/2 (RFC 7541, RFC 9113 8): decodes requests' blocks, encodes responses'
 * fields.
 *
 * nghttp2 decompresses blocks. Ours need no table: they are literals with names of the static one,
 * which is cheaper for both sides than 20 bytes less. One thread. */
#ifndef COMMON_HTTP2_HTTP2_FIELDS_INTERNAL_H
#define COMMON_HTTP2_HTTP2_FIELDS_INTERNAL_H

#include "common/base/cursor.h"
#include "common/http2/http2_server.h"

/* Bounds a client's fields. Those over HTTP2_HEADERS_MAX are skipped, so that the request can be
 * answered with 431; over this limit they are an attack by references to long entries of the
 * table. */
enum { HTTP2_HEADERS_FLOOD = 4 * HTTP2_HEADERS_MAX };

/* The decompressor of a connection, whose table lasts from block to block (4096 bytes, the least
 * that clients may count on). */
struct http2_fields;

struct http2_fields *http2_fields_new(void);
void http2_fields_free(struct http2_fields *fields);           /* NULL is fine */
size_t http2_fields_memory(const struct http2_fields *fields); /* for its table */

struct http2_head {
    struct slice method, path, content_type; /* in the caller's text */
    uint64_t content_length;
    bool has_content_length;
    bool is_too_long;
};

enum http2_head_result {
    HTTP2_HEAD_FINE,
    HTTP2_HEAD_MALFORMED, /* the stream's error: PROTOCOL_ERROR */
    HTTP2_HEAD_BROKEN,    /* the connection's: COMPRESSION_ERROR */
    HTTP2_HEAD_FLOOD,     /* the connection's: ENHANCE_YOUR_CALM */
};

/* Decodes the block of a request. text: HTTP2_HEADERS_MAX bytes, which hold what *ret borrows. */
enum http2_head_result http2_fields_request(struct http2_fields *fields, struct slice block,
                                            char *text, struct http2_head *ret);
/* Decodes the block of trailers, and stores nothing. */
enum http2_head_result http2_fields_trailers(struct http2_fields *fields, struct slice block);
/* Decodes a block that is ignored, for the table's sake. Never malformed. */
enum http2_head_result http2_fields_skip(struct http2_fields *fields, struct slice block);

/* Encodes a response's fields; status 0: trailers. */
void http2_fields_encode(struct writer *out, unsigned status, const struct http2_field *fields,
                         size_t count);

#endif
