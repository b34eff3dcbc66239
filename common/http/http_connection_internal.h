/* One connection of the HTTP server: reads a request, calls the handler, sends the response.
 *
 * It discards the request's body, and starts over or closes after the response. On the loop of
 * http_server.c, its only caller.
 *
 *     READING ─head─▶ SKIPPING its body ─▶ SENDING the response ─▶ READING the next
 *                                                     └─ it was the last ─▶ LINGERING ─▶ closed
 *
 * A request that came with an earlier one waits until the server gives its connection a turn. Each
 * phase has a timeout that dripping bytes do not extend
 * (http_server.h). LINGERING discards what the client still sends, because closing with unread data
 * would reset the connection and lose the response. */
#ifndef COMMON_HTTP_HTTP_CONNECTION_INTERNAL_H
#define COMMON_HTTP_HTTP_CONNECTION_INTERNAL_H

#include "common/http/http_server.h"

struct http_connection;

struct http_connection_config {
    struct ev_loop *loop;
    const struct http_route *routes; /* borrowed */
    size_t count;
    const struct http_hosts *hosts;   /* borrowed; NULL: a request may name any host */
    const struct http_access *access; /* borrowed; NULL: every client may have every page */
    struct http_server *server;
};

/* ---- http_server.c ---- */

/* Notes that a complete request arrived. May close other connections, not this one. */
void http_server_note_request(struct http_server *server, struct http_connection *connection);

/* Removes a connection that has closed itself and is freed when this returns. */
void http_server_drop(struct http_server *server, const struct http_connection *connection);

/* Gives turns to connections that wait (http_connection_waits), from the loop's next turn on. */
void http_server_give_turns(struct http_server *server);

/* ---- http_connection.c ---- */

/* Takes ownership of the non-blocking descriptor. The config is borrowed. */
struct http_connection *http_connection_new(const struct http_connection_config *config, int fd,
                                            const struct ip *client);

/* Closes the connection in any state, without http_server_drop. Not from inside those two. */
void http_connection_free(struct http_connection *connection);

/* Shortens the wait for the first request, if it has not arrived. */
void http_connection_hurry(struct http_connection *connection);

/* Returns whether the connection has made no request yet and has hardly had the time to: closing it
 * would be unfair. */
bool http_connection_is_fresh(const struct http_connection *connection);

/* Returns whether a complete request has arrived and its response is not out yet. */
bool http_connection_is_answering(const struct http_connection *connection);

/* Returns whether the connection has bytes behind its last request, and waits for its turn. */
bool http_connection_waits(const struct http_connection *connection);

/* Handles the request in these bytes. May close the connection, and others. */
void http_connection_take_turn(struct http_connection *connection);

const struct ip *http_connection_client(const struct http_connection *connection); /* borrowed */

struct http_reply_head {
    int status;
    const char *content_type;
    const char *fields; /* as in struct http_reply */
    int64_t body_len;   /* -1: the body ends with the connection, or has chunks */
    bool is_chunked;
    bool is_last; /* the connection ends with it */
};

/* Appends a response's head, at most 1 KiB and the fields. */
void http_connection_write_head(struct buf *out, const struct http_reply_head *head);

#endif
