/* Parses the head of an HTTP/1.x request (RFC 9112), line by line as they arrive, each line once.
 *
 * Used for pages (http_server.h) and for DNS over HTTPS. Strict wherever two parsers of one stream
 * could disagree about the end of a request. Lines end with CR LF; there are no folded lines, no
 * space before a colon, one length and no contradiction to it. Pure. */
#ifndef COMMON_HTTP_HTTP_HEAD_H
#define COMMON_HTTP_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/slice.h"

/* Names the status codes of responses (RFC 9110 15). */
enum http_status {
    HTTP_OK = 200,
    HTTP_BAD_REQUEST = 400,
    HTTP_FORBIDDEN = 403,
    HTTP_NOT_FOUND = 404,
    HTTP_WRONG_METHOD = 405,
    HTTP_GONE = 410,
    HTTP_LENGTH_REQUIRED = 411,
    HTTP_TOO_LONG = 413,
    HTTP_TARGET_TOO_LONG = 414,
    HTTP_WRONG_TYPE = 415,
    HTTP_EXPECTATION_FAILED = 417,
    HTTP_WRONG_HOST = 421,
    HTTP_HEAD_TOO_LONG = 431,
    HTTP_INTERNAL_ERROR = 500,
    HTTP_UNKNOWN_CODING = 501,
    HTTP_UNAVAILABLE = 503,
    HTTP_TIMED_OUT = 504,
    HTTP_WRONG_VERSION = 505,
    HTTP_NO_ROOM = 507,
};

/* Returns the text of a status line, "404 Not Found". */
const char *http_status_line(enum http_status status);

enum {
    /* Equals HTTP/2's limit (HTTP2_HEADERS_MAX): a DNS query of 12 KB in the target, or a browser's
     * cookies. */
    HTTP_HEAD_MAX = 16 * 1024,
    HTTP_HEAD_MORE = -1,
};

/* Zeroed before its first line, but for the first field. Texts are positions in the bytes: those
 * may move. */
struct http_head {
    bool takes_bare_lf; /* a line may end without CR: for people with nc, not for proxies */
    struct http_text {
        uint16_t at, len;
    } method, target, host, content_type;
    uint16_t at; /* the lines before are parsed; in the end, the head's length */
    bool is_1_0;
    bool has_host, has_length, is_chunked;
    bool wants_close, wants_keep_alive; /* from Connection */
    bool has_flush;                     /* Skydns-Flush: 1, which no page of another site sends */
    bool wants_continue;                /* waits for `100 Continue` before it sends the body */
    uint64_t body_len;
};

/* Parses the lines that have arrived; `bytes` start where the head does, and those of earlier calls
 * are still there. Returns 0: the head is complete. HTTP_HEAD_MORE: it is not. Any other status
 * refuses it: what follows on the connection cannot be understood. */
int http_head_parse(struct http_head *head, const uint8_t *bytes, size_t len) MUST_CHECK;

/* Returns a text of the head as it lies in the bytes; empty for an absent one. */
static inline struct slice http_head_text(const uint8_t *bytes, struct http_text text)
{
    return slice_of(bytes + text.at, text.len);
}

#endif
