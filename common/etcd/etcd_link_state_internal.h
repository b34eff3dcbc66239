/* What etcd_link.c (the connection: to whom, when, until when) and etcd_call.c (the calls that want
 * one: tokens, deadlines, ends) share. Nobody else includes it. */
#ifndef COMMON_ETCD_ETCD_LINK_STATE_INTERNAL_H
#define COMMON_ETCD_ETCD_LINK_STATE_INTERNAL_H

#include <ev.h>
#include <sys/queue.h>

#include "common/base/backoff.h"
#include "common/etcd/etcd_dialer_internal.h"
#include "common/etcd/etcd_link_internal.h"
#include "common/grpc/grpc.h"

struct etcd_call {
    TAILQ_ENTRY(etcd_call) entry;
    struct etcd_link *link;
    struct etcd_call_config config;
    struct buf request;
    struct grpc_stream *stream; /* NULL until there is a connection */
    int64_t deadline_ms;        /* INT64_MAX = none */
    uint64_t answers_before;    /* of its connection, when it was sent */
    bool is_waiting_for_token;
    bool is_sent_again; /* for a refused token */
    bool has_message;
    uint64_t token_generation;
    size_t tries_left; /* endpoints to be tried before giving up */
    struct err doom;   /* code not 0: to be ended with it by the next sweep */
};

struct etcd_link {
    struct etcd_link_config config;
    struct ev_loop *loop;

    /* etcd_link.c */
    struct etcd_dialer *dialer; /* its endpoint: in use, or the next to be tried */
    bool is_dialing;            /* waiting for an address */
    struct grpc *grpc;          /* NULL: no connection, and none under way */
    bool was_opened;            /* this connection */
    struct err last_failure;    /* why there is no connection; code 0 = not tried yet */
    struct backoff backoff;
    int64_t not_before_ms; /* no new connection before */
    uint32_t ping_interval_ms;
    int64_t heard_ms; /* of earlier connections */
    ev_timer retry;
    ev_timer idle;

    /* etcd_call.c */
    TAILQ_HEAD(, etcd_call) calls;
    size_t call_count;
    uint64_t answers;         /* messages and ends that this connection brought to calls */
    int64_t next_deadline_ms; /* when `deadline` fires; INT64_MAX when it does not run */
    ev_timer deadline;
};

/* ---- etcd_link.c ---- */

/* Streams can be opened. */
bool etcd_link_is_open(const struct etcd_link *link);

/* The first call has come, or one more. */
void etcd_link_wanted(struct etcd_link *link);

/* The last call has gone. */
void etcd_link_unwanted(struct etcd_link *link);

/* What came was an answer: the next failure is another matter than the last. */
void etcd_link_made_sense(struct etcd_link *link);

/* The connection stands, but this member is of no use. The calls that it has end with the reason,
 * from inside. */
void etcd_link_leave_member(struct etcd_link *link, const struct err *reason);

/* ---- etcd_call.c ---- */

void etcd_calls_init(struct etcd_link *link);
void etcd_calls_fini(struct etcd_link *link); /* without their ends */

/* There is a connection. */
void etcd_calls_submit(struct etcd_link *link);

/* It goes, with the streams on it; those calls are doomed. */
void etcd_calls_doom_sent(struct etcd_link *link, const struct err *reason);

/* An endpoint has failed, as last_failure says: ends what is doomed, and what has waited for it as
 * the last one. was_opened: it did connect. */
void etcd_calls_turn_failed(struct etcd_link *link, bool was_opened);

#endif
