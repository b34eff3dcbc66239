/* How many UDP queries a second one client may send (-rate): an IPv4 address, or an IPv6 /56, which
 * is what one site gets: RFC 6177. One table for all workers, so that a client has its rate once,
 * however the kernel spreads its ports over their sockets.
 *
 * Each client has one number, the time until which what it sent is paid for (GCRA): a query costs
 * 1/rate of a second, and a client may be at most a burst ahead of the clock. Clients are found by
 * a seeded hash in sets of four, each a cache line; nobody can choose whom it shares a set with. No
 * locks: when an entry changes hands, a query of another thread at that moment may be free, or
 * charged to the new client.
 *
 * The table is fixed: RATE_LIMIT_CLIENTS, more than a cluster has pods, in 4 MiB, of which no page
 * is touched until a client needs it. When a set is full, the client gives way that is least ahead:
 * one that is idle, before one that is over its limit. A client that gave way starts anew, with a
 * whole burst. So a flood from forged addresses costs the others
 * no query: it can only make the table forget clients that are below their limit.
 *
 * The truncated replies have no budget of their own, as REFUSED of -allow has. It would spare
 * little: of a flood, a query costs 2.0 us if every second one gets such a reply, and as much if
 * one in ten gets any. And it would starve whom they are for: whoever forges one client's address
 * would take the budget, and that client would not learn to come over TCP. They are no longer than
 * their queries, and half as many. */
#ifndef SKYDNS_ENGINE_RATE_LIMIT_H
#define SKYDNS_ENGINE_RATE_LIMIT_H

#include <stdint.h>

#include "common/base/addr.h"

struct rate_limit;

enum { RATE_LIMIT_WAYS = 4, RATE_LIMIT_CLIENTS = 256 * 1024 };

/* 1 to ENGINE_RATE_MAX each. */
struct rate {
    uint32_t per_s;
    uint32_t burst;
};

enum rate_verdict {
    RATE_PASS,
    RATE_TRUNCATE, /* an empty reply with TC: every second one, so that a client in need, or one */
    RATE_DROP,     /* in whose name others ask, gets through over TCP; the others: no reply */
};

struct rate_limit *rate_limit_new(void);
void rate_limit_free(struct rate_limit *limit); /* NULL is fine */

/* The client, as the functions below know it. Never 0. */
uint64_t rate_limit_client(const struct addr *addr);

/* Any thread: begins to load the client's entry, which rate_limit_take wants soon. */
void rate_limit_prepare(const struct rate_limit *limit, uint64_t client);

/* Any thread: charges the client for a query, at clock_monotonic_us. After a change of the rate, a
 * client is at most the new burst ahead. */
enum rate_verdict rate_limit_take(struct rate_limit *limit, uint64_t client,
                                  const struct rate *rate, int64_t now_us);

/* Any thread: how many queries the client may send now. For people: changes nothing. */
uint32_t rate_limit_left(const struct rate_limit *limit, uint64_t client, const struct rate *rate,
                         int64_t now_us);

#endif
