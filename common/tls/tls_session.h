/* One TLS session on a connected non-blocking socket, of either side. Reads and writes as recv and
 * send do, so that a caller's buffers and events are those of plain TCP.
 *
 *     handshake steps (any one thread at a time) ──▶ read, write (the connection's thread) ──▶
 * close
 *
 * The session is of one thread at a time: handing it over needs the usual ordering (a lock or a
 * queue). The caller keeps the socket. The process must ignore SIGPIPE. Memory: an idle session
 * keeps no buffers (SSL_MODE_RELEASE_BUFFERS). */
#ifndef COMMON_TLS_TLS_SESSION_H
#define COMMON_TLS_TLS_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/attributes.h"
#include "common/base/err.h"

struct ssl_ctx_st;
struct tls_client;
struct tls_session;
struct ssl_session_st;

enum {
    /* What a server's session may keep until its handshake is done, whoever the client is: OpenSSL
     * makes room for a ClientHello as soon as that is announced, and takes 128 KiB; then a record's
     * buffer of 17 KiB, and what every session has. Usually a third of it. The caller limits how
     * many there are. */
    TLS_HANDSHAKE_BYTES = 160 * 1024,
};

/* The server side. protocols: ALPN in the order of preference, as text: "dot", "h2 http/1.1". A
 * client that offers only others is refused (RFC 7301 3.2); one that offers none goes on without.
 */
struct tls_session *tls_session_accept(struct ssl_ctx_st *context, int fd, const char *protocols);

/* The client side, trusting what `client` does. name: what the certificate must have, a host name
 * or an IP address; NULL: it may be anybody's, only its dates are checked; protocol: ALPN, offered
 * but not demanded; a list as above, or NULL; resumed: from tls_session_ticket, or NULL. Ignored if
 * `client` has read other files since, or for another name: a resumed session is not verified
 * again. */
struct tls_session *tls_session_connect(const struct tls_client *client, int fd, const char *name,
                                        const char *protocol, struct ssl_session_st *resumed);

void tls_session_free(struct tls_session *session); /* sends close_notify if it can; NULL is fine */

/* What the session waits for. */
enum tls_want { TLS_WANT_NOTHING, TLS_WANT_READ, TLS_WANT_WRITE };

/* One step: the expensive part. Call again when the socket is what *ret_want says;
 * TLS_WANT_NOTHING: it is done. Errors explain (tls_explain): ERR_REFUSED will not go away by
 * itself, ERR_UNAVAILABLE may. Any thread. */
int tls_session_handshake(struct tls_session *session, enum tls_want *ret_want,
                          struct err *err) MUST_CHECK;

bool tls_session_is_resumed(const struct tls_session *session);

/* The protocol that ALPN selected; "" for none. Borrowed. */
const char *tls_session_protocol(const struct tls_session *session);

/* As recv: > 0 bytes, of several records if they are there; 0: the peer has closed its side (with
 * or without close_notify; sending still works); -1 with errno EAGAIN, or another error. Does not
 * ask the socket in vain: a call may leave something there, which wakes poll. What it leaves inside
 * OpenSSL does not: tls_session_pending. */
ssize_t tls_session_recv(struct tls_session *session, void *out, size_t size);

/* The next tls_session_recv has something without the socket: after a recv that filled its buffer,
 * at the end, and on the server after a handshake whose last packet brought a request too. Call
 * recv then, and again while this is true and recv returns bytes. */
bool tls_session_pending(const struct tls_session *session);

/* As send, of records as large as they get: how many were accepted, or -1 with errno. After a short
 * count or EAGAIN, the next call begins with the same bytes (which may have moved), or more behind
 * them. */
ssize_t tls_session_send(struct tls_session *session, const void *bytes, size_t len);

/* Why a call has failed, as text; NULL: none has (EAGAIN is no failure). Borrowed. */
const struct err *tls_session_failure(const struct tls_session *session);

/* Client side: what the next session to the same peer may resume; NULL: nothing. Owned. */
struct ssl_session_st *tls_session_ticket(struct tls_session *session);
void tls_session_ticket_free(struct ssl_session_st *ticket); /* NULL is fine */

#endif
