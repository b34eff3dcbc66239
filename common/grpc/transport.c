#include "common/grpc/transport_internal.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "common/base/sockets.h"

static int connect_error(struct err *err, int error)
{
    return err_set(err, ERR_UNAVAILABLE, "connect: %s", strerror(error));
}

int transport_connect(struct transport *t, const struct transport_config *config, struct err *err)
{
    const int on = 1;
    const int fd = sockets_connect(&config->address, SOCK_STREAM);
    *t = (struct transport){.fd = fd < 0 ? -1 : fd};
    if (fd < 0) {
        return connect_error(err, -fd);
    }
    /* Output is flushed once per loop turn; Nagle would only delay the last part. */
    (void)setsockopt(t->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* only slower without it */
    if (config->tls) {
        t->tls = tls_stream_new(config->tls, t->fd, config->server_name);
    }
    return 0;
}

int transport_advance(struct transport *t, enum tls_wait *ret_wait, struct err *err)
{
    *ret_wait = TLS_NOTHING;
    if (!t->is_tcp_connected) {
        int error = 0;
        socklen_t len = sizeof(error);
        if (getsockopt(t->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0) {
            error = errno;
        }
        if (error) {
            return connect_error(err, error);
        }
        t->is_tcp_connected = true;
    }
    return t->tls ? tls_stream_handshake(t->tls, ret_wait, err) : 0;
}

const char *transport_stage(const struct transport *t)
{
    return t->is_tcp_connected ? "TLS handshake" : "connection";
}

/* Recognizes another protocol by its first bytes: HTTP/2 begins with the length of a SETTINGS
 * frame, TLS with an alert record. */
static int check_first_bytes(struct slice bytes, struct err *err)
{
    if (slice_has_prefix(bytes, slice_str("\x15\x03"))) {
        return err_set(err, ERR_REFUSED,
                       "the server speaks TLS; is it https:// instead of http://?");
    }
    if (slice_has_prefix(bytes, slice_str("HTTP/1"))) {
        return err_set(err, ERR_PROTOCOL, "the server speaks HTTP/1, not HTTP/2");
    }
    return 0;
}

ssize_t transport_read(struct transport *t, void *out, size_t size, struct err *err)
{
    if (t->tls) {
        return tls_stream_read(t->tls, out, size, err);
    }
    ssize_t n = recv(t->fd, out, size, 0);
    if (n > 0 && !t->has_read) {
        t->has_read = true;
        int rc = check_first_bytes(slice_of(out, (size_t)n), err);
        return rc ? rc : n;
    }
    if (n > 0) {
        return n;
    }
    if (n == 0 || (errno == ECONNRESET && !t->has_read)) {
        return err_set(
            err, ERR_UNAVAILABLE, "connection closed by the peer%s",
            t->has_read ? "" : " before it sent anything; is it https:// instead of http://?");
    }
    if (errno == EAGAIN || errno == EINTR) {
        return 0;
    }
    return err_set(err, ERR_UNAVAILABLE, "connection lost: %s", strerror(errno));
}

ssize_t transport_write(struct transport *t, struct slice bytes, struct err *err)
{
    if (t->tls) {
        return tls_stream_write(t->tls, bytes, err);
    }
    ssize_t n = send(t->fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);
    if (n >= 0) {
        return n;
    }
    if (errno == EAGAIN || errno == EINTR) {
        return 0;
    }
    return err_set(err, ERR_UNAVAILABLE, "connection lost: %s", strerror(errno));
}

bool transport_is_at_end(const struct transport *t)
{
    return t->tls && tls_stream_is_at_end(t->tls);
}

void transport_close(struct transport *t)
{
    tls_stream_free(t->tls);
    t->tls = NULL;
    if (t->fd >= 0) {
        (void)close(t->fd); /* the socket is given up: nothing to wait for */
        t->fd = -1;
    }
}
