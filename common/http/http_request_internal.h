/* Parses the head of an HTTP request, request line and header fields (RFC 9112), from a peer's
 * bytes. Pure; http_connection.c calls it on what has arrived so far.
 *
 * Strict where leniency would let two parsers of one stream disagree: space before a colon, folded
 * lines, contradictory lengths. Lines may end with a bare LF, for people with nc. */
#ifndef COMMON_HTTP_HTTP_REQUEST_INTERNAL_H
#define COMMON_HTTP_HTTP_REQUEST_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/slice.h"

enum {
    HTTP_HEAD_MAX = 16 * 1024, /* browsers send up to half of it */
    HTTP_ARGUMENTS_MAX = 16,   /* further ones are ignored; our pages use three */
};

/* Strings point into the bytes that were parsed, decoded there. */
struct http_head {
    const char *method; /* verbatim: "GET", "BREW" */
    const char *path;   /* without the query */
    size_t argument_count;
    struct http_argument {
        const char *name;
        const char *value; /* "" without one */
    } arguments[HTTP_ARGUMENTS_MAX];
    struct slice host; /* the Host field; empty: none, or it is empty */
    uint64_t body_len;
    bool is_1_0;
    bool wants_close;    /* no request follows the reply */
    bool wants_continue; /* the client waits for `100 Continue` before sending the body */
};

/* Length of the head, including its empty line; 0: incomplete. */
size_t http_head_length(const uint8_t *bytes, size_t len);

/* Parses exactly one head. Returns 0, or the status to reject it with: 400, 411 (a chunked body),
 * 417, 505. Modifies the bytes, which ret_head borrows. */
int http_head_parse(uint8_t *bytes, size_t len, struct http_head *ret_head) MUST_CHECK;

/* The value of the first argument with this name; NULL: absent. */
const char *http_head_argument(const struct http_head *head, const char *name);

#endif
