/* Reads one HTTP/1.x response (RFC 9112) as its bytes come, for the commands that query servers.
 *
 * Those are probes over HTTPS, -healthcheck, -explain and -top. Lines of the head may end with a
 * bare LF. Pure; the bytes are untrusted. */
#ifndef COMMON_HTTP_HTTP_RESPONSE_H
#define COMMON_HTTP_HTTP_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "common/http/http_chunks.h"

enum {
    HTTP_RESPONSE_HEAD_MAX = 8192, /* as most servers allow for a request's; with interim ones */
    HTTP_RESPONSE_SHOWN_MAX = 80,  /* for a text in an error: more than any of HTTP's own */
};

struct http_response {
    enum http_response_part {
        HTTP_RESPONSE_STATUS,
        HTTP_RESPONSE_HEADERS,
        HTTP_RESPONSE_BODY,           /* with a known length */
        HTTP_RESPONSE_BODY_UNTIL_END, /* until the connection ends */
        HTTP_RESPONSE_CHUNKS,
        HTTP_RESPONSE_DONE,
    } part;                                   /* being read; from BODY on, the head is complete */
    struct buf line;                          /* the unfinished one */
    size_t head_len;                          /* bytes of lines so far */
    bool is_interim;                          /* the head being read; status stays 0 */
    unsigned status;                          /* 0: not read yet */
    char reason[HTTP_RESPONSE_SHOWN_MAX + 1]; /* "404 Not Found", as can be shown */
    bool has_type;
    char type[HTTP_RESPONSE_SHOWN_MAX + 1]; /* Content-Type, as can be shown */
    bool is_chunked, has_length;
    size_t left; /* of the body */
    struct http_chunks chunks;
    struct buf body; /* the reader of an endless one consumes it */
};

void http_response_init(struct http_response *response, size_t body_max);
void http_response_fini(struct http_response *response);

/* Adds bytes; ignores those behind HTTP_RESPONSE_DONE. Returns ERR_PROTOCOL for what is no HTTP,
 * ERR_TOO_LARGE over a limit; after an error, only fini. Any status and type are fine here. */
int http_response_add(struct http_response *response, struct slice bytes,
                      struct err *err) MUST_CHECK;

/* Notes that the peer has closed its side. Returns ERR_PROTOCOL unless the response is complete. */
int http_response_end(struct http_response *response, struct err *err) MUST_CHECK;

/* Returns whether its Content-Type is that, whatever the parameters. */
bool http_response_is_type(const struct http_response *response, const char *media_type);

#endif
