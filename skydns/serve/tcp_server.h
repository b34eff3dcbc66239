/* DNS over TCP (RFC 1035 4.2.2, RFC 7766) on the resolver's loop: framing and connections, no
 * knowledge of records. Answers everything from one read with one send where it fits; a connection
 * may carry any number of queries, split anywhere, and gets its answers in any order. Stops reading
 * from a client that does not accept its answers, or that waits for many late ones.
 *
 *     accepted -> reading -> (answers do not fit the socket) -> writing -> reading ...
 *                   |    `-> (TCP_WAITING_MAX late answers due) -> waiting -> reading ...
 *                   |  end of input, or drained: closed once everything in hand is answered
 *                   |  nothing for idle_ms: closed, unless an answer is still awaited; while
 *                   |  writing, TCP_PROGRESS_MIN bytes must leave in that time
 *                   `  no room for a new one: the longest idle gives way
 *
 * What one client (client_net.h) does costs the others nothing. When all places are taken,
 * a client with more than 1 / TCP_SHARES of them gives way first, even with queries in hand; its
 * own new connections push out no smaller client's. When all buffers together reach their limit,
 * the client that holds most loses connections. However many connections a client has, it gets as
 * much of each turn of the loop as any other. Without scarcity, one client may have everything: a
 * whole node may share an address.
 *
 * Created and freed on the main thread while the loop does not run; all else on its thread. */
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
    TCP_IDLE_MS = 10000,         /* RFC 7766 6.2.3: a few seconds; as in SkyDNS */
    /* Bytes of answers waiting for one slow client: the rest of a batch and late ones. Beyond that,
     * the connection is closed. */
    TCP_OUTPUT_MAX = 1 << 20,
    /* Of all connections' buffers, input and output together: four times what ten clients need that
     * send the longest queries and read the longest answers slowly. Exceeded only by one buffer. */
    TCP_BUFFERS_MAX = 16 << 20,
    /* Of a client's unread answers, in TCP_IDLE_MS: 1.6 KB/s. */
    TCP_PROGRESS_MIN = 16 * 1024,
    /* Late answers due on one connection: at 10 ms each, 12,800 queries/s. */
    TCP_WAITING_MAX = 128,
    /* Of the places: a client with more than one share gives way first. Seven hogs leave the last
     * share to everybody else. */
    TCP_SHARES = 8,
    /* A client's share of one turn of the loop, over all its connections: so many answers, or so
     * many times TCP_ANSWER_BYTES of them; a millisecond at most. */
    TCP_CLIENT_A_TURN = 1024,
    TCP_ANSWER_BYTES = 128,
};

struct tcp_query {
    const uint8_t *wire;
    size_t len;
    const struct addr *client;
    const struct addr *local;
    struct tcp_ref connection;
    size_t client_waiting; /* late answers due to its client, on all its connections */
    unsigned ahead;        /* its place, from 1, in the last call of tcp_ahead_fn */
};

/* REPLY: the answer is in reply (ENGINE_REPLY_MAX bytes), its length set. DROP: no answer. DEFER:
 * one tcp_server_reply follows later, not from inside this call. */
typedef enum engine_verdict (*tcp_answer_fn)(void *data, const struct tcp_query *query,
                                             uint8_t *reply, size_t *ret_len);

/* The queries to be answered next; at most ENGINE_AHEAD_MAX. */
typedef void (*tcp_ahead_fn)(void *data, const struct slice *queries, size_t count);

struct tcp_server_config {
    struct ev_loop *loop;
    const struct listen_socket *sockets; /* taken over; the server closes them */
    size_t socket_count;
    size_t connections_max;
    size_t buffers_max; /* TCP_BUFFERS_MAX, or less in a test */
    uint32_t idle_ms;
    tcp_answer_fn answer;
    tcp_ahead_fn look_ahead;
    void *data;
};

/* Fails if no descriptor is left; the caller then keeps the sockets. */
int tcp_server_new(const struct tcp_server_config *config, struct tcp_server **ret_server,
                   struct err *err) MUST_CHECK;

/* Closes everything at once. NULL is fine. */
void tcp_server_free(struct tcp_server *server);

/* The late answer to a deferred query; len 0: none after all. False: the connection is gone, which
 * is not an error; nothing was sent. */
bool tcp_server_reply(struct tcp_server *server, struct tcp_ref connection, const uint8_t *reply,
                      size_t len);

/* Accepts only connections already made, answers what has arrived on them, and closes each once all
 * its answers are sent. */
void tcp_server_drain(struct tcp_server *server);

/* Reads no more from this connection, and closes it once what is in hand is answered. Also from
 * inside tcp_answer_fn. */
void tcp_server_end(struct tcp_server *server, struct tcp_ref connection);

size_t tcp_server_connections(const struct tcp_server *server);

/* Connections closed to make room for others, since the start. */
uint64_t tcp_server_evictions(const struct tcp_server *server);

#endif
