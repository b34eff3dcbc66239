/* Shares of tls_session.c what other files of this folder need. */
#ifndef COMMON_TLS_TLS_SESSION_INTERNAL_H
#define COMMON_TLS_TLS_SESSION_INTERNAL_H

#include <stddef.h>
#include <sys/types.h>

struct ssl_st;
struct tls_session;
struct x509_store_ctx_st;

/* Selects the server's first choice among the client's protocols, for SSL_CTX_set_alpn_select_cb.
 * The contexts' callbacks run on the thread of the handshake. */
int tls_session_select_protocol(struct ssl_st *ssl, const unsigned char **ret_protocol,
                                unsigned char *ret_len, const unsigned char *offered,
                                unsigned offered_len, void *data);

/* Records the first reason why the peer's certificate is refused, for SSL_CTX_set_verify. */
int tls_session_on_verify(int is_good, struct x509_store_ctx_st *verification);

/* Reads as tls_session_recv, but takes another record only while there is this much room. With the
 * room of a record, nothing stays inside OpenSSL on the client side, which does not read ahead. */
ssize_t tls_session_recv_with_room(struct tls_session *session, void *out, size_t size,
                                   size_t room);

#endif
