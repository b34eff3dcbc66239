/* The byte stream under an HTTP/2 connection: a non-blocking TCP socket, with or without TLS.
 *
 * The owner watches `fd` on its loop; nothing here blocks or knows the loop. */
#ifndef COMMON_GRPC_TRANSPORT_INTERNAL_H
#define COMMON_GRPC_TRANSPORT_INTERNAL_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "common/tls/tls_stream.h"

struct transport {
    int fd; /* -1 when closed */
    bool is_tcp_connected;
    bool has_read;          /* plain only: the peer's first bytes were examined */
    struct tls_stream *tls; /* NULL = plain */
};

struct transport_config {
    struct addr address;
    const struct tls_client *tls; /* NULL = plain; must outlive the transport */
    const char *server_name;      /* with TLS: must be in the certificate */
};

/* Starts connecting; take the next step when fd is writable. */
int transport_connect(struct transport *t, const struct transport_config *config,
                      struct err *err) MUST_CHECK;

/* Takes one step of connecting or of the TLS handshake; repeat when fd is ready for *ret_wait.
 * TLS_NOTHING: ready to read and write. ERR_REFUSED: the peer speaks or requires something else; a
 * person must act. */
int transport_advance(struct transport *t, enum tls_wait *ret_wait, struct err *err) MUST_CHECK;

/* Returns the stage that a timeout interrupts: "connection", "TLS handshake". */
const char *transport_stage(const struct transport *t);

/* A read that leaves this much of its buffer free has emptied the socket; size must be at least
 * this. */
enum { TRANSPORT_READ_SLACK = TLS_RECORD_MAX };

/* Return the bytes read or written; 0 when the call would block. Negative: the stream has ended;
 * ERR_UNAVAILABLE, or ERR_REFUSED or ERR_PROTOCOL for a peer of the wrong kind. */
ssize_t transport_read(struct transport *t, void *out, size_t size, struct err *err) MUST_CHECK;
ssize_t transport_write(struct transport *t, struct slice bytes, struct err *err) MUST_CHECK;

/* Returns true if the next read returns end of stream, which poll() may not report. */
bool transport_is_at_end(const struct transport *t);

void transport_close(struct transport *t);

#endif
