/* A UDP socket with room for bursts in its receive buffer: the default holds some 277 small
 * packets, and servers lose queries at half load with it. Single-threaded. */
#ifndef BENCH_ANSWERS_UDP_SOCKET_H
#define BENCH_ANSWERS_UDP_SOCKET_H

#include "common/base/addr.h"
#include "common/base/err.h"

/* Unbound; flags as of socket(2). The descriptor, or a negative code. */
int udp_socket(const struct addr *peer, int flags, struct err *err) MUST_CHECK;

#endif
