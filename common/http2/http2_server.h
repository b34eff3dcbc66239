/* The server's side of one HTTP/2 connection (RFC 9113), for small requests with small responses.
 *
 * Bytes come in, requests go out; responses come in, bytes go out. There is no socket, no clock and
 * no knowledge of DNS: DNS over HTTPS and gRPC bring their own rules. Only on its connection's
 * thread.
 *
 * Frames are read and written here, with the limits; nghttp2 decompresses header blocks. A session
 * of nghttp2 would cost twice as much per request, and hold 26 KiB for each idle connection instead
 * of 3 to 6.
 *
 * A client's errors cost it the stream (RST_STREAM), HTTP2_RESETS_MAX times, or the connection
 * (GOAWAY with the reason; then http2_server_take reports the end):
 *
 *   rapid reset   (CVE-2023-44487) a reset of a stream that is still open takes one of
 *                 HTTP2_RESETS_MAX, each HTTP2_RESETS_REFILL responses give one back; so does a
 *                 reset that the client makes us send (CVE-2025-8671)
 *   CONTINUATION  (CVE-2024-27316) 8 frames and HTTP2_HEADERS_MAX compressed bytes for one block
 *   header bomb   four times HTTP2_HEADERS_MAX bytes of fields, decompressed
 *   PING, SETTINGS, PRIORITY, WINDOW_UPDATE, small or empty DATA, unknown frames: HTTP2_CONTROL_MAX
 *                 between two requests, and 64 KiB of answers to them that the client does not read
 *   DATA of streams that are gone: the same; the window of each holds five frames
 *   bodies        the windows we give: the client sends no more than HTTP2_BODIES_MAX that are not
 *                 yet part of a request
 *   unread        responses wait for the client's windows, and for it to read, in their streams, of
 *                 which it has HTTP2_STREAMS_MAX; 32 KiB more are ready to be sent */
#ifndef COMMON_HTTP2_HTTP2_SERVER_H
#define COMMON_HTTP2_HTTP2_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/attributes.h"
#include "common/base/slice.h"

struct http2_server;

enum {
    HTTP2_STREAMS_MAX = 128,         /* as many late answers as a connection may wait for */
    HTTP2_HEADERS_MAX = 16 * 1024,   /* as HTTP/1.1's head; a GET has the whole query in its path */
    HTTP2_BODY_MAX = 64 * 1024 + 64, /* the longest DNS message, in whatever frames it */
    HTTP2_BODIES_MAX = 1 << 20,      /* for all streams together: the connection's window */
    HTTP2_RESETS_MAX = 100,          /* a browser that leaves a page cancels its requests */
    HTTP2_RESETS_REFILL = 2,  /* a client that cancels every third request is served for good */
    HTTP2_CONTROL_MAX = 1000, /* a few for each response; a flood has ten thousands */
};

/* Holds a whole request: its strings are borrowed during the call. Fields that are absent are
 * empty. Those that neither DoH nor gRPC uses are dropped. */
struct http2_request {
    int32_t stream;
    struct slice method, path; /* path with its query, as sent */
    struct slice content_type;
    struct slice body;
    bool is_too_long;      /* the body, which is cut off then */
    bool is_head_too_long; /* the header fields; those that did not fit are missing */
};

struct http2_field {
    const char *name, *value; /* NUL-terminated */
};

struct http2_server_callbacks {
    /* Delivers a request, inside http2_server_take. The response may follow inside the call, or
     * later. */
    void (*requested)(void *data, const struct http2_request *request);
    /* Reports, inside http2_server_take, that a stream whose response is still due has ended, by a
     * reset of the client's or of ours. A response that comes is ignored. May be NULL. */
    void (*cancelled)(void *data, int32_t stream);
    /* Returns false to make take stop before the next request. */
    bool (*may_go_on)(void *data);
    /* Puts bytes to send: inside http2_server_flush only. */
    void (*put)(void *data, const void *bytes, size_t len);
    void *data;
};

struct http2_server *http2_server_new(const struct http2_server_callbacks *callbacks);
void http2_server_free(struct http2_server *server); /* NULL is fine */

/* Takes bytes, from the connection preface on. Returns fewer than len if may_go_on has said no; -1
 * if the connection is over: flush what is left (GOAWAY), then close. */
ssize_t http2_server_take(struct http2_server *server, const uint8_t *bytes, size_t len) MUST_CHECK;

/* The response to a request; body and fields are copied. With trailers, they end the stream (gRPC).
 * A stream that is gone is ignored. */
struct http2_reply {
    unsigned status;
    const struct http2_field *fields;
    size_t field_count;
    struct slice body; /* empty with HEAD; then content_length says how long it would be */
    const struct http2_field *trailers;
    size_t trailer_count;
};
void http2_server_reply(struct http2_server *server, int32_t stream,
                        const struct http2_reply *reply);

/* Puts what can be sent, at most `room` bytes. Returns true if there is more that room alone held
 * up. */
bool http2_server_flush(struct http2_server *server, size_t room);

/* Sends GOAWAY, and answers the open streams. Further streams are ignored: a client may send as
 * many as it likes before it sees GOAWAY, and knows from it to retry elsewhere. */
void http2_server_drain(struct http2_server *server);

/* Return the open streams, and the bytes held for them in addition to an idle connection's. */
size_t http2_server_streams(const struct http2_server *server);
size_t http2_server_memory(const struct http2_server *server);

#endif
