/* Clients that send many requests at a time, to http_server on real sockets: they share their
 * turns, and a client with one request waits for few of theirs. */
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/http/http_server.h"
#include "tests/support/http_ask.h"
#include "tests/support/unit_test.h"

enum {
    CLIENTS = 15, /* of one address: its share, with the probe */
    REQUESTS = 50,
    SLOW_US = 2000,       /* TURN_US of http_server.c: a turn has time for one */
    TURNS_OF_A_PROBE = 4, /* it is accepted, read, answered, and one more */
};

static int slow_of[CLIENTS], slow_count, slow_before_probe;

static void handle_slow(void *data, const struct http_request *request, struct http_reply *reply)
{
    const int64_t end_us = clock_monotonic_us() + SLOW_US;
    while (clock_monotonic_us() < end_us) {
    }
    slow_of[http_request_arg(request, "client")[0] - 'a']++;
    slow_count++;
}

static void handle_quick(void *data, const struct http_request *request, struct http_reply *reply)
{
    slow_before_probe = slow_count;
}

static int http_turns_connect(const struct addr *server)
{
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, &server->sa, server->len), 0);
    return fd;
}

static void http_turns_send(int fd, const char *target)
{
    char text[128];
    const int len = snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", target);
    assert_int_equal(write(fd, text, (size_t)len), len);
}

UNIT_TEST(test_many_requests_at_a_time)
{
    static const struct http_route routes[] = {{"/slow", handle_slow, NULL},
                                               {"/probe", handle_quick, NULL}};
    struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
    struct addr address;
    struct http_server *server = http_ask_serve(loop, routes, ARRAY_LEN(routes), &address);
    int fds[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        const char target[] = {
            '/', 's', 'l', 'o', 'w', '?', 'c', 'l', 'i', 'e', 'n', 't', '=', (char)('a' + i), '\0'};
        fds[i] = http_turns_connect(&address);
        for (int n = 0; n < REQUESTS; n++) {
            http_turns_send(fds[i], target);
        }
    }
    while (slow_count < 4 * CLIENTS) {
        ev_run(loop, EVRUN_ONCE);
    }
    const int before = slow_count;
    const int probe = http_turns_connect(&address);
    http_turns_send(probe, "/probe");
    slow_before_probe = -1;
    while (slow_before_probe < 0) {
        ev_run(loop, EVRUN_ONCE);
    }
    assert_in_range(slow_before_probe - before, 0, TURNS_OF_A_PROBE);
    while (slow_count < CLIENTS * REQUESTS) {
        int fewest = REQUESTS, most = 0;
        ev_run(loop, EVRUN_ONCE);
        for (int i = 0; i < CLIENTS; i++) {
            fewest = slow_of[i] < fewest ? slow_of[i] : fewest;
            most = slow_of[i] > most ? slow_of[i] : most;
        }
        assert_in_range(most - fewest, 0, 3); /* in turns; some were accepted later */
    }
    close(probe);
    for (int i = 0; i < CLIENTS; i++) {
        close(fds[i]);
    }
    http_server_free(server);
    ev_loop_destroy(loop);
}
