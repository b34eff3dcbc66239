#include "tests/support/http_script.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/xalloc.h"

enum { REQUEST_BYTES_MAX = 256 * 1024 };

struct connection {
    struct http_script *script;
    struct connection *next;
    int fd;
    ev_io read;
    ev_io write;
    struct buf request;
    const struct http_step *step; /* its reply is being sent */
    size_t sent;
};

struct http_script {
    struct ev_loop *loop;
    struct http_step *steps;
    size_t count;
    size_t taken;
    size_t accepted;
    int fd;
    ev_io accept;
    char url[64];
    char *problem;
    char *head; /* of the last request */
    struct connection *connections;
};

static void http_script_close_connection(struct connection *connection)
{
    if (connection->fd >= 0) {
        ev_io_stop(connection->script->loop, &connection->read);
        ev_io_stop(connection->script->loop, &connection->write);
        (void)close(connection->fd); /* only the client's view matters */
        connection->fd = -1;
    }
}

static void note_problem(struct http_script *script, const char *what, const char *head)
{
    if (!script->problem) {
        script->problem = xasprintf("request %zu: %s:\n%s", script->taken, what, head);
    }
}

static bool has_line(const char *head, const char *line)
{
    size_t len = strlen(line);
    for (const char *at = strstr(head, "\r\n"); at; at = strstr(at + 2, "\r\n")) {
        if (strncmp(at + 2, line, len) == 0 && strncmp(at + 2 + len, "\r\n", 2) == 0) {
            return true;
        }
    }
    return false;
}

/* A request that no step expects gets no reply: the test reports the problem. */
static void http_script_take_request(struct connection *connection, const char *head)
{
    struct http_script *script = connection->script;
    free(script->head);
    script->head = xstrdup(head);
    if (script->taken == script->count) {
        note_problem(script, "unexpected, the script has ended", head);
        return;
    }
    const struct http_step *step = &script->steps[script->taken];
    if (strncmp(head, step->request, strlen(step->request)) != 0) {
        note_problem(script, step->request, head);
        return;
    }
    if (step->header && !has_line(head, step->header)) {
        note_problem(script, step->header, head);
        return;
    }
    script->taken++;
    connection->step = step;
    connection->sent = 0;
    if (step->reply) {
        ev_io_start(script->loop, &connection->write);
    } else if (step->is_closed) {
        http_script_close_connection(connection);
    }
}

static void http_script_on_write(struct ev_loop *loop, ev_io *w, int revents)
{
    struct connection *connection = w->data;
    const struct http_step *step = connection->step;
    size_t left = strlen(step->reply) - connection->sent;
    size_t len = step->piece_bytes && step->piece_bytes < left ? step->piece_bytes : left;
    ssize_t n = send(connection->fd, step->reply + connection->sent, len, MSG_NOSIGNAL);
    (void)revents;
    if (n < 0) {
        if (errno != EAGAIN) {
            http_script_close_connection(connection);
        }
        return;
    }
    connection->sent += (size_t)n;
    if (connection->sent == strlen(step->reply)) {
        ev_io_stop(loop, w);
        if (step->is_closed) {
            http_script_close_connection(connection);
        }
    }
}

static bool is_request_complete(const char *text)
{
    static const char length[] = "\r\nContent-Length: ";
    const char *end = strstr(text, "\r\n\r\n");
    const char *at = strstr(text, length);
    size_t body = at && at < end ? strtoul(at + strlen(length), NULL, 10) : 0;
    return end && strlen(end + strlen("\r\n\r\n")) >= body;
}

static void http_script_on_read(struct ev_loop *loop, ev_io *w, int revents)
{
    struct connection *connection = w->data;
    char chunk[4096];
    ssize_t n = recv(connection->fd, chunk, sizeof(chunk), 0);
    (void)loop;
    (void)revents;
    if (n <= 0) {
        http_script_close_connection(connection);
        return;
    }
    buf_append(&connection->request, chunk, (size_t)n);
    const char *text = buf_cstr(&connection->request);
    if (is_request_complete(text)) {
        http_script_take_request(connection, text);
        buf_clear(&connection->request);
    }
}

static void http_script_on_accept(struct ev_loop *loop, ev_io *w, int revents)
{
    struct http_script *script = w->data;
    int fd = accept4(script->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    const int on = 1;
    (void)revents;
    if (fd < 0) {
        note_problem(script, "accept", "failed");
        return;
    }
    script->accepted++;
    struct connection *connection = xcalloc(1, sizeof(*connection));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* keeps pieces apart */
    connection->script = script;
    connection->fd = fd;
    connection->next = script->connections;
    script->connections = connection;
    buf_init(&connection->request, REQUEST_BYTES_MAX);
    ev_io_init(&connection->read, http_script_on_read, fd, EV_READ);
    ev_io_init(&connection->write, http_script_on_write, fd, EV_WRITE);
    connection->read.data = connection;
    connection->write.data = connection;
    ev_io_start(loop, &connection->read);
}

struct http_script *http_script_new(struct ev_loop *loop, const struct http_step *steps,
                                    size_t count)
{
    struct http_script *script = xcalloc(1, sizeof(*script));
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(address);
    script->loop = loop;
    script->count = count;
    script->steps = xcalloc(count, sizeof(*steps));
    if (count > 0) {
        memcpy(script->steps, steps, count * sizeof(*steps));
    }
    script->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (script->fd < 0 || bind(script->fd, (struct sockaddr *)&address, len) < 0 ||
        listen(script->fd, 16) < 0 ||
        getsockname(script->fd, (struct sockaddr *)&address, &len) < 0) {
        perror("http_script");
        abort();
    }
    (void)snprintf(script->url, sizeof(script->url), "http://127.0.0.1:%u",
                   (unsigned)ntohs(address.sin_port)); /* fits 64 bytes */
    ev_io_init(&script->accept, http_script_on_accept, script->fd, EV_READ);
    script->accept.data = script;
    ev_io_start(loop, &script->accept);
    return script;
}

void http_script_free(struct http_script *script)
{
    while (script->connections) {
        struct connection *connection = script->connections;
        script->connections = connection->next;
        http_script_close_connection(connection);
        buf_fini(&connection->request);
        free(connection);
    }
    for (size_t i = 0; i < script->count; i++) {
        free(script->steps[i].reply);
    }
    ev_io_stop(script->loop, &script->accept);
    (void)close(script->fd); /* a listening socket has no data to lose */
    free(script->steps);
    free(script->problem);
    free(script->head);
    free(script);
}

const char *http_script_url(const struct http_script *script)
{
    return script->url;
}

size_t http_script_taken(const struct http_script *script)
{
    return script->taken;
}

size_t http_script_connections(const struct http_script *script)
{
    return script->accepted;
}

const char *http_script_problem(const struct http_script *script)
{
    return script->problem;
}

const char *http_script_head(const struct http_script *script)
{
    return script->head ? script->head : "";
}

char *http_reply_body(const char *status, const char *body)
{
    return xasprintf("HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n"
                     "%s",
                     status, strlen(body), body);
}

char *http_reply_stream(enum http_script_stream stream, const char *const *lines)
{
    CLEANUP_BUF struct buf out = buf_of(SIZE_MAX / 2);
    buf_append_str(&out, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                         "Transfer-Encoding: chunked\r\n\r\n");
    for (; *lines; lines++) {
        buf_printf(&out, "%zx\r\n%s\r\n", strlen(*lines), *lines);
    }
    if (stream == HTTP_STREAM_ENDS) {
        buf_append_str(&out, "0\r\n\r\n");
    }
    return xstrdup(buf_cstr(&out));
}
