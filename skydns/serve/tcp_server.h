/* DNS over TCP (RFC 1035 4.2.2, RFC 7766) on the resolver's loop: framing and connections, nothing
 * of records. Everything that one read brings is answered with one send where it fits; queries may
 * be in any number on a connection, split anywhere, and are answered in any order. A client that
 * does not take its answers is read from no more until it does.
 *
 *     accepted -> reading -> (answers do not fit the socket) -> writing -> reading ...
 *                   |  end of input, or drained: closed once everything in hand is answered
 *                   |  nothing for idle_ms: closed, unless an answer is still awaited
 *                   `  no room for a new one: the longest idle gives way
 *
 * Made and freed on the main thread while the loop does not run; everything else on its thread. */
#ifndef SKYDNS_SERVE_TCP_SERVER_H
#define SKYDNS_SERVE_TCP_SERVER_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "skydns/answer/query.h"
#include "skydns/serve/deferred.h"
#include "skydns/serve/listen_socket.h"

struct tcp_server;

enum {
    TCP_CONNECTIONS_MAX = 10000, /* 0.3 KB each while idle */
    TCP_IDLE_MS = 10000,         /* RFC 7766 6.2.3: a few seconds; what the old program had */
    /* Answers waiting for one slow client: the rest of a batch and what comes late. Beyond, the
     * connection is closed. */
    TCP_OUTPUT_MAX = 1 << 20,
};

struct tcp_query {
    const uint8_t *wire;
    size_t len;
    const struct addr *client;
    const struct addr *local;
    struct tcp_ref connection;
    unsigned ahead; /* its place, from 1, among those that tcp_ahead_fn was told last */
};

/* REPLY: the answer is in reply (ENGINE_REPLY_MAX bytes), its length set. DROP: nothing. DEFER: one
 * tcp_server_reply will follow, later, not from inside this call. */
typedef enum engine_verdict (*tcp_answer_fn)(void *data, const struct tcp_query *query,
                                             uint8_t *reply, size_t *ret_len);

/* The queries that will be answered next; at most ENGINE_AHEAD_MAX. */
typedef void (*tcp_ahead_fn)(void *data, const struct slice *queries, size_t count);

struct tcp_server_config {
    struct ev_loop *loop;
    const struct listen_socket *sockets; /* become the server's to close */
    size_t socket_count;
    size_t connections_max;
    uint32_t idle_ms;
    tcp_answer_fn answer;
    tcp_ahead_fn look_ahead;
    void *data;
};

/* Failure: no descriptor is left; the sockets stay the caller's. */
int tcp_server_new(const struct tcp_server_config *config, struct tcp_server **ret_server,
                   struct err *err) MUST_CHECK;

/* Closes everything at once. NULL is fine. */
void tcp_server_free(struct tcp_server *server);

/* The late answer to a deferred query; len 0 when there is none after all. A connection that has
 * gone meanwhile is no error: false, nothing sent. */
bool tcp_server_reply(struct tcp_server *server, struct tcp_ref connection, const uint8_t *reply,
                      size_t len);

/* Takes no more connections than have been made, answers what has arrived on them, and closes each
 * when all its answers are sent. */
void tcp_server_drain(struct tcp_server *server);

size_t tcp_server_connections(const struct tcp_server *server);

#endif
