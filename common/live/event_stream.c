#include "common/live/event_stream_internal.h"

#include <string.h>

/* Bounds a refusal's text, which is shown to a person. */
enum { REASON_MAX = 200 };

void event_stream_init(struct event_stream *stream)
{
    *stream = (struct event_stream){0};
    http_response_init(&stream->http, EVENT_STREAM_EVENT_MAX + EVENT_STREAM_CHUNK_MAX);
    buf_init(&stream->data, EVENT_STREAM_EVENT_MAX);
}

void event_stream_fini(struct event_stream *stream)
{
    http_response_fini(&stream->http);
    buf_fini(&stream->data);
}

/* Adds bytes. Lines that were read are moved away only here, not once for each line. */
void event_stream_add(struct event_stream *stream, struct slice bytes)
{
    buf_consume(&stream->http.body, stream->pos);
    stream->scanned -= stream->pos;
    stream->pos = 0;
    if (!stream->has_failed && http_response_add(&stream->http, bytes, &stream->why) < 0) {
        stream->has_failed = true;
    }
}

/* Returns the line without its end, "\n" or "\r\n". */
static bool event_stream_next_line(struct event_stream *stream, struct slice *ret_line)
{
    const struct buf *in = &stream->http.body;
    const char *bytes = (const char *)in->data;
    size_t left = in->len - stream->scanned;
    const char *end = left ? memchr(bytes + stream->scanned, '\n', left) : NULL;
    if (!end) {
        stream->scanned = in->len;
        return false;
    }
    size_t len = (size_t)(end - bytes) - stream->pos;
    stream->scanned = (size_t)(end - bytes) + 1;
    bool has_return = len > 0 && end[-1] == '\r';
    *ret_line = slice_of(bytes + stream->pos, has_return ? len - 1 : len);
    stream->pos = stream->scanned;
    return true;
}

static int event_stream_fail(struct event_stream *stream, struct err *err, const char *why)
{
    stream->has_failed = true;
    return err_set(err, ERR_PROTOCOL, "%s", why);
}

/* Checks the head; the start of a refusal's text arrives with it. */
static int check_head(struct event_stream *stream, struct err *err)
{
    const struct http_response *http = &stream->http;
    if (http->status != 200) {
        const char *text = buf_cstr(&stream->http.body);
        size_t len = strcspn(text, "\r\n");
        len = len < REASON_MAX ? len : REASON_MAX;
        stream->has_failed = true;
        return err_set(err, ERR_REFUSED, "HTTP status %u%s%.*s", http->status, len ? ": " : "",
                       (int)len, text);
    }
    return http_response_is_type(http, "text/event-stream")
               ? 0
               : event_stream_fail(stream, err, "its /live is no stream of events");
}

/* ---- Events ---- */

/* Returns true at the end of an event. */
static bool take_event_line(struct event_stream *stream, struct slice line)
{
    static const struct slice name = {"data:", 5};
    if (line.len == 0) {
        bool is_event = stream->has_data;
        stream->has_data = false;
        stream->is_data_new = true;
        return is_event;
    }
    if (!slice_has_prefix(line, name)) {
        return false;
    }
    if (stream->is_data_new) {
        buf_clear(&stream->data);
        stream->is_data_new = false;
    }
    if (stream->has_data) {
        buf_append_char(&stream->data, '\n');
    }
    size_t skipped = line.len > name.len && line.ptr[name.len] == ' ' ? name.len + 1 : name.len;
    buf_append_slice(&stream->data, slice_of(line.ptr + skipped, line.len - skipped));
    stream->has_data = true;
    return false;
}

enum event_stream_result event_stream_next(struct event_stream *stream, struct slice *ret_data,
                                           struct err *err)
{
    struct slice line;
    if (stream->has_failed) {
        *err = stream->why;
        return EVENT_STREAM_FAILED;
    }
    if (stream->http.part < HTTP_RESPONSE_BODY) {
        return EVENT_STREAM_MORE;
    }
    if (check_head(stream, &stream->why) < 0) {
        *err = stream->why;
        return EVENT_STREAM_FAILED;
    }
    while (!stream->data.failed && event_stream_next_line(stream, &line)) {
        if (take_event_line(stream, line)) {
            *ret_data = buf_slice(&stream->data);
            return EVENT_STREAM_EVENT;
        }
    }
    if (stream->data.failed || stream->http.body.len - stream->pos > EVENT_STREAM_EVENT_MAX) {
        (void)event_stream_fail(stream, &stream->why, "an event of more than 1 MiB");
        *err = stream->why;
        return EVENT_STREAM_FAILED;
    }
    return EVENT_STREAM_MORE;
}
