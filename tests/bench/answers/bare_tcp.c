/* bare_tcp ADDRESS:PORT: the least that answering over TCP costs. Answers all queries of one read
 * with one send, and looks nothing up. */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/addr.h"
#include "common/base/err.h"
#include "common/dns/dns.h"
#include "tests/bench/answers/bare_answer.h"

enum {
    EVENTS = 256,
    BACKLOG = 1024,
    LENGTH = 2,                /* before each message */
    QUERY_LEAST = LENGTH + 17, /* for the root: sets how many fit into a read */
    READ = 1 << 16,
};

static uint8_t input[READ];
static uint8_t output[READ + READ / QUERY_LEAST * BARE_RECORD];

static int open_socket(const struct addr *address, struct err *err)
{
    const int on = 1;
    int fd = socket(address->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        bind(fd, &address->sa, address->len) < 0 || listen(fd, BACKLOG) < 0) {
        return err_set(err, -errno, "listen: %s", err_code_text(-errno));
    }
    return fd;
}

static void watch(int epoll, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    (void)epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static void accept_all(int epoll, int listener)
{
    const int on = 1;
    for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        watch(epoll, fd);
    }
}

/* Returns the size of the answers. Ignores a query split across reads: the benchmark's clients send
 * whole ones. */
static size_t answer_all(size_t len)
{
    size_t in = 0, out = 0;
    while (len - in >= LENGTH) {
        size_t size = (size_t)input[in] << 8 | input[in + 1];
        if (size < QUERY_LEAST - LENGTH || len - in - LENGTH < size) {
            break;
        }
        memcpy(output + out + LENGTH, input + in + LENGTH, size);
        size_t answered = bare_answer(output + out + LENGTH, size);
        output[out] = (uint8_t)(answered >> 8);
        output[out + 1] = (uint8_t)answered;
        in += LENGTH + size;
        out += LENGTH + answered;
    }
    return out;
}

/* False: the connection is closed. */
static bool serve(int fd)
{
    ssize_t n = recv(fd, input, sizeof(input), 0);
    if (n <= 0) {
        return n < 0 && errno == EAGAIN;
    }
    size_t len = answer_all((size_t)n);
    return len == 0 || send(fd, output, len, MSG_NOSIGNAL) == (ssize_t)len;
}

int main(int argc, char **argv)
{
    struct addr address;
    struct err err = {.code = 0};
    int listener = -1;
    if (argc != 2 || addr_parse(argv[1], &address, &err) < 0 ||
        (listener = open_socket(&address, &err)) < 0) {
        (void)fprintf(stderr, "bare_tcp ADDRESS:PORT: %s\n", argc == 2 ? err.msg : "one argument");
        return 2;
    }
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    watch(epoll, listener);
    for (;;) {
        struct epoll_event events[EVENTS];
        int count = epoll_wait(epoll, events, EVENTS, -1);
        for (int i = 0; i < count; i++) {
            if (events[i].data.fd == listener) {
                accept_all(epoll, listener);
            } else if (!serve(events[i].data.fd)) {
                (void)close(events[i].data.fd);
            }
        }
    }
}
