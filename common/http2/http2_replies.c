/* Sends responses within the client's windows. */
#include <stdlib.h>

#include "common/base/cursor.h"
#include "common/base/xalloc.h"
#include "common/http2/http2_state_internal.h"

enum {
    FIELDS_MAX = 4096,    /* for a response, encoded: a few short ones */
    TABLE_EMPTIED = 0x20, /* a table of 0 bytes (RFC 7541 6.3) */
};

/* ---- Frames ---- */

static bool http2_replies_has_room(const struct http2_server *s)
{
    return s->out.len - s->out_at < OUT_FULL;
}

/* Puts a block. Our table is emptied at the first block, and whenever the client has set its size:
 * it expects to be told (RFC 7541 4.2). */
static void put_block(struct http2_server *s, int32_t id, unsigned flags, struct slice block)
{
    http2_put_frame(&s->out, FRAME_HEADERS, flags | FLAG_END_HEADERS, id,
                    block.len + s->must_empty_table);
    if (s->must_empty_table) {
        buf_append_u8(&s->out, TABLE_EMPTIED);
        s->must_empty_table = false;
    }
    buf_append_slice(&s->out, block);
}

/* Returns how much of a body both windows and a frame hold. */
static size_t http2_replies_sendable(const struct http2_server *s,
                                     const struct http2_stream *stream, size_t len)
{
    int64_t window = s->window < stream->window ? s->window : stream->window;
    size_t n = len < FRAME_MAX ? len : FRAME_MAX;
    return window <= 0 ? 0 : window < (int64_t)n ? (size_t)window : n;
}

/* Returns false if something is left. */
static bool http2_replies_move_one(struct http2_server *s, struct http2_stream *stream,
                                   struct reply_rest *rest)
{
    if (rest->head.len && http2_replies_has_room(s)) {
        unsigned flags = rest->body.len || rest->trailers.len ? 0 : FLAG_END_STREAM;
        put_block(s, stream->id, flags, rest->head);
        rest->head.len = 0;
    }
    while (!rest->head.len && rest->body.len && http2_replies_has_room(s)) {
        size_t n = http2_replies_sendable(s, stream, rest->body.len);
        if (n == 0) {
            return false;
        }
        bool is_last = n == rest->body.len && !rest->trailers.len;
        http2_put_frame(&s->out, FRAME_DATA, is_last ? FLAG_END_STREAM : 0, stream->id, n);
        buf_append(&s->out, rest->body.ptr, n);
        rest->body = slice_of(rest->body.ptr + n, rest->body.len - n);
        s->window -= (int64_t)n;
        stream->window -= (int64_t)n;
    }
    if (!rest->head.len && !rest->body.len && rest->trailers.len && http2_replies_has_room(s)) {
        put_block(s, stream->id, FLAG_END_STREAM, rest->trailers);
        rest->trailers.len = 0;
    }
    return !rest->head.len && !rest->body.len && !rest->trailers.len;
}

/* ---- Responses ---- */

/* Ends the stream, as the whole response is out. A client that has more to say need not (RFC 9113
 * 8.1). */
static void http2_replies_finish(struct http2_server *s, struct http2_stream *stream)
{
    if (++s->answered >= HTTP2_RESETS_REFILL) {
        s->answered = 0;
        s->resets_left += s->resets_left < HTTP2_RESETS_MAX;
    }
    if (stream->is_ended) {
        http2_stream_close(s, stream);
    } else {
        http2_stream_reset(s, stream->id, HTTP2_NO_ERROR);
    }
}

static struct slice http2_replies_copy(uint8_t **at, struct slice from)
{
    struct slice to = slice_of(*at, from.len);
    if (from.len) {
        memcpy(*at, from.ptr, from.len);
        *at += from.len;
    }
    return to;
}

static void wait_for_room(struct http2_server *s, struct http2_stream *stream,
                          const struct reply_rest *rest)
{
    stream->reply_len = rest->head.len + rest->body.len + rest->trailers.len;
    uint8_t *at = stream->reply = xmalloc(stream->reply_len);
    stream->rest.head = http2_replies_copy(&at, rest->head);
    stream->rest.body = http2_replies_copy(&at, rest->body);
    stream->rest.trailers = http2_replies_copy(&at, rest->trailers);
    s->held += stream->reply_len;
    TAILQ_INSERT_TAIL(&s->waiting, stream, waiting);
}

void http2_server_reply(struct http2_server *s, int32_t id, const struct http2_reply *reply)
{
    struct http2_stream *stream = http2_stream_find(s, id);
    if (!stream || !stream->is_requested || stream->is_replied || s->is_over) {
        return;
    }
    uint8_t head[FIELDS_MAX], trailers[FIELDS_MAX];
    struct writer h = writer_of(head, sizeof(head));
    struct writer t = writer_of(trailers, sizeof(trailers));
    http2_fields_encode(&h, reply->status, reply->fields, reply->field_count);
    http2_fields_encode(&t, 0, reply->trailers, reply->trailer_count);
    stream->is_replied = true;
    if (h.failed || t.failed) {
        http2_stream_reset(s, id, HTTP2_INTERNAL_ERROR);
        return;
    }
    struct reply_rest rest = {slice_of(head, h.pos), reply->body, slice_of(trailers, t.pos)};
    if (http2_replies_move_one(s, stream, &rest)) {
        http2_replies_finish(s, stream);
    } else {
        wait_for_room(s, stream, &rest);
    }
}

bool http2_replies_move(struct http2_server *s)
{
    size_t before = s->out.len;
    struct http2_stream *next;
    for (struct http2_stream *stream = TAILQ_FIRST(&s->waiting);
         stream && http2_replies_has_room(s) && !s->is_over; stream = next) {
        next = TAILQ_NEXT(stream, waiting);
        if (http2_replies_move_one(s, stream, &stream->rest)) {
            http2_replies_finish(s, stream);
        }
    }
    return s->out.len > before;
}
