/* One TLS session on a connected non-blocking socket, of either side. It reads and writes as recv
 * and send do, so that a caller's buffers and events are those of plain TCP.
 *
 *     handshake steps (any thread, one at a time) ──▶ read, write (the connection's) ──▶ close
 *
 * One thread at a time uses the session: handing it over needs the usual ordering (a lock or a
 * queue). The caller owns the socket. The process must ignore SIGPIPE. An idle session holds no
 * buffers (SSL_MODE_RELEASE_BUFFERS). */
#ifndef COMMON_TLS_TLS_SESSION_H
#define COMMON_TLS_TLS_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/base/attributes.h"
#include "common/base/err.h"

struct ssl_ctx_st;
struct tls_client;
struct tls_session;
struct ssl_session_st;

enum {
    /* Bounds what a server's session holds until its handshake is over, whatever the client does;
     * usually it is a third. OpenSSL makes room for a ClientHello as soon as that is announced, and
     * takes 128 KiB; then a record's buffer of 17 KiB, and what every session has. The caller
     * limits how many there are. */
    TLS_HANDSHAKE_BYTES = 160 * 1024,
};

/* Creates the server side. protocols: ALPN in the order of preference, as text: "dot", "h2
 * http/1.1". A client that offers only others is refused (RFC 7301 3.2); one that offers none goes
 * on without. */
struct tls_session *tls_session_accept(struct ssl_ctx_st *context, int fd, const char *protocols);

/* Creates the client side, trusting what `client` does.
 * name: what the certificate must have, a host name or an IP address; NULL: any, only its dates are
 * checked.
 * protocol: ALPN, offered but not demanded; a list as above, or NULL.
 * resumed: from tls_session_ticket, or NULL. Ignored if `client` has read other files since, or for
 * another name: a resumed session is not verified again. */
struct tls_session *tls_session_connect(const struct tls_client *client, int fd, const char *name,
                                        const char *protocol, struct ssl_session_st *resumed);

void tls_session_free(struct tls_session *session); /* sends close_notify if it can; NULL is fine */

/* Names the socket event that the session waits for. */
enum tls_want { TLS_WANT_NOTHING, TLS_WANT_READ, TLS_WANT_WRITE };

/* Runs one step: the expensive part. Call again when the socket is what *ret_want says;
 * TLS_WANT_NOTHING: the handshake is complete. Errors explain (tls_explain): ERR_REFUSED will not
 * go away by itself, ERR_UNAVAILABLE may. Any thread. */
int tls_session_handshake(struct tls_session *session, enum tls_want *ret_want,
                          struct err *err) MUST_CHECK;

bool tls_session_is_resumed(const struct tls_session *session);

/* Returns the protocol that ALPN selected; "" for none. Borrowed. */
const char *tls_session_protocol(const struct tls_session *session);

/* Reads as recv does. Returns > 0: bytes, of several records if they are there; 0: the peer has
 * closed its side (with or without close_notify; sending still works); -1 with errno EAGAIN, or
 * another error. Avoids needless system calls: a call may leave something in the socket, which
 * wakes poll. Bytes that it leaves inside OpenSSL do not: tls_session_pending. */
ssize_t tls_session_recv(struct tls_session *session, void *out, size_t size);

/* Returns true if the next tls_session_recv has something without the socket. That is so after a
 * recv that filled its buffer, at the end, and on the server after a handshake whose last packet
 * brought a request, too. Call recv then, and again while this is true and recv returns bytes. */
bool tls_session_pending(const struct tls_session *session);

/* Writes as send does, in records as large as possible. Returns how many bytes were accepted, or -1
 * with errno. After a short count or EAGAIN, the next call begins with the same bytes (which may
 * have moved), and may add more behind them. */
ssize_t tls_session_send(struct tls_session *session, const void *bytes, size_t len);

/* Returns why a call has failed; NULL: none has (EAGAIN is no failure). Borrowed. */
const struct err *tls_session_failure(const struct tls_session *session);

/* Returns, on the client side, what the next session to the same peer may resume; NULL: nothing.
 * Owned. */
struct ssl_session_st *tls_session_ticket(struct tls_session *session);
void tls_session_ticket_free(struct ssl_session_st *ticket); /* NULL is fine */

#endif
