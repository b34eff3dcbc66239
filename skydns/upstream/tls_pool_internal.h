/* Declares the parts of tls_pool.h: upstreams (tls_peers.c), the questions on a connection and
 * their shares of all connections (tls_asks.c), and the connections (tls_pool.c). */
#ifndef SKYDNS_UPSTREAM_TLS_POOL_INTERNAL_H
#define SKYDNS_UPSTREAM_TLS_POOL_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/base/backoff.h"
#include "common/base/err.h"
#include "skydns/external/nameserver.h"
#include "skydns/upstream/tls_link_internal.h"
#include "skydns/upstream/tls_pool.h"

struct client_loads;
struct ssl_session_st;
struct tls_client;
struct tls_handshakes;

/* Chains of the questions on a connection; four in each, at the limit. */
enum { TLS_ID_CHAINS = 64 };

LIST_HEAD(sent_asks, tls_ask);
TAILQ_HEAD(waiting_asks, tls_ask);

/* A connection and its questions. */
struct tls_link_user {
    LIST_ENTRY(tls_link_user) entry;
    struct tls_peer *peer;
    struct tls_link link;
    bool is_retired; /* takes no more questions, and ends with the last response */
    bool makes_room; /* ends for another: its questions are asked again */
    bool knows_idle; /* a response told how long it may be idle, or could have */
    double idle_s;
    size_t open;                              /* questions sent, not answered or forgotten */
    uint64_t asked, heard, answered, unasked; /* messages, since it was made */
    struct sent_asks by_id[TLS_ID_CHAINS];
    struct waiting_asks sent; /* the same, in their order */
    struct tls_ask *holder;   /* NULL: none, so that it may have to make room */
};

/* An upstream. */
struct tls_peer {
    TAILQ_ENTRY(tls_peer) entry;
    struct tls_pool *pool;
    struct nameserver server;
    LIST_HEAD(, tls_link_user) links;
    size_t link_count;
    struct waiting_asks waiting;
    size_t waiting_count;
    size_t taken;               /* questions sent, waiting or lost, */
    struct client_loads *loads; /* and by client */
    struct waiting_asks lost;   /* these fail now */
    uint64_t round;
    bool is_calling; /* callbacks run: it stays */
    struct backoff backoff;
    ev_timer retry; /* active: no connection is made until then */
    struct ssl_session_st *ticket;
    bool is_failing;
    bool is_starved; /* the last connection could not be made because we lacked descriptors */
    char told[sizeof(((struct err *)0)->msg)]; /* the last failure, while it fails */
};

struct tls_pool {
    struct tls_pool_config config;
    struct tls_pool_counts counts;
    bool has_files;
    struct tls_client *client;         /* NULL: the system's CAs, not yet needed */
    struct tls_handshakes *handshakes; /* NULL: not yet needed */
    ev_async wake;
    ev_timer refresh;
    TAILQ_HEAD(peers, tls_peer) peers; /* the last asked first */
    size_t peer_count;
    bool is_short;              /* of connections: a question waits for one to end */
    size_t held;                /* connections held, */
    struct client_loads *loads; /* and by client */
};

/* ---- tls_peers.c ---- */

/* Returns the upstream's entry. NULL: too many have something going on. */
struct tls_peer *tls_peer_get(struct tls_pool *pool, const struct nameserver *server);

/* Frees an entry without connections and questions. */
void tls_peer_free(struct tls_peer *peer);

/* Notes a failure: no connection, or one that answered nothing. Logs the reason, and starts the
 * backoff. */
void tls_peer_failed(struct tls_peer *peer, const struct err *err);
void tls_peer_answered(struct tls_peer *peer);

/* ---- tls_asks.c ---- */

/* Sends the question on this connection, with a new id, and lets it hold the connection if it may.
 */
void tls_ask_send(struct tls_link_user *user, struct tls_ask *ask);

/* Takes the question of this response off its connection. NULL: no question matches. */
struct tls_ask *tls_ask_answered(struct tls_link_user *user, const uint8_t *message, size_t len);

/* Takes the question off its connection. */
void tls_ask_take_off(struct tls_ask *ask);

/* Takes a place of the client's, which is free when the question has ended, however it did.
 * `waits`: it will wait. Returns false when the client has its share. */
bool tls_ask_take_place(struct tls_peer *peer, struct tls_ask *ask, bool waits) MUST_CHECK;
void tls_ask_leave_place(struct tls_ask *ask);

/* Makes the question wait for a connection to its upstream. */
void tls_ask_wait(struct tls_peer *peer, struct tls_ask *ask);
void tls_ask_stop_waiting(struct tls_ask *ask);

/* Lets a connection without questions be idle, or ends it if it was to end with the last response.
 * One that no question holds ends if another is waited for. */
void tls_link_rest(struct tls_link_user *user);

/* Ends the connection for another upstream's, which is opened then. */
void tls_link_make_room(struct tls_link_user *user);

/* Returns whether client and zone may hold one more connection. */
bool tls_ask_may_hold(const struct tls_pool *pool, const struct tls_ask *ask);

/* Makes the question hold the connection, if no other does and it may. A question holds at most
 * one. */
void tls_link_hold(struct tls_link_user *user, struct tls_ask *ask);

/* Ends the hold on the connection. */
void tls_link_release(struct tls_link_user *user);

/* Passes the question's hold to the next question there that may have it. The question is off the
 * lists already. */
void tls_ask_pass_on(struct tls_ask *ask);

/* ---- tls_pool.c ---- */

/* Sends the waiting questions, and connects if they need it. */
void tls_peer_pump(struct tls_peer *peer);

#endif
