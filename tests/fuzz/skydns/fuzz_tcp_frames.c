/* A TCP client's bytes, split at any point: every complete frame is answered, in order, and nothing
 * else is sent; then the connection closes. The first bytes of the input say where to split. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "skydns/listen/listen_socket.h"
#include "skydns/streams/tcp_server.h"
#include "tests/fuzz/fuzz_target.h"

enum { CUTS = 4, INPUT_MAX = 8192, FIRST_PORT = 20000, LAST_PORT = 32000, SMALLEST = 3 };

static struct ev_loop *loop;
static struct tcp_server *server;
static struct addr address;

static struct slice told[ENGINE_AHEAD_MAX]; /* expected next */
static size_t told_count;

static void tcp_frames_look_ahead(void *data, const struct slice *queries, size_t count,
                                  bool are_together)
{
    (void)data;
    (void)are_together;
    assert(count >= 1 && count <= ENGINE_AHEAD_MAX);
    memcpy(told, queries, count * sizeof(queries[0]));
    told_count = count;
}

/* Echoes the query; ignores one that is too short. */
static enum engine_verdict tcp_frames_answer(void *data, const struct tcp_query *query,
                                             struct response *response)
{
    (void)data;
    assert(query->ahead >= 1 && query->ahead <= told_count);
    assert(slice_equal(told[query->ahead - 1], slice_of(query->wire, query->len)));
    if (query->len < SMALLEST) {
        return ENGINE_DROP;
    }
    memcpy(response->bytes, query->wire, query->len);
    response->len = query->len;
    return ENGINE_REPLY;
}

static void start_server(void)
{
    struct listen_socket socket;
    int r = -EADDRINUSE;
    for (uint16_t port = FIRST_PORT; r == -EADDRINUSE && port < LAST_PORT; port++) {
        address = (struct addr){.v4 = {.sin_family = AF_INET, .sin_port = htons(port)},
                                .len = sizeof(address.v4)};
        address.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        r = listen_tcp(&address, false, &socket, NULL);
    }
    assert(r == 0);
    loop = ev_loop_new(EVFLAG_AUTO);
    const struct tcp_server_config config = {.loop = loop,
                                             .sockets = &socket,
                                             .socket_count = 1,
                                             .connections_max = 4,
                                             .buffers_max = TCP_BUFFERS_MAX,
                                             .idle_ms = 60000,
                                             .answer = tcp_frames_answer,
                                             .look_ahead = tcp_frames_look_ahead};
    r = tcp_server_new(&config, &server, NULL);
    assert(r == 0);
}

/* The expected replies. */
static size_t tcp_frames_model(const uint8_t *bytes, size_t len, uint8_t *out)
{
    size_t n = 0;
    for (size_t at = 0; at + 2 <= len;) {
        size_t frame = 2 + (size_t)(bytes[at] << 8 | bytes[at + 1]);
        if (at + frame > len) {
            break;
        }
        if (frame >= 2 + SMALLEST) {
            memcpy(out + n, bytes + at, frame);
            n += frame;
        }
        at += frame;
    }
    return n;
}

/* Runs the server and collects its replies. False: it closed the connection. */
static bool tcp_frames_receive(int fd, uint8_t *got, size_t *len)
{
    ev_run(loop, EVRUN_NOWAIT);
    ssize_t n = recv(fd, got + *len, INPUT_MAX + 1 - *len, MSG_DONTWAIT);
    if (n > 0) {
        *len += (size_t)n;
    }
    return n > 0 || (n < 0 && errno == EAGAIN);
}

/* After thousands of closed connections, also of other programs, ports run out for a second;
 * libFuzzer's timer interrupts connect(). */
static int connect_client(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert(fd >= 0);
    while (connect(fd, &address.sa, address.len) < 0) {
        assert(errno == EADDRNOTAVAIL || errno == EINTR);
    }
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t want[INPUT_MAX], got[INPUT_MAX + 1];
    const struct linger no_wait = {.l_onoff = 1};
    size_t got_len = 0, at = 0;
    if (size < CUTS || size > INPUT_MAX) {
        return 0;
    }
    if (!server) {
        start_server();
    }
    const uint8_t *bytes = data + CUTS;
    size_t len = size - CUTS;
    size_t want_len = tcp_frames_model(bytes, len, want);
    int fd = connect_client();
    for (int i = 0; i < CUTS && at < len; i++) {
        size_t piece = data[i] < len - at ? data[i] : len - at;
        assert(send(fd, bytes + at, piece, MSG_NOSIGNAL) == (ssize_t)piece);
        at += piece;
        (void)tcp_frames_receive(fd, got, &got_len); /* stays open: the input has not ended */
    }
    assert(send(fd, bytes + at, len - at, MSG_NOSIGNAL) == (ssize_t)(len - at));
    assert(shutdown(fd, SHUT_WR) == 0);
    while (tcp_frames_receive(fd, got, &got_len)) {
    }
    assert(got_len == want_len && memcmp(got, want, want_len) == 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &no_wait, sizeof(no_wait)); /* no TIME_WAIT */
    (void)close(fd);
    return 0;
}
