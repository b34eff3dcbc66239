#include "skydns/streams/tcp_acceptor_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/attributes.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "skydns/streams/tcp_connection_internal.h"

/* Limits accepted connections in one turn, 15 us each if another must be closed: then those that
 * are there get theirs. */
enum { ACCEPTS_A_TURN = 8 };

/* Seconds before the next attempt when descriptors run out. */
static const double pause_s = 0.1;

struct listener {
    ev_io io;
    struct tcp_acceptor *owner;
    struct addr address;
    enum engine_transport transport;
    bool is_shared;
};

struct tcp_acceptor {
    struct ev_loop *loop;
    struct tcp_server *server;
    ev_timer pause;
    size_t count;
    struct listener listeners[];
};

static void start_all(struct tcp_acceptor *a)
{
    for (size_t i = 0; i < a->count; i++) {
        ev_io_start(a->loop, &a->listeners[i].io);
    }
}

static void tcp_acceptor_stop_all(struct tcp_acceptor *a)
{
    for (size_t i = 0; i < a->count; i++) {
        ev_io_stop(a->loop, &a->listeners[i].io);
    }
}

/* Pauses when descriptors or memory run out: the sockets would stay ready, and the loop would
 * spin. */
static void tcp_acceptor_pause_accepting(struct tcp_acceptor *a, int error)
{
    static struct log_limit limit = {.burst = 1};
    if (log_limit_pass(&limit)) {
        log_warn("cannot accept connections, pausing", LOG_STR("reason", err_code_text(-error)));
    }
    log_debug("accepting paused", LOG_STR("reason", err_code_text(-error)),
              LOG_INT("pause_ms", (int64_t)(pause_s * 1000)));
    tcp_acceptor_stop_all(a);
    ev_timer_set(&a->pause, pause_s, 0.);
    ev_timer_start(a->loop, &a->pause);
}

static void tcp_acceptor_on_pause(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    log_debug("accepting resumed");
    start_all(timer->data);
}

static struct addr local_address(const struct listener *l, int fd)
{
    struct addr local = {.len = sizeof(local.v6)};
    if (!addr_is_wildcard(&l->address)) {
        return l->address;
    }
    if (getsockname(fd, &local.sa, &local.len) < 0) {
        local = (struct addr){.len = 0};
    }
    return local;
}

static void accept_some(const struct listener *l, unsigned limit)
{
    struct tcp_server *server = l->owner->server;
    for (unsigned i = 0; i < limit; i++) {
        struct addr client = {.len = sizeof(client.v6)};
        int fd = accept4(l->io.fd, &client.sa, &client.len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            int error = errno;
            if (err_is_exhaustion(-error) && !tcp_server_make_room(server)) {
                tcp_acceptor_pause_accepting(l->owner, error);
            }
            if (error == ECONNABORTED || error == EINTR) {
                continue;
            }
            return;
        }
        struct addr local = local_address(l, fd);
        tcp_server_accept(server, fd, l->transport, &client, &local);
    }
}

static void on_accept(struct ev_loop *loop UNUSED, ev_io *io, int revents UNUSED)
{
    accept_some(io->data, ACCEPTS_A_TURN);
}

struct tcp_acceptor *tcp_acceptor_new(struct ev_loop *loop, struct tcp_server *server,
                                      const struct listen_socket *sockets, size_t count)
{
    struct tcp_acceptor *a = xcalloc(1, sizeof(*a) + count * sizeof(a->listeners[0]));
    a->loop = loop;
    a->server = server;
    a->count = count;
    for (size_t i = 0; i < a->count; i++) {
        struct listener *l = &a->listeners[i];
        l->owner = a;
        l->address = sockets[i].address;
        l->transport = sockets[i].transport;
        l->is_shared = sockets[i].is_shared;
        ev_io_init(&l->io, on_accept, sockets[i].fd, EV_READ);
        l->io.data = l;
    }
    ev_init(&a->pause, tcp_acceptor_on_pause);
    a->pause.data = a;
    start_all(a);
    return a;
}

void tcp_acceptor_take_waiting(struct tcp_acceptor *acceptor)
{
    for (size_t i = 0; i < acceptor->count; i++) {
        if (!acceptor->listeners[i].is_shared) {
            accept_some(&acceptor->listeners[i], LISTEN_BACKLOG + 1);
        }
    }
}

void tcp_acceptor_free(struct tcp_acceptor *acceptor)
{
    if (!acceptor) {
        return;
    }
    tcp_acceptor_stop_all(acceptor);
    ev_timer_stop(acceptor->loop, &acceptor->pause);
    for (size_t i = 0; i < acceptor->count; i++) {
        (void)close(acceptor->listeners[i].io.fd); /* nothing buffered */
    }
    free(acceptor);
}
