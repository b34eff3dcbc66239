/* Passes a question's outcome to the waiting queries after the first, in portions. Each
 * takes FORWARDER_PORTION_US, in a turn of the loop of its own, so that sockets are served between
 * two.
 *
 * Clients take turns (fair_queue.h), whatever they wait for: thousands of queries of one client
 * delay another's by one.
 *
 *     question ends --> the first at once --> reply_portions_add: the others
 *                                                `--> portion, loop, portion, loop ...
 *
 * They share one copy of the response, with its forms (reply_forms), until the last of them had its
 * turn. Between two portions, each may be forgotten. On the resolver's loop. */
#ifndef SKYDNS_UPSTREAM_REPLY_PORTIONS_INTERNAL_H
#define SKYDNS_UPSTREAM_REPLY_PORTIONS_INTERNAL_H

#include <ev.h>
#include <sys/queue.h>

#include "skydns/upstream/forwarder.h"

struct forwarder_counts;
struct reply_portions;

enum {
    /* Bounds all shared responses, their tables and forms: 64 of the largest, or some ten thousand
     * of the usual ones. Only one response's forms may exceed it. Over the bound, the waiting
     * queries get DROPPED in their turn; a response that can be cached is in the cache by then. */
    REPLY_PORTIONS_BYTES_MAX = 16 << 20,
};

TAILQ_HEAD(forwarder_waits, forwarder_wait);

/* Borrows `counts`. */
struct reply_portions *reply_portions_new(struct ev_loop *loop, struct forwarder_counts *counts);
void reply_portions_free(struct reply_portions *portions); /* drops all */

/* Takes over these waits, and the forms of the response so far; copies the response. */
void reply_portions_add(struct reply_portions *portions, struct forwarder_waits *waits,
                        const struct forwarder_reply *reply);

/* Forgets a wait whose `shared` is set. */
void reply_portions_forget(struct forwarder_wait *wait);

/* Drops all waits, without callbacks. Not from inside one. */
void reply_portions_drop_all(struct reply_portions *portions);

#endif
