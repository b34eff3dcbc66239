/* Gives the socket of a held response to its holder (http_held.h); and waits for a server's
 * sockets. */
#ifndef COMMON_HTTP_HTTP_HELD_INTERNAL_H
#define COMMON_HTTP_HTTP_HELD_INTERNAL_H

#include <ev.h>
#include <stdbool.h>

#include "common/http/http_held.h"

/* Takes ownership of the non-blocking descriptor. */
void http_held_take(struct http_held *held, int fd, bool is_head_alone);

/* Waits for these events from now on. The watcher is started. */
static inline void http_socket_set_events(struct ev_loop *loop, ev_io *io, int events)
{
    if (io->events != events) {
        ev_io_stop(loop, io);
        ev_io_set(io, io->fd, events);
        ev_io_start(loop, io);
    }
}

#endif
