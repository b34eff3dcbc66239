/* One line to the cluster: the calls waiting or under way, and at most one connection, opened when
 * a call needs it, to the next endpoint after each failure, with back-off; closed after 30 s
 * without a call. The inside of etcd.c and etcd_watch.c; same loop and thread.
 *
 *     idle --call--> looking up, connecting --> open --(no call for 30 s)--> idle
 *                      ^           `-- failed --.  `-- lost --.
 *                      `------- back-off <------+-------------'
 *
 * The addresses of one endpoint's name are tried at once, one after the other
 * (etcd_dialer_internal.h).
 *
 * A member that answers "unavailable" (it has no leader, it is stopping), or something that is no
 * gRPC or makes no sense, or nothing until a call's deadline, is left for the next one.
 *
 * With an auth, a call that has a connection waits for the token; one whose token is refused is
 * sent again, once, with a new one.
 *
 * A call waits for a connection until every endpoint has been tried once since it came, or its
 * deadline; one that was sent ends with its connection. */
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

/* Calls waiting or under way. The writer keeps 8 transactions in flight and the mirror one page;
 * what is above that is a caller that does not look at its errors. */
enum { ETCD_CALLS_MAX = 1024 };

struct etcd_counts;
struct etcd_link;

struct etcd_link_config {
    const char *name; /* for log lines: what it is for; a constant */
    struct ev_loop *loop;
    const struct etcd_endpoints *endpoints; /* borrowed */
    name_lookup_fn look_up;                 /* NULL: the C library */
    struct etcd_auth *auth;                 /* borrowed; NULL: calls go without a token */
    struct tls_client *tls;                 /* borrowed; NULL when there is no https endpoint */
    struct etcd_counts *counts;             /* borrowed */
    /* The files of `tls` changed on disk: NULL when connections use them from now on, else why the
     * old ones stay in use. May be NULL. */
    void (*on_credentials)(void *data, const struct err *err);
    void *data;
};

struct etcd_link *etcd_link_new(const struct etcd_link_config *config);

/* The URL in use, or whose turn it is. */
const char *etcd_link_endpoint(const struct etcd_link *link);

/* Monotonic, when bytes last came from any peer, or when the link was made. */
int64_t etcd_link_heard_ms(const struct etcd_link *link);

/* Calls end without on_end, but with `release`. Not from inside a callback of this link. */
void etcd_link_free(struct etcd_link *link);

struct etcd_call_config {
    const char *path;    /* "/etcdserverpb.KV/Range"; constant */
    uint32_t timeout_ms; /* 0: a stream that stays open, sending side too */
    bool is_tokenless;   /* goes without a token though there is an auth */
    /* On the connection that is open now or not at all (ERR_UNAVAILABLE). For a call that builds on
     * what an earlier one was told: made inside that one's on_end, it asks the same server. */
    bool only_now;

    /* Not 0, with a reason in err: the call ends with it. ERR_PROTOCOL: the message made no sense,
     * and whoever sent it is left. */
    int (*on_message)(void *data, struct slice message, struct err *err);
    /* Once, unless canceled; the call is gone. status: the grpc-status, or -1 when there was none;
     * err is NULL exactly when it is 0. The message begins with the endpoint. ERR_REFUSED is about
     * this call; with ERR_SHUT_OUT it did not come to that. */
    void (*on_end)(void *data, int status, const struct err *err);
    /* The last use of data, after on_end and also when canceled. May be NULL. */
    void (*release)(void *data);
    void *data;
};

/* Takes over the request's bytes. A request that did not fit its buf (GRPC_SEND_MAX) ends in on_end
 * with ERR_TOO_LARGE, as does one call too many. */
struct etcd_call *etcd_link_call(struct etcd_link *link, const struct etcd_call_config *config,
                                 struct buf *request);

/* For the calls that wait for a token: err NULL = there is one, else they end with it. */
void etcd_link_auth_settled(struct etcd_link *link, const struct err *err);

/* Gives up the connection, if there is one, and whom it leads to: its calls end with
 * ERR_UNAVAILABLE and this reason, from inside. Not from inside a callback of this link. */
void etcd_link_leave(struct etcd_link *link, const char *reason);

/* The lines of a client, its loop and the deadline of its calls, for etcd_*.c. */
struct etcd_link *etcd_call_link(struct etcd *etcd);
uint32_t etcd_call_timeout_ms(const struct etcd *etcd);
struct etcd_link *etcd_watch_link(struct etcd *etcd);
struct ev_loop *etcd_loop(const struct etcd *etcd);

/* Range and Txn on the watch line, for what must be asked of the server that is watched. */
struct etcd_call *etcd_watch_range(struct etcd *etcd, const struct etcd_range *range, bool only_now,
                                   etcd_range_cb cb, void *data);
/* The keys and values of the reply stay in the arena, which outlives the call; only now. */
struct etcd_call *etcd_watch_range_into(struct etcd *etcd, const struct etcd_range *range,
                                        struct arena *arena, etcd_range_cb cb, void *data);
struct etcd_call *etcd_watch_txn(struct etcd *etcd, const struct etcd_txn *txn, etcd_txn_cb cb,
                                 void *data); /* only now */

#endif
