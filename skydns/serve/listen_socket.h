/* The sockets that receive queries: bound to the addresses of -addr, or passed by systemd, which
 * then owns their addresses and keeps them open over a restart. Main thread, at start. */
#ifndef SKYDNS_SERVE_LISTEN_SOCKET_H
#define SKYDNS_SERVE_LISTEN_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"

enum {
    LISTEN_SOCKETS_MAX = 16, /* of each kind; a host's addresses, IPv4 and IPv6 */
    LISTEN_BACKLOG = 1024,   /* connections not accepted yet; somaxconn limits it */
};

struct listen_socket {
    int fd;
    struct addr address;
    bool is_shared; /* other processes have it, too: never shut down, reconfigured only as needed */
};

struct listen_sockets {
    size_t udp_count;
    size_t tcp_count;
    struct listen_socket udp[LISTEN_SOCKETS_MAX];
    struct listen_socket tcp[LISTEN_SOCKETS_MAX];
};

/* Each opens one socket; the error names the address and what to do. Several UDP sockets may share
 * an address (SO_REUSEPORT). v6_only: an IPv6 wildcard leaves IPv4 to another socket. */
int listen_udp(const struct addr *address, bool v6_only, struct listen_socket *ret_socket,
               struct err *err) MUST_CHECK;
int listen_tcp(const struct addr *address, bool v6_only, struct listen_socket *ret_socket,
               struct err *err) MUST_CHECK;

/* Must an IPv6 wildcard of this list leave IPv4 alone? */
bool listen_wants_v6_only(const struct addr *addresses, size_t count, const struct addr *address);

/* Takes the UDP sockets and listening TCP sockets that systemd passed (sd_listen_fds(3)). Any other
 * descriptor is an error, and so is none at all. Removes the variables from the environment. */
int listen_from_systemd(struct listen_sockets *ret_sockets, struct err *err) MUST_CHECK;

void listen_sockets_close(struct listen_sockets *sockets); /* those whose fd is not negative */

#endif
