#include "common/live/event_stream_internal.h"

#include <stdio.h>
#include <strings.h>

/* Of a refusal's text, which is shown to a person. */
enum { REASON_MAX = 200 };

void event_stream_init(struct event_stream *stream)
{
    *stream = (struct event_stream){0};
    buf_init(&stream->in, EVENT_STREAM_EVENT_MAX + EVENT_STREAM_CHUNK_MAX);
    buf_init(&stream->data, EVENT_STREAM_EVENT_MAX);
}

void event_stream_fini(struct event_stream *stream)
{
    buf_fini(&stream->in);
    buf_fini(&stream->data);
}

/* Lines are passed over, and moved away only here: not once for each line. */
void event_stream_add(struct event_stream *stream, struct slice bytes)
{
    buf_consume(&stream->in, stream->pos);
    stream->scanned -= stream->pos;
    stream->pos = 0;
    buf_append_slice(&stream->in, bytes);
}

/* Without its end, "\n" or "\r\n". */
static bool next_line(struct event_stream *stream, struct slice *ret_line)
{
    const char *bytes = (const char *)stream->in.data;
    size_t left = stream->in.len - stream->scanned;
    const char *end = left ? memchr(bytes + stream->scanned, '\n', left) : NULL;
    if (!end) {
        stream->scanned = stream->in.len;
        return false;
    }
    size_t len = (size_t)(end - bytes) - stream->pos;
    stream->scanned = (size_t)(end - bytes) + 1;
    bool has_return = len > 0 && end[-1] == '\r';
    *ret_line = slice_of(bytes + stream->pos, has_return ? len - 1 : len);
    stream->pos = stream->scanned;
    return true;
}

static int fail(struct event_stream *stream, struct err *err, const char *why)
{
    stream->has_failed = true;
    return err_set(err, ERR_PROTOCOL, "%s", why);
}

/* ---- The head ---- */

static int take_status(struct event_stream *stream, struct slice line, struct err *err)
{
    char text[32]; /* as much as is needed of "HTTP/1.0 200 OK" */
    (void)snprintf(text, sizeof(text), "%.*s", (int)(line.len < 31 ? line.len : 31), line.ptr);
    stream->has_status = sscanf(text, "HTTP/1.%*1u %3u", &stream->status) == 1;
    return stream->has_status ? 0 : fail(stream, err, "it does not speak HTTP");
}

static void take_field(struct event_stream *stream, struct slice line)
{
    static const char name[] = "content-type:", type[] = "text/event-stream";
    size_t at = sizeof(name) - 1;
    if (line.len < at || strncasecmp(line.ptr, name, at) != 0) {
        return;
    }
    while (at < line.len && line.ptr[at] == ' ') {
        at++;
    }
    stream->is_events = line.len - at >= sizeof(type) - 1 &&
                        strncasecmp(line.ptr + at, type, sizeof(type) - 1) == 0;
}

/* What is there of a refusal's text comes with its head. */
static int refuse(struct event_stream *stream, struct err *err)
{
    const char *text = (const char *)stream->in.data + stream->pos;
    size_t len = stream->in.len - stream->pos, n = 0;
    while (n < len && n < REASON_MAX && text[n] != '\n' && text[n] != '\r') {
        n++;
    }
    stream->has_failed = true;
    return err_set(err, ERR_REFUSED, "HTTP status %u%s%.*s", stream->status, n ? ": " : "", (int)n,
                   text);
}

static int take_head_line(struct event_stream *stream, struct slice line, struct err *err)
{
    if (!stream->has_status) {
        return take_status(stream, line, err);
    }
    if (line.len > 0) {
        take_field(stream, line);
        return 0;
    }
    stream->has_head = true;
    if (stream->status != 200) {
        return refuse(stream, err);
    }
    return stream->is_events ? 0 : fail(stream, err, "its /live is no stream of events");
}

/* ---- Events ---- */

/* True at the end of an event. */
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
    while (!stream->has_failed && next_line(stream, &line)) {
        if (!stream->has_head) {
            if (take_head_line(stream, line, err) < 0) {
                return EVENT_STREAM_FAILED;
            }
        } else if (take_event_line(stream, line)) {
            *ret_data = buf_slice(&stream->data);
            return EVENT_STREAM_EVENT;
        }
        if (stream->data.failed) {
            break;
        }
    }
    if (stream->has_failed) {
        (void)fail(stream, err, "no stream of events");
        return EVENT_STREAM_FAILED;
    }
    if (stream->data.failed || stream->in.failed ||
        stream->in.len - stream->pos > EVENT_STREAM_EVENT_MAX) {
        (void)fail(stream, err, "an event of more than 1 MiB");
        return EVENT_STREAM_FAILED;
    }
    return EVENT_STREAM_MORE;
}
