#include "common/http/http_events.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "common/http/http_held.h"
#include "common/http/http_server.h"

enum {
    SOCKET_BYTES = 64 * 1024,     /* for SO_SNDBUF, which the kernel doubles */
    UNSENT_MAX = 8 * 1024 * 1024, /* an eighth for one client: four of the longest events */
    UNREAD_MS = 10 * 1000,        /* without having read a whole event */
    FRAME_BYTES = 16,             /* "data: " and the empty line */
};

static const double period_s = 1.;

static const char content_type[] = "text/event-stream";

/* The last field asks nginx, and proxies that follow it, not to collect events. */
static const char fields[] = "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                             "X-Accel-Buffering: no\r\n";

struct http_events {
    struct http_events_config config;
    struct http_holder *streams;
    ev_timer timer;    /* active while there is a stream */
    struct buf newest; /* event, as it is sent */
};

static void http_events_build(struct http_events *events)
{
    CLEANUP_BUF struct buf line = buf_of(HTTP_EVENT_BYTES_MAX);
    buf_clear(&events->newest);
    events->config.build(events->config.data, &line);
    if (!line.failed) {
        buf_append_str(&events->newest, "data: ");
        buf_append_slice(&events->newest, buf_slice(&line));
        buf_append_str(&events->newest, "\n\n");
    } else {
        log_warn("an event is too large for its readers",
                 LOG_INT("limit", (int64_t)HTTP_EVENT_BYTES_MAX));
        buf_append_str(&events->newest, ":\n\n"); /* a comment */
    }
}

/* Sends the newest event, unless the reader has not read the last one: it misses this one, or is
 * closed. */
static void http_events_send(const struct http_events *events, struct http_held *stream)
{
    const int64_t waits_ms = http_held_waits_ms(stream);
    if (waits_ms >= UNREAD_MS ||
        (waits_ms < 0 && !http_held_write(stream, buf_slice(&events->newest)))) {
        http_held_drop(stream);
    }
}

static void http_events_on_tick(struct ev_loop *loop UNUSED, ev_timer *w, int revents UNUSED)
{
    struct http_events *events = w->data;
    http_events_build(events);
    /* The last stream moves to the place of a dropped one. */
    for (size_t i = http_events_count(events); i > 0; i--) {
        http_events_send(events, http_holder_at(events->streams, i - 1));
    }
}

/* ---- Readers ---- */

static void http_events_begin(struct http_events *events)
{
    if (events->config.watched) {
        events->config.watched(events->config.data, true);
    }
    http_events_build(events);
    ev_timer_set(&events->timer, period_s, period_s);
    ev_timer_start(events->config.loop, &events->timer);
}

/* Stops with the last reader: nothing runs until the next one comes. */
static void http_events_on_gone(void *item)
{
    struct http_events *events = item;
    if (http_events_count(events) > 1) {
        return;
    }
    ev_timer_stop(events->config.loop, &events->timer);
    buf_fini(&events->newest);
    buf_init(&events->newest, HTTP_EVENT_BYTES_MAX + FRAME_BYTES);
    if (events->config.watched) {
        events->config.watched(events->config.data, false);
    }
}

struct http_events *http_events_new(const struct http_events_config *config)
{
    struct http_events *events = xcalloc(1, sizeof(*events));
    events->config = *config;
    events->streams = http_holder_new(&(struct http_holder_config){
        .loop = config->loop,
        .max = HTTP_EVENTS_MAX,
        .client_max = HTTP_EVENTS_MAX,
        .unsent_max = UNSENT_MAX,
        .socket_bytes = SOCKET_BYTES,
        .full = "all 256 event streams are open; close a page, or try again later\n",
        .gone = http_events_on_gone,
    });
    buf_init(&events->newest, HTTP_EVENT_BYTES_MAX + FRAME_BYTES);
    timer_init_every(&events->timer, http_events_on_tick, events, period_s);
    /* Runs after the sockets of the same turn: a probe that has arrived comes first. */
    ev_set_priority(&events->timer, EV_MINPRI);
    return events;
}

void http_events_free(struct http_events *events)
{
    if (events) {
        http_holder_free(events->streams);
        buf_fini(&events->newest);
        free(events);
    }
}

size_t http_events_count(const struct http_events *events)
{
    return http_holder_count(events->streams);
}

/* Drops a stream of a client that has nearly all of them, for another client. */
static void http_events_make_room(const struct http_events *events, const struct ip *client)
{
    for (size_t i = 0; i < http_events_count(events); i++) {
        struct http_held *stream = http_holder_at(events->streams, i);
        if (!http_held_is_of(stream, client) &&
            http_held_client_count(stream) > HTTP_EVENTS_CLIENT_MAX) {
            http_held_drop(stream);
            return;
        }
    }
}

/* Ends the response to HEAD behind its head. */
static bool no_more(void *data UNUSED, struct buf *piece UNUSED)
{
    return false;
}

void http_events_handle(void *data, const struct http_request *request, struct http_reply *reply)
{
    struct http_events *events = data;
    if (!http_request_reads(request, reply)) {
        return;
    }
    if (strcmp(request->method, "HEAD") == 0) {
        reply->content_type = content_type;
        reply->fields = fields;
        reply->stream = (struct http_stream){.more = no_more};
        return;
    }
    if (http_events_count(events) == HTTP_EVENTS_MAX) {
        http_events_make_room(events, &request->client);
    }
    struct http_held *stream = http_holder_reply(events->streams, request, reply, events);
    if (!stream) {
        return;
    }
    if (http_events_count(events) == 1) {
        http_events_begin(events);
    }
    http_held_begin(stream, content_type, fields);
    if (!http_held_write(stream, buf_slice(&events->newest))) {
        log_debug("an event stream begins with its next event: the readers' bytes have no room");
    }
}
