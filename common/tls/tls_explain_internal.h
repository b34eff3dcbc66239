/* Explains why a TLS handshake failed, on either side. Part of tls_session.c. */
#ifndef COMMON_TLS_TLS_EXPLAIN_INTERNAL_H
#define COMMON_TLS_TLS_EXPLAIN_INTERNAL_H

#include "common/base/err.h"
#include "common/tls/tls_client.h"

struct ssl_st;
struct x509_st;
struct x509_store_ctx_st;

/* Explains why verification has just rejected a certificate. server_name: what it had to have;
 * NULL: it is a client's. ca_file: "" = the system's CAs. Returns ERR_REFUSED. */
int tls_explain_certificate(struct x509_store_ctx_st *verification, const char *server_name,
                            const char *ca_file, struct err *err);

/* client NULL: this is the server. */

/* Returns ERR_REFUSED if a server's certificate that is not verified is outside its dates, else
 * 0. */
int tls_explain_dates(const struct x509_st *certificate, struct err *err);

/* Explains a connection closed by the peer (error 0) or lost with an errno. Has a text of its own
 * if it ended at our first message. Returns ERR_UNAVAILABLE. */
int tls_explain_loss(const struct ssl_st *ssl, const struct tls_client *client, int error,
                     struct err *err);

/* Explains an SSL_ERROR_SSL; consumes OpenSSL's error queue. Returns ERR_REFUSED if the cause will
 * not go away by itself, else ERR_UNAVAILABLE. */
int tls_explain_failure(const struct ssl_st *ssl, const struct tls_client *client, struct err *err);

#endif
