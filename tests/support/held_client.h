/* A client whose response comes later, or in parts, on the loop of its server. For tests of
 * responses that stay open. */
#ifndef TESTS_SUPPORT_HELD_CLIENT_H
#define TESTS_SUPPORT_HELD_CLIENT_H

#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/addr.h"
#include "common/base/buf.h"
#include "tests/support/unit_test.h"

struct held_client {
    struct ev_loop *loop;
    int fd;
    struct buf received;
    bool is_closed;
};

/* Runs what can run, without waiting. */
static inline void held_client_settle(struct ev_loop *loop)
{
    for (int i = 0; i < 30; i++) {
        ev_run(loop, EVRUN_NOWAIT);
    }
}

/* Sends the request, "GET /wait", with a Host header, over a connected socket that it takes. */
static inline struct held_client held_client_send(struct ev_loop *loop, int fd, const char *request,
                                                  const char *name)
{
    struct held_client c = {.loop = loop, .fd = fd};
    CLEANUP_BUF struct buf text = buf_of(4096);
    buf_init(&c.received, 16 * 1024 * 1024);
    buf_printf(&text, "%s HTTP/1.1\r\nHost: %s\r\n\r\n", request, name);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(write(fd, text.data, text.len), text.len);
    held_client_settle(loop);
    return c;
}

/* Asks from 127.0.0.<host>, with a small window, so that few bytes fill it. */
static inline struct held_client held_client_ask(struct ev_loop *loop, const struct addr *server,
                                                 int host, const char *request)
{
    const int window = 4096;
    struct sockaddr_in from = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(0x7f000000U + (uint32_t)host)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &window, sizeof(window)), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
    assert_int_equal(connect(fd, &server->sa, server->len), 0);
    return held_client_send(loop, fd, request, "localhost");
}

/* Returns all that has arrived so far. */
static inline const char *held_client_read(struct held_client *c)
{
    char bytes[4096];
    ssize_t n = 0;
    for (int turn = 0; turn < 300; turn++) {
        while (!c->is_closed && (n = read(c->fd, bytes, sizeof(bytes))) > 0) {
            buf_append(&c->received, bytes, (size_t)n);
        }
        c->is_closed = c->is_closed || n == 0 || errno != EAGAIN;
        ev_run(c->loop, EVRUN_NOWAIT);
    }
    return buf_cstr(&c->received);
}

static inline void held_client_close(struct held_client *c)
{
    close(c->fd);
    buf_fini(&c->received);
    held_client_settle(c->loop);
}

/* status: how the line after HTTP/1.1 begins. */
static inline void held_client_expect(struct held_client *c, const char *status, const char *body)
{
    const char *text = held_client_read(c), *end = strstr(text, "\r\n\r\n");
    assert_int_equal(strncmp(text, "HTTP/1.1 ", 9), 0);
    assert_int_equal(strncmp(text + 9, status, strlen(status)), 0);
    assert_non_null(end);
    assert_string_equal(end + 4, body);
}

#endif
