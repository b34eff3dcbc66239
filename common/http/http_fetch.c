#include "common/http/http_fetch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"

/* Of the request: names that people type; the server accepts 16 KiB. */
enum { READ_SIZE = 65536, REQUEST_MAX = 16384 };

/* errno as text. A socket timeout is EAGAIN, or EINPROGRESS in connect(). */
static int failed(const struct addr *server, struct err *err)
{
    char text[ADDR_TEXT_MAX];
    int code = errno == EAGAIN || errno == EINPROGRESS ? ERR_TIMEOUT : -errno;
    return err_set(err, code, "ask http://%s: %s", addr_format(server, text), err_code_text(code));
}

/* Sets the timeout of the next call on the socket; false with errno set when no time is left. */
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

static bool send_all(int fd, const struct buf *request, int64_t deadline_ms)
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

/* Reads until the server closes the connection, as HTTP/1.0 does after the reply. */
static int receive_all(int fd, const struct http_fetch *fetch, int64_t deadline_ms,
                       struct buf *reply, struct err *err)
{
    for (;;) {
        /* Never reserves more than the limit leaves. */
        size_t left = reply->limit - reply->len;
        size_t size = left < READ_SIZE ? left : READ_SIZE;
        uint8_t *room = size ? buf_reserve(reply, size) : NULL;
        if (!room) {
            return err_set(err, ERR_TOO_LARGE, "reply of more than %zu bytes", reply->limit);
        }
        ssize_t n = limit_time(fd, deadline_ms) ? recv(fd, room, size, 0) : -1;
        if (n < 0) {
            return failed(&fetch->server, err);
        }
        if (n == 0) {
            return 0;
        }
        reply->len += (size_t)n;
    }
}

static int exchange(const struct http_fetch *fetch, const struct buf *request, struct buf *reply,
                    struct err *err)
{
    int64_t deadline_ms = clock_monotonic_ms() + fetch->timeout_ms;
    CLEANUP_CLOSE int fd = socket(fetch->server.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || !limit_time(fd, deadline_ms) ||
        connect(fd, &fetch->server.sa, fetch->server.len) != 0 ||
        !send_all(fd, request, deadline_ms)) {
        return failed(&fetch->server, err);
    }
    return receive_all(fd, fetch, deadline_ms, reply, err);
}

/* "HTTP/1.0 200 OK", headers, an empty line, the page. */
static int parse_reply(struct buf *reply, struct http_page *ret_page, struct err *err)
{
    const char *text = buf_cstr(reply);
    const char *head_end = strstr(text, "\r\n\r\n");
    unsigned status = 0;
    if (!head_end || sscanf(text, "HTTP/1.%*1u %3u", &status) != 1) {
        return err_set(err, ERR_PROTOCOL, "the server does not speak HTTP");
    }
    *ret_page = (struct http_page){.status = status, .body = head_end + 4};
    return 0;
}

int http_fetch(const struct http_fetch *fetch, struct buf *reply, struct http_page *ret_page,
               struct err *err)
{
    char host[ADDR_TEXT_MAX];
    struct buf request;
    buf_init(&request, REQUEST_MAX);
    buf_printf(&request, "GET %s HTTP/1.0\r\nHost: %s\r\n\r\n", fetch->target,
               addr_format(&fetch->server, host));
    int r = request.failed
                ? err_set(err, ERR_TOO_LARGE, "request of more than %d bytes", REQUEST_MAX)
                : exchange(fetch, &request, reply, err);
    buf_fini(&request);
    return r == 0 ? parse_reply(reply, ret_page, err) : r;
}

void http_fetch_append_value(struct buf *target, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    for (; *text; text++) {
        if (strchr(plain, *text)) {
            buf_append_char(target, *text);
        } else {
            buf_printf(target, "%%%02X", (unsigned char)*text);
        }
    }
}
