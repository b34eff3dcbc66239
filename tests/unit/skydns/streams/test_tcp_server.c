/* The TCP server with a scripted answer function: framing split anywhere, pipelining, late and
 * out-of-order answers, slow clients, limits. Client and server share one loop and one thread. */
#include "tests/unit/skydns/streams/tcp_bed.h"

#include "skydns/streams/tcp_leavers_internal.h"
#include "tests/support/unit_test.h"

enum { IDLE_MS = 60000 };

static struct tcp_bed *tcp_server_setup(size_t connections_max, uint32_t idle_ms)
{
    return tcp_bed_new(&(struct tcp_bed_limits){
        .connections = connections_max, .buffers = TCP_BUFFERS_MAX, .idle_ms = idle_ms});
}

UNIT_FIXTURE_MADE(tcp_server_setup(4, IDLE_MS), teardown)

/* Three queries, split in two at every offset. */
UNIT_TEST_ON(test_split_anywhere, struct tcp_bed *f)
{
    static const char bytes[] = "\0\3e-1\0\5e-two\0\7e-three";
    const size_t len = sizeof(bytes) - 1;
    for (size_t cut = 1; cut < len; cut++) {
        int fd = connect_client(f);
        send_all(fd, bytes, cut);
        wait_for_connections(f, 1);
        ev_run(f->loop, EVRUN_NOWAIT); /* the first part is usually read on its own */
        send_all(fd, bytes + cut, len - cut);
        assert_frame(f, fd, "e-1");
        assert_frame(f, fd, "e-two");
        assert_frame(f, fd, "e-three");
        close(fd);
        wait_for_connections(f, 0);
    }
}

UNIT_TEST_ON(test_byte_by_byte, struct tcp_bed *f)
{
    static const char bytes[] = "\0\3e-1\0\5e-two";
    int fd = connect_client(f);
    for (size_t i = 0; i < sizeof(bytes) - 1; i++) {
        send_all(fd, bytes + i, 1);
        ev_run(f->loop, EVRUN_ONCE);
    }
    assert_frame(f, fd, "e-1");
    assert_frame(f, fd, "e-two");
    close(fd);
}

UNIT_TEST_ON(test_empty_and_unanswered_frames, struct tcp_bed *f)
{
    static const char bytes[] = "\0\0\0\2s!\0\2e!";
    int fd = connect_client(f);
    send_all(fd, bytes, sizeof(bytes) - 1);
    assert_frame(f, fd, "e!");
    assert_int_equal(f->queries, 3);
    close(fd);
}

/* The largest frame, in whatever pieces the socket accepts. */
UNIT_TEST_ON(test_largest_query, struct tcp_bed *f)
{
    enum { LARGEST = 65535 };
    uint8_t *frame = malloc(2 + LARGEST), *back = malloc(2 + LARGEST);
    int fd = connect_client(f);
    memset(frame, ECHO, 2 + LARGEST);
    memset(frame, 0xff, 2);
    send_all(fd, frame, 2 + LARGEST); /* the socket buffers hold it */
    assert_true(receive(f, fd, back, 2 + LARGEST));
    assert_memory_equal(back, frame, 2 + LARGEST);
    close(fd);
    free(frame);
    free(back);
}

/* Late answers overtake each other; immediate ones overtake them all. */
UNIT_TEST_ON(test_late_answers_in_any_order, struct tcp_bed *f)
{
    static const char bytes[] = "\0\2l1\0\2l2\0\2e3";
    int fd = connect_client(f);
    send_all(fd, bytes, sizeof(bytes) - 1);
    assert_frame(f, fd, "e3");
    assert_int_equal(f->late_count, 2);
    assert_int_equal(f->late_tag[0], '1');
    assert_true(tcp_bed_reply(f->server, f->late[1], 0, (const uint8_t *)"two", 3));
    assert_true(tcp_bed_reply(f->server, f->late[0], 0, (const uint8_t *)"one", 3));
    assert_frame(f, fd, "two");
    assert_frame(f, fd, "one");
    close(fd);
}

/* A reused slot: the answer to its former connection is dropped. */
UNIT_TEST(test_a_late_answer_never_reaches_another_client)
{
    struct tcp_bed *f = tcp_server_setup(1, IDLE_MS);
    int first = connect_client(f);
    send_all(first, "\0\2l1", 4);
    wait_for_queries(f, 1);
    close(first);
    wait_for_connections(f, 1); /* its answer is still due */
    tcp_bed_reply(f->server, f->late[0], 0, NULL, 0);
    wait_for_connections(f, 0);

    int second = connect_client(f);
    send_all(second, "\0\2l2", 4);
    wait_for_queries(f, 2);
    assert_int_equal(f->late[1].slot, f->late[0].slot);
    assert_false(tcp_bed_reply(f->server, f->late[0], 0, (const uint8_t *)"stale", 5));
    assert_true(tcp_bed_reply(f->server, f->late[1], 0, (const uint8_t *)"fresh", 5));
    assert_frame(f, second, "fresh");
    close(second);
    assert_false(tcp_bed_reply(f->server, (struct tcp_ref){.slot = 9}, 0, NULL, 0));
    teardown(f);
}

/* The client has shut down its sending side, yet gets its answers; then the connection closes. */
UNIT_TEST_ON(test_half_closed_clients_are_answered, struct tcp_bed *f)
{
    int fd = connect_client(f);
    send_all(fd, "\0\2l1\0\2e2\0\7part", 14);
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    assert_frame(f, fd, "e2");
    assert_true(tcp_bed_reply(f->server, f->late[0], 0, (const uint8_t *)"late", 4));
    assert_frame(f, fd, "late");
    assert_closed(f, fd);
    wait_for_connections(f, 0);
}

/* 64 answers of 64 KB to one read: far more than sockets hold. None is computed before the client
 * has read the previous ones, and all arrive. */
UNIT_TEST_ON(test_a_slow_client_is_read_from_no_more, struct tcp_bed *f)
{
    enum { ANSWERS = 64, FRAME = 2 + ENGINE_REPLY_MAX };
    CLEANUP_FREE uint8_t *frame = malloc(FRAME);
    int fd = connect_client(f);
    for (int i = 0; i < ANSWERS; i++) {
        send_all(fd, "\0\1h", 3);
    }
    wait_for_queries(f, 1);
    for (int i = 0; i < ANSWERS; i++) {
        ev_run(f->loop, EVRUN_NOWAIT);
    }
    assert_true(f->queries < ANSWERS);
    for (int i = 0; i < ANSWERS; i++) {
        assert_true(receive(f, fd, frame, FRAME));
        assert_int_equal(frame[0], 0xff);
        assert_int_equal(frame[FRAME - 1], 'H');
    }
    assert_int_equal(f->queries, ANSWERS);
    send_all(fd, "\0\2e!", 4);
    assert_frame(f, fd, "e!");
    close(fd);
}

/* A segment of many queries has only some answered before another client's turn; none is lost,
 * although the client sends nothing more. */
UNIT_TEST_ON(test_others_get_their_turn, struct tcp_bed *f)
{
    enum { MANY = 2000 };
    static const uint8_t query[] = {0, 1, ECHO};
    uint8_t queries[MANY * sizeof(query)], answers[sizeof(queries)];
    int busy = connect_client(f), other = connect_client(f);
    wait_for_connections(f, 2);
    for (size_t i = 0; i < MANY; i++) {
        memcpy(queries + i * sizeof(query), query, sizeof(query));
    }
    send_all(busy, queries, sizeof(queries));
    send_all(other, query, sizeof(query));
    assert_frame(f, other, "e");
    assert_in_range(f->queries, 1, MANY / 2);
    assert_int_equal(shutdown(busy, SHUT_WR), 0);
    assert_true(receive(f, busy, answers, sizeof(answers)));
    assert_memory_equal(answers, queries, sizeof(answers));
    assert_closed(f, busy);
    close(other);
}

/* Late answers are buffered up to the limit for a client that does not read; then it is
 * disconnected. */
UNIT_TEST_ON(test_output_limit, struct tcp_bed *f)
{
    static uint8_t reply[ENGINE_REPLY_MAX];
    int fd = connect_client(f);
    bool there = true;
    size_t given = 0;
    send_all(fd, "\0\2l1", 4);
    wait_for_queries(f, 1);
    while (there && given < 64u << 20) {
        there = tcp_bed_reply(f->server, f->late[0], 0, reply, sizeof(reply));
        given += sizeof(reply);
    }
    assert_false(there);
    assert_true(given > TCP_OUTPUT_MAX);
    assert_int_equal(tcp_server_connections(f->server), 0);
    close(fd);
}

/* Reads what is there. */
static size_t read_arrived(int fd)
{
    static uint8_t bytes[1 << 16];
    size_t len = 0;
    ssize_t n;
    while ((n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0) {
        len += (size_t)n;
    }
    return len;
}

/* However much its client reads at once, a turn of the loop sends few of the late answers that are
 * held: others wait for them, and for no copy of all of them. */
UNIT_TEST(test_what_is_held_leaves_in_parts)
{
    enum { PART_MAX = 128 << 10, ALL = TCP_WAITING_MAX * (2 + ENGINE_REPLY_MAX) };
    static uint8_t reply[ENGINE_REPLY_MAX];
    struct tcp_bed *f = tcp_bed_new(&(struct tcp_bed_limits){
        .connections = 4, .buffers = TCP_BUFFERS_MAX, .idle_ms = IDLE_MS, .send_buffer = 1 << 20});
    int fd = connect_client(f);
    size_t arrived, turns = 0;
    for (unsigned i = 0; i < TCP_WAITING_MAX; i++) {
        send_all(fd, "\0\2l1", 4);
        wait_for_queries(f, i + 1);
    }
    for (unsigned i = 0; i < TCP_WAITING_MAX; i++) {
        assert_true(tcp_bed_reply(f->server, f->late[i], 0, reply, sizeof(reply)));
    }
    const size_t held = ALL - (arrived = read_arrived(fd));
    assert_true(held > 8 * PART_MAX);
    for (; arrived < ALL; turns++) {
        ev_run(f->loop, EVRUN_ONCE);
        arrived += read_arrived(fd);
    }
    assert_int_equal(arrived, ALL);
    assert_in_range(turns, held / PART_MAX, ALL);
    close(fd);
    teardown(f);
}

UNIT_TEST(test_connection_limit)
{
    struct tcp_bed *f = tcp_server_setup(2, IDLE_MS);
    int a = connect_client(f), b, c, d;
    wait_for_connections(f, 1);
    b = connect_client(f);
    wait_for_connections(f, 2);
    send_all(a, "\0\2e1", 4);
    assert_frame(f, a, "e1"); /* now b is the longest idle */
    c = connect_client(f);
    assert_closed(f, b);
    send_all(c, "\0\2l1", 4);
    wait_for_queries(f, 2);
    send_all(a, "\0\2l2", 4);
    wait_for_queries(f, 3);
    d = connect_client(f); /* both have a query in flight */
    assert_closed(f, d);
    assert_int_equal(tcp_server_connections(f->server), 2);
    assert_true(tcp_bed_reply(f->server, f->late[0], 0, (const uint8_t *)"c", 1));
    assert_frame(f, c, "c");
    close(a);
    close(c);
    teardown(f);
}

/* Idle connections are closed; dripping bytes counts as idle, waiting for an answer does not. */
UNIT_TEST(test_idle_connections_are_closed)
{
    struct tcp_bed *f = tcp_server_setup(4, 400);
    int idle = connect_client(f), dripping = connect_client(f), waiting = connect_client(f);
    send_all(dripping, "\0", 1);
    send_all(waiting, "\0\2l1", 4);
    wait_for_queries(f, 1);
    assert_closed(f, idle);
    assert_closed(f, dripping);
    wait_for_connections(f, 1);
    assert_true(tcp_bed_reply(f->server, f->late[0], 0, (const uint8_t *)"x", 1));
    assert_frame(f, waiting, "x");
    assert_closed(f, waiting);
    teardown(f);
}

/* An answer still due does not keep a connection whose client does not read. */
UNIT_TEST(test_an_idle_client_with_unread_answers_is_closed)
{
    enum { HUGE_ANSWERS = 512 }; /* 32 MB: more than sockets hold */
    static const uint8_t query[] = {0, 1, HUGE_REPLY};
    uint8_t queries[HUGE_ANSWERS * sizeof(query)];
    struct tcp_bed *f = tcp_server_setup(4, 400);
    int fd = connect_client(f);
    for (size_t i = 0; i < HUGE_ANSWERS; i++) {
        memcpy(queries + i * sizeof(query), query, sizeof(query));
    }
    send_all(fd, "\0\2l1", 4);
    send_all(fd, queries, sizeof(queries));
    wait_for_queries(f, 2);
    wait_for_connections(f, 0);
    assert_in_range(f->queries, 2, HUGE_ANSWERS);
    assert_false(tcp_bed_reply(f->server, f->late[0], 0, (const uint8_t *)"x", 1));
    close(fd);
    teardown(f);
}

/* Queries that have arrived are answered, those in flight are awaited, nothing new is accepted. */
UNIT_TEST_ON(test_drain, struct tcp_bed *f)
{
    int idle = connect_client(f), unread = connect_client(f), waiting = connect_client(f);
    wait_for_connections(f, 3);
    send_all(waiting, "\0\2l1", 4);
    wait_for_queries(f, 1);
    send_all(unread, "\0\2e2", 4);
    tcp_server_drain(f->server);
    wait_for_connections(f, 1);
    assert_frame(f, unread, "e2");
    assert_closed(f, unread);
    assert_closed(f, idle);
    int late = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(late, &f->address.sa, f->address.len), -1);
    close(late);
    assert_true(tcp_bed_reply(f->server, f->late[0], 0, (const uint8_t *)"x", 1));
    assert_int_equal(tcp_server_connections(f->server), 0);
    assert_frame(f, waiting, "x");
    assert_closed(f, waiting);
}

/* More than a single read. Whatever the server's kernel has acknowledged has arrived. */
UNIT_TEST_ON(test_drain_answers_all_that_has_arrived, struct tcp_bed *f)
{
    static const uint8_t query[] = {0, 1, ECHO};
    static uint8_t queries[100000 * sizeof(query)];
    int fd = connect_client(f), unacknowledged;
    uint8_t answer_frame[sizeof(query)];
    wait_for_connections(f, 1);
    for (size_t i = 0; i < sizeof(queries); i += sizeof(query)) {
        memcpy(queries + i, query, sizeof(query));
    }
    ssize_t sent = send(fd, queries, sizeof(queries), MSG_DONTWAIT | MSG_NOSIGNAL);
    assert_true(sent > 0);
    assert_int_equal(ioctl(fd, SIOCOUTQ, &unacknowledged), 0);
    tcp_server_drain(f->server);
    for (size_t i = 0; i < ((size_t)sent - (size_t)unacknowledged) / sizeof(query); i++) {
        assert_true(receive(f, fd, answer_frame, sizeof(answer_frame)));
        assert_memory_equal(answer_frame, query, sizeof(query));
    }
    while (receive(f, fd, answer_frame, sizeof(answer_frame))) { /* that arrived meanwhile */
    }
    wait_for_connections(f, 0);
    close(fd);
}

/* Connections in the backlog, not accepted yet, get their answers; idle ones do not keep them
 * out. */
UNIT_TEST(test_drain_answers_who_waits_to_be_accepted)
{
    enum { WAITING = 100, FEW = 4 };
    struct tcp_bed *f = tcp_server_setup(FEW, IDLE_MS);
    int idle[FEW], waiting[WAITING];
    for (size_t i = 0; i < FEW; i++) {
        idle[i] = connect_client(f);
    }
    wait_for_connections(f, FEW);
    for (size_t i = 0; i < WAITING; i++) {
        waiting[i] = connect_client(f);
        send_all(waiting[i], "\0\2e1", 4);
    }
    tcp_server_drain(f->server);
    for (size_t i = 0; i < FEW; i++) {
        assert_closed(f, idle[i]);
    }
    size_t answered = 0;
    for (size_t i = 0; i < WAITING; i++) {
        uint8_t frame[4];
        answered += receive(f, waiting[i], frame, sizeof(frame)) && memcmp(frame, "\0\2e1", 4) == 0;
        close(waiting[i]);
    }
    assert_int_equal(answered, WAITING);
    wait_for_connections(f, 0);
    teardown(f);
}

/* ---- Queries of several connections ---- */

/* One query each, all at once, twice: looked up as one batch. */
UNIT_TEST(test_many_clients_at_once)
{
    enum { CLIENTS = 3 * ENGINE_AHEAD_MAX + 1 };
    struct tcp_bed *f = tcp_server_setup(CLIENTS, IDLE_MS);
    int fds[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        fds[i] = connect_client(f);
    }
    wait_for_connections(f, CLIENTS);
    for (int round = 0; round < 2; round++) {
        f->ahead_most = 0;
        for (int i = 0; i < CLIENTS; i++) {
            const char query[] = {0, 3, 'e', (char)('0' + round), (char)('A' + i)};
            send_all(fds[i], query, sizeof(query));
        }
        for (int i = 0; i < CLIENTS; i++) {
            const char want[] = {'e', (char)('0' + round), (char)('A' + i), '\0'};
            assert_frame(f, fds[i], want);
        }
        assert_int_equal(f->ahead_most, ENGINE_AHEAD_MAX);
        assert_false(f->are_together);
    }
    for (int i = 0; i < CLIENTS; i++) {
        close(fds[i]);
    }
    teardown(f);
}

/* One connection's, whose replies leave as one. */
UNIT_TEST(test_queries_together)
{
    struct tcp_bed *f = tcp_server_setup(1, IDLE_MS);
    int fd = connect_client(f);
    send_all(fd, "\0\3e-1\0\3e-2", 10);
    assert_frame(f, fd, "e-1");
    assert_frame(f, fd, "e-2");
    assert_true(f->are_together);
    close(fd);
    teardown(f);
}

enum { KINDS = 7, MANY = 1500, LATE_KIND = 4, ENDING_KIND = 5 };

static void send_kind(int fd, int kind)
{
    static uint8_t many[MANY * 5];
    switch (kind) {
    case 2: /* two */
        send_all(fd, "\0\3e-2\0\3e-3", 10);
        break;
    case 3: /* a partial frame */
        send_all(fd, "\0\3e", 3);
        break;
    case LATE_KIND:
        send_all(fd, "\0\3l-4", 5);
        break;
    case ENDING_KIND:
        send_all(fd, "\0\3e-1", 5);
        assert_int_equal(shutdown(fd, SHUT_WR), 0);
        break;
    case 6: /* more than the first read */
        for (int i = 0; i < MANY; i++) {
            memcpy(many + 5 * i, "\0\3e-m", 5);
        }
        send_all(fd, many, sizeof(many));
        break;
    default: /* a single query */
        send_all(fd, "\0\3e-1", 5);
    }
}

static void assert_kinds_answered(struct tcp_bed *f, const int fds[KINDS])
{
    assert_frame(f, fds[0], "e-1");
    assert_frame(f, fds[1], "e-1");
    assert_frame(f, fds[2], "e-2");
    assert_frame(f, fds[2], "e-3");
    send_all(fds[3], "-3", 2);
    assert_frame(f, fds[3], "e-3");
    assert_frame(f, fds[ENDING_KIND], "e-1");
    assert_closed(f, fds[ENDING_KIND]);
    for (int i = 0; i < MANY; i++) {
        assert_frame(f, fds[6], "e-m");
    }
    wait_for_queries(f, 7 + MANY);
    assert_int_equal(f->late_count, 1);
    assert_true(tcp_bed_reply(f->server, f->late[0], 0, (const uint8_t *)"l", 1));
    assert_frame(f, fds[LATE_KIND], "l");
}

/* In every rotation of the kinds. */
UNIT_TEST(test_single_queries_beside_others)
{
    for (int first = 0; first < KINDS; first++) {
        struct tcp_bed *f = tcp_server_setup(KINDS, IDLE_MS);
        int fds[KINDS];
        for (int i = 0; i < KINDS; i++) {
            fds[i] = connect_client(f);
        }
        wait_for_connections(f, KINDS);
        for (int i = 0; i < KINDS; i++) {
            send_kind(fds[(first + i) % KINDS], (first + i) % KINDS);
        }
        assert_kinds_answered(f, fds);
        for (int i = 0; i < KINDS; i++) {
            if (i != ENDING_KIND) {
                close(fds[i]);
            }
        }
        teardown(f);
    }
}

/* ---- Connections that are expected to end ---- */

/* Asks once on its own connection and closes it. */
static void ask_once(struct tcp_bed *f)
{
    int fd = connect_client(f);
    send_all(fd, "\0\3e-1", 5);
    assert_frame(f, fd, "e-1");
    close(fd);
    wait_for_connections(f, 0);
}

/* Often enough that the next connection is expected to end. */
static void ask_often(struct tcp_bed *f)
{
    for (int i = 0; i < TCP_LEAVERS_LEARNT; i++) {
        ask_once(f);
    }
}

static void ask_for_a_late_one(struct tcp_bed *f, int fd)
{
    send_all(fd, "\0\3l-3", 5);
    wait_for_queries(f, f->queries + 1);
    assert_true(tcp_bed_reply(f->server, f->late[f->late_count - 1], 0, (const uint8_t *)"l", 1));
    assert_frame(f, fd, "l");
}

/* After many connections that asked once, one that asks again is answered, and so is one that
 * stays; whether they are watched right after the first answer only affects their cost. */
UNIT_TEST_ON(test_who_stays_though_others_left, struct tcp_bed *f)
{
    for (int is_late_first = 0; is_late_first < 2; is_late_first++) {
        ask_often(f);
        int fd = connect_client(f);
        if (is_late_first) {
            ask_for_a_late_one(f, fd);
        }
        for (int i = 0; i < 3; i++) {
            send_all(fd, "\0\3e-2", 5);
            assert_frame(f, fd, "e-2");
        }
        ask_for_a_late_one(f, fd);
        close(fd);
        wait_for_connections(f, 0);
    }
}

/* Its slot is reused while it is not watched: the new connection is answered. */
UNIT_TEST(test_who_was_expected_to_leave_gives_way)
{
    struct tcp_bed *f = tcp_server_setup(1, IDLE_MS);
    ask_often(f);
    int first = connect_client(f);
    send_all(first, "\0\3e-1", 5);
    wait_for_queries(f, TCP_LEAVERS_LEARNT + 1);
    int second = connect_client(f);
    send_all(second, "\0\3e-2", 5);
    assert_frame(f, first, "e-1");
    assert_closed(f, first);
    assert_frame(f, second, "e-2");
    send_all(second, "\0\3e-3", 5);
    assert_frame(f, second, "e-3");
    assert_int_equal(shutdown(second, SHUT_WR), 0);
    assert_closed(f, second);
    teardown(f);
}

/* Drained while not watched: still closed. */
UNIT_TEST_ON(test_drain_closes_who_was_expected_to_leave, struct tcp_bed *f)
{
    ask_often(f);
    int fd = connect_client(f);
    send_all(fd, "\0\3e-1", 5);
    wait_for_queries(f, TCP_LEAVERS_LEARNT + 1);
    tcp_server_drain(f->server);
    assert_frame(f, fd, "e-1");
    assert_closed(f, fd);
}
