/* Waits and discards for the HTTP server's sockets. Its callers answer (http_connection.c), hold
 * responses (http_held.c), and send events (http_events.c). */
#ifndef COMMON_HTTP_HTTP_SOCKET_INTERNAL_H
#define COMMON_HTTP_HTTP_SOCKET_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

/* Waits for these events from now on. The watcher is started. */
void http_socket_set_events(struct ev_loop *loop, ev_io *io, int events);

/* Discards input of a client that has made its last request; adds to `discarded`. Returns false at
 * its end, after an error, or after more than such a client has to say: 64 KiB. */
bool http_socket_discard(int fd, size_t *discarded);

#endif
