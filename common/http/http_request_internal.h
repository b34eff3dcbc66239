/* The head of a request as an HTTP server gets it: request line and header fields (RFC 9112), read
 * from a peer's bytes. Pure; http_connection.c calls it on what has arrived so far.
 *
 * Strict where leniency lets two readers of one stream disagree: space before a colon, folded
 * lines, lengths that contradict each other. Lines may end with LF alone, for people with nc. */
#ifndef COMMON_HTTP_HTTP_REQUEST_INTERNAL_H
#define COMMON_HTTP_HTTP_REQUEST_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"

enum {
    HTTP_HEAD_MAX = 16 * 1024, /* browsers send up to half of that */
    HTTP_ARGUMENTS_MAX = 16,   /* further ones are not seen; our pages know three */
};

/* Strings point into the bytes that were parsed, decoded there. */
struct http_head {
    const char *method; /* as it came: "GET", "BREW" */
    const char *path;   /* without the query */
    size_t argument_count;
    struct http_argument {
        const char *name;
        const char *value; /* "" when there is none */
    } arguments[HTTP_ARGUMENTS_MAX];
    uint64_t body_len;
    bool is_1_0;
    bool wants_close;    /* no further request will follow the reply */
    bool wants_continue; /* the client waits for `100 Continue` before it sends the body */
};

/* How many of the bytes are the head, up to its empty line; 0: that has not come yet. */
size_t http_head_length(const uint8_t *bytes, size_t len);

/* Parses exactly a head. Returns 0, or the status to refuse it with: 400, 411 (a body in chunks),
 * 417, 505. The bytes are changed, and borrowed as long as ret_head is used. */
int http_head_parse(uint8_t *bytes, size_t len, struct http_head *ret_head) MUST_CHECK;

/* The value of the first argument of this name; NULL: there is none. */
const char *http_head_argument(const struct http_head *head, const char *name);

#endif
