#include "skydns/tcp_server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/xalloc.h"
#include "skydns/tcp_acceptor.h"
#include "skydns/tcp_poller.h"

enum {
    PREFIX = 2,
    FRAME_MAX = PREFIX + 65535,
    READ_MAX = 65536, /* one read: hundreds of queries */
    /* A frame begun by earlier reads, and one more read. */
    INPUT_MAX = FRAME_MAX + READ_MAX,
    /* What a connection may have in one turn of the loop; then the others have theirs. The answers
     * are collected for one send; the last may be of the largest, which take a millisecond. */
    QUERIES_A_TURN = 256,
    OUTPUT_A_TURN = 32 * 1024,
    OUTPUT_MAX = OUTPUT_A_TURN + FRAME_MAX
};

struct connection {
    struct tcp_server *server;
    struct tcp_ref ref;
    int fd;
    uint32_t events;   /* that the poller waits for */
    bool is_polled;    /* by the poller, since its first turn */
    uint32_t waiting;  /* deferred queries that are not answered yet */
    bool ending;       /* no more input is wanted; closed when everything is answered */
    bool has_frames;   /* there are whole ones in `in` */
    int64_t active_ms; /* monotonic */
    TAILQ_ENTRY(connection) idle;
    struct addr client;
    struct addr local;
    struct buf in;  /* the beginning of a frame; before it those that another turn will answer */
    struct buf out; /* what the socket did not take yet */
};

TAILQ_HEAD(connection_queue, connection);

struct tcp_server {
    struct tcp_server_config config;
    bool draining;
    struct tcp_acceptor *acceptor;
    struct tcp_poller *poller;
    ev_timer idle_timer;           /* for the head of the queue; the others are later */
    struct connection_queue queue; /* by last activity, the longest idle first */
    size_t count;
    struct connection **slots; /* connections_max of them */
    uint32_t *generations;
    uint32_t *free_slots; /* a stack; connections_max - count of them */
    size_t out_len;
    uint8_t in[INPUT_MAX];
    uint8_t out[OUTPUT_MAX];
};

/* ---- Connections ---- */

static void close_connection(struct connection *c)
{
    struct tcp_server *s = c->server;
    (void)close(c->fd); /* what could not be sent is lost with it */
    TAILQ_REMOVE(&s->queue, c, idle);
    s->slots[c->ref.slot] = NULL;
    s->generations[c->ref.slot]++;
    s->count--;
    s->free_slots[s->config.connections_max - s->count - 1] = c->ref.slot;
    buf_fini(&c->in);
    buf_fini(&c->out);
    free(c);
}

static void start_idle_timer(struct tcp_server *s)
{
    struct connection *head = TAILQ_FIRST(&s->queue);
    if (head && !ev_is_active(&s->idle_timer)) {
        int64_t left_ms = head->active_ms + s->config.idle_ms - clock_monotonic_ms();
        ev_timer_set(&s->idle_timer, left_ms > 0 ? (double)left_ms / 1000 : 0., 0.);
        ev_timer_start(s->config.loop, &s->idle_timer);
    }
}

/* A whole query came or an answer went: merely dripping bytes keeps nothing open. */
static void touch(struct connection *c)
{
    struct tcp_server *s = c->server;
    c->active_ms = clock_monotonic_ms();
    TAILQ_REMOVE(&s->queue, c, idle);
    TAILQ_INSERT_TAIL(&s->queue, c, idle);
}

/* It waits for room in its socket: it has answers to send, or to make. */
static bool wants_to_send(const struct connection *c)
{
    return c->out.len || c->has_frames;
}

static void on_idle(struct ev_loop *loop, ev_timer *timer, int revents)
{
    struct tcp_server *s = timer->data;
    int64_t limit_ms = clock_monotonic_ms() - s->config.idle_ms;
    struct connection *c;
    (void)loop;
    (void)revents;
    while ((c = TAILQ_FIRST(&s->queue)) && c->active_ms <= limit_ms) {
        if (c->waiting && !wants_to_send(c)) {
            touch(c); /* the answer is ours to give (RFC 7766 6.2.3) */
        } else {
            close_connection(c);
        }
    }
    start_idle_timer(s);
}

/* False: the kernel has no room for one more. */
static bool set_events(struct connection *c, uint32_t events)
{
    if (c->is_polled && c->events == events) {
        return true;
    }
    bool was_polled = c->is_polled;
    c->is_polled = true;
    c->events = events;
    return tcp_poller_set(c->server->poller, c->fd, was_polled, events, c->ref);
}

/* What the connection waits for now; closes it when that is nothing. The last act of whoever
 * changed it. Frames that are there wait for the next turn of the loop, or until their answers can
 * be sent. When drained, the next turn looks whether more has arrived. */
static void settle(struct connection *c)
{
    uint32_t events = 0;
    if (wants_to_send(c)) {
        events = EPOLLOUT;
    } else if (!c->ending) {
        events = c->server->draining ? EPOLLIN | EPOLLOUT : EPOLLIN;
    } else if (!c->waiting) {
        close_connection(c);
        return;
    }
    if (!set_events(c, events)) {
        close_connection(c);
    }
}

/* ---- Sending ---- */

/* Sends what it can and keeps the rest. False: the connection is broken, or its client so slow that
 * the limit is reached; the caller closes it. */
static bool send_bytes(struct connection *c, const uint8_t *bytes, size_t len)
{
    size_t sent = 0;
    if (c->out.len == 0) {
        ssize_t n = send(c->fd, bytes, len, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN && errno != EINTR) {
            return false;
        }
        sent = n > 0 ? (size_t)n : 0;
    }
    if (sent < len) {
        buf_append(&c->out, bytes + sent, len - sent);
    }
    return !c->out.failed;
}

static bool send_collected(struct connection *c)
{
    struct tcp_server *s = c->server;
    size_t len = s->out_len;
    s->out_len = 0;
    return len == 0 || send_bytes(c, s->out, len);
}

/* Sends what is kept. False: broken. */
static bool send_kept(struct connection *c)
{
    ssize_t n = send(c->fd, c->out.data, c->out.len, MSG_NOSIGNAL);
    if (n < 0) {
        return errno == EAGAIN || errno == EINTR;
    }
    touch(c);
    if ((size_t)n == c->out.len) {
        buf_fini(&c->out); /* few clients are slow; none keeps memory for having been */
        buf_init(&c->out, TCP_OUTPUT_MAX);
    } else {
        buf_consume(&c->out, (size_t)n);
    }
    return true;
}

/* Puts an answer behind those collected. */
static void put_frame(struct tcp_server *s, const uint8_t *reply, size_t len)
{
    uint8_t *frame = s->out + s->out_len;
    frame[0] = (uint8_t)(len >> 8);
    frame[1] = (uint8_t)len;
    if (reply != frame + PREFIX) {
        memcpy(frame + PREFIX, reply, len);
    }
    s->out_len += PREFIX + len;
}

/* ---- Receiving ---- */

static void answer_one(struct connection *c, struct slice wire, unsigned ahead)
{
    struct tcp_server *s = c->server;
    struct tcp_query query = {.wire = (const uint8_t *)wire.ptr,
                              .len = wire.len,
                              .client = &c->client,
                              .local = &c->local,
                              .connection = c->ref,
                              .ahead = ahead};
    uint8_t *reply = s->out + s->out_len + PREFIX;
    size_t reply_len = 0;
    switch (s->config.answer(s->config.data, &query, reply, &reply_len)) {
    case ENGINE_REPLY:
        put_frame(s, reply, reply_len);
        break;
    case ENGINE_DEFER:
        c->waiting++;
        break;
    case ENGINE_DROP:
        break;
    }
}

/* The length of the whole frame at the beginning of the bytes; 0: there is none. */
static size_t whole_frame(const uint8_t *bytes, size_t len)
{
    if (len < PREFIX) {
        return 0;
    }
    size_t frame_len = PREFIX + (size_t)(bytes[0] << 8 | bytes[1]);
    return frame_len <= len ? frame_len : 0;
}

/* Tells what comes next; the length of all of it. */
static size_t look_ahead(const struct tcp_server *s, size_t pos, size_t len)
{
    struct slice queries[ENGINE_AHEAD_MAX];
    size_t count = 0, frame_len;
    while (count < ENGINE_AHEAD_MAX && (frame_len = whole_frame(s->in + pos, len - pos)) > 0) {
        queries[count++] = slice_of(s->in + pos + PREFIX, frame_len - PREFIX);
        pos += frame_len;
    }
    s->config.look_ahead(s->config.data, queries, count);
    return pos;
}

/* One turn: answers whole frames at the server's input, keeps what is left. False: broken. */
static bool answer_frames(struct connection *c, size_t len)
{
    struct tcp_server *s = c->server;
    size_t pos = 0, seen = 0, frame_len;
    unsigned answered = 0, ahead = 0;
    while ((frame_len = whole_frame(s->in + pos, len - pos)) > 0 && answered < QUERIES_A_TURN &&
           s->out_len < OUTPUT_A_TURN) {
        if (pos == seen && s->config.look_ahead) {
            seen = look_ahead(s, pos, len);
            ahead = 1;
        }
        struct slice wire = slice_of(s->in + pos + PREFIX, frame_len - PREFIX);
        answer_one(c, wire, ahead > 0 ? ahead++ : 0);
        pos += frame_len;
        answered++;
    }
    c->has_frames = frame_len > 0;
    buf_clear(&c->in);
    if (pos < len) {
        buf_append(&c->in, s->in + pos, len - pos);
    } else if (c->in.cap) {
        buf_fini(&c->in);
        buf_init(&c->in, INPUT_MAX);
    }
    if (answered) {
        touch(c);
    }
    return send_collected(c);
}

/* Moves what is kept to the server's input; its length. */
static size_t load_input(struct connection *c)
{
    if (c->in.len) {
        memcpy(c->server->in, c->in.data, c->in.len);
    }
    return c->in.len;
}

/* False: broken. */
static bool read_and_answer(struct connection *c)
{
    struct tcp_server *s = c->server;
    size_t held = load_input(c);
    ssize_t n = recv(c->fd, s->in + held, READ_MAX, 0);
    if (n < 0 && errno == EAGAIN) {
        c->ending = s->draining; /* all that has arrived has been read */
        return true;
    }
    if (n < 0) {
        return errno == EINTR;
    }
    if (n == 0) {
        c->ending = true; /* it may still be waiting for answers */
        return true;
    }
    return answer_frames(c, held + (size_t)n);
}

/* Sends, answers, and when drained reads on until nothing more has arrived. False: broken. */
static bool go_on(struct connection *c)
{
    if (c->out.len && !send_kept(c)) {
        return false;
    }
    if (c->out.len) {
        return true;
    }
    if (c->has_frames) {
        return answer_frames(c, load_input(c));
    }
    return !c->server->draining || c->ending || read_and_answer(c);
}

static void settle_or_close(struct connection *c, bool is_sound)
{
    if (is_sound) {
        settle(c);
    } else {
        close_connection(c);
    }
}

static struct connection *find_connection(const struct tcp_server *s, struct tcp_ref ref)
{
    struct connection *c = ref.slot < s->config.connections_max ? s->slots[ref.slot] : NULL;
    return c && c->ref.generation == ref.generation ? c : NULL;
}

/* A connection that was reset has nobody to answer any more. */
static void on_event(void *data, struct tcp_ref ref, uint32_t events)
{
    struct connection *c = find_connection(data, ref);
    if (!c) {
        return;
    }
    if (events & (EPOLLHUP | EPOLLERR)) {
        close_connection(c);
    } else {
        settle_or_close(c, events & EPOLLOUT ? go_on(c) : read_and_answer(c));
    }
}

bool tcp_server_reply(struct tcp_server *server, struct tcp_ref connection, const uint8_t *reply,
                      size_t len)
{
    struct connection *c = find_connection(server, connection);
    if (!c) {
        return false;
    }
    c->waiting--;
    if (len) {
        put_frame(server, reply, len);
        if (!send_collected(c)) {
            close_connection(c);
            return false;
        }
        touch(c);
    }
    settle(c);
    return true;
}

/* ---- Accepting ---- */

/* Makes room by closing the longest idle connection, if any is idle. */
static bool evict_one(struct tcp_server *s)
{
    struct connection *c;
    TAILQ_FOREACH (c, &s->queue, idle) {
        if (c->waiting == 0 && !wants_to_send(c)) {
            close_connection(c);
            return true;
        }
    }
    return false;
}

static struct connection *add_connection(struct tcp_server *s, int fd, const struct addr *client,
                                         const struct addr *local)
{
    struct connection *c = xcalloc(1, sizeof(*c));
    uint32_t slot = s->free_slots[s->config.connections_max - s->count - 1];
    c->server = s;
    c->ref = (struct tcp_ref){.slot = slot, .generation = s->generations[slot]};
    c->client = *client;
    c->local = *local;
    buf_init(&c->in, INPUT_MAX);
    buf_init(&c->out, TCP_OUTPUT_MAX);
    c->fd = fd;
    s->slots[slot] = c;
    s->count++;
    c->active_ms = clock_monotonic_ms();
    TAILQ_INSERT_TAIL(&s->queue, c, idle);
    start_idle_timer(s);
    return c;
}

static bool on_full(void *data)
{
    return evict_one(data);
}

static void on_accepted(void *data, int fd, const struct addr *client, const struct addr *local)
{
    struct tcp_server *s = data;
    if (s->count == s->config.connections_max && !evict_one(s)) {
        (void)close(fd); /* every connection there is has work in hand */
        return;
    }
    struct connection *c = add_connection(s, fd, client, local);
    settle_or_close(c, read_and_answer(c));
}

/* ---- Life ---- */

int tcp_server_new(const struct tcp_server_config *config, struct tcp_server **ret_server,
                   struct err *err)
{
    struct tcp_server *s = xcalloc(1, sizeof(*s));
    int r = tcp_poller_new(config->loop, on_event, s, &s->poller, err);
    if (r < 0) {
        free(s);
        return r;
    }
    const struct tcp_acceptor_config acceptor = {
        .loop = config->loop,
        .sockets = config->sockets,
        .count = config->socket_count,
        .accepted = on_accepted,
        .make_room = on_full,
        .data = s,
    };
    s->config = *config;
    s->config.sockets = NULL; /* the acceptor has them */
    TAILQ_INIT(&s->queue);
    s->slots = xcalloc(config->connections_max, sizeof(*s->slots));
    s->generations = xcalloc(config->connections_max, sizeof(*s->generations));
    s->free_slots = xcalloc(config->connections_max, sizeof(*s->free_slots));
    for (size_t i = 0; i < config->connections_max; i++) {
        s->free_slots[i] = (uint32_t)(config->connections_max - 1 - i);
    }
    ev_init(&s->idle_timer, on_idle);
    s->idle_timer.data = s;
    s->acceptor = tcp_acceptor_new(&acceptor);
    *ret_server = s;
    return 0;
}

static void stop_accepting(struct tcp_server *s)
{
    tcp_acceptor_free(s->acceptor);
    s->acceptor = NULL;
}

void tcp_server_free(struct tcp_server *server)
{
    if (!server) {
        return;
    }
    stop_accepting(server);
    while (!TAILQ_EMPTY(&server->queue)) {
        close_connection(TAILQ_FIRST(&server->queue));
    }
    ev_timer_stop(server->config.loop, &server->idle_timer);
    tcp_poller_free(server->poller);
    free(server->slots);
    free(server->generations);
    free(server->free_slots);
    free(server);
}

/* Connections that nobody has accepted yet come second: the idle ones have made room by then. */
void tcp_server_drain(struct tcp_server *server)
{
    server->draining = true;
    for (size_t i = 0; i < server->config.connections_max; i++) {
        if (server->slots[i]) {
            settle_or_close(server->slots[i], go_on(server->slots[i]));
        }
    }
    tcp_acceptor_take_waiting(server->acceptor);
    stop_accepting(server);
}

size_t tcp_server_connections(const struct tcp_server *server)
{
    return server->count;
}
