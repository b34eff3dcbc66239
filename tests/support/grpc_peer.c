#include "tests/support/grpc_peer.h"

#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/h2_bytes.h"
#include "tests/support/loopback.h"
#include "tests/support/unit_test.h"

/* Requests of tests are short; at most one read is buffered. */
enum { IN_MAX = 1 << 20, READ_SIZE = 65536 };

struct connection {
    LIST_ENTRY(connection) entry;
    struct grpc_peer *peer;
    ev_io readable;
    struct buf in;
    bool is_greeted;
};

struct grpc_peer {
    struct ev_loop *loop;
    grpc_peer_answer answer;
    struct grpc_peer_counts counts;
    ev_io acceptable;
    char url[64];
    LIST_HEAD(, connection) connections;
};

static void connection_end(struct connection *c)
{
    LIST_REMOVE(c, entry);
    c->peer->counts.open--;
    ev_io_stop(c->peer->loop, &c->readable);
    close(c->readable.fd);
    buf_fini(&c->in);
    free(c);
}

/* A few hundred bytes always fit the socket buffer; if the client is gone, nobody misses them. */
static void grpc_peer_say(struct connection *c, const struct buf *out)
{
    (void)send(c->readable.fd, out->data, out->len, MSG_NOSIGNAL);
}

static void grpc_peer_take_frame(struct connection *c, const struct h2_frame_view *frame,
                                 struct buf *out)
{
    struct grpc_peer *peer = c->peer;
    bool is_ack = frame->flags & H2_ACK;
    if (frame->type == H2_SETTINGS && !is_ack) {
        h2_frame(out, H2_SETTINGS, H2_ACK, 0, slice_of(NULL, 0));
    } else if (frame->type == H2_PING && !is_ack) {
        peer->counts.pings++;
        h2_frame(out, H2_PING, H2_ACK, 0, frame->payload);
    } else if (frame->type == H2_DATA) {
        peer->counts.calls++;
        peer->answer(out, frame->stream, !(frame->flags & H2_END_STREAM));
    }
}

static void take_input(struct connection *c)
{
    const size_t preface = strlen(H2_PREFACE);
    struct h2_frame_view frame;
    CLEANUP_BUF struct buf out = buf_of(IN_MAX);
    if (!c->is_greeted && c->in.len >= preface) {
        assert_memory_equal(c->in.data, H2_PREFACE, preface);
        buf_consume(&c->in, preface);
        h2_frame(&out, H2_SETTINGS, 0, 0, slice_of(NULL, 0));
        c->is_greeted = true;
    }
    struct reader r = reader_of(c->in.data, c->in.len);
    while (c->is_greeted && h2_next_frame(&r, &frame)) {
        grpc_peer_take_frame(c, &frame, &out);
    }
    buf_consume(&c->in, r.pos);
    grpc_peer_say(c, &out);
}

static void grpc_peer_on_readable(struct ev_loop *loop, ev_io *w, int events)
{
    struct connection *c = w->data;
    ssize_t n = recv(w->fd, buf_reserve(&c->in, READ_SIZE), READ_SIZE, MSG_DONTWAIT);
    if (n <= 0) {
        connection_end(c);
        return;
    }
    c->in.len += (size_t)n;
    take_input(c);
}

static void grpc_peer_on_acceptable(struct ev_loop *loop, ev_io *w, int events)
{
    struct grpc_peer *peer = w->data;
    struct connection *c = xcalloc(1, sizeof(*c));
    int fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC);
    assert_true(fd >= 0);
    c->peer = peer;
    buf_init(&c->in, IN_MAX);
    ev_io_init(&c->readable, grpc_peer_on_readable, fd, EV_READ);
    c->readable.data = c;
    ev_io_start(loop, &c->readable);
    LIST_INSERT_HEAD(&peer->connections, c, entry);
    peer->counts.accepted++;
    peer->counts.open++;
}

struct grpc_peer *grpc_peer_new(struct ev_loop *loop, grpc_peer_answer answer)
{
    struct grpc_peer *peer = xcalloc(1, sizeof(*peer));
    struct addr address;
    peer->loop = loop;
    peer->answer = answer;
    LIST_INIT(&peer->connections);
    ev_io_init(&peer->acceptable, grpc_peer_on_acceptable, loopback_listen(&address), EV_READ);
    peer->acceptable.data = peer;
    ev_io_start(loop, &peer->acceptable);
    (void)snprintf(peer->url, sizeof(peer->url), "http://127.0.0.1:%u", addr_port(&address));
    return peer;
}

void grpc_peer_free(struct grpc_peer *peer)
{
    if (!peer) {
        return;
    }
    while (!LIST_EMPTY(&peer->connections)) {
        connection_end(LIST_FIRST(&peer->connections));
    }
    ev_io_stop(peer->loop, &peer->acceptable);
    close(peer->acceptable.fd);
    free(peer);
}

const char *grpc_peer_url(const struct grpc_peer *peer)
{
    return peer->url;
}

const struct grpc_peer_counts *grpc_peer_counts(const struct grpc_peer *peer)
{
    return &peer->counts;
}

void grpc_peer_hang_up(struct grpc_peer *peer)
{
    struct connection *oldest = LIST_FIRST(&peer->connections); /* new ones go to the head */
    assert_non_null(oldest);
    while (LIST_NEXT(oldest, entry)) {
        oldest = LIST_NEXT(oldest, entry);
    }
    connection_end(oldest);
}

void grpc_peer_go_away(struct grpc_peer *peer, uint32_t code, const char *text)
{
    uint8_t head[8];
    struct writer w = writer_of(head, sizeof(head));
    writer_u32(&w, 0); /* no stream was processed */
    writer_u32(&w, code);
    CLEANUP_BUF struct buf payload = buf_of(IN_MAX);
    CLEANUP_BUF struct buf out = buf_of(IN_MAX);
    buf_append(&payload, head, sizeof(head));
    buf_append_str(&payload, text);
    h2_frame(&out, H2_GOAWAY, 0, 0, buf_slice(&payload));
    while (!LIST_EMPTY(&peer->connections)) {
        grpc_peer_say(LIST_FIRST(&peer->connections), &out);
        connection_end(LIST_FIRST(&peer->connections));
    }
}

void grpc_peer_yes(struct buf *out, uint32_t stream, bool is_long)
{
    h2_headers(out, 0, stream, ":status: 200\ncontent-type: application/grpc");
    h2_frame(out, H2_DATA, 0, stream, slice_of("\0\0\0\0\0", 5));
    if (!is_long) {
        h2_headers(out, H2_END_STREAM, stream, "grpc-status: 0");
    }
}

void grpc_peer_silence(struct buf *out, uint32_t stream, bool is_long)
{
}
