/* The state that etcd_link.c and etcd_call.c share; nothing else includes it.
 *
 * etcd_link.c has the connection: to which endpoint, when, how long. etcd_call.c has the calls on
 * it: tokens, deadlines, ends. */
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
    uint64_t answers_before;    /* its connection's `answers` when it was sent */
    bool is_waiting_for_token;
    bool is_sent_again; /* for a refused token */
    bool has_message;
    uint64_t token_generation;
    size_t tries_left; /* endpoints to try before giving up */
    struct err doom;   /* code not 0: the next sweep ends the call with it */
};

struct etcd_link {
    struct etcd_link_config config;
    struct ev_loop *loop;

    /* etcd_link.c */
    struct etcd_dialer *dialer; /* its endpoint: in use or next to try */
    bool is_dialing;            /* waiting for an address */
    struct grpc *grpc;          /* NULL: neither connected nor connecting */
    bool was_opened;            /* this connection has opened */
    struct err last_failure;    /* why there is no connection; code 0 = not tried yet */
    struct backoff backoff;
    int64_t not_before_ms; /* no new connection before this */
    uint32_t ping_interval_ms;
    int64_t heard_ms; /* of earlier connections */
    ev_timer retry;
    ev_timer idle;

    /* etcd_call.c */
    TAILQ_HEAD(, etcd_call) calls;
    size_t call_count;
    uint64_t answers;         /* messages and ends this connection has delivered to calls */
    int64_t next_deadline_ms; /* when `deadline` fires; INT64_MAX when it does not run */
    ev_timer deadline;
};

/* ---- etcd_link.c ---- */

/* Returns whether streams can be opened. */
bool etcd_link_is_open(const struct etcd_link *link);

/* Opens a connection if there is none, as a call was added. */
void etcd_link_wanted(struct etcd_link *link);

/* Starts the idle time, as the last call is gone. */
void etcd_link_unwanted(struct etcd_link *link);

/* Leaves a member that is of no use although its connection is open. The calls sent to it end with
 * the reason, from inside. */
void etcd_link_leave_member(struct etcd_link *link, const struct err *reason);

/* ---- etcd_call.c ---- */

void etcd_calls_init(struct etcd_link *link);
void etcd_calls_fini(struct etcd_link *link); /* without on_end */

/* Sends the waiting calls, as the connection has opened. */
void etcd_calls_submit(struct etcd_link *link);

/* Dooms the sent calls, whose streams close with the connection. */
void etcd_calls_doom_sent(struct etcd_link *link, const struct err *reason);

/* Ends the doomed calls, and those that have no endpoint left to try, after an endpoint failed
 * (last_failure). was_opened: it had connected. */
void etcd_calls_turn_failed(struct etcd_link *link, bool was_opened);

#endif
