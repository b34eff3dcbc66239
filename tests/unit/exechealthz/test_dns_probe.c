/* dns_probe against a scripted UDP server on the same loop. */
#include "exechealthz/dns_probe.h"

#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "tests/support/unit_test.h"

enum {
    LONG_MS = 3600 * 1000, /* never elapses in a test */
    TIMEOUT_S = 120,       /* only ends a test that hangs */
    QUESTION_LEN = 9,      /* a.b, type, class */
};

/* How the server handles a query. */
enum script { ANSWER, NXDOMAIN, EMPTY, TRUNCATED, MALFORMED, SILENT, EXTERNAL_FIRST, SECOND_TIME };

struct fixture {
    struct ev_loop *loop;
    ev_timer timeout;
    ev_io server;
    enum script script;
    unsigned queries;
    uint8_t last_query[DNS_QUERY_MAX];
    struct dns_target target;
    struct dns_probe *probe;
};

static void dns_probe_give_up(struct ev_loop *loop, ev_timer *w, int events)
{
    fail_msg("timed out after %d s", TIMEOUT_S);
}

static void reply_with(struct fixture *f, const struct addr *to, uint16_t id_change, uint16_t flags,
                       const char *records, size_t len, unsigned answers)
{
    uint8_t out[512];
    struct reader r = reader_of(f->last_query, sizeof(f->last_query));
    struct writer w = writer_of(out, sizeof(out));
    writer_u16(&w, (uint16_t)(reader_u16(&r) + id_change));
    writer_u16(&w, (uint16_t)(DNS_FLAG_QR | flags));
    writer_u16(&w, 1);
    writer_u16(&w, (uint16_t)answers);
    writer_u32(&w, 0);
    writer_bytes(&w, f->last_query + DNS_HEADER_SIZE, QUESTION_LEN);
    writer_bytes(&w, records, len);
    assert_int_equal(sendto(f->server.fd, out, w.pos, 0, &to->sa, to->len), w.pos);
}

static void dns_probe_on_query(struct ev_loop *loop, ev_io *w, int events)
{
    static const char record[] = "\xc0\x0c\0\1\0\1\0\0\0\x1e\0\4\x0a\0\0\1";
    struct fixture *f = w->data;
    struct addr from = {.len = sizeof(from.v6)};
    ssize_t n = recvfrom(w->fd, f->last_query, sizeof(f->last_query), 0, &from.sa, &from.len);
    assert_int_equal(n, DNS_HEADER_SIZE + QUESTION_LEN);
    f->queries++;
    switch (f->script) {
    case EXTERNAL_FIRST:
        reply_with(f, &from, 1, DNS_RCODE_SERVFAIL, "", 0, 0);
        reply_with(f, &from, 0, 0, record, sizeof(record) - 1, 1);
        break;
    case SECOND_TIME:
        if (f->queries % 2) {
            break;
        }
        reply_with(f, &from, 0, 0, record, sizeof(record) - 1, 1);
        break;
    case ANSWER:
        reply_with(f, &from, 0, 0, record, sizeof(record) - 1, 1);
        break;
    case NXDOMAIN:
        reply_with(f, &from, 0, DNS_RCODE_NXDOMAIN, "", 0, 0);
        break;
    case EMPTY:
        reply_with(f, &from, 0, 0, "", 0, 0);
        break;
    case TRUNCATED:
        reply_with(f, &from, 0, DNS_FLAG_TC, "", 0, 0);
        break;
    case MALFORMED:
        reply_with(f, &from, 0, 0, record, sizeof(record) - 2, 1);
        break;
    case SILENT:
        break;
    }
}

static void dns_probe_setup(struct fixture *f)
{
    *f = (struct fixture){.loop = ev_loop_new(EVFLAG_AUTO)};
    ev_timer_init(&f->timeout, dns_probe_give_up, TIMEOUT_S, 0.);
    ev_timer_start(f->loop, &f->timeout);
    assert_int_equal(dns_target_parse("kube=a.b,A", &f->target, NULL), 0);
    f->target.server.v4.sin_port = 0;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, &f->target.server.sa, f->target.server.len), 0);
    assert_int_equal(getsockname(fd, &f->target.server.sa, &f->target.server.len), 0);
    ev_io_init(&f->server, dns_probe_on_query, fd, EV_READ);
    f->server.data = f;
    ev_io_start(f->loop, &f->server);
}

static void dns_probe_teardown(struct fixture *f)
{
    dns_probe_free(f->probe);
    ev_io_stop(f->loop, &f->server);
    close(f->server.fd);
    ev_loop_destroy(f->loop);
}

static int dns_probe_before_tests(void **state)
{
    log_set_level(LOG_LEVEL_ERROR);
    return 0;
}

UNIT_FIXTURE(struct fixture, dns_probe_setup, dns_probe_teardown)
UNIT_TESTS_ONCE(dns_probe_before_tests, NULL)

static struct dns_probe_config dns_probe_config_of(const struct fixture *f)
{
    return (struct dns_probe_config){
        .target = &f->target,
        .settings = {
            .period_ms = 1, .latency_ms = LONG_MS, .timeout_ms = LONG_MS, .is_quiet = true}};
}

static void exechealthz_dns_probe_start(struct fixture *f, const struct dns_probe_config *config,
                                        enum script script)
{
    dns_probe_free(f->probe);
    f->script = script;
    f->queries = 0;
    f->probe = dns_probe_new(f->loop, config);
    dns_probe_start(f->probe);
}

static void dns_probe_await_run(struct fixture *f, uint64_t run)
{
    while (dns_probe_counts(f->probe)->runs < run) {
        ev_run(f->loop, EVRUN_ONCE);
    }
}

static const char *dns_probe_text_of(struct fixture *f, bool wants_json, int64_t later_ms,
                                     bool *ret_ok)
{
    static struct buf reply;
    buf_fini(&reply);
    buf_init(&reply, 64 * 1024);
    *ret_ok = wants_json ? dns_probe_healthcheck(f->probe, &reply)
                         : dns_probe_report(f->probe, clock_monotonic_ms() + later_ms, &reply);
    return buf_cstr(&reply);
}

UNIT_TEST_ON(test_results, struct fixture *f)
{
    static const struct {
        enum script script;
        bool ok;
        const char *error; /* as JSON */
    } cases[] = {
        {ANSWER, true, ""},
        {TRUNCATED, true, ""},
        {EXTERNAL_FIRST, true, ""},
        {NXDOMAIN, false, "no RRs for domain \\\"a.b.\\\": NXDOMAIN"},
        {EMPTY, false, "no RRs for domain \\\"a.b.\\\": NOERROR"},
        {MALFORMED, false, "malformed response"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct dns_probe_config config = dns_probe_config_of(f);
        char want[128];
        bool ok;
        exechealthz_dns_probe_start(f, &config, cases[i].script);
        dns_probe_await_run(f, 1);
        const char *json = dns_probe_text_of(f, true, 0, &ok);
        (void)snprintf(want, sizeof(want), ",\"Err\":\"%s\"}", cases[i].error); /* fits */
        assert_that(ok == cases[i].ok && strstr(json, want) &&
                        strstr(json, ok ? "{\"IsOk\":true,\"LatencySeconds\":"
                                        : "{\"IsOk\":false,\"LatencySeconds\":0,"),
                    "%zu: %s", i, json);
        const char *report = dns_probe_text_of(f, false, 0, &ok);
        assert_int_equal(ok, cases[i].ok);
        assert_int_equal(report[0] == '\0', ok);
        assert_int_equal(dns_probe_counts(f->probe)->failures, cases[i].ok ? 0 : 1);
    }
}

UNIT_TEST_ON(test_nobody_there, struct fixture *f)
{
    struct dns_probe_config config = dns_probe_config_of(f);
    bool ok;
    ev_io_stop(f->loop, &f->server);
    close(f->server.fd);
    f->server.fd = -1;
    config.settings.period_ms = LONG_MS;
    exechealthz_dns_probe_start(f, &config, SILENT);
    dns_probe_await_run(f, 1);
    const char *report = dns_probe_text_of(f, false, 0, &ok);
    assert_that(!ok && strstr(report, "DNS probe kube of 127.0.0.1:") &&
                    strstr(report, "onnection refused\n"),
                "%s", report);
}

UNIT_TEST_ON(test_timeout, struct fixture *f)
{
    struct dns_probe_config config = dns_probe_config_of(f);
    bool ok;
    config.settings.timeout_ms = 5;
    exechealthz_dns_probe_start(f, &config, SILENT);
    dns_probe_await_run(f, 2);
    const char *report = dns_probe_text_of(f, false, 0, &ok);
    assert_that(!ok && strstr(report, "no response from 127.0.0.1:"), "%s", report);
}

UNIT_TEST_ON(test_lost_query_is_sent_again, struct fixture *f)
{
    const struct dns_probe_config config = dns_probe_config_of(f);
    bool ok;
    exechealthz_dns_probe_start(f, &config, SECOND_TIME);
    dns_probe_await_run(f, 1);
    (void)dns_probe_text_of(f, true, 0, &ok);
    assert_true(ok);
    assert_int_equal(dns_probe_counts(f->probe)->failures, 0);
}

UNIT_TEST_ON(test_before_the_first_run, struct fixture *f)
{
    struct dns_probe_config config = dns_probe_config_of(f);
    bool ok;
    exechealthz_dns_probe_start(f, &config, ANSWER);
    assert_string_equal(
        dns_probe_text_of(f, true, 0, &ok),
        "{\"IsOk\":false,\"LatencySeconds\":0,\"Err\":\"waiting for first probe\"}");
    assert_false(ok);
    (void)dns_probe_text_of(f, false, 0, &ok);
    assert_true(ok);
    config.settings.starts_unhealthy = true;
    exechealthz_dns_probe_start(f, &config, ANSWER);
    (void)dns_probe_text_of(f, false, 0, &ok);
    assert_false(ok);
    dns_probe_await_run(f, 1);
    (void)dns_probe_text_of(f, false, 0, &ok);
    assert_true(ok);
}

UNIT_TEST_ON(test_old_result_counts_no_more, struct fixture *f)
{
    const struct dns_probe_config config = dns_probe_config_of(f);
    bool ok;
    exechealthz_dns_probe_start(f, &config, ANSWER);
    dns_probe_await_run(f, 1);
    const char *report = dns_probe_text_of(f, false, LONG_MS + 1, &ok);
    assert_false(ok);
    assert_non_null(strstr(report, "too old to be useful"));
}

/* Each run is a new query: a new ID, and its descriptor is closed afterwards. */
UNIT_TEST_ON(test_many_runs, struct fixture *f)
{
    const struct dns_probe_config config = dns_probe_config_of(f);
    unsigned changed = 0;
    int before = dup(0);
    close(before);
    exechealthz_dns_probe_start(f, &config, ANSWER);
    for (uint64_t run = 1; run <= 200; run++) {
        uint8_t id[2] = {f->last_query[0], f->last_query[1]};
        dns_probe_await_run(f, run);
        changed += memcmp(id, f->last_query, sizeof(id)) != 0;
    }
    assert_true(changed > 150);
    const struct histogram *latency = &dns_probe_counts(f->probe)->latency;
    uint64_t observed = 0;
    for (size_t i = 0; i < ARRAY_LEN(latency->buckets); i++) {
        observed += counter_get(&latency->buckets[i]);
    }
    assert_int_equal(observed, dns_probe_counts(f->probe)->runs);
    dns_probe_free(f->probe);
    f->probe = NULL;
    int after = dup(0);
    assert_int_equal(after, before);
    close(after);
}
