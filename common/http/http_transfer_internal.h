/* One libcurl handle set up as a call's configuration says, and why it failed, in words. The inside
 * of http_client.c, which runs it. */
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
    char *proxy; /* the one that was named, without its credentials; NULL: none was */
    char message[HTTP_TRANSFER_MESSAGE_BYTES]; /* libcurl's own, "" = none */
};

/* The callbacks as libcurl calls them: fewer bytes returned than given end the transfer. */
struct http_transfer_callbacks {
    size_t (*on_header)(char *line, size_t size, size_t count, void *data);
    size_t (*on_body)(char *bytes, size_t size, size_t count, void *data);
    void *data; /* also what CURLINFO_PRIVATE gives back */
};

/* It must stay where it is. */
void http_transfer_init(struct http_transfer *transfer, const struct http_call_config *config,
                        const struct http_transfer_callbacks *callbacks);

/* The handle is in no multi handle any more. */
void http_transfer_fini(struct http_transfer *transfer);

int http_transfer_status(const struct http_transfer *transfer); /* 0: no answer yet */

/* Of one that ended with this CURLcode; as http_client.h says of results. body_max is for the
 * message. */
void http_transfer_explain(const struct http_transfer *transfer, int curl_code, size_t body_max,
                           struct err *err);

#endif
