/* Serves connections that speak anything but plain DNS, through their protocols. */
#include <errno.h>
#include <string.h>

#include "common/tls/tls_session.h"
#include "skydns/listen/socket_calls.h"
#include "skydns/streams/tcp_connection_internal.h"

/* ---- What protocols call ---- */

void stream_host_query(struct stream_host *host, uint64_t tag, const uint8_t *wire, size_t len)
{
    struct tcp_connection *c = host->connection;
    struct tcp_server *s = c->server;
    struct response response = {.bytes = s->reply};
    s->turn_queries++;
    c->has_ticket = false;
    switch (tcp_connection_ask(c, slice_of(wire, len), tag, 0, &response)) {
    case ENGINE_REPLY:
        c->kind->protocol->reply(c->stream, tag, &response);
        break;
    case ENGINE_DROP:
        response.len = 0;
        c->kind->protocol->reply(c->stream, tag, &response);
        break;
    case ENGINE_DEFER:
        break;
    }
}

/* Decides as tcp_connection_answer_frames does. */
bool stream_host_may_go_on(const struct stream_host *host)
{
    struct tcp_connection *c = host->connection;
    const struct tcp_server *s = c->server;
    bool may_go_on = s->turn_queries < TCP_QUERIES_A_TURN && s->out_len < TCP_OUTPUT_A_TURN &&
                     c->out.len == 0 && !tcp_connection_is_held(c) && !tcp_connection_is_spent(c);
    /* A protocol may ask more than once before its next query. */
    c->has_ticket = c->has_ticket || (may_go_on && tcp_connection_is_admitted(c));
    return may_go_on && c->has_ticket;
}

void stream_host_put(struct stream_host *host, const void *bytes, size_t len)
{
    struct tcp_connection *c = host->connection;
    struct tcp_server *s = c->server;
    const uint8_t *from = bytes;
    while (len > 0 && !c->is_broken) {
        size_t room = sizeof(s->out) - s->out_len, n = len < room ? len : room;
        memcpy(s->out + s->out_len, from, n);
        s->out_len += n;
        from += n;
        len -= n;
        if (len > 0) {
            c->is_broken = !tcp_connection_send_collected(c);
        }
    }
}

size_t stream_host_room(const struct stream_host *host)
{
    const struct tcp_connection *c = host->connection;
    return c->out.len || c->is_broken ? 0 : sizeof(c->server->out) - c->server->out_len;
}

/* ---- Turns ---- */

static void set_todo(struct tcp_connection *c, enum tcp_todo what, bool is_there)
{
    c->todo = (uint8_t)(is_there ? c->todo | what : c->todo & ~what);
}

void tcp_stream_open(struct tcp_connection *c)
{
    const struct stream_protocol *protocol = c->kind->protocol;
    c->host.connection = c;
    c->stream = protocol ? protocol->open(&c->host) : NULL;
    if (c->stream && c->server->draining) {
        tcp_stream_drain(c);
    }
}

bool tcp_stream_close(struct tcp_connection *c)
{
    if (c->stream) {
        c->kind->protocol->close(c->stream);
        c->stream = NULL;
    }
    return !(c->tls || c->handshake) || tcp_tls_close(c);
}

/* Has the protocol put what it has, if there is room, and sends what is collected. */
bool tcp_stream_flush(struct tcp_connection *c)
{
    const struct stream_protocol *protocol = c->kind->protocol;
    set_todo(c, TCP_HAS_OUTPUT,
             protocol->flush && (stream_host_room(&c->host) == 0 || protocol->flush(c->stream)));
    c->is_broken = !tcp_connection_send_collected(c) || c->is_broken;
    return !c->is_broken;
}

bool tcp_stream_turn(struct tcp_connection *c, size_t len)
{
    struct tcp_server *s = c->server;
    size_t taken = 0;
    s->turn_queries = 0;
    enum stream_take verdict = c->kind->protocol->take(c->stream, s->in, len, &taken);
    set_todo(c, TCP_HAS_FRAMES, verdict == STREAM_PAUSED);
    if (verdict == STREAM_ENDS || verdict == STREAM_BROKEN) {
        c->ending = true;
        c->has_ended = true;
        taken = len;
    }
    if (verdict == STREAM_BROKEN) {
        c->who->waiting -= c->waiting;
        c->waiting = 0;
    }
    if (verdict == STREAM_WAITS && len - taken > STREAM_UNTAKEN_MAX) {
        s->out_len = 0; /* what it has put is not the next connection's */
        return false;
    }
    tcp_connection_keep_input(c, s->in + taken, len - taken);
    if (s->turn_queries > 0) {
        tcp_connection_touch(c);
    }
    return tcp_stream_flush(c);
}

/* Skips bytes in the clear, since TLS has ended. */
static void tcp_stream_pass_over(struct tcp_connection *c)
{
    ssize_t n = socket_recv(c->fd, c->server->in, TCP_READ_MAX, 0);
    bool goes_on = n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
    size_t passed = n > 0 ? (size_t)n : 0;
    c->skip_left = goes_on && passed < c->skip_left ? c->skip_left - passed : 0;
}

bool tcp_stream_linger(struct tcp_connection *c)
{
    if (c->server->draining) {
        return false;
    }
    if (c->place != TCP_LINGERS) {
        (void)!tcp_stream_close(c);     /* always true: the handshake is done */
        (void)shutdown(c->fd, SHUT_WR); /* fails if the client is gone: reading shows it */
        c->skip_left = TCP_LINGER_BYTES;
        tcp_connection_linger(c);
    }
    return c->skip_left > 0;
}

bool tcp_stream_read(struct tcp_connection *c)
{
    if (c->place == TCP_LINGERS) {
        tcp_stream_pass_over(c);
        return true;
    }
    const size_t held = c->in.len;
    uint8_t *in = c->server->in + held;
    ssize_t n =
        c->tls ? tcp_tls_recv(c, in, TCP_READ_MAX) : socket_recv(c->fd, in, TCP_READ_MAX, 0);
    if (n <= 0) {
        return tcp_connection_take_end(c, n, errno);
    }
    if (!c->stream) {
        return tcp_connection_take_frames(c, (size_t)n);
    }
    bool is_sound = tcp_stream_turn(c, tcp_connection_load_input(c) + (size_t)n);
    /* Charges for bytes that become no query, and for held ones again: both take time. */
    tcp_connection_spend(c, held + (size_t)n);
    return is_sound;
}

bool tcp_stream_reply(struct tcp_connection *c, uint64_t tag, const struct response *response)
{
    bool was_stuck = tcp_connection_wants_to_send(c);
    c->kind->protocol->reply(c->stream, tag, response);
    if (!tcp_stream_flush(c)) {
        return false;
    }
    if (!was_stuck) {
        tcp_connection_touch(c);
    }
    return true;
}

void tcp_stream_drain(struct tcp_connection *c)
{
    if (c->kind->protocol->drain) {
        c->kind->protocol->drain(c->stream);
        c->is_broken = !tcp_connection_send_collected(c) || c->is_broken;
        set_todo(c, TCP_HAS_OUTPUT, c->kind->protocol->flush != NULL);
    }
}

size_t tcp_stream_memory(const struct tcp_connection *c)
{
    return c->kind->protocol->memory(c->stream);
}
