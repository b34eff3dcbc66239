#include "skydns/explain_client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"

/* The server answers at once; its pages have at most 16 MiB (http_server.h). */
enum { TIMEOUT_S = 5, REPLY_MAX = 17 * 1024 * 1024, READ_SIZE = 65536 };

/* Everything but what never means anything in a URL. */
static void append_escaped(struct buf *out, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    for (; *text; text++) {
        if (strchr(plain, *text)) {
            buf_append_char(out, *text);
        } else {
            buf_printf(out, "%%%02X", (unsigned char)*text);
        }
    }
}

static int unreachable(const struct addr *server, struct err *err)
{
    char text[ADDR_TEXT_MAX];
    int code = -errno;
    return err_set(err, code, "ask http://%s: %s; -http-addr must be that of a running skydns",
                   addr_format(server, text), err_code_text(code));
}

/* Sends the request; the server closes the connection behind its reply. */
static int exchange(int fd, const struct addr *server, const struct buf *request, struct buf *reply,
                    struct err *err)
{
    size_t sent = 0;
    while (sent < request->len) {
        ssize_t n = send(fd, request->data + sent, request->len - sent, MSG_NOSIGNAL);
        if (n < 0) {
            return unreachable(server, err);
        }
        sent += (size_t)n;
    }
    for (;;) {
        uint8_t *room = buf_reserve(reply, READ_SIZE);
        if (!room) {
            return err_set(err, ERR_TOO_LARGE, "reply of more than %d bytes", REPLY_MAX);
        }
        ssize_t n = recv(fd, room, READ_SIZE, 0);
        if (n < 0) {
            return unreachable(server, err);
        }
        if (n == 0) {
            return 0;
        }
        reply->len += (size_t)n;
    }
}

static int fetch(const struct addr *server, const struct buf *request, struct buf *reply,
                 struct err *err)
{
    const struct timeval timeout = {.tv_sec = TIMEOUT_S};
    CLEANUP_CLOSE int fd = socket(server->sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) != 0 ||
        connect(fd, &server->sa, server->len) != 0) {
        return unreachable(server, err);
    }
    return exchange(fd, server, request, reply, err);
}

/* "HTTP/1.0 200 OK", headers, an empty line, the page. */
static int print_page(struct buf *reply, struct err *err)
{
    const char *text = buf_cstr(reply);
    const char *body = strstr(text, "\r\n\r\n");
    unsigned status = 0;
    if (sscanf(text, "HTTP/1.%*1u %3u", &status) != 1 || !body) {
        return err_set(err, ERR_PROTOCOL, "the server does not speak HTTP");
    }
    body += 4;
    if (status != 200) {
        return err_set(err, ERR_USAGE, "%.*s", (int)strcspn(body, "\n"), body);
    }
    return fputs(body, stdout) < 0 ? err_set(err, -EIO, "cannot write to stdout") : 0;
}

int explain_client(const struct addr *server, const char *name, const char *type, struct err *err)
{
    struct buf request, reply;
    buf_init(&request, REPLY_MAX);
    buf_init(&reply, REPLY_MAX);
    buf_append_str(&request, "GET /explain?text&name=");
    append_escaped(&request, name);
    buf_append_str(&request, "&type=");
    append_escaped(&request, type);
    buf_append_str(&request, " HTTP/1.0\r\n\r\n");
    int r = fetch(server, &request, &reply, err);
    if (r == 0) {
        r = print_page(&reply, err);
    }
    buf_fini(&request);
    buf_fini(&reply);
    return r;
}
