/* Protocols other than DNS's own framing on the TCP server, by a tiny one: queries end with a
 * newline, replies come as "TAG:REPLY\n", where the first query has tag 0. `!` says goodbye, `#`
 * breaks the protocol, and `P` before a query makes the protocol hold this many bytes. */
#include "tests/support/unit_test.h"
#include "tests/unit/skydns/streams/tcp_bed.h"

enum { IDLE_MS = 60000 };

/* ---- The protocol ---- */

struct lines {
    struct stream_host *host;
    uint64_t next_tag;
    size_t held;  /* bytes that memory reports */
    char *unsent; /* with flush: replies not put yet */
    size_t unsent_len;
};

static unsigned open_count, close_count, drain_count;
static bool wants_flush; /* replies are put by flush alone */
static size_t room_least;

static void *lines_open(struct stream_host *host)
{
    struct lines *lines = calloc(1, sizeof(*lines));
    lines->host = host;
    open_count++;
    return lines;
}

static void lines_close(void *stream)
{
    CLEANUP_FREE struct lines *lines = stream;
    close_count++;
    free(lines->unsent);
}

static void tcp_stream_put(struct lines *lines, const void *bytes, size_t len)
{
    if (!wants_flush) {
        stream_host_put(lines->host, bytes, len);
        return;
    }
    if (len == 0) {
        return;
    }
    lines->unsent = realloc(lines->unsent, lines->unsent_len + len);
    memcpy(lines->unsent + lines->unsent_len, bytes, len);
    lines->unsent_len += len;
}

static void lines_reply(void *stream, uint64_t tag, const struct response *response)
{
    char head[] = {(char)('0' + tag % 10), ':'};
    tcp_stream_put(stream, head, sizeof(head));
    tcp_stream_put(stream, response->bytes, response->len);
    tcp_stream_put(stream, "\n", 1);
}

static enum stream_take lines_take(void *stream, const uint8_t *bytes, size_t len,
                                   size_t *ret_taken)
{
    struct lines *lines = stream;
    const uint8_t *end;
    *ret_taken = 0;
    while ((end = memchr(bytes, '\n', len))) {
        size_t line = (size_t)(end - bytes);
        if (line == 1 && bytes[0] == '!') {
            return STREAM_ENDS;
        }
        if (line == 1 && bytes[0] == '#') {
            tcp_stream_put(lines, "broken\n", 7);
            return STREAM_BROKEN;
        }
        if (!stream_host_may_go_on(lines->host) || !stream_host_may_go_on(lines->host)) {
            return STREAM_PAUSED; /* asked twice, as for a request in two frames */
        }
        size_t room = stream_host_room(lines->host);
        room_least = room < room_least ? room : room_least;
        stream_host_query(lines->host, lines->next_tag++, bytes, line);
        bytes += line + 1;
        len -= line + 1;
        *ret_taken += line + 1;
    }
    lines->held = len && bytes[0] == 'P' ? len : 0;
    return STREAM_WAITS;
}

static bool lines_flush(void *stream)
{
    struct lines *lines = stream;
    size_t room = stream_host_room(lines->host);
    size_t n = lines->unsent_len < room ? lines->unsent_len : room;
    if (n > 0) {
        stream_host_put(lines->host, lines->unsent, n);
        lines->unsent_len -= n;
        memmove(lines->unsent, lines->unsent + n, lines->unsent_len);
    }
    return lines->unsent_len > 0;
}

static void lines_drain(void *stream)
{
    drain_count++;
    tcp_stream_put(stream, "bye\n", 4);
}

static size_t lines_memory(const void *stream)
{
    const struct lines *lines = stream;
    return lines->held + lines->unsent_len;
}

static const struct stream_protocol lines_protocol = {.open = lines_open,
                                                      .close = lines_close,
                                                      .take = lines_take,
                                                      .reply = lines_reply,
                                                      .drain = lines_drain,
                                                      .memory = lines_memory};
static const struct stream_protocol flushing_protocol = {.open = lines_open,
                                                         .close = lines_close,
                                                         .take = lines_take,
                                                         .reply = lines_reply,
                                                         .flush = lines_flush,
                                                         .drain = lines_drain,
                                                         .memory = lines_memory};

/* ---- The bed ---- */

static struct tcp_bed *tcp_stream_bed_of(struct tcp_bed_limits limits, bool by_flush)
{
    open_count = close_count = drain_count = 0;
    room_least = SIZE_MAX;
    wants_flush = by_flush;
    limits.transport = ENGINE_HTTP;
    limits.kind.protocol = by_flush ? &flushing_protocol : &lines_protocol;
    return tcp_bed_new(&limits);
}

static struct tcp_bed *tcp_stream_setup(bool by_flush)
{
    return tcp_stream_bed_of(
        (struct tcp_bed_limits){.connections = 4, .buffers = TCP_BUFFERS_MAX, .idle_ms = IDLE_MS},
        by_flush);
}

static void tcp_stream_finish(struct tcp_bed *f)
{
    teardown(f);
    assert_int_equal(open_count, close_count);
}

UNIT_FIXTURE_MADE(tcp_stream_setup(false), tcp_stream_finish)

static void assert_text(struct tcp_bed *f, int fd, const char *want)
{
    char text[256] = "";
    assert_true(strlen(want) < sizeof(text));
    assert_true(receive(f, fd, text, strlen(want)));
    assert_string_equal(text, want);
}

static void tcp_stream_say(int fd, const char *text)
{
    send_all(fd, text, strlen(text));
}

/* ---- Tests ---- */

/* Queries split at any byte: what is not taken comes again. */
UNIT_TEST_ON(test_split_anywhere, struct tcp_bed *f)
{
    static const char bytes[] = "e-1\ne-two\ns\ne-three\n";
    for (size_t cut = 1; cut + 1 < sizeof(bytes); cut++) {
        int fd = connect_client(f);
        send_all(fd, bytes, cut);
        wait_for_connections(f, 1);
        ev_run(f->loop, EVRUN_NOWAIT);
        send_all(fd, bytes + cut, sizeof(bytes) - 1 - cut);
        assert_text(f, fd, "0:e-1\n1:e-two\n2:\n3:e-three\n");
        close(fd);
        wait_for_connections(f, 0);
    }
    assert_int_equal(tcp_server_connections_of(f->server, ENGINE_HTTP), 0);
}

/* Each query takes one ticket, however often its protocol asks. */
UNIT_TEST(test_queries_that_are_admitted)
{
    struct tcp_bed *f = tcp_stream_setup(true);
    f->is_limited = true;
    f->tickets = 1;
    int fd = connect_client(f);
    tcp_stream_say(fd, "e1\ne2\ne3\n");
    assert_text(f, fd, "0:e1\n");
    for (unsigned again = f->refusals_again; f->refusals_again < again + 2;) {
        ev_run(f->loop, EVRUN_ONCE);
    }
    assert_int_equal(f->queries, 1);
    assert_int_equal(f->refusals, 1);
    f->tickets = 2;
    assert_text(f, fd, "1:e2\n2:e3\n");
    assert_int_equal(f->tickets, 0);
    close(fd);
    wait_for_connections(f, 0);
    tcp_stream_finish(f);
}

/* By their tags, however late; also one without an answer. */
UNIT_TEST(test_late_replies_by_tag)
{
    for (int by_flush = 0; by_flush < 2; by_flush++) {
        struct tcp_bed *f = tcp_stream_setup(by_flush);
        int fd = connect_client(f);
        tcp_stream_say(fd, "l1\nl2\nl3\ne!\n");
        assert_text(f, fd, "3:e!\n");
        assert_int_equal(tcp_server_connections_of(f->server, ENGINE_HTTP), 1);
        assert_int_equal(f->late_tags[2], 2);
        assert_true(
            tcp_bed_reply(f->server, f->late[2], f->late_tags[2], (const uint8_t *)"three", 5));
        assert_true(tcp_bed_reply(f->server, f->late[0], f->late_tags[0], NULL, 0));
        assert_true(
            tcp_bed_reply(f->server, f->late[1], f->late_tags[1], (const uint8_t *)"two", 3));
        assert_text(f, fd, "2:three\n0:\n1:two\n");
        close(fd);
        tcp_stream_finish(f);
    }
}

/* It has its answers, late ones too; then the connection closes. */
UNIT_TEST_ON(test_half_closed_clients_are_answered, struct tcp_bed *f)
{
    int fd = connect_client(f);
    tcp_stream_say(fd, "l1\ne2\npart");
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    assert_text(f, fd, "1:e2\n");
    assert_true(tcp_bed_reply(f->server, f->late[0], 0, (const uint8_t *)"late", 4));
    assert_text(f, fd, "0:late\n");
    assert_closed(f, fd);
    wait_for_connections(f, 0);
}

/* Bytes behind a goodbye are not read; queries before it are answered. */
UNIT_TEST_ON(test_a_protocol_may_end, struct tcp_bed *f)
{
    int fd = connect_client(f);
    tcp_stream_say(fd, "l1\ne2\n!\ne3\n");
    assert_text(f, fd, "1:e2\n");
    assert_int_equal(tcp_server_connections(f->server), 1);
    assert_true(tcp_bed_reply(f->server, f->late[0], 0, (const uint8_t *)"late", 4));
    assert_text(f, fd, "0:late\n");
    assert_closed(f, fd);
    assert_int_equal(f->queries, 2);
    wait_for_connections(f, 0);
}

/* The end of the stream, not a reset. The client's side stays open. */
static void assert_ends(struct tcp_bed *f, int fd)
{
    uint8_t byte;
    assert_false(receive(f, fd, &byte, 1));
    assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), 0);
}

/* Its last words are sent at once; late answers find nobody. */
UNIT_TEST(test_a_protocol_may_break)
{
    for (int by_flush = 0; by_flush < 2; by_flush++) {
        struct tcp_bed *f = tcp_stream_setup(by_flush);
        int fd = connect_client(f), other = connect_client(f);
        tcp_stream_say(fd, "l1\ne2\n#\ne3\n");
        assert_text(f, fd, "1:e2\nbroken\n");
        assert_ends(f, fd);
        assert_int_equal(close_count, 1);
        assert_int_equal(tcp_server_connections(f->server), 2);
        assert_false(tcp_bed_reply(f->server, f->late[0], 0, (const uint8_t *)"late", 4));
        close(fd);
        wait_for_connections(f, 1);
        assert_int_equal(f->queries, 2);
        tcp_stream_say(other, "l4\n");
        wait_for_queries(f, 3);
        assert_int_equal(f->client_waiting, 0);
        close(other);
        tcp_stream_finish(f);
    }
}

/* Bytes that the client still sends, and its end, reset nothing: it reads all that was said. */
UNIT_TEST_ON(test_last_replies_arrive, struct tcp_bed *f)
{
    enum { REST = 200 * 1024 };
    static char rest[REST];
    int fd = connect_client(f);
    CLEANUP_FREE uint8_t *answers = malloc(ENGINE_REPLY_MAX + 3);
    memset(rest, 'x', sizeof(rest));
    tcp_stream_say(fd, "h\ne1\n!\n");
    wait_for_queries(f, 2);
    for (size_t sent = 0; sent < sizeof(rest);) {
        ssize_t n = send(fd, rest + sent, sizeof(rest) - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        assert_true(n > 0 || errno == EAGAIN);
        sent += n > 0 ? (size_t)n : 0;
        ev_run(f->loop, n > 0 ? EVRUN_NOWAIT : EVRUN_ONCE);
    }
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    wait_for_connections(f, 0);
    assert_true(receive(f, fd, answers, ENGINE_REPLY_MAX + 3));
    assert_text(f, fd, "1:e1\n");
    assert_ends(f, fd);
    close(fd);
}

/* A client that goes on sending. */
UNIT_TEST_ON(test_lingering_has_a_limit_in_bytes, struct tcp_bed *f)
{
    static char piece[1024];
    int fd = connect_client(f);
    size_t sent = 0;
    tcp_stream_say(fd, "!\n");
    assert_ends(f, fd);
    while (tcp_server_connections(f->server) == 1) {
        ssize_t n = send(fd, piece, sizeof(piece), MSG_NOSIGNAL | MSG_DONTWAIT);
        sent += n > 0 ? (size_t)n : 0;
        ev_run(f->loop, EVRUN_NOWAIT);
    }
    assert_in_range(sent, TCP_LINGER_BYTES, TCP_LINGER_BYTES + TCP_OUTPUT_MAX);
    close(fd);
}

/* A client that does nothing any more. */
UNIT_TEST_ON(test_lingering_has_a_limit_in_time, struct tcp_bed *f)
{
    int fd = connect_client(f);
    tcp_stream_say(fd, "e1\n!\n");
    assert_text(f, fd, "0:e1\n");
    assert_ends(f, fd);
    ev_tstamp begun_s = ev_time();
    wait_for_connections(f, 0);
    assert_true(ev_time() - begun_s < (double)IDLE_MS / 1000);
    close(fd);
}

/* Those that linger give way first, though others are idle for longer. */
UNIT_TEST_ON(test_lingering_ones_give_way, struct tcp_bed *f)
{
    int fds[4];
    for (uint8_t i = 0; i < 4; i++) {
        fds[i] = connect_from(f, (uint8_t)(i + 2));
        tcp_stream_say(fds[i], "e\n");
        assert_text(f, fds[i], "0:e\n");
    }
    tcp_stream_say(fds[3], "!\n");
    assert_ends(f, fds[3]);
    int newcomer = connect_client(f);
    tcp_stream_say(newcomer, "e\n");
    assert_text(f, newcomer, "0:e\n");
    assert_int_equal(tcp_server_evictions(f->server), 1);
    for (size_t i = 0; i < 3; i++) {
        tcp_stream_say(fds[i], "e\n");
        assert_text(f, fds[i], "1:e\n");
        close(fds[i]);
    }
    close(fds[3]);
    close(newcomer);
}

/* A segment of many queries has only some answered before another client's turn; none is lost, and
 * each finds room for the longest response. */
UNIT_TEST_ON(test_others_get_their_turn, struct tcp_bed *f)
{
    enum { MANY = 2000 };
    char queries[MANY * 2], *answers = malloc(MANY * 4);
    int busy = connect_client(f), other = connect_from(f, 2);
    wait_for_connections(f, 2);
    for (size_t i = 0; i < MANY; i++) {
        memcpy(queries + i * 2, "e\n", 2);
    }
    send_all(busy, queries, sizeof(queries));
    tcp_stream_say(other, "e\n");
    assert_text(f, other, "0:e\n");
    assert_in_range(f->queries, 1, MANY / 2);
    assert_true(receive(f, busy, answers, (size_t)MANY * 4));
    for (size_t i = 0; i < MANY; i++) {
        const char want[] = {(char)('0' + i % 10), ':', 'e', '\n'};
        assert_memory_equal(answers + i * 4, want, sizeof(want));
    }
    assert_true(room_least >= ENGINE_REPLY_MAX + STREAM_HEAD_MAX);
    close(busy);
    close(other);
    free(answers);
}

/* No further query is taken from a client with TCP_WAITING_MAX late answers due, until one is. */
UNIT_TEST_ON(test_waiting_pauses_the_protocol, struct tcp_bed *f)
{
    int fd = connect_client(f);
    for (int i = 0; i < TCP_WAITING_MAX; i++) {
        tcp_stream_say(fd, "l1\n");
    }
    tcp_stream_say(fd, "e!\n");
    wait_for_queries(f, TCP_WAITING_MAX);
    for (int i = 0; i < 10; i++) {
        ev_run(f->loop, EVRUN_NOWAIT);
    }
    assert_int_equal(f->queries, TCP_WAITING_MAX);
    assert_true(tcp_bed_reply(f->server, f->late[5], 5, (const uint8_t *)"x", 1));
    assert_text(f, fd, "5:x\n8:e!\n");
    close(fd);
}

/* 64 answers of 64 KB: none is computed before the client has read the previous ones, nothing
 * waits for more than the room there is, and all arrive. */
UNIT_TEST(test_a_slow_client_is_read_from_no_more)
{
    enum { ANSWERS = 64, ANSWER = 2 + ENGINE_REPLY_MAX + 1 };
    CLEANUP_FREE char *answer_bytes = malloc(ANSWER);
    for (int by_flush = 0; by_flush < 2; by_flush++) {
        struct tcp_bed *f = tcp_stream_setup(by_flush);
        int fd = connect_client(f);
        for (int i = 0; i < ANSWERS; i++) {
            tcp_stream_say(fd, "h\n");
        }
        wait_for_queries(f, 1);
        for (int i = 0; i < ANSWERS; i++) {
            ev_run(f->loop, EVRUN_NOWAIT);
        }
        assert_true(f->queries < ANSWERS);
        for (int i = 0; i < ANSWERS; i++) {
            assert_true(receive(f, fd, answer_bytes, ANSWER));
            assert_int_equal(answer_bytes[0], '0' + i % 10);
            assert_int_equal(answer_bytes[ANSWER - 2], 'H');
            assert_int_equal(answer_bytes[ANSWER - 1], '\n');
        }
        assert_int_equal(f->queries, ANSWERS);
        tcp_stream_say(fd, "e!\n");
        assert_text(f, fd, "4:e!\n");
        close(fd);
        tcp_stream_finish(f);
    }
}

/* Late answers of any length that the client does not read yet: all that may be due are kept. */
UNIT_TEST_ON(test_unread_late_replies_are_cached, struct tcp_bed *f)
{
    enum { HEAD = 2, END = 1 }; /* tag, colon; newline */
    static uint8_t reply[ENGINE_REPLY_MAX], got[HEAD + ENGINE_REPLY_MAX + END];
    int fd = connect_client(f);
    for (int i = 0; i < TCP_WAITING_MAX; i++) {
        tcp_stream_say(fd, "l1\n");
    }
    wait_for_queries(f, TCP_WAITING_MAX);
    for (unsigned i = 0; i < TCP_WAITING_MAX; i++) {
        memset(reply, (int)i, sizeof(reply));
        assert_true(tcp_bed_reply(f->server, f->late[i], i, reply, sizeof(reply)));
    }
    for (unsigned i = 0; i < TCP_WAITING_MAX; i++) {
        assert_true(receive(f, fd, got, sizeof(got)));
        assert_true(got[1] == ':' && got[HEAD] == i && got[HEAD + ENGINE_REPLY_MAX - END] == i);
    }
    close(fd);
}

/* A line that never ends is longer than what is kept. */
UNIT_TEST_ON(test_untaken_bytes_are_limited, struct tcp_bed *f)
{
    enum { PIECE = 1024 };
    static char piece[PIECE];
    int fd = connect_client(f);
    size_t sent = 0;
    memset(piece, 'x', sizeof(piece));
    wait_for_connections(f, 1);
    while (tcp_server_connections(f->server) == 1) {
        ssize_t n = send(fd, piece, sizeof(piece), MSG_NOSIGNAL | MSG_DONTWAIT);
        sent += n > 0 ? (size_t)n : 0;
        ev_run(f->loop, EVRUN_NOWAIT);
        assert_true(sent < 4 * STREAM_UNTAKEN_MAX);
    }
    assert_true(sent > STREAM_UNTAKEN_MAX);
    close(fd);
}

/* Memory of the protocol itself counts: whoever holds most loses connections. */
UNIT_TEST(test_memory_of_protocols_is_limited)
{
    enum { HOLD = 30000, LIMIT = 256 * 1024, HOGS = 8 };
    static char piece[HOLD];
    struct tcp_bed *f = tcp_stream_bed_of(
        (struct tcp_bed_limits){.connections = 16, .buffers = LIMIT, .idle_ms = IDLE_MS}, false);
    int fds[HOGS], other = connect_from(f, 3);
    memset(piece, 'P', sizeof(piece));
    send_all(other, "P", 1);
    for (int i = 0; i < HOGS; i++) {
        fds[i] = connect_from(f, 2);
        send_all(fds[i], piece, sizeof(piece));
    }
    while (tcp_server_evictions(f->server) == 0) {
        ev_run(f->loop, EVRUN_ONCE);
    }
    tcp_stream_say(other, "\ne!\n");
    assert_text(f, other, "0:\n1:e!\n");
    for (int i = 0; i < HOGS; i++) {
        close(fds[i]);
    }
    close(other);
    tcp_stream_finish(f);
}

/* Bytes that are no whole query keep no connection open. */
UNIT_TEST(test_dripping_is_idle)
{
    struct tcp_bed *f = tcp_stream_bed_of(
        (struct tcp_bed_limits){.connections = 4, .buffers = TCP_BUFFERS_MAX, .idle_ms = 50},
        false);
    int fd = connect_client(f);
    wait_for_connections(f, 1);
    while (tcp_server_connections(f->server) == 1) {
        (void)!send(fd, "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        ev_run(f->loop, EVRUN_ONCE);
    }
    close(fd);
    tcp_stream_finish(f);
}

/* Says so, answers what has arrived and what is late, and closes. */
UNIT_TEST(test_drain)
{
    for (int by_flush = 0; by_flush < 2; by_flush++) {
        struct tcp_bed *f = tcp_stream_setup(by_flush);
        int idle = connect_client(f), waiting = connect_client(f);
        wait_for_connections(f, 2);
        tcp_stream_say(waiting, "l1\n");
        wait_for_queries(f, 1);
        tcp_stream_say(waiting, "e2\n");
        wait_for_arrival(waiting);
        tcp_server_drain(f->server);
        assert_int_equal(drain_count, 2);
        assert_text(f, idle, "bye\n");
        assert_closed(f, idle);
        assert_text(f, waiting, "bye\n1:e2\n");
        assert_true(tcp_bed_reply(f->server, f->late[0], 0, (const uint8_t *)"late", 4));
        assert_text(f, waiting, "0:late\n");
        assert_closed(f, waiting);
        wait_for_connections(f, 0);
        tcp_stream_finish(f);
    }
}

/* Output of the protocol itself does not wait for late answers. */
UNIT_TEST(test_output_does_not_wait_for_answers)
{
    struct tcp_bed *f = tcp_stream_setup(true);
    int fd = connect_client(f);
    for (int i = 0; i < TCP_WAITING_MAX; i++) {
        tcp_stream_say(fd, "l1\n");
    }
    wait_for_queries(f, TCP_WAITING_MAX);
    tcp_server_drain(f->server);
    assert_text(f, fd, "bye\n");
    close(fd);
    tcp_stream_finish(f);
}
