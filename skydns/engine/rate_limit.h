/* Limits the UDP queries that one client may send in a second (-rate). A client is an IPv4 address,
 * or an IPv6 /56, which is what one site has (RFC 6177). All workers share one table, so that a
 * client has its rate once, however the kernel spreads its ports over their sockets.
 *
 * Each client has one number, the time until which its queries are paid for (GCRA). A query costs
 * 1/rate of a second, and a client may be at most a burst ahead of the clock. There are no
 * locks: when an entry changes hands, another thread's query at that moment may be free, or charged
 * to the new client (rate_table_internal.h).
 *
 * The table is fixed: RATE_LIMIT_CLIENTS, more than a cluster has pods, in 4 MiB, of which no page
 * is touched until a client needs it. A full set evicts the client that is least ahead: an idle one
 * before one that is over its limit. An evicted client starts anew, with a whole burst. So a flood
 * from forged addresses costs other clients no query: it can only evict clients that are below
 * their limit.
 *
 * The truncated responses have no budget of their own, as REFUSED of -allow has. It would save
 * little: in a flood, a query costs 2.0 us, whether every second one gets such a response or one in
 * ten. And anybody who forges one client's address would use up the budget, and that client would
 * not learn to use TCP. The responses are no longer than their queries, and half as many. */
#ifndef SKYDNS_ENGINE_RATE_LIMIT_H
#define SKYDNS_ENGINE_RATE_LIMIT_H

#include <stdint.h>

#include "common/base/addr.h"

struct rate_limit;

enum { RATE_LIMIT_CLIENTS = 256 * 1024 };

/* A limit; 1 to ENGINE_RATE_MAX each. */
struct rate {
    uint32_t per_s;
    uint32_t burst;
};

enum rate_verdict {
    RATE_PASS,
    RATE_TRUNCATE, /* an empty response with TC, to every second query over the limit: so a client
                    * in need, */
    RATE_DROP, /* or one whose address is forged, gets through over TCP; the others get no response
                */
};

struct rate_limit *rate_limit_new(void);
void rate_limit_free(struct rate_limit *limit); /* NULL is fine */

/* Returns the client's identity for the functions below. Never 0. */
uint64_t rate_limit_client(const struct addr *addr);

/* Begins to load the client's entry, which rate_limit_take wants soon. Any thread. */
void rate_limit_prepare(const struct rate_limit *limit, uint64_t client);

/* Charges the client for a query, at clock_monotonic_us. After a change of the rate, a client is at
 * most the new burst ahead. Any thread. */
enum rate_verdict rate_limit_take(struct rate_limit *limit, uint64_t client,
                                  const struct rate *rate, int64_t now_us);

/* Returns how many queries the client may send now, for display. Changes nothing. Any thread. */
uint32_t rate_limit_left(const struct rate_limit *limit, uint64_t client, const struct rate *rate,
                         int64_t now_us);

#endif
