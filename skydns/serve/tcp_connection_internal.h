/* The inside of the TCP server, known to tcp_server.c (which connections there are) and
 * tcp_connection.c (what one of them reads, answers and sends) alone. */
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
    /* A frame begun by earlier reads, and one more read. */
    TCP_INPUT_MAX = TCP_FRAME_MAX + TCP_READ_MAX,
    /* What a connection may have in one turn of the loop; then the others have theirs. The answers
     * are collected for one send; the last may be of the largest, which take a millisecond. */
    TCP_QUERIES_A_TURN = 256,
    TCP_OUTPUT_A_TURN = 32 * 1024,
    /* A first read: whatever is a single query, and most of what is several. */
    TCP_SINGLE_MAX = 4096,
    TCP_COLLECTED_MAX = TCP_OUTPUT_A_TURN + TCP_FRAME_MAX
};

/* A query that came alone on its connection, and is to be answered together with others'. */
struct tcp_single {
    struct tcp_connection *connection;
    size_t len;
    uint8_t frame[TCP_SINGLE_MAX];
};

struct tcp_connection {
    struct tcp_server *server;
    struct tcp_ref ref;
    int fd;
    uint32_t events;   /* that the poller waits for */
    bool is_polled;    /* by the poller, since its first turn */
    uint32_t waiting;  /* deferred queries that are not answered yet */
    bool ending;       /* no more input is wanted; closed when everything is answered */
    bool has_frames;   /* there are whole ones in `in` */
    bool is_leaving;   /* left to the leavers */
    uint8_t turns;     /* that had queries; two are many */
    int64_t active_ms; /* monotonic */
    TAILQ_ENTRY(tcp_connection) idle;
    struct addr client;
    struct addr local;
    struct buf in;  /* the beginning of a frame; before it those that another turn will answer */
    struct buf out; /* what the socket did not take yet */
};

TAILQ_HEAD(tcp_connection_queue, tcp_connection);

struct tcp_server {
    struct tcp_server_config config;
    bool draining;
    struct tcp_acceptor *acceptor;
    struct tcp_poller *poller;
    struct tcp_leavers *leavers;
    ev_timer idle_timer;               /* for the head of the queue; the others are later */
    struct tcp_connection_queue queue; /* by last activity, the longest idle first */
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

/* It waits for room in its socket: it has answers to send, or to make. */
static inline bool tcp_connection_wants_to_send(const struct tcp_connection *c)
{
    return c->out.len || c->has_frames;
}

/* ---- tcp_connection.c. False: broken; the caller closes it. ---- */

/* Reads once, and answers. */
bool tcp_connection_read(struct tcp_connection *c) MUST_CHECK;

/* The same, and settles it; but one query alone is left with the server's singles, of which there
 * is room for one. */
void tcp_connection_read_single(struct tcp_connection *c);

/* Answers the singles: their names are looked up at once. None of their connections may have been
 * touched meanwhile. */
void tcp_connection_answer_singles(struct tcp_server *server);

/* Sends, answers, and when drained reads on until nothing more has arrived. */
bool tcp_connection_go_on(struct tcp_connection *c) MUST_CHECK;

/* Sends a late answer, or what of it the socket takes. */
bool tcp_connection_reply(struct tcp_connection *c, const uint8_t *reply, size_t len) MUST_CHECK;

/* The last act of whoever changed it: closes it when it is broken or has nothing to wait for, else
 * sees to it that it is told. */
void tcp_connection_settle(struct tcp_connection *c, bool is_sound);

/* ---- tcp_server.c ---- */

/* A whole query came or an answer went: merely dripping bytes keeps nothing open. */
void tcp_connection_touch(struct tcp_connection *c);

/* Why, for the log: a constant. */
void tcp_connection_close(struct tcp_connection *c, const char *why);

#endif
