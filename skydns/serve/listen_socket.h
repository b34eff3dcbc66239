/* The sockets that queries come in on: bound to the addresses of -addr, or handed over by systemd,
 * which then owns their addresses and keeps them over a restart. Main thread, at start. */
#ifndef SKYDNS_SERVE_LISTEN_SOCKET_H
#define SKYDNS_SERVE_LISTEN_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"

enum {
    LISTEN_SOCKETS_MAX = 16, /* of each kind: addresses of a host, IPv4 and IPv6 */
    LISTEN_BACKLOG = 1024,   /* of connections that nobody has accepted; somaxconn cuts it */
};

struct listen_socket {
    int fd;
    struct addr address;
    bool is_shared; /* others have it, too: never shut down, never reconfigured beyond need */
};

struct listen_sockets {
    size_t udp_count;
    size_t tcp_count;
    struct listen_socket udp[LISTEN_SOCKETS_MAX];
    struct listen_socket tcp[LISTEN_SOCKETS_MAX];
};

/* Each opens one socket; the error names the address and what to do. Several UDP sockets may have
 * one address (SO_REUSEPORT). v6_only: an IPv6 wildcard leaves IPv4 to another socket. */
int listen_udp(const struct addr *address, bool v6_only, struct listen_socket *ret_socket,
               struct err *err) MUST_CHECK;
int listen_tcp(const struct addr *address, bool v6_only, struct listen_socket *ret_socket,
               struct err *err) MUST_CHECK;

/* Must an IPv6 wildcard of this list leave IPv4 alone? */
bool listen_wants_v6_only(const struct addr *addresses, size_t count, const struct addr *address);

/* Takes what systemd passed (sd_listen_fds(3)): UDP sockets, and TCP sockets that listen. Others
 * are an error, as is none at all. The variables are removed from the environment. */
int listen_from_systemd(struct listen_sockets *ret_sockets, struct err *err) MUST_CHECK;

void listen_sockets_close(struct listen_sockets *sockets); /* those whose fd is not negative */

#endif
