/* Defines an outstanding question: its tries, the queries that wait for it, and its end.
 * forwarder.c keeps the table of them and lists who waits, upstream_query.c runs each, and
 * upstream_query_onward.c follows a response out of its zone. */
#ifndef SKYDNS_UPSTREAM_UPSTREAM_QUERY_INTERNAL_H
#define SKYDNS_UPSTREAM_UPSTREAM_QUERY_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/base/buf.h"
#include "skydns/external/nameserver.h"
#include "skydns/upstream/exchange_channel_internal.h"
#include "skydns/upstream/forwarder.h"
#include "skydns/upstream/forwarder_counts.h"
#include "skydns/upstream/reply_portions_internal.h"
#include "skydns/upstream/upstream_message.h"
#include "skydns/upstream/upstream_zones_internal.h"
#include "skydns/upstream/upstreams.h"

struct exchange;

/* Chains in the table of outstanding questions; at the limit, some ten questions in each chain. */
enum { FORWARDER_TABLE_SIZE = 1024 };

struct
try {
    struct upstream_query *upstream_query;
    struct nameserver server;
    struct exchange *exchange; /* NULL: not started, or over */
    bool is_noted;             /* its silence was counted as a failure of the server */
    bool has_failed;           /* in `figure` */
    bool is_doubted; /* another server was asked; it fails unless a right response comes */
    bool is_lost;    /* doubted: the server is said to be unreachable */
    bool is_plain;   /* sent without EDNS, maybe after silence with it */
    int64_t begun_us;
    struct upstream_figure *figure;
};

/* An outstanding question. */
struct upstream_query {
    LIST_ENTRY(upstream_query) entry;
    TAILQ_ENTRY(upstream_query) background_entry; /* while no query waits */
    struct forwarder *owner;
    struct upstream_zone *zone; /* a reference */
    struct upstream_question question;
    struct addr client; /* the first client, which lends its shares; not known: none */
    struct forwarder_waits waits;
    bool was_waited;   /* a query waited for it at some time */
    bool is_refused;   /* by a server: SERVFAIL, REFUSED, or a malformed response */
    bool has_failed;   /* a server was silent, or could not be reached */
    ev_timer step;     /* until the next try */
    ev_timer deadline; /* fires at once when all tries have failed */
    double step_s;
    size_t server_count;
    size_t begun; /* tries */
    size_t open;  /* of them */
    /* Its response leads on: the CNAMEs, their sender, and the question about their target; or the
     * same question to others. */
    bool leads_on;
    struct buf chain;             /* empty: nothing of its response counts */
    struct nameserver chain_from; /* with it */
    struct forwarder_wait onward;
    unsigned legs; /* the most steps before this one, of those that wait for it so */
    struct try tries[UPSTREAMS_MAX + 1];
};

TAILQ_HEAD(upstream_query_list, upstream_query);

struct forwarder {
    struct forwarder_config config;
    struct forwarder_rules rules;
    struct upstream_zones *zones;
    bool has_stubs; /* sockets are shared: forwarder.h */
    uint32_t seed;
    size_t sockets;
    struct reply_portions *portions; /* of questions that have ended */
    struct forwarder_counts counts;
    struct tcp_places tcp;
    struct upstream_figures figures;
    struct upstream_query_list background; /* those that no query waits for; oldest first */
    LIST_HEAD(upstream_queries, upstream_query) table[FORWARDER_TABLE_SIZE];
};

/* Makes a question that no query waits for yet. It is not in the table, and nothing is sent.
 * `client` NULL: no client's. */
struct upstream_query *upstream_query_new(struct forwarder *forwarder, struct upstream_zone *zone,
                                          const struct upstream_question *question,
                                          unsigned rotation, const struct addr *client);

/* Begins a question in the table. It ends only from the loop, not in here. */
void upstream_query_begin(struct upstream_query *upstream_query);

/* Returns how many sockets may be open: those of open TLS connections are not for questions. */
size_t upstream_query_sockets_max(const struct forwarder *forwarder);

/* Returns whether another question of this zone may open a socket: forwarder.h. */
bool upstream_query_has_room(const struct forwarder *forwarder, const struct upstream_zone *zone);

/* Ends a question that no query waits for, since others need its sockets. */
void upstream_query_give_way(struct upstream_query *upstream_query);

/* Ends the question without any callback. */
void upstream_query_drop(struct upstream_query *upstream_query);

/* End the question, with callbacks. */
void upstream_query_finish_with(struct upstream_query *upstream_query,
                                const struct nameserver *server,
                                const struct parsed_response *response);
void upstream_query_finish_as(struct upstream_query *upstream_query,
                              enum forwarder_outcome outcome);

/* Closes the question's sockets; it goes on to wait. */
void upstream_query_end_tries(struct upstream_query *upstream_query);

/* ---- upstream_query_onward.c ---- */

/* Takes a usable response, which no query has had yet: it ends the question, or leads on. */
void upstream_query_take_response(struct upstream_query *upstream_query,
                                  const struct nameserver *server,
                                  struct parsed_response *response);

/* Ends the wait for another question, if there is one. */
void upstream_query_end_onward(struct upstream_query *upstream_query);

/* ---- forwarder.c ---- */

/* Adds a query that waits. The question is then not in the background any more. */
void upstream_query_wait(struct upstream_query *upstream_query, struct forwarder_wait *wait);

/* Takes the query off that has waited longest; NULL: none waits. */
struct forwarder_wait *upstream_query_next_wait(struct upstream_query *upstream_query);

/* Put the question among those that no query waits for, and take it off when one does, or when the
 * question ends. */
void upstream_query_join_background(struct upstream_query *upstream_query);
void upstream_query_leave_background(struct upstream_query *upstream_query);

#endif
