/* bare_tls ADDRESS:PORT CERTIFICATE KEY: the least that answering over TLS costs with OpenSSL, with
 * the settings of skydns' sessions: TLS 1.2 or later, tickets, no buffers kept by an idle session.
 * Answers all queries of one record with one record, and looks nothing up. One thread, which does
 * the handshakes, too. A client that offers h2 is answered over HTTP/2. */
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/base/xalloc.h"
#include "tests/bench/answers/bare_h2.h"
#include "tests/bench/answers/bare_stream.h"

struct connection {
    int fd;
    SSL *ssl;           /* NULL: the listener */
    bool is_open;       /* the handshake is done */
    struct bare_h2 *h2; /* NULL: DNS's own framing */
};

static uint8_t input[BARE_READ];
static uint8_t output[BARE_WRITE];

static int select_protocol(SSL *ssl, const uint8_t **out, uint8_t *out_len, const uint8_t *in,
                           unsigned in_len, void *data)
{
    static const uint8_t ours[] = "\2h2\3dot";
    (void)ssl;
    (void)data;
    uint8_t *selected;
    int r = SSL_select_next_proto(&selected, out_len, ours, sizeof(ours) - 1, in, in_len);
    *out = selected;
    return r == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

static SSL_CTX *open_context(const char *certificate, const char *key)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (!context || !SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) ||
        SSL_CTX_use_certificate_chain_file(context, certificate) != 1 ||
        SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1) {
        ERR_print_errors_fp(stderr);
        return NULL;
    }
    (void)SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    (void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF); /* tickets alone */
    (void)SSL_CTX_set_num_tickets(context, 1);                         /* as a client uses */
    SSL_CTX_set_alpn_select_cb(context, select_protocol, NULL);
    SSL_CTX_set_read_ahead(context, 1); /* one recv for a record */
    return context;
}

static void bare_tls_watch(int epoll, int fd, SSL *ssl)
{
    struct connection *connection = xcalloc(1, sizeof(*connection));
    *connection = (struct connection){.fd = fd, .ssl = ssl};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    (void)epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static void accept_all(int epoll, int listener, SSL_CTX *context)
{
    for (int fd; (fd = bare_accept(listener)) >= 0;) {
        SSL *ssl = SSL_new(context);
        if (!ssl || !SSL_set_fd(ssl, fd)) {
            abort(); /* no memory */
        }
        SSL_set_accept_state(ssl);
        bare_tls_watch(epoll, fd, ssl);
    }
}

static void bare_tls_end(struct connection *connection)
{
    bare_h2_free(connection->h2);
    SSL_free(connection->ssl);
    (void)close(connection->fd);
    free(connection);
}

static size_t bare_tls_answer(struct connection *connection, size_t len)
{
    const uint8_t *protocol;
    unsigned protocol_len;
    if (!connection->is_open) {
        connection->is_open = true;
        SSL_get0_alpn_selected(connection->ssl, &protocol, &protocol_len);
        connection->h2 = protocol_len == 2 ? bare_h2_new() : NULL;
    }
    return connection->h2 ? bare_h2_answer(connection->h2, input, len, output, sizeof(output))
                          : bare_answer_all(input, len, output);
}

/* False: the connection is closed. The first reads do the handshake, whose flights always fit into
 * the socket's buffer. */
static bool bare_tls_serve(struct connection *connection)
{
    SSL *ssl = connection->ssl;
    do {
        ERR_clear_error();
        int n = SSL_read(ssl, input, sizeof(input));
        if (n <= 0) {
            return SSL_get_error(ssl, n) == SSL_ERROR_WANT_READ;
        }
        size_t len = bare_tls_answer(connection, (size_t)n);
        if (len > 0 && (len > sizeof(output) || SSL_write(ssl, output, (int)len) != (int)len)) {
            return false;
        }
    } while (SSL_has_pending(ssl)); /* no event tells of that */
    return true;
}

int main(int argc, char **argv)
{
    struct err err = {.code = 0, .msg = "three arguments"};
    int listener = argc == 4 ? bare_listen(argv[1], &err) : -1;
    if (listener < 0) {
        (void)fprintf(stderr, "bare_tls ADDRESS:PORT CERTIFICATE KEY: %s\n", err.msg);
        return 2;
    }
    SSL_CTX *context = open_context(argv[2], argv[3]);
    if (!context) {
        return 2;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    bare_tls_watch(epoll, listener, NULL);
    for (;;) {
        struct epoll_event events[BARE_EVENTS];
        int count = epoll_wait(epoll, events, BARE_EVENTS, -1);
        for (int i = 0; i < count; i++) {
            struct connection *connection = events[i].data.ptr;
            if (!connection->ssl) {
                accept_all(epoll, listener, context);
            } else if (!bare_tls_serve(connection)) {
                bare_tls_end(connection);
            }
        }
    }
}
