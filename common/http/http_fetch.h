/* One blocking HTTP request, for commands that query a running program and exit: skydns -explain,
 * -healthcheck.
 *
 * No redirects, TLS or keep-alive: the server is one of ours. Any thread. */
#ifndef COMMON_HTTP_HTTP_FETCH_H
#define COMMON_HTTP_HTTP_FETCH_H

#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/http/http_response.h"

struct http_fetch {
    struct addr server;
    const char *unix_path; /* of a Unix socket to connect to instead; NULL: none */
    const char *target;    /* path and query, escaped for the request line */
    const char *post;      /* the field of a POST, "Skydns-Flush: 1"; NULL: GET. Without a body */
    int64_t timeout_ms;    /* until the last byte of the response */
};

enum { HTTP_FETCH_PRINTED_MAX = 16 * 1024 * 1024 }; /* bounds what commands print */

/* Reads the response into the initialised struct, up to its body's limit. Any status is a success;
 * an unreachable or slow server, or one that does not speak HTTP, is an error. */
int http_fetch(const struct http_fetch *fetch, struct http_response *response,
               struct err *err) MUST_CHECK;

/* Fetches the target for a command, or posts, within 5 s, and prints the body that comes with
 * status 200. The first line of another response is the error's message, with ERR_REFUSED; with
 * ERR_NOT_FOUND if the request is good, but the server does not have what it asks for: 410, 503,
 * 507. */
int http_fetch_print(const struct addr *server, const char *target, const char *post,
                     struct err *err) MUST_CHECK;

/* Fetches likewise, and appends the body. */
int http_fetch_page(const struct addr *server, const char *target, const char *post,
                    struct buf *out, struct err *err) MUST_CHECK;

/* Prints a body that was fetched, up to a NUL. */
int http_fetch_put(struct buf *body, struct err *err) MUST_CHECK;

/* Returns the address at which a server that listens there is reached: for a wildcard, the loopback
 * address. */
struct addr http_fetch_server(const struct addr *listening);

/* Appends a value of a target's query, or a segment of its path, escaping all but unreserved
 * characters (RFC 3986 2.3). */
void http_fetch_append_value(struct buf *target, const char *text);

#endif
