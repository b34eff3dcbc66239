/* Connections that are expected to end now that their first answer is sent: most clients that do
 * not keep a connection ask once and close it. They are not watched for a moment and looked at once
 * then, many together, which spares each the adding to the poller and its own wake-up: a quarter of
 * what such a connection costs.
 *
 * Whether they do end is learnt from those before: only after LEAVERS_LEARNT of them in a row is
 * one expected to, and the first that stays makes it begin anew; so a client that asks again waits
 * for TCP_LEAVE_MS, but seldom. The resolver's thread alone. */
#ifndef SKYDNS_SERVE_TCP_LEAVERS_INTERNAL_H
#define SKYDNS_SERVE_TCP_LEAVERS_INTERNAL_H

#include <ev.h>
#include <stdbool.h>

#include "skydns/serve/deferred.h"

enum {
    /* A client on the same network has closed by then. */
    TCP_LEAVE_MS = 1,
    TCP_LEAVERS_LEARNT = 16,
    /* Those of a moment at a million connections a second. When there are more, they are watched.
     */
    TCP_LEAVERS_MAX = 1024,
};

struct tcp_leavers;

/* The time is up for a connection; it may have gone already. */
typedef void (*tcp_leaver_fn)(void *data, struct tcp_ref connection);

struct tcp_leavers *tcp_leavers_new(struct ev_loop *loop, tcp_leaver_fn fn, void *data);
void tcp_leavers_free(struct tcp_leavers *leavers);

/* False: it is not expected to end; the caller watches it. */
bool tcp_leavers_take(struct tcp_leavers *leavers, struct tcp_ref connection);

/* What a connection did after its first answer: one that asked nothing more until it was closed, by
 * whomever, has left. */
void tcp_leavers_learn(struct tcp_leavers *leavers, bool has_left);

#endif
