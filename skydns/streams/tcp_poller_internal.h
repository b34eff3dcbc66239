/* Polls the TCP server's connections in an epoll set, which its loop watches as one descriptor.
 * libev's own set would cost one more system call for every connection that its client resets (it
 * takes the error for room to write, and repairs its set), and memory for every descriptor number.
 *
 * Level-triggered. A hang-up (the connection was reset) is always reported. Closing a descriptor
 * removes it. Everything on the loop's thread. */
#ifndef SKYDNS_STREAMS_TCP_POLLER_INTERNAL_H
#define SKYDNS_STREAMS_TCP_POLLER_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "skydns/resolver/deferred.h"

struct tcp_poller;

/* Limits the connections served before the loop's other watchers get their turn. */
enum { TCP_EVENTS_A_TURN = 128 };

struct tcp_event {
    struct tcp_ref connection; /* may have been closed earlier in the same turn */
    uint32_t events;           /* of EPOLLIN, EPOLLOUT, EPOLLHUP, EPOLLERR */
};

/* Receives all events of a turn, one per connection. */
typedef void (*tcp_events_fn)(void *data, const struct tcp_event *events, size_t count);

int tcp_poller_new(struct ev_loop *loop, tcp_events_fn fn, void *data,
                   struct tcp_poller **ret_poller, struct err *err) MUST_CHECK;

/* Makes ready connections not wake the loop; tcp_poller_take then tells of them. */
void tcp_poller_rest(struct tcp_poller *poller);
void tcp_poller_take(struct tcp_poller *poller);
void tcp_poller_resume(struct tcp_poller *poller);
bool tcp_poller_rests(const struct tcp_poller *poller);

void tcp_poller_free(struct tcp_poller *poller); /* NULL is fine */

/* Sets the events to wait for on a new descriptor, or changes them (is_known). Returns false if the
 * kernel is out of memory for it. */
bool tcp_poller_set(struct tcp_poller *poller, int fd, bool is_known, uint32_t events,
                    struct tcp_ref connection) MUST_CHECK;

/* Removes a descriptor that moves to another set. */
void tcp_poller_remove(struct tcp_poller *poller, int fd);

#endif
