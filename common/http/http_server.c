#include "common/http/http_server.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/client_net.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/sockets.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "common/http/http_connection_internal.h"
#include "common/http/http_head.h"

enum {
    /* Bounds connections without those that are fresh: a second's worth of connections without a
     * request. */
    CONNECTIONS_MAX = 64,
    CLIENT_CONNECTIONS_MAX = CONNECTIONS_MAX / 4,
    OPEN_MAX = 512, /* with fresh ones: half of the usual limit of descriptors */
    CLIENT_OPEN_MAX = OPEN_MAX / 2,
    CROWDED = CONNECTIONS_MAX / 2, /* beyond which the first request must come soon */
    /* Bounds a turn of the loop: the requests that came with the connections are read before more
     * come. */
    ACCEPTS_MAX = CLIENT_CONNECTIONS_MAX / 2,
    BACKLOG = 1024,         /* a burst that a few dozen turns accept */
    UNACKED_MS = 10 * 1000, /* after which the kernel drops what a client has not read */
    /* Time in a turn of the loop for requests that came with earlier ones: 64 clients that send
     * hundreds at a time slow down each other, not a probe. */
    TURN_US = 2000
};

/* Retries accept() so often when descriptors run out. */
static const double pause_s = 0.1;

struct http_server {
    struct http_connection_config config;
    ev_io accepting; /* inactive during the pause */
    ev_timer pause;
    ev_timer turns; /* active: a connection waits for its turn */
    /* Connections by their last complete request, or else their beginning; the oldest first. */
    size_t count;
    struct http_connection *connections[OPEN_MAX];
};

/* ---- Evicted connections ---- */

static bool http_server_is_same_client(const struct ip *a, const struct ip *b)
{
    const struct client_net net_a = client_net_of_ip(a), net_b = client_net_of_ip(b);
    return client_net_equal(&net_a, &net_b);
}

/* Selects connections: those of one client, or all; with or without fresh ones. */
struct group {
    const struct ip *client; /* NULL: all */
    bool has_fresh;
};

static bool is_in_group(const struct group *group, const struct http_connection *c)
{
    return (group->has_fresh || !http_connection_is_fresh(c)) &&
           (!group->client || http_server_is_same_client(http_connection_client(c), group->client));
}

static size_t group_count(const struct http_server *s, const struct group *group)
{
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++) {
        count += is_in_group(group, s->connections[i]);
    }
    return count;
}

/* Returns the connection that has been longest without a complete request. If all are being
 * answered, returns the one whose response began first. The group is not empty. */
static struct http_connection *least_useful(const struct http_server *s, const struct group *group)
{
    struct http_connection *answering = NULL;
    for (size_t i = 0; i < s->count; i++) {
        struct http_connection *c = s->connections[i];
        if (!is_in_group(group, c)) {
            continue;
        }
        if (!http_connection_is_answering(c)) {
            return c;
        }
        answering = answering ? answering : c;
    }
    return answering;
}

void http_server_drop(struct http_server *server, const struct http_connection *connection)
{
    size_t i = 0;
    while (server->connections[i] != connection) {
        i++;
    }
    server->count--;
    memmove(server->connections + i, server->connections + i + 1,
            (server->count - i) * sizeof(struct http_connection *));
}

static void http_server_evict(struct http_server *s, struct http_connection *connection,
                              const char *line)
{
    static struct log_limit limit = {.burst = 1};
    char text[INET6_ADDRSTRLEN];
    if (log_limit_pass(&limit)) {
        log_warn(line, LOG_STR("client", ip_format(http_connection_client(connection), text)));
    }
    http_server_drop(s, connection);
    http_connection_free(connection);
}

/* Evicts until fewer than `limit` of the group stay. */
static void evict_down_to(struct http_server *s, struct group group, size_t limit)
{
    for (size_t count = group_count(s, &group); count >= limit; count--) {
        http_server_evict(s, least_useful(s, &group),
                          group.client
                              ? "many HTTP connections from one client, closing the longest idle"
                              : "all HTTP connections taken, closing the longest idle");
    }
}

/* Makes room for one more connection of the client. */
static void http_server_make_room(struct http_server *s, const struct ip *client)
{
    evict_down_to(s, (struct group){client, .has_fresh = false}, CLIENT_CONNECTIONS_MAX);
    evict_down_to(s, (struct group){NULL, .has_fresh = false}, CONNECTIONS_MAX);
    evict_down_to(s, (struct group){client, .has_fresh = true}, CLIENT_OPEN_MAX);
    evict_down_to(s, (struct group){NULL, .has_fresh = true}, OPEN_MAX);
}

static void http_server_add(struct http_server *s, int fd, const struct ip *client)
{
    http_server_make_room(s, client);
    s->connections[s->count++] = http_connection_new(&s->config, fd, client);
    for (size_t i = 0; s->count >= CROWDED && i < s->count; i++) {
        http_connection_hurry(s->connections[i]);
    }
}

void http_server_note_request(struct http_server *server, struct http_connection *connection)
{
    http_server_drop(server, connection);
    http_server_make_room(server, http_connection_client(connection));
    server->connections[server->count++] = connection;
}

/* ---- Turns ---- */

void http_server_give_turns(struct http_server *server)
{
    if (!ev_is_active(&server->turns)) {
        timer_arm(server->config.loop, &server->turns, 0.);
    }
}

/* Returns NULL if none waits. */
static struct http_connection *longest_waiting(const struct http_server *s)
{
    size_t i = 0;
    while (i < s->count && !http_connection_waits(s->connections[i])) {
        i++;
    }
    return i < s->count ? s->connections[i] : NULL;
}

static void http_server_on_turns(struct ev_loop *loop UNUSED, ev_timer *w, int events UNUSED)
{
    struct http_server *s = w->data;
    struct http_connection *c;
    const int64_t end_us = clock_monotonic_us() + TURN_US;
    while ((c = longest_waiting(s))) {
        http_connection_take_turn(c);
        if (clock_monotonic_us() >= end_us) {
            http_server_give_turns(s);
            return;
        }
    }
}

/* ---- Accepting ---- */

/* Pauses: the socket would be readable again at once, in a busy loop. */
static void http_server_pause_accepting(struct http_server *s, int error)
{
    static struct log_limit limit = {.burst = 1};
    if (log_limit_pass(&limit)) {
        log_warn("cannot accept HTTP connections, pausing",
                 LOG_STR("reason", err_code_text(-error)));
    }
    ev_io_stop(s->config.loop, &s->accepting);
    timer_arm(s->config.loop, &s->pause, pause_s);
}

static void http_server_on_pause(struct ev_loop *loop, ev_timer *w, int events UNUSED)
{
    struct http_server *s = w->data;
    ev_io_start(loop, &s->accepting);
}

/* Stands for a client at a Unix socket, which has no address. */
static const struct ip loopback = {.family_bytes = 4, .bytes = {127, 0, 0, 1}};

static void on_acceptable(struct ev_loop *loop UNUSED, ev_io *w, int events UNUSED)
{
    struct http_server *s = w->data;
    for (int i = 0; i < ACCEPTS_MAX; i++) {
        struct addr from = {.len = sizeof(from.v6)};
        int fd = accept4(w->fd, &from.sa, &from.len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            const struct ip client = from.sa.sa_family == AF_UNIX ? loopback : addr_ip(&from);
            http_server_add(s, fd, &client);
        } else if (err_is_exhaustion(-errno)) {
            http_server_pause_accepting(s, errno);
            return;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return; /* that was the last one */
        }
    }
}

int http_server_listen(const struct addr *address, struct err *err)
{
    char text[ADDR_TEXT_MAX];
    const int on = 1;
    const unsigned unacked_ms = UNACKED_MS;
    CLEANUP_CLOSE int fd =
        socket(address->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    /* SO_REUSEADDR: a restarted program need not wait for its old connections. Accepted sockets
     * inherit TCP_NODELAY, so that pieces of a response do not wait for acknowledgements, and
     * TCP_USER_TIMEOUT. */
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacked_ms, sizeof(unacked_ms)) != 0 ||
        bind(fd, &address->sa, address->len) != 0 || listen(fd, BACKLOG) != 0) {
        int code = -errno;
        return err_set(err, code, "listen on %s: %s", addr_format(address, text),
                       err_code_text(code));
    }
    return STEAL_FD(fd);
}

int http_server_listen_unix(const char *path, struct err *err)
{
    return unix_socket_listen(path, SOCK_STREAM, 0660, err);
}

struct http_server *http_server_of(struct ev_loop *loop, int fd, const struct http_route *routes,
                                   size_t count)
{
    struct http_server *s = xcalloc(1, sizeof(*s));
    s->config = (struct http_connection_config){
        .loop = loop, .routes = routes, .count = count, .server = s};
    ev_io_init(&s->accepting, on_acceptable, fd, EV_READ);
    ev_set_priority(&s->accepting, EV_MINPRI); /* requests that have arrived come first */
    s->accepting.data = s;
    timer_init(&s->pause, http_server_on_pause, s);
    timer_init(&s->turns, http_server_on_turns, s);
    http_server_resume(s);
    return s;
}

int http_server_new(struct ev_loop *loop, const struct addr *address,
                    const struct http_route *routes, size_t count, struct http_server **ret_server,
                    struct err *err)
{
    int fd = http_server_listen(address, err);
    if (fd < 0) {
        return fd;
    }
    *ret_server = http_server_of(loop, fd, routes, count);
    return 0;
}

void http_server_pause(struct http_server *server)
{
    ev_io_stop(server->config.loop, &server->accepting);
    ev_timer_stop(server->config.loop, &server->pause);
}

void http_server_resume(struct http_server *server)
{
    ev_io_start(server->config.loop, &server->accepting);
}

void http_server_leave(struct http_server *server)
{
    if (server->accepting.fd >= 0) {
        http_server_pause(server);
        (void)close(server->accepting.fd); /* nothing was buffered */
        server->accepting.fd = -1;
    }
}

int http_server_fd(const struct http_server *server)
{
    return server->accepting.fd;
}

void http_server_limit_hosts(struct http_server *server, const struct http_hosts *hosts)
{
    server->config.hosts = hosts;
}

void http_server_limit_access(struct http_server *server, const struct http_access *access)
{
    server->config.access = access;
}

void http_server_free(struct http_server *server)
{
    struct http_server *s = server;
    if (!s) {
        return;
    }
    http_server_leave(s);
    ev_timer_stop(s->config.loop, &s->turns);
    while (s->count > 0) {
        http_connection_free(s->connections[--s->count]);
    }
    free(s);
}

bool http_request_reads(const struct http_request *request, struct http_reply *reply)
{
    bool reads = strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0;
    if (!reads) {
        reply->status = HTTP_WRONG_METHOD;
        reply->fields = "Allow: GET, HEAD\r\n";
        buf_append_str(&reply->body, "expected: GET or HEAD\n");
    }
    return reads;
}
