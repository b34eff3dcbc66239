/* What watches queries and replies beside the counters: the query log. One for the program, shared
 * by the threads that answer; each of them shows it every reply. Nothing watches: one relaxed load
 * for each reply. */
#ifndef SKYDNS_SERVE_QUERY_TAP_H
#define SKYDNS_SERVE_QUERY_TAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skydns/answer/query.h"
#include "skydns/serve/query_log.h"

struct client_index;
struct query_counts;

/* A query and its reply; all borrowed. */
struct query_seen {
    const struct engine_query *query; /* of a late reply: what is left of it (question_shorten) */
    const uint8_t *reply;             /* as it leaves */
    size_t reply_len;
    size_t rcode;                       /* with OPT's bits */
    const struct client_index *clients; /* whose addresses are known; NULL: nobody's */
    int64_t took_us;                    /* since this program has had the query */
};

struct query_tap {
    _Atomic bool is_on;    /* something watches */
    _Atomic uint64_t rule; /* of the log, in one word: mode and every */
};

void query_tap_init(struct query_tap *tap);

/* Main thread; replies from now on. */
void query_tap_set_log(struct query_tap *tap, struct query_log_rule rule);

/* Any thread that answers. True: query_tap_show wants to see the reply. */
static inline bool query_tap_is_on(const struct query_tap *tap)
{
    return atomic_load_explicit(&tap->is_on, memory_order_relaxed);
}

/* That thread's counts. Never waits. */
void query_tap_show(const struct query_tap *tap, struct query_counts *counts,
                    const struct query_seen *seen);

#endif
