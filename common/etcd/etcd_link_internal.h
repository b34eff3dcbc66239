/* One link to the etcd cluster: its calls, waiting or in flight, and at most one connection. The
 * connection opens when a call needs it and closes after 30 s without one. After each failure the
 * link backs off and tries the next endpoint. Internal to etcd.c and etcd_watch.c; same loop and
 * thread.
 *
 *     idle --call--> looking up, connecting --> open --(no call for 30 s)--> idle
 *                      ^           `-- failed --.  `-- lost --.
 *                      `-------- backoff <------+-------------'
 *
 * The addresses of one endpoint are tried one after the other, without backoff
 * (etcd_dialer_internal.h).
 *
 * The link leaves a member that answers "unavailable" (no leader, or stopping), sends something
 * malformed or other than gRPC, or is silent until a call's deadline.
 *
 * With an auth, a call that has a connection waits for the token; if etcd refuses the token, the
 * call is resent once with a new one.
 *
 * An unsent call waits for a connection until its deadline, or until every endpoint has been tried
 * once since the call started; a sent call ends with its connection. */
#ifndef COMMON_ETCD_ETCD_LINK_INTERNAL_H
#define COMMON_ETCD_ETCD_LINK_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/etcd/etcd.h"
#include "common/etcd/etcd_auth_internal.h"
#include "common/etcd/etcd_endpoint_internal.h"
#include "common/etcd/name_lookup.h"
#include "common/tls/tls_client.h"

/* Bounds the calls waiting or in flight. The writer has 8 transactions in flight and the mirror one
 * page; far more means a caller that ignores its errors. */
enum { ETCD_CALLS_MAX = 1024 };

struct etcd_counts;
struct etcd_link;

struct etcd_link_config {
    const char *name; /* its purpose, for log lines; a constant */
    struct ev_loop *loop;
    const struct etcd_endpoints *endpoints; /* borrowed */
    name_lookup_fn look_up;                 /* NULL: the C library */
    struct etcd_auth *auth;                 /* borrowed; NULL: calls go without a token */
    struct tls_client *tls;                 /* borrowed; NULL without an https endpoint */
    struct etcd_counts *counts;             /* borrowed */
};

struct etcd_link *etcd_link_new(const struct etcd_link_config *config);

/* Returns the URL in use or next to try. */
const char *etcd_link_endpoint(const struct etcd_link *link);

/* Returns the monotonic time of the last bytes from any peer, or of the link's creation. */
int64_t etcd_link_heard_ms(const struct etcd_link *link);

/* Ends the calls without on_end, but runs `release`. Not from inside a callback of this link. */
void etcd_link_free(struct etcd_link *link);

struct etcd_call_config {
    const char *path;    /* "/etcdserverpb.KV/Range"; constant */
    uint32_t timeout_ms; /* 0: a stream that stays open, including its sending side */
    bool is_tokenless;   /* sent without a token even with an auth */
    /* Sends the call on the connection that is open now or not at all (ERR_UNAVAILABLE). A call
     * that builds on an earlier response needs it: started inside that call's on_end, it reaches
     * the same server. */
    bool only_now;

    /* Handles a message. A return other than 0, with a reason in err, ends the call. ERR_PROTOCOL:
     * malformed message; the link leaves the member that sent it. */
    int (*on_message)(void *data, struct slice message, struct err *err);
    /* Ends the call, once, unless it was canceled; the call is gone. status: the grpc-status, or -1
     * if none came; err is NULL exactly when status is 0. The message begins with the endpoint.
     * ERR_REFUSED is about this call; with ERR_SHUT_OUT etcd never judged it. */
    void (*on_end)(void *data, int status, const struct err *err);
    /* Uses data for the last time, after on_end and also when canceled. May be NULL. */
    void (*release)(void *data);
    void *data;
};

/* Starts a call and takes ownership of the request's bytes. A request that did not fit its buf
 * (GRPC_SEND_MAX) ends in on_end with ERR_TOO_LARGE, as does a call over ETCD_CALLS_MAX. */
struct etcd_call *etcd_link_call(struct etcd_link *link, const struct etcd_call_config *config,
                                 struct buf *request);

/* Resumes the calls that wait for a token: err NULL = it is there, else they end with err. */
void etcd_link_auth_settled(struct etcd_link *link, const struct err *err);

/* Drops the connection, if any, and moves to the next endpoint. Its calls end with ERR_UNAVAILABLE
 * and this reason, from inside. Not from inside a callback of this link. */
void etcd_link_leave(struct etcd_link *link, const char *reason);

/* Return a client's links, its loop and its call timeout, for etcd_*.c. */
struct etcd_link *etcd_call_link(struct etcd *etcd);
uint32_t etcd_call_timeout_ms(const struct etcd *etcd);
struct etcd_link *etcd_watch_link(struct etcd *etcd);
struct ev_loop *etcd_loop(const struct etcd *etcd);

/* Run Range and Txn on the watch link, for requests that must reach the watched server. */
struct etcd_call *etcd_watch_range(struct etcd *etcd, const struct etcd_range *range, bool only_now,
                                   etcd_range_cb cb, void *data);
/* Leaves the response's keys and values in the arena, which outlives the call. Sent only on the
 * open connection, with a timeout of its own. */
struct etcd_call *etcd_watch_range_into(struct etcd *etcd, const struct etcd_range *range,
                                        uint32_t timeout_ms, struct arena *arena, etcd_range_cb cb,
                                        void *data);
struct etcd_call *etcd_watch_txn(struct etcd *etcd, const struct etcd_txn *txn, etcd_txn_cb cb,
                                 void *data); /* sent only on the open connection */

#endif
