/* dns_probe over TLS and HTTPS, against a server with a script on the same loop. */
#include "exechealthz/tls_query.h"

#include <errno.h>
#include <ev.h>
#include <signal.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/tls/tls_server.h"
#include "common/tls/tls_session.h"
#include "exechealthz/dns_probe.h"
#include "tests/support/certs.h"
#include "tests/support/unit_test.h"

enum {
    LONG_MS = 3600 * 1000, /* never elapses in a test */
    TIMEOUT_S = 120,       /* only ends a test that hangs */
    QUESTION_LEN = 9,      /* a.b, type, class */
    DAY_S = 24 * 3600,
};

static const char record[] = "\xc0\x0c\0\1\0\1\0\0\0\x1e\0\4\x0a\0\0\1";
#define DNS_TYPE_LINE "Content-Type: application/dns-message\r\n"

/* How the server behaves. */
struct script {
    bool is_deaf;     /* accepts, and says nothing */
    bool is_plain;    /* replies with text, without TLS */
    bool is_mute;     /* nothing after the handshake */
    bool ends;        /* closes the connection instead of a reply */
    bool is_bytewise; /* a TLS record for each byte */
    uint16_t add_id;  /* to the query's */
    unsigned answers; /* copies of the record */
    const char *head; /* over HTTPS: all before the body; NULL: 200, of the right type and length */
    const char *body; /* NULL: the reply */
};

struct fixture {
    struct ev_loop *loop;
    ev_timer timeout;
    ev_io listener;
    uint16_t port;
    struct tls_server *server;
    struct script script;

    /* The connection: fd -1, none. */
    ev_io io;
    struct tls_session *session;
    struct buf request;
    bool is_shaken;
    unsigned connections, resumed;
    char protocol[16];

    struct tls_client *client;
    struct dns_target target;
    struct dns_probe *probe;
};

static char dir[] = "/tmp/test_tls_query.XXXXXX";

static char *tls_query_path_of(const char *name)
{
    return xasprintf("%s/%s", dir, name);
}

/* ---- The server ---- */

static void tls_query_close_connection(struct fixture *f)
{
    if (f->io.fd >= 0) {
        ev_io_stop(f->loop, &f->io);
        tls_session_free(f->session);
        f->session = NULL;
        close(f->io.fd);
        f->io.fd = -1;
        buf_clear(&f->request);
        f->is_shaken = false;
    }
}

static void tls_query_send_all(struct fixture *f, const void *bytes, size_t len)
{
    size_t step = f->script.is_bytewise ? 1 : len;
    for (size_t at = 0; at < len; at += step) {
        /* The socket's buffer has room for any of these replies. */
        assert_int_equal(tls_session_send(f->session, (const char *)bytes + at, step), step);
    }
}

static void tls_query_write_reply(const struct fixture *f, const uint8_t *query, struct buf *out)
{
    uint16_t id = (uint16_t)(query[0] << 8 | query[1]);
    buf_append_u16(out, (uint16_t)(id + f->script.add_id));
    buf_append_u16(out, DNS_FLAG_QR);
    buf_append_u16(out, 1);
    buf_append_u16(out, (uint16_t)f->script.answers);
    buf_append_u32(out, 0);
    buf_append(out, query + DNS_HEADER_SIZE, QUESTION_LEN);
    for (unsigned i = 0; i < f->script.answers; i++) {
        buf_append(out, record, sizeof(record) - 1);
    }
}

static void tls_query_reply(struct fixture *f, const uint8_t *query)
{
    CLEANUP_BUF struct buf body = buf_of(1 << 17);
    CLEANUP_BUF struct buf out = buf_of(1 << 18);
    if (f->script.body) {
        buf_append_str(&body, f->script.body);
    } else {
        tls_query_write_reply(f, query, &body);
    }
    if (f->target.protocol == DNS_OVER_TLS) {
        buf_append_u16(&out, (uint16_t)body.len);
    } else if (f->script.head) {
        buf_append_str(&out, f->script.head);
    } else {
        buf_printf(&out, "HTTP/1.1 200 OK\r\n" DNS_TYPE_LINE "Content-Length: %zu\r\n\r\n",
                   body.len);
    }
    buf_append_slice(&out, buf_slice(&body));
    tls_query_send_all(f, out.data, out.len);
}

/* The query in what was received, or NULL. */
static const uint8_t *query_in(const struct fixture *f)
{
    enum { QUERY_LEN = DNS_HEADER_SIZE + QUESTION_LEN };
    const struct buf *request = &f->request;
    if (f->target.protocol == DNS_OVER_TLS) {
        if (request->len < 2 + QUERY_LEN) {
            return NULL;
        }
        assert_int_equal(request->len, 2 + QUERY_LEN);
        assert_int_equal(request->data[0] << 8 | request->data[1], QUERY_LEN);
        return request->data + 2;
    }
    const uint8_t *end = memmem(request->data, request->len, "\r\n\r\n", 4);
    if (!end || request->data + request->len - (end + 4) < QUERY_LEN) {
        return NULL;
    }
    assert_non_null(memmem(request->data, request->len, "POST /dns-query HTTP/1.1\r\n", 26));
    assert_non_null(memmem(request->data, request->len, DNS_TYPE_LINE, 39));
    assert_int_equal(end[4] << 8 | end[5], 0); /* the id */
    return end + 4;
}

/* True: done, go on to read. */
static bool tls_query_shake_hands(struct fixture *f)
{
    enum tls_want want;
    struct err err;
    if (tls_session_handshake(f->session, &want, &err) < 0) {
        tls_query_close_connection(f);
        return false;
    }
    f->is_shaken = want == TLS_WANT_NOTHING;
    if (f->is_shaken) {
        f->resumed += tls_session_is_resumed(f->session);
        (void)snprintf(f->protocol, sizeof(f->protocol), "%s", tls_session_protocol(f->session));
    }
    return f->is_shaken;
}

static void on_request(struct ev_loop *loop UNUSED, ev_io *w, int events UNUSED)
{
    struct fixture *f = w->data;
    uint8_t bytes[4096];
    ssize_t n;
    if (!f->is_shaken && !tls_query_shake_hands(f)) {
        return;
    }
    if (f->script.ends) {
        tls_query_close_connection(f);
        return;
    }
    while ((n = tls_session_recv(f->session, bytes, sizeof(bytes))) > 0) {
        buf_append(&f->request, bytes, (size_t)n);
        const uint8_t *query = query_in(f);
        if (query && !f->script.is_mute) {
            tls_query_reply(f, query);
            buf_clear(&f->request);
        }
    }
    if (n == 0 || errno != EAGAIN) {
        tls_query_close_connection(f);
    }
}

/* Reads nothing that the peer sends: the connection ends when the next one comes. */
static void on_bytes_without_tls(struct ev_loop *loop, ev_io *w, int events UNUSED)
{
    struct fixture *f = w->data;
    static const char text[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
    if (f->script.is_plain) {
        assert_int_equal(write(w->fd, text, sizeof(text) - 1), sizeof(text) - 1);
    }
    ev_io_stop(loop, w);
}

static void tls_query_on_connection(struct ev_loop *loop, ev_io *w, int events UNUSED)
{
    struct fixture *f = w->data;
    tls_query_close_connection(f);
    int fd = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    assert_true(fd >= 0);
    f->connections++;
    bool has_tls = !f->script.is_deaf && !f->script.is_plain;
    if (has_tls) {
        struct ssl_ctx_st *context = tls_server_hold(f->server);
        f->session = tls_session_accept(context, fd, "dot http/1.1");
        tls_server_release(context);
    }
    ev_io_init(&f->io, has_tls ? on_request : on_bytes_without_tls, fd, EV_READ);
    f->io.data = f;
    ev_io_start(loop, &f->io);
}

/* ---- Fixture ---- */

static void tls_query_give_up(struct ev_loop *loop UNUSED, ev_timer *w UNUSED, int events UNUSED)
{
    fail_msg("timed out after %d s", TIMEOUT_S);
}

static int make_certificates(void **state UNUSED)
{
    assert_non_null(mkdtemp(dir));
    struct certs_ca *ca = certs_ca_new(dir, "ca");
    struct certs_ca *other = certs_ca_new(dir, "other");
    const struct certs_leaf leaves[] = {
        {.name = "good", .names = "DNS:dns.example,IP:127.0.0.1"},
        {.name = "expired", .names = "DNS:dns.example", .from_s = -2 * DAY_S, .to_s = -DAY_S},
        {.name = "early", .names = "DNS:dns.example", .from_s = DAY_S, .to_s = 2 * DAY_S},
    };
    for (size_t i = 0; i < ARRAY_LEN(leaves); i++) {
        certs_issue(ca, dir, &leaves[i]);
    }
    certs_ca_free(ca);
    certs_ca_free(other);
    return 0;
}

static int remove_certificates(void **state UNUSED)
{
    static const char *const names[] = {"ca.crt",      "other.crt",   "good.crt",  "good.key",
                                        "expired.crt", "expired.key", "early.crt", "early.key"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        CLEANUP_FREE char *path = tls_query_path_of(names[i]);
        assert_int_equal(unlink(path), 0);
    }
    return rmdir(dir);
}

/* name: of the certificate; client_ca: NULL, or the file of what clients have to show. */
static void tls_query_serve(struct fixture *f, const char *name, const char *client_ca)
{
    char *crt = xasprintf("%s/%s.crt", dir, name), *key = xasprintf("%s/%s.key", dir, name);
    CLEANUP_FREE char *ca = client_ca ? tls_query_path_of(client_ca) : xstrdup("");
    struct err err;
    tls_server_free(f->server);
    f->server = NULL;
    const struct tls_server_files files = {.cert = crt, .key = key, .client_ca = ca};
    assert_that(tls_server_new(&files, &f->server, &err) == 0, "%s", err.msg);
    free(crt);
    free(key);
}

/* ca, own: files, or NULL. */
static void tls_query_trust(struct fixture *f, const char *ca, const char *own)
{
    CLEANUP_FREE char *ca_path = ca ? tls_query_path_of(ca) : xstrdup("");
    CLEANUP_FREE char *crt = own ? xasprintf("%s/%s.crt", dir, own) : xstrdup("");
    CLEANUP_FREE char *key = own ? xasprintf("%s/%s.key", dir, own) : xstrdup("");
    const struct tls_files files = {
        .ca = ca_path, .cert = crt, .key = key, .without_ca = ca == NULL};
    tls_client_free(f->client);
    f->client = NULL;
    assert_int_equal(tls_client_new(&files, &f->client, NULL), 0);
}

static void tls_query_setup(struct fixture *f)
{
    struct addr here;
    *f = (struct fixture){.loop = ev_loop_new(EVFLAG_AUTO), .io.fd = -1};
    ev_timer_init(&f->timeout, tls_query_give_up, TIMEOUT_S, 0.);
    ev_timer_start(f->loop, &f->timeout);
    buf_init(&f->request, 1 << 16);
    assert_int_equal(addr_parse("127.0.0.1:1", &here, NULL), 0);
    here.v4.sin_port = 0;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, &here.sa, here.len), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, &here.sa, &here.len), 0);
    f->port = addr_port(&here);
    ev_io_init(&f->listener, tls_query_on_connection, fd, EV_READ);
    f->listener.data = f;
    ev_io_start(f->loop, &f->listener);
    tls_query_serve(f, "good", NULL);
    tls_query_trust(f, NULL, NULL);
}

static void tls_query_teardown(struct fixture *f)
{
    dns_probe_free(f->probe);
    tls_query_close_connection(f);
    if (f->listener.fd >= 0) {
        ev_io_stop(f->loop, &f->listener);
        close(f->listener.fd);
    }
    tls_client_free(f->client);
    tls_server_free(f->server);
    buf_fini(&f->request);
    ev_loop_destroy(f->loop);
}

static int tls_query_before_tests(void **state)
{
    (void)signal(SIGPIPE, SIG_IGN);
    log_set_level(LOG_LEVEL_ERROR);
    return make_certificates(state);
}

UNIT_FIXTURE(struct fixture, tls_query_setup, tls_query_teardown)
UNIT_TESTS_ONCE(tls_query_before_tests, remove_certificates)

/* ---- Runs ---- */

/* url: "tls" or "https"; name: of the certificate, or NULL. */
static void exechealthz_tls_query_start(struct fixture *f, const char *url, const char *name,
                                        int64_t timeout_ms)
{
    char text[256];
    dns_probe_free(f->probe);
    tls_query_close_connection(f);
    (void)snprintf(text, sizeof(text), "kube=a.b,%s://127.0.0.1:%u%s%s", url, f->port,
                   name ? "#" : "", name ? name : ""); /* fits */
    assert_int_equal(dns_target_parse(text, &f->target, NULL), 0);
    const struct dns_probe_config config = {
        .target = &f->target,
        .tls = f->client,
        .settings = {.period_ms = LONG_MS,
                     .latency_ms = LONG_MS,
                     .timeout_ms = timeout_ms,
                     .is_quiet = true},
    };
    f->probe = dns_probe_new(f->loop, &config);
    dns_probe_start(f->probe);
}

/* The outcome of one run: "" for success. */
static const char *tls_query_run_for(struct fixture *f, const char *url, const char *name,
                                     int64_t timeout_ms)
{
    static struct buf text;
    exechealthz_tls_query_start(f, url, name, timeout_ms);
    while (dns_probe_counts(f->probe)->runs < 1) {
        ev_run(f->loop, EVRUN_ONCE);
    }
    buf_fini(&text);
    buf_init(&text, 64 * 1024);
    bool is_ok = dns_probe_report(f->probe, clock_monotonic_ms(), &text);
    assert_int_equal(is_ok, text.len == 0);
    return buf_cstr(&text);
}

static const char *tls_query_run(struct fixture *f, const char *url, const char *name)
{
    return tls_query_run_for(f, url, name, LONG_MS);
}

static void assert_part(const char *text, const char *part)
{
    assert_that(strstr(text, part), "expected %s: %s", part, text);
}

UNIT_TEST_ON(test_answers, struct fixture *f)
{
    static const char *const urls[] = {"tls", "https"}, *const protocols[] = {"dot", "http/1.1"};
    static const struct script scripts[] = {
        {.answers = 1},
        {.answers = 1, .is_bytewise = true},
        {.answers = 4000}, /* several TLS records */
    };
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        for (size_t k = 0; k < ARRAY_LEN(scripts); k++) {
            f->script = scripts[k];
            assert_string_equal(tls_query_run(f, urls[i], NULL), "");
            assert_string_equal(f->protocol, protocols[i]);
        }
    }
    assert_int_equal(f->connections, ARRAY_LEN(urls) * ARRAY_LEN(scripts));
    assert_int_equal(f->resumed, 0); /* as a new client */
}

UNIT_TEST_ON(test_replies_that_are_no_answers, struct fixture *f)
{
    static const struct {
        const char *url;
        struct script script;
        const char *expected;
    } cases[] = {
        {"tls", {.answers = 0}, ": no RRs for domain \"a.b.\": NOERROR\n"},
        {"tls", {.answers = 1, .add_id = 1}, ": malformed response: not to this query\n"},
        {"tls", {.body = ""}, ": malformed response: not to this query\n"},
        {"tls", {.ends = true}, ": no response from tls://127.0.0.1:"},
        {"tls", {.ends = true}, ": the server closed the connection\n"},
        {"https", {.answers = 0}, ": no RRs for domain \"a.b.\": NOERROR\n"},
        {"https", {.answers = 1, .add_id = 1}, ": malformed response: not to this query\n"},
        {"https", {.ends = true}, ": response of https://127.0.0.1:"},
        {"https",
         {.ends = true},
         "/dns-query: the server closed the connection without a response\n"},
        {"https", {.head = "HTTP/1.1 404 Not Found\r\n\r\n"}, ": HTTP status 404 Not Found\n"},
        {"https",
         {.head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"},
         ": content type `text/html`, expected application/dns-message\n"},
        {"https",
         {.head = "SSH-2.0-OpenSSH_9.2\r\n"},
         ": it does not speak HTTP, but `SSH-2.0-OpenSSH_9.2`"},
        {"https",
         {.head = "HTTP/1.1 200 OK\r\n" DNS_TYPE_LINE "Content-Length: 3\r\n\r\n", .body = "abc"},
         "malformed response: not to this query\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        f->script = cases[i].script;
        assert_part(tls_query_run(f, cases[i].url, NULL), cases[i].expected);
    }
}

UNIT_TEST_ON(test_what_the_certificate_must_be, struct fixture *f)
{
    static const struct {
        const char *served, *ca, *name;
        const char *expected; /* "": an answer */
    } cases[] = {
        {"good", NULL, NULL, ""},
        {"good", "ca.crt", "dns.example", ""},
        {"good", "ca.crt", "dns.example.", ""},
        {"good", "ca.crt", "127.0.0.1", ""},
        {"good", "ca.crt", NULL, ""},
        {"good", "other.crt", NULL, ""},
        {"good", "ca.crt", "other.example",
         "is for dns.example, 127.0.0.1, not for `other.example`"},
        {"good", "ca.crt", "127.0.0.2", "not for `127.0.0.2`"},
        {"good", "other.crt", "dns.example", "is not from a CA in `"},
        {"expired", NULL, NULL, "the server's certificate expired at 20"},
        {"expired", "ca.crt", "dns.example", "the server's certificate expired at 20"},
        {"early", NULL, NULL, "the server's certificate is not valid before 20"},
    };
    f->script = (struct script){.answers = 1};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        tls_query_serve(f, cases[i].served, NULL);
        tls_query_trust(f, cases[i].ca, NULL);
        const char *text = tls_query_run(f, i % 2 ? "tls" : "https", cases[i].name);
        if (*cases[i].expected == '\0') {
            assert_string_equal(text, "");
        } else {
            assert_part(text, i % 2 ? ": handshake with tls://127.0.0.1:"
                                    : ": handshake with https://127.0.0.1:");
            assert_part(text, cases[i].expected);
        }
    }
}

UNIT_TEST_ON(test_servers_that_want_certificates, struct fixture *f)
{
    f->script = (struct script){.answers = 1};
    tls_query_serve(f, "good", "ca.crt");
    assert_part(tls_query_run(f, "tls", NULL), "requires a client certificate and none is set");
    tls_query_trust(f, NULL, "good");
    assert_string_equal(tls_query_run(f, "tls", NULL), "");
    tls_query_serve(f, "good", "other.crt");
    assert_part(tls_query_run(f, "https", NULL), "refuses our certificate");
}

UNIT_TEST_ON(test_servers_without_tls, struct fixture *f)
{
    f->script = (struct script){.is_plain = true};
    assert_part(tls_query_run(f, "tls", NULL), ": handshake with tls://127.0.0.1:");
    assert_part(tls_query_run(f, "https", NULL), "the server does not speak TLS");
}

UNIT_TEST_ON(test_timeouts_say_in_which_step, struct fixture *f)
{
    f->script = (struct script){.is_deaf = true};
    assert_part(tls_query_run_for(f, "tls", NULL, 50), ": handshake with tls://127.0.0.1:");
    f->script = (struct script){.is_mute = true};
    const char *text;
    int64_t timeout_ms = 50;
    do { /* until it is enough for the handshake */
        timeout_ms *= 2;
        text = tls_query_run_for(f, "https", NULL, timeout_ms);
    } while (strstr(text, ": handshake with https://127.0.0.1:"));
    assert_part(text, ": no response from https://127.0.0.1:");
    assert_part(text, err_code_text(ERR_TIMEOUT));
}

UNIT_TEST_ON(test_nobody_there, struct fixture *f)
{
    ev_io_stop(f->loop, &f->listener);
    close(f->listener.fd);
    f->listener.fd = -1;
    const char *text = tls_query_run(f, "tls", NULL);
    assert_part(text, ": connect to tls://127.0.0.1:");
    assert_part(text, "onnection refused\n");
}

/* Whatever a run was doing when its probe was freed, its descriptor is closed. */
UNIT_TEST_ON(test_freed_within_a_run, struct fixture *f)
{
    int before = dup(0);
    close(before);
    f->script = (struct script){.is_mute = true};
    for (unsigned turns = 0; turns < 12; turns++) {
        exechealthz_tls_query_start(f, turns % 2 ? "tls" : "https", NULL, LONG_MS);
        for (unsigned i = 0; i <= turns; i++) {
            ev_run(f->loop, EVRUN_NOWAIT);
        }
        dns_probe_free(f->probe);
        f->probe = NULL;
    }
    tls_query_close_connection(f);
    int after = dup(0);
    close(after);
    assert_int_equal(after, before);
}
