/* Accepts connections on the listening sockets for the TCP server, on its loop: calls
 * tcp_server_accept. When descriptors or memory run out, calls tcp_server_make_room, or pauses
 * accepting. */
#ifndef SKYDNS_STREAMS_TCP_ACCEPTOR_INTERNAL_H
#define SKYDNS_STREAMS_TCP_ACCEPTOR_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/addr.h"
#include "skydns/listen/listen_socket.h"

struct tcp_acceptor;
struct tcp_server;

/* Makes an acceptor; it takes the sockets over and closes them. */
struct tcp_acceptor *tcp_acceptor_new(struct ev_loop *loop, struct tcp_server *server,
                                      const struct listen_socket *sockets, size_t count);

/* Accepts the pending connections of unshared sockets, which closing would reset. Those of shared
 * sockets wait for the next process that has the socket. */
void tcp_acceptor_take_waiting(struct tcp_acceptor *acceptor);

/* Closes the sockets. New connections are refused, or wait in a shared socket. NULL is fine. */
void tcp_acceptor_free(struct tcp_acceptor *acceptor);

#endif
