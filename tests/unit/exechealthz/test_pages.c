/* The pages of exechealthz over real sockets, with real commands and a DNS server on the same loop:
 * the content of each path, and the metrics of both kinds of probes. */
#include "exechealthz/pages.h"

#include <unistd.h>

#include "common/base/cursor.h"
#include "common/dns/dns.h"
#include "exechealthz/shell_run.h"
#include "tests/support/http_ask.h"
#include "tests/support/log_capture.h"
#include "tests/support/loopback.h"
#include "tests/support/unit_test.h"

enum {
    LONG_MS = 3600 * 1000, /* never passes in a test */
    COMMANDS = 2,
};

struct fixture {
    struct ev_loop *loop;
    struct reaper reaper;
    ev_io dns_server;
    struct dns_target target;
    bool dns_answers; /* false: NXDOMAIN */
    struct probe *probes[COMMANDS];
    struct dns_probe *dns_probe;
    struct pages *pages;
    struct http_server *server;
    struct addr address;
    struct health_actions *actions;
};

/* Turns the query into its reply, with an address appended or an error. */
static void pages_on_query(struct ev_loop *loop, ev_io *w, int events)
{
    static const uint8_t record[] = {0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 30, 0, 4, 10, 0, 0, 1};
    const struct fixture *f = w->data;
    struct addr from = {.len = sizeof(from.v6)};
    uint8_t message[512];
    ssize_t n = recvfrom(w->fd, message, sizeof(message) - sizeof(record), 0, &from.sa, &from.len);
    assert_in_range(n, DNS_HEADER_SIZE, sizeof(message) - sizeof(record));
    size_t len = (size_t)n;
    message[2] |= DNS_FLAG_QR >> 8;
    if (f->dns_answers) {
        memcpy(message + len, record, sizeof(record));
        len += sizeof(record);
        message[7] = 1; /* answers */
    } else {
        message[3] = DNS_RCODE_NXDOMAIN;
    }
    assert_int_equal(sendto(w->fd, message, len, 0, &from.sa, from.len), len);
}

static void start_dns_server(struct fixture *f)
{
    assert_int_equal(dns_target_parse("kube_dns=a.b,A", &f->target, NULL), 0);
    f->target.server.v4.sin_port = 0;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, &f->target.server.sa, f->target.server.len), 0);
    assert_int_equal(getsockname(fd, &f->target.server.sa, &f->target.server.len), 0);
    ev_io_init(&f->dns_server, pages_on_query, fd, EV_READ);
    f->dns_server.data = f;
    ev_io_start(f->loop, &f->dns_server);
}

static const struct probe_settings quiet_settings = {
    .period_ms = 1, .latency_ms = LONG_MS, .timeout_ms = LONG_MS, .is_quiet = true};

static struct probe *new_command(struct fixture *f, const char *path, const char *command)
{
    const struct probe_config config = {
        .path = path, .command = command, .settings = quiet_settings};
    return probe_new(f->loop, &f->reaper, &config);
}

static void pages_serve(struct fixture *f, const struct pages_config *config)
{
    size_t count;
    f->pages = pages_new(config);
    const struct http_route *routes = pages_routes(f->pages, &count);
    f->server = http_ask_serve(f->loop, routes, count, &f->address);
}

static void pages_setup(struct fixture *f)
{
    *f = (struct fixture){.loop = ev_loop_new(EVFLAG_AUTO), .dns_answers = true};
    reaper_start(&f->reaper, f->loop);
    start_dns_server(f);
    f->probes[0] = new_command(f, "/healthz", "true");
    f->probes[1] = new_command(f, "/other", "echo broken; exit 3");
    const struct dns_probe_config dns = {.target = &f->target, .settings = quiet_settings};
    f->dns_probe = dns_probe_new(f->loop, &dns);
    f->actions = health_actions_new(&(struct health_actions_config){
        .loop = f->loop, .reaper = &f->reaper, .threshold = 1, .timeout_ms = LONG_MS});
}

static void pages_teardown(struct fixture *f)
{
    http_server_free(f->server);
    pages_free(f->pages);
    health_actions_free(f->actions);
    dns_probe_free(f->dns_probe);
    for (size_t i = 0; i < COMMANDS; i++) {
        probe_free(f->probes[i]);
    }
    ev_io_stop(f->loop, &f->dns_server);
    close(f->dns_server.fd);
    reaper_stop(&f->reaper);
    ev_loop_destroy(f->loop);
}

UNIT_FIXTURE(struct fixture, pages_setup, pages_teardown)
UNIT_TESTS_HAVE_THREADS

static struct pages_config pages_config_of(struct fixture *f)
{
    return (struct pages_config){.actions = f->actions,
                                 .probes = f->probes,
                                 .probe_count = COMMANDS,
                                 .dns_probes = &f->dns_probe,
                                 .dns_count = 1,
                                 .dns_url = "/dns",
                                 .is_quiet = true};
}

/* Waits until each probe has ended a run that began after this call. */
static void run_probes(struct fixture *f)
{
    uint64_t wanted[COMMANDS], wanted_dns = dns_probe_counts(f->dns_probe)->runs + 2;
    for (size_t i = 0; i < COMMANDS; i++) {
        wanted[i] = probe_counts(f->probes[i])->runs + 2;
    }
    for (bool is_over = false; !is_over;) {
        ev_run(f->loop, EVRUN_ONCE);
        is_over = dns_probe_counts(f->dns_probe)->runs >= wanted_dns;
        for (size_t i = 0; i < COMMANDS; i++) {
            is_over = is_over && probe_counts(f->probes[i])->runs >= wanted[i];
        }
    }
}

static void pages_start_probes(struct fixture *f)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        probe_start(f->probes[i]);
    }
    dns_probe_start(f->dns_probe);
    run_probes(f);
}

static void pages_expect(struct fixture *f, const char *target, unsigned status, const char *part)
{
    CLEANUP(asked_page_fini) struct asked_page asked = http_ask(f->loop, &f->address, target);
    assert_that(asked.page.status == status && strstr(asked.page.body, part), "%s: %u %s", target,
                asked.page.status, asked.page.body);
}

UNIT_TEST_ON(test_health, struct fixture *f)
{
    const struct pages_config config = pages_config_of(f);
    pages_serve(f, &config);
    pages_expect(f, "/healthcheck/kube_dns", 503, "{\"IsOk\":false,"); /* nothing has run yet */
    pages_start_probes(f);
    pages_expect(f, "/healthz", 200, "ok");
    pages_expect(f, "/other", 503, "exit status 3");
    pages_expect(f, "/dns", 200, "ok");
    pages_expect(f, "/healthcheck/kube_dns", 200, "{\"IsOk\":true,");
    pages_expect(f, "/healthcheck/other", 404, "");
    f->dns_answers = false;
    run_probes(f);
    pages_expect(f, "/dns", 503, "NXDOMAIN");
    pages_expect(f, "/healthcheck/kube_dns", 503, "NXDOMAIN");
    pages_expect(f, "/healthz", 200, "ok");
}

/* A disabled page does not exist. */
UNIT_TEST_ON(test_pages_that_are_wanted, struct fixture *f)
{
    struct pages_config config = pages_config_of(f);
    config.dns_url = NULL;
    pages_serve(f, &config);
    pages_expect(f, "/dns", 404, "");
    pages_expect(f, "/quit", 404, "");
    pages_expect(f, "/", 404, "");
    pages_expect(f, "/metrics", 200, "exechealthz_");
}

/* A user's path overrides ours, and everything else is the old program's index. */
UNIT_TEST_ON(test_pages_of_the_old_program, struct fixture *f)
{
    struct pages_config config = pages_config_of(f);
    probe_free(f->probes[1]);
    f->probes[1] = new_command(f, "/metrics", "true");
    probe_start(f->probes[1]);
    config.has_legacy_pages = true;
    pages_serve(f, &config);
    pages_expect(f, "/", 200, "<a href=\"/healthz\">");
    pages_expect(f, "/anything/else", 200, "<a href=\"/quit\">");
    pages_expect(f, "/metrics", 200, "ok");
}

static void on_late(struct ev_loop *loop, ev_timer *timer, int events)
{
    fail_msg("/quit does not end the loop");
}

/* http_ask breaks the loop itself: only a client that does nothing shows whether the program's loop
 * ends. */
UNIT_TEST_ON(test_quit, struct fixture *f)
{
    struct pages_config config = pages_config_of(f);
    const char request[] = "GET /quit HTTP/1.0\r\n\r\n";
    ev_timer late;
    config.has_legacy_pages = true;
    pages_serve(f, &config);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, &f->address.sa, f->address.len), 0);
    assert_int_equal(send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL), sizeof(request) - 1);
    ev_timer_init(&late, on_late, 120., 0.); /* only ends a test that hangs */
    ev_timer_start(f->loop, &late);
    ev_run(f->loop, 0);
    ev_timer_stop(f->loop, &late);
    close(fd);
}

UNIT_TEST_ON(test_log, struct fixture *f)
{
    struct pages_config config = pages_config_of(f);
    struct log_capture capture;
    config.is_quiet = false;
    pages_serve(f, &config);
    probe_start(f->probes[0]);
    log_capture_begin(&capture);
    pages_expect(f, "/healthz", 200, "ok");
    pages_expect(f, "/healthcheck/kube_dns", 503, "");
    pages_expect(f, "/metrics", 200, "");
    const char *text = log_capture_end(&capture);
    assert_int_equal(log_occurrences(text, "path=/healthz status=200"), 1);
    assert_int_equal(log_occurrences(text, "path=/healthcheck/kube_dns status=503"), 1);
    assert_int_equal(log_occurrences(text, "path=/metrics"), 0); /* scrapes are not logged */
}

/* The sample's value; it must occur exactly once. */
static double pages_sample(const char *page, const char *name)
{
    char line[128];
    double value;
    assert_in_range(snprintf(line, sizeof(line), "\n%s ", name), 1, sizeof(line) - 1);
    const char *at = strstr(page, line);
    assert_that(at && !strstr(at + 1, line), "%s: %s:\n%s", name, at ? "twice" : "missing", page);
    assert_int_equal(sscanf(at + strlen(line), "%lf", &value), 1);
    return value;
}

UNIT_TEST_ON(test_metrics, struct fixture *f)
{
    const struct pages_config config = pages_config_of(f);
    pages_serve(f, &config);
    pages_start_probes(f);
    f->dns_answers = false;
    run_probes(f);
    CLEANUP(asked_page_fini) struct asked_page asked = http_ask(f->loop, &f->address, "/metrics");
    const char *page = asked.page.body;
    double good = pages_sample(page, "exechealthz_runs_total{path=\"/healthz\"}");
    double bad = pages_sample(page, "exechealthz_runs_total{path=\"/other\"}");
    assert_true(good >= 4 && bad >= 4);
    assert_true(pages_sample(page, "exechealthz_run_failures_total{path=\"/healthz\"}") == 0);
    assert_true(pages_sample(page, "exechealthz_run_failures_total{path=\"/other\"}") == bad);
    assert_true(pages_sample(page, "exechealthz_run_timeouts_total{path=\"/other\"}") == 0);
    assert_true(pages_sample(page, "exechealthz_healthy{path=\"/healthz\"}") == 1);
    assert_true(pages_sample(page, "exechealthz_healthy{path=\"/other\"}") == 0);
    /* One histogram counts both commands, and its buckets add up. */
    assert_true(pages_sample(page, "exechealthz_run_seconds_count") == good + bad);
    assert_true(pages_sample(page, "exechealthz_run_seconds_bucket{le=\"+Inf\"}") == good + bad);
    assert_true(pages_sample(page, "exechealthz_run_seconds_sum") > 0);
    /* Runs without an answer count no latency. */
    double answered = pages_sample(page, "kubedns_probe_kube_dns_latency_ms_count");
    assert_true(answered >= 2);
    assert_true(pages_sample(page, "kubedns_probe_kube_dns_latency_ms_bucket{le=\"+Inf\"}") ==
                answered);
    assert_true(pages_sample(page, "kubedns_probe_kube_dns_latency_ms_sum") > 0);
    assert_true(pages_sample(page, "kubedns_probe_kube_dns_errors") >= 1);
}
