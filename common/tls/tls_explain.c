#include "common/tls/tls_explain_internal.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/base/addr.h"
#include "common/base/buf.h"

/* Bounds a certificate's names in messages: they come from the peer. */
enum { NAMES_MAX = 200 };

/* ---- Certificates ---- */

static void append_printable(struct buf *out, const void *bytes, int len)
{
    const unsigned char *p = bytes;
    for (int i = 0; i < len; i++) {
        buf_append_char(out, p[i] > ' ' && p[i] < 0x7f ? (char)p[i] : '?');
    }
}

static void tls_explain_append_name(struct buf *out, const GENERAL_NAME *name)
{
    int type;
    const ASN1_STRING *value = GENERAL_NAME_get0_value(name, &type);
    const char *separator = out->len ? ", " : "";
    if (type == GEN_DNS) {
        buf_append_str(out, separator);
        append_printable(out, ASN1_STRING_get0_data(value), ASN1_STRING_length(value));
    } else if (type == GEN_IPADD) {
        struct ip ip = {.family_bytes = 0};
        char text[INET6_ADDRSTRLEN];
        int len = ASN1_STRING_length(value);
        if (len == 4 || len == 16) {
            ip.family_bytes = (uint8_t)len;
            memcpy(ip.bytes, ASN1_STRING_get0_data(value), ip.family_bytes);
            buf_append_str(out, separator);
            buf_append_str(out, ip_format(&ip, text));
        }
    }
}

/* Writes "localhost, 127.0.0.1". */
static const char *names_of(X509 *certificate, struct buf *out)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    for (int i = 0; i < sk_GENERAL_NAME_num(names) && out->len < NAMES_MAX; i++) {
        tls_explain_append_name(out, sk_GENERAL_NAME_value(names, i));
    }
    GENERAL_NAMES_free(names);
    if (out->len == 0) {
        buf_append_str(out, "no name at all");
    }
    return buf_cstr(out);
}

/* Writes "2026-01-02T03:04:05Z". */
static const char *tls_explain_time_text(const ASN1_TIME *when, char out[64])
{
    struct tm tm;
    if (!ASN1_TIME_to_tm(when, &tm) || strftime(out, 64, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0) {
        (void)snprintf(out, 64, "an unknown time"); /* fits */
    }
    return out;
}

int tls_explain_certificate(struct x509_store_ctx_st *verification, const char *server_name,
                            const char *ca_file, struct err *err)
{
    X509 *certificate = X509_STORE_CTX_get_current_cert(verification);
    int error = X509_STORE_CTX_get_error(verification);
    bool is_ca = X509_STORE_CTX_get_error_depth(verification) > 0;
    const char *whose =
        server_name ? (is_ca ? "a CA certificate above the server's" : "the server's certificate")
                    : (is_ca ? "a CA certificate above the client's" : "the client's certificate");
    char when[64];
    struct buf names;
    buf_init(&names, NAMES_MAX * 4); /* a DNS name more than the limit at most */
    switch (error) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_CERT_UNTRUSTED:
        if (!server_name) {
            err_set(err, ERR_REFUSED,
                    "TLS: the client's certificate is not from a CA that clients may come from");
            break;
        }
        err_set(err, ERR_REFUSED, "TLS: the server's certificate is not from a CA in %s%s%s",
                ca_file[0] ? "`" : "the system's list; is a CA file needed?", ca_file,
                ca_file[0] ? "`" : "");
        break;
    case X509_V_ERR_CERT_HAS_EXPIRED:
        err_set(err, ERR_REFUSED, "TLS: %s expired at %s", whose,
                tls_explain_time_text(X509_get0_notAfter(certificate), when));
        break;
    case X509_V_ERR_CERT_NOT_YET_VALID:
        err_set(err, ERR_REFUSED, "TLS: %s is not valid before %s", whose,
                tls_explain_time_text(X509_get0_notBefore(certificate), when));
        break;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        err_set(err, ERR_REFUSED, "TLS: the server's certificate is for %.*s, not for `%s`",
                NAMES_MAX, names_of(certificate, &names), server_name);
        break;
    case X509_V_ERR_INVALID_PURPOSE:
        err_set(err, ERR_REFUSED, "TLS: %s is not made for %s", whose,
                server_name ? "servers" : "clients");
        break;
    default:
        err_set(err, ERR_REFUSED, "TLS: %s: %s", whose, X509_verify_cert_error_string(error));
    }
    buf_fini(&names);
    return ERR_REFUSED;
}

int tls_explain_dates(const struct x509_st *certificate, struct err *err)
{
    char when[64];
    if (X509_cmp_current_time(X509_get0_notAfter(certificate)) <= 0) { /* 0: no time */
        return err_set(err, ERR_REFUSED, "TLS: the server's certificate expired at %s",
                       tls_explain_time_text(X509_get0_notAfter(certificate), when));
    }
    if (X509_cmp_current_time(X509_get0_notBefore(certificate)) >= 0) {
        return err_set(err, ERR_REFUSED, "TLS: the server's certificate is not valid before %s",
                       tls_explain_time_text(X509_get0_notBefore(certificate), when));
    }
    return 0;
}

/* ---- Everything else ---- */

/* Explains the server's alerts about our certificate, or its absence. */
static int explain_refused_client(const SSL *ssl, const struct tls_client *client, const char *why,
                                  struct err *err)
{
    const char *file = tls_client_cert_file(client);
    X509 *own = SSL_get_certificate(ssl);
    char when[64];
    if (!own) {
        return err_set(err, ERR_REFUSED,
                       "TLS: the server requires a client certificate and none is set (%s)", why);
    }
    if (X509_cmp_current_time(X509_get0_notAfter(own)) < 0) {
        return err_set(err, ERR_REFUSED,
                       "TLS: the server refuses our certificate `%s`, which expired at %s", file,
                       tls_explain_time_text(X509_get0_notAfter(own), when));
    }
    return err_set(err, ERR_REFUSED, "TLS: the server refuses our certificate `%s`: %s", file, why);
}

int tls_explain_loss(const struct ssl_st *ssl, const struct tls_client *client, int error,
                     struct err *err)
{
    if (client && SSL_get_state(ssl) == TLS_ST_CW_CLNT_HELLO) {
        return err_set(err, ERR_UNAVAILABLE,
                       "TLS: the server closed the connection at the first message; is it http:// "
                       "instead of https://?");
    }
    return error ? err_set(err, ERR_UNAVAILABLE, "connection lost: %s", strerror(error))
                 : err_set(err, ERR_UNAVAILABLE, "connection closed by the peer");
}

/* Explains a failure on the server. A client that refuses us sends an alert, which is an error with
 * its name. */
static int tls_explain_client(int code, const char *why, struct err *err)
{
    switch (code) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_UNEXPECTED_MESSAGE:
        return err_set(err, ERR_REFUSED, "TLS: the client does not speak TLS (%s)", why);
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_VERSION_TOO_LOW:
        return err_set(err, ERR_REFUSED, "TLS: the client does not speak version 1.2 or later");
    case SSL_R_NO_SHARED_CIPHER:
    case SSL_R_NO_SUITABLE_KEY_SHARE:
    case SSL_R_NO_SHARED_GROUPS:
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
        return err_set(err, ERR_REFUSED, "TLS: no cipher in common with the client (%s)", why);
    case SSL_R_NO_APPLICATION_PROTOCOL:
        return err_set(err, ERR_REFUSED, "TLS: the client offers only other protocols (ALPN)");
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
        return err_set(err, ERR_REFUSED, "TLS: the client shows no certificate");
    case SSL_R_EXCESSIVE_MESSAGE_SIZE:
        return err_set(err, ERR_REFUSED, "TLS: the client sends a message over the limit");
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
        return err_set(err, ERR_REFUSED, "TLS: the client refuses our certificate (%s)", why);
    default:
        return err_set(err, ERR_REFUSED, "TLS: %s", why);
    }
}

int tls_explain_failure(const struct ssl_st *ssl, const struct tls_client *client, struct err *err)
{
    unsigned long error = ERR_peek_error();
    const char *text = ERR_reason_error_string(error);
    const char *why = text ? text : "failed";
    int code = ERR_GET_LIB(error) == ERR_LIB_SSL ? ERR_GET_REASON(error) : 0;
    ERR_clear_error();
    if (!client) {
        return tls_explain_client(code, why, err);
    }
    switch (code) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
        return err_set(err, ERR_REFUSED,
                       "TLS: the server does not speak TLS; is it http:// instead of https://?");
    case SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL:
        return err_set(err, ERR_REFUSED,
                       "TLS: the server speaks none of the protocols offered (ALPN)");
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
    case SSL_R_UNSUPPORTED_PROTOCOL:
        return err_set(err, ERR_REFUSED, "TLS: the server does not speak version 1.2 or later");
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
        return explain_refused_client(ssl, client, why, err);
    default:
        return err_set(err, ERR_REFUSED, "TLS: %s", why);
    }
}
