/* Requests that wait, and the held responses beneath: on real sockets in one loop, time passing on
 * the test's clock. */
#include "common/http/http_waiters.h"

#include "common/http/http_held.h"
#include "common/http/http_server.h"
#include "tests/support/held_client.h"
#include "tests/support/http_ask.h"
#include "tests/support/test_clock.h"
#include "tests/support/unit_test.h"

struct fixture {
    struct ev_loop *loop;
    struct http_server *server;
    struct http_waiters *waiters;
    struct http_holder *holder; /* of /drip */
    struct http_held *drip;     /* the latest; NULL: gone */
    struct addr address;
    struct http_route routes[3];
    enum http_wait_state truth;
    int looks, drained;
};

static enum http_wait_state test_look(void *data, void *item, struct buf *text)
{
    struct fixture *f = data;
    assert_int_equal(*(char *)item, '!');
    f->looks++;
    if (text) {
        buf_append_str(text, f->truth == HTTP_WAIT_DONE ? "{\"is\":true}\n" : "not yet\n");
    }
    return f->truth;
}

static void handle_wait(void *data, const struct http_request *request, struct http_reply *reply)
{
    struct fixture *f = data;
    http_waiters_reply(f->waiters, request, reply, strdup("!"));
}

static void handle_probe(void *data, const struct http_request *request, struct http_reply *reply)
{
    buf_append_str(&reply->body, "ok");
}

static void handle_drip(void *data, const struct http_request *request, struct http_reply *reply)
{
    struct fixture *f = data;
    f->drip = http_holder_reply(f->holder, request, reply, f);
    if (f->drip) {
        http_held_begin(f->drip, "text/plain", "X: y\r\n");
    }
}

static void test_on_gone(void *item)
{
    ((struct fixture *)item)->drip = NULL;
}

static void test_on_drained(void *item)
{
    ((struct fixture *)item)->drained++;
}

static void waiters_setup(struct fixture *f)
{
    *f = (struct fixture){.loop = ev_loop_new(EVFLAG_AUTO)};
    f->waiters = http_waiters_new(
        &(struct http_waiters_config){.loop = f->loop, .look = test_look, .data = f});
    f->holder = http_holder_new(&(struct http_holder_config){.loop = f->loop,
                                                             .max = 4,
                                                             .client_max = 2,
                                                             .unsent_max = 8 * 1024 * 1024,
                                                             .socket_bytes = 4096,
                                                             .full = "full\n",
                                                             .client_full = "share\n",
                                                             .gone = test_on_gone,
                                                             .drained = test_on_drained});
    f->routes[0] = (struct http_route){"/wait", handle_wait, f};
    f->routes[1] = (struct http_route){"/readiness", handle_probe, NULL};
    f->routes[2] = (struct http_route){"/drip", handle_drip, f};
    f->server = http_ask_serve(f->loop, f->routes, ARRAY_LEN(f->routes), &f->address);
    test_clock_stop();
}

static void waiters_teardown(struct fixture *f)
{
    test_clock_run();
    http_server_free(f->server);
    http_waiters_free(f->waiters);
    http_holder_free(f->holder);
    ev_loop_destroy(f->loop);
}

UNIT_FIXTURE(struct fixture, waiters_setup, waiters_teardown)

static void waiters_pass_ms(struct fixture *f, int64_t ms)
{
    test_clock_advance_ms(ms + 1); /* libev: later than, not at */
    held_client_settle(f->loop);
}

static struct held_client waiters_ask(struct fixture *f, int host, const char *request)
{
    return held_client_ask(f->loop, &f->address, host, request);
}

UNIT_TEST_ON(test_what_is_true_does_not_wait, struct fixture *f)
{
    f->truth = HTTP_WAIT_DONE;
    CLEANUP(held_client_close) struct held_client c = waiters_ask(f, 1, "GET /wait");
    held_client_expect(&c, "200", "{\"is\":true}\n");
    assert_false(c.is_closed); /* the connection is for further requests */
    assert_int_equal(http_waiters_count(f->waiters).waiting, 0);
    assert_int_equal(http_waiters_count(f->waiters).done, 1);
}

UNIT_TEST_ON(test_it_answers_once_it_is_true, struct fixture *f)
{
    CLEANUP(held_client_close) struct held_client c = waiters_ask(f, 1, "GET /wait?timeout=60s");
    waiters_pass_ms(f, 59000);
    assert_string_equal(held_client_read(&c), "");
    assert_int_equal(http_waiters_count(f->waiters).waiting, 1);
    f->truth = HTTP_WAIT_DONE;
    held_client_expect(&c, "200", "{\"is\":true}\n");
    assert_true(c.is_closed);
}

UNIT_TEST_ON(test_timeouts, struct fixture *f)
{
    static const struct {
        const char *target;
        int64_t ms;
    } cases[] = {
        {"GET /wait", 5000}, {"GET /wait?timeout=1s500ms", 1500}, {"GET /wait?timeout=60s", 60000}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct held_client c = waiters_ask(f, 1, cases[i].target);
        waiters_pass_ms(f, cases[i].ms - 10);
        assert_string_equal(held_client_read(&c), "");
        waiters_pass_ms(f, 10);
        held_client_expect(&c, "504 Gateway Timeout", "not yet\n");
        assert_true(c.is_closed);
        held_client_close(&c);
    }
    struct held_client c = waiters_ask(f, 1, "GET /wait?timeout=0");
    held_client_expect(&c, "504", "not yet\n");
    held_client_close(&c);
    assert_int_equal(http_waiters_count(f->waiters).late, 4);
}

UNIT_TEST_ON(test_bad_timeouts, struct fixture *f)
{
    static const char *const targets[] = {"GET /wait?timeout=61s", "GET /wait?timeout=-1s",
                                          "GET /wait?timeout=5", "GET /wait?timeout="};
    for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
        CLEANUP(held_client_close) struct held_client c = waiters_ask(f, 1, targets[i]);
        const char *text = held_client_read(&c);
        assert_non_null(strstr(text, "HTTP/1.1 400"));
        assert_non_null(strstr(text, "expected a time from 0 to 60s"));
    }
    assert_int_equal(f->looks, 0);
}

/* Looks by the millisecond for the work of other threads, and only then. */
UNIT_TEST_ON(test_looks_soon, struct fixture *f)
{
    struct held_client c = waiters_ask(f, 1, "GET /wait");
    f->truth = HTTP_WAIT_SOON;
    held_client_settle(f->loop);
    f->truth = HTTP_WAIT_DONE;
    waiters_pass_ms(f, 1);
    held_client_expect(&c, "200", "{\"is\":true}\n");
    held_client_close(&c);
    const int looks = f->looks;
    held_client_settle(f->loop);
    assert_int_equal(f->looks, looks); /* nothing runs without requests */
}

UNIT_TEST_ON(test_head_has_no_body, struct fixture *f)
{
    CLEANUP(held_client_close) struct held_client c = waiters_ask(f, 1, "HEAD /wait");
    f->truth = HTTP_WAIT_DONE;
    assert_non_null(strstr(held_client_read(&c), "Content-Length: 12\r\n"));
    held_client_expect(&c, "200", "");
    assert_true(c.is_closed);
}

UNIT_TEST_ON(test_as_many_as_may_wait, struct fixture *f)
{
    struct held_client clients[HTTP_WAITERS_MAX];
    for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
        clients[i] = waiters_ask(f, 1, "GET /wait?timeout=60s");
    }
    assert_int_equal(http_waiters_count(f->waiters).waiting, HTTP_WAITERS_MAX);
    struct held_client further = waiters_ask(f, 1, "GET /wait?timeout=60s");
    assert_non_null(strstr(held_client_read(&further), "503 Service Unavailable\r\n"));
    assert_non_null(strstr(held_client_read(&further), "\r\nRetry-After: 1\r\n"));
    held_client_close(&further);
    for (int i = 0; i < 100; i++) { /* more than the server has connections */
        CLEANUP(held_client_close) struct held_client probe = waiters_ask(f, 1, "GET /readiness");
        held_client_expect(&probe, "200", "ok");
    }
    /* Another client gets the place of the latest. */
    struct held_client other = waiters_ask(f, 2, "GET /wait?timeout=60s");
    assert_string_equal(held_client_read(&other), "");
    assert_non_null(strstr(held_client_read(&clients[HTTP_WAITERS_MAX - 1]), "503"));
    assert_string_equal(held_client_read(&clients[HTTP_WAITERS_MAX - 2]), "");
    held_client_close(&other);
    assert_int_equal(http_waiters_count(f->waiters).waiting, HTTP_WAITERS_MAX - 1);
    assert_int_equal(http_waiters_count(f->waiters).refusals, 2);
    for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
        held_client_close(&clients[i]);
    }
    assert_int_equal(http_waiters_count(f->waiters).waiting, 0);
}

/* ---- Responses in parts ---- */

UNIT_TEST_ON(test_parts, struct fixture *f)
{
    struct held_client c = waiters_ask(f, 1, "GET /drip");
    assert_non_null(f->drip);
    const char *text = held_client_read(&c);
    assert_non_null(strstr(text, "Content-Type: text/plain\r\nX: y\r\n"));
    assert_null(strstr(text, "Content-Length"));
    assert_true(http_held_write(f->drip, slice_str("one ")));
    assert_int_equal(http_held_waits_ms(f->drip), -1);
    http_held_end(f->drip, slice_str("two"));
    held_client_expect(&c, "200", "one two");
    assert_true(c.is_closed);
    held_client_close(&c);
    assert_int_equal(http_holder_count(f->holder), 0);
}

UNIT_TEST_ON(test_a_client_that_goes, struct fixture *f)
{
    struct held_client c = waiters_ask(f, 1, "GET /drip");
    held_client_close(&c);
    assert_null(f->drip);
    assert_int_equal(http_holder_count(f->holder), 0);
}

UNIT_TEST_ON(test_shares_of_clients, struct fixture *f)
{
    struct held_client c[6];
    c[0] = waiters_ask(f, 1, "GET /drip");
    c[1] = waiters_ask(f, 1, "GET /drip");
    c[2] = waiters_ask(f, 1, "GET /drip");
    held_client_expect(&c[2], "503", "share\n");
    c[3] = waiters_ask(f, 2, "GET /drip");
    c[4] = waiters_ask(f, 2, "GET /drip");
    c[5] = waiters_ask(f, 3, "GET /drip");
    held_client_expect(&c[5], "503", "full\n");
    assert_int_equal(http_holder_refusals(f->holder), 2);
    for (size_t i = 0; i < ARRAY_LEN(c); i++) {
        held_client_close(&c[i]);
    }
}

/* Bounds what waits for a slow reader, which is told, and then dropped. */
UNIT_TEST_ON(test_a_slow_reader, struct fixture *f)
{
    static char bytes[256 * 1024];
    struct held_client c = waiters_ask(f, 1, "GET /drip");
    memset(bytes, 'x', sizeof(bytes));
    size_t sent = 0;
    while (http_held_write(f->drip, slice_of(bytes, sizeof(bytes)))) {
        sent += sizeof(bytes);
        assert_true(sent < 2 * 1024 * 1024); /* an eighth, and what the kernel holds */
    }
    waiters_pass_ms(f, 5000);
    assert_true(http_held_waits_ms(f->drip) >= 5000);
    http_held_end(f->drip, slice_str("the end"));
    const char *text = held_client_read(&c);
    assert_string_equal(text + strlen(text) - 7, "the end");
    assert_true(c.is_closed);
    held_client_close(&c);
    assert_int_equal(f->drained, 0); /* it had ended */

    c = waiters_ask(f, 1, "GET /drip");
    assert_true(http_held_write(f->drip, slice_of(bytes, sizeof(bytes))));
    http_held_end(f->drip, slice_str("the end"));
    for (int i = 0; i < 12; i++) {
        waiters_pass_ms(f, 1000);
    }
    assert_int_equal(http_holder_count(f->holder), 0); /* it did not read its end */
    held_client_close(&c);
}

UNIT_TEST_ON(test_a_reader_catches_up, struct fixture *f)
{
    static char bytes[256 * 1024];
    struct held_client c = waiters_ask(f, 1, "GET /drip");
    memset(bytes, 'x', sizeof(bytes));
    assert_true(http_held_write(f->drip, slice_of(bytes, sizeof(bytes))));
    assert_true(http_held_waits_ms(f->drip) >= 0);
    assert_int_equal(f->drained, 0);
    (void)held_client_read(&c);
    assert_int_equal(f->drained, 1);
    assert_int_equal(http_held_waits_ms(f->drip), -1);
    held_client_close(&c);
    assert_null(f->drip);
}

/* A client that sends without end is no reader. */
UNIT_TEST_ON(test_input_has_a_bound, struct fixture *f)
{
    static char bytes[100 * 1024];
    CLEANUP(held_client_close) struct held_client c = waiters_ask(f, 1, "GET /drip");
    for (size_t sent = 0; sent < sizeof(bytes) && f->drip;) {
        const ssize_t n = send(c.fd, bytes + sent, sizeof(bytes) - sent, MSG_NOSIGNAL);
        sent += n > 0 ? (size_t)n : 0;
        held_client_settle(f->loop);
    }
    assert_null(f->drip);
}
