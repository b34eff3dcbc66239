/* Divides the descriptors that the process may open (RLIMIT_NOFILE) between clients' TCP
 * connections, those over TLS, HTTPS, HTTP and gRPC, sockets to nameservers, and everything else
 * (UDP, HTTP, etcd, files), whose share is reserved under any limit. Main thread, at start, before
 * the loops.
 *
 *     |-- everything else --|---- connections ----|---- streams ----|---- to nameservers ----|
 *     0       864, at most half of the limit              evenly                         limit
 *
 * Without such listeners, there are no streams, and the rest has 576. */
#ifndef SKYDNS_CONFINE_DESCRIPTOR_LIMIT_H
#define SKYDNS_CONFINE_DESCRIPTOR_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

struct descriptor_shares {
    size_t connections; /* 1 to TCP_CONNECTIONS_MAX */
    size_t streams;     /* the same; 0 without such listeners */
    size_t nameservers; /* 1 to FORWARDER_SOCKETS_MAX */
};

/* Raises the soft limit to the sum of their maxima, or to a smaller hard limit, with a warning. */
struct descriptor_shares descriptor_limit_raise(bool has_streams);

/* Divides this many descriptors. PURE. */
struct descriptor_shares descriptor_limit_share(size_t limit, bool has_streams);

#endif
