/* The state that grpc.c and grpc_stream.c share.
 *
 * grpc.c has the connection: socket, flushing, timers. grpc_stream.c has its streams and nghttp2's
 * callbacks. */
#ifndef COMMON_GRPC_GRPC_STATE_INTERNAL_H
#define COMMON_GRPC_GRPC_STATE_INTERNAL_H

#include <ev.h>
#include <sys/queue.h>

#include "common/base/buf.h"
#include "common/grpc/grpc.h"
#include "common/grpc/grpc_frame_internal.h"
#include "common/grpc/transport_internal.h"

struct nghttp2_session;

/* Bound what is in flight: 4 MB for a stream, 16 MB for all streams together. So a page of
 * thousands of keys arrives in one go, and the data waiting for a stopped process is bounded. */
enum { GRPC_STREAM_WINDOW = 4 << 20, GRPC_CONNECTION_WINDOW = 16 << 20 };

/* Bounds the part of a grpc-message or GOAWAY text that is stored. */
enum { GRPC_TEXT_MAX = 300 };

struct grpc_stream {
    TAILQ_ENTRY(grpc_stream) link;
    struct grpc *grpc;
    struct grpc_stream_config config;
    int32_t id;    /* negative: could not be submitted, ended at the next flush */
    bool is_ended; /* on_end was called or is unwanted; waits for HTTP/2 to close the stream */
    struct buf out;
    size_t out_pos; /* sent up to here */
    bool is_last_queued;
    struct grpc_frames in;

    int http_status;
    bool is_grpc; /* per its content-type */
    int status;
    char message[GRPC_TEXT_MAX];
    unsigned header_count;
    size_t header_bytes;
};

struct grpc {
    struct grpc_config config;
    char *authority;
    struct transport transport;
    struct nghttp2_session *session;
    TAILQ_HEAD(, grpc_stream) streams;
    size_t active_count; /* streams not ended */
    size_t long_count;   /* of those, the long ones */
    struct buf out;      /* batched, not yet accepted by the socket */

    ev_io readable;
    ev_io writable;
    ev_prepare flush;
    ev_timer open_limit;
    ev_timer ping;       /* repeating */
    ev_timer ping_limit; /* runs while a PING is unanswered */

    int64_t last_heard_ms;
    struct err failure; /* code 0 = none; delivered from the loop */
    unsigned depth;     /* of loop callbacks on the stack */
    bool is_connected;
    bool is_open;
    bool is_draining;
    bool is_closed; /* on_close was called */
    bool is_freed;
    bool is_pinged_too_often;
};

/* ---- grpc.c ---- */

/* Schedules new output that this turn's flush may have missed. */
void grpc_want_flush(struct grpc *g);

/* ---- grpc_stream.c ---- */

/* Creates the session, with our SETTINGS queued. Streams live until HTTP/2 has closed them or, at
 * the end, until grpc_stream_free. */
struct nghttp2_session *grpc_session_new(struct grpc *g);

/* Ends the stream's callbacks; once per stream. */
void grpc_stream_retire(struct grpc_stream *s);

/* Calls on_end, unless the stream has ended. */
void grpc_stream_end(struct grpc_stream *s, int status, const struct err *err);

void grpc_stream_free(struct grpc_stream *s);

/* Ends streams that nghttp2 did not accept. Only from a loop callback and outside nghttp2. */
void grpc_streams_end_unsubmitted(struct grpc *g);

#endif
