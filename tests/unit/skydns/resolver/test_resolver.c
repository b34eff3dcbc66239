/* Workers and resolver together, with the real engine and store: deferred queries over UDP and TCP,
 * with this test as the nameserver; and shutdown. Real sockets on loopback. */
#include "tests/unit/skydns/resolver/resolver_bed.h"

#include "skydns/resolver/turn.h"
#include "tests/support/unit_test.h"

UNIT_TESTS_HAVE_THREADS

/* ---- Tests ---- */

UNIT_FIXTURE_MADE(setup(TIMEOUT_S * 1000), teardown)

UNIT_TEST_ON(test_before_the_first_sync, struct fixture *f)
{
    int fd = client(f, SOCK_DGRAM);
    struct message ours = question(1, "web.cluster.local."), theirs = question(2, "www.test.");
    send_udp(fd, &ours);
    struct message m = receive_udp(fd);
    assert_int_equal(rcode_of(&m), SERVFAIL);
    send_udp(fd, &theirs);
    answer_as_upstream(f, "www.test.");
    m = receive_udp(fd);
    assert_int_equal(rcode_of(&m), NOERROR);
    assert_int_equal(id_of(&m), 2);
    close(fd);
    stop(f);
}

UNIT_TEST_ON(test_external_names_are_forwarded, struct fixture *f)
{
    struct message q = question(0x1234, "WWW.Test.");
    publish(f);
    int udp = client(f, SOCK_DGRAM), tcp = client(f, SOCK_STREAM);
    send_udp(udp, &q);
    answer_as_upstream(f, "www.test.");
    struct message m = receive_udp(udp);
    assert_int_equal(id_of(&m), 0x1234);
    assert_int_equal(answers_in(&m), 1);

    send_tcp(tcp, &q);
    answer_as_upstream(f, "www.test.");
    m = receive_tcp(tcp);
    assert_int_equal(id_of(&m), 0x1234);
    assert_int_equal(answers_in(&m), 1);
    close(udp);
    close(tcp);
    stop(f);
    assert_int_equal(counts(f).deferred, 1);
}

/* A record that points outside the domain: the CNAME and the nameserver's answer. */
UNIT_TEST_ON(test_targets_are_looked_up, struct fixture *f)
{
    struct message q = question(7, "ext.cluster.local.");
    put_host(f, "ext.cluster.local.", "www.test.");
    publish(f);
    int fds[2] = {client(f, SOCK_DGRAM), client(f, SOCK_STREAM)};
    for (int tcp = 0; tcp < 2; tcp++) {
        tcp ? send_tcp(fds[tcp], &q) : send_udp(fds[tcp], &q);
        answer_as_upstream(f, "www.test.");
        struct message m = tcp ? receive_tcp(fds[tcp]) : receive_udp(fds[tcp]);
        assert_int_equal(id_of(&m), 7);
        assert_int_equal(rcode_of(&m), NOERROR);
        assert_int_equal(answers_in(&m), 2);
        close(fds[tcp]);
    }
    stop(f);
}

UNIT_TEST_ON(test_a_dead_nameserver_is_servfail, struct fixture *f)
{
    struct message q = question(9, "www.test.");
    publish(f);
    int udp = client(f, SOCK_DGRAM), tcp = client(f, SOCK_STREAM);
    close(f->upstream_udp);
    close(f->upstream_tcp);
    f->upstream_udp = f->upstream_tcp = -1;
    send_udp(udp, &q);
    struct message m = receive_udp(udp);
    assert_int_equal(id_of(&m), 9);
    assert_int_equal(rcode_of(&m), SERVFAIL);
    send_tcp(tcp, &q);
    m = receive_tcp(tcp);
    assert_int_equal(id_of(&m), 9);
    assert_int_equal(rcode_of(&m), SERVFAIL);
    close(udp);
    close(tcp);
    stop(f);
}

/* Records below many.cluster.local, one of them an IPv4 address: a short answer to
 * *.many.cluster.local after a long walk. */
static void resolver_put_many(struct fixture *f, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        char name[64], host[32];
        (void)snprintf(name, sizeof(name), "r%u.many.cluster.local.", i);
        (void)snprintf(host, sizeof(host), "fd00::%x", i + 1);
        put_host(f, name, host);
    }
    put_host(f, "last.many.cluster.local.", "10.1.0.1");
    publish(f);
}

/* Walks of some milliseconds each. */
enum { LONG = 20000, SHORTER = 4000 };

/* The walker answers them. */
UNIT_TEST_ON(test_long_scans_are_deferred, struct fixture *f)
{
    int udp = client(f, SOCK_DGRAM);
    struct message q = question(3, "*.many.cluster.local.");
    resolver_put_many(f, ENGINE_SCAN_MAX + 1);
    send_udp(udp, &q);
    struct message m = receive_udp(udp);
    assert_int_equal(rcode_of(&m), NOERROR);
    assert_int_equal(answers_in(&m), 1);
    close(udp);
    stop(f);
    assert_int_equal(counts(f).deferred, 1);
    assert_int_equal(counts(f).refused, 0);
}

/* In one batch, an answer that takes hundreds of visits delays none that came after it. */
UNIT_TEST(test_expensive_answers_come_last)
{
    enum { MANY = 200, CHEAP = 20 };
    struct fixture *f = setup_still(TIMEOUT_S * 1000);
    struct message expensive = question(1, "*.many.cluster.local.");
    struct message cheap = question(2, "web.cluster.local.");
    resolver_put_many(f, MANY);
    put_host(f, "web.cluster.local.", "10.0.0.1");
    publish(f);
    int udp = client(f, SOCK_DGRAM);
    send_udp(udp, &expensive);
    send_udp(udp, &expensive);
    for (unsigned i = 0; i < CHEAP; i++) {
        send_udp(udp, &cheap);
    }
    start_resolver(f);
    start_workers(f);
    for (unsigned i = 0; i < CHEAP + 2; i++) {
        struct message m = receive_udp(udp);
        assert_int_equal(id_of(&m), i < CHEAP ? 2 : 1);
        assert_int_equal(answers_in(&m), 1);
    }
    close(udp);
    stop(f);
    teardown(f);
}

/* One turn of the resolver's loop makes few answers of hundreds of visits; the walker makes the
 * others, and all are the same. */
UNIT_TEST_ON(test_expensive_answers_of_a_turn, struct fixture *f)
{
    enum { MANY = 200, QUERIES = 5 * TURN_EXPENSIVE_MAX };
    struct message q = question(3, "*.many.cluster.local.");
    uint8_t frames[QUERIES * 64];
    struct writer w = writer_of(frames, sizeof(frames));
    resolver_put_many(f, MANY);
    int tcp = client(f, SOCK_STREAM);
    for (unsigned i = 0; i < QUERIES; i++) {
        writer_u16(&w, (uint16_t)q.len);
        writer_bytes(&w, q.wire, q.len);
    }
    assert_int_equal(send(tcp, frames, w.pos, MSG_NOSIGNAL), w.pos);
    for (unsigned i = 0; i < QUERIES; i++) {
        struct message m = receive_tcp(tcp);
        assert_int_equal(rcode_of(&m), NOERROR);
        assert_int_equal(answers_in(&m), 1);
    }
    close(tcp);
    stop(f);
    struct query_sums sums = {0};
    query_sums_add(&sums, &resolver_counts(f->resolver)->tcp);
    assert_int_equal(sums.queries, QUERIES);
    assert_in_range(sums.deferred, 1, QUERIES - 1); /* a turn reads what has arrived: mostly all */
}

/* A walk that finds names of other domains: the nameserver is asked, then it is walked again. */
UNIT_TEST_ON(test_scans_find_other_domains, struct fixture *f)
{
    struct message q = question(3, "*.many.cluster.local.");
    resolver_put_many(f, ENGINE_SCAN_MAX + 1);
    put_host(f, "ext.many.cluster.local.", "www.test.");
    publish(f);
    int fds[2] = {client(f, SOCK_DGRAM), client(f, SOCK_STREAM)};
    for (int tcp = 0; tcp < 2; tcp++) {
        tcp ? send_tcp(fds[tcp], &q) : send_udp(fds[tcp], &q);
        answer_as_upstream(f, "www.test.");
        struct message m = tcp ? receive_tcp(fds[tcp]) : receive_udp(fds[tcp]);
        assert_int_equal(id_of(&m), 3);
        assert_int_equal(rcode_of(&m), NOERROR);
        assert_int_equal(answers_in(&m), 3); /* its own address, the CNAME and what it points to */
        close(fds[tcp]);
    }
    stop(f);
}

/* The records point elsewhere when the nameserver replies: its client should ask again, however
 * many of them there are. */
UNIT_TEST(test_outdated_lookups_are_refused)
{
    static const unsigned counts_of[] = {1, ENGINE_BRIEF_MAX + 1, ENGINE_SCAN_MAX + 1};
    struct message q = question(3, "*.many.cluster.local.");
    struct addr from;
    for (unsigned i = 0; i < 3 * 2; i++) {
        bool is_changed = i % 2;
        struct fixture *f = setup(TIMEOUT_S * 1000);
        resolver_put_many(f, counts_of[i / 2]);
        put_host(f, "ext.many.cluster.local.", "www.test.");
        publish(f);
        int udp = client(f, SOCK_DGRAM);
        send_udp(udp, &q);
        struct message asked = receive_as_upstream(f, &from);
        put_host(f, "ext.many.cluster.local.", is_changed ? "other.test." : "www.test.");
        put_host(f, "web.cluster.local.", "10.0.0.1");
        publish_as(f, 2);
        make_reply(&asked, "www.test.");
        assert_int_equal(sendto(f->upstream_udp, asked.wire, asked.len, 0, &from.sa, from.len),
                         asked.len);
        struct message m = receive_udp(udp);
        assert_int_equal(rcode_of(&m), is_changed ? SERVFAIL : NOERROR);
        close(udp);
        stop(f);
        teardown(f);
    }
}

/* A walk that waits too long, or takes too long, is SERVFAIL. */
UNIT_TEST(test_late_scans_are_refused)
{
    struct message q = question(3, "*.many.cluster.local.");
    for (int waits = 0; waits < 2; waits++) {
        struct fixture *f = setup_still(TIMEOUT_S * 1000);
        close_servers(f);
        f->pool_wait_ms = waits ? 0 : f->pool_wait_ms;
        f->pool_answer_ms = waits ? f->pool_answer_ms : 0;
        assert_int_equal(open_servers(f), 0);
        start_resolver(f);
        start_workers(f);
        resolver_put_many(f, LONG);
        int udp = client(f, SOCK_DGRAM);
        send_udp(udp, &q);
        struct message m = receive_udp(udp);
        assert_int_equal(id_of(&m), 3);
        assert_int_equal(rcode_of(&m), SERVFAIL);
        close(udp);
        stop(f);
        teardown(f);
    }
}

/* All over different names, so that none is kept. */
static void put_scans(struct writer *w, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "x%u.*.many.cluster.local.", i);
        struct message m = question(1, name);
        writer_u16(w, (uint16_t)m.len);
        writer_bytes(w, m.wire, m.len);
    }
    assert_false(w->failed);
}

/* Walks first, then a foreign name, all in one segment. Its nameserver is dead, so its reply takes
 * a few loop iterations, but no time of others. */
UNIT_TEST_ON(test_external_names_do_not_wait_for_scans, struct fixture *f)
{
    enum { SCANS = 10 };
    struct message external = question(2, "www.test.");
    uint8_t frames[(SCANS + 1) * 64];
    struct writer w = writer_of(frames, sizeof(frames));
    resolver_put_many(f, LONG);
    int tcp = client(f, SOCK_STREAM);
    close(f->upstream_udp);
    f->upstream_udp = -1;
    put_scans(&w, SCANS);
    writer_u16(&w, (uint16_t)external.len);
    writer_bytes(&w, external.wire, external.len);
    assert_false(w.failed);
    assert_int_equal(send(tcp, frames, w.pos, MSG_NOSIGNAL), w.pos);
    unsigned scans_before = 0, scans_after = 0;
    bool is_external_there = false;
    for (unsigned i = 0; i <= SCANS; i++) {
        struct message m = receive_tcp(tcp);
        if (id_of(&m) == 2) {
            is_external_there = true;
        } else {
            assert_int_equal(rcode_of(&m), NOERROR);
            is_external_there ? scans_after++ : scans_before++;
        }
    }
    assert_true(is_external_there);
    assert_int_equal(scans_before + scans_after, SCANS);
    assert_in_range(scans_before, 0, SCANS / 2);
    close(tcp);
    stop(f);
}

/* A client has its part of what may wait: the rest is refused at once, every query gets an answer,
 * and another client still has its own. */
UNIT_TEST_ON(test_too_many_scans_are_refused, struct fixture *f)
{
    enum { MANY = RESOLVER_CLIENT_SCANS_MAX + 500 };
    struct message scan = question(7, "*.many.cluster.local.");
    struct addr other = {
        .v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1)},
        .len = sizeof(other.v4)};
    unsigned refused = 0;
    resolver_put_many(f, SHORTER);
    int tcp = client(f, SOCK_STREAM), udp = patient_socket(SOCK_DGRAM);
    assert_int_equal(bind(udp, &other.sa, other.len), 0);
    assert_int_equal(connect(udp, &f->address.sa, f->address.len), 0);
    uint8_t frames[MANY * 64];
    struct writer w = writer_of(frames, sizeof(frames));
    put_scans(&w, MANY);
    assert_int_equal(send(tcp, frames, w.pos, MSG_NOSIGNAL), w.pos);
    struct message m = receive_tcp(tcp); /* some are refused, so its part is used up */
    refused += rcode_of(&m) == SERVFAIL;
    send_udp(udp, &scan);
    for (unsigned i = 1; i < MANY; i++) {
        m = receive_tcp(tcp);
        refused += rcode_of(&m) == SERVFAIL;
    }
    assert_in_range(refused, 1, MANY - 1);
    m = receive_udp(udp);
    assert_int_equal(rcode_of(&m), NOERROR);
    assert_int_equal(answers_in(&m), 1);
    close(tcp);
    close(udp);
    stop(f);
}

/* Pipelined over TCP: immediate answers overtake deferred ones. */
UNIT_TEST_ON(test_tcp_answers_overtake, struct fixture *f)
{
    struct message slow = question(1, "ext.cluster.local."),
                   quick = question(2, "web.cluster.local.");
    put_host(f, "ext.cluster.local.", "www.test.");
    put_host(f, "web.cluster.local.", "10.0.0.1");
    publish(f);
    int tcp = client(f, SOCK_STREAM);
    send_tcp(tcp, &slow);
    send_tcp(tcp, &quick);
    struct message m = receive_tcp(tcp);
    assert_int_equal(id_of(&m), 2);
    answer_as_upstream(f, "www.test.");
    m = receive_tcp(tcp);
    assert_int_equal(id_of(&m), 1);
    close(tcp);
    stop(f);
}

/* The resolver is not running: the client's share of the ring fills up, then the worker answers
 * SERVFAIL itself, but not to another client. */
UNIT_TEST(test_a_full_ring_is_servfail)
{
    enum { SHARE = DEFERRED_RING_SIZE / 2 };
    struct fixture *f = setup_still(TIMEOUT_S * 1000);
    struct message q = question(11, "www.test.");
    publish(f);
    start_workers(f);
    int hog = client_from(f, "127.0.0.2", SOCK_DGRAM);
    int other = client_from(f, "127.0.0.3", SOCK_DGRAM);
    for (unsigned sent = 1; sent <= SHARE + 1; sent++) {
        send_udp(hog, &q);
        while (counts(f).queries < sent) { /* some machines have small socket buffers */
            (void)sched_yield();
        }
    }
    struct message m = receive_udp(hog);
    assert_int_equal(id_of(&m), 11);
    assert_int_equal(rcode_of(&m), SERVFAIL);
    send_udp(other, &q);
    while (counts(f).queries < SHARE + 2) {
        (void)sched_yield();
    }
    stop(f);
    assert_int_equal(counts(f).deferred, SHARE + 1);
    assert_int_equal(counts(f).refused, 1);
    close(hog);
    close(other);
    teardown(f);
}

/* Half of the places are one client's at most: its further queries are refused, another's are not.
 * The nameserver is silent, and asked once: the questions are the same. */
UNIT_TEST_ON(test_one_client_leaves_places, struct fixture *f)
{
    enum { SHARE = RESOLVER_IN_HAND_MAX / 2 };
    struct message q = question(1, "www.test."), other_q = question(2, "www.test.");
    struct addr from;
    publish(f);
    int hog = client_from(f, "127.0.0.2", SOCK_DGRAM);
    for (size_t i = 1; i <= SHARE; i++) {
        send_udp(hog, &q);
        wait_in_hand(f, i);
    }
    struct message asked = receive_as_upstream(f, &from);
    send_udp(hog, &q);
    struct message m = receive_udp(hog);
    assert_int_equal(rcode_of(&m), SERVFAIL);
    int udp = client_from(f, "127.0.0.3", SOCK_DGRAM), tcp = client(f, SOCK_STREAM);
    send_udp(udp, &other_q);
    wait_in_hand(f, SHARE + 1);
    send_tcp(tcp, &other_q);
    wait_in_hand(f, SHARE + 2);
    make_reply(&asked, "www.test.");
    assert_int_equal(sendto(f->upstream_udp, asked.wire, asked.len, 0, &from.sa, from.len),
                     asked.len);
    m = receive_udp(udp);
    assert_int_equal(rcode_of(&m), NOERROR);
    m = receive_tcp(tcp);
    assert_int_equal(rcode_of(&m), NOERROR);
    wait_in_hand(f, 0);
    send_udp(hog, &q); /* its share is free again */
    answer_as_upstream(f, "www.test.");
    close(hog);
    close(udp);
    close(tcp);
    stop(f);
}

/* The same of the places for external names. */
UNIT_TEST_ON(test_one_client_leaves_lookups, struct fixture *f)
{
    enum { SHARE = RESOLVER_LOOKUPS_MAX / 2 };
    struct message q = question(1, "ext.cluster.local."),
                   other_q = question(2, "ext.cluster.local.");
    struct addr from;
    put_host(f, "ext.cluster.local.", "www.test.");
    publish(f);
    int hog = client_from(f, "127.0.0.2", SOCK_DGRAM);
    for (size_t i = 1; i <= SHARE; i++) {
        send_udp(hog, &q);
        wait_in_hand(f, i);
    }
    struct message asked = receive_as_upstream(f, &from);
    send_udp(hog, &q);
    struct message m = receive_udp(hog);
    assert_int_equal(rcode_of(&m), SERVFAIL);
    int udp = client_from(f, "127.0.0.3", SOCK_DGRAM);
    send_udp(udp, &other_q);
    wait_in_hand(f, SHARE + 1);
    make_reply(&asked, "www.test.");
    assert_int_equal(sendto(f->upstream_udp, asked.wire, asked.len, 0, &from.sa, from.len),
                     asked.len);
    m = receive_udp(udp);
    assert_int_equal(rcode_of(&m), NOERROR);
    wait_in_hand(f, 0);
    send_udp(hog, &q); /* its share is free again */
    answer_as_upstream(f, "www.test.");
    wait_in_hand(f, 0);
    close(hog);
    close(udp);
    stop(f);
}

/* A client's TCP connections may have as many queries deferred as their ring has places. */
UNIT_TEST_ON(test_one_tcp_client_leaves_places, struct fixture *f)
{
    enum { CLIENTS = 40, EACH = 128, SENT = CLIENTS * EACH };
    struct message q = question(1, "www.test.");
    uint8_t frames[EACH * 64];
    struct writer w = writer_of(frames, sizeof(frames));
    int tcp[CLIENTS];
    publish(f);
    for (unsigned i = 0; i < EACH; i++) {
        writer_u16(&w, (uint16_t)q.len);
        writer_bytes(&w, q.wire, q.len);
    }
    assert_false(w.failed);
    for (unsigned i = 0; i < CLIENTS; i++) {
        tcp[i] = client_from(f, "127.0.0.2", SOCK_STREAM);
        assert_int_equal(send(tcp[i], frames, w.pos, MSG_NOSIGNAL), w.pos);
    }
    const struct query_counts *sums = &resolver_counts(f->resolver)->tcp;
    while (counter_get(&sums->deferred) + counter_get(&sums->refused) < SENT) {
        (void)sched_yield();
    }
    size_t taken = counter_get(&sums->deferred);
    assert_in_range(taken, DEFERRED_RING_SIZE / 2, DEFERRED_RING_SIZE);
    int other = client(f, SOCK_STREAM);
    send_tcp(other, &q);
    wait_in_hand(f, taken + 1);
    answer_as_upstream(f, "www.test.");
    struct message m = receive_tcp(other);
    assert_int_equal(rcode_of(&m), NOERROR);
    for (unsigned i = 0; i < CLIENTS; i++) {
        close(tcp[i]);
    }
    close(other);
    stop(f);
}

/* Longer than any answer needs it: forwarded like a short one. */
UNIT_TEST_ON(test_a_long_query_is_forwarded, struct fixture *f)
{
    enum { RECORD = 11, ADDRESSES = 4000 };
    struct message q = question(0x4321, "WWW.Test.");
    size_t data_len = ADDRESSES - q.len - RECORD;
    const uint8_t record[RECORD] = {
        0, 0, 16, 0, IN, [9] = (uint8_t)(data_len >> 8), [10] = (uint8_t)data_len};
    publish(f);
    memcpy(q.wire + q.len, record, RECORD);
    memset(q.wire + q.len + RECORD, 0, data_len);
    q.wire[11] = 1; /* additional records */
    size_t name_end = q.len - 4;
    q.len = ADDRESSES;
    int tcp = client(f, SOCK_STREAM);
    send_tcp(tcp, &q);
    answer_as_upstream(f, "www.test.");
    struct message m = receive_tcp(tcp);
    assert_int_equal(id_of(&m), 0x4321);
    assert_int_equal(rcode_of(&m), NOERROR);
    assert_int_equal(answers_in(&m), 1);
    assert_memory_equal(m.wire + 12, q.wire + 12, name_end - 12); /* as typed */
    close(tcp);
    stop(f);
}

/* On stop, queries waiting for a nameserver get SERVFAIL, over both transports. */
UNIT_TEST_ON(test_stop_answers_what_waits, struct fixture *f)
{
    struct message q = question(5, "ext.cluster.local."), other = question(5, "two.cluster.local.");
    struct addr from;
    uint8_t byte;
    put_host(f, "ext.cluster.local.", "www.test.");
    put_host(f, "two.cluster.local.", "two.test.");
    publish(f);
    int udp = client(f, SOCK_DGRAM), tcp = client(f, SOCK_STREAM);
    send_udp(udp, &q);
    (void)receive_as_upstream(f, &from); /* reached the nameserver, which does not reply */
    send_tcp(tcp, &other);
    (void)receive_as_upstream(f, &from);
    stop(f);
    struct message m = receive_udp(udp);
    assert_int_equal(rcode_of(&m), SERVFAIL);
    m = receive_tcp(tcp);
    assert_int_equal(rcode_of(&m), SERVFAIL);
    assert_int_equal(recv(tcp, &byte, 1, 0), 0);
    close(udp);
    close(tcp);
}

/* The same of walks that wait for a nameserver, and of those that wait for the walker. */
UNIT_TEST_ON(test_stop_answers_scans, struct fixture *f)
{
    enum { SCANS = 8 };
    struct message q = question(5, "*.many.cluster.local.");
    uint8_t frames[SCANS * 64], byte;
    struct writer w = writer_of(frames, sizeof(frames));
    struct addr from;
    resolver_put_many(f, LONG);
    put_host(f, "ext.many.cluster.local.", "www.test.");
    publish(f);
    int udp = client(f, SOCK_DGRAM), tcp = client(f, SOCK_STREAM);
    send_udp(udp, &q);
    (void)receive_as_upstream(f, &from); /* which does not reply */
    put_scans(&w, SCANS);
    assert_int_equal(send(tcp, frames, w.pos, MSG_NOSIGNAL), w.pos);
    while (counter_get(&resolver_counts(f->resolver)->tcp.deferred) < SCANS) {
        (void)sched_yield();
    }
    stop(f);
    struct message m = receive_udp(udp);
    assert_int_equal(rcode_of(&m), SERVFAIL);
    for (unsigned i = 0; i < SCANS; i++) { /* walked or refused */
        m = receive_tcp(tcp);
        assert_int_equal(id_of(&m), 1);
    }
    assert_int_equal(recv(tcp, &byte, 1, 0), 0);
    close(udp);
    close(tcp);
}
