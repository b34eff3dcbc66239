/* Serves connections that carry DNS, on the loop of one thread: plain DNS over TCP (RFC 1035 4.2.2,
 * RFC 7766) on the resolver's; TLS and other protocols (stream_protocol.h) on the streams'. Knows
 * framing and connections, not records. Answers everything from one read with one send where it
 * fits. A connection may carry any number of queries, split anywhere, and gets its answers in any
 * order. Stops reading from a client that does not accept its answers, or that waits for many late
 * ones.
 *
 *     accepted -> reading -> (answers do not fit the socket) -> writing -> reading ...
 *                   |    `-> (TCP_WAITING_MAX late answers due, or TCP_AWAITED_MAX bytes of
 *                   |        them) -> waiting -> reading ...
 *                   |`-> (its next query is not admitted: a rate) -> throttled -> reading ...
 *                   |  end of input, or drained: closed once everything in hand is answered
 *                   |  nothing for idle_ms: closed, unless an answer is still awaited; while
 *                   |  writing, TCP_PROGRESS_MIN bytes must leave in that time
 *                   |  its protocol has ended: lingers until the client ends, too, for
 *                   |  TCP_LINGER_MS at most; is the first to be evicted
 *                   `  no room for a new one: the longest idle is evicted
 *
 * With TLS, a handshake comes first, on other threads. The client has handshake_ms to send its
 * first byte, which begins it, and as long again to finish it. Its connection counts like any
 * other. While TCP_HANDSHAKES_MAX are unfinished, further sockets are not read, for as long as it
 * takes. Clients take turns. The one with most unfinished handshakes loses one to a client with
 * fewer, or one that takes longer than TCP_HANDSHAKE_SLOW_MS is lost to another client.
 *
 * A client (client_net.h) costs the others nothing. When there are connections_max, a client with
 * more than 1 / TCP_SHARES of them is the first to lose one, even with queries in hand; its own new
 * connections push out no smaller client's. When all buffers together reach their limit, the client
 * that holds most loses connections. However many connections a client has, it gets as much of each
 * turn of the loop as any other. Without scarcity, one client may have everything: a whole node may
 * share an address.
 *
 * The answer to a query may be several messages (tcp_server_reply_part), each sent once the one
 * before has left: one is held for a client that reads slowly. Meanwhile, other queries of its
 * connection are answered.
 *
 * Created and freed on the main thread while the loop does not run; all else on its thread. */
#ifndef SKYDNS_STREAMS_TCP_SERVER_H
#define SKYDNS_STREAMS_TCP_SERVER_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "skydns/listen/listen_socket.h"
#include "skydns/resolver/deferred.h"
#include "skydns/streams/stream_protocol.h"
#include "skydns/wire/query.h"

struct tcp_server;
struct tls_handshakes;

enum {
    TCP_CONNECTIONS_MAX = 10000, /* 0.3 KB each while idle, without what TLS needs */
    TCP_IDLE_MS = 10000,         /* RFC 7766 6.2.3: a few seconds; as in SkyDNS */
    /* Limits the buffers of all connections, input and output together. Four times what ten clients
     * need that send the longest queries and read the longest answers slowly. Exceeded only by one
     * buffer. */
    TCP_BUFFERS_MAX = 16 << 20,
    /* Bytes of a client's unread answers that it must read in TCP_IDLE_MS: 1.6 KB/s. */
    TCP_PROGRESS_MIN = 16 * 1024,
    /* Limits late answers due on one connection: at 10 ms each, 12,800 queries/s. */
    TCP_WAITING_MAX = 128,
    /* Limits their bytes, if they are as long as the last ones: 8 KiB each, or fewer of the
     * longest. */
    TCP_AWAITED_MAX = 1 << 20,
    /* Limits a connection's bytes of answers that its socket has no room for yet. It has room for
     * all that may be due, of any length, as nobody knows it before they come, and for what a turn
     * leaves. So a client that reads has its connection for as long as all buffers are within their
     * limit. */
    TCP_OUTPUT_MAX = (TCP_WAITING_MAX + 8) * (64 << 10),
    /* Divides the connections: a client with more than one share loses connections first. Seven
     * hogs leave the last share to everybody else. */
    TCP_SHARES = 8,
    /* Limits a client's share of one turn of the loop, over all its connections: so many answers,
     * or so many times TCP_ANSWER_BYTES of them and of their queries; a millisecond at most. */
    TCP_CLIENT_A_TURN = 1024,
    TCP_ANSWER_BYTES = 128,
    /* A client's connections beyond so many are in an epoll set of its own: of these, so many are
     * served in a turn while there are other clients. They wait behind twice 8 queries, 10 us each.
     * Such sets are limited, since each is a descriptor; who comes later has none. */
    TCP_COMMON_CONNECTIONS = 8,
    TCP_PIECES_A_TURN = 8,
    TCP_SETS_MAX = 256,
    /* Limits handshakes begun and not finished: 40 MiB at TLS_HANDSHAKE_BYTES, a fifth of a pod. An
     * honest one takes a round trip and a millisecond: at 100 ms, 2,560 a second. Those of closed
     * connections count until their last step is done: descriptors beyond connections_max. */
    TCP_HANDSHAKES_MAX = 256,
    /* After that time, a handshake loses its place to one that waits to begin. Otherwise addresses
     * by the hundred, each with its share, would keep the others out for all of handshake_ms. */
    TCP_HANDSHAKE_SLOW_MS = 1000,
    /* Time and bytes after the last response of a protocol that has ended: the client reads it
     * before what it still sends resets the connection. As much as HTTP/2's windows let it have on
     * its way. */
    TCP_LINGER_MS = 2000,
    TCP_LINGER_BYTES = 1 << 20,
};

struct tcp_query {
    const uint8_t *wire;
    size_t len;
    const struct addr *client;
    const struct addr *local;
    enum engine_transport transport;
    struct tcp_ref connection;
    uint64_t tag;          /* its protocol's; 0 with DNS's own framing */
    size_t client_waiting; /* late answers due to its client, on all its connections */
    unsigned ahead;        /* its place, from 1, in the last call of tcp_ahead_fn; 0: none */
};

/* Answers a query. REPLY: the response, of ENGINE_REPLY_MAX bytes, is filled in. DROP: no answer.
 * DEFER: one tcp_server_reply follows later, not from inside this call. */
typedef enum engine_verdict (*tcp_answer_fn)(void *data, const struct tcp_query *query,
                                             struct response *response);

/* Returns 0 if the client's next query may be read now, which it then will be. Else returns how
 * many us later it is worth trying again; nothing of its connection is read until then. is_again:
 * the same query was refused before. */
typedef int64_t (*tcp_admit_fn)(void *data, const struct addr *client,
                                enum engine_transport transport, bool is_again);

/* Told when the socket has taken the message that tcp_server_reply_part had for this transfer; or,
 * if is_gone, that its connection was closed before. May not call back. */
typedef void (*tcp_part_left_fn)(void *data, uint64_t transfer, bool is_gone);

/* Announces the queries to be answered next; at most ENGINE_AHEAD_MAX. are_together: they are one
 * connection's, and none of their responses leaves before the last is made. */
typedef void (*tcp_ahead_fn)(void *data, const struct slice *queries, size_t count,
                             bool are_together);

struct tcp_server_config {
    struct ev_loop *loop;
    const struct listen_socket *sockets; /* taken over; the server closes them */
    size_t socket_count;
    size_t connections_max;
    size_t buffers_max; /* TCP_BUFFERS_MAX, or less in a test */
    uint32_t idle_ms;
    struct stream_kind kinds[ENGINE_TRANSPORTS]; /* zero: DNS's own framing, in the clear */
    struct tls_handshakes *handshakes; /* with TLS: stopped before tcp_server_free, freed after */
    uint32_t handshake_ms;             /* for its first byte, and for the rest */
    tcp_answer_fn answer;
    const bool *is_limited; /* queries are admitted one by one; NULL: never */
    tcp_admit_fn admit;     /* while *is_limited */
    tcp_ahead_fn look_ahead;
    tcp_part_left_fn part_left; /* NULL: no answer has parts */
    void *data;
};

/* Makes the server. Fails if no descriptor is left; the caller then keeps the sockets. */
int tcp_server_new(const struct tcp_server_config *config, struct tcp_server **ret_server,
                   struct err *err) MUST_CHECK;

/* Closes everything at once. NULL is fine. */
void tcp_server_free(struct tcp_server *server);

/* Returns whether the connection is there, or was a moment ago. Any thread. */
bool tcp_server_has(const struct tcp_server *server, struct tcp_ref connection);

/* Sends the late answer to a deferred query, with its tag; length 0: none after all. Returns
 * false if the connection is gone, which is no error: then nothing was sent. */
bool tcp_server_reply(struct tcp_server *server, struct tcp_ref connection, uint64_t tag,
                      const struct response *response);

/* Sends one of the messages that answer a deferred query. With the last one, or with none (len 0,
 * is_last), the query is answered. reply NULL: it is broken off, and the connection reads no more.
 *
 * Calls part_left once for each other message, with this transfer, an ID that is not 0; send the
 * next message after that, and nothing of another transfer before. Only with DNS's own framing.
 * Returns false if the connection is gone: then part_left is not called. */
bool tcp_server_reply_part(struct tcp_server *server, struct tcp_ref connection, uint64_t transfer,
                           bool is_last, const uint8_t *reply, size_t len);

/* Takes the handshakes' finished jobs; call when the pool has some. */
void tcp_server_take_handshakes(struct tcp_server *server);

struct tcp_handshake_counts {
    uint64_t full, resumed, failed; /* failed: broken off by either side, too */
};
const struct tcp_handshake_counts *tcp_server_handshakes(const struct tcp_server *server);

/* Accepts no more connections, which another process does from now on, and closes those that it has
 * once nothing has come on them for idle_ms. May be called again, with another time. */
void tcp_server_leave(struct tcp_server *server, uint32_t idle_ms);

/* Accepts only connections already made, answers what has arrived on them, and closes each once all
 * its answers are sent. */
void tcp_server_drain(struct tcp_server *server);

size_t tcp_server_connections(const struct tcp_server *server);
size_t tcp_server_connections_of(const struct tcp_server *server, enum engine_transport transport);

/* Returns the connections closed to make room for others, since the start. */
uint64_t tcp_server_evictions(const struct tcp_server *server);

#endif
