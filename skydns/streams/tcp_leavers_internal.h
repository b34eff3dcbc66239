/* Holds connections that are expected to end after their first answer: most clients that do not
 * keep a connection ask once and close it. They stay unwatched for a moment and are then checked
 * once, many together. That saves adding each to the poller and its own wake-up: a quarter of what
 * such a connection costs.
 *
 * Learns from earlier connections: only after TCP_LEAVERS_LEARNT in a row have ended is the next
 * one expected to, and the first that stays starts the count over. So a client that asks again may
 * wait for TCP_LEAVE_MS, but rarely. Only on the server's thread. */
#ifndef SKYDNS_STREAMS_TCP_LEAVERS_INTERNAL_H
#define SKYDNS_STREAMS_TCP_LEAVERS_INTERNAL_H

#include <ev.h>
#include <stdbool.h>

#include "skydns/resolver/deferred.h"

enum {
    /* Within this time, a client on the same network has closed. */
    TCP_LEAVE_MS = 1,
    TCP_LEAVERS_LEARNT = 16,
    /* Room for one moment's connections at a million a second; further ones are watched. */
    TCP_LEAVERS_MAX = 1024,
};

struct tcp_leavers;

/* Called when a connection's time is up; it may be gone already. */
typedef void (*tcp_leaver_fn)(void *data, struct tcp_ref connection);

struct tcp_leavers *tcp_leavers_new(struct ev_loop *loop, tcp_leaver_fn fn, void *data);
void tcp_leavers_free(struct tcp_leavers *leavers);

/* Takes a connection. Returns false if it is not expected to end: the caller watches it. */
bool tcp_leavers_take(struct tcp_leavers *leavers, struct tcp_ref connection);

/* Learns from a connection after its first answer: has_left if it asked nothing more until either
 * side closed it. */
void tcp_leavers_learn(struct tcp_leavers *leavers, bool has_left);

#endif
