/* Explains why a TLS handshake failed, on either side. Part of tls_session.c. */
#ifndef COMMON_TLS_TLS_EXPLAIN_INTERNAL_H
#define COMMON_TLS_TLS_EXPLAIN_INTERNAL_H

#include "common/base/err.h"
#include "common/tls/tls_client.h"

struct ssl_st;
struct x509_st;
struct x509_store_ctx_st;

/* For a certificate that verification has just rejected. server_name: what it had to have; NULL: it
 * is a client's. ca_file: "" = the system's CAs. Returns ERR_REFUSED. */
int tls_explain_certificate(struct x509_store_ctx_st *verification, const char *server_name,
                            const char *ca_file, struct err *err);

/* client NULL: this is the server. */

/* For a server's certificate that is not verified: 0, or ERR_REFUSED outside its dates. */
int tls_explain_dates(const struct x509_st *certificate, struct err *err);

/* For a connection closed by the peer (error 0) or lost with an errno. ERR_UNAVAILABLE; has its own
 * text if it ended at our first message. */
int tls_explain_loss(const struct ssl_st *ssl, const struct tls_client *client, int error,
                     struct err *err);

/* For an SSL_ERROR_SSL: consumes OpenSSL's error queue. ERR_REFUSED if it will not go away by
 * itself, else ERR_UNAVAILABLE. */
int tls_explain_failure(const struct ssl_st *ssl, const struct tls_client *client, struct err *err);

#endif
