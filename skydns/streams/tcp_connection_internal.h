/* Shares the TCP server's state among its files. tcp_server.c has the set of connections;
 * tcp_connection.c reads, answers and sends on one of them; tcp_stream.c serves those that speak
 * anything but plain DNS; tcp_tls.c does TLS. */
#ifndef SKYDNS_STREAMS_TCP_CONNECTION_INTERNAL_H
#define SKYDNS_STREAMS_TCP_CONNECTION_INTERNAL_H

#include <stdatomic.h>
#include <sys/queue.h>

#include "common/base/buf.h"
#include "skydns/streams/tcp_acceptor_internal.h"
#include "skydns/streams/tcp_clients_internal.h"
#include "skydns/streams/tcp_leavers_internal.h"
#include "skydns/streams/tcp_output_internal.h"
#include "skydns/streams/tcp_poller_internal.h"
#include "skydns/streams/tcp_server.h"

enum {
    TCP_PREFIX = 2,
    TCP_FRAME_MAX = TCP_PREFIX + 65535,
    TCP_READ_MAX = 65536, /* one read: hundreds of queries */
    /* Room for an incomplete frame from earlier reads, and one more read. */
    TCP_INPUT_MAX = TCP_FRAME_MAX + TCP_READ_MAX,
    /* Limits a connection's share of one turn of the loop; then the others get theirs. The answers
     * are collected for one send; the last may be of the largest size, which takes a millisecond.
     */
    TCP_QUERIES_A_TURN = 256,
    TCP_OUTPUT_A_TURN = 32 * 1024,
    /* Limits a first read: any single query, and most batches. */
    TCP_SINGLE_MAX = 4096,
    TCP_COLLECTED_MAX = TCP_OUTPUT_A_TURN + TCP_FRAME_MAX + STREAM_HEAD_MAX
};

/* Query that is alone on its connection, answered in a batch with those of other connections. */
struct tcp_single {
    struct tcp_ref connection; /* may have been closed meanwhile */
    size_t len;
    uint8_t frame[TCP_SINGLE_MAX];
};

/* Link from a protocol to its connection. */
struct stream_host {
    struct tcp_connection *connection;
};

/* Work of a connection; both may apply. */
enum tcp_todo {
    TCP_HAS_FRAMES = 1, /* `in` holds whole frames, or what `take` has paused at */
    TCP_HAS_OUTPUT = 2, /* the protocol has more to put */
};

/* List of the server that holds the connection, which tells whose turn it is to end it. */
enum tcp_place {
    TCP_IDLE,    /* in the server's queue and its client's */
    TCP_OWED,    /* waits only for late answers of ours: in its client's */
    TCP_LINGERS, /* everything is said: among those that linger, and first in its client's */
};

struct tcp_connection {
    struct tcp_server *server;
    struct tcp_ref ref;
    int fd;
    uint32_t events;   /* that a poller watches, */
    int set;           /* in this set, since its first turn; -1: in none */
    uint32_t waiting;  /* deferred queries not answered yet */
    size_t late_bytes; /* how long a late answer may be, by those before */
    uint64_t part_of;  /* the transfer whose message is in `out`; 0: none */
    bool ending;       /* reads no more; closed once everything is answered */
    bool has_ended;    /* its protocol has; it lingers before it is closed */
    uint8_t todo;      /* of enum tcp_todo, once the socket has room */
    bool is_throttled; /* waits until its next query is admitted; */
    bool is_delayed;   /* that was refused once; */
    bool has_ticket;   /* or is admitted, and not asked yet */
    bool has_more;     /* TLS holds bytes that wake nobody, or has read the end */
    bool is_broken;    /* what was put could not be sent */
    bool is_leaving;   /* the leavers hold it */
    uint8_t turns;     /* turns that had queries; stops at two */
    int64_t active_ms; /* monotonic; when the turn of the loop began */
    size_t progress;   /* bytes accepted since then, of those held in `out` */
    enum engine_transport transport;
    const struct stream_kind *kind;  /* NULL: plain DNS */
    struct tls_session *tls;         /* NULL: in the clear */
    struct tcp_handshake *handshake; /* NULL: done */
    void *stream;                    /* the protocol's; NULL: DNS's own framing */
    struct stream_host host;
    struct addr client;
    struct addr local;
    struct buf in; /* whole frames for the next turn, then an incomplete one */
    struct tcp_output out;

    uint8_t place;    /* of enum tcp_place */
    size_t skip_left; /* TCP_LINGERS: bytes still passed over */
    struct tcp_client *who;
    TAILQ_ENTRY(tcp_connection) in_server;
    TAILQ_ENTRY(tcp_connection) in_client;
    TAILQ_ENTRY(tcp_connection) in_throttle; /* while is_throttled */
    TAILQ_ENTRY(tcp_connection) holder;      /* while `buffered` is not 0 */
    size_t buffered;                         /* what its client is charged for: in, out, stream */
};

struct tcp_server {
    struct tcp_server_config config;
    bool draining;
    bool is_leaving; /* tcp_server_leave */
    struct tcp_acceptor *acceptor;
    struct tcp_poller *poller;
    struct tcp_leavers *leavers;
    struct tcp_clients *clients;
    struct tcp_handshake_queue handshakes; /* next due first */
    ev_timer handshake_timer;              /* for the first */
    struct tcp_poller *handshake_poller;   /* their sockets; NULL: no TLS */
    size_t at_pool;                        /* jobs of handshakes */
    size_t begun;                          /* handshakes that are not finished */
    struct tcp_handshake_queue open;       /* of them, those that have a connection, oldest first */
    TAILQ_HEAD(, tcp_client) held;         /* with handshakes that wait to begin, in turn */
    struct tcp_handshake_counts handshake_counts;
    ev_timer idle_timer;                   /* for the head of the queue; the others expire later */
    struct tcp_connection_queue queue;     /* TCP_IDLE, longest idle first */
    ev_timer linger_timer;                 /* for the head of the next queue */
    struct tcp_connection_queue lingering; /* TCP_LINGERS, longest first */
    ev_timer throttle_timer;               /* for the next queue, a part at a time */
    struct tcp_connection_queue throttled; /* longest first */
    size_t throttled_count;
    size_t count;
    size_t counts[ENGINE_TRANSPORTS];
    size_t buffered; /* bytes of all connections' buffers */
    uint64_t evictions;
    struct tcp_connection **slots; /* connections_max of them */
    atomic_uint *generations;      /* tcp_server_has reads them on any thread */
    uint32_t *free_slots;          /* a stack; connections_max - count of them */
    size_t single_count;
    struct tcp_single singles[ENGINE_AHEAD_MAX];
    unsigned turn;         /* of the loop, in which a connection was last active; */
    int64_t turn_ms;       /* its time; 0: none yet */
    unsigned turn_queries; /* of the turn of a protocol that goes on */
    uint8_t *reply;        /* ENGINE_REPLY_MAX bytes for a protocol; NULL: there is none */
    size_t out_len;
    uint8_t in[TCP_INPUT_MAX];
    uint8_t out[TCP_COLLECTED_MAX];
};

/* Returns true if so many queries are deferred, or ones with such long answers, that no further one
 * is read until an answer has left; or if the next one is not admitted yet. */
static inline bool tcp_connection_is_held(const struct tcp_connection *c)
{
    return c->waiting >= TCP_WAITING_MAX || c->waiting * c->late_bytes >= TCP_AWAITED_MAX ||
           c->is_throttled;
}

/* Returns true if it waits for room in its socket: it has answers to send or to put, or frames to
 * answer. */
static inline bool tcp_connection_wants_to_send(const struct tcp_connection *c)
{
    return c->out.len || (c->todo && (c->todo > TCP_HAS_FRAMES || !tcp_connection_is_held(c)));
}

/* Returns true if its client has had its share of this turn of the loop. */
static inline bool tcp_connection_is_spent(const struct tcp_connection *c)
{
    return c->who->spent >= TCP_CLIENT_A_TURN &&
           c->who->turn == ev_iteration(c->server->config.loop);
}

/* Charges the client for so many bytes read or answered in this turn. */
static inline void tcp_connection_spend(struct tcp_connection *c, size_t bytes)
{
    struct tcp_client *who = c->who;
    unsigned turn = ev_iteration(c->server->config.loop);
    if (who->turn != turn) {
        who->turn = turn;
        who->spent = 0;
    }
    who->spent += 1 + bytes / TCP_ANSWER_BYTES;
}

/* Asks for the answer to a query, counts a deferral, and charges its client for both. A stream's
 * bytes are charged for as they are read. */
static inline enum engine_verdict tcp_connection_ask(struct tcp_connection *c, struct slice wire,
                                                     uint64_t tag, unsigned ahead,
                                                     struct response *response)
{
    const struct tcp_server_config *config = &c->server->config;
    struct tcp_query query = {.wire = (const uint8_t *)wire.ptr,
                              .len = wire.len,
                              .client = &c->client,
                              .local = &c->local,
                              .transport = c->transport,
                              .connection = c->ref,
                              .tag = tag,
                              .client_waiting = c->who->waiting,
                              .ahead = ahead};
    enum engine_verdict verdict = config->answer(config->data, &query, response);
    if (verdict == ENGINE_DEFER) {
        c->waiting++;
        c->who->waiting++;
    }
    tcp_connection_spend(c, (c->stream ? 0 : wire.len) +
                                (verdict == ENGINE_REPLY ? response->len : 0));
    return verdict;
}

/* ---- tcp_connection.c. A false result means a broken connection: the caller closes it. ---- */

/* Copies the held bytes to the server's input; returns their length. */
size_t tcp_connection_load_input(struct tcp_connection *c);

/* Holds these bytes of the server's input for the next turn. */
void tcp_connection_keep_input(struct tcp_connection *c, const uint8_t *bytes, size_t len);

/* Runs one turn: answers the whole frames in the server's input, holds the rest. */
bool tcp_connection_answer_frames(struct tcp_connection *c, size_t len) MUST_CHECK;

/* Runs one turn with `len` bytes just read into the server's input, behind the room that is left
 * free for held bytes. Bytes of a frame that goes on join the held ones: none is moved twice,
 * however few come at a time. */
bool tcp_connection_take_frames(struct tcp_connection *c, size_t len) MUST_CHECK;

/* Handles a read that returned no bytes. */
bool tcp_connection_take_end(struct tcp_connection *c, ssize_t n, int error) MUST_CHECK;

/* Sends what is collected, once the turn's queries are answered or deferred. */
bool tcp_connection_end_turn(struct tcp_connection *c) MUST_CHECK;
bool tcp_connection_send_collected(struct tcp_connection *c) MUST_CHECK;

/* Reads once, and answers. */
bool tcp_connection_read(struct tcp_connection *c) MUST_CHECK;

/* Reads once, answers and settles the connection. A single query instead joins the server's
 * singles, which must have room. */
void tcp_connection_read_single(struct tcp_connection *c);

/* Answers the singles, with one look-ahead for all their names. Their connections may have been
 * closed in between, but not changed. */
void tcp_connection_answer_singles(struct tcp_server *server);

/* Sends, answers, and when draining, reads until nothing more has arrived. */
bool tcp_connection_go_on(struct tcp_connection *c) MUST_CHECK;

/* Sends a late answer, or as much of it as the socket accepts. */
bool tcp_connection_reply(struct tcp_connection *c, const uint8_t *reply, size_t len) MUST_CHECK;

/* Tells the transfer whose message has left `out`. */
void tcp_connection_note_part(struct tcp_connection *c);

/* Call last after any change: closes the connection if it is broken or has nothing to wait for,
 * else watches it for its next event. May close others, too: those with most in their buffers. */
void tcp_connection_settle(struct tcp_connection *c, bool is_sound);

/* ---- tcp_throttle.c ---- */

void tcp_throttle_init(struct tcp_server *server);
void tcp_throttle_fini(struct tcp_server *server);

/* Asks whether the next query of a connection that is not held may be read. If not, holds the
 * connection, and goes on with it once it is worth trying again. */
bool tcp_throttle_admit(struct tcp_connection *c);

/* Lets go of a connection that is throttled. */
void tcp_throttle_forget(struct tcp_connection *c);

static inline bool tcp_connection_is_admitted(struct tcp_connection *c)
{
    const bool *is_limited = c->server->config.is_limited;
    if (c->has_ticket && !c->stream) { /* is for one frame; a stream uses its own up */
        c->has_ticket = false;
        return true;
    }
    return !is_limited || !*is_limited || tcp_throttle_admit(c);
}

/* ---- tcp_stream.c: only with a kind. A false result means a broken connection. ---- */

/* Opens its protocol. */
void tcp_stream_open(struct tcp_connection *c);

/* Reads once, and answers. */
bool tcp_stream_read(struct tcp_connection *c) MUST_CHECK;

/* Runs its protocol's turn on the bytes in the server's input, then sends what there is. */
bool tcp_stream_turn(struct tcp_connection *c, size_t len) MUST_CHECK;
bool tcp_stream_flush(struct tcp_connection *c) MUST_CHECK;

/* Says the end and skips what still comes, after a protocol has ended and everything is sent.
 * Closing at once would reset the connection if the client still sends, and the last response might
 * be lost. Returns false if that is over, or of no use: the caller closes it. */
bool tcp_stream_linger(struct tcp_connection *c);

/* Passes the late answer on; length 0: none. */
bool tcp_stream_reply(struct tcp_connection *c, uint64_t tag,
                      const struct response *response) MUST_CHECK;

void tcp_stream_drain(struct tcp_connection *c);

/* Returns the protocol's bytes. */
size_t tcp_stream_memory(const struct tcp_connection *c);

/* Closes the parts that its kind has. Returns false if its descriptor, too, is closed later. */
bool tcp_stream_close(struct tcp_connection *c) MUST_CHECK;

/* ---- tcp_tls.c ---- */

int tcp_tls_init(struct tcp_server *server, struct err *err) MUST_CHECK;
void tcp_tls_fini(struct tcp_server *server);

/* Begins the handshake of a new connection; at its end, opens the stream and settles. Until then,
 * the connection is not settled, and its socket is in a set of its own. */
void tcp_tls_begin(struct tcp_connection *c);

/* Closes it, as nothing was asked yet, unless another thread is at its handshake. */
void tcp_tls_drain(struct tcp_connection *c);

/* Closes as tcp_stream_close does. */
bool tcp_tls_close(struct tcp_connection *c) MUST_CHECK;

/* Receive and send as recv and send do, but move as much as there is. */
ssize_t tcp_tls_recv(struct tcp_connection *c, uint8_t *out, size_t size);
ssize_t tcp_tls_send(struct tcp_connection *c, const uint8_t *bytes, size_t len);

/* ---- tcp_server.c ---- */

/* Adds a new connection: its descriptor, its socket's transport, and the local address (family
 * AF_UNSPEC: unknown). */
void tcp_server_accept(struct tcp_server *server, int fd, enum engine_transport transport,
                       const struct addr *client, const struct addr *local);

/* Closes a connection. Returns false if none can be closed. */
bool tcp_server_make_room(struct tcp_server *server);

/* Returns the connection; NULL: it is closed. */
struct tcp_connection *tcp_server_find(const struct tcp_server *server, struct tcp_ref ref);

/* Notes that a whole query arrived, or its unread answers got shorter by TCP_PROGRESS_MIN. Dripping
 * bytes keep no connection open. */
void tcp_connection_touch(struct tcp_connection *c);

/* Moves it to the queues where it now belongs. Call after any change of what it waits for or
 * holds. */
void tcp_connection_sort_in(struct tcp_connection *c);

/* Makes it linger from now on, for TCP_LINGER_MS at most. */
void tcp_connection_linger(struct tcp_connection *c);

/* Closes connections of clients that hold most until all buffers are within the limit. */
void tcp_server_bound_buffers(struct tcp_server *server);

/* Closes it to make room for another. */
void tcp_connection_evict(struct tcp_connection *c);

/* Closes it; `why` is for the log: a constant. */
void tcp_connection_close(struct tcp_connection *c, const char *why);

#endif
