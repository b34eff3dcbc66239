/* A TCP server with a scripted answer function, and its clients, on one loop and one thread. Fails
 * the running test after TIMEOUT_S. */
#ifndef TESTS_UNIT_SKYDNS_STREAMS_TCP_BED_H
#define TESTS_UNIT_SKYDNS_STREAMS_TCP_BED_H

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "skydns/streams/tcp_server.h"
#include "tests/support/loopback.h"
#include "tests/support/unit_test.h"

enum { TIMEOUT_S = 20, ATTEMPTS = 100 };
enum { LATE_MAX = 2 * TCP_WAITING_MAX };

/* A query's first byte selects its handling; the rest is echoed. */
enum { ECHO = 'e', LATE = 'l', SILENT = 's', HUGE_REPLY = 'h' };

struct tcp_bed {
    struct ev_loop *loop;
    struct tcp_server *server;
    struct addr address;
    ev_timer guard;
    unsigned queries;
    struct slice ahead[ENGINE_AHEAD_MAX]; /* from the latest look-ahead call */
    size_t ahead_count, ahead_most;
    bool are_together; /* those last announced */
    size_t late_count;
    struct tcp_ref late[LATE_MAX];
    uint64_t late_tags[LATE_MAX];
    uint8_t late_tag[LATE_MAX]; /* the second byte of each */
    size_t client_waiting;      /* of the latest query */
    bool is_limited;            /* queries need tickets: */
    size_t tickets;
    unsigned refusals, refusals_again;
    uint64_t left[8]; /* transfers whose message left, or, negated, whose connection is gone */
    size_t left_count;
};

struct tcp_bed_limits {
    size_t connections;
    size_t buffers;
    uint32_t idle_ms;
    int send_buffer;                 /* the kernel's; 0: as usual */
    enum engine_transport transport; /* 0: plain DNS */
    struct stream_kind kind;         /* what it speaks */
    struct tls_handshakes *handshakes;
    uint32_t handshake_ms;
};

/* tcp_server_reply with these bytes, which are only read. */
static inline bool tcp_bed_reply(struct tcp_server *server, struct tcp_ref connection, uint64_t tag,
                                 const uint8_t *reply, size_t len)
{
    struct response response = {.len = len};
    memcpy(&response.bytes, &reply, sizeof(reply));
    return tcp_server_reply(server, connection, tag, &response);
}

static enum engine_verdict answer(void *data, const struct tcp_query *query,
                                  struct response *response)
{
    struct tcp_bed *bed = data;
    bed->queries++;
    bed->client_waiting = query->client_waiting;
    if (query->ahead || query->transport == ENGINE_TCP) {
        assert_true(query->ahead >= 1 && query->ahead <= bed->ahead_count);
        assert_true(slice_equal(bed->ahead[query->ahead - 1], slice_of(query->wire, query->len)));
    }
    switch (query->len ? query->wire[0] : SILENT) {
    case ECHO:
        memcpy(response->bytes, query->wire, query->len);
        response->len = query->len;
        return ENGINE_REPLY;
    case HUGE_REPLY:
        memset(response->bytes, 'H', ENGINE_REPLY_MAX);
        response->len = ENGINE_REPLY_MAX;
        return ENGINE_REPLY;
    case LATE:
        assert_true(bed->late_count < LATE_MAX);
        bed->late_tag[bed->late_count] = query->wire[1];
        bed->late_tags[bed->late_count] = query->tag;
        bed->late[bed->late_count++] = query->connection;
        return ENGINE_DEFER;
    default:
        return ENGINE_DROP;
    }
}

/* Admits as many queries as there are tickets. */
static int64_t admit(void *data, const struct addr *client, enum engine_transport transport,
                     bool is_again)
{
    struct tcp_bed *bed = data;
    if (bed->tickets > 0) {
        bed->tickets--;
        return 0;
    }
    bed->refusals += !is_again;
    bed->refusals_again += is_again;
    return 500;
}

static void part_left(void *data, uint64_t transfer, bool is_gone)
{
    struct tcp_bed *bed = data;
    assert_true(bed->left_count < sizeof(bed->left) / sizeof(bed->left[0]));
    bed->left[bed->left_count++] = is_gone ? ~transfer : transfer;
}

static void look_ahead(void *data, const struct slice *queries, size_t count, bool are_together)
{
    struct tcp_bed *bed = data;
    assert_true(count >= 1 && count <= ENGINE_AHEAD_MAX);
    memcpy(bed->ahead, queries, count * sizeof(queries[0]));
    bed->ahead_count = count;
    bed->are_together = are_together;
    bed->ahead_most = count > bed->ahead_most ? count : bed->ahead_most;
}

static void on_guard(struct ev_loop *loop, ev_timer *timer, int revents)
{
    fail_msg("timed out after %d s", TIMEOUT_S);
}

/* Accepts silent clients at once; these tests are slow on purpose. */
static void accept_silent_ones(int fd)
{
    const int off = 0;
    assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &off, sizeof(off)), 0);
}

static inline struct tcp_bed *tcp_bed_new(const struct tcp_bed_limits *limits)
{
    struct tcp_bed *bed = calloc(1, sizeof(*bed));
    struct err err = {0};
    int r = -EADDRINUSE;
    bed->loop = ev_loop_new(EVFLAG_AUTO);
    for (int i = 0; r == -EADDRINUSE && i < ATTEMPTS; i++) {
        bed->address = loopback_addr(loopback_free_port());
        struct listen_socket socket;
        r = listen_tcp(&bed->address, false, &socket, &err);
        if (r < 0) {
            continue;
        }
        accept_silent_ones(socket.fd);
        if (limits->send_buffer) {
            assert_int_equal(setsockopt(socket.fd, SOL_SOCKET, SO_SNDBUF, &limits->send_buffer,
                                        sizeof(limits->send_buffer)),
                             0);
        }
        socket.transport = limits->transport ? limits->transport : ENGINE_TCP;
        struct tcp_server_config config = {.loop = bed->loop,
                                           .sockets = &socket,
                                           .socket_count = 1,
                                           .connections_max = limits->connections,
                                           .buffers_max = limits->buffers,
                                           .idle_ms = limits->idle_ms,
                                           .answer = answer,
                                           .is_limited = &bed->is_limited,
                                           .admit = admit,
                                           .look_ahead = look_ahead,
                                           .part_left = part_left,
                                           .data = bed};
        config.kinds[socket.transport] = limits->kind;
        config.handshakes = limits->handshakes;
        config.handshake_ms = limits->handshake_ms;
        r = tcp_server_new(&config, &bed->server, &err);
    }
    assert_that(r >= 0, "no server: %s", err.msg);
    ev_timer_init(&bed->guard, on_guard, TIMEOUT_S, TIMEOUT_S);
    ev_timer_start(bed->loop, &bed->guard);
    return bed;
}

static inline void teardown(struct tcp_bed *bed)
{
    tcp_server_free(bed->server);
    ev_timer_stop(bed->loop, &bed->guard);
    ev_loop_destroy(bed->loop);
    free(bed);
}

/* Connects as another client: from 127.0.0.N. */
static inline int connect_from(struct tcp_bed *bed, uint8_t n)
{
    struct addr from = loopback_addr(0);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    from.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + n);
    assert_int_equal(bind(fd, &from.sa, from.len), 0);
    assert_int_equal(connect(fd, &bed->address.sa, bed->address.len), 0);
    return fd;
}

static inline int connect_client(struct tcp_bed *bed)
{
    return connect_from(bed, 1);
}

/* Runs the loop until the server has this many connections. */
static inline void wait_for_connections(struct tcp_bed *bed, size_t count)
{
    while (tcp_server_connections(bed->server) != count) {
        ev_run(bed->loop, EVRUN_ONCE);
    }
}

static inline void wait_for_queries(struct tcp_bed *bed, unsigned count)
{
    while (bed->queries < count) {
        ev_run(bed->loop, EVRUN_ONCE);
    }
}

static inline void send_all(int fd, const void *bytes, size_t len)
{
    assert_int_equal(send(fd, bytes, len, MSG_NOSIGNAL), len);
}

/* Until what was sent has arrived, as it does without the server. */
static inline void wait_for_arrival(int fd)
{
    int unacknowledged;
    do {
        assert_int_equal(ioctl(fd, SIOCOUTQ, &unacknowledged), 0);
    } while (unacknowledged > 0);
}

static void on_readable(struct ev_loop *loop, ev_io *io, int revents)
{
    ev_break(loop, EVBREAK_ONE);
}

/* Reads exactly len bytes; the loop runs meanwhile. False at the end of the stream. */
static inline bool receive(struct tcp_bed *bed, int fd, void *bytes, size_t len)
{
    ev_io io;
    size_t got = 0;
    ev_io_init(&io, on_readable, fd, EV_READ);
    ev_io_start(bed->loop, &io);
    while (got < len) {
        ssize_t n = recv(fd, (uint8_t *)bytes + got, len - got, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN)) {
            break;
        }
        got += n > 0 ? (size_t)n : 0;
        if (n < 0) {
            ev_run(bed->loop, 0);
        }
    }
    ev_io_stop(bed->loop, &io);
    return got == len;
}

static inline void assert_frame(struct tcp_bed *bed, int fd, const char *want)
{
    uint8_t prefix[2];
    char body[256] = "";
    assert_true(receive(bed, fd, prefix, 2));
    size_t len = (size_t)(prefix[0] << 8 | prefix[1]);
    assert_true(len < sizeof(body));
    assert_true(receive(bed, fd, body, len));
    assert_string_equal(body, want);
}

/* Also closes the client's side. */
static inline void assert_closed(struct tcp_bed *bed, int fd)
{
    uint8_t byte;
    assert_false(receive(bed, fd, &byte, 1));
    close(fd);
}

#endif
