/* http_server and its clients, on real sockets in one loop. */
#include "common/http/http_server.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/http/http_admission.h"
#include "tests/support/http_ask.h"
#include "tests/support/test_clock.h"
#include "tests/support/unit_test.h"

enum {
    /* Equal the limits of http_server.h. */
    CONNECTIONS_MAX = 64,
    CLIENT_CONNECTIONS_MAX = 16,
    CLIENT_OPEN_MAX = 256, /* with fresh ones */
    FRESH_MS = 1000,
    CROWDED = 32,
    REQUEST_MS = 10000,
    FIRST_SOON_MS = 2000,
    REPLY_MS = 60000,
    UNREAD_MS = 10000,
    /* Only ends a test that hangs. */
    TIMEOUT_S = 60,
};

struct fixture {
    struct ev_loop *loop;
    struct http_server *server;
    struct addr address;
};

/* A connection that collects the server's bytes, until a reply is complete or it is closed. */
struct client {
    struct fixture *fixture;
    int fd;
    ev_io readable;
    struct buf received;
    bool closed;
};

static void handle_echo(void *data, const struct http_request *request, struct http_reply *reply)
{
    const char *arg = http_request_arg(request, "x");
    buf_printf(&reply->body, "%s %s %s x=%s", (const char *)data, request->method, request->path,
               arg ? arg : "(none)");
}

static void handle_unavailable(void *data, const struct http_request *request,
                               struct http_reply *reply)
{
    reply->status = 503;
    reply->content_type = "text/html";
    buf_append_str(&reply->body, "100%s of it\n");
}

static void handle_empty(void *data, const struct http_request *request, struct http_reply *reply)
{
}

static void handle_too_large(void *data, const struct http_request *request,
                             struct http_reply *reply)
{
    for (int i = 0; i < 17; i++) {
        uint8_t *room = buf_reserve(&reply->body, 1024 * 1024);
        if (room) {
            memset(room, 'x', 1024 * 1024);
            reply->body.len += 1024 * 1024;
        }
    }
}

enum { BIG = 8 * 1024 * 1024 }; /* more than sockets hold */

static void handle_big(void *data, const struct http_request *request, struct http_reply *reply)
{
    uint8_t *room = buf_reserve(&reply->body, BIG);
    assert_non_null(room);
    for (size_t i = 0; i < BIG; i++) {
        room[i] = (uint8_t)('a' + i % 23);
    }
    reply->body.len += BIG;
}

/* Pieces of many sizes that are not multiples of each other, every third one empty; `streams_open`
 * counts open streams. Each is asked for in a turn of the loop of its own. */
enum { STREAM_PIECES = 40, STREAM_PIECE = 7001 };
static int streams_open;
static struct ev_loop *streams_loop;

struct stream_state {
    int pieces;
    unsigned turn; /* of the loop, of the last piece */
    bool fails;    /* in the middle */
};

static bool next_piece(void *data, struct buf *piece)
{
    struct stream_state *state = data;
    assert_int_equal(piece->len, 0);
    assert_true(state->pieces == 0 || ev_iteration(streams_loop) != state->turn);
    state->turn = ev_iteration(streams_loop);
    for (int i = 0; i < STREAM_PIECE * (state->pieces % 3); i++) {
        buf_append_char(piece, (char)('a' + state->pieces % 26));
    }
    if (state->fails && state->pieces == STREAM_PIECES / 2) {
        (void)buf_reserve(piece, HTTP_PIECE_MAX + 1);
    }
    return ++state->pieces < STREAM_PIECES;
}

static void http_server_end_stream(void *data)
{
    free(data);
    streams_open--;
}

static void handle_stream(void *data, const struct http_request *request, struct http_reply *reply)
{
    struct stream_state *state = calloc(1, sizeof(*state));
    assert_non_null(state);
    state->fails = data != NULL;
    streams_open++;
    reply->stream =
        (struct http_stream){.more = next_piece, .end = http_server_end_stream, .data = state};
}

/* A stream without end, in pieces that fill sockets within a few turns. */
enum { ENDLESS_PIECE = HTTP_PIECE_MAX / 2 };
static bool next_of_endless(void *data, struct buf *piece)
{
    uint8_t *room = buf_reserve(piece, ENDLESS_PIECE);
    assert_non_null(room);
    memset(room, 'x', ENDLESS_PIECE);
    piece->len += ENDLESS_PIECE;
    return true;
}

static void handle_endless(void *data, const struct http_request *request, struct http_reply *reply)
{
    reply->stream = (struct http_stream){.more = next_of_endless};
}

static char echo_data[] = "echo";
static const struct http_route routes[] = {
    {"/echo", handle_echo, echo_data}, {"/unavailable", handle_unavailable, NULL},
    {"/empty", handle_empty, NULL},    {"/large", handle_too_large, NULL},
    {"/stream", handle_stream, NULL},  {"/broken-stream", handle_stream, echo_data},
    {"/big", handle_big, NULL},        {"/endless", handle_endless, NULL},
};

static void http_server_setup(struct fixture *f)
{
    *f = (struct fixture){.loop = ev_loop_new(EVFLAG_AUTO)};
    streams_loop = f->loop;
    f->server = http_ask_serve(f->loop, routes, ARRAY_LEN(routes), &f->address);
}

static void http_server_teardown(struct fixture *f)
{
    http_server_free(f->server);
    ev_loop_destroy(f->loop);
}

UNIT_FIXTURE(struct fixture, http_server_setup, http_server_teardown)

static void on_readable(struct ev_loop *loop, ev_io *w, int events)
{
    struct client *c = w->data;
    char bytes[4096];
    ssize_t n = read(c->fd, bytes, sizeof(bytes));
    if (n > 0) {
        buf_append(&c->received, bytes, (size_t)n);
    } else if (n == 0 || errno != EAGAIN) {
        c->closed = true;
        ev_io_stop(loop, w);
    }
    ev_break(loop, EVBREAK_ONE);
}

/* From 127.0.0.<host>. */
static void client_open_from(struct client *c, struct fixture *f, int host)
{
    struct sockaddr_in from = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(0x7f000000U + (uint32_t)host)};
    *c = (struct client){.fixture = f};
    buf_init(&c->received, 32 * 1024 * 1024);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(c->fd >= 0);
    assert_int_equal(bind(c->fd, (struct sockaddr *)&from, sizeof(from)), 0);
    assert_int_equal(connect(c->fd, &f->address.sa, f->address.len), 0);
    assert_int_equal(fcntl(c->fd, F_SETFL, O_NONBLOCK), 0);
    ev_io_init(&c->readable, on_readable, c->fd, EV_READ);
    c->readable.data = c;
    ev_io_start(f->loop, &c->readable);
}

static void client_open(struct client *c, struct fixture *f)
{
    client_open_from(c, f, 1);
}

static void client_close(struct client *c)
{
    ev_io_stop(c->fixture->loop, &c->readable);
    close(c->fd);
    buf_fini(&c->received);
}

static void http_server_client_send(struct client *c, const char *text)
{
    assert_int_equal(write(c->fd, text, strlen(text)), strlen(text));
}

static void http_server_give_up(struct ev_loop *loop, ev_timer *w, int events)
{
    fail_msg("no answer in %d s", TIMEOUT_S);
}

static bool is_answered(struct client *c)
{
    return strstr(buf_cstr(&c->received), "\r\n\r\n") != NULL;
}

/* Runs the loop until the reply's headers have arrived, or the connection is closed. */
static void http_server_await(struct client *c, bool until_closed)
{
    ev_timer timeout;
    ev_timer_init(&timeout, http_server_give_up, TIMEOUT_S, 0.);
    ev_timer_start(c->fixture->loop, &timeout);
    while (!c->closed && (until_closed || !is_answered(c))) {
        ev_run(c->fixture->loop, 0);
    }
    ev_timer_stop(c->fixture->loop, &timeout);
}

/* The complete reply to one request on its own connection. */
static const char *http_server_exchange(struct fixture *f, struct client *c, const char *request)
{
    client_open(c, f);
    http_server_client_send(c, request);
    http_server_await(c, true);
    return buf_cstr(&c->received);
}

#define CLOSE "Host: localhost\r\nConnection: close\r\n\r\n"

/* Every byte in order; without a length HTTP/1.0 ends it by closing. */
UNIT_TEST_ON(test_stream, struct fixture *f)
{
    CLEANUP(client_close) struct client c;
    const char *body =
        strstr(http_server_exchange(f, &c, "GET /stream HTTP/1.0\r\n\r\n"), "\r\n\r\n");
    assert_non_null(body);
    body += 4;
    for (int piece = 0; piece < STREAM_PIECES; piece++) {
        for (int i = 0; i < STREAM_PIECE * (piece % 3); i++) {
            assert_int_equal(*body++, 'a' + piece % 26);
        }
    }
    assert_int_equal(*body, '\0');
    assert_int_equal(streams_open, 0);
}

/* A piece that is too large, a HEAD request, and a client that disconnects: each stream ends
 * once. */
UNIT_TEST_ON(test_streams_that_end_early, struct fixture *f)
{
    struct client c;
    const char *reply = http_server_exchange(f, &c, "GET /broken-stream HTTP/1.1\r\n" CLOSE);
    assert_null(strstr(reply, "\r\n0\r\n\r\n")); /* not a proper end of chunks */
    client_close(&c);
    assert_int_equal(streams_open, 0);
    (void)http_server_exchange(f, &c, "HEAD /stream HTTP/1.1\r\n" CLOSE);
    client_close(&c);
    assert_int_equal(streams_open, 0);
    client_open(&c, f);
    http_server_client_send(&c, "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
    http_server_await(&c, false);
    client_close(&c);
    http_server_free(f->server);
    f->server = NULL;
    assert_int_equal(streams_open, 0);
}

UNIT_TEST_ON(test_replies, struct fixture *f)
{
    static const struct {
        const char *name, *request, *status_line, *header, *body;
    } cases[] = {
        {"path and data", "GET /echo HTTP/1.1\r\n" CLOSE, "HTTP/1.1 200 OK",
         "Content-Type: text/plain; charset=utf-8", "echo GET /echo x=(none)"},
        {"argument", "GET /echo?x=a%20b&y=2 HTTP/1.1\r\n" CLOSE, "HTTP/1.1 200 OK",
         "Content-Length: 20", "echo GET /echo x=a b"},
        {"argument without a value", "GET /echo?x HTTP/1.1\r\n" CLOSE, "HTTP/1.1 200 OK",
         "Content-Type: text/plain", "echo GET /echo x="},
        {"escaped path", "GET /%65cho HTTP/1.1\r\n" CLOSE, "HTTP/1.1 200 OK",
         "Content-Type: text/plain", "echo GET /echo x=(none)"},
        {"status, type, verbatim body", "GET /unavailable HTTP/1.1\r\n" CLOSE,
         "HTTP/1.1 503 Service Unavailable", "Content-Type: text/html", "100%s of it\n"},
        {"empty body", "GET /empty HTTP/1.1\r\n" CLOSE, "HTTP/1.1 200 OK", "Content-Length: 0", ""},
        {"unknown path", "GET /quit HTTP/1.1\r\n" CLOSE, "HTTP/1.1 404 Not Found",
         "Content-Type: text/plain", "not found\n"},
        {"a longer path is another one", "GET /echo/x HTTP/1.1\r\n" CLOSE, "HTTP/1.1 404 Not Found",
         "Content-Type: text/plain", "not found\n"},
        {"reply over its limit", "GET /large HTTP/1.1\r\n" CLOSE,
         "HTTP/1.1 500 Internal Server Error", "Content-Type: text/plain", "response too large\n"},
        {"HEAD", "HEAD /unavailable HTTP/1.1\r\n" CLOSE, "HTTP/1.1 503 Service Unavailable",
         "Content-Length: 12", ""},
        {"POST, its body thrown away", "POST /echo HTTP/1.1\r\nContent-Length: 5\r\n" CLOSE "x=abc",
         "HTTP/1.1 200 OK", "Content-Type: text/plain", "echo POST /echo x=(none)"},
        {"unknown method", "PURGE /echo HTTP/1.1\r\n" CLOSE, "HTTP/1.1 200 OK",
         "Content-Type: text/plain", "echo PURGE /echo x=(none)"},
        {"HTTP/1.0", "GET /echo HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK", "Connection: close",
         "echo GET /echo x=(none)"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(client_close) struct client c;
        const char *reply = http_server_exchange(f, &c, cases[i].request);
        const char *body = strstr(reply, "\r\n\r\n");
        assert_that(strncmp(reply, cases[i].status_line, strlen(cases[i].status_line)) == 0 &&
                        strstr(reply, cases[i].header) && body &&
                        strcmp(body + 4, cases[i].body) == 0,
                    "%s: got\n%s", cases[i].name, reply);
    }
}

UNIT_TEST_ON(test_no_http, struct fixture *f)
{
    static const char *const requests[] = {"\x16\x03\x01\x02\n\r\n\r\n", "GET\r\n\r\n",
                                           "GET /echo HTTP/9.9\r\n\r\n"};
    struct client c;
    for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
        const char *reply = http_server_exchange(f, &c, requests[i]);
        assert_that(!strstr(reply, " 200 "), "request %zu: got\n%s", i, reply);
        client_close(&c);
    }
    assert_non_null(
        strstr(http_server_exchange(f, &c, "GET /echo HTTP/1.1\r\n" CLOSE), "echo GET"));
    client_close(&c);
}

UNIT_TEST_ON(test_requests_follow_on_one_connection, struct fixture *f)
{
    CLEANUP(client_close) struct client c;
    client_open(&c, f);
    for (int i = 0; i < 3; i++) {
        http_server_client_send(&c, "GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n");
        http_server_await(&c, false);
        assert_false(c.closed);
        assert_non_null(strstr(buf_cstr(&c.received), "echo GET /echo"));
        buf_clear(&c.received);
    }
}

UNIT_TEST_ON(test_request_in_pieces, struct fixture *f)
{
    static const char request[] = "GET /echo HTTP/1.1\r\n" CLOSE;
    CLEANUP(client_close) struct client c;
    client_open(&c, f);
    for (size_t i = 0; request[i]; i++) {
        char piece[2] = {request[i], '\0'};
        http_server_client_send(&c, piece);
        ev_run(c.fixture->loop, EVRUN_NOWAIT);
    }
    http_server_await(&c, true);
    assert_non_null(strstr(buf_cstr(&c.received), "echo GET /echo"));
}

UNIT_TEST_ON(test_body_over_the_limit_closes, struct fixture *f)
{
    char piece[1024];
    CLEANUP(client_close) struct client c;
    memset(piece, 'x', sizeof(piece));
    client_open(&c, f);
    http_server_client_send(
        &c, "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n");
    for (size_t sent = 0; sent < 1000000 && !c.closed; sent += sizeof(piece)) {
        if (send(c.fd, piece, sizeof(piece), MSG_NOSIGNAL) < 0 && errno != EAGAIN) {
            break; /* the server has closed */
        }
        ev_run(c.fixture->loop, EVRUN_NOWAIT);
    }
    http_server_await(&c, true);
    assert_false(is_answered(&c));
}

UNIT_TEST_ON(test_star_route_matches_every_other_path, struct fixture *f)
{
    static char known[] = "known", other[] = "other";
    static const struct http_route table[] = {{"/known", handle_echo, known},
                                              {"*", handle_echo, other}};
    struct client c;
    http_server_free(f->server);
    f->server = http_ask_serve(f->loop, table, ARRAY_LEN(table), &f->address);
    assert_non_null(
        strstr(http_server_exchange(f, &c, "GET /known HTTP/1.1\r\n" CLOSE), "known GET /known"));
    client_close(&c);
    assert_non_null(
        strstr(http_server_exchange(f, &c, "GET /a/b HTTP/1.1\r\n" CLOSE), "other GET /a/b"));
    client_close(&c);
}

/* Only 127.0.0.2 may have /echo and what does not exist; what a header says of it counts for
 * nothing, and a stream of another is not begun. */
UNIT_TEST_ON(test_pages_for_few, struct fixture *f)
{
    static const struct http_restricted few[] = {
        {.path = "/echo"}, {.path = "/none"}, {.path = "/stream"}};
    static const struct network networks[] = {
        {.ip = {.family_bytes = 4, .bytes = {127, 0, 0, 2}}, .prefix_bits = 32}};
    static const struct http_access access = {few, ARRAY_LEN(few), networks, 1, "go away\n"};
    static const struct {
        int host;
        const char *request, *status;
    } cases[] = {
        {1, "GET /echo HTTP/1.1\r\n" CLOSE, "403 Forbidden"},
        {1, "POST /echo?x=1 HTTP/1.1\r\n" CLOSE, "403 Forbidden"},
        {1, "GET http://localhost/%65cho HTTP/1.1\r\n" CLOSE, "403 Forbidden"},
        {1,
         "GET /echo HTTP/1.1\r\nX-Forwarded-For: 127.0.0.2\r\nForwarded: for=127.0.0.2\r\n" CLOSE,
         "403 Forbidden"},
        {1, "GET /none HTTP/1.1\r\n" CLOSE, "403 Forbidden"},
        {1, "GET /stream HTTP/1.1\r\n" CLOSE, "403 Forbidden"},
        {1, "GET /empty HTTP/1.1\r\n" CLOSE, "200 OK"},
        {1, "GET /other HTTP/1.1\r\n" CLOSE, "404 Not Found"},
        {2, "GET /echo HTTP/1.1\r\n" CLOSE, "200 OK"},
        {2, "GET /none HTTP/1.1\r\n" CLOSE, "404 Not Found"},
    };
    http_server_limit_access(f->server, &access);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(client_close) struct client c;
        client_open_from(&c, f, cases[i].host);
        http_server_client_send(&c, cases[i].request);
        http_server_await(&c, true);
        const char *reply = buf_cstr(&c.received);
        bool is_refused = strstr(cases[i].status, "403") != NULL;
        assert_that(strncmp(reply, "HTTP/1.1 ", 9) == 0 &&
                        strncmp(reply + 9, cases[i].status, strlen(cases[i].status)) == 0 &&
                        (strstr(reply, "\r\n\r\ngo away\n") != NULL) == is_refused,
                    "127.0.0.%d: %s: %s", cases[i].host, cases[i].request, reply);
    }
    assert_int_equal(streams_open, 0);
}

UNIT_TEST_ON(test_port_in_use_is_named, struct fixture *f)
{
    struct http_server *second = NULL;
    struct err err = {0};
    char text[ADDR_TEXT_MAX], want[128];
    (void)snprintf(want, sizeof(want), "listen on %s: Address already in use",
                   addr_format(&f->address, text));
    assert_int_equal(
        http_server_new(f->loop, &f->address, routes, ARRAY_LEN(routes), &second, &err),
        -EADDRINUSE);
    assert_string_equal(err.msg, want);
    assert_null(second);
}

/* ---- Clients that hold connections ---- */

/* Runs what can run, without waiting. */
static void http_server_settle(struct fixture *f)
{
    for (int i = 0; i < 100; i++) {
        ev_run(f->loop, EVRUN_NOWAIT);
    }
}

/* While the clock is stopped. */
static void pass_ms(struct fixture *f, int64_t ms)
{
    test_clock_advance_ms(ms);
    http_server_settle(f);
}

/* Silent for so long, a connection counts. */
static void pass_fresh(struct fixture *f)
{
    test_clock_stop();
    pass_ms(f, FRESH_MS);
    test_clock_run();
}

/* Fills the server's table, each address with its share, from 127.0.0.2 on. */
static struct client *hold_all(struct fixture *f, const char *text)
{
    static struct client held[CONNECTIONS_MAX];
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        client_open_from(&held[i], f, 2 + i / CLIENT_CONNECTIONS_MAX);
        http_server_client_send(&held[i], text);
        http_server_settle(f);
    }
    pass_fresh(f);
    return held;
}

static int open_count(const struct client *clients, int count)
{
    int open = 0;
    for (int i = 0; i < count; i++) {
        open += !clients[i].closed;
    }
    return open;
}

static void http_server_close_all(struct client *clients, int count)
{
    for (int i = 0; i < count; i++) {
        client_close(&clients[i]);
    }
}

UNIT_TEST_ON(test_idle_connections_make_room, struct fixture *f)
{
    static const char *const what[] = {
        "",                                                             /* no bytes */
        "GET /echo",                                                    /* part of a head */
        "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nx", /* part of a body */
        "GET /empty HTTP/1.1\r\nHost: h\r\n\r\n",                       /* an answered request */
        ("GET /empty HTTP/1.1\r\n" CLOSE),                              /* a last one */
    };
    for (size_t i = 0; i < ARRAY_LEN(what); i++) {
        struct client *held = hold_all(f, what[i]), late;
        const char *reply = http_server_exchange(f, &late, "GET /echo HTTP/1.1\r\n" CLOSE);
        assert_non_null(strstr(reply, "echo GET /echo"));
        http_server_settle(f);
        assert_true(held[0].closed); /* the longest without a request */
        assert_int_equal(open_count(held + 1, CONNECTIONS_MAX - 1),
                         i < ARRAY_LEN(what) - 1 ? CONNECTIONS_MAX - 1 : 0);
        client_close(&late);
        http_server_close_all(held, CONNECTIONS_MAX);
        http_server_settle(f);
    }
}

/* Each is being answered, and reads nothing. */
UNIT_TEST_ON(test_unread_replies_make_room, struct fixture *f)
{
    static struct client held[CONNECTIONS_MAX];
    struct client late;
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        client_open_from(&held[i], f, 2 + i / CLIENT_CONNECTIONS_MAX);
        http_server_client_send(&held[i], "GET /endless HTTP/1.1\r\nHost: h\r\n\r\n");
        http_server_await(&held[i], false);
        ev_io_stop(f->loop, &held[i].readable);
    }
    for (int i = 0; i < 3; i++) {
        const char *reply = http_server_exchange(f, &late, "GET /echo HTTP/1.1\r\n" CLOSE);
        assert_non_null(strstr(reply, "echo GET /echo"));
        client_close(&late);
    }
    for (int i = 0; i < 3; i++) { /* the oldest was cut; the second probe found a free place */
        ev_io_start(f->loop, &held[i].readable);
    }
    http_server_await(&held[0], true);
    assert_false(held[1].closed);
    http_server_close_all(held, CONNECTIONS_MAX);
}

/* A client over its share loses its own longest idle connection, not another's that is idle for
 * longer; one that made a request later stays. */
UNIT_TEST_ON(test_one_client_has_its_share, struct fixture *f)
{
    static struct client many[CLIENT_CONNECTIONS_MAX * 3];
    struct client other;
    client_open_from(&other, f, 1);
    http_server_settle(f);
    for (int i = 0; i < CLIENT_CONNECTIONS_MAX; i++) {
        client_open_from(&many[i], f, 2);
        http_server_settle(f);
    }
    pass_fresh(f);
    http_server_client_send(&many[0], "GET /echo HTTP/1.1\r\nHost: h\r\n\r\n");
    http_server_settle(f);
    assert_true(is_answered(&many[0]));
    client_open_from(&many[CLIENT_CONNECTIONS_MAX], f, 2);
    http_server_settle(f);
    assert_true(many[1].closed);
    assert_int_equal(open_count(many, CLIENT_CONNECTIONS_MAX + 1), CLIENT_CONNECTIONS_MAX);
    const int last = (int)ARRAY_LEN(many) - 1;
    for (int i = CLIENT_CONNECTIONS_MAX + 1; i < last; i++) {
        client_open_from(&many[i], f, 2);
        http_server_settle(f);
    }
    assert_int_equal(open_count(many, last), last - 1); /* fresh ones */
    pass_fresh(f);
    client_open_from(&many[last], f, 2);
    http_server_settle(f);
    assert_int_equal(open_count(many, last + 1), CLIENT_CONNECTIONS_MAX);
    assert_false(other.closed);
    http_server_client_send(&other, "GET /echo HTTP/1.1\r\nHost: h\r\n\r\n");
    http_server_await(&other, false);
    assert_true(is_answered(&other));
    client_close(&other);
    http_server_close_all(many, ARRAY_LEN(many));
}

/* A burst from one address, all before the server's next turn: the probe among it is answered. */
UNIT_TEST_ON(test_a_probe_within_a_burst, struct fixture *f)
{
    static struct client burst[200];
    struct client probe;
    for (int i = 0; i < (int)ARRAY_LEN(burst); i++) {
        client_open(&burst[i], f);
        if (i == (int)ARRAY_LEN(burst) / 2) {
            client_open(&probe, f);
            http_server_client_send(&probe, "GET /echo HTTP/1.1\r\n" CLOSE);
        }
    }
    http_server_await(&probe, true);
    assert_non_null(strstr(buf_cstr(&probe.received), "echo GET /echo"));
    client_close(&probe);
    http_server_settle(f);
    assert_int_equal(open_count(burst, ARRAY_LEN(burst)), (int)ARRAY_LEN(burst));
    pass_fresh(f);
    client_open(&probe, f);
    http_server_settle(f);
    assert_int_equal(open_count(burst, ARRAY_LEN(burst)), CLIENT_CONNECTIONS_MAX - 1);
    client_close(&probe);
    http_server_close_all(burst, ARRAY_LEN(burst));
}

/* 100 connections before the first request, from one address or from several: all are answered. */
UNIT_TEST_ON(test_a_burst_is_answered, struct fixture *f)
{
    static struct client burst[100];
    for (int addresses = 1; addresses <= 5; addresses += 4) {
        for (int i = 0; i < (int)ARRAY_LEN(burst); i++) {
            client_open_from(&burst[i], f, 2 + i % addresses);
        }
        http_server_settle(f);
        for (int i = 0; i < (int)ARRAY_LEN(burst); i++) {
            http_server_client_send(&burst[i], "GET /echo HTTP/1.1\r\nHost: h\r\n\r\n");
        }
        for (int i = 0; i < (int)ARRAY_LEN(burst); i++) {
            http_server_await(&burst[i], false);
            assert_true(is_answered(&burst[i]));
        }
        http_server_settle(f);
        assert_int_equal(open_count(burst, ARRAY_LEN(burst)),
                         addresses == 1 ? CLIENT_CONNECTIONS_MAX : CONNECTIONS_MAX);
        http_server_close_all(burst, ARRAY_LEN(burst));
        http_server_settle(f);
    }
}

/* Fresh ones have a limit, too: the client's own longest silent one is closed. */
UNIT_TEST_ON(test_fresh_connections_have_a_limit, struct fixture *f)
{
    static struct client many[CLIENT_OPEN_MAX + 10];
    struct client other;
    client_open_from(&other, f, 1);
    http_server_settle(f);
    for (int i = 0; i < (int)ARRAY_LEN(many); i++) {
        client_open_from(&many[i], f, 2);
        http_server_settle(f);
    }
    assert_int_equal(open_count(many, 10), 0);
    assert_int_equal(open_count(many + 10, CLIENT_OPEN_MAX), CLIENT_OPEN_MAX);
    assert_false(other.closed);
    client_close(&other);
    http_server_close_all(many, ARRAY_LEN(many));
}

/* Bytes that drip in, of the head or of the body, do not extend the time for a request. */
UNIT_TEST_ON(test_a_dripping_request_is_closed, struct fixture *f)
{
    static const char *const beginnings[] = {
        "", "GET /", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 999\r\n\r\n"};
    for (size_t i = 0; i < ARRAY_LEN(beginnings); i++) {
        CLEANUP(client_close) struct client c;
        client_open(&c, f);
        test_clock_stop();
        http_server_settle(f);
        http_server_client_send(&c, beginnings[i]);
        for (int ms = 0; ms < REQUEST_MS - 1000; ms += 1000) {
            if (*beginnings[i]) {
                http_server_client_send(&c, "x");
            }
            pass_ms(f, 1000);
            assert_false(c.closed);
        }
        pass_ms(f, 2000);
        assert_true(c.closed);
        assert_int_equal(c.received.len, 0);
        test_clock_run();
    }
}

/* Half of the places are taken: the first request has less time, for those that came before, too.
 * Who has made a request keeps its time. */
UNIT_TEST_ON(test_a_crowd_has_less_time, struct fixture *f)
{
    static struct client crowd[CROWDED];
    test_clock_stop();
    for (int i = 0; i < CROWDED - 1; i++) {
        client_open_from(&crowd[i], f, 2 + i / CLIENT_CONNECTIONS_MAX);
        http_server_settle(f);
    }
    http_server_client_send(&crowd[0], "GET /empty HTTP/1.1\r\nHost: h\r\n\r\n");
    pass_ms(f, FIRST_SOON_MS + 1000);
    assert_int_equal(open_count(crowd, CROWDED - 1), CROWDED - 1);
    client_open(&crowd[CROWDED - 1], f);
    http_server_settle(f);
    pass_ms(f, FIRST_SOON_MS - 500);
    assert_int_equal(open_count(crowd, CROWDED), CROWDED);
    pass_ms(f, 1000);
    assert_int_equal(open_count(crowd, CROWDED), 1);
    assert_false(crowd[0].closed);
    test_clock_run();
    http_server_close_all(crowd, CROWDED);
}

/* Reads at least that many bytes, whatever the kernel's buffers hold; false: closed. */
static bool http_server_drain(struct client *c, size_t len)
{
    static char bytes[64 * 1024];
    for (size_t got = 0; got < len;) {
        ssize_t n = read(c->fd, bytes, sizeof(bytes));
        if (n == 0 || (n < 0 && errno != EAGAIN)) {
            return false;
        }
        got += n > 0 ? (size_t)n : 0;
        ev_run(c->fixture->loop, EVRUN_NOWAIT);
    }
    return true;
}

enum {
    RECEIVE_BUFFER = 64 * 1024,
    SOCKETS_HOLD = 8 * 1024 * 1024, /* more than that and what a sender may have */
};

/* A client that reads now and then has a minute for a reply; one that does not, ten seconds. */
UNIT_TEST_ON(test_a_reply_has_an_end, struct fixture *f)
{
    const int receive_buffer = RECEIVE_BUFFER;
    struct client c;
    test_clock_stop();
    for (int reads = 0; reads < 2; reads++) {
        int limit_ms = reads ? REPLY_MS : UNREAD_MS;
        client_open(&c, f);
        ev_io_stop(f->loop, &c.readable);
        assert_int_equal(
            setsockopt(c.fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer)), 0);
        http_server_client_send(&c, "GET /endless HTTP/1.1\r\nHost: h\r\n\r\n");
        http_server_settle(f);
        for (int ms = 0; ms < limit_ms; ms += 4000) {
            if (reads) {
                assert_true(http_server_drain(&c, SOCKETS_HOLD));
            }
            http_server_settle(f);
            test_clock_advance_ms(4000);
        }
        pass_ms(f, 1000);
        assert_false(http_server_drain(&c, SOCKETS_HOLD));
        client_close(&c);
    }
    test_clock_run();
}

UNIT_TEST_ON(test_free_drops_connections, struct fixture *f)
{
    struct client c;
    client_open(&c, f);
    http_server_client_send(&c, "GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n");
    http_server_await(&c, false);
    http_server_free(f->server);
    f->server = NULL;
    http_server_await(&c, true);
    assert_true(c.closed);
    client_close(&c);
    http_server_free(NULL);
}

/* Runs the loop until this many bytes have arrived, and takes them. */
static void http_server_take(struct client *c, size_t len, char *out)
{
    ev_timer timeout;
    ev_timer_init(&timeout, http_server_give_up, TIMEOUT_S, 0.);
    ev_timer_start(c->fixture->loop, &timeout);
    while (c->received.len < len) {
        assert_false(c->closed);
        ev_run(c->fixture->loop, 0);
    }
    ev_timer_stop(c->fixture->loop, &timeout);
    memcpy(out, c->received.data, len);
    buf_consume(&c->received, len);
}

/* The next line, without its end. */
static const char *http_server_take_line(struct client *c)
{
    static char line[256];
    size_t len = 0;
    while (len < 2 || memcmp(line + len - 2, "\r\n", 2) != 0) {
        assert_true(len < sizeof(line) - 1);
        http_server_take(c, 1, line + len);
        len++;
    }
    line[len - 2] = '\0';
    return line;
}

/* The next head must have this status line and contain this field. */
static void http_server_take_head(struct client *c, const char *status_line, const char *field)
{
    const char *line = http_server_take_line(c);
    bool has_field = false;
    assert_string_equal(line, status_line);
    while (*(line = http_server_take_line(c))) {
        has_field = has_field || strcmp(line, field) == 0;
    }
    assert_that(has_field, "no field `%s`", field);
}

static void http_server_take_body(struct client *c, const char *want)
{
    char body[256] = "";
    assert_true(strlen(want) < sizeof(body));
    http_server_take(c, strlen(want), body);
    assert_string_equal(body, want);
}

/* All at once: bodies, HEAD requests, streams, and a last one with close. Replies come in order. */
UNIT_TEST_ON(test_requests_that_do_not_wait, struct fixture *f)
{
    CLEANUP(client_close) struct client c;
    client_open(&c, f);
    http_server_client_send(&c,
                            "POST /echo?x=1 HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nGET "
                            "HEAD /stream HTTP/1.1\r\nHost: h\r\n\r\n"
                            "HEAD /unavailable HTTP/1.1\nHost: h\n\n"
                            "\r\nGET /echo?x=2 HTTP/1.1\r\nHost: h\r\n\r\n"
                            "GET /echo?x=3 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
                            "GET /echo?x=4 HTTP/1.1\r\nHost: h\r\n\r\n");
    http_server_take_head(&c, "HTTP/1.1 200 OK", "Content-Length: 19");
    http_server_take_body(&c, "echo POST /echo x=1");
    http_server_take_head(&c, "HTTP/1.1 200 OK", "Transfer-Encoding: chunked");
    http_server_take_head(&c, "HTTP/1.1 503 Service Unavailable", "Content-Length: 12");
    http_server_take_head(&c, "HTTP/1.1 200 OK", "Content-Length: 18");
    http_server_take_body(&c, "echo GET /echo x=2");
    http_server_take_head(&c, "HTTP/1.1 200 OK", "Connection: close");
    http_server_take_body(&c, "echo GET /echo x=3");
    http_server_await(&c, true);
    assert_int_equal(c.received.len, 0); /* no requests after a close */
    assert_int_equal(streams_open, 0);
}

UNIT_TEST_ON(test_a_stream_in_chunks, struct fixture *f)
{
    CLEANUP(client_close) struct client c;
    static char piece[STREAM_PIECE * 3];
    client_open(&c, f);
    for (int round = 0; round < 2; round++) {
        http_server_client_send(&c, "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
        http_server_take_head(&c, "HTTP/1.1 200 OK", "Transfer-Encoding: chunked");
        for (int i = 0; i < STREAM_PIECES; i++) {
            size_t len = (size_t)STREAM_PIECE * (i % 3);
            if (len == 0) {
                continue; /* an empty chunk would be the end */
            }
            assert_int_equal(strtoul(http_server_take_line(&c), NULL, 16), len);
            http_server_take(&c, len, piece);
            for (size_t k = 0; k < len; k++) {
                assert_int_equal(piece[k], 'a' + i % 26);
            }
            assert_string_equal(http_server_take_line(&c), "");
        }
        assert_string_equal(http_server_take_line(&c), "0");
        assert_string_equal(http_server_take_line(&c), "");
    }
}

UNIT_TEST_ON(test_a_body_that_waits_to_be_asked_for, struct fixture *f)
{
    CLEANUP(client_close) struct client c;
    client_open(&c, f);
    http_server_client_send(&c, "PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n"
                                "Expect: 100-continue\r\n\r\n");
    assert_string_equal(http_server_take_line(&c), "HTTP/1.1 100 Continue");
    assert_string_equal(http_server_take_line(&c), "");
    http_server_client_send(&c, "ab");
    for (int i = 0; i < 10; i++) {
        ev_run(c.fixture->loop, EVRUN_NOWAIT);
    }
    assert_int_equal(c.received.len, 0);
    http_server_client_send(&c, "c");
    http_server_take_head(&c, "HTTP/1.1 200 OK", "Content-Length: 23");
    http_server_take_body(&c, "echo PUT /echo x=(none)");
}

/* The reply arrives, even though the client keeps sending what nobody reads. */
UNIT_TEST_ON(test_refusals, struct fixture *f)
{
    static char long_target[20 * 1024], long_field[20 * 1024];
    static const char line[] = "GET / HTTP/1.1\r\nX:";
    static const struct {
        const char *request, *status_line, *body;
    } cases[] = {
        {"nonsense\r\n\r\n", "HTTP/1.1 400 Bad Request", "Bad Request\n"},
        {"GET /echo HTTP/1.1\r\n\r\n", "HTTP/1.1 400 Bad Request", "Bad Request\n"},
        {"PUT /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
         "chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
         "HTTP/1.1 411 Length Required", "Length Required\n"},
        {"GET / HTTP/1.1\r\nHost: h\r\nExpect: x\r\n\r\n", "HTTP/1.1 417 Expectation Failed",
         "Expectation Failed\n"},
        {"GET / HTTP/3.0\r\nHost: h\r\n\r\n", "HTTP/1.1 505 HTTP Version Not Supported",
         "HTTP Version Not Supported\n"},
        {long_target, "HTTP/1.1 414 URI Too Long", "URI Too Long\n"},
        {long_field, "HTTP/1.1 431 Request Header Fields Too Large",
         "Request Header Fields Too Large\n"},
    };
    memset(long_target, 'x', sizeof(long_target) - 1);
    memset(long_field, 'x', sizeof(long_field) - 1);
    memcpy(long_field, line, sizeof(line) - 1);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(client_close) struct client c;
        client_open(&c, f);
        http_server_client_send(&c, cases[i].request);
        http_server_client_send(&c, "more of it");
        http_server_take_head(&c, cases[i].status_line, "Connection: close");
        http_server_take_body(&c, cases[i].body);
        http_server_await(&c, true);
        assert_int_equal(c.received.len, 0);
    }
}

UNIT_TEST_ON(test_a_reply_larger_than_sockets_hold, struct fixture *f)
{
    CLEANUP(client_close) struct client c;
    const char *body =
        strstr(http_server_exchange(f, &c, "GET /big HTTP/1.1\r\n" CLOSE), "\r\n\r\n");
    assert_non_null(body);
    body += 4;
    assert_int_equal(strlen(body), BIG);
    for (size_t i = 0; i < BIG; i++) {
        assert_that(body[i] == (char)('a' + i % 23), "byte %zu is wrong", i);
    }
}
