/* Replies of HTTP servers: bodies, limits, what is refused; the same however the bytes are split.
 */
#include "common/http/http_response.h"

#include "tests/support/unit_test.h"

#define OK    "HTTP/1.1 200 OK\r\n"
#define TYPE  "Content-Type: application/dns-message\r\n"
#define MEDIA "application/dns-message"

enum { BODY_MAX = 65535 };

/* ---- Replies ---- */

/* Adds the text in pieces of this size, each in memory of its own. */
static int http_response_feed(struct http_response *reply, const char *text, size_t piece,
                              struct err *err)
{
    size_t len = strlen(text);
    int r = 0;
    for (size_t at = 0; r == 0 && at < len; at += piece) {
        size_t n = len - at < piece ? len - at : piece;
        CLEANUP_FREE char *copy = malloc(n);
        assert_non_null(copy);
        memcpy(copy, text + at, n);
        r = http_response_add(reply, slice_of(copy, n), err);
    }
    return r == 0 ? http_response_end(reply, err) : r;
}

static void assert_body(const char *text, const char *want)
{
    for (size_t piece = 1; piece <= strlen(text); piece++) {
        CLEANUP(http_response_fini) struct http_response reply;
        struct err err = {0};
        http_response_init(&reply, BODY_MAX);
        assert_that(http_response_feed(&reply, text, piece, &err) == 0, "by %zu: %s: %s", piece,
                    text, err.msg);
        assert_int_equal(reply.part, HTTP_RESPONSE_DONE);
        assert_string_equal(buf_cstr(&reply.body), want);
    }
}

UNIT_TEST(test_replies)
{
    assert_body(OK TYPE "Content-Length: 4\r\n\r\nbody", "body");
    assert_body(OK TYPE "Content-Length: 4\r\n\r\nbody and what follows", "body");
    assert_body(OK TYPE "Content-Length: 0\r\n\r\n", "");
    assert_body(OK TYPE "content-length:4\r\nCONTENT-LENGTH: 4 \r\n\r\nbody", "body");
    assert_body(OK "CONTENT-TYPE:\tApplication/DNS-Message ; a=b\r\ncontent-length: 1\r\n\r\nx",
                "x");
    assert_body("HTTP/1.1 200\nContent-Type: " MEDIA "\nX:\nContent-Length: 1\n\nx", "x");
    assert_body("HTTP/1.0 200 OK\r\n" TYPE "\r\nuntil the end", "until the end");
    assert_body("HTTP/1.1 103 Early Hints\r\nContent-Type: text/html\r\n\r\n" OK TYPE
                "Content-Length: 1\r\n\r\nx",
                "x");
}

UNIT_TEST(test_chunks)
{
    const char *head = OK TYPE "Transfer-Encoding: chunked\r\n";
    static const struct {
        const char *chunks, *body;
    } cases[] = {
        {"\r\n4\r\nbody\r\n0\r\n\r\n", "body"},
        {"\r\n2\r\nbo\r\n00A;x=y\r\n0123456789\r\n1 \r\ny\r\n0\r\nTrailer: x\r\n\r\n",
         "bo0123456789y"},
        {"\r\n0\r\n\r\n", ""},
        {"Content-Length: 1\r\n\r\n2\r\nbo\r\n0\r\n\r\n", "bo"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[512];
        (void)snprintf(text, sizeof(text), "%s%s", head, cases[i].chunks); /* fits */
        assert_body(text, cases[i].body);
    }
}

static void assert_error(const char *text, int code, const char *expected)
{
    for (size_t piece = 1; piece <= 64; piece += 21) {
        CLEANUP(http_response_fini) struct http_response reply;
        struct err err = {0};
        http_response_init(&reply, BODY_MAX);
        int r = http_response_feed(&reply, text, piece, &err);
        assert_that(r == code && err.code == code && strstr(err.msg, expected),
                    "by %zu: %.200s: %d `%s`", piece, text, r, err.msg);
    }
}

UNIT_TEST(test_heads)
{
    static const struct {
        const char *text, *reason, *type;
        unsigned status;
        bool is_type;
    } cases[] = {
        {"HTTP/1.1 404 Not Found\r\n\r\n", "404 Not Found", "", 404, false},
        {"HTTP/1.1 204 No\1Content\r\n\r\n", "204 No?Content", "", 204, false},
        {OK "Content-Type: text/html; charset=utf-8\r\n\r\n", "200 OK", "text/html; charset=utf-8",
         200, false},
        {OK "Content-Type: " MEDIA "s\r\n\r\n", "200 OK", MEDIA "s", 200, false},
        {OK "Content-Type:\r\n\r\n", "200 OK", "", 200, false},
        {OK "content-type: Application/DNS-message ;q=1\r\n\r\n", "200 OK",
         "Application/DNS-message ;q=1", 200, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(http_response_fini) struct http_response reply;
        http_response_init(&reply, BODY_MAX);
        assert_int_equal(http_response_feed(&reply, cases[i].text, 1, NULL), 0);
        assert_int_equal(reply.status, cases[i].status);
        assert_string_equal(reply.reason, cases[i].reason);
        assert_string_equal(reply.type, cases[i].type);
        assert_int_equal(http_response_is_type(&reply, MEDIA), cases[i].is_type);
    }
}

UNIT_TEST(test_refused)
{
    static const struct {
        const char *text;
        int code;
        const char *expected;
    } cases[] = {
        {"", ERR_PROTOCOL, "closed the connection without a response"},
        {"HTTP/1.1 200", ERR_PROTOCOL, "closed the connection within its response"},
        {OK TYPE, ERR_PROTOCOL, "within its response"},
        {OK TYPE "Content-Length: 5\r\n\r\nbody", ERR_PROTOCOL, "within its response"},
        {"HTTP/2 200 OK\r\n", ERR_PROTOCOL, "it does not speak HTTP, but `HTTP/2 200 OK`"},
        {"HTTP/1.1 2000\r\n", ERR_PROTOCOL, "not speak HTTP"},
        {"\r\n", ERR_PROTOCOL, "it does not speak HTTP, but ``"},
        {"HTTP/1.1 20\r\n", ERR_PROTOCOL, "not speak HTTP"},
        {OK "nothing\r\n", ERR_PROTOCOL, "HTTP header `nothing`"},
        {OK ": x\r\n", ERR_PROTOCOL, "HTTP header `: x`"},
        {OK "Content-Length: x\r\n", ERR_PROTOCOL, "Content-Length `x`: expected one number"},
        {OK "Content-Length:\r\n", ERR_PROTOCOL, "Content-Length ``"},
        {OK "Content-Length: 1\r\nContent-Length: 2\r\n", ERR_PROTOCOL, "Content-Length `2`"},
        {OK "Content-Length: 65536\r\n", ERR_TOO_LARGE, "more than 65535 bytes"},
        {OK "Content-Length: 99999999999999999999999\r\n", ERR_TOO_LARGE, "more than 65535"},
        {OK "Transfer-Encoding: gzip, chunked\r\n", ERR_PROTOCOL, "`gzip, chunked`"},
        {OK TYPE "Transfer-Encoding: chunked\r\n\r\nx\r\n", ERR_PROTOCOL, "make no sense"},
        {OK TYPE "Transfer-Encoding: chunked\r\n\r\n\r\n", ERR_PROTOCOL, "make no sense"},
        {OK TYPE "Transfer-Encoding: chunked\r\n\r\n1x\r\n", ERR_PROTOCOL, "make no sense"},

        {OK TYPE "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffffff1\r\n", ERR_PROTOCOL,
         "make no sense"},
        {OK TYPE "Transfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n", ERR_PROTOCOL, "make no sense"},
        {OK TYPE "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n", ERR_PROTOCOL, "within"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_error(cases[i].text, cases[i].code, cases[i].expected);
    }
}

/* Text with n times the same piece. */
static void append_times(struct buf *out, const char *piece, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        buf_append_str(out, piece);
    }
}

UNIT_TEST(test_limits)
{
    CLEANUP_BUF struct buf text = buf_of(1 << 20);

    buf_append_str(&text, OK TYPE);
    append_times(&text, "X: y\r\n", (HTTP_RESPONSE_HEAD_MAX - 60) / 6);
    buf_append_str(&text, "\r\n");
    struct http_response reply;
    http_response_init(&reply, BODY_MAX);
    assert_int_equal(http_response_feed(&reply, buf_cstr(&text), SIZE_MAX / 2, NULL), 0);
    http_response_fini(&reply);

    buf_clear(&text);
    append_times(&text, "HTTP/1.1 102 x\r\n\r\n",
                 HTTP_RESPONSE_HEAD_MAX / 18 + 1); /* without end */
    assert_error(buf_cstr(&text), ERR_TOO_LARGE, "8192 bytes of HTTP headers");

    buf_clear(&text);
    buf_append_str(&text, OK TYPE "Transfer-Encoding: chunked\r\n\r\n");
    append_times(&text, "1;xxxxxxxxxxxxxxxxxxxx\r\nx\r\n",
                 1024); /* more of sizes than of the body */
    assert_error(buf_cstr(&text), ERR_PROTOCOL, "make no sense");

    buf_clear(&text);
    buf_append_str(&text, OK TYPE "Transfer-Encoding: chunked\r\n\r\n");
    append_times(&text, "8\r\n01234567\r\n", BODY_MAX / 8 + 1);
    assert_error(buf_cstr(&text), ERR_TOO_LARGE, "more than 65535 bytes");

    buf_clear(&text);
    append_times(&text, "x", HTTP_RESPONSE_HEAD_MAX + 1); /* a line without end */
    assert_error(buf_cstr(&text), ERR_TOO_LARGE, "8192 bytes of HTTP headers");

    buf_clear(&text);
    buf_append_str(&text, OK TYPE "\r\n");
    append_times(&text, "x", BODY_MAX);
    http_response_init(&reply, BODY_MAX);
    assert_int_equal(http_response_feed(&reply, buf_cstr(&text), 1000, NULL), 0);
    assert_int_equal(reply.body.len, BODY_MAX);
    http_response_fini(&reply);
    buf_append_char(&text, 'x');
    assert_error(buf_cstr(&text), ERR_TOO_LARGE, "more than 65535 bytes");
}
