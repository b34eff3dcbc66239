/* Reads what a request asks (RFC 8484 4.1), the same for both versions of HTTP: from method, target
 * and content type to the bytes of a query, or the status that refuses it. Pure. */
#ifndef SKYDNS_DOH_DOH_REQUEST_INTERNAL_H
#define SKYDNS_DOH_DOH_REQUEST_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/slice.h"
#include "common/http/http_head.h"

enum {
    DOH_QUERY_MAX = 65535, /* a DNS message: a longer body is 413 */
    /* Room for a query in a target: a head of that size is refused. */
    DOH_TARGET_QUERY_MAX = HTTP_HEAD_MAX / 4 * 3
};

struct doh_request {
    struct slice method, target, content_type;
};

struct doh_route {
    bool is_in_body;   /* POST */
    bool is_head;      /* the reply has no body, whatever its status */
    struct slice text; /* not POST: the query in base64url; borrowed from the target */
};

/* Returns 0, or the status: 404 (path), 405 (method), 415 (type), 400 (no query in the target). */
unsigned doh_request_route(const struct doh_request *request,
                           struct doh_route *ret_route) MUST_CHECK;

/* Decodes the bytes of a query in a target; understands %-escapes. Returns 0 or 400. */
unsigned doh_request_decode(struct slice text, uint8_t out[DOH_TARGET_QUERY_MAX],
                            size_t *ret_len) MUST_CHECK;

/* Returns 0; 400: it is no query (question_is_there); 413: it is too long for one. */
unsigned doh_request_check(struct slice query) MUST_CHECK;

#endif
