/* One libcurl handle, set up from a call's configuration, and the text of its failure. Part of
 * http_client.c. */
#ifndef COMMON_HTTP_HTTP_TRANSFER_INTERNAL_H
#define COMMON_HTTP_HTTP_TRANSFER_INTERNAL_H

#include <stddef.h>

#include "common/base/err.h"
#include "common/http/http_client.h"

struct curl_slist;

/* CURL_ERROR_SIZE */
enum { HTTP_TRANSFER_MESSAGE_BYTES = 256 };

struct http_transfer {
    void *easy; /* a CURL */
    struct curl_slist *headers;
    struct curl_slist *connect_to;
    char *proxy; /* the configured one, without credentials; NULL: none */
    char message[HTTP_TRANSFER_MESSAGE_BYTES]; /* libcurl's own, "" = none */
};

/* Sets up the call's transfer, which must not move afterwards. The call is CURLINFO_PRIVATE, too.
 */
void http_transfer_init(struct http_transfer *transfer, const struct http_call_config *config,
                        struct http_call *call);

/* Frees the handle, once it has left its multi handle. */
void http_transfer_fini(struct http_transfer *transfer);

int http_transfer_status(const struct http_transfer *transfer); /* returns 0 without a response */

bool http_transfer_has_http2(const struct http_transfer *transfer);  /* valid once there is a
                                                                        response */
bool http_transfer_was_shared(const struct http_transfer *transfer); /* no new connection */
int http_transfer_socket(const struct http_transfer *transfer);      /* -1: none */

/* Bounds the response's Retry-After: over a day it is nonsense, and counts as none. */
enum { RETRY_AFTER_MAX_S = 24 * 3600 };
uint32_t http_transfer_retry_after_s(const struct http_transfer *transfer); /* 0: none */

/* Explains why a transfer ended with this CURLcode: err as in http_client.h's results. body_max is
 * for the message. */
void http_transfer_explain(const struct http_transfer *transfer, int curl_code, size_t body_max,
                           struct err *err);

/* ---- http_client.c ---- */

/* Called by libcurl with the call: returning fewer bytes than given ends the transfer. */
size_t http_client_on_header(char *line, size_t size, size_t count, void *call);
size_t http_client_on_body(char *bytes, size_t size, size_t count, void *call);

#endif
