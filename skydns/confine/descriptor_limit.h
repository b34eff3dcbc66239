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

#include <stddef.h>

struct descriptor_shares {
    size_t connections;
    size_t streams; /* 0 without such listeners */
    size_t nameservers;
};

/* The most that each can use, at least 1; and the handshakes of streams whose connections are
 * closed already. */
struct descriptor_wants {
    struct descriptor_shares most;
    size_t handshakes;
};

/* Raises the soft limit to the sum of these, or to a smaller hard limit, with a warning. */
struct descriptor_shares descriptor_limit_raise(const struct descriptor_wants *wants);

/* Divides this many descriptors: 1 of each that is wanted, at least. PURE. */
struct descriptor_shares descriptor_limit_share(size_t limit, const struct descriptor_wants *wants);

#endif
