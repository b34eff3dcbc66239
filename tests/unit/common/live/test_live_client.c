/* live_client against a server of the test's own, step by step: events, an outage, what is no
 * stream. */
#include "common/live/live_client_internal.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/live/live_view.h"
#include "tests/support/loopback.h"
#include "tests/support/unit_test.h"

enum { TIMEOUT_MS = 20000 };

#define HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

/* Steps until it has an event, or is away with this reason. */
static struct live_node *step_until(struct live_client *client, const char *why)
{
    int64_t until_ms = clock_monotonic_ms() + TIMEOUT_MS;
    struct live_node *event = NULL;
    while (clock_monotonic_ms() < until_ms) {
        short wanted = 0;
        event = live_client_step(client, clock_monotonic_ms());
        bool is_away = live_client_away_since_ms(client) != 0;
        if (event || (why && is_away && strstr(live_client_why(client), why))) {
            return event;
        }
        struct pollfd ready = {.fd = live_client_fd(client, &wanted)};
        ready.events = wanted;
        (void)poll(&ready, 1, 10);
    }
    fail_msg("no event, and not away for `%s` but `%s`", why ? why : "", live_client_why(client));
    return NULL;
}

/* The client's connection, once its request is there. */
static int live_client_serve(struct live_client *client, int listener, const char *reply)
{
    char request[1024];
    struct pollfd there = {.fd = listener, .events = POLLIN};
    int64_t until_ms = clock_monotonic_ms() + TIMEOUT_MS;
    while (poll(&there, 1, 10) != 1) {
        assert_true(clock_monotonic_ms() < until_ms);
        assert_null(live_client_step(client, clock_monotonic_ms()));
    }
    int connection = accept(listener, NULL, NULL);
    struct pollfd asked = {.fd = connection, .events = POLLIN};
    assert_true(connection >= 0);
    while (poll(&asked, 1, 10) != 1) {
        assert_true(clock_monotonic_ms() < until_ms);
        assert_null(live_client_step(client, clock_monotonic_ms()));
    }
    ssize_t n = recv(connection, request, sizeof(request) - 1, 0);
    assert_true(n > 0);
    request[n] = '\0';
    assert_non_null(strstr(request, "GET /live HTTP/"));
    assert_int_equal(send(connection, reply, strlen(reply), 0), strlen(reply));
    return connection;
}

UNIT_TEST(test_events_and_an_outage)
{
    struct addr address;
    int listener = loopback_listen(&address);
    struct live_client *client = live_client_new(&address, clock_monotonic_ms());
    assert_true(addr_equal(live_client_server(client), &address));
    int connection =
        live_client_serve(client, listener, HEAD "data: {\"n\":1}\n\ndata: {\"n\":2}\n\n");
    for (int i = 1; i <= 2; i++) {
        struct live_node *event = step_until(client, NULL);
        assert_int_equal((int)live_number(event, "n"), i);
        live_event_free(event);
    }
    assert_int_equal(live_client_away_since_ms(client), 0);
    close(connection);
    close(listener);
    assert_null(step_until(client, "refused")); /* asked again */
    assert_true(live_client_due_ms(client) <= clock_monotonic_ms() + 1000);
    live_client_free(client);
}

UNIT_TEST(test_what_is_no_stream)
{
    static const struct {
        const char *reply, *why;
    } cases[] = {
        {"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "404"},
        {HEAD "data: no JSON\n\n", ""},
        {"nonsense\r\n\r\n", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct addr address;
        int listener = loopback_listen(&address);
        struct live_client *client = live_client_new(&address, clock_monotonic_ms());
        int connection = live_client_serve(client, listener, cases[i].reply);
        assert_null(step_until(client, cases[i].why));
        live_client_free(client);
        close(connection);
        close(listener);
    }
}

/* -top without a terminal says so, and asks nobody. */
UNIT_TEST(test_no_terminal)
{
    const struct live_view view = {.flag = "-top"};
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    int in = dup(STDIN_FILENO), out = dup(STDOUT_FILENO);
    struct err err = {.code = 0};
    (void)fflush(stdout);
    assert_true(nothing >= 0 && in >= 0 && out >= 0);
    assert_true(dup2(nothing, STDIN_FILENO) >= 0 && dup2(nothing, STDOUT_FILENO) >= 0);
    int r = live_view_run(&view, &err);
    assert_true(dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0);
    assert_true(r < 0);
    assert_non_null(strstr(err.msg, "flag -top: "));
    close(nothing);
    close(in);
    close(out);
}
