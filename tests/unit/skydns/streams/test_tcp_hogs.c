/* One TCP client against the others: places, buffers, late answers, slow reading. Client and server
 * share one loop and one thread. */
#include "tests/unit/skydns/streams/tcp_bed.h"

#include "tests/support/test_clock.h"
#include "tests/support/unit_test.h"

enum { IDLE_MS = 60000 };

static struct tcp_bed *tcp_hogs_setup(size_t connections_max)
{
    return tcp_bed_new(&(struct tcp_bed_limits){
        .connections = connections_max, .buffers = TCP_BUFFERS_MAX, .idle_ms = IDLE_MS});
}

enum { HOG = 2, OTHER = 3, PLACES = 16 };

static void tcp_hogs_close_all(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        close(fds[i]);
    }
}

/* Takes all places as the hog, and sends the same on each. */
static void take_all_places(struct tcp_bed *f, int fds[PLACES], const char *frames, size_t len)
{
    for (size_t i = 0; i < PLACES; i++) {
        unsigned before = f->queries;
        fds[i] = connect_from(f, HOG);
        send_all(fds[i], frames, len);
        wait_for_queries(f, before + 1);
    }
    assert_int_equal(tcp_server_connections(f->server), PLACES);
}

/* Another client gets a place and an answer; exactly the hog's first connection is closed. */
static void assert_first_gives_way(struct tcp_bed *f, const int fds[PLACES])
{
    int other = connect_from(f, OTHER);
    uint8_t byte;
    send_all(other, "\0\2e!", 4);
    assert_frame(f, other, "e!");
    assert_int_equal(tcp_server_connections(f->server), PLACES);
    assert_int_equal(tcp_server_evictions(f->server), 1);
    ssize_t n;
    do { /* what was sent before */
        n = recv(fds[0], &byte, 1, MSG_DONTWAIT);
    } while (n > 0);
    assert_true(n == 0 || errno == ECONNRESET);
    close(other);
}

/* A client with late answers due on every place: its oldest gives way to another client's, but its
 * own next connection gets none. */
UNIT_TEST(test_a_hog_that_waits_gives_way)
{
    struct tcp_bed *f = tcp_hogs_setup(PLACES);
    int fds[PLACES];
    take_all_places(f, fds, "\0\2l1", 4);
    int more = connect_from(f, HOG);
    assert_closed(f, more);
    assert_int_equal(tcp_server_evictions(f->server), 0);
    assert_first_gives_way(f, fds);
    tcp_hogs_close_all(fds, PLACES);
    teardown(f);
}

/* The same with unread answers, more than the sockets hold. */
UNIT_TEST(test_a_hog_that_does_not_read_gives_way)
{
    struct tcp_bed *f = tcp_hogs_setup(PLACES);
    static char frames[64 * 3];
    int fds[PLACES];
    for (size_t i = 0; i < sizeof(frames); i += 3) {
        memcpy(frames + i, "\0\1h", 3);
    }
    take_all_places(f, fds, frames, sizeof(frames));
    assert_first_gives_way(f, fds);
    tcp_hogs_close_all(fds, PLACES);
    teardown(f);
}

/* However many connections the hog opens, another client's stays, although idle longest. */
UNIT_TEST(test_a_hog_closes_only_its_own)
{
    enum { MORE = 50 };
    struct tcp_bed *f = tcp_hogs_setup(PLACES);
    int other = connect_from(f, OTHER), fds[PLACES + MORE];
    wait_for_connections(f, 1);
    for (size_t i = 0; i < PLACES + MORE; i++) {
        fds[i] = connect_from(f, HOG);
        send_all(fds[i], "\0\2e1", 4);
        assert_frame(f, fds[i], "e1");
    }
    assert_int_equal(tcp_server_connections(f->server), PLACES);
    assert_int_equal(tcp_server_evictions(f->server), MORE + 1);
    send_all(other, "\0\2e!", 4);
    assert_frame(f, other, "e!");
    close(other);
    tcp_hogs_close_all(fds, PLACES + MORE);
    teardown(f);
}

/* Returns after how many turns of the loop the connection has an answer. */
static unsigned turns_until_answered(struct tcp_bed *f, int fd)
{
    unsigned turns = 0;
    uint8_t byte;
    for (; recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0; turns++) {
        ev_run(f->loop, EVRUN_ONCE);
    }
    return turns;
}

enum { MANY = 400 };

static void send_on_each(const int fds[MANY], const char *frames, size_t len)
{
    for (size_t i = 0; i < MANY; i++) {
        send_all(fds[i], frames, len);
        wait_for_arrival(fds[i]);
    }
}

/* Connects the other client, and the hog many times, which sends the same on each. */
static int connect_many(struct tcp_bed *f, int fds[MANY], const char *frames, size_t len)
{
    int other = connect_from(f, OTHER);
    for (size_t i = 0; i < MANY; i++) {
        fds[i] = connect_from(f, HOG);
    }
    wait_for_connections(f, MANY + 1);
    send_on_each(fds, frames, len);
    return other;
}

/* However many connections of the hog were ready before, another client's has its answer in the
 * next turn, behind few of them; and they have theirs in the end. */
UNIT_TEST(test_a_hog_with_many_connections_waits)
{
    enum { FEW = 16 + 1 }; /* takes as long as another answer on an idle loop */
    struct tcp_bed *f = tcp_hogs_setup(MANY + 1);
    int fds[MANY], other = connect_many(f, fds, "\0\2e1", 4);
    send_all(other, "\0\2e!", 4);
    wait_for_arrival(other);
    assert_int_equal(turns_until_answered(f, other), 1);
    assert_in_range(f->queries, 1, FEW);
    assert_frame(f, other, "e!");
    for (size_t i = 0; i < MANY; i++) {
        assert_frame(f, fds[i], "e1");
    }
    tcp_hogs_close_all(fds, MANY);
    close(other);
    teardown(f);
}

/* The same if it has sent more on each than it gets in a turn, and reads nothing. */
UNIT_TEST(test_a_hog_that_has_sent_ahead_waits)
{
    enum { EACH = 40, FEW = 3 * TCP_CLIENT_A_TURN };
    static char frames[EACH * 4];
    struct tcp_bed *f = tcp_hogs_setup(MANY + 1);
    int fds[MANY];
    for (size_t i = 0; i < sizeof(frames); i += 4) {
        memcpy(frames + i, "\0\2e1", 4);
    }
    int other = connect_many(f, fds, frames, sizeof(frames));
    for (unsigned round = 0; round < 2; round++) { /* the hog waits already in the second */
        unsigned before = f->queries;
        send_all(other, "\0\2e!", 4);
        wait_for_arrival(other);
        assert_in_range(turns_until_answered(f, other), 1, 2);
        assert_true(f->queries <= before + FEW);
        assert_frame(f, other, "e!");
    }
    wait_for_queries(f, MANY * EACH + 2);
    tcp_hogs_close_all(fds, MANY);
    close(other);
    teardown(f);
}

/* Answers the queries deferred meanwhile; those of closed connections in vain. */
static void reply_late_from(struct tcp_bed *f, size_t *at)
{
    for (; *at < f->late_count; (*at)++) {
        (void)tcp_bed_reply(f->server, f->late[*at], f->late_tags[*at], (const uint8_t *)"l2", 2);
    }
}

/* Some are reset meanwhile; the others go on. */
UNIT_TEST(test_what_waits_may_end)
{
    static const struct linger reset = {.l_onoff = 1};
    struct tcp_bed *f = tcp_hogs_setup(MANY + 1);
    int fds[MANY], other = connect_many(f, fds, "\0\2l1", 4);
    size_t at = 0;
    wait_for_queries(f, 1);
    assert_true(f->queries <= MANY / 2);
    for (size_t i = 0; i < MANY; i += 2) {
        assert_int_equal(setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
        close(fds[i]);
    }
    reply_late_from(f, &at);
    wait_for_connections(f, MANY / 2 + 1);
    for (size_t i = 1; i < MANY; i += 2) {
        while (f->queries < MANY / 2 || at < f->late_count) {
            reply_late_from(f, &at);
            ev_run(f->loop, EVRUN_NOWAIT);
        }
        assert_frame(f, fds[i], "l2");
        close(fds[i]);
    }
    wait_for_connections(f, 1);
    close(other);
    teardown(f);
}

/* Without others, nothing waits. */
UNIT_TEST(test_a_client_alone_has_its_turns)
{
    struct tcp_bed *f = tcp_hogs_setup(MANY);
    int fds[MANY];
    unsigned turns = 0;
    for (size_t i = 0; i < MANY; i++) {
        fds[i] = connect_from(f, HOG);
    }
    wait_for_connections(f, MANY);
    send_on_each(fds, "\0\2e1", 4);
    for (; f->queries < MANY; turns++) {
        ev_run(f->loop, EVRUN_ONCE);
    }
    assert_true(turns <= MANY / TCP_PIECES_A_TURN / 2);
    tcp_hogs_close_all(fds, MANY);
    teardown(f);
}

/* Begins a long frame, as the hog often, as the other client once: when the memory for them is
 * used up, the hog's oldest go. */
UNIT_TEST(test_buffers_are_limited_together)
{
    enum { FRAME = 50000, PART = 40000, LIMIT = 512 * 1024, HOGS = 40 };
    struct tcp_bed *f = tcp_bed_new(
        &(struct tcp_bed_limits){.connections = 64, .buffers = LIMIT, .idle_ms = IDLE_MS});
    uint8_t *frame = malloc(2 + FRAME), *back = malloc(2 + FRAME);
    int fds[HOGS], other = connect_from(f, OTHER);
    memset(frame, ECHO, 2 + FRAME);
    frame[0] = FRAME >> 8;
    frame[1] = FRAME & 0xff;
    send_all(other, frame, PART);
    wait_for_connections(f, 1);
    for (size_t i = 0; i < HOGS; i++) {
        fds[i] = connect_from(f, HOG);
        send_all(fds[i], frame, PART);
    }
    /* A buffer of PART takes 64 KB. */
    while (tcp_server_evictions(f->server) < HOGS + 1 - LIMIT / (64 * 1024)) {
        ev_run(f->loop, EVRUN_ONCE);
    }
    assert_closed(f, fds[0]);
    send_all(other, frame + PART, 2 + FRAME - PART);
    assert_true(receive(f, other, back, 2 + FRAME));
    assert_memory_equal(back, frame, 2 + FRAME);
    send_all(fds[HOGS - 1], frame + PART, 2 + FRAME - PART);
    assert_true(receive(f, fds[HOGS - 1], back, 2 + FRAME));
    close(other);
    tcp_hogs_close_all(fds + 1, HOGS - 1);
    free(frame);
    free(back);
    teardown(f);
}

/* Many connections with many queries each, all there before another client's single one: it does
 * not wait for them all, and none of them is lost. */
UNIT_TEST(test_many_connections_share_one_turn)
{
    enum { HOGS = 64, EACH = 200, TURNS = 4 };
    struct tcp_bed *f = tcp_bed_new(&(struct tcp_bed_limits){
        .connections = HOGS + 1, .buffers = TCP_BUFFERS_MAX, .idle_ms = IDLE_MS});
    char queries[EACH * 4], answers[sizeof(queries)];
    int fds[HOGS];
    for (size_t i = 0; i < sizeof(queries); i += 4) {
        memcpy(queries + i, "\0\2e1", 4);
    }
    for (size_t i = 0; i < HOGS; i++) {
        fds[i] = connect_from(f, HOG);
    }
    wait_for_connections(f, HOGS);
    int other = connect_from(f, OTHER);
    wait_for_connections(f, HOGS + 1);
    for (size_t i = 0; i < HOGS; i++) {
        send_all(fds[i], queries, sizeof(queries));
    }
    send_all(other, "\0\2e!", 4);
    assert_frame(f, other, "e!");
    assert_in_range(f->queries, 1, TURNS * (TCP_CLIENT_A_TURN + 1));
    for (size_t i = 0; i < HOGS; i++) {
        assert_true(receive(f, fds[i], answers, sizeof(answers)));
        assert_memory_equal(answers, queries, sizeof(answers));
    }
    close(other);
    tcp_hogs_close_all(fds, HOGS);
    teardown(f);
}

/* Reads so many bytes of long answers a second, on the test's clock, until it has read `most` or
 * the connection is closed. Returns how many it read. */
static size_t read_slowly(size_t step, size_t most)
{
    struct tcp_bed *f = tcp_bed_new(&(struct tcp_bed_limits){
        .connections = 4, .buffers = TCP_BUFFERS_MAX, .idle_ms = TCP_IDLE_MS, .send_buffer = 1});
    const int smallest = 1;
    static uint8_t bytes[ENGINE_REPLY_MAX];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    size_t got = 0;
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &smallest, sizeof(smallest)), 0);
    assert_int_equal(connect(fd, &f->address.sa, f->address.len), 0);
    for (int i = 0; i < 4; i++) {
        send_all(fd, "\0\1h", 3);
    }
    wait_for_queries(f, 1);
    test_clock_stop();
    while (got < most && receive(f, fd, bytes, step)) {
        got += step;
        test_clock_advance_ms(1000);
        ev_timer_again(f->loop, &f->guard);
        ev_run(f->loop, EVRUN_NOWAIT);
    }
    test_clock_run();
    close(fd);
    teardown(f);
    return got;
}

/* Reading a little now and then keeps no connection; reading steadily does. */
UNIT_TEST(test_unread_answers_must_get_shorter)
{
    enum { DRIP = 512, STEADY = 4096 };
    assert_in_range(read_slowly(DRIP, 2 * ENGINE_REPLY_MAX), 0,
                    2 * DRIP * TCP_IDLE_MS / 1000 + TCP_PROGRESS_MIN);
    assert_in_range(read_slowly(STEADY, 2 * ENGINE_REPLY_MAX), 2 * ENGINE_REPLY_MAX, SIZE_MAX);
}

/* Late answers that join the unread ones keep no connection either. */
UNIT_TEST(test_late_answers_are_no_progress)
{
    enum { WAITING = 100, LIMIT_S = TCP_IDLE_MS / 1000 + 1 };
    struct tcp_bed *f = tcp_bed_new(&(struct tcp_bed_limits){
        .connections = 4, .buffers = TCP_BUFFERS_MAX, .idle_ms = TCP_IDLE_MS});
    int fd = connect_client(f), passed_s = 0;
    for (int i = 0; i < WAITING; i++) {
        send_all(fd, "\0\2l1", 4);
    }
    for (int i = 0; i < 64; i++) {
        send_all(fd, "\0\1h", 3);
    }
    wait_for_queries(f, WAITING + 1);
    for (int i = 0; i < 64; i++) { /* until the sockets are full */
        ev_run(f->loop, EVRUN_NOWAIT);
    }
    test_clock_stop();
    while (passed_s < WAITING && tcp_server_connections(f->server) == 1) {
        (void)tcp_bed_reply(f->server, f->late[passed_s++], 0, (const uint8_t *)"late", 4);
        test_clock_advance_ms(1000);
        ev_timer_again(f->loop, &f->guard);
        ev_run(f->loop, EVRUN_NOWAIT);
    }
    test_clock_run();
    assert_in_range(passed_s, 1, LIMIT_S);
    close(fd);
    teardown(f);
}

/* With many late answers due, no more is read until one has left. */
UNIT_TEST(test_many_late_answers)
{
    enum { SENT = TCP_WAITING_MAX + 20 };
    struct tcp_bed *f = tcp_hogs_setup(4);
    int fd = connect_client(f), same_client = connect_client(f), other = connect_from(f, OTHER);
    wait_for_connections(f, 3);
    for (int i = 0; i < SENT; i++) {
        send_all(fd, "\0\2l1", 4);
    }
    send_all(fd, "\0\2e!", 4);
    wait_for_queries(f, TCP_WAITING_MAX);
    send_all(same_client, "\0\2e1", 4);
    assert_frame(f, same_client, "e1");
    assert_int_equal(f->client_waiting, TCP_WAITING_MAX);
    send_all(other, "\0\2e2", 4);
    assert_frame(f, other, "e2");
    assert_int_equal(f->client_waiting, 0);
    assert_int_equal(f->queries, TCP_WAITING_MAX + 2);
    for (size_t i = 0; i < SENT; i++) {
        wait_for_queries(f, (unsigned)(i < SENT - TCP_WAITING_MAX ? TCP_WAITING_MAX + 2 + i : 0));
        assert_true(tcp_bed_reply(f->server, f->late[i], 0, (const uint8_t *)"late", 4));
        assert_frame(f, fd, "late");
        if (i == SENT - TCP_WAITING_MAX) {
            assert_frame(f, fd, "e!"); /* the first that need not wait */
        }
    }
    assert_int_equal(f->queries, SENT + 3);
    close(fd);
    close(same_client);
    close(other);
    teardown(f);
}

/* Answers to `count` queries, each of the longest, all before the client reads any: it gets them.
 */
static void exchange_longest(struct tcp_bed *f, int fd, size_t first, size_t count)
{
    static uint8_t reply[ENGINE_REPLY_MAX], got[2 + ENGINE_REPLY_MAX];
    for (size_t i = first; i < first + count; i++) {
        memset(reply, (int)i, sizeof(reply));
        assert_true(tcp_bed_reply(f->server, f->late[i], 0, reply, sizeof(reply)));
    }
    for (size_t i = first; i < first + count; i++) {
        assert_true(receive(f, fd, got, sizeof(got)));
        assert_true(got[0] == 0xff && got[1] == 0xff);
        assert_true(got[2] == (uint8_t)i && memcmp(got + 2, got + 3, ENGINE_REPLY_MAX - 1) == 0);
    }
}

/* At most so many of the longest late answers wait until the client reads; from then on, fewer
 * queries are read at once. Short answers make them more again. */
UNIT_TEST(test_long_late_answers)
{
    enum { LONGEST = TCP_AWAITED_MAX / ENGINE_REPLY_MAX + 1, SHORT = 64 };
    struct tcp_bed *f = tcp_bed_new(&(struct tcp_bed_limits){
        .connections = 4, .buffers = TCP_BUFFERS_MAX, .idle_ms = IDLE_MS, .send_buffer = 1});
    int fd = connect_client(f);
    for (int i = 0; i < LATE_MAX - SHORT; i++) {
        send_all(fd, "\0\2l1", 4);
    }
    wait_for_queries(f, TCP_WAITING_MAX);
    exchange_longest(f, fd, 0, TCP_WAITING_MAX);
    size_t answered = TCP_WAITING_MAX;
    while (answered < LATE_MAX - SHORT) {
        for (int i = 0; i < 8; i++) { /* whatever it would read */
            ev_run(f->loop, EVRUN_NOWAIT);
        }
        size_t count = f->queries - answered;
        assert_in_range(count, 1, LONGEST);
        exchange_longest(f, fd, answered, count);
        answered += count;
        wait_for_queries(f, (unsigned)(answered < LATE_MAX - SHORT ? answered + 1 : answered));
    }
    for (int i = 0; i < SHORT; i++) {
        send_all(fd, "\0\2l1", 4);
        wait_for_queries(f, (unsigned)answered + 1);
        assert_true(tcp_bed_reply(f->server, f->late[answered++], 0, (const uint8_t *)"late", 4));
        assert_frame(f, fd, "late");
    }
    assert_int_equal(tcp_server_connections(f->server), 1);
    close(fd);
    teardown(f);
}

/* Twice as many are more than all buffers may have: the client that has most, and does not read,
 * loses one of its connections, and one that reads has all its answers. */
UNIT_TEST(test_long_late_answers_beyond_all_buffers)
{
    enum { EACH = TCP_WAITING_MAX, READER = 16 };
    static uint8_t reply[ENGINE_REPLY_MAX];
    struct tcp_bed *f = tcp_bed_new(&(struct tcp_bed_limits){
        .connections = 4, .buffers = TCP_BUFFERS_MAX, .idle_ms = IDLE_MS, .send_buffer = 1});
    int hog = connect_from(f, HOG), other = connect_from(f, OTHER), again;
    for (int i = 0; i < EACH; i++) {
        send_all(hog, "\0\2l1", 4);
    }
    wait_for_queries(f, EACH);
    for (int i = 0; i < READER; i++) {
        send_all(other, "\0\2l2", 4);
    }
    wait_for_queries(f, EACH + READER);
    for (size_t i = 0; i < EACH; i++) {
        assert_true(tcp_bed_reply(f->server, f->late[i], 0, reply, sizeof(reply)));
    }
    again = connect_from(f, HOG);
    for (size_t i = 0; i < LATE_MAX - EACH - READER; i++) {
        send_all(again, "\0\2l3", 4);
    }
    wait_for_queries(f, LATE_MAX);
    for (size_t i = EACH + READER; i < LATE_MAX; i++) {
        (void)tcp_bed_reply(f->server, f->late[i], 0, reply, sizeof(reply));
    }
    exchange_longest(f, other, EACH, READER);
    assert_true(tcp_server_evictions(f->server) > 0);
    assert_int_equal(tcp_server_connections(f->server), 3 - tcp_server_evictions(f->server));
    close(hog);
    close(other);
    close(again);
    teardown(f);
}

/* Drained while nothing is read from it: what has arrived is still answered. */
UNIT_TEST(test_drain_while_many_wait)
{
    enum { SENT = TCP_WAITING_MAX + 20 };
    struct tcp_bed *f = tcp_hogs_setup(4);
    int fd = connect_client(f);
    wait_for_connections(f, 1);
    for (int i = 0; i < SENT; i++) {
        send_all(fd, "\0\2l1", 4);
    }
    wait_for_queries(f, TCP_WAITING_MAX);
    tcp_server_drain(f->server);
    for (unsigned i = 0; i < SENT; i++) {
        wait_for_queries(f, i + 1);
        assert_true(tcp_bed_reply(f->server, f->late[i], 0, (const uint8_t *)"late", 4));
        assert_frame(f, fd, "late");
    }
    assert_closed(f, fd);
    assert_int_equal(f->queries, SENT);
    teardown(f);
}

/* A client that goes away while nothing is read from it: its place is free. */
UNIT_TEST(test_a_reset_is_seen_while_many_wait)
{
    const struct linger reset = {.l_onoff = 1};
    struct tcp_bed *f = tcp_hogs_setup(4);
    int fd = connect_client(f);
    for (int i = 0; i < LATE_MAX; i++) {
        send_all(fd, "\0\2l1", 4);
    }
    wait_for_queries(f, TCP_WAITING_MAX);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
    close(fd);
    wait_for_connections(f, 0);
    assert_int_equal(f->queries, TCP_WAITING_MAX);
    teardown(f);
}
