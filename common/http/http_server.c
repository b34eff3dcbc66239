#include "common/http/http_server.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/http/http_connection_internal.h"
#include "common/http/http_request_internal.h"

enum { CONNECTIONS_MAX = 64 };

/* Retry interval of accept() when descriptors run out. */
static const double pause_s = 0.1;

struct http_server {
    struct http_connection_config config;
    ev_io accepting; /* inactive while all places are taken, and during the pause */
    ev_timer pause;
    size_t count;
    struct http_connection *connections[CONNECTIONS_MAX];
};

static bool is_out_of_resources(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

/* Else the socket would be readable again at once, in a busy loop. */
static void pause_accepting(struct http_server *s, int error)
{
    static struct log_limit limit = {.burst = 1};
    if (log_limit_pass(&limit)) {
        log_warn("cannot accept HTTP connections, pausing",
                 LOG_STR("reason", err_code_text(-error)));
    }
    ev_io_stop(s->config.loop, &s->accepting);
    ev_timer_set(&s->pause, pause_s, 0.);
    ev_timer_start(s->config.loop, &s->pause);
}

static void on_pause(struct ev_loop *loop, ev_timer *w, int events UNUSED)
{
    struct http_server *s = w->data;
    if (s->count < CONNECTIONS_MAX) {
        ev_io_start(loop, &s->accepting);
    }
}

static void on_acceptable(struct ev_loop *loop, ev_io *w, int events UNUSED)
{
    struct http_server *s = w->data;
    while (s->count < CONNECTIONS_MAX) {
        int fd = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            s->connections[s->count++] = http_connection_new(&s->config, fd);
        } else if (is_out_of_resources(errno)) {
            pause_accepting(s, errno);
            return;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return; /* that was the last one */
        }
    }
    ev_io_stop(loop, w); /* the others wait in the backlog */
}

static void on_closed(void *data, struct http_connection *connection)
{
    struct http_server *s = data;
    size_t i = 0;
    while (s->connections[i] != connection) {
        i++;
    }
    s->connections[i] = s->connections[--s->count];
    if (!ev_is_active(&s->pause)) {
        ev_io_start(s->config.loop, &s->accepting);
    }
}

/* Returns the descriptor. */
static int listen_on(const struct addr *address, struct err *err)
{
    char text[ADDR_TEXT_MAX];
    const int on = 1;
    CLEANUP_CLOSE int fd =
        socket(address->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    /* SO_REUSEADDR: a restarted program need not wait for its old connections. Accepted sockets
     * inherit TCP_NODELAY, so that pieces of a reply do not wait for acknowledgements. */
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0 ||
        bind(fd, &address->sa, address->len) != 0 || listen(fd, CONNECTIONS_MAX) != 0) {
        int code = -errno;
        return err_set(err, code, "listen on %s: %s", addr_format(address, text),
                       err_code_text(code));
    }
    return STEAL_FD(fd);
}

int http_server_new(struct ev_loop *loop, const struct addr *address,
                    const struct http_route *routes, size_t count, struct http_server **ret_server,
                    struct err *err)
{
    int fd = listen_on(address, err);
    if (fd < 0) {
        return fd;
    }
    struct http_server *s = xcalloc(1, sizeof(*s));
    s->config = (struct http_connection_config){
        .loop = loop, .routes = routes, .count = count, .closed = on_closed, .data = s};
    ev_io_init(&s->accepting, on_acceptable, fd, EV_READ);
    s->accepting.data = s;
    ev_io_start(loop, &s->accepting);
    ev_init(&s->pause, on_pause);
    s->pause.data = s;
    *ret_server = s;
    return 0;
}

void http_server_free(struct http_server *server)
{
    struct http_server *s = server;
    if (!s) {
        return;
    }
    ev_io_stop(s->config.loop, &s->accepting);
    ev_timer_stop(s->config.loop, &s->pause);
    (void)close(s->accepting.fd); /* nothing was buffered */
    while (s->count > 0) {
        http_connection_free(s->connections[--s->count]);
    }
    free(s);
}

const char *http_request_arg(const struct http_request *request, const char *name)
{
    return http_head_argument(request->head, name);
}
