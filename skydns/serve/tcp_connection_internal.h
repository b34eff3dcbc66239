/* The TCP server's internals, shared only by tcp_server.c (the set of connections) and
 * tcp_connection.c (reading, answering and sending on one of them). */
#ifndef SKYDNS_SERVE_TCP_CONNECTION_INTERNAL_H
#define SKYDNS_SERVE_TCP_CONNECTION_INTERNAL_H

#include <sys/queue.h>

#include "common/base/buf.h"
#include "skydns/serve/tcp_acceptor_internal.h"
#include "skydns/serve/tcp_leavers_internal.h"
#include "skydns/serve/tcp_poller_internal.h"
#include "skydns/serve/tcp_server.h"

enum {
    TCP_PREFIX = 2,
    TCP_FRAME_MAX = TCP_PREFIX + 65535,
    TCP_READ_MAX = 65536, /* one read: hundreds of queries */
    /* An incomplete frame from earlier reads, and one more read. */
    TCP_INPUT_MAX = TCP_FRAME_MAX + TCP_READ_MAX,
    /* A connection's share of one turn of the loop; then the others get theirs. The answers are
     * collected for one send; the last may be of the largest size, which takes a millisecond. */
    TCP_QUERIES_A_TURN = 256,
    TCP_OUTPUT_A_TURN = 32 * 1024,
    /* A first read: any single query, and most batches. */
    TCP_SINGLE_MAX = 4096,
    TCP_COLLECTED_MAX = TCP_OUTPUT_A_TURN + TCP_FRAME_MAX
};

/* A query alone on its connection, to be answered in a batch with other connections'. */
struct tcp_single {
    struct tcp_connection *connection;
    size_t len;
    uint8_t frame[TCP_SINGLE_MAX];
};

struct tcp_connection {
    struct tcp_server *server;
    struct tcp_ref ref;
    int fd;
    uint32_t events;   /* that the poller watches */
    bool is_polled;    /* by the poller, since its first turn */
    uint32_t waiting;  /* deferred queries not answered yet */
    bool ending;       /* reads no more; closed once everything is answered */
    bool has_frames;   /* `in` holds whole frames */
    bool is_leaving;   /* the leavers hold it */
    uint8_t turns;     /* turns that had queries; stops at two */
    int64_t active_ms; /* monotonic */
    TAILQ_ENTRY(tcp_connection) idle;
    struct addr client;
    struct addr local;
    struct buf in;  /* whole frames for the next turn, then an incomplete one */
    struct buf out; /* not accepted by the socket yet */
};

TAILQ_HEAD(tcp_connection_queue, tcp_connection);

struct tcp_server {
    struct tcp_server_config config;
    bool draining;
    struct tcp_acceptor *acceptor;
    struct tcp_poller *poller;
    struct tcp_leavers *leavers;
    ev_timer idle_timer;               /* for the head of the queue; the others expire later */
    struct tcp_connection_queue queue; /* by last activity, longest idle first */
    size_t count;
    struct tcp_connection **slots; /* connections_max of them */
    uint32_t *generations;
    uint32_t *free_slots; /* a stack; connections_max - count of them */
    size_t single_count;
    struct tcp_single singles[ENGINE_AHEAD_MAX];
    size_t out_len;
    uint8_t in[TCP_INPUT_MAX];
    uint8_t out[TCP_COLLECTED_MAX];
};

/* It waits for room in its socket: it has answers to send, or frames to answer. */
static inline bool tcp_connection_wants_to_send(const struct tcp_connection *c)
{
    return c->out.len || c->has_frames;
}

/* ---- tcp_connection.c. False: broken; the caller closes it. ---- */

/* Reads once, and answers. */
bool tcp_connection_read(struct tcp_connection *c) MUST_CHECK;

/* The same, and settles the connection; but a single query joins the server's singles, which must
 * have room. */
void tcp_connection_read_single(struct tcp_connection *c);

/* Answers the singles, with one look-ahead for all their names. None of their connections may have
 * been touched in between. */
void tcp_connection_answer_singles(struct tcp_server *server);

/* Sends, answers, and when draining, reads until nothing more has arrived. */
bool tcp_connection_go_on(struct tcp_connection *c) MUST_CHECK;

/* Sends a late answer, or as much as the socket accepts. */
bool tcp_connection_reply(struct tcp_connection *c, const uint8_t *reply, size_t len) MUST_CHECK;

/* Call last after any change: closes the connection if it is broken or has nothing to wait for,
 * else watches it for its next event. */
void tcp_connection_settle(struct tcp_connection *c, bool is_sound);

/* ---- tcp_server.c ---- */

/* A whole query arrived or an answer left: dripping bytes keep no connection open. */
void tcp_connection_touch(struct tcp_connection *c);

/* `why` is for the log: a constant. */
void tcp_connection_close(struct tcp_connection *c, const char *why);

#endif
