/* HTTP/1.1 requests on a libev loop: libcurl's multi interface, its sockets and timer fed by
 * watchers of ours. For the Kubernetes API (kube2sky/api/kube_client.h): GETs with a bounded body,
 * and streams without an end. Runs on the loop's thread only; nothing blocks (names are looked up
 * in a thread of libcurl's). Redirects are not followed.
 *
 * A call has its connection to itself while it runs, and leaves it to the next call to the same
 * place with the same TLS settings. TCP keepalive notices a dead peer within 30 s, silence_ms one
 * that is alive and says nothing.
 *
 * Proxies: https_proxy, http_proxy and no_proxy of the environment, none for loopback addresses,
 * unless the call names one. One that is reached over TLS is verified as the server is, with the
 * same authorities; it is shown neither the certificate nor the credentials of the call. */
#ifndef COMMON_HTTP_HTTP_CLIENT_H
#define COMMON_HTTP_HTTP_CLIENT_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"

struct http_client;
struct http_call;

struct http_client *http_client_new(struct ev_loop *loop);

/* Calls in flight end without their callbacks. Not from inside a callback. NULL is fine. */
void http_client_free(struct http_client *client);

/* PEM texts; empty slices and NULL mean "not given". */
struct http_tls {
    struct slice ca;   /* whom to trust instead of the system's authorities */
    struct slice cert; /* our certificate chain and its key */
    struct slice key;
    const char *server_name; /* to ask for and to verify, instead of the URL's host */
    bool is_unverified;      /* any certificate will do */
};

struct http_result {
    int status;        /* 200, ...; 0 when there was no answer */
    struct slice body; /* of an answer that was not streamed; borrowed until on_end returns */
    struct err err;    /* code 0: an answer came, whole, whatever its status */
};

struct http_call_config {
    const char *url;            /* all strings and slices are copied */
    const char *accept;         /* NULL = anything */
    const char *user_agent;     /* NULL = none */
    const char *bearer_token;   /* NULL = none */
    const char *username;       /* NULL = none; HTTP Basic */
    const char *password;       /* with username */
    const char *proxy_url;      /* of http_url_proxy; NULL = the environment's */
    const struct http_tls *tls; /* NULL = the system's authorities */

    /* Without a byte for this long, before the answer or in it, the call ends with ERR_TIMEOUT.
     * 0 = waits for ever. */
    uint32_t silence_ms;

    /* A longer body ends the call with ERR_TOO_LARGE; that of an error status is cut to
     * HTTP_ERROR_BODY_MAX instead. */
    size_t body_max;

    /* For streams, else NULL. on_open: the answer begins and its status is 200. on_data: bytes of
     * its body as they come; nothing is kept, body_max does not apply. */
    void (*on_open)(void *data);
    void (*on_data)(void *data, struct slice bytes);

    /* Once, last, from the loop, never from inside http_call_start. */
    void (*on_end)(void *data, const struct http_result *result);
    void *data;
};

/* What an error page may say: a Kubernetes Status with its message and causes is below 10 KiB. */
enum { HTTP_ERROR_BODY_MAX = 64 * 1024 };

/* Errors in the result: ERR_UNAVAILABLE (no connection, connection lost), ERR_TIMEOUT, ERR_REFUSED
 * (TLS: the certificate of either side is not accepted; needs a change), ERR_TOO_LARGE,
 * ERR_PROTOCOL. Their messages say what happened, not where: the caller knows the URL. */
struct http_call *http_call_start(struct http_client *client,
                                  const struct http_call_config *config);

/* No callback after it; may be called inside any of them but on_end. */
void http_call_cancel(struct http_call *call);

/* What the answer says its body is, "application/json; charset=utf-8"; "" when it does not.
 * Borrowed; inside on_open, on_data and on_end. */
const char *http_call_content_type(const struct http_call *call);

#endif
