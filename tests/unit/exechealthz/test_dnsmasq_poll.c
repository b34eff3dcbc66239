/* dnsmasq_poll against a scripted UDP server on the same loop. */
#include "exechealthz/dnsmasq_poll.h"

#include <unistd.h>

#include "common/base/cursor.h"
#include "common/dns/dns.h"
#include "exechealthz/dns_message.h"
#include "tests/support/log_capture.h"
#include "tests/support/loopback.h"
#include "tests/support/unit_test.h"

enum {
    SHORT_MS = 5,
    LONG_MS = 3600 * 1000, /* never elapses in a test */
    TIMEOUT_S = 120,       /* only ends a test that hangs */
};

/* How the server handles a query. */
enum script { NUMBERS, REFUSES, SILENT_ON_ONE, MALFORMED, STRANGER_FIRST };

struct fixture {
    struct ev_loop *loop;
    ev_timer timeout;
    ev_io server;
    struct addr address;
    enum script script;
    struct dnsmasq_poll *poll;
    char names[DNSMASQ_COUNTS + 1]; /* the first letters of the questions of a poll, in order */
};

static void dnsmasq_poll_give_up(struct ev_loop *loop, ev_timer *w, int events)
{
    fail_msg("timed out after %d s", TIMEOUT_S);
}

/* Turns the query into its response. The number is the length of the name's first label. */
static void dnsmasq_poll_respond(const struct fixture *f, const uint8_t *query, size_t len,
                                 const struct addr *to)
{
    uint8_t out[512];
    struct writer w = writer_of(out, sizeof(out));
    bool is_refused = f->script == REFUSES;
    writer_bytes(&w, query, 2);
    writer_u16(&w, (uint16_t)(DNS_FLAG_QR | (is_refused ? DNS_RCODE_REFUSED : 0)));
    writer_u16(&w, 1);
    writer_u16(&w, is_refused ? 0 : 1);
    writer_u32(&w, 0);
    writer_bytes(&w, query + DNS_HEADER_SIZE, len - DNS_HEADER_SIZE);
    if (!is_refused) {
        writer_bytes(&w, "\xc0\x0c\0\x10\0\3\0\0\0\0\0\3\2", 13);
        writer_bytes(
            &w, (char[]){'0' + query[DNS_HEADER_SIZE] / 10, '0' + query[DNS_HEADER_SIZE] % 10}, 2);
    }
    size_t out_len = w.pos - (f->script == MALFORMED);
    if (f->script == STRANGER_FIRST) {
        out[0] ^= 1; /* another id */
        assert_int_equal(sendto(f->server.fd, out, out_len, 0, &to->sa, to->len), out_len);
        out[0] ^= 1;
    }
    assert_int_equal(sendto(f->server.fd, out, out_len, 0, &to->sa, to->len), out_len);
}

static void dnsmasq_poll_on_query(struct ev_loop *loop, ev_io *w, int events)
{
    struct fixture *f = w->data;
    struct addr from = {.len = sizeof(from.v6)};
    uint8_t query[DNS_QUERY_MAX];
    ssize_t n = recvfrom(w->fd, query, sizeof(query), 0, &from.sa, &from.len);
    assert_in_range(n, DNS_HEADER_SIZE + 1, sizeof(query));
    assert_memory_equal(query + n - 4, "\0\x10\0\3", 4); /* TXT in CHAOS */
    char first = (char)query[DNS_HEADER_SIZE + 1];
    if (strlen(f->names) < DNSMASQ_COUNTS) {
        f->names[strlen(f->names)] = first;
    }
    if (f->script != SILENT_ON_ONE || first != 'm') {
        dnsmasq_poll_respond(f, query, (size_t)n, &from);
    }
}

static void dnsmasq_poll_setup(struct fixture *f)
{
    *f = (struct fixture){.loop = ev_loop_new(EVFLAG_AUTO), .address = loopback_addr(0)};
    ev_timer_init(&f->timeout, dnsmasq_poll_give_up, TIMEOUT_S, 0.);
    ev_timer_start(f->loop, &f->timeout);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, &f->address.sa, f->address.len), 0);
    assert_int_equal(getsockname(fd, &f->address.sa, &f->address.len), 0);
    ev_io_init(&f->server, dnsmasq_poll_on_query, fd, EV_READ);
    f->server.data = f;
    ev_io_start(f->loop, &f->server);
}

static void stop_server(struct fixture *f)
{
    if (f->server.fd >= 0) {
        ev_io_stop(f->loop, &f->server);
        close(f->server.fd);
        f->server.fd = -1;
    }
}

static void dnsmasq_poll_teardown(struct fixture *f)
{
    dnsmasq_poll_free(f->poll);
    stop_server(f);
    ev_loop_destroy(f->loop);
}

UNIT_FIXTURE(struct fixture, dnsmasq_poll_setup, dnsmasq_poll_teardown)

static void start_every(struct fixture *f, int64_t period_ms)
{
    f->poll = dnsmasq_poll_new(f->loop, &f->address, period_ms);
    dnsmasq_poll_start(f->poll);
}

static uint64_t successes_of(const struct fixture *f)
{
    const struct dnsmasq_counts *counts = dnsmasq_poll_counts(f->poll);
    return counts->polls - counts->errors;
}

static void await_counts(struct fixture *f, uint64_t successes, uint64_t errors)
{
    while (dnsmasq_poll_counts(f->poll)->errors < errors || successes_of(f) < successes) {
        ev_run(f->loop, EVRUN_ONCE);
    }
}

static void assert_values(const struct fixture *f)
{
    static const uint64_t want[DNSMASQ_COUNTS] = {4, 6, 9, 10, 9}; /* lengths of the names */
    assert_memory_equal(dnsmasq_poll_counts(f->poll)->values, want, sizeof(want));
}

UNIT_TEST_ON(test_numbers, struct fixture *f)
{
    start_every(f, LONG_MS);
    assert_int_equal(dnsmasq_poll_counts(f->poll)->values[DNSMASQ_HITS], 0);
    await_counts(f, 1, 0);
    assert_string_equal(f->names, "hmeic"); /* in the sidecar's order */
    assert_values(f);
}

UNIT_TEST_ON(test_other_responses_are_ignored, struct fixture *f)
{
    f->script = STRANGER_FIRST;
    start_every(f, LONG_MS);
    await_counts(f, 1, 0);
    assert_values(f);
}

/* One line for an outage of several polls; meanwhile the last numbers stay. */
UNIT_TEST_ON(test_outage, struct fixture *f)
{
    static struct log_capture capture;
    start_every(f, SHORT_MS);
    await_counts(f, 1, 0);
    f->script = SILENT_ON_ONE;
    await_counts(f, 0, dnsmasq_poll_counts(f->poll)->errors + 1);
    log_capture_begin(&capture);
    await_counts(f, 0, dnsmasq_poll_counts(f->poll)->errors + 3);
    const char *text = log_capture_end(&capture);
    assert_int_equal(log_occurrences(text, "cache counts"), 0);
    assert_values(f);
    log_capture_begin(&capture);
    f->script = NUMBERS;
    await_counts(f, successes_of(f) + 1, 0);
    text = log_capture_end(&capture);
    assert_int_equal(log_occurrences(text, "cache counts read again"), 1);
}

static void assert_fails_with(struct fixture *f, const char *reason)
{
    static struct log_capture capture;
    log_capture_begin(&capture);
    start_every(f, LONG_MS);
    await_counts(f, 0, 1);
    const char *text = log_capture_end(&capture);
    assert_that(strstr(text, "cache counts not read, keeping the last ones server=127.0.0.1:") &&
                    strstr(text, reason),
                "%s: %s", reason, text);
    assert_int_equal(successes_of(f), 0);
    assert_int_equal(dnsmasq_poll_counts(f->poll)->values[DNSMASQ_MAX_SIZE], 0);
}

UNIT_TEST_ON(test_refused, struct fixture *f)
{
    f->script = REFUSES;
    assert_fails_with(f, "no TXT with a number");
}

UNIT_TEST_ON(test_malformed, struct fixture *f)
{
    f->script = MALFORMED;
    assert_fails_with(f, "malformed response");
}

UNIT_TEST_ON(test_no_server, struct fixture *f)
{
    stop_server(f);
    assert_fails_with(f, "onnection refused");
}
