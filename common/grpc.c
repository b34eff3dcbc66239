#include "common/grpc.h"

#include <assert.h>
#include <nghttp2/nghttp2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/grpc_frame.h"
#include "common/transport.h"
#include "common/xalloc.h"

/* A stream may have 4 MB under way, all streams together 16 MB: a page of thousands of keys comes
 * in one go, and what a stopped process finds in its socket is bounded. */
enum { STREAM_WINDOW = 4 << 20, CONNECTION_WINDOW = 16 << 20 };

/* A reply's headers and trailers: about 10 fields and 300 bytes from etcd; a proxy adds some. */
enum { HEADERS_MAX = 64, HEADER_BYTES_MAX = 16384, STATUS_MESSAGE_MAX = 300 };

/* One read, and how much is gathered for one write. */
enum { READ_SIZE = 65536, WRITE_SIZE = 65536 };

/* Reads in one turn before other watchers get theirs: 1 MB. */
enum { READS_PER_TURN = 16 };

static const ev_tstamp ping_limit_s = 3.0;

/* Behind everything else of a turn, which may have output; EV_MINPRI is left to others. */
enum { FLUSH_PRIORITY = EV_MINPRI + 1 };

struct grpc_stream {
    TAILQ_ENTRY(grpc_stream) link;
    struct grpc *grpc;
    struct grpc_stream_config config;
    int32_t id;    /* negative: could not be submitted, ended at the next flush */
    bool is_ended; /* on_end was called or is not wanted; the object waits for HTTP/2's close */
    struct buf out;
    size_t out_pos; /* sent up to here */
    bool is_last_queued;
    struct grpc_frames in;

    int http_status;
    bool is_grpc; /* content-type says so */
    int status;
    char message[STATUS_MESSAGE_MAX];
    unsigned header_count;
    size_t header_bytes;
};

struct grpc {
    struct grpc_config config;
    char *authority;
    struct transport transport;
    nghttp2_session *session;
    TAILQ_HEAD(, grpc_stream) streams;
    size_t active_count; /* streams not ended */
    size_t long_count;   /* of those, the long ones */
    struct buf out;      /* gathered, not yet taken by the socket */

    ev_io readable;
    ev_io writable;
    ev_prepare flush;
    ev_timer open_limit;
    ev_timer ping;       /* repeating */
    ev_timer ping_limit; /* runs while a PING is unanswered */

    struct err failure; /* code 0 = none; delivered from the loop */
    unsigned depth;     /* of loop callbacks on the stack */
    bool is_connected;
    bool is_open;
    bool is_draining;
    bool is_closed; /* on_close was called */
    bool is_freed;
    bool is_pinged_too_often;
};

/* ---- Ends of streams and of the connection ---- */

static void stream_retire(struct grpc_stream *s)
{
    s->is_ended = true;
    s->grpc->active_count--;
    s->grpc->long_count -= s->config.is_long;
}

static void stream_end(struct grpc_stream *s, int status, const struct err *err)
{
    if (!s->is_ended) {
        stream_retire(s);
        s->config.on_end(s->config.data, status, err);
    }
}

static void stream_reset(struct grpc_stream *s, uint32_t code)
{
    if (s->id >= 0) {
        /* Fails only without memory, which xalloc excludes. */
        (void)nghttp2_submit_rst_stream(s->grpc->session, NGHTTP2_FLAG_NONE, s->id, code);
    }
}

static void stream_fail(struct grpc_stream *s, const struct err *err)
{
    stream_reset(s, NGHTTP2_CANCEL);
    stream_end(s, GRPC_STATUS_NONE, err);
}

static void stream_free(struct grpc_stream *s)
{
    TAILQ_REMOVE(&s->grpc->streams, s, link);
    buf_fini(&s->out);
    grpc_frames_fini(&s->in);
    free(s);
}

/* The peer has said all it will say on this stream. */
static void stream_finish(struct grpc_stream *s)
{
    struct err err;
    if (s->http_status != 200 && s->status < 0) {
        err_set(&err,
                s->http_status == 429 || s->http_status >= 502 ? ERR_UNAVAILABLE : ERR_REFUSED,
                "answered HTTP status %d, no gRPC", s->http_status);
    } else if (!s->is_grpc) {
        err_set(&err, ERR_PROTOCOL, "answered something else than gRPC");
    } else if (s->status < 0) {
        err_set(&err, ERR_PROTOCOL, "reply without grpc-status");
    } else if (s->status > 0) {
        const char *text = s->message[0] ? s->message : grpc_status_text(s->status);
        err_set(&err, grpc_status_code(s->status), "%s", text);
    } else if (grpc_frames_is_partial(&s->in)) {
        err_set(&err, ERR_PROTOCOL, "reply ends inside a message");
    } else {
        stream_end(s, 0, NULL);
        return;
    }
    stream_end(s, s->status, &err);
}

static void stop_watchers(struct grpc *g)
{
    struct ev_loop *loop = g->config.loop;
    ev_io_stop(loop, &g->readable);
    ev_io_stop(loop, &g->writable);
    ev_prepare_stop(loop, &g->flush);
    ev_timer_stop(loop, &g->open_limit);
    ev_timer_stop(loop, &g->ping);
    ev_timer_stop(loop, &g->ping_limit);
    transport_close(&g->transport);
}

/* Only from a loop callback and outside nghttp2. */
static void connection_close(struct grpc *g, const struct err *reason)
{
    if (g->is_closed || g->is_freed) {
        return;
    }
    const struct err err = *reason; /* it may be ours and change below */
    g->is_closed = true;
    g->is_open = false;
    stop_watchers(g);
    /* A callback may cancel other streams, never free them: that waits for nghttp2 or grpc_free. */
    struct grpc_stream *s;
    TAILQ_FOREACH(s, &g->streams, link)
    {
        stream_end(s, GRPC_STATUS_NONE, &err);
    }
    if (!g->is_freed) {
        g->config.on_close(g->config.data, &err);
    }
}

static void destroy(struct grpc *g)
{
    nghttp2_session_del(g->session);
    while (!TAILQ_EMPTY(&g->streams)) {
        stream_free(TAILQ_FIRST(&g->streams));
    }
    buf_fini(&g->out);
    free(g->authority);
    free(g);
}

static void enter(struct grpc *g)
{
    g->depth++;
}

static void leave(struct grpc *g)
{
    g->depth--;
    if (g->is_freed && g->depth == 0) {
        destroy(g);
    }
}

/* ---- What nghttp2 tells ---- */

static struct grpc_stream *stream_get(nghttp2_session *session, int32_t id)
{
    return nghttp2_session_get_stream_user_data(session, id);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name_ptr,
                     size_t name_len, const uint8_t *value_ptr, size_t value_len, uint8_t flags,
                     void *user_data)
{
    struct grpc_stream *s = stream_get(session, frame->hd.stream_id);
    struct slice name = slice_of(name_ptr, name_len);
    struct slice value = slice_of(value_ptr, value_len);
    (void)flags;
    (void)user_data;
    if (!s || s->is_ended) {
        return 0;
    }
    s->header_bytes += name_len + value_len;
    if (++s->header_count > HEADERS_MAX || s->header_bytes > HEADER_BYTES_MAX) {
        struct err err;
        err_set(&err, ERR_TOO_LARGE, "more than %d headers or %d bytes of them", HEADERS_MAX,
                HEADER_BYTES_MAX);
        stream_end(s, GRPC_STATUS_NONE, &err);
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE; /* resets the stream */
    }
    if (slice_equal(name, slice_str(":status")) && value_len == 3) {
        /* nghttp2 has checked that these are digits. */
        s->http_status =
            (value_ptr[0] - '0') * 100 + (value_ptr[1] - '0') * 10 + value_ptr[2] - '0';
    } else if (slice_equal(name, slice_str("content-type"))) {
        s->is_grpc = slice_has_prefix(value, slice_str("application/grpc"));
    } else if (slice_equal(name, slice_str("grpc-status"))) {
        s->status = grpc_status_parse(value);
    } else if (slice_equal(name, slice_str("grpc-message"))) {
        grpc_percent_decode(value, s->message, sizeof(s->message));
    }
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
                   size_t len, void *user_data)
{
    struct grpc_stream *s = stream_get(session, id);
    struct slice message;
    struct err err;
    int rc = 0;
    (void)flags;
    (void)user_data;
    if (!s || s->is_ended) {
        return 0;
    }
    if (s->http_status != 200 || !s->is_grpc) {
        return 0; /* an error page; stream_finish says so */
    }
    grpc_frames_push(&s->in, slice_of(data, len));
    while (!s->is_ended && (rc = grpc_frames_next(&s->in, &message, &err)) > 0) {
        s->config.on_message(s->config.data, message);
    }
    if (rc < 0) {
        stream_fail(s, &err);
    }
    return 0;
}

/* The calls under way may finish, unless they would wait for ever; then the connection closes. */
static void on_goaway(struct grpc *g, const nghttp2_goaway *frame)
{
    struct slice debug = slice_of(frame->opaque_data, frame->opaque_data_len);
    char text[STATUS_MESSAGE_MAX];
    grpc_percent_decode(debug, text, sizeof(text));
    g->is_draining = true;
    g->is_open = false;
    g->is_pinged_too_often = frame->error_code == NGHTTP2_ENHANCE_YOUR_CALM &&
                             slice_equal(debug, slice_str("too_many_pings"));
    err_set(&g->failure, ERR_UNAVAILABLE, "the peer is going away: %s%s%s",
            nghttp2_http2_strerror(frame->error_code), text[0] ? ", " : "", text);
    struct grpc_stream *s;
    TAILQ_FOREACH(s, &g->streams, link)
    {
        if (s->config.is_long && !s->is_ended) {
            const struct err err = g->failure;
            stream_fail(s, &err);
        }
    }
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
    struct grpc *g = user_data;
    struct grpc_stream *s = stream_get(session, frame->hd.stream_id);
    if (g->is_freed) {
        return 0;
    }
    if (frame->hd.type == NGHTTP2_SETTINGS && !(frame->hd.flags & NGHTTP2_FLAG_ACK) &&
        !g->is_open && !g->is_draining) {
        g->is_open = true;
        ev_timer_stop(g->config.loop, &g->open_limit);
        g->config.on_open(g->config.data);
    } else if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK)) {
        ev_timer_stop(g->config.loop, &g->ping_limit);
    } else if (frame->hd.type == NGHTTP2_GOAWAY) {
        on_goaway(g, &frame->goaway);
    } else if (s && !s->is_ended && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)) {
        /* A server may end a call that we could still send to; close our half too. */
        if (!s->is_last_queued) {
            stream_reset(s, NGHTTP2_CANCEL);
        }
        stream_finish(s);
    }
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *user_data)
{
    struct grpc_stream *s = stream_get(session, id);
    (void)user_data;
    if (s) {
        struct err err;
        err_set(&err, ERR_UNAVAILABLE, "call reset: %s", nghttp2_http2_strerror(code));
        stream_end(s, GRPC_STATUS_NONE, &err);
        stream_free(s);
    }
    return 0;
}

static ssize_t on_want_data(nghttp2_session *session, int32_t id, uint8_t *out, size_t size,
                            uint32_t *flags, nghttp2_data_source *source, void *user_data)
{
    struct grpc_stream *s = source->ptr;
    size_t left = s->out.len - s->out_pos;
    size_t n = left < size ? left : size;
    (void)session;
    (void)id;
    (void)user_data;
    if (n == 0 && !s->is_last_queued) {
        return NGHTTP2_ERR_DEFERRED; /* until grpc_stream_send resumes it */
    }
    if (n > 0) {
        memcpy(out, s->out.data + s->out_pos, n);
        s->out_pos += n;
    }
    if (s->out_pos == s->out.len) {
        buf_clear(&s->out);
        s->out_pos = 0;
        *flags |= s->is_last_queued ? NGHTTP2_DATA_FLAG_EOF : 0;
    }
    return (ssize_t)n;
}

/* ---- Socket ---- */

static bool is_finished(const struct grpc *g)
{
    return g->is_closed || g->is_freed;
}

/* True when more may be waiting. */
static bool read_once(struct grpc *g)
{
    uint8_t bytes[READ_SIZE];
    struct err err;
    ssize_t n = transport_read(&g->transport, bytes, sizeof(bytes), &err);
    if (n < 0) {
        connection_close(g, g->failure.code ? &g->failure : &err);
        return false;
    }
    /* A broken peer makes nghttp2 queue GOAWAY and want nothing more: seen in on_flush. */
    ssize_t used = nghttp2_session_mem_recv(g->session, bytes, (size_t)n);
    if (used < 0 && !g->is_freed) {
        err_set(&err, ERR_PROTOCOL, "HTTP/2: %s", nghttp2_strerror((int)used));
        connection_close(g, &err);
    }
    return n == (ssize_t)sizeof(bytes) && !is_finished(g);
}

static void on_readable(struct ev_loop *loop, ev_io *w, int events)
{
    struct grpc *g = w->data;
    (void)loop;
    (void)events;
    enter(g);
    for (unsigned i = 0; i < READS_PER_TURN && read_once(g); i++) {
    }
    leave(g);
}

static int gather(struct grpc *g, struct err *err)
{
    while (g->out.len < WRITE_SIZE) {
        const uint8_t *bytes;
        ssize_t n = nghttp2_session_mem_send(g->session, &bytes);
        if (n < 0) {
            return err_set(err, ERR_PROTOCOL, "HTTP/2: %s", nghttp2_strerror((int)n));
        }
        if (n == 0) {
            break;
        }
        buf_append(&g->out, bytes, (size_t)n);
    }
    return 0;
}

static void write_output(struct grpc *g)
{
    struct err err;
    for (;;) {
        if (gather(g, &err) != 0) {
            connection_close(g, &err);
            return;
        }
        if (g->out.len == 0 || is_finished(g)) {
            ev_io_stop(g->config.loop, &g->writable);
            return;
        }
        ssize_t n = transport_write(&g->transport, buf_slice(&g->out), &err);
        if (n < 0) {
            connection_close(g, g->failure.code ? &g->failure : &err);
            return;
        }
        if (n == 0) {
            ev_io_start(g->config.loop, &g->writable);
            return;
        }
        buf_consume(&g->out, (size_t)n);
    }
}

static void end_unsubmitted(struct grpc *g)
{
    struct grpc_stream *s;
    struct grpc_stream *next;
    for (s = TAILQ_FIRST(&g->streams); s; s = next) {
        next = TAILQ_NEXT(s, link);
        if (s->id < 0) {
            struct err err;
            err_set(&err, ERR_UNAVAILABLE, "HTTP/2: %s", nghttp2_strerror(s->id));
            stream_end(s, GRPC_STATUS_NONE, &err);
            next = TAILQ_NEXT(s, link);
            stream_free(s);
        }
    }
}

static void on_flush(struct ev_loop *loop, ev_prepare *w, int events)
{
    struct grpc *g = w->data;
    (void)loop;
    (void)events;
    enter(g);
    if (g->is_connected && !ev_is_active(&g->writable)) {
        write_output(g);
    }
    if (g->is_draining) {
        end_unsubmitted(g);
    }
    bool is_dead =
        !nghttp2_session_want_read(g->session) && !nghttp2_session_want_write(g->session);
    if (g->is_draining && g->active_count == 0) {
        connection_close(g, &g->failure);
    } else if (is_dead) {
        struct err err;
        err_set(&err, ERR_PROTOCOL, "the peer broke HTTP/2, or does not speak it");
        connection_close(g, &err);
    }
    leave(g);
}

/* Output arose after this turn's flush may have run. */
static void want_flush(struct grpc *g)
{
    if (!is_finished(g)) {
        ev_feed_event(g->config.loop, &g->flush, EV_PREPARE);
    }
}

static void on_writable(struct ev_loop *loop, ev_io *w, int events)
{
    struct grpc *g = w->data;
    struct err err;
    (void)loop;
    (void)events;
    enter(g);
    if (g->is_connected) {
        write_output(g);
    } else if (transport_connected(&g->transport, &err) != 0) {
        connection_close(g, &err);
    } else {
        g->is_connected = true;
        ev_io_start(g->config.loop, &g->readable);
        write_output(g);
    }
    leave(g);
}

void grpc_read_pending(struct grpc *g)
{
    /* The window bounds what a peer can have sent while we did not read. */
    size_t reads = CONNECTION_WINDOW / READ_SIZE;
    enter(g);
    for (size_t i = 0; i < reads && g->is_connected && !is_finished(g) && read_once(g); i++) {
    }
    leave(g);
}

/* ---- Time ---- */

static void on_open_limit(struct ev_loop *loop, ev_timer *w, int events)
{
    struct grpc *g = w->data;
    (void)loop;
    (void)events;
    enter(g);
    grpc_read_pending(g);
    if (!g->is_open && !is_finished(g)) {
        if (!g->failure.code) {
            err_set(&g->failure, ERR_UNAVAILABLE, "%s within %u ms",
                    g->is_connected ? "no HTTP/2 SETTINGS" : "no connection",
                    g->config.open_timeout_ms);
        }
        connection_close(g, &g->failure);
    }
    leave(g);
}

static void on_ping(struct ev_loop *loop, ev_timer *w, int events)
{
    struct grpc *g = w->data;
    (void)events;
    if (g->is_open && g->long_count > 0 && !ev_is_active(&g->ping_limit)) {
        /* Fails only without memory, which xalloc excludes. */
        (void)nghttp2_submit_ping(g->session, NGHTTP2_FLAG_NONE, NULL);
        ev_timer_set(&g->ping_limit, ping_limit_s, 0.0);
        ev_timer_start(loop, &g->ping_limit);
        want_flush(g);
    }
}

static void on_ping_limit(struct ev_loop *loop, ev_timer *w, int events)
{
    struct grpc *g = w->data;
    (void)loop;
    (void)events;
    enter(g);
    /* The timer has stopped itself; start it again to see whether the answer was only unread. */
    ev_timer_set(w, ping_limit_s, 0.0);
    ev_timer_start(loop, w);
    grpc_read_pending(g);
    if (ev_is_active(w)) {
        struct err err;
        err_set(&err, ERR_UNAVAILABLE, "no answer to a PING within %.0f s", ping_limit_s);
        connection_close(g, &err);
    }
    leave(g);
}

/* ---- Setting up ---- */

static void *mem_malloc(size_t size, void *data)
{
    (void)data;
    return xmalloc(size);
}

static void mem_free(void *ptr, void *data)
{
    (void)data;
    free(ptr);
}

static void *mem_calloc(size_t count, size_t size, void *data)
{
    (void)data;
    return xcalloc(count, size);
}

static void *mem_realloc(void *ptr, size_t size, void *data)
{
    (void)data;
    return xrealloc(ptr, size);
}

static nghttp2_session *session_new(struct grpc *g)
{
    static const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HEADER_BYTES_MAX},
    };
    nghttp2_mem mem = {NULL, mem_malloc, mem_free, mem_calloc, mem_realloc};
    nghttp2_session_callbacks *callbacks;
    nghttp2_session *session;
    int rc = nghttp2_session_callbacks_new(&callbacks);
    if (rc != 0) {
        xalloc_out_of_memory();
    }
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    rc = nghttp2_session_client_new3(&session, callbacks, g, NULL, &mem);
    nghttp2_session_callbacks_del(callbacks);
    if (rc != 0) {
        xalloc_out_of_memory();
    }
    /* These fail only for bad arguments or without memory. */
    (void)nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, ARRAY_LEN(settings));
    (void)nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, CONNECTION_WINDOW);
    return session;
}

struct grpc *grpc_new(const struct grpc_config *config)
{
    struct grpc *g = xcalloc(1, sizeof(*g));
    struct ev_loop *loop = config->loop;
    g->config = *config;
    g->authority = xstrdup(config->authority);
    g->config.authority = g->authority;
    g->session = session_new(g);
    TAILQ_INIT(&g->streams);
    /* At most what is gathered and one more frame of 16 KiB with its header. */
    buf_init(&g->out, WRITE_SIZE * 2);

    int rc = transport_connect(&g->transport, &config->address, &g->failure);
    ev_io_init(&g->readable, on_readable, g->transport.fd, EV_READ);
    ev_io_init(&g->writable, on_writable, g->transport.fd, EV_WRITE);
    ev_prepare_init(&g->flush, on_flush);
    ev_set_priority(&g->flush, FLUSH_PRIORITY);
    ev_timer_init(&g->open_limit, on_open_limit, rc ? 0.0 : config->open_timeout_ms / 1000.0, 0.0);
    double interval_s = config->ping_interval_ms / 1000.0;
    ev_timer_init(&g->ping, on_ping, interval_s, interval_s);
    ev_init(&g->ping_limit, on_ping_limit);
    g->readable.data = g->writable.data = g->flush.data = g;
    g->open_limit.data = g->ping.data = g->ping_limit.data = g;

    ev_timer_start(loop, &g->open_limit);
    if (rc == 0) {
        ev_io_start(loop, &g->writable);
        ev_prepare_start(loop, &g->flush);
    }
    if (config->ping_interval_ms > 0) {
        ev_timer_start(loop, &g->ping);
    }
    return g;
}

void grpc_free(struct grpc *g)
{
    if (!g || g->is_freed) {
        return;
    }
    struct grpc_stream *s;
    TAILQ_FOREACH(s, &g->streams, link)
    {
        if (!s->is_ended) {
            stream_retire(s);
        }
    }
    g->is_freed = true;
    g->is_open = false;
    stop_watchers(g);
    if (g->depth == 0) {
        destroy(g);
    }
}

bool grpc_is_open(const struct grpc *g)
{
    return g->is_open;
}

bool grpc_was_closed_for_pings(const struct grpc *g)
{
    return g->is_pinged_too_often;
}

/* ---- Calls ---- */

static nghttp2_nv header(const char *name, const char *value)
{
    /* nghttp2 copies both; its struct is not const. */
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name),
                        strlen(value), NGHTTP2_NV_FLAG_NONE};
}

struct grpc_stream *grpc_stream_open(struct grpc *g, const struct grpc_stream_config *config)
{
    assert(g->is_open);
    struct grpc_stream *s = xcalloc(1, sizeof(*s));
    s->grpc = g;
    s->config = *config;
    s->status = GRPC_STATUS_NONE;
    buf_init(&s->out, SIZE_MAX / 2); /* the caller bounds messages and calls */
    grpc_frames_init(&s->in, GRPC_RECEIVE_MAX);

    /* Metadata of the call (an auth token, hasleader) goes here. */
    const nghttp2_nv headers[] = {
        header(":method", "POST"),
        header(":scheme", "http"),
        header(":path", config->path),
        header(":authority", g->authority),
        header("content-type", "application/grpc"),
        header("te", "trailers"),
    };
    nghttp2_data_provider provider = {.source.ptr = s, .read_callback = on_want_data};
    s->id = nghttp2_submit_request(g->session, NULL, headers, ARRAY_LEN(headers), &provider, s);
    if (s->id < 0) { /* 2^30 calls were made on this connection: time for another */
        g->is_draining = true;
        g->is_open = false;
        err_set(&g->failure, ERR_UNAVAILABLE, "HTTP/2: %s", nghttp2_strerror(s->id));
    }
    TAILQ_INSERT_TAIL(&g->streams, s, link);
    g->active_count++;
    g->long_count += config->is_long;
    want_flush(g);
    return s;
}

void grpc_stream_send(struct grpc_stream *s, struct slice message, bool is_last)
{
    assert(!s->is_last_queued && message.len <= GRPC_SEND_MAX);
    grpc_frame_header(&s->out, message.len);
    buf_append_slice(&s->out, message);
    s->is_last_queued = is_last;
    if (s->id >= 0) {
        /* Refused when the request itself still waits to be sent, which is as good. */
        (void)nghttp2_session_resume_data(s->grpc->session, s->id);
    }
    want_flush(s->grpc);
}

void grpc_stream_cancel(struct grpc_stream *s)
{
    if (!s->is_ended) {
        stream_retire(s);
        stream_reset(s, NGHTTP2_CANCEL);
        want_flush(s->grpc);
    }
}
