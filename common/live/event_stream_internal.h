/* Parses the response to GET /live: the head, then server-sent events. Bytes in, the text of events
 * out.
 *
 * The format is that of https://html.spec.whatwg.org/multipage/server-sent-events.html; fields
 * other than `data` are ignored. Pure; one thread. */
#ifndef COMMON_LIVE_EVENT_STREAM_INTERNAL_H
#define COMMON_LIVE_EVENT_STREAM_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "common/http/http_response.h"

/* Bounds an event, and a line; our programs' events have some 10 KiB. */
enum { EVENT_STREAM_EVENT_MAX = 1024 * 1024 };

/* Bounds what is added at once. */
enum { EVENT_STREAM_CHUNK_MAX = 65536 };

enum event_stream_result {
    EVENT_STREAM_MORE,   /* nothing until more is added */
    EVENT_STREAM_EVENT,  /* *ret_data is an event */
    EVENT_STREAM_FAILED, /* no stream of events, or over a limit; for good */
};

struct event_stream {
    struct http_response http; /* its body: bytes of events */
    size_t pos;                /* in the body: where the next line begins */
    size_t scanned;            /* in the body: no line ends before */
    struct buf data;
    bool is_data_new; /* data was returned: the next field starts over */
    bool has_data;
    bool has_failed;
    struct err why; /* http's */
};

void event_stream_init(struct event_stream *stream);
void event_stream_fini(struct event_stream *stream);

/* Adds at most EVENT_STREAM_CHUNK_MAX bytes; then call event_stream_next until it wants more. */
void event_stream_add(struct event_stream *stream, struct slice bytes);

/* Returns what the bytes hold next. The data is borrowed until the next call. */
enum event_stream_result event_stream_next(struct event_stream *stream, struct slice *ret_data,
                                           struct err *err) MUST_CHECK;

#endif
