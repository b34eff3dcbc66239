/* http_client against a scripted server on the same loop. */
#include "common/base/buf.h"
#include "common/http/http_client.h"
#include "tests/support/http_script.h"
#include "tests/support/unit_test.h"

/* Far more than anything here takes: only ends a hang. */
enum { GUARD_S = 60 };

struct fixture {
    struct ev_loop *loop;
    struct http_client *client;
    struct http_script *script;
    struct http_call *call;
    ev_timer guard;
    struct buf log;   /* what the callbacks saw */
    unsigned pending; /* calls not ended yet */
    bool cancels_on_data;
    bool cancels_on_open;
    bool logs_type;
    const char *next_url; /* started from inside the first http_client_on_data */
};

static void http_client_on_guard(struct ev_loop *loop, ev_timer *w, int revents)
{
    fail_msg("timed out after %d s", GUARD_S);
}

static void http_client_start(struct fixture *f, const struct http_step *steps, size_t count)
{
    *f = (struct fixture){.loop = ev_loop_new(0)};
    f->client = http_client_new(f->loop);
    f->script = http_script_new(f->loop, steps, count);
    buf_init(&f->log, 1 << 20);
    ev_timer_init(&f->guard, http_client_on_guard, GUARD_S, 0);
    ev_timer_start(f->loop, &f->guard);
}

static void finish_client_fixture(struct fixture *f)
{
    assert_that(!http_script_problem(f->script), "%s", http_script_problem(f->script));
    http_client_free(f->client);
    http_script_free(f->script);
    ev_timer_stop(f->loop, &f->guard);
    ev_loop_destroy(f->loop);
    buf_fini(&f->log);
}

static void http_client_on_end(void *data, const struct http_result *result)
{
    struct fixture *f = data;
    if (result->err.code) {
        buf_printf(&f->log, "end %s: %s\n", err_code_text(result->err.code), result->err.msg);
    } else {
        buf_printf(&f->log, "end %d %.*s\n", result->status, (int)result->body.len,
                   result->body.ptr ? result->body.ptr : "");
    }
    if (--f->pending == 0) {
        ev_break(f->loop, EVBREAK_ALL);
    }
}

static struct http_call_config call_config(struct fixture *f, const char *url)
{
    return (struct http_call_config){
        .url = url, .body_max = 1000, .on_end = http_client_on_end, .data = f};
}

static void call_and_run(struct fixture *f, const struct http_call_config *config)
{
    f->pending++;
    f->call = http_call_start(f->client, config);
    assert_int_equal(f->log.len, 0); /* no callback from inside the call */
    ev_run(f->loop, 0);
}

static char *http_client_url_of(const struct fixture *f, const char *path)
{
    return xasprintf("%s%s", http_script_url(f->script), path);
}

/* One call with one reply. */
static void check_one(struct http_step step, struct http_call_config config, const char *want)
{
    CLEANUP(finish_client_fixture) struct fixture f;
    http_client_start(&f, &step, 1);
    CLEANUP_FREE char *url = http_client_url_of(&f, "/x?y=1");
    config.url = url;
    config.on_end = http_client_on_end;
    config.data = &f;
    call_and_run(&f, &config);
    assert_string_equal(buf_cstr(&f.log), want);
}

UNIT_TEST(test_body)
{
    check_one((struct http_step){.request = "GET /x?y=1 HTTP/1.1\r\n",
                                 .header = "Accept: application/json",
                                 .reply = http_reply_body("200 OK", "hello")},
              (struct http_call_config){.accept = "application/json", .body_max = 5},
              "end 200 hello\n");
}

UNIT_TEST(test_headers)
{
    const struct http_call_config bearer = {.bearer_token = "t0k3n", .body_max = 9};
    const struct http_call_config basic = {.username = "u", .password = "p", .body_max = 9};
    const struct http_call_config agent = {.user_agent = "a/1", .body_max = 9};
    check_one((struct http_step){.request = "GET /x?y=1 ",
                                 .header = "Authorization: Bearer t0k3n",
                                 .reply = http_reply_body("200 OK", "")},
              bearer, "end 200 \n");
    check_one((struct http_step){.request = "GET /x?y=1 ",
                                 .header = "Authorization: Basic dTpw",
                                 .reply = http_reply_body("200 OK", "")},
              basic, "end 200 \n");
    check_one((struct http_step){.request = "GET /x?y=1 ",
                                 .header = "User-Agent: a/1",
                                 .reply = http_reply_body("200 OK", "")},
              agent, "end 200 \n");
}

/* Without waiting for the server to want the body, and with success that is not 200. */
UNIT_TEST(test_writes)
{
    const struct http_call_config post = {
        .method = "POST", .body = slice_str("{}"), .content_type = "application/json"};
    struct http_call_config patch = post;
    patch.method = "PATCH";
    patch.content_type = "application/merge-patch+json";
    check_one((struct http_step){.request = "POST /x?y=1 HTTP/1.1\r\n",
                                 .header = "Content-Type: application/json",
                                 .reply = http_reply_body("201 Created", "made")},
              post, "end 201 made\n");
    check_one((struct http_step){.request = "PATCH /x?y=1 HTTP/1.1\r\n",
                                 .header = "Content-Type: application/merge-patch+json",
                                 .reply = http_reply_body("409 Conflict", "no")},
              patch, "end 409 no\n");
    check_one((struct http_step){.request = "POST /x?y=1 HTTP/1.1\r\n",
                                 .header = "Content-Length: 2",
                                 .reply = http_reply_body("201 Created", "")},
              post, "end 201 \n");
}

/* The Host header is the URL's even if another name is verified. */
UNIT_TEST(test_server_name)
{
    CLEANUP(finish_client_fixture) struct fixture f;
    const struct http_tls tls = {.server_name = "other.example"};
    struct http_step step = {.request = "GET /x ", .reply = http_reply_body("200 OK", "found")};
    http_client_start(&f, &step, 1);
    CLEANUP_FREE char *url = http_client_url_of(&f, "/x");
    struct http_call_config config = call_config(&f, url);
    config.tls = &tls;
    call_and_run(&f, &config);
    assert_string_equal(buf_cstr(&f.log), "end 200 found\n");
    CLEANUP_FREE char *host =
        xasprintf("\r\nHost: %s\r\n", http_script_url(f.script) + strlen("http://"));
    assert_that(strstr(http_script_head(f.script), host), "no %s in %s", host,
                http_script_head(f.script));
}

/* A proxy gets the complete http:// URL; no_proxy of the environment does not apply to a configured
 * proxy. */
UNIT_TEST(test_proxy)
{
    CLEANUP(finish_client_fixture) struct fixture f;
    struct http_step step = {.request = "GET http://server.invalid/x HTTP/1.1\r\n",
                             .header = "Host: server.invalid",
                             .reply = http_reply_body("200 OK", "found")};
    assert_int_equal(setenv("no_proxy", "*", 1), 0);
    http_client_start(&f, &step, 1);
    struct http_call_config config = call_config(&f, "http://server.invalid/x");
    config.proxy_url = http_script_url(f.script);
    call_and_run(&f, &config);
    assert_string_equal(buf_cstr(&f.log), "end 200 found\n");
    assert_int_equal(unsetenv("no_proxy"), 0);
}

UNIT_TEST(test_proxy_refuses)
{
    CLEANUP(finish_client_fixture) struct fixture f;
    struct http_step step = {.request = "CONNECT server.invalid:443 HTTP/1.1\r\n",
                             .reply = http_reply_body("403 Forbidden", "no")};
    http_client_start(&f, &step, 1);
    struct http_call_config config = call_config(&f, "https://server.invalid/x");
    config.proxy_url = http_script_url(f.script);
    config.bearer_token = "t0k3n";
    call_and_run(&f, &config);
    CLEANUP_FREE char *want =
        xasprintf("end unavailable: the proxy %s answered 403 instead of connecting\n",
                  http_script_url(f.script));
    assert_string_equal(buf_cstr(&f.log), want);
    assert_null(strstr(http_script_head(f.script), "t0k3n"));
}

UNIT_TEST(test_too_large)
{
    check_one((struct http_step){.request = "GET ", .reply = http_reply_body("200 OK", "123456")},
              (struct http_call_config){.body_max = 5},
              "end too large: response longer than 5 bytes\n");
}

/* An error's body does not count against body_max, and is truncated at a useful length. */
UNIT_TEST(test_error_body)
{
    check_one((struct http_step){.request = "GET ",
                                 .reply = http_reply_body("403 Forbidden", "you may not")},
              (struct http_call_config){.body_max = 5}, "end 403 you may not\n");

    CLEANUP(finish_client_fixture) struct fixture f;
    CLEANUP_FREE char *page = xcalloc(1, HTTP_ERROR_BODY_MAX + 2);
    memset(page, 'x', HTTP_ERROR_BODY_MAX + 1);
    struct http_step step = {.request = "GET ", .reply = http_reply_body("500 Oops", page)};
    http_client_start(&f, &step, 1);
    struct http_call_config config = call_config(&f, http_script_url(f.script));
    call_and_run(&f, &config);
    assert_true(strncmp(buf_cstr(&f.log), "end 500 ", 8) == 0);
    assert_true(f.log.len <= HTTP_ERROR_BODY_MAX + sizeof("end 500 "));
}

UNIT_TEST(test_failures)
{
    check_one((struct http_step){.request = "GET ", .is_closed = true},
              (struct http_call_config){0},
              "end unavailable: connection closed in the middle of the response\n");
    check_one(
        (struct http_step){.request = "GET ",
                           .reply = xstrdup("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"),
                           .is_closed = true},
        (struct http_call_config){.body_max = 9},
        "end unavailable: connection closed in the middle of the response\n");
    check_one((struct http_step){.request = "GET "}, (struct http_call_config){.silence_ms = 1000},
              "end timed out: no data for 1 s\n");
}

UNIT_TEST(test_refused)
{
    CLEANUP(finish_client_fixture) struct fixture f;
    http_client_start(&f, NULL, 0);
    CLEANUP_FREE char *url = http_client_url_of(&f, "/");
    struct http_script *other = http_script_new(f.loop, NULL, 0);
    http_script_free(f.script); /* nobody listens there now */
    f.script = other;
    struct http_call_config config = call_config(&f, url);
    call_and_run(&f, &config);
    assert_string_equal(buf_cstr(&f.log), "end unavailable: cannot connect: Connection refused\n");
}

UNIT_TEST(test_no_url)
{
    CLEANUP(finish_client_fixture) struct fixture f;
    http_client_start(&f, NULL, 0);
    struct http_call_config config = call_config(&f, "gopher://127.0.0.1/");
    call_and_run(&f, &config);
    assert_non_null(strstr(buf_cstr(&f.log), "end protocol error: "));
}

/* ---- Streams ---- */

static void http_client_on_open(void *data)
{
    struct fixture *f = data;
    buf_append_str(&f->log, "open\n");
    if (f->logs_type) {
        buf_printf(&f->log, "type `%s`\n", http_call_content_type(f->call));
    }
    if (f->cancels_on_open) {
        http_call_cancel(f->call);
        ev_break(f->loop, EVBREAK_ALL);
    }
}

static void http_client_on_data(void *data, struct slice bytes)
{
    struct fixture *f = data;
    buf_append_slice(&f->log, bytes);
    if (f->next_url) {
        struct http_call_config config = call_config(f, f->next_url);
        f->next_url = NULL;
        f->pending++;
        (void)http_call_start(f->client, &config); /* ends by itself */
    }
    if (f->cancels_on_data) {
        http_call_cancel(f->call);
        ev_break(f->loop, EVBREAK_ALL);
    }
}

static struct http_call_config stream_config(struct fixture *f, const char *url)
{
    struct http_call_config config = call_config(f, url);
    config.on_open = http_client_on_open;
    config.on_data = http_client_on_data;
    return config;
}

static const char *const two_lines[] = {"one\n", "two\n", NULL};

UNIT_TEST(test_stream)
{
    for (size_t piece = 0; piece < 3; piece++) {
        CLEANUP(finish_client_fixture) struct fixture f;
        struct http_step step = {.request = "GET / ",
                                 .reply = http_reply_stream(HTTP_STREAM_ENDS, two_lines),
                                 .piece_bytes = piece};
        http_client_start(&f, &step, 1);
        struct http_call_config config = stream_config(&f, http_script_url(f.script));
        call_and_run(&f, &config);
        assert_string_equal(buf_cstr(&f.log), "open\none\ntwo\nend 200 \n");
    }
}

UNIT_TEST(test_content_type)
{
    static const struct {
        const char *reply, *want;
    } cases[] = {
        {"HTTP/1.1 200 OK\r\nContent-Type: a/b;stream=watch\r\nContent-Length: 0\r\n\r\n",
         "open\ntype `a/b;stream=watch`\nend 200 \n"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "open\ntype ``\nend 200 \n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(finish_client_fixture) struct fixture f;
        struct http_step step = {.request = "GET / ", .reply = xstrdup(cases[i].reply)};
        http_client_start(&f, &step, 1);
        f.logs_type = true;
        struct http_call_config config = stream_config(&f, http_script_url(f.script));
        call_and_run(&f, &config);
        assert_string_equal(buf_cstr(&f.log), cases[i].want);
    }
}

UNIT_TEST(test_stream_cut)
{
    CLEANUP(finish_client_fixture) struct fixture f;
    struct http_step step = {.request = "GET / ",
                             .reply = http_reply_stream(HTTP_STREAM_GOES_ON, two_lines),
                             .is_closed = true};
    http_client_start(&f, &step, 1);
    struct http_call_config config = stream_config(&f, http_script_url(f.script));
    call_and_run(&f, &config);
    assert_string_equal(
        buf_cstr(&f.log),
        "open\none\ntwo\nend unavailable: connection closed in the middle of the response\n");
}

/* An error is not streamed: its body is in the result. */
UNIT_TEST(test_stream_refused)
{
    CLEANUP(finish_client_fixture) struct fixture f;
    struct http_step step = {.request = "GET / ", .reply = http_reply_body("410 Gone", "old")};
    http_client_start(&f, &step, 1);
    struct http_call_config config = stream_config(&f, http_script_url(f.script));
    call_and_run(&f, &config);
    assert_string_equal(buf_cstr(&f.log), "end 410 old\n");
}

UNIT_TEST(test_cancel_inside)
{
    for (int on_first = 0; on_first < 2; on_first++) {
        CLEANUP(finish_client_fixture) struct fixture f;
        struct http_step step = {.request = "GET / ",
                                 .reply = http_reply_stream(HTTP_STREAM_ENDS, two_lines)};
        http_client_start(&f, &step, 1);
        f.cancels_on_open = on_first == 1;
        f.cancels_on_data = on_first == 0;
        struct http_call_config config = stream_config(&f, http_script_url(f.script));
        call_and_run(&f, &config);
        ev_run(f.loop, EVRUN_NOWAIT);
        if (on_first) {
            assert_string_equal(buf_cstr(&f.log), "open\n");
        } else {
            assert_true(strncmp(buf_cstr(&f.log), "open\none\n", 9) == 0);
            assert_null(strstr(buf_cstr(&f.log), "end"));
        }
    }
}

/* A call started from inside libcurl, and reused connections. */
UNIT_TEST(test_start_inside)
{
    CLEANUP(finish_client_fixture) struct fixture f;
    struct http_step steps[] = {
        {.request = "GET / ", .reply = http_reply_stream(HTTP_STREAM_ENDS, two_lines)},
        {.request = "GET /next ", .reply = http_reply_body("200 OK", "next")},
    };
    http_client_start(&f, steps, 2);
    CLEANUP_FREE char *url = http_client_url_of(&f, "/next");
    f.next_url = url;
    struct http_call_config config = stream_config(&f, http_script_url(f.script));
    call_and_run(&f, &config);
    assert_non_null(strstr(buf_cstr(&f.log), "end 200 \n"));
    assert_non_null(strstr(buf_cstr(&f.log), "end 200 next\n"));
}

/* Calls in flight are freed with the client, without a callback. */
UNIT_TEST(test_free_in_flight)
{
    CLEANUP(finish_client_fixture) struct fixture f;
    struct http_step step = {.request = "GET / ",
                             .reply = http_reply_stream(HTTP_STREAM_GOES_ON, two_lines)};
    http_client_start(&f, &step, 1);
    struct http_call_config config = stream_config(&f, http_script_url(f.script));
    f.call = http_call_start(f.client, &config);
    while (f.log.len < strlen("open\none\ntwo\n")) {
        ev_run(f.loop, EVRUN_ONCE);
    }
    http_client_free(f.client);
    f.client = http_client_new(f.loop);
    assert_string_equal(buf_cstr(&f.log), "open\none\ntwo\n");
}
