/* TLS handshakes on the TCP server: resumed, broken off, slow, and more than there are places. */
#include "tests/unit/skydns/streams/tcp_tls_bed.h"

#include <sys/resource.h>

#include "tests/support/test_clock.h"
#include "tests/support/unit_test.h"

UNIT_TESTS_ONCE(make_certificates, remove_certificates)

UNIT_TEST(test_a_ticket_resumes)
{
    struct tcp_bed *f = setup(4);
    struct peer p = connect_tls(f, 1);
    say(f, &p, "\0\2e!", 4);
    assert_heard(f, &p, "e!");
    struct ssl_session_st *ticket = tls_session_ticket(p.session);
    assert_non_null(ticket);
    hang_up(&p);
    struct peer again = begin_as(f, 1, "dot", ticket);
    while (step(&again)) {
        ev_run(f->loop, EVRUN_NOWAIT);
    }
    say(f, &again, "\0\2e!", 4);
    assert_heard(f, &again, "e!");
    assert_int_equal(handshakes(f)->full, 1);
    assert_int_equal(handshakes(f)->resumed, 1);
    tls_session_ticket_free(ticket);
    hang_up(&again);
    finish(f);
}

/* No TLS at all, another protocol, a client that leaves: failed, and closed. */
UNIT_TEST(test_handshakes_fail)
{
    const struct linger at_once = {.l_onoff = 1};
    struct tcp_bed *f = setup(4);
    int fd = connect_client(f);
    send_all(fd, "GET / HTTP/1.1\r\n\r\n", 18);
    while (handshakes(f)->failed < 1) {
        ev_run(f->loop, EVRUN_ONCE);
    }
    close(fd);
    struct peer p = begin_as(f, 1, "h2", NULL);
    while (step(&p)) {
        ev_run(f->loop, EVRUN_NOWAIT);
    }
    while (handshakes(f)->failed < 2) {
        ev_run(f->loop, EVRUN_ONCE);
    }
    hang_up(&p);
    fd = connect_client(f);
    send_all(fd, "\26\3\1", 3);
    wait_for_connections(f, 1);
    close(fd);
    wait_for_connections(f, 0);
    assert_int_equal(handshakes(f)->failed, 3);
    fd = connect_client(f);
    send_all(fd, "\26\3\1", 3);
    wait_for_connections(f, 1);
    run_some(f);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
    close(fd); /* a reset */
    wait_for_connections(f, 0);
    assert_int_equal(handshakes(f)->failed, 4);
    finish(f);
}

/* A silent client, and one that sends a byte of its hello now and then: both are closed
 * HANDSHAKE_MS after they connected. */
UNIT_TEST(test_slow_handshakes_are_closed)
{
    enum { STEPS = 10 };
    struct tcp_bed *f = setup(4);
    test_clock_stop(); /* their time begins with the connection */
    int silent = connect_client(f), dripping = connect_client(f);
    wait_for_connections(f, 2);
    run_some(f);
    ev_now_update(f->loop);
    send_all(dripping, "\26\3\1\2\0\1", 6);
    for (int i = 1; i < STEPS; i++) {
        test_clock_advance_ms(HANDSHAKE_MS / STEPS - 1);
        send_all(dripping, "x", 1);
        run_some(f);
        assert_int_equal(tcp_server_connections(f->server), 2);
    }
    test_clock_advance_ms(HANDSHAKE_MS / STEPS + 1000);
    wait_for_connections(f, 0);
    test_clock_run();
    assert_int_equal(handshakes(f)->failed, 2);
    assert_closed(f, silent);
    assert_closed(f, dripping);
    finish(f);
}

static void wait_for_jobs(struct tcp_bed *f, unsigned count)
{
    while (jobs_out() != count) {
        ev_run(f->loop, EVRUN_ONCE);
    }
}

/* The deadline comes while the pool has the job: closed when that comes back. */
UNIT_TEST(test_a_deadline_at_the_pool)
{
    struct tcp_bed *f = setup(4);
    pool.is_held = true;
    struct peer p = begin_as(f, 1, "dot", NULL);
    assert_true(step(&p));
    wait_for_jobs(f, 1);
    test_clock_stop();
    ev_now_update(f->loop);
    test_clock_advance_ms(HANDSHAKE_MS + 1000);
    run_some(f);
    assert_int_equal(tcp_server_connections(f->server), 1);
    test_clock_run();
    release_pool();
    wait_for_connections(f, 0);
    assert_int_equal(handshakes(f)->failed, 1);
    hang_up(&p);
    finish(f);
}

enum { HOG = 2, OTHER = 3 };

/* All places are one client's, whose handshakes wait at the pool: another client gets a place and
 * an answer. */
UNIT_TEST(test_eviction_during_a_handshake)
{
    enum { FEW = 8 };
    struct tcp_bed *f = setup(FEW);
    struct peer hogs[FEW];
    pool.is_held = true;
    for (int i = 0; i < FEW; i++) {
        hogs[i] = begin_as(f, HOG, "dot", NULL);
        assert_true(step(&hogs[i]));
        wait_for_jobs(f, (unsigned)i + 1);
    }
    struct peer other = begin_as(f, OTHER, "dot", NULL);
    assert_true(step(&other));
    wait_for_jobs(f, FEW + 1);
    assert_int_equal(tcp_server_evictions(f->server), 1);
    assert_int_equal(tcp_server_connections(f->server), FEW);
    assert_int_equal(handshakes(f)->failed, 1);
    uint8_t byte;
    while (recv(hogs[0].fd, &byte, 1, 0) < 0) { /* knows at once */
        assert_int_equal(errno, EAGAIN);
    }
    release_pool();
    while (step(&other)) {
        ev_run(f->loop, EVRUN_NOWAIT);
    }
    say(f, &other, "\0\2e!", 4);
    assert_heard(f, &other, "e!");
    assert_int_equal(tcp_server_evictions(f->server), 1);
    hang_up(&other);
    for (int i = 0; i < FEW; i++) {
        hang_up(&hogs[i]);
    }
    finish(f);
}

/* ---- More than may be unfinished ---- */

enum { PLACES = 1000, MORE = 100, DESCRIPTORS = 3000 };

/* A ClientHello of 128 KiB is announced, and does not come. */
static const char half_hello[] = "\26\3\1\2\0\1\1\377\374\3\3";

static bool has_descriptors(void)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_cur < DESCRIPTORS && limit.rlim_max >= DESCRIPTORS) {
        limit.rlim_cur = DESCRIPTORS;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    }
    return limit.rlim_cur >= DESCRIPTORS;
}

static int open_handshake(struct tcp_bed *f, uint8_t n)
{
    size_t before = tcp_server_connections(f->server);
    int fd = connect_from(f, n);
    send_all(fd, half_hello, sizeof(half_hello) - 1);
    wait_for_connections(f, before + 1);
    run_some(f);
    return fd;
}

static void tcp_handshakes_close_all(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        close(fds[i]);
    }
}

/* A client that says nothing has no session, and takes nobody's turn to begin one. */
UNIT_TEST(test_silent_clients_have_not_begun)
{
    static int fds[TCP_HANDSHAKES_MAX + MORE];
    if (!has_descriptors()) {
        skip();
    }
    struct tcp_bed *f = setup(PLACES);
    test_clock_stop();
    pool.is_held = true;
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        fds[i] = connect_from(f, HOG);
        wait_for_connections(f, i + 1);
    }
    run_some(f);
    assert_int_equal(jobs_out(), 0);
    pool.is_held = false;
    struct peer p = connect_tls(f, HOG);
    assert_int_equal(tcp_server_evictions(f->server), 0);
    hang_up(&p);
    test_clock_run();
    tcp_handshakes_close_all(fds, ARRAY_LEN(fds));
    finish(f);
}

/* Everything that may be unfinished is one client's: its next ones wait, and another client's takes
 * the place of its oldest. */
UNIT_TEST(test_the_most_unfinished_give_way)
{
    static int fds[TCP_HANDSHAKES_MAX + MORE];
    if (!has_descriptors()) {
        skip();
    }
    struct tcp_bed *f = setup(PLACES);
    test_clock_stop();
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        if (i + 1 == ARRAY_LEN(fds)) {
            test_clock_advance_ms(TCP_HANDSHAKE_SLOW_MS); /* its own slow ones stay */
        }
        fds[i] = open_handshake(f, HOG);
    }
    assert_int_equal(tcp_server_evictions(f->server), 0);
    struct peer other = connect_tls(f, OTHER);
    assert_int_equal(tcp_server_evictions(f->server), 1);
    assert_int_equal(tcp_server_connections(f->server), ARRAY_LEN(fds));
    say(f, &other, "\0\2e!", 4);
    assert_heard(f, &other, "e!");
    assert_closed(f, fds[0]);
    hang_up(&other);
    tcp_handshakes_close_all(fds + 1, ARRAY_LEN(fds) - 1);
    wait_for_connections(f, 0);
    assert_int_equal(handshakes(f)->failed, ARRAY_LEN(fds));
    test_clock_run();
    finish(f);
}

/* More honest handshakes than may be unfinished, of one client: all are done, none is closed. */
UNIT_TEST(test_a_burst_is_served)
{
    static struct peer peers[TCP_HANDSHAKES_MAX + MORE];
    static bool is_done[ARRAY_LEN(peers)];
    size_t done = 0;
    if (!has_descriptors()) {
        skip();
    }
    struct tcp_bed *f = setup(PLACES);
    test_clock_stop();
    pool.is_held = true;
    for (size_t i = 0; i < ARRAY_LEN(peers); i++) {
        peers[i] = begin_as(f, HOG, "dot", NULL);
        assert_true(step(&peers[i]));
        wait_for_connections(f, i + 1);
    }
    run_some(f);
    assert_int_equal(jobs_out(), TCP_HANDSHAKES_MAX);
    release_pool();
    while (done < ARRAY_LEN(peers)) {
        for (size_t i = 0; i < ARRAY_LEN(peers); i++) {
            is_done[i] = is_done[i] || !step(&peers[i]);
        }
        ev_run(f->loop, EVRUN_NOWAIT);
        done = handshakes(f)->full;
    }
    assert_int_equal(handshakes(f)->failed, 0);
    assert_int_equal(tcp_server_evictions(f->server), 0);
    for (size_t i = 0; i < ARRAY_LEN(peers); i++) {
        hang_up(&peers[i]);
    }
    test_clock_run();
    finish(f);
}

/* Everybody has as many unfinished as the others: who has its share waits for a second, and then
 * takes the place of the oldest. */
UNIT_TEST(test_the_oldest_gives_way)
{
    static int fds[TCP_HANDSHAKES_MAX];
    if (!has_descriptors()) {
        skip();
    }
    struct tcp_bed *f = setup(PLACES);
    test_clock_stop();
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        fds[i] = open_handshake(f, (uint8_t)(10 + i % (ARRAY_LEN(fds) / 2)));
    }
    int early = open_handshake(f, OTHER);
    assert_int_equal(tcp_server_evictions(f->server), 1); /* of those with two */
    int same = open_handshake(f, OTHER);
    assert_int_equal(tcp_server_evictions(f->server), 1);
    test_clock_advance_ms(TCP_HANDSHAKE_SLOW_MS);
    struct peer late = connect_tls(f, OTHER);
    assert_int_equal(tcp_server_evictions(f->server), 3); /* `same` came first */
    hang_up(&late);
    close(early);
    close(same);
    test_clock_run();
    tcp_handshakes_close_all(fds, ARRAY_LEN(fds));
    finish(f);
}

/* The wait does not count: those held begin when the first are closed, and have as long as they. */
UNIT_TEST(test_held_handshakes_have_their_time)
{
    static int fds[TCP_HANDSHAKES_MAX + MORE];
    if (!has_descriptors()) {
        skip();
    }
    struct tcp_bed *f = setup(PLACES);
    test_clock_stop();
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        fds[i] = open_handshake(f, HOG);
    }
    ev_now_update(f->loop);
    test_clock_advance_ms(HANDSHAKE_MS + 1000);
    wait_for_connections(f, MORE);
    run_some(f);
    assert_int_equal(tcp_server_connections(f->server), MORE);
    test_clock_advance_ms(HANDSHAKE_MS + 1000);
    wait_for_connections(f, 0);
    test_clock_run();
    tcp_handshakes_close_all(fds, ARRAY_LEN(fds));
    finish(f);
}

/* Closed ones whose steps are due count until those are made: no client exhausts the descriptors,
 * nor the memory. */
UNIT_TEST(test_orphans_are_limited)
{
    enum { FEW = TCP_HANDSHAKES_MAX };
    static int fds[FEW + MORE];
    if (!has_descriptors()) {
        skip();
    }
    struct tcp_bed *f = setup(FEW);
    test_clock_stop();
    pool.is_held = true;
    for (size_t i = 0; i < FEW; i++) {
        fds[i] = open_handshake(f, HOG);
    }
    assert_int_equal(jobs_out(), FEW);
    for (size_t i = 0; i < MORE; i++) {
        fds[FEW + i] = connect_from(f, (uint8_t)(10 + i));
        send_all(fds[FEW + i], half_hello, sizeof(half_hello) - 1);
        while (tcp_server_evictions(f->server) < i + 1) {
            ev_run(f->loop, EVRUN_ONCE);
        }
    }
    run_some(f);
    assert_int_equal(jobs_out(), FEW);
    assert_int_equal(tcp_server_connections(f->server), FEW);
    test_clock_run();
    release_pool();
    run_some(f);
    tcp_handshakes_close_all(fds, ARRAY_LEN(fds));
    wait_for_connections(f, 0);
    finish(f);
}

/* While each thread of the pool has a job, what clients say waits in their sockets; a step's end
 * lets them go on, and none is forgotten. */
UNIT_TEST(test_a_busy_pool)
{
    enum { BUSY = 2, ALL = 6 };
    struct peer peers[ALL];
    bool is_done[ALL] = {false};
    size_t done = 0;
    struct tcp_bed *f = setup(ALL);
    pool.is_held = true;
    pool.threads = BUSY;
    for (size_t i = 0; i < ALL; i++) {
        peers[i] = begin_as(f, 1, "dot", NULL);
        wait_for_connections(f, i + 1);
    }
    for (size_t i = 0; i < ALL; i++) {
        assert_true(step(&peers[i]));
        wait_for_jobs(f, i < BUSY ? (unsigned)i + 1 : BUSY + 1); /* one more: it woke in vain */
    }
    run_some(f);
    assert_int_equal(jobs_out(), BUSY + 1);
    release_pool();
    while (done < ALL) {
        for (size_t i = 0; i < ALL; i++) {
            is_done[i] = is_done[i] || !step(&peers[i]);
        }
        ev_run(f->loop, EVRUN_NOWAIT);
        done = handshakes(f)->full;
    }
    for (size_t i = 0; i < ALL; i++) {
        hang_up(&peers[i]);
    }
    finish(f);
}

/* With jobs at the pool, which is stopped. */
UNIT_TEST(test_freed_during_handshakes)
{
    struct tcp_bed *f = setup(4);
    pool.is_held = true;
    struct peer p = begin_as(f, 1, "dot", NULL);
    assert_true(step(&p));
    wait_for_jobs(f, 1);
    finish(f);
    hang_up(&p);
}
