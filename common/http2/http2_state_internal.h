/* The state that the parts of http2_server.c share: a connection, its streams and what goes out.
 *
 *     bytes ─▶ http2_server.c   frames, control frames, GOAWAY
 *                 ├─▶ http2_requests.c   HEADERS, CONTINUATION, DATA: requests
 *                 ├─▶ http2_streams.c    the table of streams, resets
 *     bytes ◀─────┴── http2_replies.c    responses within the client's windows
 */
#ifndef COMMON_HTTP2_HTTP2_STATE_INTERNAL_H
#define COMMON_HTTP2_HTTP2_STATE_INTERNAL_H

#include <sys/queue.h>

#include "common/base/buf.h"
#include "common/http2/http2_fields_internal.h"
#include "common/http2/http2_server.h"

enum {
    FRAME_HEADER = 9,
    FRAME_MAX = 16384, /* SETTINGS_MAX_FRAME_SIZE, which all peers start with; we ask for no more */
    WINDOW_START = 65535,
    WINDOW_MAX = INT32_MAX,
    STREAM_WINDOW = HTTP2_BODY_MAX + 1, /* never extended: one byte tells what is too long */
    CONTINUATIONS_MAX = 8,     /* frames after HEADERS; 16 KiB fit one of 16,384 bytes and two */
    SETTINGS_ENTRIES_MAX = 32, /* six are defined */
    SMALL_DATA = 256,       /* a DATA frame of less that does not end its body counts as control */
    OUT_FULL = 32 * 1024,   /* then responses wait in their streams, which are counted */
    OUT_MAX = 2 * OUT_FULL, /* with what control frames cause: a client that does not read them */
    OUT_KEPT = 512,         /* for an idle connection: the next response needs no allocation */
};

enum frame_type {
    FRAME_DATA = 0,
    FRAME_HEADERS = 1,
    FRAME_PRIORITY = 2,
    FRAME_RST_STREAM = 3,
    FRAME_SETTINGS = 4,
    FRAME_PUSH_PROMISE = 5,
    FRAME_PING = 6,
    FRAME_GOAWAY = 7,
    FRAME_WINDOW_UPDATE = 8,
    FRAME_CONTINUATION = 9,
};

enum {
    FLAG_END_STREAM = 0x01,
    FLAG_ACK = 0x01,
    FLAG_END_HEADERS = 0x04,
    FLAG_PADDED = 0x08,
    FLAG_PRIORITY = 0x20,
};

enum http2_error {
    HTTP2_NO_ERROR = 0,
    HTTP2_PROTOCOL_ERROR = 1,
    HTTP2_INTERNAL_ERROR = 2,
    HTTP2_FLOW_CONTROL_ERROR = 3,
    HTTP2_STREAM_CLOSED = 5,
    HTTP2_FRAME_SIZE_ERROR = 6,
    HTTP2_REFUSED_STREAM = 7,
    HTTP2_COMPRESSION_ERROR = 9,
    HTTP2_ENHANCE_YOUR_CALM = 11,
};

struct http2_frame {
    uint8_t type, flags;
    int32_t stream;
    struct slice payload; /* borrowed */
};

/* Holds what is left of a response to send. */
struct reply_rest {
    struct slice head;     /* a block of fields */
    struct slice body;     /* for DATA frames */
    struct slice trailers; /* a block of fields */
};

struct http2_stream {
    int32_t id;
    bool is_ended;     /* by the client: END_STREAM */
    bool is_requested; /* a response is due, or under way */
    bool is_replied;
    int64_t window;  /* what the client lets us send; negative after a smaller SETTINGS */
    size_t room;     /* what the client may still send of STREAM_WINDOW */
    size_t credit;   /* taken from the connection's window for the body */
    size_t received; /* of the body */
    struct http2_head head;
    char *text; /* owned: what head borrows, so many bytes */
    size_t text_len;
    struct buf body;
    struct reply_rest rest; /* in `reply` */
    uint8_t *reply;         /* owned */
    size_t reply_len;
    TAILQ_ENTRY(http2_stream) waiting; /* while `reply` */
};

TAILQ_HEAD(http2_streams, http2_stream);

/* Holds ids of streams that we have reset: frames that the client sent before it knew are no error.
 * More than HTTP2_RESETS_MAX in a row end the connection. */
enum { RESETS_REMEMBERED = 128 };
struct http2_resets {
    int32_t ids[RESETS_REMEMBERED];
    size_t next;
};

struct http2_server {
    struct http2_server_callbacks callbacks;
    struct http2_fields *fields;
    struct buf in;  /* the part of a frame that has arrived */
    struct buf out; /* frames to send, from out_at on */
    size_t out_at;
    bool has_preface, has_settings;
    bool is_over; /* GOAWAY with an error was put into `out` */
    bool is_draining;
    bool must_empty_table; /* the next block of ours tells the client that we use no table */

    struct http2_stream **streams; /* open, sorted by id */
    size_t stream_count, stream_cap;
    struct http2_stream *spare;  /* the last one that ended */
    int32_t last_id;             /* the highest of the client's */
    int32_t drained_id;          /* last_id when is_draining began: GOAWAY names no later one */
    struct http2_resets *resets; /* NULL: none yet */
    unsigned resets_left;
    unsigned answered; /* since the last one was added to resets_left */
    unsigned control;  /* frames since the last request */

    int32_t block_stream; /* CONTINUATION must follow; 0: none */
    bool block_ends_stream;
    unsigned block_frames;
    struct buf block;

    size_t recv_window; /* what the client may still send as DATA */
    size_t recv_unreturned;
    int64_t window;               /* what we may send as DATA */
    int64_t stream_window;        /* for new streams */
    struct http2_streams waiting; /* responses that windows or OUT_FULL hold up */
    size_t held;                  /* bytes of bodies and of responses that wait */
};

/* ---- http2_server.c ---- */

/* Appends the header of a frame with `len` bytes of payload. */
void http2_put_frame(struct buf *out, enum frame_type type, unsigned flags, int32_t stream,
                     size_t len);
/* Ends the connection with an error. */
void http2_fail(struct http2_server *server, enum http2_error error);
/* Counts a frame that asks for work without a request. */
void http2_count_control(struct http2_server *server);
/* Returns whether a frame that answers one of the client's still fits; if not, the connection is
 * over. */
bool http2_has_room(struct http2_server *server);

/* ---- http2_streams.c ---- */

/* Returns the open stream, or NULL. */
struct http2_stream *http2_stream_find(const struct http2_server *server, int32_t id);
struct http2_stream *http2_stream_open(struct http2_server *server, int32_t id);
void http2_stream_close(struct http2_server *server, struct http2_stream *stream);
void http2_streams_free(struct http2_server *server);
/* Sends RST_STREAM for a stream that may not exist; it costs the client one of its resets. */
void http2_stream_reset(struct http2_server *server, int32_t id, enum http2_error error);
/* Returns whether frames of this stream, which is gone or was never opened, are ignored. The client
 * may have sent them before it knew that we have reset it, or before it saw GOAWAY (RFC 9113
 * 6.8). */
bool http2_is_passed_over(const struct http2_server *server, int32_t id);
/* Takes one of the client's resets. */
void http2_count_reset(struct http2_server *server);
void http2_stream_returns_credit(struct http2_server *server, struct http2_stream *stream);

/* ---- http2_requests.c ---- */

void http2_take_headers(struct http2_server *server, const struct http2_frame *frame);
void http2_take_continuation(struct http2_server *server, const struct http2_frame *frame);
void http2_take_data(struct http2_server *server, const struct http2_frame *frame);

/* ---- http2_replies.c ---- */

/* Moves waiting responses on, as far as windows and OUT_FULL allow. Returns true if something
 * moved. */
bool http2_replies_move(struct http2_server *server);

#endif
