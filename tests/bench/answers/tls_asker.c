#include "tests/bench/answers/tls_asker.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/cursor.h"
#include "tests/bench/answers/doh_asker.h"
#include "tests/bench/answers/load.h"

enum {
    OUTPUT = 1 << 15, /* TLS_ASKED_MAX queries with one name each, as requests of HTTP/2 */
    READ = 1 << 14,   /* a record */
};

/* The server's ticket: kept for the next connection, which makes no copy. */
static int on_session(SSL *ssl, SSL_SESSION *session)
{
    struct tls_asker *asker = SSL_get_app_data(ssl);
    SSL_SESSION_free(asker->session);
    asker->session = session;
    return 1;
}

void tls_askers_init(struct tls_askers *askers)
{
    askers->context = SSL_CTX_new(TLS_client_method());
    if (!askers->context) {
        abort(); /* no memory */
    }
    (void)SSL_CTX_set_mode(askers->context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_verify(askers->context, SSL_VERIFY_NONE, NULL);
    if (askers->has_resumption) {
        (void)SSL_CTX_set_session_cache_mode(askers->context,
                                             SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
        SSL_CTX_sess_set_new_cb(askers->context, on_session);
    }
    static const uint8_t dot[] = "\3dot", h2[] = "\2h2";
    if (SSL_CTX_set_alpn_protos(askers->context, askers->is_doh ? h2 : dot,
                                askers->is_doh ? sizeof(h2) - 1 : sizeof(dot) - 1) != 0) {
        abort();
    }
}

void tls_askers_fini(struct tls_askers *askers)
{
    SSL_CTX_free(askers->context);
}

/* ---- Opening and closing ---- */

static void tls_asker_watch(struct tls_asker *asker, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = asker};
    if (asker->events != events) {
        (void)epoll_ctl(asker->all->epoll, asker->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, asker->fd,
                        &event);
        asker->events = events;
    }
}

void tls_asker_open(struct tls_asker *asker, struct tls_askers *all)
{
    struct ssl_session_st *session = asker->session;
    *asker = (struct tls_asker){.all = all, .session = session};
    asker->fd = load_connect(&all->server);
    asker->ssl = SSL_new(all->context);
    if (!asker->ssl || !SSL_set_fd(asker->ssl, asker->fd) || !SSL_set_app_data(asker->ssl, asker) ||
        (session && !SSL_set_session(asker->ssl, session))) {
        abort(); /* no memory */
    }
    SSL_set_connect_state(asker->ssl);
    tls_asker_watch(asker, EPOLLOUT);
}

void tls_asker_close(struct tls_asker *asker)
{
    if (asker->fd >= 0) {
        doh_asker_free(asker->doh);
        /* Else OpenSSL takes the session of a connection that was not shut down for a bad one. */
        SSL_set_quiet_shutdown(asker->ssl, 1);
        (void)SSL_shutdown(asker->ssl);
        SSL_free(asker->ssl);
        (void)close(asker->fd);
        asker->fd = -1;
        asker->doh = NULL;
        asker->ssl = NULL;
    }
}

void tls_asker_fini(struct tls_asker *asker)
{
    tls_asker_close(asker);
    SSL_SESSION_free(asker->session);
    asker->session = NULL;
}

static bool is_connected(struct tls_asker *asker)
{
    int error = 0;
    socklen_t len = sizeof(error);
    asker->is_connected =
        asker->is_connected ||
        (getsockopt(asker->fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error == 0);
    return asker->is_connected;
}

/* 0: is_open, or goes on later. */
static int64_t tls_asker_shake_hands(struct tls_asker *asker)
{
    if (!is_connected(asker)) {
        return -1;
    }
    ERR_clear_error();
    int r = SSL_do_handshake(asker->ssl);
    int error = SSL_get_error(asker->ssl, r);
    if (r != 1 && error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
        return -1;
    }
    tls_asker_watch(asker, r != 1 && error == SSL_ERROR_WANT_WRITE ? EPOLLOUT : EPOLLIN);
    if (r == 1) {
        asker->is_open = true;
        asker->is_resumed = SSL_session_reused(asker->ssl);
        asker->doh = asker->all->is_doh ? doh_asker_new(asker->all->meter) : NULL;
    }
    return 0;
}

/* ---- Questions and answers ---- */

bool tls_asker_ask(struct tls_asker *asker, int64_t count)
{
    static uint8_t output[OUTPUT];
    struct tls_askers *all = asker->all;
    size_t size;
    if (asker->doh) {
        for (int64_t i = 0; i < count; i++) {
            doh_asker_ask(asker->doh, queries_take(all->queries, 0));
        }
        size = doh_asker_put(asker->doh, output, sizeof(output));
    } else {
        struct writer w = writer_of(output, sizeof(output));
        for (int64_t i = 0; i < count; i++) {
            const struct query *query = queries_take(all->queries, (uint16_t)(asker->asked + i));
            writer_bytes(&w, query->frame, QUERY_FRAME + query->len);
        }
        size = w.failed ? 0 : w.pos;
    }
    asker->asked += count;
    all->meter->sent += (uint64_t)count;
    return size == 0 ? asker->doh != NULL : SSL_write(asker->ssl, output, (int)size) == (int)size;
}

/* Complete messages in DNS's framing. */
static int64_t take_frames(struct tls_asker *asker, const uint8_t *bytes, size_t len)
{
    if (len > sizeof(asker->input) - asker->have) {
        return -1;
    }
    memcpy(asker->input + asker->have, bytes, len);
    asker->have += len;
    return meter_frames(asker->all->meter, asker->input, &asker->have);
}

int64_t tls_asker_turn(struct tls_asker *asker)
{
    static uint8_t bytes[READ];
    if (!asker->is_open) {
        return tls_asker_shake_hands(asker);
    }
    size_t size = asker->doh ? sizeof(bytes) : sizeof(asker->input);
    int64_t count = 0;
    do {
        ERR_clear_error();
        int n = SSL_read(asker->ssl, bytes, (int)(size - asker->have));
        if (n <= 0) {
            return SSL_get_error(asker->ssl, n) == SSL_ERROR_WANT_READ ? count : -1;
        }
        int64_t taken = asker->doh ? doh_asker_take(asker->doh, bytes, (size_t)n)
                                   : take_frames(asker, bytes, (size_t)n);
        if (taken < 0) {
            return -1;
        }
        count += taken;
    } while (SSL_pending(asker->ssl) > 0); /* no event tells of that */
    asker->answered += count;
    return count;
}
