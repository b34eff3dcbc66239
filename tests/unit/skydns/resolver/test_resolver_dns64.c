/* DNS64 (RFC 6147) with a nameserver on loopback: what it is asked, and what clients get. */
#include "tests/unit/skydns/resolver/resolver_bed.h"

#include "tests/support/skydns/dns_text.h"
#include "tests/support/unit_test.h"

UNIT_TESTS_HAVE_THREADS

/* No client has to wait for so long. */
enum { NEVER_MS = TIMEOUT_S * 1000 };
enum { AAAA = 28, PTR = 12, NXDOMAIN = 3 };

#define MADE     "2001:db8:64::c000:250" /* 192.0.2.80 */
#define PTR_MADE "0.5.2.0.0.0.0.c.0.0.0.0.0.0.0.0.0.0.0.0.4.6.0.0.8.b.d.0.1.0.0.2.ip6.arpa."

static void with_dns64(struct fixture *f, struct engine_config *config)
{
    static const uint8_t prefix[] = {0x20, 0x01, 0x0d, 0xb8, 0, 0x64};
    struct dns64_settings *dns64 = &config->settings.dns64;
    *dns64 = (struct dns64_settings){
        .is_on = true,
        .prefix = {.ip = {.family_bytes = 16}, .prefix_bits = 96},
        .excluded_count = 1,
        .excluded = {
            {.ip = {.family_bytes = 16, .bytes = {[10] = 0xff, [11] = 0xff}}, .prefix_bits = 96}}};
    memcpy(dns64->prefix.ip.bytes, prefix, sizeof(prefix));
}

static void with_dns64_and_cache(struct fixture *f, struct engine_config *config)
{
    with_dns64(f, config);
    config->cache = cache_new(1000);
    config->cache_limits = (struct cache_limits){.ttl_max_s = 3600, .stale_ms = 3600 * 1000};
    config->allows_all = true;
}

static struct fixture *resolver_dns64_begin(configure_fn configure)
{
    struct fixture *f = setup_still_with(NEVER_MS, NEVER_MS, configure);
    put_host(f, "ext.cluster.local.", "www.test.");
    put_host(f, "own.cluster.local.", "10.0.0.1");
    publish(f);
    start_threads(f);
    return f;
}

static void resolver_dns64_end(struct fixture *f)
{
    stop(f);
    teardown(f);
}

UNIT_FIXTURE_MADE(resolver_dns64_begin(with_dns64), resolver_dns64_end)

/* ---- The nameserver ---- */

enum says { NO_DATA, ADDRESS, EXCLUDED, NO_NAME, FAILURE };

static void answer_add_rr(struct message *m, unsigned section, const char *owner, uint16_t type,
                          uint32_t ttl_s, const void *data, size_t len)
{
    const struct dname name = dname_from(owner);
    struct writer w = writer_of(m->wire + m->len, sizeof(m->wire) - m->len);
    writer_bytes(&w, name.wire, name.len);
    writer_u16(&w, type);
    writer_u16(&w, IN);
    writer_u32(&w, ttl_s);
    writer_u16(&w, (uint16_t)len);
    writer_bytes(&w, data, len);
    assert_false(w.failed);
    m->len += w.pos;
    m->wire[5 + 2 * section]++;
}

/* Addresses have a TTL of 60 s, denials of 30 s. Returns the question's type. */
static uint16_t say_as_upstream(struct fixture *f, const char *want_name, enum says ipv6,
                                enum says ipv4)
{
    static const uint8_t soa[22] = {[21] = 30}, a[] = {192, 0, 2, 80};
    static const uint8_t aaaa[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 0x50};
    static const uint8_t excluded[16] = {[10] = 0xff, [11] = 0xff, [15] = 1};
    const struct dname want = dname_from(want_name);
    struct dname name;
    struct addr from;
    struct message m = receive_as_upstream(f, &from);
    struct reader r = reader_of(m.wire, m.len);
    reader_seek(&r, 12);
    assert_true(dname_read(&r, &name) && dname_equal(&name, &want));
    const uint16_t type = reader_u16(&r);
    const enum says says = type == A ? ipv4 : ipv6;
    m.len = r.pos + 2;
    m.wire[2] |= 0x80;
    m.wire[3] = (uint8_t)(0x80 | (says == FAILURE   ? SERVFAIL
                                  : says == NO_NAME ? NXDOMAIN
                                                    : NOERROR));
    m.wire[11] = 0; /* without OPT */
    if (says == ADDRESS && type == PTR) {
        answer_add_rr(&m, 1, want_name, type, 60, "\1x\4test", sizeof("\1x\4test"));
    } else if (says == ADDRESS) {
        answer_add_rr(&m, 1, want_name, type, 60, type == A ? a : aaaa, type == A ? 4 : 16);
    } else if (says == EXCLUDED) {
        answer_add_rr(&m, 1, want_name, type, 60, excluded, sizeof(excluded));
    } else if (says != FAILURE) {
        answer_add_rr(&m, 2, "test.", 6, 1000, soa, sizeof(soa));
    }
    assert_int_equal(sendto(f->upstream_udp, m.wire, m.len, 0, &from.sa, from.len), m.len);
    return type;
}

static void assert_no_more_questions(const struct fixture *f)
{
    struct message m;
    ssize_t n;
    while ((n = recv(f->upstream_udp, m.wire, sizeof(m.wire), MSG_DONTWAIT)) > 0) {
        m.len = (size_t)n;
        assert_true(is_hinfo(&m));
    }
}

/* ---- Clients ---- */

static struct message question_of_type(const char *name, uint16_t type)
{
    struct message m = question(7, name);
    m.wire[m.len - 4] = (uint8_t)(type >> 8);
    m.wire[m.len - 3] = (uint8_t)type;
    return m;
}

static void resolver_dns64_send(int fd, bool tcp, const struct message *m)
{
    tcp ? send_tcp(fd, m) : send_udp(fd, m);
}

static const char *response_text(int fd, bool tcp)
{
    static char text[DNS_TEXT_MAX];
    const struct message m = tcp ? receive_tcp(fd) : receive_udp(fd);
    return dns_text(m.wire, m.len, text, sizeof(text));
}

/* ---- Tests ---- */

struct row {
    const char *name;
    enum says ipv6, ipv4;
    unsigned questions; /* that come to the nameserver */
    const char *want;   /* how the response begins */
};

/* The nameserver is asked for A only when its answer about AAAA is of no use. */
UNIT_TEST_ON(test_what_upstream_says, struct fixture *f)
{
    static const struct row rows[] = {
        {"www.test.", NO_DATA, ADDRESS, 2,
         "NOERROR qr rd ra\n? www.test. IN AAAA\n= www.test. 30 AAAA " MADE},
        {"www.test.", FAILURE, ADDRESS, 2,
         "NOERROR qr rd ra\n? www.test. IN AAAA\n= www.test. 60 AAAA " MADE},
        {"www.test.", EXCLUDED, ADDRESS, 2,
         "NOERROR qr rd ra\n? www.test. IN AAAA\n= www.test. 60 AAAA " MADE},
        {"www.test.", EXCLUDED, NO_DATA, 2, "NOERROR qr rd ra\n? www.test. IN AAAA\n! "},
        {"www.test.", NO_DATA, NO_DATA,
         3, /* nothing keeps the first denial: it is asked for again */
         "NOERROR qr rd ra\n? www.test. IN AAAA\n! test. "},
        {"www.test.", FAILURE, FAILURE, 2, "SERVFAIL qr rd ra\n? www.test. IN AAAA"},
        {"www.test.", ADDRESS, ADDRESS, 1,
         "NOERROR qr rd ra\n? www.test. IN AAAA\n= www.test. 60 AAAA 2001:db8::50"},
        {"www.test.", NO_NAME, ADDRESS, 1, "NXDOMAIN qr rd ra\n? www.test. IN AAAA\n! test. "},
        {"ext.cluster.local.", NO_DATA, ADDRESS, 2,
         "NOERROR qr aa rd ra\n? ext.cluster.local. IN AAAA"
         "\n= ext.cluster.local. 30 CNAME www.test.\n= www.test. 30 AAAA " MADE},
        {"ext.cluster.local.", ADDRESS, ADDRESS, 2, /* at once: one of them waits for the other */
         "NOERROR qr aa rd ra\n? ext.cluster.local. IN AAAA"
         "\n= ext.cluster.local. 60 CNAME www.test.\n= www.test. 60 AAAA 2001:db8::50"},
        {"own.cluster.local.", NO_DATA, ADDRESS, 0,
         "NOERROR qr aa rd ra\n? own.cluster.local. IN AAAA\n! cluster.local. "},
    };
    for (unsigned i = 0; i < 2 * ARRAY_LEN(rows); i++) {
        const struct row *row = &rows[i / 2];
        const bool tcp = i % 2;
        const struct message q = question_of_type(row->name, AAAA);
        int fd = client(f, tcp ? SOCK_STREAM : SOCK_DGRAM);
        resolver_dns64_send(fd, tcp, &q);
        for (unsigned k = 0; k < row->questions; k++) {
            (void)say_as_upstream(f, "www.test.", row->ipv6, row->ipv4);
        }
        const char *got = response_text(fd, tcp);
        assert_that(strncmp(got, row->want, strlen(row->want)) == 0,
                    "row %u, %s: got\n%s\nwant\n%s", i / 2, tcp ? "TCP" : "UDP", got, row->want);
        assert_no_more_questions(f);
        close(fd);
    }
}

/* Caches upstream's answers, of which the addresses are made anew. */
UNIT_TEST(test_with_a_cache)
{
    const struct message q = question_of_type("www.test.", AAAA);
    const struct message ipv4 = question_of_type("www.test.", A);
    struct fixture *f = resolver_dns64_begin(with_dns64_and_cache);
    int fd = client(f, SOCK_DGRAM);
    send_udp(fd, &q);
    assert_int_equal(say_as_upstream(f, "www.test.", NO_DATA, ADDRESS), AAAA);
    assert_int_equal(say_as_upstream(f, "www.test.", NO_DATA, ADDRESS), A);
    assert_non_null(strstr(response_text(fd, false), " AAAA " MADE));
    send_udp(fd, &q);
    assert_non_null(strstr(response_text(fd, false), " AAAA " MADE));
    send_udp(fd, &ipv4);
    assert_non_null(strstr(response_text(fd, false), " A 192.0.2.80"));
    assert_no_more_questions(f);
    close(fd);
    resolver_dns64_end(f);
}

/* A client that sets DO and CD validates by itself, so it gets what upstream said. */
UNIT_TEST_ON(test_validating_clients, struct fixture *f)
{
    static const uint8_t opt[] = {0, 0, 41, 0x04, 0xd0, 0, 0, 0x80, 0, 0, 0};
    for (int has_cd = 0; has_cd < 2; has_cd++) {
        struct message q = question_of_type("www.test.", AAAA);
        memcpy(q.wire + q.len, opt, sizeof(opt));
        q.len += sizeof(opt);
        q.wire[11] = 1;
        q.wire[3] |= has_cd ? 0x10 : 0;
        int fd = client(f, SOCK_DGRAM);
        send_udp(fd, &q);
        assert_int_equal(say_as_upstream(f, "www.test.", NO_DATA, ADDRESS), AAAA);
        if (!has_cd) {
            assert_int_equal(say_as_upstream(f, "www.test.", NO_DATA, ADDRESS), A);
        }
        const char *got = response_text(fd, false);
        assert_int_equal(strstr(got, MADE) != NULL, !has_cd);
        assert_int_equal(strstr(got, "\n! test. ") != NULL, has_cd);
        assert_no_more_questions(f);
        close(fd);
    }
}

/* The reverse name of a made address leads to that of its IPv4 address (RFC 6147 5.3.1). */
UNIT_TEST_ON(test_reverse_names, struct fixture *f)
{
    static const char want[] = "NOERROR qr rd ra\n? " PTR_MADE " IN PTR\n= " PTR_MADE;
    const struct message q = question_of_type(PTR_MADE, PTR);
    int fd = client(f, SOCK_DGRAM);
    send_udp(fd, &q);
    assert_int_equal(say_as_upstream(f, "80.2.0.192.in-addr.arpa.", ADDRESS, ADDRESS), PTR);
    const char *got = response_text(fd, false);
    assert_int_equal(strncmp(got, want, sizeof(want) - 1), 0);
    assert_non_null(strstr(got, " CNAME 80.2.0.192.in-addr.arpa."));
    assert_non_null(strstr(got, "\n= 80.2.0.192.in-addr.arpa. 60 PTR x.test."));
    assert_no_more_questions(f);
    close(fd);
}
