#include "common/http/http_fetch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/sockets.h"
#include "common/http/http_head.h"

/* Bounds the request, with names that people type; the server accepts 16 KiB. */
enum { READ_SIZE = 65536, REQUEST_MAX = 16384 };

/* Bound the response of our programs: they answer immediately, with at most 16 MiB
 * (http_server.h). */
enum { PRINT_TIMEOUT_MS = 5000 };

/* Reports errno as text. A socket timeout is EAGAIN, or EINPROGRESS in connect(). */
static int http_fetch_failed(const struct http_fetch *fetch, struct err *err)
{
    char text[ADDR_TEXT_MAX];
    int code = errno == EAGAIN || errno == EINPROGRESS ? ERR_TIMEOUT : -errno;
    return err_set(err, code, "get http://%s%s: %s", fetch->unix_path ? "unix:" : "",
                   fetch->unix_path ? fetch->unix_path : addr_format(&fetch->server, text),
                   err_code_text(code));
}

/* Sets the timeout of the next call on the socket. Returns false, with errno set, when no time is
 * left. */
static bool limit_time(int fd, int64_t deadline_ms)
{
    int64_t left_ms = deadline_ms - clock_monotonic_ms();
    if (left_ms <= 0) {
        errno = EAGAIN;
        return false;
    }
    const struct timeval left = {.tv_sec = left_ms / 1000, .tv_usec = left_ms % 1000 * 1000};
    return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &left, sizeof(left)) == 0 &&
           setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &left, sizeof(left)) == 0;
}

static bool http_fetch_send_all(int fd, const struct buf *request, int64_t deadline_ms)
{
    size_t sent = 0;
    while (sent < request->len) {
        ssize_t n = limit_time(fd, deadline_ms)
                        ? send(fd, request->data + sent, request->len - sent, MSG_NOSIGNAL)
                        : -1;
        if (n < 0) {
            return false;
        }
        sent += (size_t)n;
    }
    return true;
}

/* Reads until the server closes the connection behind its response, as HTTP/1.0 requests it. */
static int receive_all(int fd, const struct http_fetch *fetch, int64_t deadline_ms,
                       struct http_response *response, struct err *err)
{
    uint8_t bytes[READ_SIZE];
    while (response->part != HTTP_RESPONSE_DONE) {
        ssize_t n = limit_time(fd, deadline_ms) ? recv(fd, bytes, sizeof(bytes), 0) : -1;
        if (n < 0) {
            return http_fetch_failed(fetch, err);
        }
        int r = n > 0 ? http_response_add(response, slice_of(bytes, (size_t)n), err)
                      : http_response_end(response, err);
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

/* Returns the descriptor; -1 with errno. */
static int http_fetch_connect(const struct http_fetch *fetch, int64_t deadline_ms)
{
    if (fetch->unix_path) {
        int unix_fd = unix_socket_connect(fetch->unix_path, SOCK_STREAM, fetch->timeout_ms);
        errno = unix_fd < 0 ? -unix_fd : errno;
        return unix_fd < 0 ? -1 : unix_fd;
    }
    CLEANUP_CLOSE int fd = socket(fetch->server.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || !limit_time(fd, deadline_ms) ||
        connect(fd, &fetch->server.sa, fetch->server.len) != 0) {
        return -1;
    }
    return STEAL_FD(fd);
}

static int http_fetch_exchange(const struct http_fetch *fetch, const struct buf *request,
                               struct http_response *response, struct err *err)
{
    int64_t deadline_ms = clock_monotonic_ms() + fetch->timeout_ms;
    CLEANUP_CLOSE int fd = http_fetch_connect(fetch, deadline_ms);
    if (fd < 0 || !http_fetch_send_all(fd, request, deadline_ms)) {
        return http_fetch_failed(fetch, err);
    }
    return receive_all(fd, fetch, deadline_ms, response, err);
}

int http_fetch(const struct http_fetch *fetch, struct http_response *response, struct err *err)
{
    char host[ADDR_TEXT_MAX];
    CLEANUP_BUF struct buf request = buf_of(REQUEST_MAX);
    buf_printf(&request, "%s %s HTTP/1.0\r\nHost: %s\r\n", fetch->post ? "POST" : "GET",
               fetch->target, fetch->unix_path ? "localhost" : addr_format(&fetch->server, host));
    if (fetch->post) {
        buf_printf(&request, "%s\r\nContent-Length: 0\r\n", fetch->post);
    }
    buf_append_str(&request, "\r\n");
    int r = request.failed
                ? err_set(err, ERR_TOO_LARGE, "request of more than %d bytes", REQUEST_MAX)
                : http_fetch_exchange(fetch, &request, response, err);
    return r;
}

int http_fetch_page(const struct addr *server, const char *target, const char *post,
                    struct buf *out, struct err *err)
{
    const struct http_fetch fetch = {
        .server = http_fetch_server(server),
        .target = target,
        .post = post,
        .timeout_ms = PRINT_TIMEOUT_MS,
    };
    struct http_response response;
    http_response_init(&response, HTTP_FETCH_PRINTED_MAX);
    int r = http_fetch(&fetch, &response, err);
    if (r == 0 && response.status != 200) {
        const bool is_good = response.status == HTTP_GONE || response.status == HTTP_UNAVAILABLE ||
                             response.status == HTTP_NO_ROOM;
        const char *text = buf_cstr(&response.body);
        r = err_set(err, is_good ? ERR_NOT_FOUND : ERR_REFUSED, "%.*s", (int)strcspn(text, "\n"),
                    text);
    } else if (r == 0) {
        buf_append_slice(out, buf_slice(&response.body));
    }
    http_response_fini(&response);
    return r;
}

int http_fetch_put(struct buf *body, struct err *err)
{
    return fputs(buf_cstr(body), stdout) < 0 ? err_set(err, -EIO, "cannot write to stdout") : 0;
}

int http_fetch_print(const struct addr *server, const char *target, const char *post,
                     struct err *err)
{
    CLEANUP_BUF struct buf body = buf_of(HTTP_FETCH_PRINTED_MAX);
    int r = http_fetch_page(server, target, post, &body, err);
    return r == 0 ? http_fetch_put(&body, err) : r;
}

struct addr http_fetch_server(const struct addr *listening)
{
    /* A server on :: also answers on IPv4, which more machines have. */
    static const struct ip loopback = {.family_bytes = 4, .bytes = {127, 0, 0, 1}};
    return addr_is_wildcard(listening) ? addr_of_ip(&loopback, addr_port(listening)) : *listening;
}

void http_fetch_append_value(struct buf *target, const char *text)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    for (; *text; text++) {
        if (strchr(plain, *text)) {
            buf_append_char(target, *text);
        } else {
            buf_printf(target, "%%%02X", (unsigned char)*text);
        }
    }
}
