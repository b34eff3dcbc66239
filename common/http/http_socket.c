#include "common/http/http_socket_internal.h"

#include <errno.h>
#include <stdint.h>
#include <sys/socket.h>

enum { DISCARDED_MAX = 64 * 1024 };

void http_socket_set_events(struct ev_loop *loop, ev_io *io, int events)
{
    if (io->events != events) {
        ev_io_stop(loop, io);
        ev_io_set(io, io->fd, events);
        ev_io_start(loop, io);
    }
}

bool http_socket_discard(int fd, size_t *discarded)
{
    uint8_t bytes[4096];
    const ssize_t n = recv(fd, bytes, sizeof(bytes), 0);
    if (n <= 0) {
        return n < 0 && (errno == EAGAIN || errno == EINTR);
    }
    *discarded += (size_t)n;
    return *discarded <= DISCARDED_MAX;
}
