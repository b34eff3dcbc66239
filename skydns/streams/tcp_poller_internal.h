/* Polls the TCP server's connections in an epoll set, which its loop watches as one descriptor.
 * libev's own set would cost one more system call for every connection that its client resets (it
 * takes the error for room to write, and repairs its set), and memory for every descriptor number.
 *
 * epoll tells of ready connections in the order in which they became ready, of any client: a client
 * with thousands of them would have each other one wait behind a read for each. So its connections
 * beyond the first TCP_COMMON_CONNECTIONS are in a set of its own, which is one entry of the common
 * set and has its turn as any connection has, for TCP_PIECES_A_TURN of them.
 *
 * Level-triggered. A hang-up (the connection was reset) is always reported. Everything on the
 * loop's thread. */
#ifndef SKYDNS_STREAMS_TCP_POLLER_INTERNAL_H
#define SKYDNS_STREAMS_TCP_POLLER_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "skydns/resolver/deferred.h"

struct tcp_client;
struct tcp_clients;
struct tcp_poller;

/* Limits the entries of the common set that are served before the loop's other watchers get their
 * turn. */
enum { TCP_EVENTS_A_TURN = 128 };

struct tcp_event {
    struct tcp_ref connection; /* may have been closed earlier in the same turn */
    uint32_t events;           /* of EPOLLIN, EPOLLOUT, EPOLLHUP, EPOLLERR */
};

/* Receives events of a turn, one per connection: those of the common set, then those of each set of
 * a client. */
typedef void (*tcp_events_fn)(void *data, const struct tcp_event *events, size_t count);

/* Makes a poller. clients: those that may have sets of their own; NULL: none. */
int tcp_poller_new(struct ev_loop *loop, const struct tcp_clients *clients, tcp_events_fn fn,
                   void *data, struct tcp_poller **ret_poller, struct err *err) MUST_CHECK;

/* Makes ready connections not wake the loop; tcp_poller_take then tells of them. */
void tcp_poller_rest(struct tcp_poller *poller);
void tcp_poller_take(struct tcp_poller *poller);
void tcp_poller_resume(struct tcp_poller *poller);
bool tcp_poller_rests(const struct tcp_poller *poller);

void tcp_poller_free(struct tcp_poller *poller); /* NULL is fine */

/* Watches a new connection of a client for these events. Returns its set, for the next functions;
 * -1: the kernel is out of memory for it. */
int tcp_poller_add(struct tcp_poller *poller, struct tcp_client *client, int fd, uint32_t events,
                   struct tcp_ref connection) MUST_CHECK;

/* Changes the events. Returns false if the kernel is out of memory for it. */
bool tcp_poller_change(int set, int fd, uint32_t events, struct tcp_ref connection) MUST_CHECK;

/* Removes one that moves to another poller; for those of this one that have no sets of clients. */
void tcp_poller_remove(struct tcp_poller *poller, int fd);

/* Lets go of a connection whose descriptor is closed; with a client's last one, of its set. `set`
 * may be another poller's, or -1. */
void tcp_poller_leave(struct tcp_poller *poller, struct tcp_client *client, int set);

#endif
