/* The forwarder against scripted nameservers on loopback, on the same loop: what it sends, what it
 * takes for a reply, and where it goes when there is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "skydns/forwarder.h"

enum { FIRST_PORT = 22000, LAST_PORT = 32000, HEADER_LEN = 12 };

/* Long enough that no busy machine reaches it where an answer is expected. */
enum { PATIENCE_MS = 20000 };

/* A query for `a.test. A`, id 0x0101. */
static const uint8_t query[] = {1, 1,   1, 0,   0,   1,   0,   0, 0, 0, 0, 0,
                                1, 'a', 4, 't', 'e', 's', 't', 0, 0, 1, 0, 1};

static uint16_t next_port = FIRST_PORT;

struct upstream {
    struct ev_loop *loop;
    ev_io io;
    struct addr address;
    unsigned seen; /* queries */
    uint8_t message[512];
    size_t len;
    struct addr client;
    void (*script)(struct upstream *);
};

struct result {
    struct ev_loop *loop;
    unsigned calls;
    bool failed;
    uint8_t reply[512];
    size_t len;
};

static struct addr loopback(uint16_t port)
{
    struct addr a = {.v4 = {.sin_family = AF_INET, .sin_port = htons(port)}, .len = sizeof(a.v4)};
    a.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

/* A socket bound to a free port below the ephemeral ones. */
static int bound_socket(int type, struct addr *ret_address)
{
    while (next_port < LAST_PORT) {
        int fd = socket(AF_INET, type | SOCK_NONBLOCK, 0);
        *ret_address = loopback(next_port++);
        if (bind(fd, &ret_address->sa, ret_address->len) == 0) {
            return fd;
        }
        close(fd);
    }
    fail_msg("no free port");
    return -1;
}

static void on_query(struct ev_loop *loop, ev_io *io, int revents)
{
    struct upstream *u = io->data;
    (void)loop;
    (void)revents;
    u->client.len = sizeof(u->client.v6);
    ssize_t n = recvfrom(io->fd, u->message, sizeof(u->message), 0, &u->client.sa, &u->client.len);
    if (n < 0) {
        return;
    }
    u->len = (size_t)n;
    u->seen++;
    if (u->script) {
        u->script(u);
    }
}

static void upstream_init(struct upstream *u, struct ev_loop *loop,
                          void (*script)(struct upstream *))
{
    *u = (struct upstream){.loop = loop, .script = script};
    ev_io_init(&u->io, on_query, bound_socket(SOCK_DGRAM, &u->address), EV_READ);
    u->io.data = u;
    ev_io_start(loop, &u->io);
}

static void upstream_fini(struct upstream *u)
{
    ev_io_stop(u->loop, &u->io);
    close(u->io.fd);
}

static void upstream_send(struct upstream *u)
{
    assert_int_equal(sendto(u->io.fd, u->message, u->len, 0, &u->client.sa, u->client.len), u->len);
}

static void answer(struct upstream *u)
{
    u->message[2] |= 0x80;
    u->message[3] = 0x80;
    upstream_send(u);
}

static void answer_truncated(struct upstream *u)
{
    u->message[2] |= 0x02;
    answer(u);
}

/* Everything that is no reply, then the reply, with another rcode to tell it by. */
static void answer_wrongly_first(struct upstream *u)
{
    struct upstream wrong = *u;
    struct addr elsewhere;
    upstream_send(&wrong); /* not a reply: QR is clear */
    wrong = *u;
    wrong.message[0] ^= 0xff;
    answer(&wrong); /* another id */
    wrong = *u;
    wrong.message[HEADER_LEN + 1] = 'b';
    answer(&wrong); /* another name */
    wrong = *u;
    wrong.message[21] = 28;
    answer(&wrong); /* another type */
    wrong = *u;
    wrong.message[2] |= 0x08;
    answer(&wrong); /* another opcode */
    wrong = *u;
    wrong.len = HEADER_LEN;
    answer(&wrong); /* no question */
    wrong.len = 3;
    answer(&wrong); /* no header */
    wrong = *u;
    wrong.io.fd = bound_socket(SOCK_DGRAM, &elsewhere);
    answer(&wrong); /* another source */
    close(wrong.io.fd);

    u->message[HEADER_LEN + 1] = 'A'; /* letter case is no difference */
    u->message[2] |= 0x80;
    u->message[3] = 0x85;
    upstream_send(u);
}

static void on_result(void *data, const uint8_t *reply, size_t len)
{
    struct result *r = data;
    r->calls++;
    r->failed = reply == NULL;
    if (reply) {
        assert_true(len <= sizeof(r->reply));
        memcpy(r->reply, reply, len);
        r->len = len;
    }
    ev_break(r->loop, EVBREAK_ALL);
}

static void on_guard(struct ev_loop *loop, ev_timer *timer, int revents)
{
    (void)timer;
    (void)revents;
    ev_break(loop, EVBREAK_ALL);
}

/* Until the callback, or the test is hopeless. */
static void run(struct result *r)
{
    ev_timer guard;
    ev_timer_init(&guard, on_guard, PATIENCE_MS / 1000.0, 0.);
    ev_timer_start(r->loop, &guard);
    ev_run(r->loop, 0);
    ev_timer_stop(r->loop, &guard);
    assert_int_equal(r->calls, 1);
}

static struct forwarder *forwarder_of(struct ev_loop *loop, const struct addr *servers,
                                      size_t count, uint32_t timeout_ms)
{
    const struct forwarder_config config = {.loop = loop,
                                            .servers = servers,
                                            .server_count = count,
                                            .rotate = false,
                                            .timeout_ms = timeout_ms,
                                            .outstanding_max = 2};
    return forwarder_new(&config);
}

static bool send_query(struct forwarder *f, enum engine_transport transport, struct result *r)
{
    return forwarder_send(f, query, sizeof(query), transport, on_result, r);
}

static void test_a_reply_is_passed_on(void **state)
{
    struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
    struct result r = {.loop = loop};
    struct upstream u;
    (void)state;
    upstream_init(&u, loop, answer);
    struct forwarder *f = forwarder_of(loop, &u.address, 1, PATIENCE_MS);
    assert_true(send_query(f, ENGINE_UDP, &r));
    assert_int_equal(r.calls, 0);
    assert_int_equal(forwarder_outstanding(f), 1);
    run(&r);
    assert_false(r.failed);
    assert_int_equal(u.seen, 1);
    assert_memory_equal(u.message + 4, query + 4, sizeof(query) - 4);
    assert_int_equal(r.len, u.len);
    assert_memory_equal(r.reply, u.message, u.len);
    assert_int_equal(forwarder_outstanding(f), 0);
    forwarder_free(f);
    upstream_fini(&u);
    ev_loop_destroy(loop);
}

static void test_a_truncated_reply_is_passed_on(void **state)
{
    struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
    struct result r = {.loop = loop};
    struct upstream u;
    (void)state;
    upstream_init(&u, loop, answer_truncated);
    struct forwarder *f = forwarder_of(loop, &u.address, 1, PATIENCE_MS);
    assert_true(send_query(f, ENGINE_UDP, &r));
    run(&r);
    assert_false(r.failed);
    assert_int_equal(r.reply[2] & 0x82, 0x82);
    forwarder_free(f);
    upstream_fini(&u);
    ev_loop_destroy(loop);
}

static void test_what_is_no_reply_is_passed_over(void **state)
{
    struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
    struct result r = {.loop = loop};
    struct upstream u;
    (void)state;
    upstream_init(&u, loop, answer_wrongly_first);
    struct forwarder *f = forwarder_of(loop, &u.address, 1, PATIENCE_MS);
    assert_true(send_query(f, ENGINE_UDP, &r));
    run(&r);
    assert_false(r.failed);
    assert_int_equal(r.reply[3], 0x85);
    assert_int_equal(u.seen, 1);
    forwarder_free(f);
    upstream_fini(&u);
    ev_loop_destroy(loop);
}

/* Each query goes out with another id, from another port. */
static void test_ids_and_ports_are_fresh(void **state)
{
    enum { ROUNDS = 8 };
    struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
    struct upstream u;
    bool ids_differ = false, ports_differ = false;
    uint8_t id[2] = {0};
    uint16_t port = 0;
    (void)state;
    upstream_init(&u, loop, answer);
    struct forwarder *f = forwarder_of(loop, &u.address, 1, PATIENCE_MS);
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct result r = {.loop = loop};
        assert_true(send_query(f, ENGINE_UDP, &r));
        run(&r);
        ids_differ = ids_differ || (i && memcmp(id, u.message, 2) != 0);
        ports_differ = ports_differ || (i && port != addr_port(&u.client));
        memcpy(id, u.message, 2);
        port = addr_port(&u.client);
    }
    assert_true(ids_differ && ports_differ);
    forwarder_free(f);
    upstream_fini(&u);
    ev_loop_destroy(loop);
}

/* The first port has nobody: its refusal moves on to the next server without waiting. */
static void test_a_refusing_server_is_left_at_once(void **state)
{
    struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
    struct result r = {.loop = loop};
    struct upstream u;
    struct addr servers[2];
    (void)state;
    upstream_init(&u, loop, answer);
    close(bound_socket(SOCK_DGRAM, &servers[0]));
    servers[1] = u.address;
    struct forwarder *f = forwarder_of(loop, servers, 2, PATIENCE_MS * 2);
    assert_true(send_query(f, ENGINE_UDP, &r));
    run(&r);
    assert_false(r.failed);
    assert_int_equal(u.seen, 1);
    forwarder_free(f);
    upstream_fini(&u);
    ev_loop_destroy(loop);
}

static void test_a_silent_server_is_left_in_time(void **state)
{
    struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
    struct result r = {.loop = loop};
    struct upstream silent, u;
    (void)state;
    upstream_init(&silent, loop, NULL);
    upstream_init(&u, loop, answer);
    const struct addr servers[2] = {silent.address, u.address};
    struct forwarder *f = forwarder_of(loop, servers, 2, 500);
    assert_true(send_query(f, ENGINE_UDP, &r));
    run(&r);
    assert_false(r.failed);
    assert_int_equal(silent.seen, 1);
    assert_int_equal(u.seen, 1);
    forwarder_free(f);
    upstream_fini(&silent);
    upstream_fini(&u);
    ev_loop_destroy(loop);
}

/* Every server once, the first one again, then the failure. */
static void test_all_silent(void **state)
{
    struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
    struct result r = {.loop = loop};
    struct upstream a, b;
    (void)state;
    upstream_init(&a, loop, NULL);
    upstream_init(&b, loop, NULL);
    const struct addr servers[2] = {a.address, b.address};
    struct forwarder *f = forwarder_of(loop, servers, 2, 20);
    assert_true(send_query(f, ENGINE_UDP, &r));
    run(&r);
    assert_true(r.failed);
    for (int i = 0; i < 3; i++) {
        ev_run(loop, EVRUN_NOWAIT); /* whatever was sent and not yet read */
    }
    assert_int_equal(a.seen, 2);
    assert_int_equal(b.seen, 1);
    assert_int_equal(forwarder_outstanding(f), 0);
    forwarder_free(f);
    upstream_fini(&a);
    upstream_fini(&b);
    ev_loop_destroy(loop);
}

static void test_all_refusing(void **state)
{
    struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
    struct addr server;
    (void)state;
    close(bound_socket(SOCK_DGRAM, &server));
    struct forwarder *f = forwarder_of(loop, &server, 1, PATIENCE_MS * 2);
    for (int i = 0; i < 2; i++) {
        struct result r = {.loop = loop};
        assert_true(send_query(f, i ? ENGINE_TCP : ENGINE_UDP, &r));
        assert_int_equal(r.calls, 0); /* never from inside */
        run(&r);
        assert_true(r.failed);
    }
    forwarder_free(f);
    ev_loop_destroy(loop);
}

static void test_the_id_chooses_the_server(void **state)
{
    struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
    struct upstream u[3];
    struct addr servers[3];
    (void)state;
    for (int i = 0; i < 3; i++) {
        upstream_init(&u[i], loop, answer);
        servers[i] = u[i].address;
    }
    for (int rotate = 0; rotate < 2; rotate++) {
        const struct forwarder_config config = {.loop = loop,
                                                .servers = servers,
                                                .server_count = 3,
                                                .rotate = rotate,
                                                .timeout_ms = PATIENCE_MS,
                                                .outstanding_max = 1};
        struct forwarder *f = forwarder_new(&config);
        for (uint8_t id = 0; id < 3; id++) {
            struct result r = {.loop = loop};
            uint8_t q[sizeof(query)];
            unsigned *seen = &u[rotate ? id : 0].seen, before = *seen;
            memcpy(q, query, sizeof(q));
            q[0] = 0;
            q[1] = (uint8_t)(id + 6);
            assert_true(forwarder_send(f, q, sizeof(q), ENGINE_UDP, on_result, &r));
            run(&r);
            assert_int_equal(*seen, before + 1);
        }
        forwarder_free(f);
    }
    for (int i = 0; i < 3; i++) {
        upstream_fini(&u[i]);
    }
    ev_loop_destroy(loop);
}

static void test_limits(void **state)
{
    struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
    struct result r = {.loop = loop};
    struct upstream u;
    (void)state;
    upstream_init(&u, loop, NULL);
    struct forwarder *f = forwarder_of(loop, &u.address, 1, PATIENCE_MS);
    assert_true(send_query(f, ENGINE_UDP, &r));
    assert_true(send_query(f, ENGINE_UDP, &r));
    assert_false(send_query(f, ENGINE_UDP, &r)); /* two may be under way */
    forwarder_free(f);
    assert_int_equal(r.calls, 0); /* ended without their callbacks */

    f = forwarder_of(loop, &u.address, 1, PATIENCE_MS);
    for (size_t len = 0; len < sizeof(query); len++) {
        assert_false(forwarder_send(f, query, len, ENGINE_UDP, on_result, &r));
    }
    forwarder_free(f);
    f = forwarder_of(loop, NULL, 0, PATIENCE_MS);
    assert_false(send_query(f, ENGINE_UDP, &r));
    forwarder_free(f);
    forwarder_free(NULL);
    upstream_fini(&u);
    ev_loop_destroy(loop);
}

static void on_drop(struct ev_loop *loop, ev_timer *timer, int revents)
{
    (void)loop;
    (void)revents;
    forwarder_drop_all(timer->data);
}

/* The owner ends in the same turn of the loop in which a query's time is over. */
static void test_no_callback_after_all_were_dropped(void **state)
{
    struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
    struct result r = {.loop = loop};
    struct addr nowhere = {.len = sizeof(nowhere.v4)}; /* no family: every try fails at once */
    ev_timer drop;
    (void)state;
    struct forwarder *f = forwarder_of(loop, &nowhere, 1, PATIENCE_MS);
    assert_true(send_query(f, ENGINE_UDP, &r));
    assert_true(send_query(f, ENGINE_UDP, &r));
    ev_timer_init(&drop, on_drop, 0., 0.);
    ev_set_priority(&drop, EV_MAXPRI);
    drop.data = f;
    ev_timer_start(loop, &drop);
    ev_run(loop, 0); /* until nothing is under way */
    assert_int_equal(r.calls, 0);
    assert_int_equal(forwarder_outstanding(f), 0);
    forwarder_free(f);
    ev_loop_destroy(loop);
}

/* A nameserver over TCP, one connection a script step. */
struct tcp_upstream {
    ev_io listener;
    ev_io io;
    unsigned connections;
    unsigned hang_up; /* so many connections are closed unanswered */
    uint8_t in[512];
    size_t len;
};

static void on_tcp_bytes(struct ev_loop *loop, ev_io *io, int revents)
{
    struct tcp_upstream *u = io->data;
    (void)revents;
    ssize_t n = recv(io->fd, u->in + u->len, sizeof(u->in) - u->len, 0);
    if (n > 0) {
        u->len += (size_t)n;
    }
    if (n > 0 && u->len == sizeof(query) + 2) {
        assert_int_equal(u->in[0] << 8 | u->in[1], sizeof(query));
        u->in[2 + 2] |= 0x80;
        for (size_t i = 0; i < u->len; i++) { /* the reply in the smallest pieces */
            assert_int_equal(send(io->fd, u->in + i, 1, MSG_NOSIGNAL), 1);
        }
    }
    if (n <= 0) {
        ev_io_stop(loop, io);
        close(io->fd);
    }
}

static void on_tcp_connection(struct ev_loop *loop, ev_io *io, int revents)
{
    struct tcp_upstream *u = io->data;
    (void)revents;
    int fd = accept(io->fd, NULL, NULL);
    if (fd < 0) {
        return;
    }
    if (u->connections++ < u->hang_up) {
        close(fd);
        return;
    }
    u->len = 0;
    ev_io_init(&u->io, on_tcp_bytes, fd, EV_READ);
    u->io.data = u;
    ev_io_start(loop, &u->io);
}

static void test_over_tcp(void **state)
{
    struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
    struct result r = {.loop = loop};
    struct tcp_upstream u = {.hang_up = 1};
    struct addr server;
    int on = 1;
    (void)state;
    int fd = bound_socket(SOCK_STREAM, &server);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
    assert_int_equal(listen(fd, 4), 0);
    ev_io_init(&u.listener, on_tcp_connection, fd, EV_READ);
    u.listener.data = &u;
    ev_io_start(loop, &u.listener);
    struct forwarder *f = forwarder_of(loop, &server, 1, PATIENCE_MS);
    assert_true(send_query(f, ENGINE_TCP, &r));
    run(&r);
    assert_false(r.failed);
    assert_int_equal(u.connections, 2); /* the one that hung up, and the next try */
    assert_int_equal(r.len, sizeof(query));
    assert_memory_equal(r.reply, u.in + 2, sizeof(query));
    forwarder_free(f);
    ev_run(loop, EVRUN_NOWAIT); /* the server sees the end of its connection */
    ev_io_stop(loop, &u.listener);
    close(fd);
    ev_loop_destroy(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_reply_is_passed_on),
        cmocka_unit_test(test_a_truncated_reply_is_passed_on),
        cmocka_unit_test(test_what_is_no_reply_is_passed_over),
        cmocka_unit_test(test_ids_and_ports_are_fresh),
        cmocka_unit_test(test_a_refusing_server_is_left_at_once),
        cmocka_unit_test(test_a_silent_server_is_left_in_time),
        cmocka_unit_test(test_all_silent),
        cmocka_unit_test(test_all_refusing),
        cmocka_unit_test(test_the_id_chooses_the_server),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_no_callback_after_all_were_dropped),
        cmocka_unit_test(test_over_tcp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
