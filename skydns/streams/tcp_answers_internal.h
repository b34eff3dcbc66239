/* Answers the connections of a loop: queries in the loop's turns (turn.h), at once or by the
 * resolver; late answers as they come; and the messages of zone transfers. Only on the loop's
 * thread. */
#ifndef SKYDNS_STREAMS_TCP_ANSWERS_INTERNAL_H
#define SKYDNS_STREAMS_TCP_ANSWERS_INTERNAL_H

#include <ev.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"
#include "skydns/resolver/deferred.h"
#include "skydns/resolver/turn.h"
#include "skydns/streams/tcp_server.h"
#include "skydns/transfer/transfers.h"

/* Carries the messages of zone transfers from the transfers' thread to the connections of a loop:
 * the resolver's for plain TCP, the streams' for TLS. A connection has one message at a time in it,
 * so it holds at most as many as there are transfers. */
struct transfer_inbox {
    struct ev_loop *loop;
    struct tcp_server *tcp;
    struct transfers *transfers;
    ev_async filled;
    pthread_mutex_t lock;
    struct transfer_parts parts;
};

/* Makes it before the loop runs; transfers NULL: nothing comes. */
void transfer_inbox_init(struct transfer_inbox *inbox, struct ev_loop *loop, struct tcp_server *tcp,
                         struct transfers *transfers);
void transfer_inbox_fini(struct transfer_inbox *inbox); /* the loop does not run any more */

/* Puts a message, which it takes over. Any thread. */
void transfer_inbox_put(struct transfer_inbox *inbox, struct transfer_part *part);

/* Passes a connection's query on. Returns false if there is no room. The loop's thread. */
bool transfer_inbox_ask(const struct transfer_inbox *inbox, const struct tcp_query *tcp,
                        const struct engine_query *query, struct tsig_keys *keys) MUST_CHECK;

struct namespace_rate;
struct resolver;

struct tcp_answers {
    /* Fields that the owner sets once; the others are zero. */
    struct turn *turn;
    struct tcp_server *tcp;
    struct transfer_inbox *transfers;
    struct resolver *resolver;             /* defers to it, */
    unsigned producer;                     /* as this one, */
    struct reply_to reply_to;              /* for this */
    struct namespace_rate *namespace_rate; /* of all threads */
    size_t late_max;                       /* late answers due at once, besides the ring's limit */
    uint32_t idle_ms;                      /* of connections, as told to clients that ask */

    size_t late;       /* answers that are due */
    int64_t ahead_us;  /* when queries were last announced; monotonic */
    int64_t ahead_s;   /* the same by the wall clock */
    unsigned together; /* so many of them, from the first, have replies that leave together */
    unsigned untimed;  /* of these, answered, but their time is not yet counted, */
    struct query_counts *untimed_counts; /* here */
};

/* Implement tcp_answer_fn, tcp_admit_fn, tcp_ahead_fn and tcp_part_left_fn; their data is the
 * tcp_answers. */
enum engine_verdict tcp_answers_query(void *answers, const struct tcp_query *tcp,
                                      struct response *response);
int64_t tcp_answers_admit(void *answers, const struct addr *client, enum engine_transport transport,
                          bool is_again);
void tcp_answers_look_ahead(void *answers, const struct slice *queries, size_t count,
                            bool are_together);
void tcp_answers_part_left(void *answers, uint64_t transfer, bool is_gone);

/* Sends the late answer to a connection's query; length 0: none. Returns false if the connection is
 * gone. */
bool tcp_answers_late(struct tcp_answers *answers, const struct deferred_origin *origin,
                      const struct response *response);

/* Counts the times of everything answered; call before the sleep. */
void tcp_answers_end_turn(struct tcp_answers *a);

#endif
