/* A server's session of TLS, by the first byte: 0: the rest are the client's first bytes; 1: they
 * follow a good handshake; 2: a good client sends the rest as data. The second byte is how many the
 * server sees at a time, less one. What a good client sends must arrive. */
#include <errno.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/tls/tls_client.h"
#include "common/tls/tls_server.h"
#include "common/tls/tls_session.h"
#include "tests/fuzz/fuzz_target.h"

enum {
    DATA_MAX = 40000, /* three records; what a socket pair takes */
    MODES = 3,
};

enum mode { MODE_RAW, MODE_RAW_AFTER_HANDSHAKE, MODE_DATA };

static struct tls_server *server;
static struct tls_client *client;

/* ---- A certificate that is its own CA ---- */

static void write_files(const char *cert, const char *key)
{
    EVP_PKEY *pair = EVP_EC_gen("P-256");
    X509 *x509 = X509_new();
    FILE *cert_file = fopen(cert, "we");
    FILE *key_file = fopen(key, "we");
    fuzz_check(pair && x509 && cert_file && key_file && X509_set_version(x509, X509_VERSION_3) &&
               X509_NAME_add_entry_by_txt(X509_get_subject_name(x509), "CN", MBSTRING_ASC,
                                          (const unsigned char *)"fuzz", -1, -1, 0) &&
               X509_set_issuer_name(x509, X509_get_subject_name(x509)) &&
               X509_gmtime_adj(X509_getm_notBefore(x509), -3600) &&
               X509_gmtime_adj(X509_getm_notAfter(x509), 86400) && X509_set_pubkey(x509, pair));
    X509_EXTENSION *names = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "DNS:localhost");
    fuzz_check(names && X509_add_ext(x509, names, -1) && X509_sign(x509, pair, EVP_sha256()) &&
               PEM_write_X509(cert_file, x509) &&
               PEM_write_PrivateKey(key_file, pair, NULL, NULL, 0, NULL, NULL));
    fuzz_check(fclose(cert_file) == 0 && fclose(key_file) == 0);
    X509_EXTENSION_free(names);
    X509_free(x509);
    EVP_PKEY_free(pair);
}

static void make_sides(void)
{
    char folder[] = "/tmp/fuzz_tls.XXXXXX";
    char cert[64], key[64];
    struct err err;
    fuzz_check(mkdtemp(folder) != NULL);
    (void)snprintf(cert, sizeof(cert), "%s/crt", folder); /* fits, as the next */
    (void)snprintf(key, sizeof(key), "%s/key", folder);
    write_files(cert, key);
    const struct tls_server_files files = {.cert = cert, .key = key};
    fuzz_check(tls_server_new(&files, &server, &err) == 0);
    fuzz_check(tls_client_new(&(struct tls_files){.ca = cert}, &client, &err) == 0);
    fuzz_check(unlink(cert) == 0 && unlink(key) == 0 && rmdir(folder) == 0);
    (void)signal(SIGPIPE, SIG_IGN); /* cannot fail */
}

/* ---- Both sides, with us as the wire between them ---- */

struct wire {
    int server_fds[2]; /* the server's end, ours */
    int client_fds[2]; /* the client's, ours */
    struct tls_session *server;
    struct tls_session *client;
    enum tls_want want; /* the server's */
    bool is_over;       /* the server's session */
    size_t piece;
    uint8_t got[DATA_MAX];
    size_t got_len;
};

static void tls_session_check(struct wire *w)
{
    struct err err;
    if (!w->is_over && w->want != TLS_WANT_NOTHING) {
        w->is_over = tls_session_handshake(w->server, &w->want, &err) != 0;
    }
    while (!w->is_over && w->want == TLS_WANT_NOTHING && w->got_len < sizeof(w->got)) {
        ssize_t n = tls_session_recv(w->server, w->got + w->got_len, sizeof(w->got) - w->got_len);
        if (n <= 0) {
            w->is_over = n == 0 || errno != EAGAIN;
            break;
        }
        w->got_len += (size_t)n;
    }
}

/* Sends to the server, in pieces. */
static void tls_session_deliver(struct wire *w, const uint8_t *bytes, size_t len)
{
    for (size_t at = 0; at < len && !w->is_over;) {
        size_t part = len - at < w->piece ? len - at : w->piece;
        ssize_t n = send(w->server_fds[1], bytes + at, part, MSG_DONTWAIT);
        at += n > 0 ? (size_t)n : 0;
        tls_session_check(w);
        if (n <= 0) {
            break; /* it is full: the server has ended, or got_len is at its end */
        }
    }
}

static void tls_session_relay(struct wire *w)
{
    uint8_t bytes[4096];
    ssize_t n;
    while ((n = recv(w->client_fds[1], bytes, sizeof(bytes), MSG_DONTWAIT)) > 0) {
        tls_session_deliver(w, bytes, (size_t)n);
    }
    while ((n = recv(w->server_fds[1], bytes, sizeof(bytes), MSG_DONTWAIT)) > 0) {
        fuzz_check(send(w->client_fds[1], bytes, (size_t)n, MSG_DONTWAIT) == n);
    }
}

static void common_tls_session_handshake(struct wire *w)
{
    enum tls_want want = TLS_WANT_READ;
    struct err err;
    w->client = tls_session_connect(client, w->client_fds[0], "localhost", "dot", NULL);
    for (unsigned i = 0; i < 4 && (want != TLS_WANT_NOTHING || w->want != TLS_WANT_NOTHING); i++) {
        fuzz_check(tls_session_handshake(w->client, &want, &err) == 0);
        tls_session_relay(w);
    }
    fuzz_check(want == TLS_WANT_NOTHING && w->want == TLS_WANT_NOTHING && !w->is_over);
}

static void send_data(struct wire *w, const uint8_t *data, size_t size)
{
    for (size_t sent = 0; sent < size;) {
        ssize_t n = tls_session_send(w->client, data + sent, size - sent);
        fuzz_check(n > 0 || errno == EAGAIN);
        sent += n > 0 ? (size_t)n : 0;
        tls_session_relay(w);
    }
    fuzz_check(!w->is_over && w->got_len == size && memcmp(w->got, data, size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct wire w;
    if (!server) {
        make_sides();
    }
    if (size < 2 || size - 2 > DATA_MAX) {
        return 0;
    }
    enum mode mode = data[0] % MODES;
    w = (struct wire){.want = TLS_WANT_READ, .piece = (size_t)data[1] + 1};
    int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
    fuzz_check(socketpair(AF_UNIX, type, 0, w.server_fds) == 0 &&
               socketpair(AF_UNIX, type, 0, w.client_fds) == 0);
    struct ssl_ctx_st *context = tls_server_hold(server);
    w.server = tls_session_accept(context, w.server_fds[0], "dot");
    tls_server_release(context);
    if (mode != MODE_RAW) {
        common_tls_session_handshake(&w);
    }
    if (mode == MODE_DATA) {
        send_data(&w, data + 2, size - 2);
    } else {
        tls_session_deliver(&w, data + 2, size - 2);
        fuzz_check(w.got_len == 0); /* data cannot be forged */
    }
    tls_session_free(w.client);
    tls_session_free(w.server);
    for (int i = 0; i < 2; i++) {
        fuzz_check(close(w.server_fds[i]) == 0 && close(w.client_fds[i]) == 0);
    }
    return 0;
}
