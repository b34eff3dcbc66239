/* Makes requests of HEADERS, CONTINUATION and DATA frames. */
#include <stdlib.h>

#include "common/base/cursor.h"
#include "common/base/xalloc.h"
#include "common/http2/http2_state_internal.h"

/* ---- A request is whole ---- */

/* Calls the callback, which may answer, and so end the stream. */
static void http2_requests_deliver(struct http2_server *s, struct http2_stream *stream,
                                   struct slice body, bool is_too_long)
{
    const struct http2_head *head = &stream->head;
    const struct http2_request request = {.stream = stream->id,
                                          .method = head->method,
                                          .path = head->path,
                                          .content_type = head->content_type,
                                          .body = body,
                                          .is_too_long = is_too_long,
                                          .is_head_too_long = head->is_too_long};
    stream->is_requested = true;
    s->control = 0;
    http2_stream_returns_credit(s, stream);
    s->callbacks.requested(s->callbacks.data, &request);
}

/* Hands over what the head borrows; the caller owns it from now on. */
static char *http2_requests_take_head(struct http2_server *s, struct http2_stream *stream)
{
    char *text = stream->text;
    s->held -= stream->text_len;
    stream->text = NULL;
    stream->text_len = 0;
    return text;
}

/* Delivers a request whose body has ended, or has become too long. */
static void deliver_with_body(struct http2_server *s, struct http2_stream *stream, bool is_too_long)
{
    struct buf body = stream->body; /* the stream may be gone after the call */
    char *text = http2_requests_take_head(s, stream);
    s->held -= body.cap;
    buf_init(&stream->body, 0);
    http2_requests_deliver(s, stream, buf_slice(&body), is_too_long);
    buf_fini(&body);
    free(text);
}

/* Compares content-length with the body (RFC 9113 8.1.1). */
static bool is_length_wrong(const struct http2_stream *stream)
{
    const struct http2_head *head = &stream->head;
    return head->has_content_length && (stream->is_ended ? stream->received != head->content_length
                                                         : stream->received > head->content_length);
}

/* ---- HEADERS ---- */

static char *keep_slice(char *at, struct slice *slice)
{
    if (slice->ptr) {
        memcpy(at, slice->ptr, slice->len);
        slice->ptr = at;
    }
    return at + slice->len;
}

/* Stores the head until its body is there. */
static void keep_head(struct http2_server *s, struct http2_stream *stream)
{
    struct http2_head *head = &stream->head;
    size_t len = head->method.len + head->path.len + head->content_type.len;
    char *at = stream->text = xmalloc(len + 1);
    stream->text_len = len + 1;
    s->held += stream->text_len;
    at = keep_slice(at, &head->method);
    at = keep_slice(at, &head->path);
    (void)keep_slice(at, &head->content_type); /* the end is known */
}

static bool http2_requests_has_failed(struct http2_server *s, int32_t id,
                                      enum http2_head_result result)
{
    switch (result) {
    case HTTP2_HEAD_FINE:
        return false;
    case HTTP2_HEAD_MALFORMED:
        http2_stream_reset(s, id, HTTP2_PROTOCOL_ERROR);
        break;
    case HTTP2_HEAD_BROKEN:
        http2_fail(s, HTTP2_COMPRESSION_ERROR);
        break;
    case HTTP2_HEAD_FLOOD:
        http2_fail(s, HTTP2_ENHANCE_YOUR_CALM);
        break;
    }
    return true;
}

static void http2_requests_take_request(struct http2_server *s, int32_t id, struct slice block,
                                        bool ends_stream)
{
    char text[HTTP2_HEADERS_MAX];
    struct http2_head head;
    if (http2_requests_has_failed(s, id, http2_fields_request(s->fields, block, text, &head))) {
        return;
    }
    struct http2_stream *stream = http2_stream_open(s, id);
    stream->head = head;
    stream->is_ended = ends_stream;
    if (is_length_wrong(stream)) {
        http2_stream_reset(s, id, HTTP2_PROTOCOL_ERROR);
    } else if (ends_stream || head.is_too_long) {
        http2_requests_deliver(s, stream, slice_of(NULL, 0), false);
    } else {
        keep_head(s, stream);
    }
}

static void take_trailers(struct http2_server *s, struct http2_stream *stream, struct slice block,
                          bool ends_stream)
{
    if (http2_requests_has_failed(s, stream->id, http2_fields_trailers(s->fields, block))) {
        return;
    }
    stream->is_ended = ends_stream;
    if (!ends_stream || is_length_wrong(stream)) {
        http2_stream_reset(s, stream->id, HTTP2_PROTOCOL_ERROR);
    } else if (!stream->is_requested) {
        deliver_with_body(s, stream, false);
    }
}

/* Skips a block for a stream that accepts none: decompresses it for the table's sake, then refuses
 * the stream. */
static void skip_block(struct http2_server *s, int32_t id, struct slice block,
                       enum http2_error error)
{
    if (!http2_requests_has_failed(s, id, http2_fields_skip(s->fields, block)) &&
        error != HTTP2_NO_ERROR) {
        http2_stream_reset(s, id, error);
    }
}

static void http2_requests_take_block(struct http2_server *s, int32_t id, struct slice block,
                                      bool ends_stream)
{
    struct http2_stream *stream = http2_stream_find(s, id);
    if (stream && stream->is_ended) {
        skip_block(s, id, block, HTTP2_STREAM_CLOSED);
    } else if (stream) {
        take_trailers(s, stream, block, ends_stream);
    } else if (id <= s->last_id || s->is_draining) { /* http2_is_passed_over */
        s->last_id = id > s->last_id ? id : s->last_id;
        http2_count_control(s);
        skip_block(s, id, block, HTTP2_NO_ERROR);
    } else {
        s->last_id = id;
        if (s->stream_count >= HTTP2_STREAMS_MAX) {
            skip_block(s, id, block, HTTP2_REFUSED_STREAM);
        } else {
            http2_requests_take_request(s, id, block, ends_stream);
        }
    }
}

/* Strips padding, and the priority of HEADERS. Returns false if they are longer than the frame. */
static bool http2_requests_strip(const struct http2_frame *frame, struct slice *ret)
{
    enum { PRIORITY_LEN = 5 };
    struct reader r = reader_of(frame->payload.ptr, frame->payload.len);
    size_t padding = frame->flags & FLAG_PADDED ? reader_u8(&r) : 0;
    if (frame->type == FRAME_HEADERS && (frame->flags & FLAG_PRIORITY)) {
        (void)reader_take(&r, PRIORITY_LEN); /* no priorities here */
    }
    if (r.failed || padding > reader_left(&r)) {
        return false;
    }
    *ret = slice_of(frame->payload.ptr + r.pos, reader_left(&r) - padding);
    return true;
}

void http2_take_headers(struct http2_server *s, const struct http2_frame *frame)
{
    struct slice block;
    bool is_known = frame->stream <= s->last_id;
    if (frame->stream % 2 == 0 || !http2_requests_strip(frame, &block)) {
        http2_fail(s, HTTP2_PROTOCOL_ERROR);
    } else if (is_known && !http2_stream_find(s, frame->stream) &&
               !http2_is_passed_over(s, frame->stream)) {
        http2_fail(s, HTTP2_PROTOCOL_ERROR);
    } else if (frame->flags & FLAG_END_HEADERS) {
        http2_requests_take_block(s, frame->stream, block, frame->flags & FLAG_END_STREAM);
    } else {
        s->block_stream = frame->stream;
        s->block_ends_stream = frame->flags & FLAG_END_STREAM;
        s->block_frames = 0;
        buf_append_slice(&s->block, block);
    }
}

void http2_take_continuation(struct http2_server *s, const struct http2_frame *frame)
{
    buf_append_slice(&s->block, frame->payload);
    if (++s->block_frames > CONTINUATIONS_MAX || s->block.failed) {
        http2_fail(s, HTTP2_ENHANCE_YOUR_CALM);
    } else if (frame->flags & FLAG_END_HEADERS) {
        s->block_stream = 0;
        http2_requests_take_block(s, frame->stream, buf_slice(&s->block), s->block_ends_stream);
        buf_fini(&s->block);
    }
}

/* ---- DATA ---- */

/* Takes the bytes from the connection's window, which counts padding, too, and frames of streams
 * that are gone. */
static bool take_from_window(struct http2_server *s, size_t len)
{
    if (len > s->recv_window) {
        http2_fail(s, HTTP2_FLOW_CONTROL_ERROR);
        return false;
    }
    s->recv_window -= len;
    return true;
}

/* Returns the window by halves, so that it costs a frame for thousands of requests; at once if the
 * client has less left. */
static void return_window(struct http2_server *s)
{
    bool is_worth_it =
        s->recv_unreturned >= HTTP2_BODIES_MAX / 2 || s->recv_unreturned >= s->recv_window;
    if (s->recv_unreturned && is_worth_it && http2_has_room(s)) {
        http2_put_frame(&s->out, FRAME_WINDOW_UPDATE, 0, 0, 4);
        buf_append_u32(&s->out, (uint32_t)s->recv_unreturned);
        s->recv_window += s->recv_unreturned;
        s->recv_unreturned = 0;
    }
}

static void http2_requests_take_body(struct http2_server *s, struct http2_stream *stream,
                                     struct slice data, bool ends_stream)
{
    stream->received += data.len;
    stream->is_ended = ends_stream;
    if (is_length_wrong(stream)) {
        http2_stream_reset(s, stream->id, HTTP2_PROTOCOL_ERROR);
    } else if (stream->is_requested) {
        http2_stream_returns_credit(s, stream); /* a request that was too long: not stored */
    } else if (ends_stream && stream->body.len == 0 && data.len <= HTTP2_BODY_MAX) {
        char *text = http2_requests_take_head(s, stream);
        http2_requests_deliver(s, stream, data, false); /* the usual case: nothing is copied */
        free(text);
    } else {
        size_t cap = stream->body.cap;
        buf_append_slice(&stream->body, data);
        s->held += stream->body.cap - cap;
        if (ends_stream || stream->body.failed) {
            deliver_with_body(s, stream, stream->body.failed);
        }
    }
}

void http2_take_data(struct http2_server *s, const struct http2_frame *frame)
{
    struct slice data;
    size_t len = frame->payload.len;
    bool ends_stream = frame->flags & FLAG_END_STREAM;
    if (frame->stream % 2 == 0 || frame->stream > s->last_id ||
        !http2_requests_strip(frame, &data)) {
        http2_fail(s, HTTP2_PROTOCOL_ERROR);
        return;
    }
    struct http2_stream *stream = http2_stream_find(s, frame->stream);
    if (!take_from_window(s, len)) {
        return;
    }
    bool is_wanted = stream && !stream->is_ended;
    if (!is_wanted || (data.len < SMALL_DATA && !ends_stream)) {
        http2_count_control(s);
    }
    if (!stream) {
        s->recv_unreturned += len;
        if (!http2_is_passed_over(s, frame->stream)) {
            http2_fail(s, HTTP2_STREAM_CLOSED);
        }
    } else if (stream->is_ended) {
        s->recv_unreturned += len;
        http2_stream_reset(s, frame->stream, HTTP2_STREAM_CLOSED);
    } else if (len > stream->room) {
        http2_fail(s, HTTP2_FLOW_CONTROL_ERROR);
    } else {
        stream->room -= len;
        stream->credit += len;
        http2_requests_take_body(s, stream, data, ends_stream);
    }
    if (!s->is_over) {
        return_window(s);
    }
}
