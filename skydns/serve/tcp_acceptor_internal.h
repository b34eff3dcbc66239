/* Accepts connections on the sockets that listen, for the TCP server, on its loop. When descriptors
 * or memory run out, its owner makes room, else accepting pauses. */
#ifndef SKYDNS_SERVE_TCP_ACCEPTOR_INTERNAL_H
#define SKYDNS_SERVE_TCP_ACCEPTOR_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/addr.h"
#include "skydns/serve/listen_socket.h"

struct tcp_acceptor;

struct tcp_acceptor_config {
    struct ev_loop *loop;
    const struct listen_socket *sockets; /* become the acceptor's to close */
    size_t count;

    /* A connection: its descriptor, and the address it was made to (family AF_UNSPEC: not known).
     */
    void (*accepted)(void *data, int fd, const struct addr *client, const struct addr *local);
    /* False: there is nothing that could be closed. */
    bool (*make_room)(void *data);
    void *data;
};

struct tcp_acceptor *tcp_acceptor_new(const struct tcp_acceptor_config *config);

/* Accepts what has been made to sockets that are ours alone, which a close would reset; others'
 * wait for the next who has the socket. */
void tcp_acceptor_take_waiting(struct tcp_acceptor *acceptor);

/* Closes the sockets. Further connections are refused, or wait in a socket that others have, too.
 * NULL is fine. */
void tcp_acceptor_free(struct tcp_acceptor *acceptor);

#endif
