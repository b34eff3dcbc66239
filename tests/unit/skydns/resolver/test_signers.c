/* Queries that wait for signatures, with the real engine, keys and sockets: whoever asks first
 * waits for the signers; whoever asks again does not; a flood takes nothing from the others. */
#include "tests/unit/skydns/resolver/resolver_bed.h"

#include "skydns/dnssec/dnssec.h"
#include "tests/support/skydns/sample_keys.h"
#include "tests/support/unit_test.h"

UNIT_TESTS_HAVE_THREADS

enum { RRSIG = 46, FLOOD = 3 * RESOLVER_SIGNS_MAX, NXDOMAIN = 3 };

static void be_signed(struct fixture *f, struct engine_config *config)
{
    struct signing_key *keys[] = {sample_key_new(SAMPLE_ECDSAP256_ZSK)};
    struct err err;
    assert_int_equal(dnssec_new(keys, 1, 10000, &config->dnssec, &err), 0);
}

static struct fixture *setup_signed(void)
{
    struct fixture *f = setup_still_with(5000, RESOLVER_STALE_WAIT_MS, be_signed);
    put_host(f, "web.cluster.local.", "192.0.2.1");
    put_host(f, "out.cluster.local.", "www.example.org.");
    put_host(f, "out2.cluster.local.", "www.example.org.");
    publish(f);
    return f;
}

UNIT_FIXTURE_MADE(setup_signed(), teardown)

static struct message signed_question(uint16_t id, const char *name_text)
{
    static const uint8_t opt[] = {0, 0, 41, 0x10, 0, 0, 0, 0x80, 0, 0, 0};
    struct message m = question(id, name_text);
    memcpy(m.wire + m.len, opt, sizeof(opt));
    m.len += sizeof(opt);
    m.wire[11] = 1;
    return m;
}

static unsigned records_in(const struct message *m, unsigned section)
{
    return (unsigned)(m->wire[6 + 2 * section] << 8 | m->wire[7 + 2 * section]);
}

/* Counts the signatures in the answer and authority sections. */
static unsigned signatures_in(const struct message *m)
{
    unsigned count = records_in(m, 0) + records_in(m, 1), found = 0;
    struct reader r = reader_of(m->wire, m->len);
    struct dname name;
    reader_seek(&r, 12);
    assert_true(dname_read(&r, &name));
    reader_seek(&r, r.pos + 4);
    for (unsigned i = 0; i < count; i++) {
        assert_true(dname_read(&r, &name));
        found += reader_u16(&r) == RRSIG;
        reader_seek(&r, r.pos + 6);
        size_t len = reader_u16(&r);
        reader_seek(&r, r.pos + len);
    }
    assert_false(r.failed);
    return found;
}

static uint64_t signers_deferred(const struct fixture *f)
{
    return counter_get(&resolver_counts(f->resolver)->signing);
}

static uint64_t signers_refused(const struct fixture *f)
{
    return counter_get(&resolver_counts(f->resolver)->signing_refused);
}

/* The workers never make one; what is kept they give themselves. */
UNIT_TEST_ON(test_made_once, struct fixture *f)
{
    int udp, tcp;
    start_threads(f);
    udp = client(f, SOCK_DGRAM);
    tcp = client(f, SOCK_STREAM);
    for (uint16_t i = 0; i < 6; i++) {
        struct message m = signed_question(i, "web.cluster.local.");
        i % 2 ? send_tcp(tcp, &m) : send_udp(udp, &m);
        m = i % 2 ? receive_tcp(tcp) : receive_udp(udp);
        assert_int_equal(id_of(&m), i);
        assert_int_equal(answers_in(&m), 2);
        assert_int_equal(signatures_in(&m), 1);
        assert_int_equal(signers_deferred(f), 1);
    }
    struct message m = question(7, "web.cluster.local.");
    send_udp(udp, &m);
    m = receive_udp(udp);
    assert_int_equal(answers_in(&m), 1);
    m = signed_question(8, "nothing.cluster.local.");
    send_tcp(tcp, &m);
    m = receive_tcp(tcp);
    assert_int_equal(rcode_of(&m), NXDOMAIN);
    assert_int_equal(signatures_in(&m), records_in(&m, 1) / 2);
    assert_int_equal(signers_deferred(f), 2);
    assert_int_equal(signers_refused(f), 0);
    close(udp);
    close(tcp);
    stop(f);
}

/* Our part of an answer that a nameserver has the rest of. */
UNIT_TEST_ON(test_with_a_target_elsewhere, struct fixture *f)
{
    int udp, tcp;
    start_threads(f);
    udp = client(f, SOCK_DGRAM);
    tcp = client(f, SOCK_STREAM);
    struct message m = signed_question(1, "out.cluster.local.");
    send_udp(udp, &m);
    answer_as_upstream(f, "www.example.org.");
    m = receive_udp(udp);
    assert_int_equal(rcode_of(&m), NOERROR);
    assert_int_equal(answers_in(&m), 3);
    assert_int_equal(signatures_in(&m), 1);
    m = signed_question(2, "out2.cluster.local.");
    send_tcp(tcp, &m);
    answer_as_upstream(f, "www.example.org.");
    m = receive_tcp(tcp);
    assert_int_equal(signatures_in(&m), 1);
    assert_int_equal(signers_deferred(f), 2);
    close(udp);
    close(tcp);
    stop(f);
}

static void send_flood(int fd, unsigned round)
{
    char name[64];
    for (unsigned i = 0; i < FLOOD; i++) {
        (void)snprintf(name, sizeof(name), "x%u-%u.cluster.local.", round, i);
        struct message m = signed_question((uint16_t)i, name);
        (void)!send(fd, m.wire, m.len, MSG_DONTWAIT); /* some are lost, of course */
    }
}

/* A query that the signers have no place for is dropped over UDP; another client has its turn. */
UNIT_TEST_ON(test_a_flood_takes_nothing_from_others, struct fixture *f)
{
    start_threads(f);
    int hostile = client_from(f, "127.0.0.66", SOCK_DGRAM), other = client(f, SOCK_DGRAM);
    int tcp = client(f, SOCK_STREAM);
    struct message m = signed_question(1, "web.cluster.local.");
    send_udp(other, &m);
    (void)receive_udp(other);
    for (uint16_t round = 0; round < 5; round++) {
        char name[64];
        send_flood(hostile, round);
        (void)snprintf(name, sizeof(name), "first-%u.cluster.local.", (unsigned)round);
        m = signed_question(round, "web.cluster.local."); /* kept */
        send_tcp(tcp, &m);
        m = receive_tcp(tcp);
        assert_int_equal(signatures_in(&m), 1);
        m = signed_question(round, name);
        send_tcp(tcp, &m);
        m = receive_tcp(tcp);
        assert_int_equal(rcode_of(&m), NXDOMAIN);
        assert_true(signatures_in(&m) > 0);
    }
    wait_in_hand(f, 0);
    close(hostile);
    close(other);
    close(tcp);
    stop(f);
}

/* One client has half of the places; beyond, its queries are as good as lost. */
UNIT_TEST_ON(test_limits, struct fixture *f)
{
    const struct addr from = loopback_addr(9);
    char name[64];
    const struct deferred_origin origin = {.to = udp_server_reply_to(f->udp[0])};
    for (unsigned i = 0; i < RESOLVER_SIGNS_MAX; i++) {
        (void)snprintf(name, sizeof(name), "x%u.cluster.local.", i);
        struct message m = signed_question((uint16_t)i, name);
        struct query parsed;
        const struct engine_query query = {.parsed = &parsed, .client = &from, .local = &from};
        query_parse(m.wire, m.len, &parsed);
        assert_true(resolver_defer(f->resolver, 0, &query, ENGINE_DEFER_SIGN, &origin));
    }
    start_threads(f);
    while (signers_deferred(f) < RESOLVER_SIGNS_MAX) {
        (void)sched_yield();
    }
    wait_in_hand(f, 0);
    stop(f);
    assert_in_range(signers_refused(f), 0, RESOLVER_SIGNS_MAX / 2);
    assert_int_equal(counter_get(&resolver_counts(f->resolver)->udp.rcodes[NXDOMAIN]) +
                         signers_refused(f),
                     RESOLVER_SIGNS_MAX);
}

/* Too late: the client has asked again. */
UNIT_TEST(test_too_late)
{
    struct fixture *f = setup_still_with(5000, RESOLVER_STALE_WAIT_MS, be_signed);
    close_servers(f);
    f->pool_wait_ms = 0;
    assert_int_equal(open_servers(f), 0);
    put_host(f, "web.cluster.local.", "192.0.2.1");
    publish(f);
    start_threads(f);
    int udp = client(f, SOCK_DGRAM), tcp = client(f, SOCK_STREAM);
    struct message m = signed_question(1, "web.cluster.local.");
    send_tcp(tcp, &m);
    m = receive_tcp(tcp);
    assert_int_equal(rcode_of(&m), SERVFAIL);
    m = signed_question(2, "web.cluster.local.");
    send_udp(udp, &m);
    while (signers_refused(f) < 2) {
        (void)sched_yield();
    }
    wait_in_hand(f, 0);
    m = question(3, "web.cluster.local.");
    send_udp(udp, &m);
    m = receive_udp(udp);
    assert_int_equal(id_of(&m), 3); /* the other had no reply */
    close(udp);
    close(tcp);
    stop(f);
    teardown(f);
}

/* Whatever waits at the end is answered, or given up. */
UNIT_TEST(test_stops_while_busy)
{
    for (unsigned i = 0; i < 3; i++) {
        struct fixture *f = setup_signed();
        start_threads(f);
        int hostile = client_from(f, "127.0.0.66", SOCK_DGRAM);
        send_flood(hostile, i);
        stop(f);
        close(hostile);
        teardown(f);
    }
}
