/* Those who wait for a question that has ended, beyond the first of them: they get its outcome in
 * portions of a millisecond at most, one a turn of the loop, so that sockets are looked at
 * between two. Clients take turns (fair_queue.h), whatever they wait for: thousands of queries of
 * one client delay another's by one.
 *
 *     flight ends --> the first at once --> reply_portions_add: the others
 *                                              `--> portion, loop, portion, loop ...
 *
 * They share one copy of the response, with what is made of it (reply_forms), until the last of
 * them had its turn. Between two portions, each may be forgotten. On the resolver's loop. */
#ifndef SKYDNS_UPSTREAM_REPLY_PORTIONS_INTERNAL_H
#define SKYDNS_UPSTREAM_REPLY_PORTIONS_INTERNAL_H

#include <ev.h>
#include <sys/queue.h>

#include "skydns/upstream/forwarder.h"

struct forwarder_counts;
struct reply_portions;

enum {
    /* What others wait for at most, beside one callback. */
    REPLY_PORTION_US = 1000,
    /* Of all shared responses, their tables and what is made of them: 64 of the largest, or some
     * ten thousand of the usual ones. Exceeded only by what is made of one. Beyond, those who wait
     * are told DROPPED in their turn; a response that can be cached is in the cache by then. */
    REPLY_PORTIONS_BYTES_MAX = 16 << 20,
};

TAILQ_HEAD(forwarder_waits, forwarder_wait);

/* `counts` is borrowed. */
struct reply_portions *reply_portions_new(struct ev_loop *loop, struct forwarder_counts *counts);
void reply_portions_free(struct reply_portions *portions); /* drops all */

/* Takes over these waits, and what was made of the reply so far; copies the response. */
void reply_portions_add(struct reply_portions *portions, struct forwarder_waits *waits,
                        const struct forwarder_reply *reply);

/* Of one whose `shared` is set: it waits no longer. */
void reply_portions_forget(struct forwarder_wait *wait);

/* All of them, without callbacks. Not from inside one. */
void reply_portions_drop_all(struct reply_portions *portions);

#endif
