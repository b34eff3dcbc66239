/* Server-sent events: an endless response that shows a program's figures once a second.
 *
 * Each event is built once for all readers, so that another reader costs only its send; without
 * readers, nothing runs. Loop's thread only, as the servers that give it streams; it outlives them.
 *
 * There are at most 256 streams; a further one gets 503
 * with the reason. One client (an IPv4 address or IPv6 /64) may have more than 224 of them, such as
 * a proxy with more than 200 open pages behind it. Then another client's stream replaces one of
 * these.
 *
 * An event waits for no reader: one that has not read the last event misses those that come
 * meanwhile, and is closed after 10 s. A stream has at most one event that waits, of at most 256
 * KiB, and 128 KiB in the kernel. So 256 readers that stop cost 32 MiB there and 8 MiB here; one
 * whose event would be more than that, or its client's eighth, is closed. http_held.h
 * sends the bytes.
 *
 * A reader of another origin gets nothing: no CORS header is sent. The Host field is not checked,
 * since a Service, a proxy or a hosts file may give the server any name; nothing that is served so
 * changes state. */
#ifndef COMMON_HTTP_HTTP_EVENTS_H
#define COMMON_HTTP_HTTP_EVENTS_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/buf.h"

struct http_events;
struct http_reply;
struct http_request;

struct http_events_config {
    struct ev_loop *loop;
    /* Appends the event's text, one line, to an empty buffer; at most once a second, and only while
     * there are readers. An event over the limit is left out. */
    void (*build)(void *data, struct buf *line);
    /* Reports that the first reader has come, or the last one has gone. May be NULL. */
    void (*watched)(void *data, bool is_watched);
    void *data;
};

enum {
    HTTP_EVENTS_MAX = 256,
    HTTP_EVENTS_CLIENT_MAX = 224, /* streams that a client may hold against another client */
    HTTP_EVENT_BYTES_MAX = 256 * 1024,
};

/* Copies config. Nothing runs before the first reader comes. */
struct http_events *http_events_new(const struct http_events_config *config);

/* Closes all streams; free the servers first. NULL is fine. */
void http_events_free(struct http_events *events);

/* Makes the reply a stream of events, the first of which is sent at once: an http_handler, whose
 * data is a struct http_events. HEAD gets the header alone, other methods 405. */
void http_events_handle(void *data, const struct http_request *request, struct http_reply *reply);

size_t http_events_count(const struct http_events *events); /* returns the open streams */

#endif
