#include "skydns/streams/tcp_connection_internal.h"

#include <errno.h>
#include <string.h>

#include "skydns/listen/socket_calls.h"

/* ---- Sending ---- */

static ssize_t tcp_connection_send_some(struct tcp_connection *c, const uint8_t *bytes, size_t len)
{
    return c->tls ? tcp_tls_send(c, bytes, len) : socket_send(c->fd, bytes, len, MSG_NOSIGNAL);
}

/* Sends as much as it can and holds the rest. Returns false if the connection is broken, or its
 * slow client has reached the limit; the caller closes it. */
static bool send_bytes(struct tcp_connection *c, const uint8_t *bytes, size_t len)
{
    size_t sent = 0;
    if (c->out.len == 0) {
        ssize_t n = tcp_connection_send_some(c, bytes, len);
        if (n < 0 && errno != EAGAIN && errno != EINTR) {
            return false;
        }
        sent = n > 0 ? (size_t)n : 0;
    }
    tcp_output_hold(&c->out, bytes + sent, len - sent);
    return !c->out.is_full;
}

bool tcp_connection_send_collected(struct tcp_connection *c)
{
    struct tcp_server *s = c->server;
    size_t len = s->out_len;
    s->out_len = 0;
    return len == 0 || send_bytes(c, s->out, len);
}

/* Sends held bytes, a block of them, since others wait meanwhile. Returns false if the connection
 * is broken. */
static bool send_held_bytes(struct tcp_connection *c)
{
    const struct slice next = tcp_output_next(&c->out);
    ssize_t n = tcp_connection_send_some(c, (const uint8_t *)next.ptr, next.len);
    if (n < 0) {
        return errno == EAGAIN || errno == EINTR;
    }
    tcp_output_sent(&c->out, (size_t)n);
    tcp_connection_spend(c, (size_t)n);
    c->progress += (size_t)n;
    if (c->out.len == 0 || c->progress >= TCP_PROGRESS_MIN) {
        tcp_connection_touch(c);
    }
    return true;
}

/* Appends an answer to those collected. */
static void put_frame(struct tcp_server *s, const uint8_t *reply, size_t len)
{
    uint8_t *frame = s->out + s->out_len;
    frame[0] = (uint8_t)(len >> 8);
    frame[1] = (uint8_t)len;
    if (reply != frame + TCP_PREFIX) {
        memcpy(frame + TCP_PREFIX, reply, len);
    }
    s->out_len += TCP_PREFIX + len;
}

/* ---- Receiving ---- */

static void answer_one(struct tcp_connection *c, struct slice wire, unsigned ahead)
{
    struct tcp_server *s = c->server;
    struct response response = {.bytes = s->out + s->out_len + TCP_PREFIX};
    if (tcp_connection_ask(c, wire, 0, ahead, &response) == ENGINE_REPLY) {
        put_frame(s, response.bytes, response.len);
    }
}

/* Returns the length of the whole frame at the start of the bytes; 0: incomplete. */
static size_t whole_frame(const uint8_t *bytes, size_t len)
{
    if (len < TCP_PREFIX) {
        return 0;
    }
    size_t frame_len = TCP_PREFIX + (size_t)(bytes[0] << 8 | bytes[1]);
    return frame_len <= len ? frame_len : 0;
}

/* Announces the next queries, whose responses leave at the end of the turn; returns the position
 * after them. */
static size_t tcp_connection_look_ahead(const struct tcp_server *s, size_t pos, size_t len)
{
    struct slice queries[ENGINE_AHEAD_MAX];
    size_t count = 0, frame_len;
    while (count < ENGINE_AHEAD_MAX && (frame_len = whole_frame(s->in + pos, len - pos)) > 0) {
        queries[count++] = slice_of(s->in + pos + TCP_PREFIX, frame_len - TCP_PREFIX);
        pos += frame_len;
    }
    s->config.look_ahead(s->config.data, queries, count, true);
    return pos;
}

bool tcp_connection_end_turn(struct tcp_connection *c)
{
    c->turns += c->turns < 2;
    tcp_connection_touch(c);
    return tcp_connection_send_collected(c);
}

void tcp_connection_keep_input(struct tcp_connection *c, const uint8_t *bytes, size_t len)
{
    buf_clear(&c->in);
    if (len > 0) {
        buf_append(&c->in, bytes, len);
    } else if (c->in.cap) {
        buf_fini(&c->in);
        buf_init(&c->in, TCP_INPUT_MAX);
    }
}

bool tcp_connection_answer_frames(struct tcp_connection *c, size_t len)
{
    struct tcp_server *s = c->server;
    size_t pos = 0, seen = 0, frame_len;
    unsigned answered = 0, ahead = 0;
    while ((frame_len = whole_frame(s->in + pos, len - pos)) > 0 && answered < TCP_QUERIES_A_TURN &&
           s->out_len < TCP_OUTPUT_A_TURN && !tcp_connection_is_held(c) &&
           !tcp_connection_is_spent(c) && tcp_connection_is_admitted(c)) {
        if (pos == seen) {
            seen = tcp_connection_look_ahead(s, pos, len);
            ahead = 0;
        }
        struct slice wire = slice_of(s->in + pos + TCP_PREFIX, frame_len - TCP_PREFIX);
        answer_one(c, wire, ++ahead);
        pos += frame_len;
        answered++;
    }
    c->todo = frame_len > 0 ? TCP_HAS_FRAMES : 0;
    tcp_connection_keep_input(c, s->in + pos, len - pos);
    return answered ? tcp_connection_end_turn(c) : tcp_connection_send_collected(c);
}

size_t tcp_connection_load_input(struct tcp_connection *c)
{
    if (c->in.len) {
        memcpy(c->server->in, c->in.data, c->in.len);
    }
    return c->in.len;
}

bool tcp_connection_take_end(struct tcp_connection *c, ssize_t n, int error)
{
    if (n == 0) {
        c->ending = true; /* the client may still be waiting for answers */
        return true;
    }
    if (error == EAGAIN) {
        c->ending = c->server->draining; /* everything that has arrived is read */
        return true;
    }
    return error == EINTR;
}

/* Returns whether the frame that the held bytes begin ends behind so many further ones. */
static bool is_part_of_frame(const struct tcp_connection *c, size_t len)
{
    const uint8_t *bytes = c->in.data;
    return c->in.len >= TCP_PREFIX && !(c->todo & TCP_HAS_FRAMES) &&
           c->in.len + len < TCP_PREFIX + (size_t)(bytes[0] << 8 | bytes[1]);
}

bool tcp_connection_take_frames(struct tcp_connection *c, size_t len)
{
    const uint8_t *bytes = c->server->in + c->in.len;
    if (is_part_of_frame(c, len)) {
        buf_append(&c->in, bytes, len);
        return true;
    }
    return tcp_connection_answer_frames(c, tcp_connection_load_input(c) + len);
}

bool tcp_connection_read(struct tcp_connection *c)
{
    if (c->kind) {
        return tcp_stream_read(c);
    }
    ssize_t n = socket_recv(c->fd, c->server->in + c->in.len, TCP_READ_MAX, 0);
    return n > 0 ? tcp_connection_take_frames(c, (size_t)n) : tcp_connection_take_end(c, n, errno);
}

/* ---- Single queries ---- */

/* Copies a read to the server's input, and reads on if there may be more. */
static size_t load_read(struct tcp_connection *c, const uint8_t *bytes, size_t len)
{
    uint8_t *in = c->server->in;
    memcpy(in, bytes, len);
    ssize_t n = len == TCP_SINGLE_MAX ? socket_recv(c->fd, in + len, TCP_READ_MAX - len, 0) : 0;
    return len + (n > 0 ? (size_t)n : 0); /* the next read returns the end or error again */
}

void tcp_connection_read_single(struct tcp_connection *c)
{
    struct tcp_server *s = c->server;
    struct tcp_single *one = &s->singles[s->single_count];
    if (c->in.len > 0 || c->kind) {
        tcp_connection_settle(c, tcp_connection_read(c));
        return;
    }
    ssize_t n = socket_recv(c->fd, one->frame, sizeof(one->frame), 0);
    if (n <= 0) {
        tcp_connection_settle(c, tcp_connection_take_end(c, n, errno));
    } else if (whole_frame(one->frame, (size_t)n) == (size_t)n && tcp_connection_is_admitted(c)) {
        one->connection = c->ref;
        one->len = (size_t)n;
        s->single_count++;
    } else {
        tcp_connection_settle(c,
                              tcp_connection_answer_frames(c, load_read(c, one->frame, (size_t)n)));
    }
}

void tcp_connection_answer_singles(struct tcp_server *server)
{
    struct tcp_server *s = server;
    struct slice queries[ENGINE_AHEAD_MAX];
    size_t count = s->single_count;
    for (size_t i = 0; i < count; i++) {
        queries[i] = slice_of(s->singles[i].frame + TCP_PREFIX, s->singles[i].len - TCP_PREFIX);
    }
    if (count > 0) {
        s->config.look_ahead(s->config.data, queries, count, false);
    }
    s->single_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct tcp_connection *c = tcp_server_find(s, s->singles[i].connection);
        if (c) {
            answer_one(c, queries[i], (unsigned)i + 1);
            tcp_connection_settle(c, tcp_connection_end_turn(c));
        }
    }
}

/* ---- Continuing ---- */

bool tcp_connection_go_on(struct tcp_connection *c)
{
    if (c->out.len && !send_held_bytes(c)) {
        return false;
    }
    if (c->out.len) {
        return true;
    }
    if ((c->todo & TCP_HAS_OUTPUT) && (!tcp_stream_flush(c) || tcp_connection_wants_to_send(c))) {
        return !c->is_broken;
    }
    if (tcp_connection_is_held(c)) {
        return true;
    }
    if (c->todo & TCP_HAS_FRAMES) {
        size_t len = tcp_connection_load_input(c);
        return c->stream ? tcp_stream_turn(c, len) : tcp_connection_answer_frames(c, len);
    }
    return !(c->server->draining || c->has_more) || c->ending || tcp_connection_read(c);
}

bool tcp_connection_reply(struct tcp_connection *c, const uint8_t *reply, size_t len)
{
    bool was_stuck = tcp_connection_wants_to_send(c);
    put_frame(c->server, reply, len);
    if (!tcp_connection_send_collected(c)) {
        return false;
    }
    if (!was_stuck) {
        tcp_connection_touch(c);
    }
    return true;
}

void tcp_connection_note_part(struct tcp_connection *c)
{
    if (c->part_of && c->out.len == 0) {
        const struct tcp_server_config *config = &c->server->config;
        uint64_t transfer = c->part_of;
        c->part_of = 0;
        config->part_left(config->data, transfer, false);
    }
}

/* ---- Waiting ---- */

/* Returns true if one turn answered everything, and the leavers take the connection. */
static bool may_leave(struct tcp_connection *c, uint32_t events)
{
    return events == EPOLLIN && c->turns == 1 && !c->kind && c->set < 0 && c->waiting == 0 &&
           tcp_leavers_take(c->server->leavers, c->ref);
}

/* Sets the events to watch. Returns false if the kernel is out of memory for watches. */
static bool tcp_connection_set_events(struct tcp_connection *c, uint32_t events)
{
    c->is_leaving = c->is_leaving ? false : may_leave(c, events);
    if (c->is_leaving) {
        return true;
    }
    if (c->set >= 0) {
        const bool is_same = c->events == events;
        c->events = events;
        return is_same || tcp_poller_change(c->set, c->fd, events, c->ref);
    }
    c->events = events;
    c->set = tcp_poller_add(c->server->poller, c->who, c->fd, events, c->ref);
    return c->set >= 0;
}

/* Frames already read wait for the next turn of the loop, for room to send their answers, or for a
 * late answer to leave. When draining, the next turn checks whether more has arrived. */
void tcp_connection_settle(struct tcp_connection *c, bool is_sound)
{
    const char *broken = c->out.is_full ? "client too slow" : "error";
    const char *why = is_sound ? NULL : broken;
    uint32_t events = 0;
    if (tcp_connection_wants_to_send(c)) {
        events = EPOLLOUT;
    } else if (tcp_connection_is_held(c)) {
        events = 0; /* a reset is always reported */
    } else if (!c->ending) {
        events = c->server->draining || c->has_more ? EPOLLIN | EPOLLOUT : EPOLLIN;
    } else if (c->has_ended && !c->waiting && !why && tcp_stream_linger(c)) {
        events = EPOLLIN;
    } else if (!c->waiting && !why) {
        why = c->server->draining ? "drained" : "ended by the client";
    }
    if (!why && !tcp_connection_set_events(c, events)) {
        why = "no memory to wait for it";
    }
    if (why) {
        tcp_connection_close(c, why);
        return;
    }
    tcp_connection_note_part(c);
    tcp_connection_sort_in(c);
    tcp_server_bound_buffers(c->server);
}
