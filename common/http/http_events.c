#include "common/http/http_events.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/client_net.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/http/http_events_internal.h"
#include "common/http/http_server.h"
#include "common/http/http_socket_internal.h"

enum {
    SOCKET_BYTES = 64 * 1024, /* for SO_SNDBUF, which the kernel doubles */
    UNREAD_MS = 10 * 1000,    /* without having read a whole event */
    HEAD_MAX = 4096,
    FRAME_BYTES = 16, /* "data: " and the empty line */
};

static const double period_s = 1.;

/* Holds one event as it is sent, shared by the streams that have not sent all of it. */
struct event {
    size_t holders;
    struct buf bytes;
};

struct stream {
    struct http_events *events;
    struct client_net client;
    ev_io io;
    size_t input_len;
    struct buf head;     /* the response's, until it is out; before the event */
    struct event *event; /* being sent; NULL: all is out */
    size_t sent;         /* from head and event */
    int64_t since_ms;    /* when the event was begun */
};

struct http_events {
    struct http_events_config config;
    ev_timer timer; /* active while there is a stream */
    struct event *newest;
    size_t count;
    struct stream *streams[HTTP_EVENTS_MAX];
};

/* ---- Events ---- */

static void http_events_release(struct event *event)
{
    if (event && --event->holders == 0) {
        buf_fini(&event->bytes);
        free(event);
    }
}

static struct event *http_events_build(const struct http_events *events)
{
    struct event *event = xcalloc(1, sizeof(*event));
    struct buf line;
    event->holders = 1;
    buf_init(&line, HTTP_EVENT_BYTES_MAX);
    buf_init(&event->bytes, HTTP_EVENT_BYTES_MAX + FRAME_BYTES);
    events->config.build(events->config.data, &line);
    if (!line.failed) {
        buf_append_str(&event->bytes, "data: ");
        buf_append_slice(&event->bytes, buf_slice(&line));
        buf_append_str(&event->bytes, "\n\n");
    } else {
        log_warn("an event is too large for its readers",
                 LOG_INT("limit", (int64_t)HTTP_EVENT_BYTES_MAX));
        buf_append_str(&event->bytes, ":\n\n"); /* a comment */
    }
    buf_fini(&line);
    return event;
}

/* ---- Streams ---- */

/* Stops the timer: the last reader has gone, and nothing runs until the next one comes. */
static void http_events_stop(struct http_events *events)
{
    ev_timer_stop(events->config.loop, &events->timer);
    http_events_release(events->newest);
    events->newest = NULL;
    if (events->config.watched) {
        events->config.watched(events->config.data, false);
    }
}

static void close_stream(struct stream *s)
{
    struct http_events *events = s->events;
    /* Otherwise the kernel would hold what the client has not read, for as long as the client
     * likes. */
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    size_t i = 0;
    while (events->streams[i] != s) {
        i++;
    }
    events->streams[i] = events->streams[--events->count];
    ev_io_stop(events->config.loop, &s->io);
    if (s->event) {
        (void)setsockopt(s->io.fd, SOL_SOCKET, SO_LINGER, &at_once,
                         sizeof(at_once)); /* no matter */
    }
    (void)close(s->io.fd); /* unsent bytes are lost */
    http_events_release(s->event);
    buf_fini(&s->head);
    free(s);
    if (events->count == 0) {
        http_events_stop(events);
    }
}

/* Sends what the socket accepts. Returns false after an error. */
static bool send_event(struct stream *s)
{
    size_t head_sent = s->sent < s->head.len ? s->sent : s->head.len;
    size_t event_sent = s->sent - head_sent;
    struct iovec parts[2] = {
        {s->head.len ? s->head.data + head_sent : NULL, s->head.len - head_sent},
        {s->event->bytes.data + event_sent, s->event->bytes.len - event_sent},
    };
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t n = sendmsg(s->io.fd, &message, MSG_NOSIGNAL);
    if (n < 0) {
        return errno == EAGAIN || errno == EINTR;
    }
    s->sent += (size_t)n;
    if (s->sent == s->head.len + s->event->bytes.len) {
        http_events_release(s->event);
        s->event = NULL;
        buf_fini(&s->head);
        buf_init(&s->head, 0);
    }
    return true;
}

/* Sends the newest event, or the rest of the last one if that is not out yet. */
static void http_events_send(struct stream *s, int64_t now_ms)
{
    if (!s->event) {
        s->event = s->events->newest;
        s->event->holders++;
        s->sent = 0;
        s->since_ms = now_ms;
    }
    if (now_ms - s->since_ms >= UNREAD_MS || !send_event(s)) {
        close_stream(s);
        return;
    }
    http_socket_set_events(s->events->config.loop, &s->io, s->event ? EV_READ | EV_WRITE : EV_READ);
}

static void http_events_on_io(struct ev_loop *loop UNUSED, ev_io *w, int events)
{
    struct stream *s = w->data;
    if ((events & EV_READ && !http_socket_discard(s->io.fd, &s->input_len)) ||
        (events & EV_WRITE && s->event && !send_event(s))) {
        close_stream(s);
    } else if (!s->event) {
        http_socket_set_events(s->events->config.loop, &s->io, EV_READ);
    }
}

static void http_events_on_tick(struct ev_loop *loop UNUSED, ev_timer *w, int revents UNUSED)
{
    struct http_events *events = w->data;
    int64_t now_ms = clock_monotonic_ms();
    http_events_release(events->newest);
    events->newest = http_events_build(events);
    for (size_t i = events->count; i > 0; i--) { /* the last stream moves to the place of a closed
                                                    one */
        http_events_send(events->streams[i - 1], now_ms);
        if (!events->newest) {
            return; /* that was the last reader */
        }
    }
}

/* ---- Readers ---- */

struct http_events *http_events_new(const struct http_events_config *config)
{
    struct http_events *events = xcalloc(1, sizeof(*events));
    events->config = *config;
    ev_timer_init(&events->timer, http_events_on_tick, period_s, period_s);
    events->timer.data = events;
    /* Runs after the sockets of the same turn: a probe that has arrived comes first. */
    ev_set_priority(&events->timer, EV_MINPRI);
    return events;
}

void http_events_free(struct http_events *events)
{
    if (!events) {
        return;
    }
    while (events->count > 0) {
        close_stream(events->streams[0]);
    }
    free(events);
}

size_t http_events_count(const struct http_events *events)
{
    return events->count;
}

void http_events_reply(struct http_events *events, const struct http_request *request,
                       struct http_reply *reply)
{
    if (http_request_reads(request, reply)) {
        reply->content_type = "text/event-stream";
        /* The last field asks nginx, and proxies that follow it, not to collect events. */
        reply->fields = "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                        "X-Accel-Buffering: no\r\n";
        reply->events = events;
    }
}

static size_t http_events_count_of(const struct http_events *events, const struct client_net *net)
{
    size_t count = 0;
    for (size_t i = 0; i < events->count; i++) {
        count += client_net_equal(&events->streams[i]->client, net);
    }
    return count;
}

/* Returns a stream of the client that has nearly all of them, to make room for another client; or
 * NULL. */
static struct stream *find_hog(const struct http_events *events, const struct client_net *net)
{
    struct stream *found = NULL;
    for (size_t i = 0; i < events->count && !found; i++) {
        struct stream *s = events->streams[i];
        bool is_hog = !client_net_equal(&s->client, net) &&
                      http_events_count_of(events, &s->client) > HTTP_EVENTS_CLIENT_MAX;
        found = is_hog ? s : NULL;
    }
    return found;
}

const char *http_events_refusal(const struct http_events *events, const struct ip *client)
{
    const struct client_net net = client_net_of_ip(client);
    return events->count < HTTP_EVENTS_MAX || find_hog(events, &net)
               ? NULL
               : "all 256 event streams are open; close a page, or try again later\n";
}

static void http_events_begin(struct http_events *events)
{
    if (events->config.watched) {
        events->config.watched(events->config.data, true);
    }
    events->newest = http_events_build(events);
    ev_timer_set(&events->timer, period_s, period_s);
    ev_timer_start(events->config.loop, &events->timer);
}

void http_events_add(struct http_events *events, int fd, const struct ip *client, struct slice head)
{
    const int bytes = SOCKET_BYTES;
    const struct client_net net = client_net_of_ip(client);
    if (events->count == HTTP_EVENTS_MAX) {
        struct stream *hog = find_hog(events, &net);
        if (!hog) {
            (void)close(fd); /* never: it would have been refused */
            return;
        }
        close_stream(hog);
    }
    struct stream *s = xcalloc(1, sizeof(*s));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)); /* never fails here */
    if (events->count == 0) {
        http_events_begin(events);
    }
    s->events = events;
    s->client = net;
    buf_init(&s->head, HEAD_MAX);
    buf_append_slice(&s->head, head);
    ev_io_init(&s->io, http_events_on_io, fd, EV_READ);
    s->io.data = s;
    ev_io_start(events->config.loop, &s->io);
    events->streams[events->count++] = s;
    http_events_send(s, clock_monotonic_ms());
}
