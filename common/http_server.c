#include "common/http_server.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/xalloc.h"

enum {
    CONNECTIONS_MAX = 64,
    IDLE_TIMEOUT_S = 10,
    /* Per connection, request line and headers included: browsers send up to 8 KiB. */
    CONNECTION_MEMORY = 16 * 1024,
    /* Read and thrown away, so that a probe that POSTs something gets its answer; more than this is
     * no probe and the connection is closed. */
    REQUEST_BODY_MAX = 64 * 1024,
    REPLY_BODY_MAX = 16 * 1024 * 1024,
    /* What a stream is asked for at a time; as much as a socket takes at once. */
    STREAM_BLOCK = 32 * 1024,
};

struct http_server {
    struct ev_loop *loop;
    struct MHD_Daemon *daemon;
    const struct http_route *routes;
    size_t count;
    ev_io ready;
    ev_timer timer;
};

/* What the library keeps for us from a request's headers to its end. */
struct request_state {
    size_t body_bytes;
};

static bool is_full(const struct http_server *server)
{
    return MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS)
               ->num_connections >= CONNECTIONS_MAX;
}

/* The library's sockets are all behind its epoll descriptor; besides that it only needs to run when
 * the nearest connection's time is up, or at once when it has work left. */
static void run_and_rearm(struct http_server *server)
{
    MHD_UNSIGNED_LONG_LONG delay_ms;
    bool was_full = is_full(server);
    (void)MHD_run(server->daemon); /* fails only for a daemon with a thread of its own */
    if (was_full && !is_full(server)) {
        (void)MHD_run(server->daemon); /* listens again only in the run after one that closed */
    }
    ev_timer_stop(server->loop, &server->timer);
    if (MHD_get_timeout(server->daemon, &delay_ms) == MHD_YES) {
        ev_now_update(server->loop);
        ev_timer_set(&server->timer, (double)delay_ms / 1000, 0.);
        ev_timer_start(server->loop, &server->timer);
    }
}

static void on_ready(struct ev_loop *loop UNUSED, ev_io *w, int events UNUSED)
{
    run_and_rearm(w->data);
}

static void on_timer(struct ev_loop *loop UNUSED, ev_timer *w, int events UNUSED)
{
    run_and_rearm(w->data);
}

__attribute__((format(printf, 2, 0))) static void log_library_message(void *data UNUSED,
                                                                      const char *format,
                                                                      va_list args)
{
    char text[256];
    (void)vsnprintf(text, sizeof(text), format, args); /* cut is still readable */
    text[strcspn(text, "\n")] = '\0';
    log_debug("http server", LOG_STR("reason", text));
}

static const struct http_route *find_route(const struct http_server *server, const char *path)
{
    for (size_t i = 0; i < server->count; i++) {
        const char *pattern = server->routes[i].path;
        if (strcmp(pattern, path) == 0 || strcmp(pattern, "*") == 0) {
            return &server->routes[i];
        }
    }
    return NULL;
}

static void fill_error(struct http_reply *reply, int status, const char *text)
{
    reply->status = status;
    reply->content_type = "text/plain; charset=utf-8";
    buf_clear(&reply->body);
    buf_append_str(&reply->body, text);
}

/* Takes the body's memory. */
static struct MHD_Response *whole_response(struct buf *body)
{
    static char empty[1];
    struct MHD_Response *response = MHD_create_response_from_buffer(
        body->len, body->data ? (void *)body->data : empty,
        body->data ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (!response) {
        buf_fini(body);
    }
    return response;
}

/* ---- Bodies made while they are sent ---- */

struct streaming {
    struct http_stream stream;
    struct buf piece; /* what is still to be sent of it */
    bool is_last;
};

static ssize_t on_room(void *data, uint64_t position UNUSED, char *out, size_t room)
{
    struct streaming *s = data;
    while (s->piece.len == 0) {
        if (s->is_last) {
            return MHD_CONTENT_READER_END_OF_STREAM;
        }
        buf_clear(&s->piece);
        s->is_last = !s->stream.more(s->stream.data, &s->piece);
        if (s->piece.failed) {
            return MHD_CONTENT_READER_END_WITH_ERROR;
        }
    }
    size_t len = s->piece.len < room ? s->piece.len : room;
    memcpy(out, s->piece.data, len);
    buf_consume(&s->piece, len);
    return (ssize_t)len;
}

static void on_streamed(void *data)
{
    struct streaming *s = data;
    s->stream.end(s->stream.data);
    buf_fini(&s->piece);
    free(s);
}

static struct MHD_Response *stream_response(const struct http_stream *stream)
{
    struct streaming *s = xcalloc(1, sizeof(*s));
    s->stream = *stream;
    buf_init(&s->piece, HTTP_PIECE_MAX);
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, on_room, s, on_streamed);
    if (!response) {
        on_streamed(s);
    }
    return response;
}

/* ---- Requests ---- */

/* Takes the body's memory, or the stream. */
static enum MHD_Result send_reply(struct MHD_Connection *connection, struct http_reply *reply)
{
    struct MHD_Response *response;
    if (reply->stream.more) {
        buf_fini(&reply->body);
        response = stream_response(&reply->stream);
    } else {
        response = whole_response(&reply->body);
    }
    if (!response) {
        return MHD_NO;
    }
    enum MHD_Result r =
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, reply->content_type);
    if (r == MHD_YES) {
        r = MHD_queue_response(connection, (unsigned)reply->status, response);
    }
    MHD_destroy_response(response); /* the queue has its own reference */
    return r;
}

static enum MHD_Result answer(struct http_server *server, struct MHD_Connection *connection,
                              const char *path, const char *method)
{
    const struct http_request request = {.method = method, .path = path, .connection = connection};
    struct http_reply reply = {.status = 200, .content_type = "text/plain; charset=utf-8"};
    const struct http_route *route = find_route(server, path);
    buf_init(&reply.body, REPLY_BODY_MAX);
    if (route) {
        route->handler(route->data, &request, &reply);
    } else {
        fill_error(&reply, 404, "not found\n");
    }
    if (reply.body.failed) {
        fill_error(&reply, 500, "reply too large\n");
    }
    return send_reply(connection, &reply);
}

/* Called once with the headers, once for each piece of body, and once when the body is complete.
 * MHD_NO closes the connection. */
static enum MHD_Result on_request(void *data, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version UNUSED,
                                  const char *body UNUSED, size_t *body_bytes, void **request_data)
{
    struct request_state *state = *request_data;
    if (!state) {
        *request_data = xcalloc(1, sizeof(*state));
        return MHD_YES;
    }
    if (*body_bytes == 0) {
        return answer(data, connection, path, method);
    }
    state->body_bytes += *body_bytes;
    *body_bytes = 0;
    return state->body_bytes > REQUEST_BODY_MAX ? MHD_NO : MHD_YES;
}

static void on_request_done(void *data UNUSED, struct MHD_Connection *connection UNUSED,
                            void **request_data, enum MHD_RequestTerminationCode code UNUSED)
{
    free(*request_data);
    *request_data = NULL;
}

/* Returns the descriptor. */
static int listen_on(const struct addr *address, struct err *err)
{
    char text[ADDR_TEXT_MAX];
    const int on = 1;
    CLEANUP_CLOSE int fd =
        socket(address->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    /* SO_REUSEADDR: a restarted program need not wait for connections of its last life. */
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
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
    char text[ADDR_TEXT_MAX];
    int fd = listen_on(address, err);
    if (fd < 0) {
        return fd;
    }
    struct http_server *server = xcalloc(1, sizeof(*server));
    server->loop = loop;
    server->routes = routes;
    server->count = count;
    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_ERROR_LOG, 0, NULL, NULL, on_request, server,
        MHD_OPTION_EXTERNAL_LOGGER, log_library_message, NULL, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_NOTIFY_COMPLETED, on_request_done, NULL, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_TIMEOUT_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY, MHD_OPTION_END);
    const union MHD_DaemonInfo *info =
        server->daemon ? MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
    if (!info) {
        http_server_free(server);
        return err_set(err, ERR_UNAVAILABLE, "serve HTTP on %s: cannot start the server",
                       addr_format(address, text));
    }
    ev_io_init(&server->ready, on_ready, info->epoll_fd, EV_READ);
    server->ready.data = server;
    ev_io_start(loop, &server->ready);
    ev_init(&server->timer, on_timer);
    server->timer.data = server;
    *ret_server = server;
    return 0;
}

void http_server_free(struct http_server *server)
{
    if (!server) {
        return;
    }
    ev_io_stop(server->loop, &server->ready);
    ev_timer_stop(server->loop, &server->timer);
    if (server->daemon) {
        MHD_stop_daemon(server->daemon); /* closes the listening socket too */
    }
    free(server);
}

const char *http_request_arg(const struct http_request *request, const char *name)
{
    const char *value = NULL;
    if (MHD_lookup_connection_value_n(request->connection, MHD_GET_ARGUMENT_KIND, name,
                                      strlen(name), &value, NULL) != MHD_YES) {
        return NULL;
    }
    return value ? value : "";
}
