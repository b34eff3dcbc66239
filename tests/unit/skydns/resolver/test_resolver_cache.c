/* Checks the caching of upstreams' responses, from workers to the upstream and back: hits,
 * refreshes, stale answers in place of failures, and how few questions a failing upstream gets. */
#include "tests/unit/skydns/resolver/resolver_bed.h"

#include "common/base/clock.h"
#include "skydns/upstream/forwarder_counts.h"
#include "tests/support/skydns/response_bytes.h"
#include "tests/support/unit_test.h"

UNIT_TESTS_HAVE_THREADS

enum { EDE_NONE = -1, EDE_STALE = 3, EDE_CACHED = 13, EDE_NO_AUTHORITY = 22, EDE_NETWORK = 23 };

/* No client has to wait for so long. */
enum { NEVER_MS = TIMEOUT_S * 1000 };

/* ---- Configurations ---- */

static void with_cache(struct fixture *f, struct engine_config *config)
{
    config->cache = cache_new(1000);
    config->cache_limits = (struct cache_limits){.ttl_max_s = 3600, .stale_ms = 3600 * 1000};
    config->allows_all = true;
}

/* The recursion list has the client, the published one does not. */
static void with_newer_clients(struct fixture *f, struct engine_config *config)
{
    with_cache(f, config);
    config->allows_all = false;
}

static void with_stub_zone(struct fixture *f, struct engine_config *config)
{
    const struct forward_zone zones[] = {
        {.name = {.len = 1}, .server_count = 1, .servers = {{.address = f->upstream_address}}},
        {.name = dname_from("acme.test."),
         .server_count = 1,
         .servers = {{.address = f->upstream_address}}},
    };
    struct zone_table *old = config->zones_of_others;
    with_cache(f, config);
    config->zones_of_others = zone_table_new(zones, 2, old);
    zone_table_unref(old);
}

static struct fixture *resolver_cache_begin(uint32_t timeout_ms, uint32_t stale_wait_ms,
                                            configure_fn configure)
{
    struct fixture *f = setup_still_with(timeout_ms, stale_wait_ms, configure);
    put_host(f, "ext.cluster.local.", "www.test.");
    publish(f);
    return f;
}

static void resolver_cache_end(struct fixture *f)
{
    stop(f);
    teardown(f);
}

/* ---- Messages ---- */

static struct message with_edns(struct message m)
{
    static const uint8_t opt[] = {0, 0, 41, 0x04, 0xd0, 0, 0, 0, 0, 0, 0};
    memcpy(m.wire + m.len, opt, sizeof(opt));
    m.wire[11] = 1;
    m.len += sizeof(opt);
    return m;
}

/* Returns the extended error of a response whose OPT record comes last, with no other option. */
static int ede_of(const struct message *m)
{
    static const uint8_t option[] = {0, 15, 0, 2};
    const uint8_t *at = m->wire + m->len - 6;
    return memcmp(at, option, sizeof(option)) == 0 ? at[4] << 8 | at[5] : EDE_NONE;
}

/* Returns the TTL of the last address, which the test's upstream gave. */
static uint32_t ttl_of(const struct message *m)
{
    static const uint8_t tail[] = {0, 4, 192, 0, 2, 80};
    for (size_t i = m->len - sizeof(tail); i > 12; i--) {
        if (memcmp(m->wire + i, tail, sizeof(tail)) == 0) {
            const uint8_t *t = m->wire + i - 4;
            return (uint32_t)t[0] << 24 | (uint32_t)t[1] << 16 | (uint32_t)t[2] << 8 | t[3];
        }
    }
    return 0;
}

static struct message resolver_cache_exchange(int fd, bool tcp, const struct message *q)
{
    tcp ? send_tcp(fd, q) : send_udp(fd, q);
    struct message m = tcp ? receive_tcp(fd) : receive_udp(fd);
    assert_int_equal(id_of(&m), id_of(q));
    return m;
}

/* ---- The nameserver ---- */

static void reply_to(const struct fixture *f, const struct message *asked, const struct addr *to,
                     const char *want_name)
{
    struct message m = *asked;
    make_reply(&m, want_name);
    assert_int_equal(sendto(f->upstream_udp, m.wire, m.len, 0, &to->sa, to->len), m.len);
}

static void fail_as_upstream(struct fixture *f)
{
    struct addr from;
    struct message m = receive_as_upstream(f, &from);
    m.wire[2] |= 0x80;
    m.wire[3] = 0x80 | SERVFAIL;
    assert_int_equal(sendto(f->upstream_udp, m.wire, m.len, 0, &from.sa, from.len), m.len);
}

/* Questions that have come and were not read yet. */
static unsigned unread_questions(const struct fixture *f)
{
    struct message m;
    unsigned count = 0;
    ssize_t n;
    while ((n = recv(f->upstream_udp, m.wire, sizeof(m.wire), MSG_DONTWAIT)) > 0) {
        m.len = (size_t)n;
        count += !is_hinfo(&m);
    }
    return count;
}

static struct cache_key resolver_cache_key_of(const struct fixture *f, const char *name)
{
    const struct engine_config *config = publisher_newest_config(f->publisher);
    struct cache_key key = {.name = dname_from(name), .type = A, .qclass = IN};
    key.zone_serial = zone_table_find(config->zones_of_others, &key.name)->serial;
    return key;
}

/* Before the threads start: a reply with a TTL of a minute that came so long ago. */
static void resolver_cache_keep_since(const struct fixture *f, const char *name, int64_t ago_ms)
{
    const struct engine_config *config = publisher_newest_config(f->publisher);
    const struct cache_key key = resolver_cache_key_of(f, name);
    struct message m = question(1, name);
    make_reply(&m, name);
    assert_int_equal(cache_put_bytes(config->cache, &key, m.wire, m.len, &f->upstream_address,
                                     &config->cache_limits, clock_monotonic_ms() - ago_ms),
                     CACHE_HIT);
}

/* Likewise failures, one when the time of the one before was over, so many that the next one is
 * remembered for half a minute. */
static void resolver_cache_fail_before(const struct fixture *f, const char *name)
{
    const struct engine_config *config = publisher_newest_config(f->publisher);
    const struct cache_key key = resolver_cache_key_of(f, name);
    int64_t at_ms = clock_monotonic_ms() - 62 * 1000, lasts_ms = CACHE_FAILURE_FIRST_MS;
    for (unsigned i = 0; i < 6 && config->cache; i++) {
        cache_fail(config->cache, &key, CACHE_PLAIN, at_ms);
        at_ms += lasts_ms;
        lasts_ms *= 2;
    }
}

static uint64_t resolver_cache_prefetches(const struct fixture *f)
{
    struct cache_counts sums;
    cache_tally_sum(f->tally, &sums);
    return counter_get(&sums.prefetches);
}

/* ---- Tests ---- */

UNIT_TEST(test_a_hit_asks_nobody)
{
    for (int newer = 0; newer < 2; newer++) {
        struct fixture *f =
            resolver_cache_begin(NEVER_MS, NEVER_MS, newer ? with_newer_clients : with_cache);
        start_threads(f);
        const struct message q = question(7, "WWW.test.");
        int udp = client(f, SOCK_DGRAM), tcp = client(f, SOCK_STREAM);
        send_udp(udp, &q);
        answer_as_upstream(f, "www.test.");
        struct message m = receive_udp(udp);
        assert_int_equal(answers_in(&m), 1);
        for (int over_tcp = 0; over_tcp < 2; over_tcp++) {
            m = resolver_cache_exchange(over_tcp ? tcp : udp, over_tcp, &q);
            assert_int_equal(rcode_of(&m), NOERROR);
            assert_in_range(ttl_of(&m), 1, 60);
        }
        assert_int_equal(unread_questions(f), 0);
        close(udp);
        close(tcp);
        stop(f);
        assert_int_equal(counter_get(&resolver_counts(f->resolver)->forwarded), 1);
        teardown(f);
    }
}

/* The nameserver takes its time: the expired reply is the answer, and the new one is kept. */
UNIT_TEST(test_slow_nameservers)
{
    const struct message q = with_edns(question(7, "www.test."));
    for (int over_tcp = 0; over_tcp < 2; over_tcp++) {
        struct fixture *f = resolver_cache_begin(NEVER_MS, 50, with_cache);
        struct addr from;
        resolver_cache_keep_since(f, "www.test.", 120 * 1000);
        start_threads(f);
        int fd = client(f, over_tcp ? SOCK_STREAM : SOCK_DGRAM);
        struct message m = resolver_cache_exchange(fd, over_tcp, &q);
        assert_int_equal(rcode_of(&m), NOERROR);
        assert_int_equal(ttl_of(&m), CACHE_STALE_TTL_S);
        assert_int_equal(ede_of(&m), EDE_STALE);
        struct message asked = receive_as_upstream(f, &from);
        m = resolver_cache_exchange(fd, over_tcp, &q); /* waits for the same question */
        assert_int_equal(ede_of(&m), EDE_STALE);
        assert_int_equal(unread_questions(f), 0);
        wait_in_hand(f, 0);
        reply_to(f, &asked, &from, "www.test.");
        while (counter_get(&resolver_counts(f->resolver)->forwarder->questions) > 0) {
            (void)sched_yield();
        }
        m = resolver_cache_exchange(fd, over_tcp, &q);
        assert_int_equal(ede_of(&m), EDE_NONE);
        assert_in_range(ttl_of(&m), 31, 60);
        assert_int_equal(unread_questions(f), 0);
        close(fd);
        resolver_cache_end(f);
    }
}

/* Nothing is kept: a slow nameserver is waited for. */
UNIT_TEST(test_slow_nameservers_of_what_is_not_cached)
{
    struct fixture *f = resolver_cache_begin(NEVER_MS, 0, with_cache);
    const struct message q = with_edns(question(7, "www.test."));
    start_threads(f);
    int udp = client(f, SOCK_DGRAM);
    send_udp(udp, &q);
    answer_as_upstream(f, "www.test.");
    struct message m = receive_udp(udp);
    assert_int_equal(ede_of(&m), EDE_NONE);
    assert_int_equal(answers_in(&m), 1);
    close(udp);
    resolver_cache_end(f);
}

/* At once, and the nameserver is not asked again for a while. */
UNIT_TEST(test_an_expired_reply_in_place_of_a_failure)
{
    struct fixture *f = resolver_cache_begin(NEVER_MS, NEVER_MS, with_cache);
    const struct message q = with_edns(question(7, "www.test."));
    resolver_cache_keep_since(f, "www.test.", 120 * 1000);
    resolver_cache_fail_before(f, "www.test.");
    start_threads(f);
    int udp = client(f, SOCK_DGRAM);
    send_udp(udp, &q);
    fail_as_upstream(f);
    struct message m = receive_udp(udp);
    assert_int_equal(ttl_of(&m), CACHE_STALE_TTL_S);
    assert_int_equal(ede_of(&m), EDE_STALE);
    m = resolver_cache_exchange(udp, false, &q);
    assert_int_equal(ede_of(&m), EDE_STALE);
    close(udp);
    resolver_cache_end(f);
}

/* A failure's extended error first says how the upstreams failed, then that the failure is cached;
 * without a response cache always the former. */
UNIT_TEST(test_failures_say_why)
{
    const struct message q = with_edns(question(7, "www.test."));
    for (int i = 0; i < 4; i++) {
        bool has_cache = i / 2, is_dead = i % 2;
        struct fixture *f = resolver_cache_begin(NEVER_MS, NEVER_MS, has_cache ? with_cache : NULL);
        resolver_cache_fail_before(f, "www.test.");
        start_threads(f);
        int udp = client(f, SOCK_DGRAM), want = is_dead ? EDE_NETWORK : EDE_NO_AUTHORITY;
        if (is_dead) {
            close(f->upstream_udp);
            close(f->upstream_tcp);
            f->upstream_udp = f->upstream_tcp = -1;
        }
        for (int again = 0; again < 2; again++) {
            send_udp(udp, &q);
            if (!is_dead && !(again && has_cache)) {
                fail_as_upstream(f);
            }
            struct message m = receive_udp(udp);
            assert_int_equal(rcode_of(&m), SERVFAIL);
            assert_int_equal(ede_of(&m), again && has_cache ? EDE_CACHED : want);
        }
        close(udp);
        resolver_cache_end(f);
    }
}

/* The third hit in its last tenth. */
UNIT_TEST(test_a_refresh)
{
    const struct message q = question(7, "www.test."), target = question(8, "ext.cluster.local.");
    for (int i = 0; i < 4; i++) {
        bool over_tcp = i % 2;
        const struct message *asks = i / 2 ? &target : &q;
        struct fixture *f = resolver_cache_begin(NEVER_MS, NEVER_MS, with_cache);
        resolver_cache_keep_since(f, "www.test.", 57 * 1000);
        start_threads(f);
        int fd = client(f, over_tcp ? SOCK_STREAM : SOCK_DGRAM);
        struct message m;
        for (unsigned hits = 0; hits < CACHE_REFRESH_HITS; hits++) {
            m = resolver_cache_exchange(fd, over_tcp, asks);
            assert_in_range(ttl_of(&m), 1, 6);
        }
        answer_as_upstream(f, "www.test.");
        while (ttl_of(&m) < 30) {
            m = resolver_cache_exchange(fd, over_tcp, asks);
        }
        assert_int_equal(unread_questions(f), 0);
        assert_int_equal(resolver_cache_prefetches(f), 1);
        close(fd);
        resolver_cache_end(f);
    }
}

/* A target outside the domain is cached, expired, failing. */
UNIT_TEST(test_targets_are_cached)
{
    const struct message q = question(7, "ext.cluster.local."), direct = question(8, "www.test.");
    struct fixture *f = resolver_cache_begin(NEVER_MS, 50, with_cache);
    start_threads(f);
    int udp = client(f, SOCK_DGRAM);
    send_udp(udp, &q);
    answer_as_upstream(f, "www.test.");
    struct message m = receive_udp(udp);
    assert_int_equal(answers_in(&m), 2);
    m = resolver_cache_exchange(udp, false, &q);
    assert_int_equal(answers_in(&m), 2);
    assert_in_range(ttl_of(&m), 1, 60);
    m = resolver_cache_exchange(udp, false, &direct); /* the same entry */
    assert_int_equal(answers_in(&m), 1);
    assert_int_equal(unread_questions(f), 0);
    close(udp);
    resolver_cache_end(f);
}

UNIT_TEST(test_targets_that_expired)
{
    const struct message q = question(7, "ext.cluster.local.");
    for (int fails = 0; fails < 2; fails++) {
        struct fixture *f = resolver_cache_begin(NEVER_MS, fails ? NEVER_MS : 50, with_cache);
        resolver_cache_keep_since(f, "www.test.", 120 * 1000);
        start_threads(f);
        int udp = client(f, SOCK_DGRAM);
        send_udp(udp, &q);
        if (fails) {
            fail_as_upstream(f);
        }
        struct message m = receive_udp(udp);
        assert_int_equal(answers_in(&m), 2);
        assert_int_equal(ttl_of(&m), CACHE_STALE_TTL_S);
        close(udp);
        resolver_cache_end(f);
    }
}

/* A query with the option of stub zones, for one, is refused, and its connection goes on. Not for
 * other names. */
UNIT_TEST(test_a_stub_zone_that_leads_back)
{
    static const uint8_t option[] = {0xfd, 0xf3, 0, 1, 1};
    struct fixture *f = resolver_cache_begin(NEVER_MS, NEVER_MS, with_stub_zone);
    struct message loop = with_edns(question(7, "www.acme.test.")),
                   other = with_edns(question(8, "www.test."));
    start_threads(f);
    for (int i = 0; i < 2; i++) {
        struct message *m = i ? &other : &loop;
        memcpy(m->wire + m->len, option, sizeof(option));
        m->wire[m->len - 1] = sizeof(option);
        m->len += sizeof(option);
    }
    int udp = client(f, SOCK_DGRAM), tcp = client(f, SOCK_STREAM);
    struct message m = resolver_cache_exchange(udp, false, &loop);
    assert_int_equal(rcode_of(&m), REFUSED);
    send_udp(udp, &other);
    answer_as_upstream(f, "www.test.");
    m = receive_udp(udp);
    assert_int_equal(id_of(&m), 8);
    m = resolver_cache_exchange(tcp, true, &loop);
    assert_int_equal(rcode_of(&m), REFUSED);
    m = resolver_cache_exchange(tcp, true, &other);
    assert_int_equal(answers_in(&m), 1);
    assert_int_equal(unread_questions(f), 0);
    close(udp);
    close(tcp);
    resolver_cache_end(f);
}

/* However often clients ask, a nameserver that fails gets one question until the failure's time is
 * over. */
UNIT_TEST(test_no_storm)
{
    enum { QUERIES = 2000 };
    struct fixture *f = resolver_cache_begin(NEVER_MS, NEVER_MS, with_cache);
    const struct message q = question(7, "www.test.");
    resolver_cache_fail_before(f, "www.test.");
    start_threads(f);
    int udp = client(f, SOCK_DGRAM);
    send_udp(udp, &q);
    fail_as_upstream(f);
    struct message m = receive_udp(udp);
    assert_int_equal(rcode_of(&m), SERVFAIL);
    for (unsigned i = 0; i < QUERIES; i++) {
        m = resolver_cache_exchange(udp, false, &q);
        assert_int_equal(rcode_of(&m), SERVFAIL);
    }
    assert_int_equal(unread_questions(f), 0);
    close(udp);
    resolver_cache_end(f);
}
