/* The byte stream under an HTTP/2 connection: a non-blocking TCP socket. The owner watches `fd` on
 * its loop; nothing here blocks or knows the loop. TLS belongs here, behind the same calls. */
#ifndef COMMON_TRANSPORT_H
#define COMMON_TRANSPORT_H

#include <sys/types.h>

#include "common/addr.h"
#include "common/attributes.h"
#include "common/err.h"
#include "common/slice.h"

struct transport {
    int fd; /* -1 when closed */
};

/* Begins connecting. When fd becomes writable, transport_connected tells how it went. */
int transport_connect(struct transport *t, const struct addr *address, struct err *err) MUST_CHECK;
int transport_connected(struct transport *t, struct err *err) MUST_CHECK;

/* Bytes read or written; 0 when it would block. Negative: ERR_UNAVAILABLE, the stream has ended. */
ssize_t transport_read(struct transport *t, void *out, size_t size, struct err *err) MUST_CHECK;
ssize_t transport_write(struct transport *t, struct slice bytes, struct err *err) MUST_CHECK;

void transport_close(struct transport *t);

#endif
