/* Parses a request for a page: path and arguments out of the target of its head (http_head.h).
 *
 * Pure; http_connection.c calls it. */
#ifndef COMMON_HTTP_HTTP_REQUEST_INTERNAL_H
#define COMMON_HTTP_HTTP_REQUEST_INTERNAL_H

#include "common/base/attributes.h"
#include "common/http/http_head.h"
#include "common/http/http_server.h"

/* Returns 0, or the status that refuses the request: 400 (the target), 411 (a chunked body). The
 * strings are in the head's bytes, decoded and terminated in the place of its texts. */
int http_request_parse(uint8_t *bytes, const struct http_head *head,
                       struct http_request *ret_request) MUST_CHECK;

#endif
