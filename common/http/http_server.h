/* A small HTTP/1.1 server on a libev loop, for probes, metrics and a few pages. Its parts are
 * http_connection_internal.h and http_request_internal.h. Loop's thread only; handlers answer
 * immediately and never block.
 *
 * No client can lock out a probe. There are 64 connections (a kubelet, a Prometheus and a few
 * people), 16 for each client address (/64 for IPv6). A further one is accepted at once, and
 * replaces the connection that has been longest without a complete request. That is the client's
 * own if it has its 16, because a kubelet may share its node's address with others. If every
 * connection is being answered, the one whose response began first is closed.
 *
 * A burst is answered whole: a connection counts, and may be closed, only once it has made a
 * request or has been there for a second without one. Until then there is room for 512 in all, 256
 * for each client; above that the rules above hold for them, too. As much of a response as the
 * socket accepts is sent before the next request is read, so that many small responses are no
 * crowd. Requests that came with an earlier one share 2 ms of a turn of the loop, the longest
 * waiting connection first.
 *
 * Timeouts: 10 s for a whole request, but 2 s for the first one once 32 connections are open; 60 s
 * for a whole response, 10 s without progress in reading it. Limits: 16 KiB of request line and
 * headers. Request bodies are discarded; over 64 KiB the connection is closed, chunked ones are
 * rejected. The handler is called for any method (http_request_reads refuses those that would
 * change something); HEAD gets only the headers. Responses that come later or are
 * endless (http_held.h) count separately. A path without a handler is 404 `not found`, a
 * response over its limit 500. No TLS, compression or ranges.
 *
 * Written here because Debian's library for it, libmicrohttpd, pulls GnuTLS and seven more
 * libraries into each process: 2.5 MB resident, more than the rest of a health probe. */
#ifndef COMMON_HTTP_HTTP_SERVER_H
#define COMMON_HTTP_HTTP_SERVER_H

#include <ev.h>
#include <stdbool.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"

struct http_access;
struct http_held;
struct http_hosts;
struct http_server;

enum { HTTP_ARGUMENTS_MAX = 16 }; /* further ones are ignored; our pages use three */

struct http_request {
    const char *method; /* verbatim: "GET", "HEAD", "BREW" */
    const char *path;   /* decoded, without the query */
    struct ip client;
    bool has_flush; /* the field Skydns-Flush is 1 (http_head.h) */
    size_t argument_count;
    struct http_argument {
        const char *name;
        const char *value;           /* "" without one */
    } arguments[HTTP_ARGUMENTS_MAX]; /* for http_request_arg */
};

/* Produces a body of any length while it is sent. `more` appends the next piece, at most
 * HTTP_PIECE_MAX, to an empty buffer whenever there is room to send it; false: that was the last
 * piece. It is called once in a turn of the loop, even if it appends nothing: a stream that has to
 * search for its next bytes holds up nothing. `end` is called once, whether or not everything was
 * sent. Both run on the loop, after the handler. */
struct http_stream {
    bool (*more)(void *data, struct buf *piece);
    void (*end)(void *data);
    void *data;
};

enum { HTTP_PIECE_MAX = 1024 * 1024 };

struct http_reply {
    int status;                /* 200 unless set */
    const char *content_type;  /* "text/plain; charset=utf-8" unless set; constant */
    const char *fields;        /* further ones, each ending in CR LF; NULL: none. Outlives the
                                  handler; at most HTTP_FIELDS_MAX */
    struct buf body;           /* initialised, empty, limit 16 MiB */
    struct http_stream stream; /* instead of the body, when it has `more` */
    struct http_held *held;    /* instead of both: http_holder_reply sets it */
};

enum { HTTP_FIELDS_MAX = 2048 }; /* a Content-Security-Policy with a few hashes is 500 bytes */

typedef void (*http_handler)(void *data, const struct http_request *request,
                             struct http_reply *reply);

struct http_route {
    const char *path; /* exact, "/readiness"; "*" as the last route matches every other path */
    http_handler handler;
    void *data;
};

/* Listens at the address. Routes are borrowed until http_server_free. Errors, such as a port in
 * use, name the address. */
int http_server_new(struct ev_loop *loop, const struct addr *address,
                    const struct http_route *routes, size_t count, struct http_server **ret_server,
                    struct err *err) MUST_CHECK;

/* Makes one for a socket that listens, from http_server_listen or another process, which it takes
 * over. */
struct http_server *http_server_of(struct ev_loop *loop, int fd, const struct http_route *routes,
                                   size_t count);

/* Opens such a socket; or one at a path, for its user and group: its clients count as
 * 127.0.0.1. Return the descriptor, or the code of an error that names the address. */
int http_server_listen(const struct addr *address, struct err *err) MUST_CHECK;
int http_server_listen_unix(const char *path, struct err *err) MUST_CHECK;

/* Counts requests that were refused for all servers of the process, by http_admission.h. */
struct http_refusals {
    uint64_t hosts, clients;
};
struct http_refusals http_server_refusals(void);

/* Stops accepting connections, which wait in the socket, and starts again. */
void http_server_pause(struct http_server *server);
void http_server_resume(struct http_server *server);

/* Closes the socket; open connections go on. Main use: another process has it, too. */
void http_server_leave(struct http_server *server);

int http_server_fd(const struct http_server *server); /* borrowed; -1: left */

/* Answers requests that name a host which http_admission.h rejects with 421 from now on. Borrowed
 * until http_server_free. */
void http_server_limit_hosts(struct http_server *server, const struct http_hosts *hosts);

/* Answers requests that http_admission.h rejects with 403 from now on. Borrowed until
 * http_server_free; its content may change between requests. */
void http_server_limit_access(struct http_server *server, const struct http_access *access);

/* Stops listening and drops open connections. Not from a handler. NULL is fine. */
void http_server_free(struct http_server *server);

/* Returns the value of ?name=..., "" for ?name, NULL when absent. Borrowed during the handler. */
const char *http_request_arg(const struct http_request *request, const char *name);

/* Makes an empty reply of 200, as handlers get it. For a response that comes later (http_held.h).
 */
void http_reply_init(struct http_reply *reply);

/* Returns true for GET and HEAD. Else sets the reply to 405 with Allow. */
bool http_request_reads(const struct http_request *request, struct http_reply *reply) MUST_CHECK;

#endif
