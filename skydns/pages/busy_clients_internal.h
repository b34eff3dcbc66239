/* Keeps the busiest clients of the last five minutes, in bounded memory, whatever is sent.
 *
 * The window is BUSY_PARTS parts of 30 s, each with a table of BUSY_CLIENTS_MAX clients by
 * Space-Saving (Metwally, Agrawal, El Abbadi 2005): in a full table, a new client replaces the one
 * with the fewest queries, and their number is what it may lack. A list adds the parts up
 * (Mergeable Summaries, Agarwal and others 2012).
 *
 * Shares by namespace: while a namespace's clients have less than BUSY_CLIENTS_MAX divided by the
 * namespaces in the table (clients without one count as one), they replace clients of the largest
 * namespace, and no other client replaces them. So a flood, from spoofed addresses too, displaces
 * no client of another namespace.
 *
 * The error: be W the queries of a namespace's clients in the window, and S that share. A count is
 * never too high, and too low by at most `lacks`, which is at most W / S. A client that is not in
 * the list of all has sent at most W / S. While a namespace has at most S clients, its counts are
 * exact.
 *
 * Main thread. */
#ifndef SKYDNS_PAGES_BUSY_CLIENTS_INTERNAL_H
#define SKYDNS_PAGES_BUSY_CLIENTS_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"

enum {
    BUSY_CLIENTS_MAX = 2048, /* of a part, 150 KB; 40 times as many as are shown */
    BUSY_GROUPS_MAX = 4096,  /* namespaces; 0 is that of clients without one */
    BUSY_PARTS = 10,         /* of the window: the oldest is dropped as a whole */
    BUSY_PART_MS = 30000,
};

/* Counts of a client's queries. */
enum busy_figure {
    BUSY_QUERIES,
    BUSY_NXDOMAIN, /* external ones included */
    BUSY_EXTERNAL,
    BUSY_MISSES,  /* candidates of its search list that failed */
    BUSY_DETOURS, /* lookups of names with dots that all candidates failed for */
    BUSY_FIGURES
};

/* Figures of the window, part by part. Zero-initialized. */
struct busy_window {
    uint32_t parts[BUSY_PARTS][BUSY_FIGURES];
};

/* Adds to a part: 30 seconds have less than 2^32 queries. */
void busy_window_add(struct busy_window *window, unsigned part, const uint32_t add[BUSY_FIGURES]);
void busy_window_sum(const struct busy_window *window, uint64_t ret_sums[BUSY_FIGURES]);

struct busy_client {
    struct ip ip;
    unsigned group;
    uint64_t figures[BUSY_FIGURES];
    uint64_t lacks; /* queries */
};

struct busy_clients *busy_clients_new(void);
void busy_clients_free(struct busy_clients *clients); /* NULL is fine */

/* Adds what a client of a group (below BUSY_GROUPS_MAX) has sent, in the present part. An address
 * that is another group's now is one more client. */
void busy_clients_add(struct busy_clients *clients, const struct ip *ip, unsigned group,
                      const uint32_t figures[BUSY_FIGURES]);

/* Begins the next part, in place of the oldest. */
void busy_clients_turn(struct busy_clients *clients);

/* Returns the part that busy_clients_add adds to. */
unsigned busy_clients_part(const struct busy_clients *clients);

/* Writes the busiest ones, first those with the most queries. Returns how many. */
size_t busy_clients_list(const struct busy_clients *clients, struct busy_client *ret, size_t max);

/* Adds how many clients each group has in the table of the part that has most of them. */
void busy_clients_count(const struct busy_clients *clients, uint16_t ret_counts[BUSY_GROUPS_MAX]);

#endif
