/* Streams of events: their readers on real sockets in one loop, seconds passing on the test's
 * clock. */
#include "common/http/http_events.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/http/http_server.h"
#include "tests/support/http_ask.h"
#include "tests/support/test_clock.h"
#include "tests/support/unit_test.h"

enum {
    /* Equal the limits of http_events.h and http_server.h. */
    STREAMS_MAX = 256,
    CLIENT_MAX = 224,
    UNREAD_S = 10,
    INPUT_MAX = 64 * 1024,
    CONNECTIONS_MAX = 64,
};

struct fixture {
    struct ev_loop *loop;
    struct http_server *server;
    struct http_events *events;
    struct addr address;
    struct http_route routes[3];
    int built;       /* events so far */
    size_t padding;  /* bytes in each */
    int watchings;   /* how often the first reader came */
    bool is_watched; /* now */
};

struct reader {
    int fd;
    struct buf received;
    bool closed;
};

static void build_counted_event(void *data, struct buf *line)
{
    struct fixture *f = data;
    assert_int_equal(line->len, 0);
    buf_printf(line, "{\"event\":%d}", ++f->built);
    for (size_t i = 0; i < f->padding; i++) {
        buf_append_char(line, ' ');
    }
}

static void http_events_watched(void *data, bool is_watched)
{
    struct fixture *f = data;
    assert_int_not_equal(f->is_watched, is_watched);
    f->is_watched = is_watched;
    f->watchings += is_watched;
}

static void handle_live(void *data, const struct http_request *request, struct http_reply *reply)
{
    struct fixture *f = data;
    http_events_handle(f->events, request, reply);
}

static void handle_readiness(void *data, const struct http_request *request,
                             struct http_reply *reply)
{
    buf_append_str(&reply->body, "ok");
}

static void handle_page(void *data, const struct http_request *request, struct http_reply *reply)
{
    if (http_request_reads(request, reply)) {
        reply->fields = "Content-Security-Policy: default-src 'none'\r\n"
                        "Referrer-Policy: no-referrer\r\n";
        buf_append_str(&reply->body, "a page");
    }
}

static void http_events_setup(struct fixture *f)
{
    *f = (struct fixture){.loop = ev_loop_new(EVFLAG_AUTO)};
    const struct http_events_config config = {
        .loop = f->loop, .build = build_counted_event, .watched = http_events_watched, .data = f};
    f->events = http_events_new(&config);
    f->routes[0] = (struct http_route){"/live", handle_live, f};
    f->routes[1] = (struct http_route){"/readiness", handle_readiness, NULL};
    f->routes[2] = (struct http_route){"/", handle_page, NULL};
    f->server = http_ask_serve(f->loop, f->routes, ARRAY_LEN(f->routes), &f->address);
    test_clock_stop();
}

static void http_events_teardown(struct fixture *f)
{
    test_clock_run();
    http_server_free(f->server);
    http_events_free(f->events);
    assert_false(f->is_watched);
    ev_loop_destroy(f->loop);
}

UNIT_FIXTURE(struct fixture, http_events_setup, http_events_teardown)

/* Runs what can run, without waiting. */
static void http_events_settle(struct fixture *f)
{
    for (int i = 0; i < 20; i++) {
        ev_run(f->loop, EVRUN_NOWAIT);
    }
}

static void pass_s(struct fixture *f, int seconds)
{
    for (int i = 0; i < seconds; i++) {
        test_clock_advance_ms(1001); /* libev: later than, not at */
        http_events_settle(f);
    }
}

/* From 127.0.0.<host>, with a small window, so that few bytes fill it. */
static struct reader http_events_ask(struct fixture *f, int host, const char *request)
{
    const int window = 8 * 1024;
    struct sockaddr_in from = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(0x7f000000U + (uint32_t)host)};
    struct reader r = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    buf_init(&r.received, 16 * 1024 * 1024);
    assert_true(r.fd >= 0);
    assert_int_equal(setsockopt(r.fd, SOL_SOCKET, SO_RCVBUF, &window, sizeof(window)), 0);
    assert_int_equal(bind(r.fd, (struct sockaddr *)&from, sizeof(from)), 0);
    assert_int_equal(connect(r.fd, &f->address.sa, f->address.len), 0);
    assert_int_equal(fcntl(r.fd, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(write(r.fd, request, strlen(request)), strlen(request));
    http_events_settle(f);
    return r;
}

#define OF_HOST " HTTP/1.1\r\nHost: localhost\r\n\r\n"

static struct reader open_live(struct fixture *f, int host)
{
    return http_events_ask(f, host, "GET /live" OF_HOST);
}

/* Returns what has arrived so far. */
static const char *http_events_drain(struct fixture *f, struct reader *r)
{
    char bytes[4096];
    ssize_t n = 0;
    for (int turn = 0; turn < 200; turn++) {
        while (!r->closed && (n = read(r->fd, bytes, sizeof(bytes))) > 0) {
            buf_append(&r->received, bytes, (size_t)n);
        }
        r->closed = r->closed || n == 0 || errno != EAGAIN;
        ev_run(f->loop, EVRUN_NOWAIT);
    }
    return buf_cstr(&r->received);
}

static void close_reader(struct reader *r)
{
    close(r->fd);
    buf_fini(&r->received);
}

static bool http_events_has(struct fixture *f, struct reader *r, const char *text)
{
    return strstr(http_events_drain(f, r), text) != NULL;
}

/* ---- Readers that read ---- */

UNIT_TEST_ON(test_the_first_event_comes_at_once, struct fixture *f)
{
    CLEANUP(close_reader) struct reader r = open_live(f, 1);
    const char *text = http_events_drain(f, &r), *body = strstr(text, "\r\n\r\n");
    assert_non_null(strstr(text, "HTTP/1.1 200 OK\r\n"));
    assert_non_null(strstr(text, "\r\nContent-Type: text/event-stream\r\n"));
    assert_non_null(strstr(text, "\r\nCache-Control: no-store\r\n"));
    assert_non_null(strstr(text, "\r\nX-Content-Type-Options: nosniff\r\n"));
    assert_null(strstr(text, "Access-Control-Allow-Origin"));
    assert_null(strstr(text, "Content-Length"));
    assert_string_equal(body + 4, "data: {\"event\":1}\n\n");
    pass_s(f, 2);
    assert_true(http_events_has(f, &r, "data: {\"event\":2}\n\ndata: {\"event\":3}\n\n"));
    assert_false(r.closed);
}

/* Whoever comes within a second gets the event that there is; all get the same ones. */
UNIT_TEST_ON(test_an_event_is_built_once_for_all, struct fixture *f)
{
    struct reader readers[20];
    for (size_t i = 0; i < ARRAY_LEN(readers); i++) {
        readers[i] = open_live(f, 1);
    }
    assert_int_equal(f->built, 1);
    pass_s(f, 3);
    assert_int_equal(f->built, 4);
    for (size_t i = 0; i < ARRAY_LEN(readers); i++) {
        assert_true(
            http_events_has(f, &readers[i], "data: {\"event\":1}\n\ndata: {\"event\":2}\n\n"));
        assert_true(http_events_has(f, &readers[i], "data: {\"event\":4}\n\n"));
        close_reader(&readers[i]);
    }
    assert_int_equal(f->watchings, 1);
}

UNIT_TEST_ON(test_nothing_runs_without_readers, struct fixture *f)
{
    pass_s(f, 3);
    assert_int_equal(f->built, 0);
    struct reader r = open_live(f, 1);
    assert_true(f->is_watched);
    close_reader(&r);
    http_events_settle(f);
    assert_false(f->is_watched);
    assert_int_equal(http_events_count(f->events), 0);
    pass_s(f, 3);
    assert_int_equal(f->built, 1);
    r = open_live(f, 1); /* a new event: the old one is of another time */
    assert_true(http_events_has(f, &r, "{\"event\":2}"));
    assert_int_equal(f->watchings, 2);
    close_reader(&r);
}

UNIT_TEST_ON(test_an_event_over_its_limit_is_left_out, struct fixture *f)
{
    CLEANUP(close_reader) struct reader r = open_live(f, 1);
    f->padding = HTTP_EVENT_BYTES_MAX;
    pass_s(f, 1);
    f->padding = 0;
    pass_s(f, 1);
    assert_true(http_events_has(f, &r, "{\"event\":1}\n\n:\n\ndata: {\"event\":3}\n\n"));
}

/* ---- Other requests ---- */

UNIT_TEST_ON(test_head_and_other_methods, struct fixture *f)
{
    struct reader head = http_events_ask(f, 1, "HEAD /live" OF_HOST),
                  post = http_events_ask(f, 1, "POST /live" OF_HOST);
    const char *text = http_events_drain(f, &head);
    assert_non_null(strstr(text, "HTTP/1.1 200 OK\r\n"));
    assert_non_null(strstr(text, "\r\nContent-Type: text/event-stream\r\n"));
    assert_string_equal(strstr(text, "\r\n\r\n"), "\r\n\r\n");
    assert_int_equal(f->built, 0);
    text = http_events_drain(f, &post);
    assert_non_null(strstr(text, "HTTP/1.1 405 Method Not Allowed\r\n"));
    assert_non_null(strstr(text, "\r\nAllow: GET, HEAD\r\n"));
    assert_non_null(strstr(text, "expected: GET or HEAD\n"));
    close_reader(&head);
    close_reader(&post);
}

UNIT_TEST_ON(test_a_reply_with_further_fields, struct fixture *f)
{
    struct reader get = http_events_ask(f, 1, "GET /" OF_HOST),
                  deletion = http_events_ask(f, 1, "DELETE /" OF_HOST);
    assert_true(http_events_has(f, &get, "\r\nContent-Security-Policy: default-src 'none'\r\n"));
    assert_true(http_events_has(f, &get, "\r\nReferrer-Policy: no-referrer\r\n"));
    assert_true(http_events_has(f, &get, "\r\nContent-Length: 6\r\n"));
    assert_true(http_events_has(f, &deletion, "405 Method Not Allowed"));
    close_reader(&get);
    close_reader(&deletion);
}

/* ---- Limits ---- */

static size_t count_closed(struct fixture *f, struct reader *readers, size_t count)
{
    size_t closed = 0;
    for (size_t i = 0; i < count; i++) {
        (void)http_events_drain(f, &readers[i]);
        closed += readers[i].closed;
    }
    return closed;
}

/* One client may have all of them; another one gets its own, until each has its part. */
UNIT_TEST_ON(test_many_readers, struct fixture *f)
{
    static struct reader readers[STREAMS_MAX], others[STREAMS_MAX - CLIENT_MAX];
    for (int i = 0; i < STREAMS_MAX; i++) {
        readers[i] = open_live(f, 1);
        assert_true(http_events_has(f, &readers[i], "{\"event\":1}"));
    }
    struct reader late = open_live(f, 1), probe = http_events_ask(f, 1, "GET /readiness" OF_HOST);
    assert_true(http_events_has(f, &late, "HTTP/1.1 503 Service Unavailable\r\n"));
    assert_true(http_events_has(f, &late, "all 256 event streams are open"));
    assert_true(http_events_has(f, &probe, "\r\n\r\nok"));
    close_reader(&late);
    close_reader(&probe);
    for (int i = 0; i < STREAMS_MAX - CLIENT_MAX; i++) {
        others[i] = open_live(f, 2);
        assert_true(http_events_has(f, &others[i], "{\"event\":1}"));
    }
    assert_int_equal(count_closed(f, readers, STREAMS_MAX), STREAMS_MAX - CLIENT_MAX);
    late = open_live(f, 3);
    assert_true(http_events_has(f, &late, "all 256 event streams are open"));
    close_reader(&late);
    close_reader(&others[7]); /* makes room */
    http_events_settle(f);
    late = open_live(f, 3);
    assert_true(http_events_has(f, &late, "{\"event\":1}"));
    close_reader(&late);
    for (int i = 0; i < STREAMS_MAX; i++) {
        close_reader(&readers[i]);
        if (i != 7 && i < STREAMS_MAX - CLIENT_MAX) {
            assert_false(others[i].closed);
            close_reader(&others[i]);
        }
    }
}

/* Idle connections push each other out, but no stream. */
UNIT_TEST_ON(test_connections_leave_streams_alone, struct fixture *f)
{
    static struct reader idle[CONNECTIONS_MAX + 8];
    CLEANUP(close_reader) struct reader r = open_live(f, 1);
    for (size_t i = 0; i < ARRAY_LEN(idle); i++) {
        idle[i] = http_events_ask(f, 1 + (int)i / 16, "");
    }
    pass_s(f, 1);
    assert_true(http_events_has(f, &r, "{\"event\":2}"));
    assert_false(r.closed);
    for (size_t i = 0; i < ARRAY_LEN(idle); i++) {
        close_reader(&idle[i]);
    }
}

/* One that stops reading misses events, and is closed; the others get theirs meanwhile. */
UNIT_TEST_ON(test_a_reader_that_stops_reading, struct fixture *f)
{
    f->padding = HTTP_EVENT_BYTES_MAX / 2;
    struct reader stuck = open_live(f, 1), good = open_live(f, 1);
    int seconds = 0;
    for (; http_events_count(f->events) == 2; seconds++) {
        assert_true(seconds < UNREAD_S + 4); /* four events fill the sockets */
        (void)http_events_drain(f, &good);
        pass_s(f, 1);
    }
    assert_true(seconds >= UNREAD_S);
    char last[32];
    (void)snprintf(last, sizeof(last), "{\"event\":%d}", f->built);
    assert_true(http_events_has(f, &good, last));
    (void)http_events_drain(f, &stuck);
    assert_true(stuck.closed);
    close_reader(&stuck);
    close_reader(&good);
}

/* One that reads late gets whole events, though not all. */
UNIT_TEST_ON(test_a_slow_reader_gets_whole_events, struct fixture *f)
{
    f->padding = HTTP_EVENT_BYTES_MAX / 2;
    CLEANUP(close_reader) struct reader slow = open_live(f, 1);
    pass_s(f, 8);
    (void)http_events_drain(f, &slow);
    pass_s(f, 1);
    const char *at = strstr(http_events_drain(f, &slow), "\r\n\r\n") + 4;
    int events = 0, number = 0;
    while (*at) {
        int next = 0;
        assert_int_equal(sscanf(at, "data: {\"event\":%d}", &next), 1);
        assert_true(next > number);
        number = next;
        at = strstr(at, "\n\n");
        assert_non_null(at);
        at += 2;
        events++;
    }
    assert_int_equal(number, f->built);
    assert_true(events < f->built);
}

UNIT_TEST_ON(test_a_reader_that_talks_is_closed, struct fixture *f)
{
    static const char noise[4096];
    CLEANUP(close_reader) struct reader r = open_live(f, 1);
    ssize_t sent = 0;
    while (http_events_count(f->events) == 1 && sent <= 2 * INPUT_MAX) {
        sent += write(r.fd, noise, sizeof(noise));
        http_events_settle(f);
    }
    assert_true(sent > INPUT_MAX);
    assert_int_equal(http_events_count(f->events), 0);
}

UNIT_TEST_ON(test_free_closes_streams, struct fixture *f)
{
    struct reader r = open_live(f, 1);
    http_server_free(f->server);
    http_events_free(f->events);
    f->server = NULL;
    f->events = NULL;
    (void)http_events_drain(f, &r);
    assert_true(r.closed);
    close_reader(&r);
    http_events_free(NULL);
}
