/* Holds what a TLS server shows and demands: its certificate and key, client CAs, session ticket
 * keys.
 *
 * Client CAs are there only if it requires client certificates. All are read from PEM files, and
 * again when those change. Sessions stay with what they started with, so no connection is closed.
 *
 * TLS 1.2 or later; no renegotiation (a client that asks for it gets an alert); no compression; no
 * early data, since a replayed query would be answered twice. Sessions are resumed by stateless
 * tickets (RFC 5077, RFC 8446 4.6.1), so a resumption costs no memory here. Without
 * -tls-ticket-keys the ticket key is made here and changes by itself; with it, replicas that share
 * the file resume each other's sessions. A required client certificate is checked at the full
 * handshake. A resumed session stands for it only while the same CAs are in force.
 *
 * Created and refreshed on the main thread; tls_server_hold on any. */
#ifndef COMMON_TLS_TLS_SERVER_H
#define COMMON_TLS_TLS_SERVER_H

#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/err.h"

struct tls_server;
struct ssl_ctx_st;

enum {
    TLS_TICKET_KEY_BYTES = 80,  /* a name of 16, an HMAC key of 32, an AES-256 key of 32 */
    TLS_TICKET_KEYS_MAX = 8,    /* the first makes tickets, the others are accepted */
    TLS_TICKET_S = 2 * 60 * 60, /* a ticket's life; without a file, a key's life is twice that */
};

struct tls_server_files {
    const char *cert;        /* PEM, with its chain; both are required */
    const char *key;         /* not encrypted */
    const char *client_ca;   /* NULL or "": clients show no certificate */
    const char *ticket_keys; /* NULL or "": made here. A key a line, 160 hex digits */
};

/* Reads the files and copies their names. Errors name the flag's role, the file and what was
 * expected: -errno if it cannot be read, ERR_SYNTAX if its content is wrong. */
int tls_server_new(const struct tls_server_files *files, struct tls_server **ret,
                   struct err *err) MUST_CHECK;
void tls_server_free(struct tls_server *server); /* NULL is fine */

/* Rereads all files if one has changed; call it every few seconds. Returns an enum tls_refresh of
 * tls_client.h. TLS_READ_FAILED, once per change: unusable, err has the reason; the old ones stay
 * in force. Also replaces a ticket key that was made here. */
int tls_server_refresh(struct tls_server *server, struct err *err);

/* Returns the context for new sessions; the caller frees it (SSL_CTX_free counts). Any thread. */
struct ssl_ctx_st *tls_server_hold(struct tls_server *server);
void tls_server_release(struct ssl_ctx_st *context);

/* Returns when the first certificate of the chain to expire does so; Unix time. Any thread. */
int64_t tls_server_not_after_s(const struct tls_server *server);

#endif
