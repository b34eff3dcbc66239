/* One blocking HTTP GET, for commands that query a running program and exit: skydns -explain,
 * -healthcheck. No redirects, TLS or keep-alive: the server is one of ours. Any thread. */
#ifndef COMMON_HTTP_HTTP_FETCH_H
#define COMMON_HTTP_HTTP_FETCH_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"

struct http_fetch {
    struct addr server;
    const char *target; /* path and query, escaped for the request line */
    int64_t timeout_ms; /* until the last byte of the reply */
};

struct http_page {
    unsigned status;
    const char *body; /* NUL-terminated, in the buffer of the reply */
};

/* Reads the reply into `reply`, up to its limit; *ret_page points into it. Any status is a success;
 * an unreachable or slow server, or one that does not speak HTTP, is an error. */
int http_fetch(const struct http_fetch *fetch, struct buf *reply, struct http_page *ret_page,
               struct err *err) MUST_CHECK;

/* Appends a value of the target's query, escaping all but unreserved characters (RFC 3986 2.3). */
void http_fetch_append_value(struct buf *target, const char *text);

#endif
