/* One TLS session of an HTTP/2 client on a connected non-blocking socket: part of transport.c. ALPN
 * must select `h2`. The server's certificate must come from a trusted CA and name the server.
 *
 * Errors distinguish an unknown CA, an expired certificate, a wrong name, our certificate rejected,
 * no HTTP/2, and no TLS at all. Such a refusal, before the server has sent anything, is
 * ERR_REFUSED; everything else is ERR_UNAVAILABLE.
 *
 * OpenSSL writes with write(2): the process must ignore SIGPIPE. */
#ifndef COMMON_TLS_TLS_STREAM_H
#define COMMON_TLS_TLS_STREAM_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "common/tls/tls_client.h"

/* Equals the maximum payload of one record (RFC 8446 5.1). */
enum { TLS_RECORD_MAX = 16384 };

struct tls_stream;

/* Creates a session; the caller owns the socket. server_name: the host of the URL, a name or an IP
 * address. */
struct tls_stream *tls_stream_new(const struct tls_client *client, int fd, const char *server_name);
void tls_stream_free(struct tls_stream *stream); /* NULL is fine */

/* Names the socket event that the session waits for. */
enum tls_wait { TLS_NOTHING, TLS_READABLE, TLS_WRITABLE };

/* Runs one step; call again when the socket is what *ret_wait says. TLS_NOTHING: the handshake is
 * complete. */
int tls_stream_handshake(struct tls_stream *stream, enum tls_wait *ret_wait,
                         struct err *err) MUST_CHECK;

/* Read and write as transport_read and transport_write; size is at least TLS_RECORD_MAX. */
ssize_t tls_stream_read(struct tls_stream *stream, void *out, size_t size,
                        struct err *err) MUST_CHECK;
ssize_t tls_stream_write(struct tls_stream *stream, struct slice bytes, struct err *err) MUST_CHECK;

/* Returns true if the next read returns end of stream, although the socket may not be readable. */
bool tls_stream_is_at_end(const struct tls_stream *stream);

#endif
