/* skydns -explain: what it sends and prints, and what is an error, against a server in a thread
 * that sends exact replies. */
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "skydns/pages/explain.h"
#include "skydns/pages/explain_client.h"
#include "tests/support/loopback.h"
#include "tests/support/stdout_capture.h"
#include "tests/support/unit_test.h"

UNIT_TESTS_HAVE_THREADS

enum { REQUEST_MAX = 4096 };

struct server {
    int listener;
    struct addr address;
    const char *reply;
    char request[REQUEST_MAX];
    pthread_t thread;
};

/* Reads the head of a request, replies, closes. */
static void explain_client_serve_one(struct server *s)
{
    size_t len = 0;
    int fd = accept(s->listener, NULL, NULL);
    memset(s->request, 0, sizeof(s->request));
    while (!strstr(s->request, "\r\n\r\n")) {
        ssize_t n = recv(fd, s->request + len, sizeof(s->request) - 1 - len, 0);
        if (n <= 0) {
            break;
        }
        len += (size_t)n;
    }
    (void)send(fd, s->reply, strlen(s->reply),
               MSG_NOSIGNAL); /* the test checks the client's result */
    close(fd);
}

/* The moments that run_client asks for. */
static const char *moment = "";
static unsigned moments = 1;

static void *explain_client_serve(void *data)
{
    for (unsigned i = 0; i < moments; i++) {
        explain_client_serve_one(data);
    }
    return NULL;
}

/* Returns pages_explain_client's result; its output in `output`. */
static int run_client(struct server *s, const char *reply, const char *name, const char *type,
                      char output[OUTPUT_MAX], struct err *err)
{
    *s = (struct server){.reply = reply};
    s->listener = loopback_listen(&s->address);
    assert_int_equal(pthread_create(&s->thread, NULL, explain_client_serve, s), 0);
    struct stdout_capture capture = capture_stdout();
    int r = pages_explain_client(
        &s->address,
        &(struct explain_query){.name = name, .type = type, .client = "", .at = moment}, err);
    end_capture(&capture, output);
    assert_int_equal(pthread_join(s->thread, NULL), 0);
    close(s->listener);
    return r;
}

UNIT_TEST(test_page_is_printed)
{
    struct server s;
    struct err err;
    char output[OUTPUT_MAX];
    assert_int_equal(run_client(&s, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nline 1\n100%s\n",
                                "Web-1_a.cluster.local", "SRV", output, &err),
                     0);
    assert_string_equal(output, "line 1\n100%s\n");
    assert_int_equal(strncmp(s.request,
                             "GET /explain?text&name=Web-1_a.cluster.local&type=SRV HTTP/1.0\r\n",
                             strlen("GET /explain?text&name=Web-1_a.cluster.local&type=SRV HTTP/")),
                     0);
}

/* User input cannot escape its place in the URL. */
UNIT_TEST(test_question_is_escaped)
{
    struct server s;
    struct err err;
    char output[OUTPUT_MAX];
    assert_int_equal(run_client(&s, "HTTP/1.1 200 OK\r\n\r\n", "a&b=\r\n *\xe2%", "", output, &err),
                     0);
    assert_non_null(strstr(s.request, "name=a%26b%3D%0D%0A%20%2A%E2%25&type= HTTP/1."));
    assert_string_equal(output, "");
}

UNIT_TEST(test_question_is_refused)
{
    struct server s;
    struct err err;
    char output[OUTPUT_MAX];
    assert_int_equal(run_client(&s, "HTTP/1.1 400 Bad Request\r\n\r\nno such type\nmore\n", "a",
                                "X", output, &err),
                     ERR_USAGE);
    assert_string_equal(err.msg, "no such type");
    assert_string_equal(output, "");
}

/* A good question, whose answer cannot be had, is no fault of the command line. */
UNIT_TEST(test_the_past)
{
    static const char *const replies[] = {"HTTP/1.1 410 Gone\r\n\r\nis gone\n",
                                          "HTTP/1.1 503 Service Unavailable\r\n\r\nbusy\n",
                                          "HTTP/1.1 507 Insufficient Storage\r\n\r\nlarge\n"};
    static const char *const messages[] = {"is gone", "busy", "large"};
    moment = "2026-05-01T00:00:00+02:00";
    for (size_t i = 0; i < ARRAY_LEN(replies); i++) {
        struct server s;
        struct err err;
        char output[OUTPUT_MAX];
        assert_int_equal(run_client(&s, replies[i], "a", "A", output, &err), ERR_NOT_FOUND);
        assert_string_equal(err.msg, messages[i]);
        assert_non_null(strstr(s.request, "&type=A&at=2026-05-01T00%3A00%3A00%2B02%3A00 HTTP/1."));
    }
    moment = "";
}

UNIT_TEST(test_two_moments)
{
    struct server s;
    struct err err;
    char output[OUTPUT_MAX];
    moment = "5..10m";
    moments = 2;
    assert_int_equal(run_client(&s, "HTTP/1.1 200 OK\r\n\r\na\nb\nc\n", "a", "A", output, &err), 0);
    assert_string_equal(output, "< a\n< b\n> a\n> b\n"
                                "no difference: both answers come from the same records\n");
    assert_non_null(strstr(s.request, "&at=10m HTTP/1."));
    moments = 1;
    assert_int_equal(run_client(&s, "HTTP/1.1 410 Gone\r\n\r\ngone\n", "a", "A", output, &err),
                     ERR_NOT_FOUND);
    assert_non_null(strstr(s.request, "&at=5 HTTP/1."));
    assert_string_equal(output, "");
    moment = "";
}

UNIT_TEST(test_no_http)
{
    struct server s;
    struct err err;
    char output[OUTPUT_MAX];
    assert_int_equal(run_client(&s, "SSH-2.0-x\r\n", "a", "A", output, &err), ERR_PROTOCOL);
    assert_non_null(strstr(err.msg, "-http-addr"));
}

UNIT_TEST(test_nobody_there)
{
    struct addr address = loopback_addr(loopback_free_port());
    struct err err;
    char text[ADDR_TEXT_MAX];
    assert_true(pages_explain_client(
                    &address,
                    &(struct explain_query){.name = "a", .type = "A", .client = "", .at = ""},
                    &err) < 0);
    assert_non_null(strstr(err.msg, "-http-addr"));
    assert_non_null(strstr(err.msg, addr_format(&address, text)));
}
