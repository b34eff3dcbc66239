/* Separates a connection from the protocol spoken on it. tcp_connection.c has the socket, TLS,
 * limits, queues and answers; it speaks DNS over TCP and over TLS itself. A further protocol is a
 * folder of its own (skydns/doh, skydns/dnsgrpc) with one struct stream_protocol. It has no socket
 * and no clock: bytes in, queries out; responses in, bytes out.
 *
 *     bytes ──take──▶ stream_host_query (with a tag of the protocol's choice) ──▶ the answer
 *                         │ at once: `reply` is called inside stream_host_query
 *                         ╰ late:    `reply` is called later, from the loop
 *     bytes ◀──stream_host_put── flush ◀── at the end of each turn, and when there is room again
 *
 * Everything on the thread of the connection's loop. */
#ifndef SKYDNS_STREAMS_STREAM_PROTOCOL_H
#define SKYDNS_STREAMS_STREAM_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skydns/wire/query.h"
#include "skydns/wire/response.h"

/* Connection, as its protocol sees it. */
struct stream_host;
struct tls_server;

/* Reasons why `take` has stopped. */
enum stream_take {
    STREAM_WAITS,  /* for more bytes; those not taken come again, with the next behind them */
    STREAM_PAUSED, /* stream_host_may_go_on said no; called again with the same bytes, or more */
    STREAM_ENDS,   /* takes no more: the connection is closed once every query is answered and
                    * everything that was put is sent */
    STREAM_BROKEN, /* the same, but no reply is wanted any more: `reply` is called no more */
};

enum { STREAM_UNTAKEN_MAX = 2 + 65535 }; /* as of DNS's own framing */

struct stream_protocol {
    /* Opens the protocol's part of a new connection. Never NULL. */
    void *(*open)(struct stream_host *host);
    /* Frees it when the connection is gone; puts nothing. Responses to its queries come no more. */
    void (*close)(void *stream);

    /* Takes bytes that arrived; *ret_taken of them are done with. The others, STREAM_UNTAKEN_MAX at
     * most, come again with the next call; if there are more, the connection is closed. */
    enum stream_take (*take)(void *stream, const uint8_t *bytes, size_t len, size_t *ret_taken);

    /* Takes the response to the query with this tag: ENGINE_REPLY_MAX bytes at most, borrowed
     * during the call. Length 0: there is none. Called once for each query. */
    void (*reply)(void *stream, uint64_t tag, const struct response *response);

    /* Puts bytes to be sent, at most stream_host_room of them. Returns true if there is more: call
     * again when these have left. NULL: `reply` and `take` put everything themselves. */
    bool (*flush)(void *stream);

    /* Takes no new queries from now on, since skydns stops, and says so to the client if it can.
     * May be NULL. */
    void (*drain)(void *stream);

    /* Returns the bytes that it holds for this connection besides those of every idle one:
     * unfinished requests, responses not yet put. They count as the connection's buffers
     * (TCP_BUFFERS_MAX). */
    size_t (*memory)(const void *stream);
};

/* Protocol spoken on the sockets of a transport. */
struct stream_kind {
    const struct stream_protocol *protocol; /* NULL: DNS's own framing */
    struct tls_server *tls;                 /* NULL: in the clear */
    const char *alpn;                       /* with TLS: tls_session_accept's protocols */
};

/* Passes on a whole query; call inside `take`. The response may come inside the call, or later. */
void stream_host_query(struct stream_host *host, uint64_t tag, const uint8_t *wire, size_t len);

/* Returns false if the connection has had its share of this turn, or waits for too many late
 * answers: `take` then stops before its next query, with STREAM_PAUSED. */
bool stream_host_may_go_on(const struct stream_host *host);

/* Appends to what is sent at the end of the turn. Call inside take, reply, flush and drain. */
void stream_host_put(struct stream_host *host, const void *bytes, size_t len);

/* Returns how many bytes the socket is likely to take at once. Between queries of `take`, they are
 * always enough for the longest response and STREAM_HEAD_MAX bytes around it; 0 while earlier bytes
 * wait for the client to read.
 *
 * Bytes put beyond the room are held, up to TCP_OUTPUT_MAX, which has room for all late responses
 * that may be due. Beyond that, the connection is closed. */
enum { STREAM_HEAD_MAX = 1024 };
size_t stream_host_room(const struct stream_host *host);

#endif
