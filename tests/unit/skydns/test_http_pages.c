/* http_pages.h: which pages are at which address, for whom, and how another process takes them
 * over. Over real sockets on one loop, of a record store without etcd. */
#include "tests/unit/skydns/pages/pages_bed.h"

#include <errno.h>
#include <sys/un.h>

#include "common/etcd/etcd.h"
#include "skydns/answering.h"
#include "skydns/http_pages.h"
#include "skydns/listen/passed_sockets.h"
#include "skydns/pages/metrics_table.h"
#include "skydns/tap/query_tap.h"
#include "tests/support/held_client.h"
#include "tests/support/loopback.h"

enum { ATTEMPTS = 100 };

struct http_bed {
    struct pages_bed pages;
    struct etcd *etcd; /* nowhere */
    struct answering *answering;
    struct metrics_sources sources;
    struct http_pages *http;
    char folder[32], path[64];
};

static const struct bed_key http_key[] = {{"local/cluster/a", "{'host':'10.0.0.1'}"}};

static void http_begin(struct http_bed *b)
{
    struct err err = {0};
    int r = -EADDRINUSE;
    bed_start(&b->pages, "-nameservers=127.0.0.1:10253 -workers=1 -http-hosts=pages.example");
    bed_fill(&b->pages, http_key, ARRAY_LEN(http_key));
    const struct etcd_config client = {
        .loop = b->pages.loop, .endpoints = "http://127.0.0.1:1", .call_timeout_ms = 60000};
    assert_int_equal(etcd_new(&client, &b->etcd, NULL), 0);
    b->pages.options.has_http = true;
    for (int i = 0; i < ATTEMPTS && r == -EADDRINUSE; i++) {
        b->pages.options.addresses[0] = loopback_addr(loopback_free_port());
        b->pages.options.address_count = 1;
        r = answering_open(&b->pages.options, b->pages.publisher, NULL, NULL, NULL, &b->answering,
                           &err);
    }
    assert_int_equal(r, 0);
    b->sources = (struct metrics_sources){.etcd = b->etcd,
                                          .outage = &b->pages.outage,
                                          .followed = &b->pages.followed,
                                          .sync = b->pages.sync,
                                          .resolver = answering_resolver(b->answering),
                                          .tap = answering_tap(b->answering),
                                          .publisher = b->pages.publisher,
                                          .explainer = b->pages.explainer};
    (void)snprintf(b->folder, sizeof(b->folder), "/tmp/pages-XXXXXX"); /* fits */
    assert_non_null(mkdtemp(b->folder));
    (void)snprintf(b->path, sizeof(b->path), "%s/socket", b->folder); /* fits */
}

static void http_end(struct http_bed *b)
{
    http_pages_free(b->http);
    (void)unlink(b->path); /* few tests have made it */
    (void)rmdir(b->folder);
    answering_free(b->answering);
    bed_stop(&b->pages);
    etcd_free(b->etcd);
}

UNIT_FIXTURE(struct http_bed, http_begin, http_end)

static int http_open_with(struct http_bed *b, struct metrics_sources *sources,
                          const struct passed_sockets *passed, struct http_pages **ret_pages,
                          struct err *err)
{
    return http_pages_open(b->pages.loop, &b->pages.options, sources, b->etcd, passed, ret_pages,
                           err);
}

/* Opens all that the options want, at free ports. */
static void http_open(struct http_bed *b, bool has_prometheus)
{
    struct err err = {0};
    int r = -EADDRINUSE;
    for (int i = 0; i < ATTEMPTS && r == -EADDRINUSE; i++) {
        b->pages.options.http_address = loopback_addr(loopback_free_port());
        b->pages.options.prometheus_port = has_prometheus ? (uint16_t)loopback_free_port() : 0;
        r = http_open_with(b, &b->sources, NULL, &b->http, &err);
    }
    assert_that(r >= 0, "%s", err.msg);
    b->sources.skydns_prefix = http_pages_skydns_prefix(b->http);
}

/* Asks at the address under this name. */
static struct held_client http_ask_as(struct http_bed *b, const struct addr *address,
                                      const char *request, const char *name)
{
    int fd = socket(address->sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, &address->sa, address->len), 0);
    return held_client_send(b->pages.loop, fd, request, name);
}

static void http_expect_reply(struct held_client *c, const char *status, const char *part)
{
    const char *text = held_client_read(c);
    assert_int_equal(strncmp(text, "HTTP/1.1 ", 9), 0);
    assert_int_equal(strncmp(text + 9, status, strlen(status)), 0);
    assert_that(!part || strstr(text, part), "no `%s` in %s", part, text);
    held_client_close(c);
}

static void http_expect(struct http_bed *b, const struct addr *address, const char *target,
                        const char *status, const char *part)
{
    char request[128];
    (void)snprintf(request, sizeof(request), "GET %s", target); /* fits */
    struct held_client c = http_ask_as(b, address, request, "localhost");
    http_expect_reply(&c, status, part);
}

/* ---- Which pages ---- */

UNIT_TEST_ON(test_pages, struct http_bed *b)
{
    static const struct {
        const char *target, *status, *part;
    } pages[] = {
        {"/", "200", "<title>skydns</title>"},
        {"/healthz", "200", NULL},
        {"/metrics", "200", "\nskydns_build_info{"},
        {"/cache", "200", "/skydns/local/cluster/a"},
        {"/search?q=cluster", "200", "/skydns/local/cluster/a"},
        {"/explain?name=a.cluster.local&type=A", "200", "10.0.0.1"},
        {"/missing", "200", NULL},
        {"/wait?revision=x", "400", "expected a revision of etcd"},
        {"/watch", "400", "expected one like web.default.svc.cluster.local"},
        {"/flush?name=a.example", "405", "expected: POST"},
        {"/history", "400", NULL},
        {"/other", "404", NULL},
    };
    http_open(b, false);
    assert_null(http_pages_skydns_prefix(b->http));
    for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
        http_expect(b, &b->pages.options.http_address, pages[i].target, pages[i].status,
                    pages[i].part);
    }
    assert_ptr_equal(b->sources.watched(b->sources.watch).streams, 0);
    assert_non_null(b->sources.waiters); /* for their metrics */
}

/* Other names lead to other sites, whose pages must not read ours. */
UNIT_TEST_ON(test_hosts, struct http_bed *b)
{
    static const char *const good[] = {"localhost", "10.0.0.1:8080", "a.cluster.local",
                                       "cluster.local.", "pages.example"};
    static const char *const bad[] = {"evil.example", "cluster.local.evil.example",
                                      "a.pages.example"};
    http_open(b, true);
    const struct addr *pages = &b->pages.options.http_address;
    const struct addr metrics = loopback_addr(b->pages.options.prometheus_port);
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct held_client c = http_ask_as(b, pages, "GET /healthz", good[i]);
        http_expect_reply(&c, "200", NULL);
        c = http_ask_as(b, &metrics, "GET /metrics", good[i]);
        http_expect_reply(&c, "200", NULL);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct held_client c = http_ask_as(b, pages, "GET /healthz", bad[i]);
        http_expect_reply(&c, "421", NULL);
        c = http_ask_as(b, &metrics, "GET /metrics", bad[i]);
        http_expect_reply(&c, "421", NULL);
    }
}

/* SkyDNS's metrics are at a port of their own, under its names, and nothing else is. */
UNIT_TEST_ON(test_metrics_of_skydns, struct http_bed *b)
{
    http_open(b, true);
    const struct addr metrics = loopback_addr(b->pages.options.prometheus_port);
    assert_string_equal(http_pages_skydns_prefix(b->http), "skydns_skydns_");
    http_expect(b, &metrics, "/metrics", "200", "\nskydns_skydns_dns_request_count_total{");
    http_expect(b, &metrics, "/cache", "404", NULL);
}

UNIT_TEST_ON(test_metrics_without_pages, struct http_bed *b)
{
    b->pages.options.has_http = false;
    http_open(b, true);
    const struct addr metrics = loopback_addr(b->pages.options.prometheus_port);
    http_expect(b, &metrics, "/metrics", "200", "\nskydns_build_info{");
    assert_null(b->sources.waiters);
}

/* While somebody reads the figures, names are sampled. */
UNIT_TEST_ON(test_figures, struct http_bed *b)
{
    struct query_tap *tap = answering_tap(b->answering);
    http_open(b, false);
    assert_int_equal(atomic_load(&tap->watched) & QUERY_TAP_SAMPLES, 0);
    struct held_client c = http_ask_as(b, &b->pages.options.http_address, "GET /live", "localhost");
    const char *text = held_client_read(&c);
    assert_non_null(strstr(text, "\r\nContent-Type: text/event-stream\r\n"));
    assert_non_null(strstr(text, "data: {\"program\":\"skydns\""));
    assert_int_equal(atomic_load(&tap->watched) & QUERY_TAP_SAMPLES, QUERY_TAP_SAMPLES);
    held_client_close(&c);
    assert_int_equal(atomic_load(&tap->watched) & QUERY_TAP_SAMPLES, 0);
}

/* ---- -http-socket ---- */

UNIT_TEST_ON(test_a_socket, struct http_bed *b)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    b->pages.options.http_socket = b->path;
    http_open(b, false);
    (void)snprintf(to.sun_path, sizeof(to.sun_path), "%s", b->path); /* fits */
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    struct held_client c = held_client_send(b->pages.loop, fd, "GET /cache", "localhost");
    http_expect_reply(&c, "200", "/skydns/local/cluster/a");
}

/* ---- What cannot be opened ---- */

/* The errors name the flag; what was opened before is closed. */
UNIT_TEST_ON(test_errors, struct http_bed *b)
{
    struct addr used;
    struct err err;
    int fd = loopback_listen(&used);
    b->pages.options.http_address = used;
    assert_int_equal(http_open_with(b, &b->sources, NULL, &b->http, &err), -EADDRINUSE);
    assert_non_null(strstr(err.msg, "flag -http-addr: "));
    b->pages.options.prometheus_port = addr_port(&used);
    assert_int_equal(http_open_with(b, &b->sources, NULL, &b->http, &err), -EADDRINUSE);
    assert_non_null(strstr(err.msg, "environment variable PROMETHEUS_PORT: "));
    close(fd);
    b->pages.options.http_address = loopback_addr(loopback_free_port());
    b->pages.options.prometheus_port = 0;
    b->pages.options.http_socket = "/nowhere/socket";
    assert_true(http_open_with(b, &b->sources, NULL, &b->http, &err) < 0);
    assert_non_null(strstr(err.msg, "flag -http-socket: "));
    assert_null(b->http);
}

/* ---- Another process ---- */

/* The sockets are shared. Whoever does not serve them yet, or any more, reads nothing of them. */
UNIT_TEST_ON(test_another_process, struct http_bed *b)
{
    struct passed_sockets sockets = {.count = 0};
    struct metrics_sources theirs = b->sources;
    struct err err;
    http_open(b, true);
    const struct addr pages = b->pages.options.http_address;
    const struct addr metrics = loopback_addr(b->pages.options.prometheus_port);
    http_pages_offer(b->http, &sockets);
    assert_int_equal(sockets.count, 2);
    assert_true(passed_sockets_find(&sockets, PASSED_PAGES, &pages, 0) >= 0);
    struct http_pages *next = NULL;
    assert_that(http_open_with(b, &theirs, &sockets, &next, &err) >= 0, "%s", err.msg);
    http_expect(b, &pages, "/healthz", "200", NULL); /* of the old one */
    http_pages_leave(b->http);
    struct held_client page = http_ask_as(b, &pages, "GET /healthz", "localhost");
    struct held_client figures = http_ask_as(b, &metrics, "GET /metrics", "localhost");
    assert_string_equal(held_client_read(&page), "");
    assert_string_equal(held_client_read(&figures), "");
    http_pages_serve(next);
    http_expect_reply(&page, "200", NULL);
    http_expect_reply(&figures, "200", NULL);
    http_pages_free(next);
}
