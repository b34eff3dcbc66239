/* A UDP socket with room for bursts in its receive buffer: the default holds some 277 small
 * packets, too few for servers even at half load. Single-threaded. */
#ifndef BENCH_ANSWERS_UDP_SOCKET_H
#define BENCH_ANSWERS_UDP_SOCKET_H

#include "common/base/addr.h"
#include "common/base/err.h"

/* Unbound; flags as for socket(2). Returns the descriptor, or a negative code. */
int udp_socket(const struct addr *peer, int flags, struct err *err) MUST_CHECK;

#endif
