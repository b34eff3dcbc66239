/* Runs the calls of a connection: its streams and nghttp2's callbacks. */
#include "common/grpc/grpc_state_internal.h"

#include <assert.h>
#include <nghttp2/nghttp2.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/xalloc.h"

/* Bound a response's headers and trailers: about 10 fields and 300 bytes from etcd; a proxy adds
 * some. */
enum { HEADERS_MAX = 64, HEADER_BYTES_MAX = 16384 };

/* ---- Ends ---- */

void grpc_stream_retire(struct grpc_stream *s)
{
    s->is_ended = true;
    s->grpc->active_count--;
    s->grpc->long_count -= s->config.is_long;
}

void grpc_stream_end(struct grpc_stream *s, int status, const struct err *err)
{
    if (!s->is_ended) {
        grpc_stream_retire(s);
        s->config.on_end(s->config.data, status, err);
    }
}

static void stream_reset(struct grpc_stream *s, uint32_t code)
{
    if (s->id >= 0) {
        /* This fails only without memory, which xalloc excludes. */
        (void)nghttp2_submit_rst_stream(s->grpc->session, NGHTTP2_FLAG_NONE, s->id, code);
    }
}

static void stream_fail(struct grpc_stream *s, const struct err *err)
{
    stream_reset(s, NGHTTP2_CANCEL);
    grpc_stream_end(s, GRPC_STATUS_NONE, err);
}

void grpc_stream_free(struct grpc_stream *s)
{
    TAILQ_REMOVE(&s->grpc->streams, s, link);
    buf_fini(&s->out);
    grpc_frames_fini(&s->in);
    free(s);
}

/* Ends a stream that the peer has finished. */
static void stream_finish(struct grpc_stream *s)
{
    struct err err;
    if (s->http_status != 200 && s->status < 0) {
        err_set(&err,
                s->http_status == 429 || s->http_status >= 502 ? ERR_UNAVAILABLE : ERR_REFUSED,
                "answered with HTTP status %d, not gRPC", s->http_status);
    } else if (!s->is_grpc) {
        err_set(&err, ERR_PROTOCOL, "did not answer with gRPC");
    } else if (s->status < 0) {
        err_set(&err, ERR_PROTOCOL, "response without grpc-status");
    } else if (s->status > 0) {
        const char *text = s->message[0] ? s->message : grpc_status_text(s->status);
        err_set(&err, grpc_status_code(s->status), "%s", text);
    } else if (grpc_frames_is_partial(&s->in)) {
        err_set(&err, ERR_PROTOCOL, "response ends inside a message");
    } else {
        grpc_stream_end(s, 0, NULL);
        return;
    }
    grpc_stream_end(s, s->status, &err);
}

void grpc_streams_end_unsubmitted(struct grpc *g)
{
    struct grpc_stream *s;
    struct grpc_stream *next;
    for (s = TAILQ_FIRST(&g->streams); s; s = next) {
        next = TAILQ_NEXT(s, link);
        if (s->id < 0) {
            struct err err;
            err_set(&err, ERR_UNAVAILABLE, "HTTP/2: %s", nghttp2_strerror(s->id));
            grpc_stream_end(s, GRPC_STATUS_NONE, &err);
            next = TAILQ_NEXT(s, link);
            grpc_stream_free(s);
        }
    }
}

/* ---- Callbacks of nghttp2 ---- */

static struct grpc_stream *stream_get(nghttp2_session *session, int32_t id)
{
    return nghttp2_session_get_stream_user_data(session, id);
}

static int grpc_stream_on_header(nghttp2_session *session, const nghttp2_frame *frame,
                                 const uint8_t *name_ptr, size_t name_len, const uint8_t *value_ptr,
                                 size_t value_len, uint8_t flags UNUSED, void *user_data UNUSED)
{
    struct grpc_stream *s = stream_get(session, frame->hd.stream_id);
    struct slice name = slice_of(name_ptr, name_len);
    struct slice value = slice_of(value_ptr, value_len);
    if (!s || s->is_ended) {
        return 0;
    }
    s->header_bytes += name_len + value_len;
    if (++s->header_count > HEADERS_MAX || s->header_bytes > HEADER_BYTES_MAX) {
        struct err err;
        err_set(&err, ERR_TOO_LARGE, "more than %d headers or %d bytes of them", HEADERS_MAX,
                HEADER_BYTES_MAX);
        grpc_stream_end(s, GRPC_STATUS_NONE, &err);
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

static int on_data(nghttp2_session *session, uint8_t flags UNUSED, int32_t id, const uint8_t *data,
                   size_t len, void *user_data UNUSED)
{
    struct grpc_stream *s = stream_get(session, id);
    struct slice message;
    struct err err;
    int rc = 0;
    if (!s || s->is_ended) {
        return 0;
    }
    if (s->http_status != 200 || !s->is_grpc) {
        return 0; /* an error page; stream_finish reports it */
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

/* Lets calls in flight finish, except endless ones; then the connection closes. */
static void on_goaway(struct grpc *g, const nghttp2_goaway *frame)
{
    struct slice debug = slice_of(frame->opaque_data, frame->opaque_data_len);
    char text[GRPC_TEXT_MAX];
    grpc_percent_decode(debug, text, sizeof(text));
    g->is_draining = true;
    g->is_open = false;
    g->is_pinged_too_often = frame->error_code == NGHTTP2_ENHANCE_YOUR_CALM &&
                             slice_equal(debug, slice_str("too_many_pings"));
    err_set(&g->failure, ERR_UNAVAILABLE, "the peer is going away: %s%s%s",
            nghttp2_http2_strerror(frame->error_code), text[0] ? ", " : "", text);
    struct grpc_stream *s;
    TAILQ_FOREACH (s, &g->streams, link) {
        if (s->config.is_long && !s->is_ended) {
            const struct err err = g->failure;
            stream_fail(s, &err);
        }
    }
}

static int grpc_stream_on_frame(nghttp2_session *session, const nghttp2_frame *frame,
                                void *user_data)
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
        /* A server may end a call whose request is unfinished; close our half, too. */
        if (!s->is_last_queued) {
            stream_reset(s, NGHTTP2_CANCEL);
        }
        stream_finish(s);
    }
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code,
                           void *user_data UNUSED)
{
    struct grpc_stream *s = stream_get(session, id);
    if (s) {
        struct err err;
        err_set(&err, ERR_UNAVAILABLE, "call reset: %s", nghttp2_http2_strerror(code));
        grpc_stream_end(s, GRPC_STATUS_NONE, &err);
        grpc_stream_free(s);
    }
    return 0;
}

static ssize_t on_want_data(nghttp2_session *session UNUSED, int32_t id UNUSED, uint8_t *out,
                            size_t size, uint32_t *flags, nghttp2_data_source *source,
                            void *user_data UNUSED)
{
    struct grpc_stream *s = source->ptr;
    size_t left = s->out.len - s->out_pos;
    size_t n = left < size ? left : size;
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

/* ---- The session ---- */

static void *grpc_stream_mem_malloc(size_t size, void *data UNUSED)
{
    return xmalloc(size);
}

static void grpc_stream_mem_free(void *ptr, void *data UNUSED)
{
    free(ptr);
}

static void *grpc_stream_mem_calloc(size_t count, size_t size, void *data UNUSED)
{
    return xcalloc(count, size);
}

static void *grpc_stream_mem_realloc(void *ptr, size_t size, void *data UNUSED)
{
    return xrealloc(ptr, size);
}

struct nghttp2_session *grpc_session_new(struct grpc *g)
{
    static const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, GRPC_STREAM_WINDOW},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HEADER_BYTES_MAX},
    };
    nghttp2_mem mem = {NULL, grpc_stream_mem_malloc, grpc_stream_mem_free, grpc_stream_mem_calloc,
                       grpc_stream_mem_realloc};
    nghttp2_session_callbacks *callbacks;
    nghttp2_session *session;
    int rc = nghttp2_session_callbacks_new(&callbacks);
    if (rc != 0) {
        xalloc_out_of_memory();
    }
    nghttp2_session_callbacks_set_on_header_callback(callbacks, grpc_stream_on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, grpc_stream_on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    rc = nghttp2_session_client_new3(&session, callbacks, g, NULL, &mem);
    nghttp2_session_callbacks_del(callbacks);
    if (rc != 0) {
        xalloc_out_of_memory();
    }
    /* These fail only for bad arguments or without memory. */
    (void)nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, ARRAY_LEN(settings));
    (void)nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0,
                                                GRPC_CONNECTION_WINDOW);
    return session;
}

/* ---- Calls ---- */

/* nghttp2 copies fields without a NO_COPY flag; its struct is not const. */
static nghttp2_nv grpc_stream_header(const char *name, size_t name_len, const char *value,
                                     uint8_t flags)
{
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, name_len,
                        strlen(value), flags | NGHTTP2_NV_FLAG_NO_COPY_NAME};
}

/* Makes a header of a literal name and a value that lives as long as the connection. */
#define HEADER(name, value) \
    grpc_stream_header(name, sizeof(name) - 1, value, NGHTTP2_NV_FLAG_NO_COPY_VALUE)

struct grpc_stream *grpc_stream_open(struct grpc *g, const struct grpc_stream_config *config)
{
    assert(g->is_open);
    struct grpc_stream *s = xcalloc(1, sizeof(*s));
    s->grpc = g;
    s->config = *config;
    s->status = GRPC_STATUS_NONE;
    buf_init(&s->out, SIZE_MAX / 2); /* the caller bounds messages and calls */
    grpc_frames_init(&s->in, GRPC_RECEIVE_MAX);

    assert(config->metadata_count <= GRPC_METADATA_MAX);
    nghttp2_nv headers[6 + GRPC_METADATA_MAX] = {
        HEADER(":method", "POST"),
        HEADER(":scheme", "http"),
        HEADER(":path", config->path),
        HEADER(":authority", g->authority),
        HEADER("content-type", "application/grpc"),
        HEADER("te", "trailers"),
    };
    nghttp2_data_provider provider = {.source.ptr = s, .read_callback = on_want_data};
    for (size_t i = 0; i < config->metadata_count; i++) {
        const struct grpc_metadata *field = &config->metadata[i];
        headers[6 + i] = grpc_stream_header(field->name, strlen(field->name), field->value,
                                            NGHTTP2_NV_FLAG_NONE);
    }
    s->id =
        nghttp2_submit_request(g->session, NULL, headers, 6 + config->metadata_count, &provider, s);
    if (s->id < 0) { /* this connection has had 2^30 calls: time for a new one */
        g->is_draining = true;
        g->is_open = false;
        err_set(&g->failure, ERR_UNAVAILABLE, "HTTP/2: %s", nghttp2_strerror(s->id));
    }
    TAILQ_INSERT_TAIL(&g->streams, s, link);
    g->active_count++;
    g->long_count += config->is_long;
    grpc_want_flush(g);
    return s;
}

void grpc_stream_send(struct grpc_stream *s, struct slice message, bool is_last)
{
    assert(!s->is_last_queued && message.len <= GRPC_SEND_MAX);
    grpc_frame_header(&s->out, message.len);
    buf_append_slice(&s->out, message);
    s->is_last_queued = is_last;
    if (s->id >= 0) {
        /* This fails while the request is still unsent, which is just as good. */
        (void)nghttp2_session_resume_data(s->grpc->session, s->id);
    }
    grpc_want_flush(s->grpc);
}

void grpc_stream_cancel(struct grpc_stream *s)
{
    if (!s->is_ended) {
        grpc_stream_retire(s);
        stream_reset(s, NGHTTP2_CANCEL);
        grpc_want_flush(s->grpc);
    }
}
