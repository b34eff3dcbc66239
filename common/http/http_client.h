/* HTTP requests on a libev loop, for the Kubernetes API: libcurl's multi interface on watchers of
 * ours.
 *
 * It does GETs with a bounded body, endless streams (kube2sky/api/kube_client.h), and small writes.
 * Runs on the loop's thread only and never blocks (libcurl resolves names in a thread of its own).
 * Redirects are not followed.
 *
 * A running call owns its connection; the next call to the same server with the same TLS settings
 * reuses it. With HTTP/2 a small call can share the connection of one that runs, which shows
 * whether the server still answers there. Use a client for each such connection, since libcurl
 * chooses among a client's. TCP keepalive detects a dead peer within 30 s, silence_ms a live one
 * that sends nothing.
 *
 * Proxies: unless the call names one, https_proxy, http_proxy and no_proxy of the environment
 * count; loopback addresses are reached directly. A proxy reached over TLS is verified like the
 * server, with the same CAs; it sees neither the certificate nor the credentials of the call. */
#ifndef COMMON_HTTP_HTTP_CLIENT_H
#define COMMON_HTTP_HTTP_CLIENT_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/slice.h"

struct http_client;
struct http_call;

struct http_client *http_client_new(struct ev_loop *loop);

/* Ends calls in flight without their callbacks. May be called inside a call's callbacks. NULL is
 * fine. */
void http_client_free(struct http_client *client);

/* Holds PEM texts; empty slices and NULL mean "not given". */
struct http_tls {
    struct slice ca;   /* CAs to trust instead of the system's */
    struct slice cert; /* our certificate chain and its key */
    struct slice key;
    const char *server_name; /* for SNI and verification, instead of the URL's host */
    bool is_unverified;      /* accept any certificate */
};

struct http_result {
    int status;        /* 200, ...; 0: no response */
    bool was_shared;   /* it came over a connection that the client already had */
    struct slice body; /* unless streamed; borrowed until on_end returns */
    uint32_t
        retry_after_s; /* the response's Retry-After, a number or a date; 0: none, or over a day */
    struct err err;    /* code 0: a complete response, whatever its status */
};

struct http_call_config {
    const char *url;    /* all strings and slices are copied */
    const char *method; /* "POST", "PATCH", with body and its content_type; NULL = GET */
    struct slice body;
    const char *content_type;
    const char *accept;         /* NULL = anything */
    const char *user_agent;     /* NULL = none */
    const char *bearer_token;   /* NULL = none */
    const char *username;       /* NULL = none; HTTP Basic */
    const char *password;       /* with username */
    const char *proxy_url;      /* from http_url_proxy; NULL = the environment's */
    const struct http_tls *tls; /* NULL = the system's CAs */
    bool wants_http2;           /* if the server offers it, over TLS; else HTTP/1.1 */

    /* Ends the call with ERR_TIMEOUT after this long without a byte, before or within the response.
     * 0 = waits forever. */
    uint32_t silence_ms;

    /* Ends a call whose body is longer with ERR_TOO_LARGE; with an error status, the body is cut to
     * HTTP_ERROR_BODY_MAX instead. */
    size_t body_max;

    /* Set for streams, else NULL. on_open: the response has begun, with status 200. on_data: bytes
     * of its body as they arrive; nothing is stored, and body_max does not apply. */
    void (*on_open)(void *data);
    void (*on_data)(void *data, struct slice bytes);

    /* Runs once, last, from the loop, never from inside http_call_start. */
    void (*on_end)(void *data, const struct http_result *result);
    void *data;
};

/* Suffices for an error page: a Kubernetes Status with its message and causes is below 10 KiB. */
enum { HTTP_ERROR_BODY_MAX = 64 * 1024 };

/* Starts a call. Errors in the result: ERR_UNAVAILABLE (no connection, connection lost),
 * ERR_TIMEOUT, ERR_REFUSED (TLS: either side's certificate was rejected; an operator must act),
 * ERR_TOO_LARGE, ERR_PROTOCOL. Their messages leave out the URL, which the caller knows. */
struct http_call *http_call_start(struct http_client *client,
                                  const struct http_call_config *config);

/* Ends the call; no callback follows. May be called inside any of them but on_end. */
void http_call_cancel(struct http_call *call);

/* Returns the response's Content-Type, "application/json; charset=utf-8"; "" without one. Borrowed;
 * inside on_open, on_data and on_end. */
const char *http_call_content_type(const struct http_call *call);

/* Returns whether the next call that wants HTTP/2 shares the connection of this one. From on_open
 * to on_end. */
bool http_call_has_http2(const struct http_call *call);

#endif
