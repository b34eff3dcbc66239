/* Serves DNS over TLS, HTTPS, HTTP and gRPC. One thread with one tcp_server serves all of them, so
 * that no handshake, no HTTP and no cipher delays UDP or plain TCP. It answers like the resolver's
 * TCP, with an engine and a reader of its own, and defers queries to the resolver:
 *
 *     sockets ─ tcp_server ─ engine_answer ─▶ reply
 *        │                        ╰ deferred ─ ring ─▶ resolver ─ reply_to ─▶ inbox ─▶ reply
 *        ╰ handshakes: tls_handshakes.h, threads of their own
 *
 * The inbox is bounded by what this thread has deferred: at most a ring's worth. All limits of
 * connections and buffers are tcp_server.h's, for all four transports together; a handshake has
 * STREAMS_HANDSHAKE_MS. Without such an address there is no thread and no cost. Created, started,
 * stopped and freed on the main thread. */
#ifndef SKYDNS_STREAMS_STREAMS_H
#define SKYDNS_STREAMS_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/metrics.h"
#include "skydns/listen/listen_socket.h"
#include "skydns/streams/stream_protocol.h"
#include "skydns/tap/query_counts.h"

struct client_counts;
struct engine;
struct engine_counts;
struct publisher_reader;
struct query_tap;
struct namespace_rate;
struct resolver;
struct streams;
struct tls_server;
struct transfer_part;
struct transfers;

enum {
    STREAMS_HANDSHAKE_MS = 5000, /* for the first byte, and from it to the end of the handshake */
    STREAMS_IDLE_MS = 30000,     /* a handshake is dear: longer than TCP_IDLE_MS (RFC 7858 3.4) */
};

/* Parts of the program, all borrowed until streams_free, the resolver until streams_stop; engine
 * and reader are the thread's alone. */
struct streams_config {
    const struct listen_socket
        *sockets; /* with their transports; a successful new takes them over */
    size_t socket_count;
    struct stream_kind kinds[ENGINE_TRANSPORTS]; /* of the transports that sockets have */
    size_t connections_max;                      /* at most TCP_CONNECTIONS_MAX */
    unsigned handshake_threads;
    struct engine *engine;
    struct publisher_reader *reader;
    struct resolver *resolver;
    struct transfers *transfers; /* NULL: none */
    struct namespace_rate *namespace_rate;
    const struct query_tap *tap;
    struct client_counts *clients; /* the thread's; NULL: the tap never counts them */
    bool want_skydns_metrics;
};

int streams_new(const struct streams_config *config, struct streams **ret_streams,
                struct err *err) MUST_CHECK;
int streams_start(struct streams *streams, struct err *err) MUST_CHECK;

/* Leaves the sockets to another process: accepts no more, and closes each connection once it is
 * quiet for idle_ms (tcp_server_leave). */
void streams_leave(struct streams *streams, uint32_t idle_ms);

/* Accepts no more, answers what has arrived, and closes each connection once its answers are sent,
 * within RESOLVER_DRAIN_MS; the resolver still runs. Then ends the threads. */
void streams_stop(struct streams *streams);
void streams_free(struct streams *streams); /* stopped; NULL is fine */

/* Sends a message of a zone transfer on a connection over TLS; takes it over. Any thread. */
void streams_send_part(struct streams *streams, struct transfer_part *part);

/* Counts of the streams' thread, which writes them: queries and connections of TLS, HTTPS, HTTP and
 * gRPC. */
struct streams_counts {
    struct query_counts queries[ENGINE_TRANSPORTS];
    struct counter connections[ENGINE_TRANSPORTS]; /* now, handshakes included */
    struct counter handshakes_full, handshakes_resumed, handshakes_failed; /* as a server */
    struct counter evictions;
    const struct engine_counts *engine;
};

const struct streams_counts *streams_counts(
    const struct streams *streams); /* any thread; borrowed */

#endif
