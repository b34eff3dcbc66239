/* The epoll set of the TCP server's connections, itself watched by its loop as one descriptor.
 * libev's own would cost a system call more for every connection that its client resets (it takes
 * the error for room to write, and mends its set), and memory for every descriptor number.
 *
 * Level-triggered. A hang-up (the connection was reset) is told whatever is waited for. Closing a
 * descriptor takes it out. Everything on the loop's thread. */
#ifndef SKYDNS_SERVE_TCP_POLLER_INTERNAL_H
#define SKYDNS_SERVE_TCP_POLLER_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "skydns/serve/deferred.h"

struct tcp_poller;

struct tcp_event {
    struct tcp_ref connection; /* gone, perhaps, by what came before in the same turn */
    uint32_t events;           /* of EPOLLIN, EPOLLOUT, EPOLLHUP, EPOLLERR */
};

/* All that happened in a turn, to one connection each. */
typedef void (*tcp_events_fn)(void *data, const struct tcp_event *events, size_t count);

int tcp_poller_new(struct ev_loop *loop, tcp_events_fn fn, void *data,
                   struct tcp_poller **ret_poller, struct err *err) MUST_CHECK;

void tcp_poller_free(struct tcp_poller *poller); /* NULL is fine */

/* What to wait for at a descriptor that is new here, or (is_known) something else than before.
 * False: the kernel has no room for it. */
bool tcp_poller_set(struct tcp_poller *poller, int fd, bool is_known, uint32_t events,
                    struct tcp_ref connection) MUST_CHECK;

#endif
