/* Opens the sockets of all addresses that are answered on: binds them, takes them from systemd, or
 * shares those of the running skydns that this one takes over from (-reuse-port). Main thread, at
 * start.
 *
 * Each address has one UDP socket for each worker. Workers share a socket that came from another
 * process if there are fewer sockets than workers. Were there more, each would have a worker: a
 * socket that is not read would hold its share of the queries. */
#ifndef SKYDNS_ANSWERING_SOCKETS_H
#define SKYDNS_ANSWERING_SOCKETS_H

#include <stdbool.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "skydns/listen/listen_socket.h"
#include "skydns/listen/passed_sockets.h"
#include "skydns/settings/options.h"

/* Opens one UDP socket of each address, and all others. passed: NULL, none. *ret_workers: of each
 * address. */
int answering_sockets_open(const struct options *options, const struct passed_sockets *passed,
                           struct listen_sockets *ret_sockets, unsigned *ret_workers,
                           struct err *err) MUST_CHECK;

/* Opens a worker's UDP socket, or takes it from `first`, the one of its address. *ret_is_own: no
 * other worker has it, or this is the first of them. */
int answering_sockets_of_worker(const struct options *options, const struct passed_sockets *passed,
                                struct listen_socket *first, unsigned worker,
                                struct listen_socket *ret_socket, bool *ret_is_own,
                                struct err *err) MUST_CHECK;

#endif
