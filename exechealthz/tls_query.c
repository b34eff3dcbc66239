#include "exechealthz/tls_query.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/sockets.h"
#include "common/base/xalloc.h"
#include "common/dns/dname.h"
#include "common/http/http_response.h"
#include "common/tls/tls_session.h"
#include "exechealthz/dns_message.h"

enum {
    LENGTH_SIZE = 2,      /* before each message over TLS (RFC 7858 3.3) */
    MESSAGE_MAX = 65535,  /* what two bytes can say */
    RECEIVE_SIZE = 16384, /* a TLS record (RFC 8446 5.1) */
    /* Fits path, name, address and DNS query, each at its longest, and 200 bytes of header
     * names. */
    REQUEST_MAX = DNS_PATH_MAX + DNS_TLS_NAME_MAX + ADDR_TEXT_MAX + DNS_QUERY_MAX + 256,
};

enum step { CONNECT, HANDSHAKE, ASK, AWAIT };

struct tls_query {
    struct tls_query_config config;
    enum step step;
    ev_io ready;
    struct tls_session *session; /* NULL while it connects */
    struct buf request;          /* what is left of it */
    struct buf message;          /* over TLS: the length and the response, as far as they have
                                    arrived */
    struct http_response http;   /* over HTTPS */
};

static bool is_https(const struct tls_query *query)
{
    return query->config.target->protocol == DNS_OVER_HTTPS;
}

/* ---- The end ---- */

const char *tls_query_doing(const struct tls_query *query)
{
    static const char *const texts[] = {
        [CONNECT] = "connect to",
        [HANDSHAKE] = "handshake with",
        [ASK] = "ask",
        [AWAIT] = "no response from",
    };
    return texts[query->step];
}

/* Ends the query with an error, the last act of every caller: the query may be freed. */
static void fail_as(struct tls_query *query, const char *doing, int code, const char *reason)
{
    char server[DNS_SERVER_TEXT_MAX];
    struct err err;
    (void)err_set(&err, code, "%s %s: %s", doing, dns_target_server(query->config.target, server),
                  reason);
    ev_io_stop(query->config.loop, &query->ready);
    query->config.on_end(query->config.data, slice_of(NULL, 0), &err);
}

static void tls_query_fail(struct tls_query *query, int code, const char *reason)
{
    fail_as(query, tls_query_doing(query), code, reason);
}

static void fail_session(struct tls_query *query, int code)
{
    const struct err *why = tls_session_failure(query->session);
    tls_query_fail(query, why ? why->code : code, why ? why->msg : err_code_text(code));
}

static void tls_query_succeed(struct tls_query *query, struct slice reply)
{
    ev_io_stop(query->config.loop, &query->ready);
    query->config.on_end(query->config.data, reply, NULL);
}

/* ---- Its steps ---- */

static void tls_query_wait_for(struct tls_query *query, int events)
{
    ev_io_stop(query->config.loop, &query->ready);
    ev_io_modify(&query->ready, events);
    ev_io_start(query->config.loop, &query->ready);
}

/* Returns 0 once the response is complete; ERR_UNAVAILABLE until then. */
static int add_message(struct tls_query *query, struct slice bytes)
{
    struct buf *message = &query->message;
    buf_append_slice(message, bytes);
    if (message->len < LENGTH_SIZE) {
        return ERR_UNAVAILABLE;
    }
    size_t len = (size_t)message->data[0] << 8 | message->data[1];
    return message->len - LENGTH_SIZE < len ? ERR_UNAVAILABLE : 0;
}

static struct slice message_of(const struct tls_query *query)
{
    const uint8_t *bytes = query->message.data;
    return slice_of(bytes + LENGTH_SIZE, (size_t)bytes[0] << 8 | bytes[1]);
}

/* Checks the head as soon as it is known: the rest need not come. */
static int tls_query_check_response(const struct http_response *http, struct err *err)
{
    if (http->status != 0 && http->status != 200) {
        return err_set(err, ERR_REFUSED, "HTTP status %s", http->reason);
    }
    if (http->has_type && !http_response_is_type(http, DOH_MEDIA_TYPE)) {
        return err_set(err, ERR_REFUSED, "content type `%s`, expected " DOH_MEDIA_TYPE, http->type);
    }
    if (!http->has_type && http->part >= HTTP_RESPONSE_BODY) {
        return err_set(err, ERR_REFUSED, "no content type, expected " DOH_MEDIA_TYPE);
    }
    return 0;
}

/* Adds what was received; len 0: the server's end. Returns true when that was the query's end. */
static bool tls_query_take_reply(struct tls_query *query, const uint8_t *bytes, size_t len)
{
    struct err err;
    if (!is_https(query)) {
        if (len == 0) {
            tls_query_fail(query, ERR_UNAVAILABLE, "the server closed the connection");
            return true;
        }
        if (add_message(query, slice_of(bytes, len)) == 0) {
            tls_query_succeed(query, message_of(query));
            return true;
        }
        return false;
    }
    int r = len > 0 ? http_response_add(&query->http, slice_of(bytes, len), &err)
                    : http_response_end(&query->http, &err);
    struct err refusal;
    int refused = tls_query_check_response(&query->http, &refusal);
    if (refused < 0) {
        fail_as(query, "response of", refused, refusal.msg);
        return true;
    }
    if (r < 0) {
        fail_as(query, "response of", r, err.msg);
        return true;
    }
    if (query->http.part == HTTP_RESPONSE_DONE) {
        tls_query_succeed(query, buf_slice(&query->http.body));
        return true;
    }
    return false;
}

static void await_reply(struct tls_query *query)
{
    uint8_t bytes[RECEIVE_SIZE];
    for (;;) {
        ssize_t n = tls_session_recv(query->session, bytes, sizeof(bytes));
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            tls_query_wait_for(query, EV_READ);
            return;
        }
        if (n < 0) {
            fail_session(query, -errno);
            return;
        }
        if (tls_query_take_reply(query, bytes, (size_t)n)) {
            return;
        }
    }
}

static void tls_query_ask(struct tls_query *query)
{
    while (query->request.len > 0) {
        ssize_t n = tls_session_send(query->session, query->request.data, query->request.len);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            tls_query_wait_for(query, EV_WRITE);
            return;
        }
        if (n < 0) {
            fail_session(query, -errno);
            return;
        }
        buf_consume(&query->request, (size_t)n);
    }
    query->step = AWAIT;
    await_reply(query);
}

static void tls_query_handshake(struct tls_query *query)
{
    enum tls_want want;
    struct err err;
    int r = tls_session_handshake(query->session, &want, &err);
    if (r < 0) {
        tls_query_fail(query, r, err.msg);
    } else if (want != TLS_WANT_NOTHING) {
        tls_query_wait_for(query, want == TLS_WANT_READ ? EV_READ : EV_WRITE);
    } else {
        query->step = ASK;
        tls_query_ask(query);
    }
}

static void tls_query_connected(struct tls_query *query)
{
    const struct dns_target *target = query->config.target;
    int error = 0;
    socklen_t len = sizeof(error);
    if (getsockopt(query->ready.fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0) {
        error = errno;
    }
    if (error != 0) {
        tls_query_fail(query, -error, err_code_text(-error));
        return;
    }
    query->session = tls_session_connect(query->config.tls, query->ready.fd,
                                         target->tls_name[0] ? target->tls_name : NULL,
                                         is_https(query) ? "http/1.1" : "dot", NULL);
    query->step = HANDSHAKE;
    tls_query_handshake(query);
}

static void tls_query_on_ready(struct ev_loop *loop UNUSED, ev_io *w, int events UNUSED)
{
    static void (*const steps[])(struct tls_query *) = {
        [CONNECT] = tls_query_connected,
        [HANDSHAKE] = tls_query_handshake,
        [ASK] = tls_query_ask,
        [AWAIT] = await_reply,
    };
    struct tls_query *query = w->data;
    steps[query->step](query);
}

/* ---- Lifetime ---- */

static void write_request(struct tls_query *query, struct slice message)
{
    if (is_https(query)) {
        doh_request_write(query->config.target, message, &query->request);
    } else {
        buf_append_u16(&query->request, (uint16_t)message.len);
        buf_append_slice(&query->request, message);
    }
}

int tls_query_start(const struct tls_query_config *config, struct tls_query **ret, struct err *err)
{
    int fd = sockets_connect(&config->target->server, SOCK_STREAM);
    if (fd < 0) {
        char server[DNS_SERVER_TEXT_MAX];
        return err_set(err, fd, "connect to %s: %s", dns_target_server(config->target, server),
                       err_code_text(fd));
    }
    struct tls_query *query = xcalloc(1, sizeof(*query));
    query->config = *config;
    buf_init(&query->request, REQUEST_MAX);
    buf_init(&query->message, LENGTH_SIZE + MESSAGE_MAX + RECEIVE_SIZE); /* and what follows it */
    http_response_init(&query->http, MESSAGE_MAX);
    write_request(query, config->message);
    query->config.message = slice_of(NULL, 0); /* the caller's */
    ev_io_init(&query->ready, tls_query_on_ready, fd, EV_WRITE);
    query->ready.data = query;
    ev_io_start(config->loop, &query->ready);
    *ret = query;
    return 0;
}

void tls_query_free(struct tls_query *query)
{
    if (query) {
        ev_io_stop(query->config.loop, &query->ready);
        tls_session_free(query->session);
        (void)close(query->ready.fd); /* its content does not matter */
        buf_fini(&query->request);
        buf_fini(&query->message);
        http_response_fini(&query->http);
        free(query);
    }
}
