/* -healthcheck: which URLs are accepted, and what counts as healthy, over HTTP and DNS, against
 * servers in a thread. */
#include "common/health/healthcheck.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/addr.h"
#include "tests/support/log_capture.h"
#include "tests/support/loopback.h"
#include "tests/support/scripted_nameserver.h"
#include "tests/support/unit_test.h"

UNIT_TESTS_HAVE_THREADS

enum { REQUEST_MAX = 1024, URL_MAX = 128, QUERY_LEN = 30 };

struct server {
    int fd; /* a listening or bound UDP socket */
    struct addr address;
    const char *reply; /* HTTP */
    unsigned ignored;  /* DNS: datagrams with no or a wrong reply before the first right one */
    uint8_t request[REQUEST_MAX];
    size_t request_len;
    pthread_t thread;
};

static const char *healthcheck_url_of(const struct server *s, const char *scheme, const char *path)
{
    static char url[URL_MAX];
    char text[ADDR_TEXT_MAX];
    (void)snprintf(url, sizeof(url), "%s%s%s", scheme, addr_format(&s->address, text), path);
    return url; /* fits */
}

/* ---- HTTP ---- */

static void *serve_http(void *data)
{
    struct server *s = data;
    int fd = accept(s->fd, NULL, NULL);
    while (!memmem(s->request, s->request_len, "\r\n\r\n", 4)) {
        ssize_t n = recv(fd, s->request + s->request_len, REQUEST_MAX - s->request_len, 0);
        if (n <= 0) {
            break;
        }
        s->request_len += (size_t)n;
    }
    (void)send(fd, s->reply, strlen(s->reply),
               MSG_NOSIGNAL); /* the test checks the client's result */
    close(fd);
    return NULL;
}

UNIT_TEST(test_http)
{
    static const struct {
        const char *reply;
        int code;
        const char *words[2]; /* parts of the error */
    } rows[] = {
        {"HTTP/1.1 200 OK\r\n\r\nok", 0, {"", ""}},
        {"HTTP/1.1 503 Unavailable\r\n\r\nno etcd\nand more", ERR_REFUSED, {"503", "no etcd"}},
        {"HTTP/1.1 404 Not Found\r\n\r\n", ERR_REFUSED, {"404", "/readiness?strict"}},
        {"SSH-2.0\r\n", ERR_PROTOCOL, {"HTTP", ""}},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct server s = {.reply = rows[i].reply};
        struct err err = {0};
        s.fd = loopback_listen(&s.address);
        assert_int_equal(pthread_create(&s.thread, NULL, serve_http, &s), 0);
        int r = healthcheck_run(healthcheck_url_of(&s, "http://", "/readiness?strict"), &err);
        assert_int_equal(pthread_join(s.thread, NULL), 0);
        close(s.fd);
        assert_int_equal(r, rows[i].code);
        assert_non_null(strstr(err.msg, rows[i].words[0]));
        assert_non_null(strstr(err.msg, rows[i].words[1]));
        assert_null(strstr(err.msg, "and more")); /* the first line is enough */
        assert_int_equal(strncmp((const char *)s.request, "GET /readiness?strict HTTP/1.", 29), 0);
    }
}

/* ---- DNS ---- */

static void *serve_dns(void *data)
{
    struct server *s = data;
    for (unsigned i = 0; i <= s->ignored; i++) {
        struct addr from = {.len = sizeof(from.v6)};
        ssize_t n = recvfrom(s->fd, s->request, REQUEST_MAX, 0, &from.sa, &from.len);
        if (n < QUERY_LEN) {
            break;
        }
        s->request_len = (size_t)n;
        uint8_t reply[12] = {s->request[0], s->request[1], 0x80, 5}; /* REFUSED */
        reply[1] ^= i < s->ignored;                                  /* another query's */
        (void)sendto(s->fd, reply, sizeof(reply), 0, &from.sa,
                     from.len); /* if lost, it is asked again */
    }
    return NULL;
}

/* Any reply counts, but only to this query; on another one it asks again. */
UNIT_TEST(test_dns)
{
    static const uint8_t question[] = "\7version\4bind\0\0\x10\0\3"; /* TXT in class CHAOS */
    for (unsigned ignored = 0; ignored < 3; ignored++) {
        struct server s = {.ignored = ignored};
        struct err err;
        s.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        do {
            s.address = loopback_addr(loopback_free_port());
        } while (bind(s.fd, &s.address.sa, s.address.len) != 0);
        assert_int_equal(pthread_create(&s.thread, NULL, serve_dns, &s), 0);
        assert_int_equal(healthcheck_run(healthcheck_url_of(&s, "udp://", ""), &err), 0);
        assert_int_equal(pthread_join(s.thread, NULL), 0);
        assert_int_equal(s.request_len, QUERY_LEN);
        assert_memory_equal(s.request + 12, question, sizeof(question) - 1);
        close(s.fd);
    }
}

/* ---- Without a server ---- */

UNIT_TEST(test_nobody_there)
{
    static const char *const schemes[] = {"http://", "udp://"};
    struct server s = {.address = scripted_nameserver_nowhere()};
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
        struct err err;
        char text[ADDR_TEXT_MAX];
        int r = healthcheck_run(healthcheck_url_of(&s, schemes[i], i == 0 ? "/" : ""), &err);
        assert_true(r < 0 && r != ERR_USAGE);
        assert_non_null(strstr(err.msg, addr_format(&s.address, text)));
    }
}

UNIT_TEST(test_urls_that_are_none)
{
    static const char *const urls[] = {
        "",
        "127.0.0.1:80/",
        "https://127.0.0.1:80/",
        "http://127.0.0.1:80", /* no path */
        "http://localhost:80/",
        "http://127.0.0.1:80/a b",
        "http://127.0.0.1:80/a\r\nHost: b",
        "http:///",
        "udp://127.0.0.1:53/",
        "udp://[::1]:",
        "http://127.0.0.1.127.0.0.1.127.0.0.1.127.0.0.1.127.0.0.1.127.0.0.1.127.0.0.1.127.0.0.1/",
    };
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        struct err err;
        assert_that(healthcheck_run(urls[i], &err) == ERR_USAGE, "%s", urls[i]);
        assert_non_null(strstr(err.msg, urls[i]));
    }
}

UNIT_TEST(test_exit_status)
{
    struct log_capture capture;
    struct server s = {.address = scripted_nameserver_nowhere()};
    log_capture_begin(&capture);
    assert_int_equal(healthcheck_main("tool", "nothing"), 2);
    assert_int_equal(strncmp(log_capture_end(&capture), "tool: ", 6), 0);
    log_capture_begin(&capture);
    assert_int_equal(healthcheck_main("tool", healthcheck_url_of(&s, "http://", "/")), 1);
    assert_int_equal(strncmp(log_capture_end(&capture), "tool: ", 6), 0);
    s.reply = "HTTP/1.1 200 OK\r\n\r\n";
    s.fd = loopback_listen(&s.address);
    assert_int_equal(pthread_create(&s.thread, NULL, serve_http, &s), 0);
    log_capture_begin(&capture);
    assert_int_equal(healthcheck_main("tool", healthcheck_url_of(&s, "http://", "/")), 0);
    assert_string_equal(log_capture_end(&capture), "");
    assert_int_equal(pthread_join(s.thread, NULL), 0);
    close(s.fd);
}
