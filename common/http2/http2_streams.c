/* The table of a connection's streams, and their resets. */
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "common/http2/http2_state_internal.h"

enum { CAP_MIN = 4 };

/* Returns the index where id is, or would be. */
static size_t http2_streams_place_of(const struct http2_server *s, int32_t id)
{
    size_t low = 0, high = s->stream_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (s->streams[middle]->id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

struct http2_stream *http2_stream_find(const struct http2_server *s, int32_t id)
{
    size_t place = http2_streams_place_of(s, id);
    return place < s->stream_count && s->streams[place]->id == id ? s->streams[place] : NULL;
}

/* Adds a stream at the end: ids only grow. */
struct http2_stream *http2_stream_open(struct http2_server *s, int32_t id)
{
    struct http2_stream *stream = s->spare;
    if (s->stream_count == s->stream_cap) {
        s->stream_cap = s->stream_cap ? 2 * s->stream_cap : CAP_MIN;
        s->streams = xrealloc_array(s->streams, s->stream_cap, sizeof(s->streams[0]));
    }
    s->spare = NULL;
    if (!stream) {
        stream = xmalloc(sizeof(*stream));
    }
    *stream = (struct http2_stream){.id = id, .window = s->stream_window, .room = STREAM_WINDOW};
    buf_init(&stream->body, HTTP2_BODY_MAX);
    s->streams[s->stream_count++] = stream;
    return stream;
}

static void free_content(struct http2_server *s, struct http2_stream *stream)
{
    if (stream->reply) {
        TAILQ_REMOVE(&s->waiting, stream, waiting);
        s->held -= stream->reply_len;
        free(stream->reply);
    }
    s->held -= stream->body.cap;
    buf_fini(&stream->body);
    s->held -= stream->text_len;
    free(stream->text);
}

void http2_stream_close(struct http2_server *s, struct http2_stream *stream)
{
    int32_t id = stream->id;
    bool is_due = stream->is_requested && !stream->is_replied;
    size_t place = http2_streams_place_of(s, id);
    s->stream_count--;
    memmove(s->streams + place, s->streams + place + 1,
            (s->stream_count - place) * sizeof(s->streams[0]));
    http2_stream_returns_credit(s, stream);
    free_content(s, stream);
    if (s->spare) {
        free(stream);
    } else {
        s->spare = stream;
    }
    if (is_due && s->callbacks.cancelled) {
        s->callbacks.cancelled(s->callbacks.data, id);
    }
}

void http2_streams_free(struct http2_server *s)
{
    for (size_t i = 0; i < s->stream_count; i++) {
        free_content(s, s->streams[i]);
        free(s->streams[i]);
    }
    free(s->streams);
    free(s->spare);
}

/* ---- Resets ---- */

void http2_count_reset(struct http2_server *s)
{
    if (s->resets_left == 0) {
        http2_fail(s, HTTP2_ENHANCE_YOUR_CALM);
    } else {
        s->resets_left--;
    }
}

bool http2_is_passed_over(const struct http2_server *s, int32_t id)
{
    if (s->is_draining && id > s->drained_id) {
        return true;
    }
    for (size_t i = 0; s->resets && i < RESETS_REMEMBERED; i++) {
        if (s->resets->ids[i] == id) {
            return true;
        }
    }
    return false;
}

void http2_stream_reset(struct http2_server *s, int32_t id, enum http2_error error)
{
    struct http2_stream *stream = http2_stream_find(s, id);
    if (!s->resets) {
        s->resets = xcalloc(1, sizeof(*s->resets));
    }
    s->resets->ids[s->resets->next] = id;
    s->resets->next = (s->resets->next + 1) % RESETS_REMEMBERED;
    if (http2_has_room(s)) {
        http2_put_frame(&s->out, FRAME_RST_STREAM, 0, id, 4);
        buf_append_u32(&s->out, (uint32_t)error);
    }
    if (stream) {
        http2_stream_close(s, stream);
    }
    http2_count_reset(s);
}

/* ---- The connection's window for bodies: as many bytes as bodies are held ---- */

void http2_stream_returns_credit(struct http2_server *s, struct http2_stream *stream)
{
    s->recv_unreturned += stream->credit;
    stream->credit = 0;
}
