/* bare_tcp ADDRESS:PORT: the least that answering over TCP costs. Answers all queries of one read
 * with one send, and looks nothing up. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/err.h"
#include "tests/bench/answers/bare_stream.h"

static uint8_t input[BARE_READ];
static uint8_t output[BARE_WRITE];

static void bare_tcp_watch(int epoll, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    (void)epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

/* False: the connection is closed. */
static bool bare_tcp_serve(int fd)
{
    ssize_t n = recv(fd, input, sizeof(input), 0);
    if (n <= 0) {
        return n < 0 && errno == EAGAIN;
    }
    size_t len = bare_answer_all(input, (size_t)n, output);
    return len == 0 || send(fd, output, len, MSG_NOSIGNAL) == (ssize_t)len;
}

int main(int argc, char **argv)
{
    struct err err = {.code = 0};
    int listener = argc == 2 ? bare_listen(argv[1], &err) : -1;
    if (listener < 0) {
        (void)fprintf(stderr, "bare_tcp ADDRESS:PORT: %s\n", argc == 2 ? err.msg : "one argument");
        return 2;
    }
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    bare_tcp_watch(epoll, listener);
    for (;;) {
        struct epoll_event events[BARE_EVENTS];
        int count = epoll_wait(epoll, events, BARE_EVENTS, -1);
        for (int i = 0; i < count; i++) {
            if (events[i].data.fd == listener) {
                for (int fd; (fd = bare_accept(listener)) >= 0;) {
                    bare_tcp_watch(epoll, fd);
                }
            } else if (!bare_tcp_serve(events[i].data.fd)) {
                (void)close(events[i].data.fd);
            }
        }
    }
}
