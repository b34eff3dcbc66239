/* Replies of an HTTP/2 server as a client sees them: frames (h2_bytes.h) put together by stream,
 * header blocks decompressed by nghttp2. Failures fail the running cmocka test. */
#ifndef TESTS_SUPPORT_H2_REPLIES_H
#define TESTS_SUPPORT_H2_REPLIES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"

enum { H2_REPLIES_MAX = 200 };

struct h2_reply {
    uint32_t stream;
    struct buf head;     /* "name: value\n" lines */
    struct buf body;     /* of all DATA */
    struct buf trailers; /* as head */
    bool is_ended, is_reset;
    uint32_t error; /* of the reset */
};

struct h2_replies {
    size_t count; /* in the order in which they began */
    struct h2_reply replies[H2_REPLIES_MAX];
    bool is_over;   /* GOAWAY has come */
    uint32_t error; /* of it */
    void *inflater;
};

void h2_replies_init(struct h2_replies *replies);
void h2_replies_fini(struct h2_replies *replies);

/* Takes whole frames from the bytes, and removes them. */
void h2_replies_take(struct h2_replies *replies, struct buf *bytes);

/* NULL: nothing has come on this stream. */
const struct h2_reply *h2_replies_find(const struct h2_replies *replies, uint32_t stream);

/* Whether the head or the trailers have exactly this line. */
bool h2_replies_has(const struct buf *lines, const char *line);

#endif
