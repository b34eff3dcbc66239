#include "tests/support/relay.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "tests/support/loopback.h"
#include "tests/support/unit_test.h"

/* A client under test has a connection or two and opens another for each that is cut. */
enum { PAIRS_MAX = 64 };

/* More than any test holds back. */
enum { HELD_MAX = 16 << 20 };

enum { PIECE = 64 * 1024 };

struct pair {
    struct relay *relay;
    ev_io client; /* fd -1: gone */
    ev_io server;
    struct buf held; /* from the client, for the server */
};

struct relay {
    struct ev_loop *loop;
    unsigned port;
    enum relay_mode mode;
    ev_io listener;
    char *url;
    size_t unheard;
    struct pair pairs[PAIRS_MAX];
    size_t pair_count;
};

static void relay_shut(struct relay *relay, ev_io *side)
{
    if (side->fd >= 0) {
        ev_io_stop(relay->loop, side);
        close(side->fd);
        ev_io_set(side, -1, EV_READ);
    }
}

/* Small writes between two programs that keep reading: blocks only briefly. */
static void relay_write_all(int fd, const void *bytes, size_t len)
{
    const uint8_t *at = bytes;
    while (len) {
        ssize_t n = send(fd, at, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return; /* gone; its own watcher will notice */
        }
        at += n;
        len -= (size_t)n;
    }
}

static void from_client(struct pair *pair, const uint8_t *bytes, size_t len)
{
    if (pair->relay->mode == RELAY_HOLD || pair->held.len) {
        buf_append(&pair->held, bytes, len);
        assert_false(pair->held.failed);
    } else {
        relay_write_all(pair->server.fd, bytes, len);
    }
}

static void relay_on_client(struct ev_loop *loop UNUSED, ev_io *w, int revents UNUSED)
{
    struct pair *pair = w->data;
    uint8_t bytes[PIECE];
    ssize_t n = read(w->fd, bytes, sizeof(bytes));
    if (n > 0) {
        from_client(pair, bytes, (size_t)n);
    } else {
        relay_shut(pair->relay, &pair->client);
        relay_shut(pair->relay, &pair->server);
    }
}

static void on_server(struct ev_loop *loop UNUSED, ev_io *w, int revents UNUSED)
{
    struct pair *pair = w->data;
    uint8_t bytes[PIECE];
    ssize_t n = read(w->fd, bytes, sizeof(bytes));
    if (n <= 0) {
        relay_shut(pair->relay, &pair->client);
        relay_shut(pair->relay, &pair->server);
    } else if (pair->client.fd < 0) {
        pair->relay->unheard += (size_t)n;
    } else if (pair->relay->mode != RELAY_MUTE) {
        relay_write_all(pair->client.fd, bytes, (size_t)n);
    }
}

static void relay_on_connection(struct ev_loop *loop, ev_io *w, int revents UNUSED)
{
    struct relay *relay = w->data;
    struct addr target = loopback_addr(relay->port);
    int client = accept(w->fd, NULL, NULL);
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(client >= 0 && server >= 0);
    if (connect(server, &target.sa, target.len) < 0) {
        close(client);
        close(server);
        return;
    }
    assert_in_range(relay->pair_count, 0, PAIRS_MAX - 1);
    struct pair *pair = &relay->pairs[relay->pair_count++];
    pair->relay = relay;
    buf_init(&pair->held, HELD_MAX);
    ev_io_init(&pair->client, relay_on_client, client, EV_READ);
    ev_io_init(&pair->server, on_server, server, EV_READ);
    pair->client.data = pair;
    pair->server.data = pair;
    ev_io_start(loop, &pair->client);
    ev_io_start(loop, &pair->server);
}

struct relay *relay_new(struct ev_loop *loop, unsigned port)
{
    struct relay *relay = xcalloc(1, sizeof(*relay));
    struct addr own;
    relay->loop = loop;
    relay->port = port;
    ev_io_init(&relay->listener, relay_on_connection, loopback_listen(&own), EV_READ);
    relay->listener.data = relay;
    ev_io_start(loop, &relay->listener);
    relay->url = xasprintf("http://127.0.0.1:%u", addr_port(&own));
    return relay;
}

void relay_free(struct relay *relay)
{
    if (!relay) {
        return;
    }
    relay_shut(relay, &relay->listener);
    for (size_t i = 0; i < relay->pair_count; i++) {
        relay_shut(relay, &relay->pairs[i].client);
        relay_shut(relay, &relay->pairs[i].server);
        buf_fini(&relay->pairs[i].held);
    }
    free(relay->url);
    free(relay);
}

const char *relay_url(const struct relay *relay)
{
    return relay->url;
}

void relay_set(struct relay *relay, enum relay_mode mode)
{
    relay->mode = mode;
}

size_t relay_held(const struct relay *relay)
{
    size_t held = 0;
    for (size_t i = 0; i < relay->pair_count; i++) {
        held += relay->pairs[i].held.len;
    }
    return held;
}

size_t relay_unheard(const struct relay *relay)
{
    return relay->unheard;
}

void relay_cut(struct relay *relay)
{
    for (size_t i = 0; i < relay->pair_count; i++) {
        struct pair *pair = &relay->pairs[i];
        relay_shut(relay, &pair->client);
        if (pair->held.len == 0) {
            relay_shut(relay, &pair->server);
        }
    }
}

void relay_deliver(struct relay *relay)
{
    for (size_t i = 0; i < relay->pair_count; i++) {
        struct pair *pair = &relay->pairs[i];
        if (pair->server.fd >= 0) {
            relay_write_all(pair->server.fd, pair->held.data, pair->held.len);
        }
        buf_clear(&pair->held);
    }
}
