/* Accepts connections on the listening sockets, for the TCP server, on its loop. When descriptors
 * or memory run out, the owner makes room, or accepting pauses. */
#ifndef SKYDNS_STREAMS_TCP_ACCEPTOR_INTERNAL_H
#define SKYDNS_STREAMS_TCP_ACCEPTOR_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/addr.h"
#include "skydns/listen/listen_socket.h"

struct tcp_acceptor;

struct tcp_acceptor_config {
    struct ev_loop *loop;
    const struct listen_socket *sockets; /* taken over; the acceptor closes them */
    size_t count;

    /* A connection: its descriptor, its socket's transport, and the local address (family
     * AF_UNSPEC: unknown). */
    void (*accepted)(void *data, int fd, enum engine_transport transport, const struct addr *client,
                     const struct addr *local);
    /* False: nothing can be closed. */
    bool (*make_room)(void *data);
    void *data;
};

struct tcp_acceptor *tcp_acceptor_new(const struct tcp_acceptor_config *config);

/* Accepts the pending connections of unshared sockets, which a close would reset; those of shared
 * sockets wait for the next process that has the socket. */
void tcp_acceptor_take_waiting(struct tcp_acceptor *acceptor);

/* Closes the sockets. New connections are refused, or wait in a shared socket. NULL is fine. */
void tcp_acceptor_free(struct tcp_acceptor *acceptor);

#endif
