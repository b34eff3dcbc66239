/* Tests paths and arguments out of requests' targets, and which targets are refused. */
#include "common/http/http_request_internal.h"

#include "tests/support/unit_test.h"

enum { TEXT_MAX = 4096 };

/* A copy, since parsing changes it. */
static int parse_request_text(const char *text, struct http_request *request)
{
    static uint8_t bytes[TEXT_MAX];
    size_t len = strlen(text);
    struct http_head head = {0};
    assert_true(len <= sizeof(bytes));
    memcpy(bytes, text, len);
    assert_int_equal(http_head_parse(&head, bytes, len), 0);
    return http_request_parse(bytes, &head, request);
}

UNIT_TEST(test_paths)
{
    static const struct {
        const char *text, *method, *path;
    } cases[] = {
        {"GET / HTTP/1.0\r\n\r\n", "GET", "/"},
        {"B-R.E_W! /pot HTTP/1.0\r\n\r\n", "B-R.E_W!", "/pot"},
        {"GET /%61%2Fb%3fc+d HTTP/1.0\r\n\r\n", "GET", "/a/b?c+d"},
        {"GET http://h:1/a?b HTTP/1.0\r\n\r\n", "GET", "/a"}, /* as proxies are asked */
        {"OPTIONS * HTTP/1.0\r\n\r\n", "OPTIONS", "*"},
        {"GET /\xc3\xa4 HTTP/1.0\r\n\r\n", "GET", "/\xc3\xa4"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct http_request request;
        int status = parse_request_text(cases[i].text, &request);
        assert_that(status == 0 && strcmp(request.method, cases[i].method) == 0 &&
                        strcmp(request.path, cases[i].path) == 0,
                    "%s: %d `%s` `%s`", cases[i].text, status, request.method, request.path);
    }
}

UNIT_TEST(test_refused)
{
    static const struct {
        const char *text;
        int status;
    } cases[] = {
        {"GET a HTTP/1.0\r\n\r\n", 400},
        {"GET http://host HTTP/1.0\r\n\r\n", 400},
        {"GET https://host/ HTTP/1.0\r\n\r\n", 400},
        {"GET /%4 HTTP/1.0\r\n\r\n", 400},
        {"GET /%4g HTTP/1.0\r\n\r\n", 400},
        {"GET /%00 HTTP/1.0\r\n\r\n", 400},
        {"GET /?a=%zz HTTP/1.0\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", 411},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct http_request request;
        int status = parse_request_text(cases[i].text, &request);
        assert_that(status == cases[i].status, "%d: %s", status, cases[i].text);
    }
}

UNIT_TEST(test_arguments)
{
    struct http_request request;
    assert_int_equal(parse_request_text(
                         "GET /?a=1&b&c=&a=2&d=x%3dy=z&%65+e=f%2b+g&=h HTTP/1.0\r\n\r\n", &request),
                     0);
    static const struct {
        const char *name, *value;
    } cases[] = {{"a", "1"},      {"b", ""}, {"c", ""},  {"d", "x=y=z"},
                 {"e e", "f+ g"}, {"", "h"}, {"x", NULL}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *value = http_request_arg(&request, cases[i].name);
        assert_that(!value == !cases[i].value && (!value || strcmp(value, cases[i].value) == 0),
                    "%s: `%s`", cases[i].name, value ? value : "(none)");
    }
    assert_int_equal(parse_request_text("GET /? HTTP/1.0\r\n\r\n", &request), 0);
    assert_string_equal(http_request_arg(&request, ""), "");
    assert_int_equal(parse_request_text("GET / HTTP/1.0\r\n\r\n", &request), 0);
    assert_int_equal(request.argument_count, 0);
}

UNIT_TEST(test_more_arguments_than_are_kept)
{
    char text[TEXT_MAX];
    size_t len = (size_t)snprintf(text, sizeof(text), "GET /?");
    for (int i = 0; i < 2 * HTTP_ARGUMENTS_MAX; i++) {
        len += (size_t)snprintf(text + len, sizeof(text) - len, "a%d=%d&", i, i);
    }
    (void)snprintf(text + len, sizeof(text) - len, " HTTP/1.0\r\n\r\n");
    struct http_request request;
    assert_int_equal(parse_request_text(text, &request), 0);
    assert_int_equal(request.argument_count, HTTP_ARGUMENTS_MAX);
    assert_string_equal(http_request_arg(&request, "a15"), "15");
    assert_null(http_request_arg(&request, "a16"));
}
