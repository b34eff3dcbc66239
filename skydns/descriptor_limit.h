/* How many descriptors the process may have open (RLIMIT_NOFILE), and who may have them: clients'
 * TCP connections, sockets to nameservers, and everything else (UDP, HTTP, etcd, files), which
 * keeps its own however small the limit is. Main thread, at start, before the loops.
 *
 *     |-- everything else --|---- connections ----|---- to nameservers ----|
 *     0       320, at most half of the limit           evenly          limit */
#ifndef SKYDNS_DESCRIPTOR_LIMIT_H
#define SKYDNS_DESCRIPTOR_LIMIT_H

#include <stddef.h>

struct descriptor_shares {
    size_t connections; /* 1 to TCP_CONNECTIONS_MAX */
    size_t nameservers; /* 1 to FORWARDER_SOCKETS_MAX */
};

/* Raises the soft limit to what all of them can want at once; where the hard limit is smaller, to
 * that, and says so in a warning. */
struct descriptor_shares descriptor_limit_raise(void);

/* The arithmetic alone: of so many descriptors. PURE. */
struct descriptor_shares descriptor_limit_share(size_t limit);

#endif
