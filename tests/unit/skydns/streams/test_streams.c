/* The streams' thread with the resolver, the real engine and store: answers at once and late ones,
 * each to the query that asked, over several transports; counts; the drain. DNS's own framing in
 * the clear, under the names of other transports. Real sockets on loopback. */
#include "tests/unit/skydns/resolver/resolver_bed.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include "skydns/streams/streams.h"
#include "tests/support/unit_test.h"
#include "tests/unit/skydns/streams/tls_bed.h"

enum { CONNECTIONS = 16, BLOCK = 468 };

struct streams_bed {
    struct fixture *f;
    struct streams *streams;
    struct engine *engine;
    struct addr addresses[ENGINE_TRANSPORTS]; /* of those in use */
};

static void listen_somewhere(struct addr *ret_address, enum engine_transport transport,
                             struct listen_socket *ret_socket)
{
    struct err err = {0};
    int r = -EADDRINUSE;
    for (int i = 0; r == -EADDRINUSE && i < ATTEMPTS; i++) {
        *ret_address = loopback_addr(loopback_free_port());
        r = listen_tcp(ret_address, false, ret_socket, &err);
    }
    assert_that(r >= 0, "%s", err.msg);
    ret_socket->transport = transport;
}

static struct streams_bed *streams_setup_with(struct tls_server *tls)
{
    struct streams_bed *b = calloc(1, sizeof(*b));
    struct listen_socket sockets[2];
    struct err err = {0};
    b->f = setup_still(TIMEOUT_S * 1000);
    b->engine = engine_new(publisher_newest_config(b->f->publisher));
    listen_somewhere(&b->addresses[ENGINE_TLS], ENGINE_TLS, &sockets[0]);
    listen_somewhere(&b->addresses[ENGINE_GRPC], ENGINE_GRPC, &sockets[1]);
    const struct streams_config config = {.sockets = sockets,
                                          .tap = &untapped,
                                          .socket_count = 2,
                                          .kinds = {[ENGINE_TLS] = {.tls = tls, .alpn = "dot"}},
                                          .handshake_threads = 2,
                                          .connections_max = CONNECTIONS,
                                          .engine = b->engine,
                                          .reader = publisher_reader_new(b->f->publisher),
                                          .resolver = b->f->resolver,
                                          .want_skydns_metrics = true};
    assert_that(streams_new(&config, &b->streams, &err) >= 0, "%s", err.msg);
    start_threads(b->f);
    assert_int_equal(streams_start(b->streams, &err), 0);
    return b;
}

static struct streams_bed *streams_setup(void)
{
    return streams_setup_with(NULL);
}

static void streams_stop_all(struct streams_bed *b)
{
    streams_stop(b->streams);
    stop(b->f);
}

static void streams_teardown(struct streams_bed *b)
{
    teardown(b->f);
    streams_free(b->streams);
    engine_free(b->engine);
    free(b);
}

UNIT_FIXTURE_MADE(streams_setup(), streams_teardown)

static int streams_connect_to(const struct streams_bed *b, enum engine_transport transport)
{
    int fd = patient_socket(SOCK_STREAM);
    const struct addr *address = &b->addresses[transport];
    assert_int_equal(connect(fd, &address->sa, address->len), 0);
    return fd;
}

/* Asks for padding. */
static struct message streams_padded(uint16_t id, const char *name)
{
    static const uint8_t opt[] = {0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 8, 0, 12, 0, 4, 0, 0, 0, 0};
    struct message m = question(id, name);
    memcpy(m.wire + m.len, opt, sizeof(opt));
    m.len += sizeof(opt);
    m.wire[11] = 1;
    return m;
}

static uint64_t streams_answered(const struct streams_bed *b, enum engine_transport transport)
{
    return counter_get(&streams_counts(b->streams)->queries[transport].answered);
}

UNIT_TESTS_ONCE(make_certificates, remove_certificates)
UNIT_TESTS_HAVE_THREADS

UNIT_TEST_ON(test_answers_at_once, struct streams_bed *b)
{
    put_host(b->f, "web.cluster.local.", "10.1.0.1");
    publish(b->f);
    int tls = streams_connect_to(b, ENGINE_TLS), grpc = streams_connect_to(b, ENGINE_GRPC);
    struct message q = streams_padded(1, "web.cluster.local.");
    send_tcp(tls, &q);
    struct message m = receive_tcp(tls);
    assert_int_equal(answers_in(&m), 1);
    assert_int_equal(m.len, BLOCK);
    send_tcp(grpc, &q);
    m = receive_tcp(grpc);
    assert_int_equal(answers_in(&m), 1);
    assert_in_range(m.len, 12, BLOCK - 1);
    while (counter_get(&streams_counts(b->streams)->connections[ENGINE_TLS]) != 1 ||
           counter_get(&streams_counts(b->streams)->connections[ENGINE_GRPC]) != 1) {
        (void)sched_yield();
    }
    assert_int_equal(streams_answered(b, ENGINE_TLS), 1);
    assert_int_equal(streams_answered(b, ENGINE_GRPC), 1);
    assert_int_equal(streams_answered(b, ENGINE_HTTPS), 0);
    close(tls);
    close(grpc);
    streams_stop_all(b);
    struct query_sums sums = {0};
    query_sums_add(&sums, &streams_counts(b->streams)->queries[ENGINE_TLS]);
    assert_int_equal(counter_get(&sums.skydns.systems[SKYDNS_AUTH].requests), 1);
    assert_int_equal(counter_get(&resolver_counts(b->f->resolver)->tcp.answered), 0);
}

/* Two connections ask for two foreign names; each gets its own, padded if it asked for that. */
UNIT_TEST_ON(test_late_answers, struct streams_bed *b)
{
    struct message first = streams_padded(1, "one.test."), second = question(2, "two.test.");
    publish(b->f);
    int fds[] = {streams_connect_to(b, ENGINE_TLS), streams_connect_to(b, ENGINE_GRPC)};
    send_tcp(fds[0], &first);
    answer_as_upstream(b->f, "one.test.");
    struct message m = receive_tcp(fds[0]);
    assert_int_equal(id_of(&m), 1);
    assert_int_equal(answers_in(&m), 1);
    assert_int_equal(m.len, BLOCK);
    send_tcp(fds[1], &second);
    answer_as_upstream(b->f, "two.test.");
    m = receive_tcp(fds[1]);
    assert_int_equal(id_of(&m), 2);
    assert_int_equal(answers_in(&m), 1);
    close(fds[0]);
    close(fds[1]);
    streams_stop_all(b);
    const struct streams_counts *counts = streams_counts(b->streams);
    const struct query_counts *tls = &counts->queries[ENGINE_TLS];
    assert_int_equal(counter_get(&tls->deferred), 1);
    assert_int_equal(counter_get(&tls->rcodes[NOERROR]), 1);
    assert_int_equal(counter_get(&tls->skydns->sums.systems[SKYDNS_RECURSIVE].requests), 1);
    assert_int_equal(counter_get(&counts->queries[ENGINE_GRPC].deferred), 1);
    assert_int_equal(counter_get(&resolver_counts(b->f->resolver)->udp.rcodes[NOERROR]), 0);
    assert_int_equal(counter_get(&resolver_counts(b->f->resolver)->tcp.rcodes[NOERROR]), 0);
}

/* Expensive answers beyond a turn's come from the walker; all are the same. */
UNIT_TEST_ON(test_long_scans, struct streams_bed *b)
{
    enum { MANY = 600, QUERIES = 12 };
    struct message q = question(3, "*.many.cluster.local.");
    for (unsigned i = 0; i < MANY; i++) {
        char name[64], host[32];
        (void)snprintf(name, sizeof(name), "r%u.many.cluster.local.", i);
        (void)snprintf(host, sizeof(host), "fd00::%x", i + 1);
        put_host(b->f, name, host);
    }
    put_host(b->f, "last.many.cluster.local.", "10.1.0.1");
    publish(b->f);
    int fd = streams_connect_to(b, ENGINE_TLS);
    for (int i = 0; i < QUERIES; i++) {
        send_tcp(fd, &q);
    }
    for (int i = 0; i < QUERIES; i++) {
        struct message m = receive_tcp(fd);
        assert_int_equal(rcode_of(&m), NOERROR);
        assert_int_equal(answers_in(&m), 1);
    }
    close(fd);
    streams_stop_all(b);
    assert_int_equal(counter_get(&streams_counts(b->streams)->queries[ENGINE_TLS].deferred),
                     QUERIES);
}

/* More than one turn's worth in the inbox at once: the nameserver's one reply answers them all. */
UNIT_TEST_ON(test_many_late_answers, struct streams_bed *b)
{
    enum { QUERIES = 100, FDS = 4 };
    int fds[FDS];
    publish(b->f);
    for (int i = 0; i < FDS; i++) {
        fds[i] = streams_connect_to(b, ENGINE_TLS);
        for (int k = 0; k < QUERIES; k++) {
            struct message q = question((uint16_t)k, "one.test.");
            send_tcp(fds[i], &q);
        }
    }
    wait_in_hand(b->f, FDS * QUERIES);
    answer_as_upstream(b->f, "one.test.");
    for (int i = 0; i < FDS; i++) {
        bool seen[QUERIES] = {false};
        for (int k = 0; k < QUERIES; k++) {
            struct message m = receive_tcp(fds[i]);
            assert_in_range(id_of(&m), 0, QUERIES - 1);
            assert_false(seen[id_of(&m)]);
            seen[id_of(&m)] = true;
            assert_int_equal(answers_in(&m), 1);
        }
        close(fds[i]);
    }
    streams_stop_all(b);
}

/* The client is gone when its answer comes. */
UNIT_TEST_ON(test_an_answer_to_nobody, struct streams_bed *b)
{
    const struct linger at_once = {.l_onoff = 1};
    struct message q = question(1, "one.test.");
    struct addr from;
    publish(b->f);
    int fd = streams_connect_to(b, ENGINE_TLS);
    send_tcp(fd, &q);
    struct message asked = receive_as_upstream(b->f, &from);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
    close(fd);
    while (counter_get(&streams_counts(b->streams)->connections[ENGINE_TLS]) != 0) {
        (void)sched_yield();
    }
    make_reply(&asked, "one.test.");
    assert_int_equal(sendto(b->f->upstream_udp, asked.wire, asked.len, 0, &from.sa, from.len),
                     asked.len);
    wait_in_hand(b->f, 0);
    streams_stop_all(b);
}

/* On stop, a query that waits for a nameserver is still answered, if that replies in time; then the
 * connections close. */
UNIT_TEST_ON(test_drain, struct streams_bed *b)
{
    struct message late = question(1, "one.test."), at_once = question(2, "web.cluster.local.");
    struct addr from;
    int unacknowledged;
    uint8_t byte;
    put_host(b->f, "web.cluster.local.", "10.1.0.1");
    publish(b->f);
    int fd = streams_connect_to(b, ENGINE_TLS), idle = streams_connect_to(b, ENGINE_TLS);
    send_tcp(idle, &at_once);
    (void)receive_tcp(idle); /* it has been accepted */
    send_tcp(fd, &late);
    struct message asked = receive_as_upstream(b->f, &from);
    send_tcp(fd, &at_once);
    do {
        assert_int_equal(ioctl(fd, SIOCOUTQ, &unacknowledged), 0);
    } while (unacknowledged > 0); /* it has arrived */
    make_reply(&asked, "one.test.");
    assert_int_equal(sendto(b->f->upstream_udp, asked.wire, asked.len, 0, &from.sa, from.len),
                     asked.len);
    streams_stop(b->streams);
    unsigned ids = 0;
    for (int i = 0; i < 2; i++) {
        struct message m = receive_tcp(fd);
        ids |= 1u << id_of(&m);
    }
    assert_int_equal(ids, 1u << 1 | 1u << 2);
    assert_int_equal(recv(fd, &byte, 1, 0), 0);
    assert_int_equal(recv(idle, &byte, 1, 0), 0);
    close(fd);
    close(idle);
    stop(b->f);
}

/* A nameserver that never replies holds up nothing for longer than the drain. */
UNIT_TEST(test_drain_with_a_silent_nameserver)
{
    struct streams_bed *b = streams_setup();
    struct message q = question(1, "one.test.");
    struct addr from;
    uint8_t byte;
    publish(b->f);
    int fd = streams_connect_to(b, ENGINE_TLS);
    send_tcp(fd, &q);
    (void)receive_as_upstream(b->f, &from);
    streams_stop_all(b); /* the resolver's SERVFAIL finds nobody */
    streams_teardown(b);
    assert_int_equal(recv(fd, &byte, 1, 0), 0);
    close(fd);
}

/* ---- TLS ---- */

/* On a blocking socket. */
static struct tls_session *session_on(int fd)
{
    struct tls_session *session = tls_session_connect(tls_client, fd, "127.0.0.1", "dot", NULL);
    enum tls_want want = TLS_WANT_READ;
    struct err err;
    while (want != TLS_WANT_NOTHING) {
        assert_int_equal(tls_session_handshake(session, &want, &err), 0);
    }
    return session;
}

static void ask_over(struct tls_session *session, const struct message *m)
{
    uint8_t frame[2 + sizeof(m->wire)] = {(uint8_t)(m->len >> 8), (uint8_t)m->len};
    memcpy(frame + 2, m->wire, m->len);
    assert_int_equal(tls_session_send(session, frame, 2 + m->len), 2 + m->len);
}

static struct message reply_over(struct tls_session *session)
{
    struct message m = {0};
    uint8_t frame[2 + sizeof(m.wire)];
    size_t got = 0;
    while (got < 2 || got < 2 + (size_t)(frame[0] << 8 | frame[1])) {
        ssize_t n = tls_session_recv(session, frame + got, sizeof(frame) - got);
        assert_true(n > 0);
        got += (size_t)n;
    }
    m.len = got - 2;
    memcpy(m.wire, frame + 2, m.len);
    return m;
}

/* At once and late, while other handshakes are begun and left, or broken off; then the drain. */
UNIT_TEST(test_over_tls)
{
    enum { CLIENTS = 8, BROKEN = 6 };
    struct streams_bed *b = streams_setup_with(tls_server);
    struct tls_session *sessions[CLIENTS];
    int fds[CLIENTS], broken[BROKEN];
    uint8_t byte;
    put_host(b->f, "web.cluster.local.", "10.1.0.1");
    publish(b->f);
    for (int i = 0; i < BROKEN; i++) {
        broken[i] = streams_connect_to(b, ENGINE_TLS);
        assert_int_equal(send(broken[i], "\26\3\1\2", 4, MSG_NOSIGNAL), 4);
    }
    for (int i = 0; i < CLIENTS; i++) {
        struct message q = streams_padded((uint16_t)i, "web.cluster.local.");
        fds[i] = streams_connect_to(b, ENGINE_TLS);
        sessions[i] = session_on(fds[i]);
        ask_over(sessions[i], &q);
        if (i < BROKEN / 2) {
            close(broken[i]);
        }
    }
    for (int i = 0; i < CLIENTS; i++) {
        struct message m = reply_over(sessions[i]);
        assert_int_equal(id_of(&m), i);
        assert_int_equal(m.len, BLOCK);
        struct message q = question((uint16_t)i, "one.test.");
        ask_over(sessions[i], &q);
    }
    wait_in_hand(b->f, CLIENTS);
    answer_as_upstream(b->f, "one.test.");
    for (int i = 0; i < CLIENTS; i++) {
        struct message m = reply_over(sessions[i]);
        assert_int_equal(id_of(&m), i);
        assert_int_equal(answers_in(&m), 1);
    }
    streams_stop_all(b);
    for (int i = 0; i < CLIENTS; i++) {
        assert_int_equal(tls_session_recv(sessions[i], &byte, 1), 0);
        tls_session_free(sessions[i]);
        close(fds[i]);
    }
    for (int i = BROKEN / 2; i < BROKEN; i++) {
        close(broken[i]);
    }
    const struct streams_counts *counts = streams_counts(b->streams);
    assert_int_equal(counter_get(&counts->handshakes_full), CLIENTS);
    assert_int_equal(counter_get(&counts->handshakes_resumed), 0);
    assert_int_equal(counter_get(&counts->handshakes_failed), BROKEN);
    assert_int_equal(counter_get(&counts->connections[ENGINE_TLS]), 0);
    streams_teardown(b);
}

UNIT_TEST_ON(test_never_started, struct streams_bed *b)
{
    struct streams *streams;
    struct listen_socket socket;
    struct addr address;
    struct err err;
    struct fixture *f = setup_still(TIMEOUT_S * 1000);
    struct engine *engine = engine_new(publisher_newest_config(f->publisher));
    listen_somewhere(&address, ENGINE_HTTP, &socket);
    const struct streams_config config = {.sockets = &socket,
                                          .tap = &untapped,
                                          .socket_count = 1,
                                          .connections_max = CONNECTIONS,
                                          .engine = engine,
                                          .reader = publisher_reader_new(f->publisher),
                                          .resolver = f->resolver};
    assert_int_equal(streams_new(&config, &streams, &err), 0);
    streams_stop(streams);
    streams_free(streams);
    start_threads(f);
    stop(f);
    teardown(f);
    engine_free(engine);
    streams_free(NULL);
    streams_stop_all(b);
}
