#include "common/transport.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

static int connect_error(struct err *err, int error)
{
    return err_set(err, ERR_UNAVAILABLE, "connect: %s", strerror(error));
}

int transport_connect(struct transport *t, const struct addr *address, struct err *err)
{
    const int on = 1;
    t->fd = socket(address->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (t->fd < 0) {
        return connect_error(err, errno);
    }
    /* Output is flushed in whole loop turns; Nagle would only hold back the last part. */
    (void)setsockopt(t->fd, IPPROTO_TCP, TCP_NODELAY, &on,
                     sizeof(on)); /* slower without, no more */
    if (connect(t->fd, &address->sa, address->len) != 0 && errno != EINPROGRESS) {
        int code = connect_error(err, errno);
        transport_close(t);
        return code;
    }
    return 0;
}

int transport_connected(struct transport *t, struct err *err)
{
    int error = 0;
    socklen_t len = sizeof(error);
    if (getsockopt(t->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0) {
        error = errno;
    }
    return error ? connect_error(err, error) : 0;
}

ssize_t transport_read(struct transport *t, void *out, size_t size, struct err *err)
{
    ssize_t n = recv(t->fd, out, size, 0);
    if (n > 0) {
        return n;
    }
    if (n == 0) {
        return err_set(err, ERR_UNAVAILABLE, "connection closed by the peer");
    }
    if (errno == EAGAIN || errno == EINTR) {
        return 0;
    }
    return err_set(err, ERR_UNAVAILABLE, "connection lost: %s", strerror(errno));
}

ssize_t transport_write(struct transport *t, struct slice bytes, struct err *err)
{
    ssize_t n = send(t->fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);
    if (n >= 0) {
        return n;
    }
    if (errno == EAGAIN || errno == EINTR) {
        return 0;
    }
    return err_set(err, ERR_UNAVAILABLE, "connection lost: %s", strerror(errno));
}

void transport_close(struct transport *t)
{
    if (t->fd >= 0) {
        (void)close(t->fd); /* nothing is waited for on a socket that is given up */
        t->fd = -1;
    }
}
