/* TLS on the TCP server: queries in records, bytes that wait inside OpenSSL, slow and half-closed
 * clients, the drain, a protocol. */
#include "tests/unit/skydns/streams/tcp_tls_bed.h"

#include "tests/support/test_clock.h"
#include "tests/support/unit_test.h"

/* ---- Queries ---- */

UNIT_TESTS_ONCE(make_certificates, remove_certificates)

UNIT_FIXTURE_MADE(setup(4), finish)

/* Three queries in two records, split at every offset, and a late answer. */
UNIT_TEST_ON(test_queries, struct tcp_bed *f)
{
    static const char bytes[] = "\0\3e-1\0\5e-two\0\2l!";
    const size_t len = sizeof(bytes) - 1;
    struct peer p = connect_tls(f, 1);
    for (size_t cut = 1; cut < len; cut++) {
        say(f, &p, bytes, cut);
        say(f, &p, bytes + cut, len - cut);
        assert_heard(f, &p, "e-1");
        assert_heard(f, &p, "e-two");
        wait_for_queries(f, 3 * (unsigned)cut);
        assert_true(tcp_bed_reply(f->server, f->late[cut - 1], 0, (const uint8_t *)"late", 4));
        assert_heard(f, &p, "late");
    }
    assert_int_equal(tcp_server_connections_of(f->server, ENGINE_TLS), 1);
    assert_int_equal(handshakes(f)->full, 1);
    assert_int_equal(handshakes(f)->resumed + handshakes(f)->failed, 0);
    hang_up(&p);
    wait_for_connections(f, 0);
    assert_int_equal(handshakes(f)->failed, 0);
}

/* More than the common set takes of a client: their handshakes have a set of their own. */
UNIT_TEST(test_one_client_with_many_connections)
{
    enum { MANY = 2 * TCP_COMMON_CONNECTIONS };
    struct tcp_bed *f = setup(MANY);
    struct peer peers[MANY];
    for (size_t i = 0; i < MANY; i++) {
        peers[i] = connect_tls(f, 1);
    }
    for (size_t i = 0; i < MANY; i++) {
        say(f, &peers[i], "\0\2e!", 4);
        assert_heard(f, &peers[i], "e!");
    }
    assert_int_equal(tcp_server_connections_of(f->server, ENGINE_TLS), MANY);
    for (size_t i = 0; i < MANY; i++) {
        hang_up(&peers[i]);
    }
    finish(f);
}

/* A client that sends more than one read takes, and then nothing: bytes left inside OpenSSL wake
 * nobody, yet all are answered. */
UNIT_TEST_ON(test_pending_bytes_are_answered, struct tcp_bed *f)
{
    enum { QUERIES = 40, LEN = 5000, FRAME = 2 + LEN };
    uint8_t *frames = malloc((size_t)QUERIES * FRAME), *back = malloc(FRAME);
    struct peer p = connect_tls(f, 1);
    for (size_t i = 0; i < QUERIES; i++) {
        uint8_t *frame = frames + i * FRAME;
        memset(frame, ECHO, FRAME);
        frame[0] = LEN >> 8;
        frame[1] = LEN & 0xff;
        frame[FRAME - 1] = (uint8_t)i;
    }
    say(f, &p, frames, (size_t)QUERIES * FRAME);
    for (size_t i = 0; i < QUERIES; i++) {
        assert_true(hear(f, &p, back, FRAME));
        assert_memory_equal(back, frames + i * FRAME, FRAME);
    }
    hang_up(&p);
    free(frames);
    free(back);
}

/* Has its answers, late ones too; then the connection closes. With and without a close_notify. */
UNIT_TEST_ON(test_half_closed_clients_are_answered, struct tcp_bed *f)
{
    struct peer p = connect_tls(f, 1);
    say(f, &p, "\0\2l1\0\2e2\0\7part", 14);
    assert_int_equal(shutdown(p.fd, SHUT_WR), 0);
    assert_heard(f, &p, "e2");
    run_some(f);
    assert_int_equal(tcp_server_connections(f->server), 1);
    assert_true(tcp_bed_reply(f->server, f->late[0], 0, (const uint8_t *)"late", 4));
    assert_heard(f, &p, "late");
    assert_hung_up(f, &p);
    wait_for_connections(f, 0);
}

/* 64 answers of 64 KB: none is computed before the client has read the previous ones. */
UNIT_TEST_ON(test_a_slow_client_is_read_from_no_more, struct tcp_bed *f)
{
    enum { ANSWERS = 64, FRAME = 2 + ENGINE_REPLY_MAX };
    CLEANUP_FREE uint8_t *frame = malloc(FRAME);
    struct peer p = connect_tls(f, 1);
    for (int i = 0; i < ANSWERS; i++) {
        say(f, &p, "\0\1h", 3);
    }
    wait_for_queries(f, 1);
    for (int i = 0; i < ANSWERS; i++) {
        ev_run(f->loop, EVRUN_NOWAIT);
    }
    assert_true(f->queries < ANSWERS);
    for (int i = 0; i < ANSWERS; i++) {
        assert_true(hear(f, &p, frame, FRAME));
        assert_int_equal(frame[0], 0xff);
        assert_int_equal(frame[FRAME - 1], 'H');
    }
    assert_int_equal(f->queries, ANSWERS);
    say(f, &p, "\0\2e!", 4);
    assert_heard(f, &p, "e!");
    hang_up(&p);
}

/* Unread late answers of any length: all that may be due are kept. */
UNIT_TEST_ON(test_unread_replies_are_cached, struct tcp_bed *f)
{
    enum { FRAME = 2 + ENGINE_REPLY_MAX };
    static uint8_t reply[ENGINE_REPLY_MAX], frame[FRAME];
    struct peer p = connect_tls(f, 1);
    for (int i = 0; i < TCP_WAITING_MAX; i++) {
        say(f, &p, "\0\2l1", 4);
    }
    wait_for_queries(f, TCP_WAITING_MAX);
    for (int i = 0; i < TCP_WAITING_MAX; i++) {
        memset(reply, i, sizeof(reply));
        assert_true(tcp_bed_reply(f->server, f->late[i], 0, reply, sizeof(reply)));
    }
    for (int i = 0; i < TCP_WAITING_MAX; i++) {
        assert_true(hear(f, &p, frame, FRAME));
        assert_true(frame[2] == i && frame[FRAME - 1] == i);
    }
    hang_up(&p);
}

UNIT_TEST(test_idle_connections_are_closed)
{
    enum { SHORT_MS = 8000 }; /* than a handshake, longer; than TIMEOUT_S, shorter */
    struct tcp_bed *f = bed_of((struct tcp_bed_limits){.connections = 4, .idle_ms = SHORT_MS});
    struct peer p = connect_tls(f, 1);
    test_clock_stop();
    ev_now_update(f->loop);
    say(f, &p, "\0\2e!", 4);
    assert_heard(f, &p, "e!");
    test_clock_advance_ms(SHORT_MS - 1);
    run_some(f);
    assert_int_equal(tcp_server_connections(f->server), 1);
    test_clock_advance_ms(1000);
    wait_for_connections(f, 0);
    test_clock_run();
    assert_hung_up(f, &p);
    finish(f);
}

/* ---- The drain ---- */

/* Answers what has arrived and what is late; handshakes are broken off, also when they come back.
 */
UNIT_TEST(test_drain)
{
    struct tcp_bed *f = setup(8);
    struct peer idle = connect_tls(f, 1), waiting = connect_tls(f, 1);
    say(f, &waiting, "\0\2l1", 4);
    say(f, &idle, "\0\2e0", 4);
    assert_heard(f, &idle, "e0");
    wait_for_queries(f, 2);
    int silent = connect_client(f);
    wait_for_connections(f, 3);
    run_some(f);
    pool.is_held = true;
    struct peer out = begin_as(f, 1, "dot", NULL);
    assert_true(step(&out));
    wait_for_connections(f, 4);
    say(f, &waiting, "\0\2e2", 4);
    wait_for_arrival(waiting.fd);
    tcp_server_drain(f->server);
    assert_hung_up(f, &idle);
    assert_closed(f, silent);
    assert_heard(f, &waiting, "e2");
    wait_for_connections(f, 2);
    release_pool();
    wait_for_connections(f, 1);
    hang_up(&out);
    assert_true(tcp_bed_reply(f->server, f->late[0], 0, (const uint8_t *)"late", 4));
    assert_heard(f, &waiting, "late");
    assert_hung_up(f, &waiting);
    wait_for_connections(f, 0);
    finish(f);
}

/* ---- A protocol ---- */

static unsigned closed_count;

/* Says "ok" before each reply, and passes everything on as one query. */
static void *ok_open(struct stream_host *host)
{
    return host;
}

static void ok_close(void *stream)
{
    closed_count++;
}

static enum stream_take ok_take(void *stream, const uint8_t *bytes, size_t len, size_t *ret_taken)
{
    stream_host_put(stream, "ok", 2);
    stream_host_query(stream, 7, bytes, len);
    *ret_taken = len;
    return STREAM_WAITS;
}

static void ok_reply(void *stream, uint64_t tag, const struct response *response)
{
    assert_int_equal(tag, 7);
    stream_host_put(stream, response->bytes, response->len);
}

static size_t ok_memory(const void *stream)
{
    return 0;
}

UNIT_TEST(test_a_protocol_over_tls)
{
    static const struct stream_protocol protocol = {.open = ok_open,
                                                    .close = ok_close,
                                                    .take = ok_take,
                                                    .reply = ok_reply,
                                                    .memory = ok_memory};
    struct tcp_bed *f =
        bed_of((struct tcp_bed_limits){.connections = 4,
                                       .idle_ms = IDLE_MS,
                                       .kind = {.protocol = &protocol, .alpn = "h2 http/1.1"}});
    char text[16] = "";
    struct peer p = begin_as(f, 1, "http/1.1", NULL);
    while (step(&p)) {
        ev_run(f->loop, EVRUN_NOWAIT);
    }
    assert_string_equal(tls_session_protocol(p.session), "http/1.1");
    say(f, &p, "e!", 2);
    assert_true(hear(f, &p, text, 4));
    assert_string_equal(text, "oke!");
    say(f, &p, "l", 1);
    wait_for_queries(f, 2);
    assert_true(tcp_bed_reply(f->server, f->late[0], 7, (const uint8_t *)"late", 4));
    assert_true(hear(f, &p, text, 6));
    assert_string_equal(text, "oklate");
    hang_up(&p);
    wait_for_connections(f, 0);
    assert_int_equal(closed_count, 1);
    finish(f);
}
