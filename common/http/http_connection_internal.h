/* One connection of the HTTP server: reads a request, throws its body away, calls the handler,
 * sends the reply, and begins again or closes. On the loop of http_server.c, which alone calls it.
 *
 *     READING ─head─▶ SKIPPING its body ─▶ SENDING the reply ─▶ READING the next
 *                                                     └─ it was the last ─▶ LINGERING ─▶ closed
 *
 * One request a turn of the loop. A connection that makes no progress is closed. LINGERING reads
 * away what a client still sends, since closing upon it would reset the connection, and the reply
 * with it. */
#ifndef COMMON_HTTP_HTTP_CONNECTION_INTERNAL_H
#define COMMON_HTTP_HTTP_CONNECTION_INTERNAL_H

#include "common/http/http_server.h"

struct http_connection;

struct http_connection_config {
    struct ev_loop *loop;
    const struct http_route *routes; /* borrowed */
    size_t count;
    /* It has closed itself; freed when this returns. */
    void (*closed)(void *data, struct http_connection *connection);
    void *data;
};

/* Takes the descriptor, which does not block. The config is borrowed. */
struct http_connection *http_connection_new(const struct http_connection_config *config, int fd);

/* Closes it, wherever it is; `closed` is not called. */
void http_connection_free(struct http_connection *connection);

#endif
