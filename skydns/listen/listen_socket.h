/* Opens the sockets that receive queries: binds them to the addresses of -addr, or takes them from
 * systemd, which then owns their addresses and keeps them open over a restart. UDP, TCP, and
 * streams: TCP that speaks something else than DNS's own framing. Main thread, at start. */
#ifndef SKYDNS_LISTEN_LISTEN_SOCKET_H
#define SKYDNS_LISTEN_LISTEN_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "skydns/wire/query.h"

enum {
    LISTEN_SOCKETS_MAX = 16, /* of UDP, of TCP, of streams; a host's addresses, IPv4 and IPv6 */
    LISTEN_PASSED_MAX = 3 * LISTEN_SOCKETS_MAX, /* by systemd */
    LISTEN_BACKLOG = 1024, /* connections not accepted yet; somaxconn limits it */
};

struct listen_socket {
    int fd;
    struct addr address;
    enum engine_transport transport;
    bool is_shared; /* other processes have it, too: never shut down, reconfigured only as needed */
};

struct listen_sockets {
    size_t udp_count;
    size_t tcp_count;
    size_t stream_count;
    struct listen_socket udp[LISTEN_SOCKETS_MAX];
    struct listen_socket tcp[LISTEN_SOCKETS_MAX];
    struct listen_socket streams[LISTEN_SOCKETS_MAX];
};

/* Returns the name in URLs, logs, metrics and systemd's names: "udp", "tcp", "tls", "https",
 * "http", "grpc". */
const char *listen_transport_name(enum engine_transport transport);

/* Returns the stream with this name; ENGINE_TRANSPORTS: it is none. */
enum engine_transport listen_stream_transport(struct slice name);

/* How to open an address; several may apply. */
enum listen_flags {
    LISTEN_V6_ONLY = 1, /* an IPv6 wildcard leaves IPv4 to another socket */
    LISTEN_ABSENT = 2,  /* the address may come to an interface later */
};

/* Open one socket; the error names the address and what to do. Several UDP sockets may share an
 * address (SO_REUSEPORT). flags: of enum listen_flags. */
int listen_udp(const struct addr *address, unsigned flags, struct listen_socket *ret_socket,
               struct err *err) MUST_CHECK;
int listen_tcp(const struct addr *address, unsigned flags, struct listen_socket *ret_socket,
               struct err *err) MUST_CHECK;
int listen_stream(enum engine_transport transport, const struct addr *address, unsigned flags,
                  struct listen_socket *ret_socket, struct err *err) MUST_CHECK;

/* Returns whether an IPv6 wildcard must leave IPv4 to another address of this list. */
bool listen_wants_v6_only(const struct addr *addresses, size_t count, const struct addr *address);

/* Takes the UDP sockets and listening TCP sockets that systemd passed (sd_listen_fds(3)). A TCP
 * socket whose FileDescriptorName= is a stream's is one. Any other descriptor is an error, and so
 * is none at all. Removes the variables from the environment. */
int listen_from_systemd(struct listen_sockets *ret_sockets, struct err *err) MUST_CHECK;

void listen_sockets_close(struct listen_sockets *sockets); /* those whose fd is not negative */

/* Makes the error for an address that cannot be opened. Main thread, at start. */

/* Sets `listen on udp://127.0.0.1:53: address already in use; stop ...` and returns the code
 * (-errno). */
int listen_error(const char *transport, const struct addr *address, int code, struct err *err);

#endif
