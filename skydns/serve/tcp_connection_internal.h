/* The TCP server's internals, shared only by tcp_server.c (the set of connections) and
 * tcp_connection.c (reading, answering and sending on one of them). */
#ifndef SKYDNS_SERVE_TCP_CONNECTION_INTERNAL_H
#define SKYDNS_SERVE_TCP_CONNECTION_INTERNAL_H

#include <sys/queue.h>

#include "common/base/buf.h"
#include "skydns/serve/tcp_acceptor_internal.h"
#include "skydns/serve/tcp_clients_internal.h"
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
    struct tcp_ref connection; /* may have been closed meanwhile */
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
    size_t progress;   /* bytes accepted since then, of those kept in `out` */
    struct addr client;
    struct addr local;
    struct buf in;  /* whole frames for the next turn, then an incomplete one */
    struct buf out; /* not accepted by the socket yet */

    /* Where it stands: in its client's queue, and in the server's unless it is owed. */
    bool is_owed; /* waits only for late answers of ours */
    struct tcp_client *who;
    TAILQ_ENTRY(tcp_connection) in_server;
    TAILQ_ENTRY(tcp_connection) in_client;
    TAILQ_ENTRY(tcp_connection) holder; /* while `buffered` is not 0 */
    size_t buffered;                    /* what its client is charged for: in and out */
};

struct tcp_server {
    struct tcp_server_config config;
    bool draining;
    struct tcp_acceptor *acceptor;
    struct tcp_poller *poller;
    struct tcp_leavers *leavers;
    struct tcp_clients *clients;
    ev_timer idle_timer;               /* for the head of the queue; the others expire later */
    struct tcp_connection_queue queue; /* those not owed, longest idle first */
    size_t count;
    size_t buffered; /* bytes of all connections' buffers */
    uint64_t evictions;
    struct tcp_connection **slots; /* connections_max of them */
    uint32_t *generations;
    uint32_t *free_slots; /* a stack; connections_max - count of them */
    size_t single_count;
    struct tcp_single singles[ENGINE_AHEAD_MAX];
    size_t out_len;
    uint8_t in[TCP_INPUT_MAX];
    uint8_t out[TCP_COLLECTED_MAX];
};

/* So many queries are deferred that no further one is read until an answer has left. */
static inline bool tcp_connection_is_held(const struct tcp_connection *c)
{
    return c->waiting >= TCP_WAITING_MAX;
}

/* It waits for room in its socket: it has answers to send, or frames to answer. */
static inline bool tcp_connection_wants_to_send(const struct tcp_connection *c)
{
    return c->out.len || (c->has_frames && !tcp_connection_is_held(c));
}

/* Its client has had its share of this turn of the loop. */
static inline bool tcp_connection_is_spent(const struct tcp_connection *c)
{
    return c->who->spent >= TCP_CLIENT_A_TURN &&
           c->who->turn == ev_iteration(c->server->config.loop);
}

/* ---- tcp_connection.c. False: broken; the caller closes it. ---- */

/* Reads once, and answers. */
bool tcp_connection_read(struct tcp_connection *c) MUST_CHECK;

/* The same, and settles the connection; but a single query joins the server's singles, which must
 * have room. */
void tcp_connection_read_single(struct tcp_connection *c);

/* Answers the singles, with one look-ahead for all their names. Their connections may have been
 * closed in between, but not changed. */
void tcp_connection_answer_singles(struct tcp_server *server);

/* Sends, answers, and when draining, reads until nothing more has arrived. */
bool tcp_connection_go_on(struct tcp_connection *c) MUST_CHECK;

/* Sends a late answer, or as much as the socket accepts. */
bool tcp_connection_reply(struct tcp_connection *c, const uint8_t *reply, size_t len) MUST_CHECK;

/* Call last after any change: closes the connection if it is broken or has nothing to wait for,
 * else watches it for its next event. May close others, too: those with most in their buffers. */
void tcp_connection_settle(struct tcp_connection *c, bool is_sound);

/* ---- tcp_server.c ---- */

/* NULL: it is closed. */
struct tcp_connection *tcp_server_find(const struct tcp_server *server, struct tcp_ref ref);

/* A whole query arrived, or its unread answers got shorter by TCP_PROGRESS_MIN: dripping bytes keep
 * no connection open. */
void tcp_connection_touch(struct tcp_connection *c);

/* After any change of what it waits for or holds: moves it to the queues where it now belongs. */
void tcp_connection_sort_in(struct tcp_connection *c);

/* Closes connections of clients that hold most until all buffers are within the limit. */
void tcp_server_bound_buffers(struct tcp_server *server);

/* `why` is for the log: a constant. */
void tcp_connection_close(struct tcp_connection *c, const char *why);

#endif
