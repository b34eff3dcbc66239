/* HTTP/2 by hand (RFC 9113, RFC 7541): just enough for tests to answer a gRPC client correctly, or
 * wrongly on purpose. Frames are appended to a buffer, and read from one. Failures fail the running
 * cmocka test. */
#ifndef TESTS_SUPPORT_H2_BYTES_H
#define TESTS_SUPPORT_H2_BYTES_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/base/cursor.h"

enum h2_type {
    H2_DATA = 0,
    H2_HEADERS = 1,
    H2_PRIORITY = 2,
    H2_RST_STREAM = 3,
    H2_SETTINGS = 4,
    H2_PUSH_PROMISE = 5,
    H2_PING = 6,
    H2_GOAWAY = 7,
    H2_WINDOW_UPDATE = 8,
    H2_CONTINUATION = 9,
};
enum { H2_END_STREAM = 1, H2_ACK = 1, H2_END_HEADERS = 4, H2_PADDED = 8, H2_HAS_PRIORITY = 32 };

/* The client's first bytes. */
#define H2_PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

void h2_frame(struct buf *out, enum h2_type type, unsigned flags, uint32_t stream,
              struct slice payload);

/* A header block of "name: value" lines: literals without indexing, no Huffman. Names and values
 * of at most 126 bytes. */
void h2_header_block(struct buf *out, const char *lines);

/* A complete HEADERS frame of such lines. */
void h2_headers(struct buf *out, unsigned flags, uint32_t stream, const char *lines);

struct h2_frame_view {
    uint8_t type;
    uint8_t flags;
    uint32_t stream;
    struct slice payload; /* borrowed */
};

/* The next complete frame; false, with r unchanged, if it has not arrived yet. */
bool h2_next_frame(struct reader *r, struct h2_frame_view *ret);

#endif
