/* Answers of several messages, as zone transfers are: one after the other, each once the one before
 * has left. */
#include "tests/support/unit_test.h"
#include "tests/unit/skydns/streams/tcp_bed.h"

static const struct tcp_bed_limits usual = {
    .connections = 4, .buffers = TCP_BUFFERS_MAX, .idle_ms = 10000};

static void ask_late(struct tcp_bed *bed, int fd)
{
    send_all(fd, "\0\2lx", 4);
    while (bed->late_count == 0) {
        ev_run(bed->loop, EVRUN_ONCE);
    }
}

static void read_exactly(int fd, const char *want, size_t len)
{
    char got[16];
    assert_int_equal(recv(fd, got, len, MSG_WAITALL), len);
    assert_memory_equal(got, want, len);
}

UNIT_TEST(test_parts)
{
    struct tcp_bed *bed = tcp_bed_new(&usual);
    int fd = connect_client(bed);
    ask_late(bed, fd);
    assert_true(
        tcp_server_reply_part(bed->server, bed->late[0], 7, false, (const uint8_t *)"ab", 2));
    assert_int_equal(bed->left_count, 1);
    assert_int_equal(bed->left[0], 7);
    read_exactly(fd, "\0\2ab", 4);
    assert_true(tcp_server_reply_part(bed->server, bed->late[0], 7, true, (const uint8_t *)"c", 1));
    assert_int_equal(bed->left_count, 1); /* nobody waits for the last one */
    read_exactly(fd, "\0\1c", 3);
    send_all(fd, "\0\2ey", 4); /* the connection goes on */
    wait_for_queries(bed, 2);
    read_exactly(fd, "\0\2ey", 4);
    assert_int_equal(bed->client_waiting, 0);
    (void)close(fd);
    teardown(bed);
}

/* It left only when the client has read. */
UNIT_TEST(test_slow_client)
{
    static uint8_t huge[ENGINE_REPLY_MAX], got[ENGINE_REPLY_MAX + 2];
    struct tcp_bed_limits limits = usual;
    limits.send_buffer = 4096;
    struct tcp_bed *bed = tcp_bed_new(&limits);
    int fd = connect_client(bed);
    const int small = 4096;
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
    ask_late(bed, fd);
    assert_true(tcp_server_reply_part(bed->server, bed->late[0], 9, false, huge, sizeof(huge)));
    assert_int_equal(bed->left_count, 0);
    size_t len = 0;
    while (bed->left_count == 0) {
        ssize_t n = recv(fd, got, sizeof(got), MSG_DONTWAIT);
        len += n > 0 ? (size_t)n : 0;
        ev_run(bed->loop, EVRUN_NOWAIT);
    }
    assert_int_equal(bed->left[0], 9);
    assert_true(len > sizeof(huge) / 4);
    (void)close(fd);
    teardown(bed);
}

UNIT_TEST(test_gone)
{
    static uint8_t huge[ENGINE_REPLY_MAX];
    struct tcp_bed_limits limits = usual;
    limits.send_buffer = 4096;
    struct tcp_bed *bed = tcp_bed_new(&limits);
    int fd = connect_client(bed);
    const struct linger reset = {.l_onoff = 1};
    ask_late(bed, fd);
    assert_true(tcp_server_reply_part(bed->server, bed->late[0], 5, false, huge, sizeof(huge)));
    assert_int_equal(bed->left_count, 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
    (void)close(fd);
    wait_for_connections(bed, 0);
    assert_int_equal(bed->left_count, 1);
    assert_int_equal(bed->left[0], ~UINT64_C(5));
    assert_false(tcp_server_reply_part(bed->server, bed->late[0], 5, true, huge, 1));
    teardown(bed);
}

/* One that fails in the middle: the client must not wait. */
UNIT_TEST(test_broken_off)
{
    struct tcp_bed *bed = tcp_bed_new(&usual);
    int fd = connect_client(bed);
    char byte;
    ask_late(bed, fd);
    assert_true(
        tcp_server_reply_part(bed->server, bed->late[0], 7, false, (const uint8_t *)"ab", 2));
    assert_true(tcp_server_reply_part(bed->server, bed->late[0], 7, true, NULL, 0));
    wait_for_connections(bed, 0);
    read_exactly(fd, "\0\2ab", 4);
    assert_int_equal(recv(fd, &byte, 1, 0), 0);
    (void)close(fd);
    teardown(bed);
}
