/* Connections whose queries are admitted one by one. Client and server share one loop and one
 * thread. */
#include "tests/unit/skydns/streams/tcp_bed.h"

#include "tests/support/unit_test.h"

enum { IDLE_MS = 60000, MANY = 2 * 128 + 7 };

static struct tcp_bed *tcp_throttle_setup(size_t tickets)
{
    struct tcp_bed *bed = tcp_bed_new(&(struct tcp_bed_limits){
        .connections = MANY + 1, .buffers = TCP_BUFFERS_MAX, .idle_ms = IDLE_MS});
    bed->is_limited = true;
    bed->tickets = tickets;
    return bed;
}

UNIT_FIXTURE_MADE(tcp_throttle_setup(0), teardown)

/* Runs the loop until queries were refused again so often. */
static void tcp_throttle_wait_refused(struct tcp_bed *bed, unsigned again)
{
    const unsigned wanted = bed->refusals_again + again;
    while (bed->refusals_again < wanted) {
        ev_run(bed->loop, EVRUN_ONCE);
    }
}

/* Three queries come in one piece: those with tickets are answered, then one for each new ticket.
 */
UNIT_TEST(test_queries_wait_for_tickets)
{
    struct tcp_bed *bed = tcp_throttle_setup(1);
    int fd = connect_client(bed);
    send_all(fd, "\0\2e1\0\2e2\0\2e3\0\2e", 15);
    assert_frame(bed, fd, "e1");
    tcp_throttle_wait_refused(bed, 3);
    assert_int_equal(bed->queries, 1);
    assert_int_equal(bed->refusals, 1);
    bed->tickets = 1;
    assert_frame(bed, fd, "e2");
    tcp_throttle_wait_refused(bed, 1);
    assert_int_equal(bed->refusals, 2);
    bed->tickets = 2;
    assert_frame(bed, fd, "e3");
    send_all(fd, "4", 1);
    assert_frame(bed, fd, "e4");
    assert_int_equal(bed->tickets, 0);
    close(fd);
    wait_for_connections(bed, 0);
    teardown(bed);
}

/* A single query that comes alone waits, too; and is answered when nothing is limited any more. */
UNIT_TEST_ON(test_limits_are_lifted, struct tcp_bed *bed)
{
    int fd = connect_client(bed);
    send_all(fd, "\0\2e1", 4);
    tcp_throttle_wait_refused(bed, 2);
    assert_int_equal(bed->queries, 0);
    bed->is_limited = false;
    assert_frame(bed, fd, "e1");
    bed->is_limited = true;
    send_all(fd, "\0\2e2", 4); /* to a connection that has been answered before */
    tcp_throttle_wait_refused(bed, 2);
    bed->tickets = 1;
    assert_frame(bed, fd, "e2");
    close(fd);
    wait_for_connections(bed, 0);
}

/* A client that has said everything waits for its answers; one that resets is gone at once. */
UNIT_TEST_ON(test_clients_that_end, struct tcp_bed *bed)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    int patient = connect_client(bed), gone = connect_from(bed, 2);
    send_all(patient, "\0\2e1", 4);
    send_all(gone, "\0\2e2", 4);
    assert_int_equal(shutdown(patient, SHUT_WR), 0);
    tcp_throttle_wait_refused(bed, 4);
    assert_int_equal(tcp_server_connections(bed->server), 2);
    assert_int_equal(setsockopt(gone, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
    close(gone);
    wait_for_connections(bed, 1);
    bed->tickets = 1;
    assert_frame(bed, patient, "e1");
    assert_closed(bed, patient);
    assert_int_equal(bed->queries, 1);
}

/* More connections than are tried at a time: each gets its turn before any gets a second one. */
UNIT_TEST_ON(test_connections_take_turns, struct tcp_bed *bed)
{
    int fds[MANY];
    for (size_t i = 0; i < MANY; i++) {
        fds[i] = connect_from(bed, (uint8_t)(1 + i % 200));
        send_all(fds[i], "\0\2e1\0\2e2", 8);
        while (bed->refusals < i + 1) {
            ev_run(bed->loop, EVRUN_ONCE);
        }
    }
    for (size_t round = 1; round <= 2; round++) {
        while (bed->queries < round * MANY) {
            bed->tickets = bed->tickets ? bed->tickets : 1;
            ev_run(bed->loop, EVRUN_ONCE);
        }
        for (size_t i = 0; i < MANY; i++) {
            assert_frame(bed, fds[i], round == 1 ? "e1" : "e2");
        }
    }
    for (size_t i = 0; i < MANY; i++) {
        close(fds[i]);
    }
    wait_for_connections(bed, 0);
}

/* The end answers what has arrived, whatever the rate; and frees what still waits. */
UNIT_TEST(test_drain)
{
    struct tcp_bed *bed = tcp_throttle_setup(0);
    int fd = connect_client(bed);
    send_all(fd, "\0\2e1\0\2e2", 8);
    tcp_throttle_wait_refused(bed, 1);
    tcp_server_drain(bed->server);
    assert_frame(bed, fd, "e1");
    assert_frame(bed, fd, "e2");
    assert_closed(bed, fd);
    teardown(bed);
    bed = tcp_throttle_setup(0);
    fd = connect_client(bed);
    send_all(fd, "\0\2e1", 4);
    tcp_throttle_wait_refused(bed, 1);
    teardown(bed);
    close(fd);
}
