/* live_page_client against a server of the test's own: when it asks, what it keeps of an answer,
 * and that a failure leaves nothing. The clock is the test's. */
#include "common/live/live_page_client_internal.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/slice.h"
#include "tests/support/loopback.h"
#include "tests/support/unit_test.h"

enum { ANSWER_WAIT_MS = 20000, BEGIN_MS = 50000, EVERY_MS = 5000, DEADLINE_MS = 10000 };

#define PAGE_HEAD "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

static const struct live_source missing_source = {"missing", "/missing?shown=3"};

struct page_bed {
    struct addr address;
    int listener;
    struct live_page_client *client;
    int64_t now_ms; /* as the client sees it */
};

static void page_bed_start(struct page_bed *bed)
{
    *bed = (struct page_bed){.now_ms = BEGIN_MS};
    bed->listener = loopback_listen(&bed->address);
    bed->client = live_page_client_new(&bed->address, &missing_source);
}

static void page_bed_stop(struct page_bed *bed)
{
    live_page_client_free(bed->client);
    close(bed->listener);
}

UNIT_FIXTURE(struct page_bed, page_bed_start, page_bed_stop)

static int page_client_fd(const struct page_bed *bed)
{
    short wanted;
    return live_page_client_fd(bed->client, &wanted);
}

/* Steps until the descriptor has something to read. */
static void page_step_until(struct page_bed *bed, int fd)
{
    const int64_t until_ms = clock_monotonic_ms() + ANSWER_WAIT_MS;
    struct pollfd there = {.fd = fd, .events = POLLIN};
    do {
        live_page_client_step(bed->client, bed->now_ms);
        assert_true(clock_monotonic_ms() < until_ms);
    } while (poll(&there, 1, 10) != 1);
}

/* Accepts the connection, and reads the request. */
static int page_await_request(struct page_bed *bed)
{
    char request[1024], wanted[256], host[ADDR_TEXT_MAX];
    size_t len = 0;
    page_step_until(bed, bed->listener);
    const int connection = accept(bed->listener, NULL, NULL);
    assert_true(connection >= 0);
    do {
        page_step_until(bed, connection);
        const ssize_t n = recv(connection, request + len, sizeof(request) - 1 - len, 0);
        assert_true(n > 0);
        len += (size_t)n;
        request[len] = '\0';
    } while (!strstr(request, "\r\n\r\n"));
    (void)snprintf(wanted, sizeof(wanted), "GET /missing?shown=3 HTTP/1.0\r\nHost: %s\r\n\r\n",
                   addr_format(&bed->address, host));
    assert_string_equal(request, wanted);
    return connection;
}

static void page_send(int connection, const char *text)
{
    assert_int_equal(send(connection, text, strlen(text), 0), strlen(text));
}

/* Steps until the request is over. */
static void page_await_end(struct page_bed *bed)
{
    const int64_t until_ms = clock_monotonic_ms() + ANSWER_WAIT_MS;
    while (page_client_fd(bed) >= 0) {
        short wanted;
        struct pollfd ready = {.fd = live_page_client_fd(bed->client, &wanted)};
        ready.events = wanted;
        (void)poll(&ready, 1, 10);
        live_page_client_step(bed->client, bed->now_ms);
        assert_true(clock_monotonic_ms() < until_ms);
    }
}

/* Answers a request with these bytes, and ends the connection. */
static void page_serve(struct page_bed *bed, const char *reply)
{
    const int connection = page_await_request(bed);
    page_send(connection, reply);
    close(connection);
    page_await_end(bed);
}

/* Fails unless an event gets the page with this number; 0: none. */
static void page_expect(const struct page_bed *bed, int number)
{
    struct live_node *event = live_event_parse(slice_str("{\"queries\":7}"));
    assert_non_null(event);
    live_page_client_put(bed->client, event);
    const struct live_node *page = live_get(event, "missing");
    assert_int_equal(page != NULL, number != 0);
    assert_int_equal((int)live_number(page, "n"), number);
    assert_int_equal((int)live_number(event, "queries"), 7);
    live_event_free(event);
}

static bool page_is_asked_for(const struct page_bed *bed)
{
    struct pollfd there = {.fd = bed->listener, .events = POLLIN};
    return page_client_fd(bed) >= 0 || poll(&there, 1, 0) != 0;
}

/* Asks in the first step, and again EVERY_MS later; the page is that of the last answer. */
UNIT_TEST_ON(test_page_again_and_again, struct page_bed *bed)
{
    assert_false(page_is_asked_for(bed));
    page_expect(bed, 0);
    for (int i = 1; i <= 3; i++) {
        char reply[256];
        (void)snprintf(reply, sizeof(reply), PAGE_HEAD "\r\n{\"n\":%d}", i);
        page_serve(bed, reply);
        page_expect(bed, i);
        bed->now_ms += EVERY_MS - 1;
        live_page_client_step(bed->client, bed->now_ms);
        assert_false(page_is_asked_for(bed));
        bed->now_ms++;
    }
}

/* Until the next answer is complete, the page stays; a known length ends an answer. */
UNIT_TEST_ON(test_page_in_portions, struct page_bed *bed)
{
    page_serve(bed, PAGE_HEAD "\r\n{\"n\":1}");
    bed->now_ms += EVERY_MS;
    const int connection = page_await_request(bed);
    page_send(connection, PAGE_HEAD "Content-Length: 7\r\n\r\n{\"n\"");
    struct pollfd there = {.fd = page_client_fd(bed), .events = POLLIN};
    assert_int_equal(poll(&there, 1, ANSWER_WAIT_MS), 1);
    live_page_client_step(bed->client, bed->now_ms);
    assert_true(page_client_fd(bed) >= 0);
    page_expect(bed, 1);
    page_send(connection, ":2}");
    page_await_end(bed);
    page_expect(bed, 2);
    close(connection);
}

/* Whatever is no page leaves none, not the one before. */
UNIT_TEST_ON(test_page_is_none, struct page_bed *bed)
{
    static const char *const replies[] = {
        "HTTP/1.1 403 Forbidden\r\nContent-Length: 7\r\n\r\n{\"n\":9}",
        PAGE_HEAD "\r\nno JSON",
        PAGE_HEAD "\r\n[1]",
        PAGE_HEAD "Content-Length: 100\r\n\r\n{\"n\":9}",
        "nonsense\r\n\r\n",
        "",
    };
    for (size_t i = 0; i < ARRAY_LEN(replies); i++) {
        page_serve(bed, PAGE_HEAD "\r\n{\"n\":1}");
        page_expect(bed, 1);
        bed->now_ms += EVERY_MS;
        page_serve(bed, replies[i]);
        page_expect(bed, 0);
        live_page_client_step(bed->client, bed->now_ms); /* not at once again */
        assert_false(page_is_asked_for(bed));
        bed->now_ms += EVERY_MS;
    }
}

/* A server that accepts and says nothing has DEADLINE_MS; then it is asked anew. */
UNIT_TEST_ON(test_page_never_comes, struct page_bed *bed)
{
    page_serve(bed, PAGE_HEAD "\r\n{\"n\":1}");
    bed->now_ms += EVERY_MS;
    const int connection = page_await_request(bed);
    bed->now_ms += DEADLINE_MS - 1;
    live_page_client_step(bed->client, bed->now_ms);
    assert_true(page_client_fd(bed) >= 0);
    page_expect(bed, 1);
    bed->now_ms++;
    live_page_client_step(bed->client, bed->now_ms);
    assert_int_equal(page_client_fd(bed), -1);
    page_expect(bed, 0);
    page_serve(bed, PAGE_HEAD "\r\n{\"n\":2}");
    page_expect(bed, 2);
    close(connection);
}

/* Nobody listens: no page, and a next attempt. */
UNIT_TEST(test_page_of_nobody)
{
    struct page_bed bed;
    page_bed_start(&bed);
    page_serve(&bed, PAGE_HEAD "\r\n{\"n\":1}");
    close(bed.listener);
    bed.now_ms += EVERY_MS;
    live_page_client_step(bed.client, bed.now_ms);
    page_await_end(&bed);
    page_expect(&bed, 0);
    live_page_client_free(bed.client);
}
