/* Heads of HTTP requests: what is accepted, what is rejected with which status, and where a head
 * ends. */
#include "common/http/http_request_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { TEXT_MAX = 4096 };

/* A copy, since parsing changes it. */
static int parse(const char *text, struct http_head *head)
{
    static uint8_t bytes[TEXT_MAX];
    size_t len = strlen(text);
    assert_true(len <= sizeof(bytes));
    memcpy(bytes, text, len);
    assert_int_equal(http_head_length(bytes, len), len);
    return http_head_parse(bytes, len, head);
}

static void test_heads(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *method, *path;
        uint64_t body_len;
        bool is_1_0, wants_close, wants_continue;
    } cases[] = {
        {"the least", "GET / HTTP/1.1\r\nHost:\r\n\r\n", "GET", "/", 0, false, false, false},
        {"lines without CR", "GET /a HTTP/1.1\nHost: x\n\n", "GET", "/a", 0, false, false, false},
        {"empty lines before", "\r\n\nGET /a HTTP/1.1\r\nHost: x\r\n\r\n", "GET", "/a", 0, false,
         false, false},
        {"1.0 needs no host", "GET /a HTTP/1.0\r\n\r\n", "GET", "/a", 0, true, true, false},
        {"a later 1.x", "GET /a HTTP/1.2\r\nHost: x\r\n\r\n", "GET", "/a", 0, false, false, false},
        {"any method", "B-R.E_W! /pot HTTP/1.1\r\nHost: x\r\n\r\n", "B-R.E_W!", "/pot", 0, false,
         false, false},
        {"escapes in the path", "GET /%61%2Fb%3fc+d HTTP/1.1\r\nHost: x\r\n\r\n", "GET", "/a/b?c+d",
         0, false, false, false},
        {"as proxies are asked", "GET http://h:1/a?b HTTP/1.1\r\nHost: h:1\r\n\r\n", "GET", "/a", 0,
         false, false, false},
        {"no path at all", "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", "OPTIONS", "*", 0, false, false,
         false},
        {"close", "GET / HTTP/1.1\r\nHost: x\r\nCONNECTION: upgrade,\t Close\r\n\r\n", "GET", "/",
         0, false, true, false},
        {"closely is not close", "GET / HTTP/1.1\r\nHost: x\r\nConnection: closely\r\n\r\n", "GET",
         "/", 0, false, false, false},
        {"a body", "POST / HTTP/1.1\r\nHost: x\r\ncontent-length:  0012\t\r\n\r\n", "POST", "/", 12,
         false, false, false},
        {"a length twice",
         "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: "
         "5\r\nExpect: 100-Continue\r\n\r\n",
         "POST", "/", 5, false, false, true},
        {"bytes that are no ASCII", "GET /\xc3\xa4 HTTP/1.1\r\nHost: x\r\nX: \xff\r\n\r\n", "GET",
         "/\xc3\xa4", 0, false, false, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct http_head head;
        int status = parse(cases[i].text, &head);
        if (status != 0 || strcmp(head.method, cases[i].method) != 0 ||
            strcmp(head.path, cases[i].path) != 0 || head.body_len != cases[i].body_len ||
            head.is_1_0 != cases[i].is_1_0 || head.wants_close != cases[i].wants_close ||
            head.wants_continue != cases[i].wants_continue) {
            fail_msg("%s: %d `%s` `%s`", cases[i].name, status, status ? "" : head.method,
                     status ? "" : head.path);
        }
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int status;
    } cases[] = {
        {"GET\r\n\r\n", 400},
        {"GET /\r\n\r\n", 400}, /* 0.9 */
        {" / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET / HTTP/1.1 \r\nHost: x\r\n\r\n", 400},
        {"GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET /a b HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET /a\tb HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"G(T / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET a HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET http://host HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET https://host/ HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET /%4 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET /%4g HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET /%00 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET /?a=%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", 400},
        {"GET / http/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET / HTTP/11\r\nHost: x\r\n\r\n", 400},
        {"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505},
        {"GET / HTTP/0.9\r\nHost: x\r\n\r\n", 505},
        {"GET / HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\n: x\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n", 400}, /* a folded line */
        {"GET / HTTP/1.1\r\nHost: x\r\nA: b\rc\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\nA: \x01\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\nA: \x7f\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +1\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1, 1\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", 411},
        {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: x\r\n\r\n", 411},
        {"POST / HTTP/1.1\r\nHost: x\r\nExpect: a miracle\r\n\r\n", 417},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct http_head head;
        int status = parse(cases[i].text, &head);
        if (status != cases[i].status) {
            fail_msg("%d: %s", status, cases[i].text);
        }
    }
}

static void test_a_nul_is_refused(void **state)
{
    (void)state;
    static const char text[] = "GET /a\0b HTTP/1.1\r\nHost: x\r\n\r\n";
    uint8_t bytes[sizeof(text) - 1];
    struct http_head head;
    memcpy(bytes, text, sizeof(bytes));
    assert_int_equal(http_head_length(bytes, sizeof(bytes)), sizeof(bytes));
    assert_int_equal(http_head_parse(bytes, sizeof(bytes), &head), 400);
}

static void test_arguments(void **state)
{
    (void)state;
    struct http_head head;
    assert_int_equal(parse("GET /?a=1&b&c=&a=2&d=x%3dy=z&%65+e=f%2b+g&=h HTTP/1.0\r\n\r\n", &head),
                     0);
    static const struct {
        const char *name, *value;
    } cases[] = {{"a", "1"},      {"b", ""}, {"c", ""},  {"d", "x=y=z"},
                 {"e e", "f+ g"}, {"", "h"}, {"x", NULL}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *value = http_head_argument(&head, cases[i].name);
        if (!value != !cases[i].value || (value && strcmp(value, cases[i].value) != 0)) {
            fail_msg("%s: `%s`", cases[i].name, value ? value : "(none)");
        }
    }
    assert_int_equal(parse("GET /? HTTP/1.0\r\n\r\n", &head), 0);
    assert_string_equal(http_head_argument(&head, ""), "");
    assert_int_equal(parse("GET / HTTP/1.0\r\n\r\n", &head), 0);
    assert_int_equal(head.argument_count, 0);
}

static void test_more_arguments_than_are_kept(void **state)
{
    (void)state;
    char text[TEXT_MAX];
    size_t len = (size_t)snprintf(text, sizeof(text), "GET /?");
    for (int i = 0; i < 2 * HTTP_ARGUMENTS_MAX; i++) {
        len += (size_t)snprintf(text + len, sizeof(text) - len, "a%d=%d&", i, i);
    }
    (void)snprintf(text + len, sizeof(text) - len, " HTTP/1.0\r\n\r\n");
    struct http_head head;
    assert_int_equal(parse(text, &head), 0);
    assert_int_equal(head.argument_count, HTTP_ARGUMENTS_MAX);
    assert_string_equal(http_head_argument(&head, "a15"), "15");
    assert_null(http_head_argument(&head, "a16"));
}

/* A head ends at the empty line, not before, and what follows does not matter. */
static void test_length(void **state)
{
    (void)state;
    static const char text[] = "\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\nGET /next HTTP/1.1\r\n\r\n";
    static const size_t whole = sizeof("\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n") - 1;
    for (size_t len = 0; len < sizeof(text); len++) {
        assert_int_equal(http_head_length((const uint8_t *)text, len), len < whole ? 0 : whole);
    }
    assert_int_equal(http_head_length((const uint8_t *)"\n\r\n\n", 4), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heads),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_a_nul_is_refused),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_more_arguments_than_are_kept),
        cmocka_unit_test(test_length),
    };
    return cmocka_run_group_tests_name("http_request", tests, NULL, NULL);
}
