#include "common/tls/tls_stream.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/addr.h"
#include "common/base/cleanup.h"
#include "common/base/xalloc.h"
#include "common/tls/tls_explain_internal.h"

struct tls_stream {
    SSL *ssl;
    const struct tls_client *client;
    char *server_name;
    bool has_read;      /* the server accepted us: later alerts are not about our certificate */
    struct err refused; /* by verification; code 0 = none */
    struct err end;     /* the stream is dead; code 0 = not yet */
};

/* ---- Lifecycle ---- */

/* Keeps verification's first error. */
static int on_verify(int is_good, X509_STORE_CTX *verification)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(verification, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct tls_stream *stream = SSL_get_app_data(ssl);
    if (!is_good && !stream->refused.code) {
        tls_explain_certificate(verification, stream->server_name,
                                tls_client_ca_file(stream->client), &stream->refused);
    }
    return is_good;
}

static void expect_name(struct tls_stream *stream)
{
    X509_VERIFY_PARAM *expected = SSL_get0_param(stream->ssl);
    struct ip ip;
    int ok;
    if (ip_parse(slice_str(stream->server_name), &ip)) {
        ok = X509_VERIFY_PARAM_set1_ip(expected, ip.bytes, ip.family_bytes);
    } else {
        X509_VERIFY_PARAM_set_hostflags(expected, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                                                      X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
        ok = X509_VERIFY_PARAM_set1_host(expected, stream->server_name, 0) &&
             SSL_set_tlsext_host_name(stream->ssl, stream->server_name);
    }
    if (!ok) {
        xalloc_out_of_memory(); /* the only failure with a name of at most 255 bytes */
    }
}

struct tls_stream *tls_stream_new(const struct tls_client *client, int fd, const char *server_name)
{
    struct tls_stream *stream = xcalloc(1, sizeof(*stream));
    size_t len = strlen(server_name);
    bool has_dot = len > 1 && server_name[len - 1] == '.'; /* not part of certificates */
    stream->client = client;
    stream->server_name = xstrndup(server_name, has_dot ? len - 1 : len);
    stream->ssl = SSL_new(tls_client_context(client));
    if (!stream->ssl || SSL_set_fd(stream->ssl, fd) != 1) {
        xalloc_out_of_memory();
    }
    SSL_set_app_data(stream->ssl, stream);
    SSL_set_verify(stream->ssl, SSL_VERIFY_PEER, on_verify);
    SSL_set_connect_state(stream->ssl);
    expect_name(stream);
    return stream;
}

void tls_stream_free(struct tls_stream *stream)
{
    if (!stream) {
        return;
    }
    if (!stream->end.code && SSL_is_init_finished(stream->ssl)) {
        ERR_clear_error();
        (void)SSL_shutdown(stream->ssl); /* close_notify, if the socket accepts it at once */
    }
    SSL_free(stream->ssl);
    ERR_clear_error();
    free(stream->server_name);
    free(stream);
}

/* ---- Steps ---- */

/* After an unfinished OpenSSL call: what it waits for, or the error. */
static enum tls_wait take_outcome(struct tls_stream *stream, int rc)
{
    int error = errno;
    switch (SSL_get_error(stream->ssl, rc)) {
    case SSL_ERROR_WANT_READ:
        return TLS_READABLE;
    case SSL_ERROR_WANT_WRITE:
        return TLS_WRITABLE;
    case SSL_ERROR_ZERO_RETURN:
        tls_explain_loss(stream->ssl, 0, &stream->end);
        break;
    case SSL_ERROR_SYSCALL:
        tls_explain_loss(stream->ssl, error, &stream->end);
        break;
    default:
        if (stream->refused.code) {
            stream->end = stream->refused;
        } else {
            tls_explain_failure(stream->ssl, stream->client, &stream->end);
        }
        if (stream->has_read) {
            stream->end.code = ERR_UNAVAILABLE;
        }
    }
    ERR_clear_error();
    return TLS_NOTHING;
}

static int ended(const struct tls_stream *stream, struct err *err)
{
    return err_set(err, stream->end.code, "%s", stream->end.msg);
}

static bool is_h2(const SSL *ssl)
{
    const unsigned char *protocol;
    unsigned len;
    SSL_get0_alpn_selected(ssl, &protocol, &len);
    return slice_equal(slice_of(protocol, len), slice_str("h2"));
}

int tls_stream_handshake(struct tls_stream *stream, enum tls_wait *ret_wait, struct err *err)
{
    *ret_wait = TLS_NOTHING;
    if (!stream->end.code) {
        ERR_clear_error();
        int rc = SSL_do_handshake(stream->ssl);
        if (rc != 1) {
            *ret_wait = take_outcome(stream, rc);
        } else if (!is_h2(stream->ssl)) {
            err_set(&stream->end, ERR_REFUSED, "TLS: the server does not speak HTTP/2 (ALPN h2)");
        }
    }
    return stream->end.code ? ended(stream, err) : 0;
}

ssize_t tls_stream_read(struct tls_stream *stream, void *out, size_t size, struct err *err)
{
    size_t used = 0;
    /* One SSL_read returns one record. A rest left inside OpenSSL would never wake poll(). */
    while (size - used >= TLS_RECORD_MAX && !stream->end.code) {
        size_t n = 0;
        ERR_clear_error();
        int rc = SSL_read_ex(stream->ssl, (char *)out + used, size - used, &n);
        if (rc != 1) {
            /* Never waits to write: we do not renegotiate, and a reply to a key update that finds
             * the socket full goes out with the next write. */
            if (take_outcome(stream, rc) != TLS_NOTHING) {
                break;
            }
        } else {
            stream->has_read = true;
            used += n;
        }
    }
    return used > 0 || !stream->end.code ? (ssize_t)used : ended(stream, err);
}

ssize_t tls_stream_write(struct tls_stream *stream, struct slice bytes, struct err *err)
{
    size_t n = 0;
    if (bytes.len == 0) {
        return 0;
    }
    if (!stream->end.code) {
        ERR_clear_error();
        int rc = SSL_write_ex(stream->ssl, bytes.ptr, bytes.len, &n);
        if (rc == 1) {
            return (ssize_t)n;
        }
        int error = errno;
        if (SSL_get_error(stream->ssl, rc) == SSL_ERROR_SYSCALL) {
            return tls_explain_loss(stream->ssl, error, err); /* its last bytes may still be read */
        }
        if (take_outcome(stream, rc) != TLS_NOTHING) {
            return 0;
        }
    }
    return ended(stream, err);
}

bool tls_stream_is_at_end(const struct tls_stream *stream)
{
    return stream->end.code != 0;
}
