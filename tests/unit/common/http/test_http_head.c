/* Heads of HTTP/1.x requests and chunked bodies: what is accepted, what is refused with which
 * status, the same however the bytes are split. */
#include "common/http/http_head.h"

#include "common/http/http_chunks.h"
#include "tests/support/unit_test.h"

/* ---- Heads ---- */

/* Parses with one more byte at a time, in a block of exactly that size. */
static int parse_slowly(const char *text, size_t len, struct http_head *head)
{
    int status = HTTP_HEAD_MORE;
    *head = (struct http_head){0};
    for (size_t n = 0; n <= len && status == HTTP_HEAD_MORE; n++) {
        CLEANUP_FREE uint8_t *bytes = malloc(n + 1);
        assert_non_null(bytes);
        memcpy(bytes + 1, text, n);
        status = http_head_parse(head, bytes + 1, n);
    }
    return status;
}

static int parse_head_both_ways(const char *text, struct http_head *head)
{
    size_t len = strlen(text);
    struct http_head slow;
    *head = (struct http_head){0};
    int status = http_head_parse(head, (const uint8_t *)text, len);
    assert_int_equal(parse_slowly(text, len, &slow), status);
    assert_memory_equal(&slow, head, sizeof(slow));
    return status;
}

#define HOST "Host: x\r\n"

UNIT_TEST(test_heads)
{
    static const struct {
        const char *text, *method, *target, *type;
        uint64_t body_len;
        const char *flags; /* 0 is_1_0, c close, k keep-alive, e expects, t chunked */
    } cases[] = {
        {"GET / HTTP/1.1\r\nHost:\r\n\r\n", "GET", "/", "", 0, ""},
        {"\r\n\r\nGET /a HTTP/1.1\r\n" HOST "\r\n", "GET", "/a", "", 0, ""},
        {"GET /a HTTP/1.0\r\n\r\n", "GET", "/a", "", 0, "0"},
        {"GET /a HTTP/1.9\r\n" HOST "\r\n", "GET", "/a", "", 0, ""},
        {"B-R.E_W! * HTTP/1.1\r\n" HOST "\r\n", "B-R.E_W!", "*", "", 0, ""},
        {"POST /a HTTP/1.1\r\nHOST: x\r\ncontent-LENGTH: \t0012 \t\r\nContent-type: a/b ; "
         "c\r\n\r\n",
         "POST", "/a", "a/b ; c", 12, ""},
        {"POST /a HTTP/1.1\r\n" HOST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", "POST", "/a",
         "", 5, ""},
        {"GET / HTTP/1.1\r\n" HOST "Connection: upgrade ,\tClose\r\nConnection:keep-alive\r\n\r\n",
         "GET", "/", "", 0, "ck"},
        {"GET / HTTP/1.1\r\n" HOST "Connection: closely\r\nConnections: close\r\n\r\n", "GET", "/",
         "", 0, ""},
        {"POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: Chunked\r\nExpect: 100-Continue\r\n\r\n",
         "POST", "/", "", 0, "et"},
        {"GET / HTTP/1.1\r\n" HOST "X: \xff\t\xc3\xa4\r\nX:\r\n\r\n", "GET", "/", "", 0, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct http_head h;
        const uint8_t *bytes = (const uint8_t *)cases[i].text;
        const char *flags = cases[i].flags;
        int status = parse_head_both_ways(cases[i].text, &h);
        assert_that(
            status == 0 && h.at == strlen(cases[i].text) && h.body_len == cases[i].body_len &&
                slice_equal(http_head_text(bytes, h.method), slice_str(cases[i].method)) &&
                slice_equal(http_head_text(bytes, h.target), slice_str(cases[i].target)) &&
                slice_equal(http_head_text(bytes, h.content_type), slice_str(cases[i].type)) &&
                h.is_1_0 == (strchr(flags, '0') != NULL) &&
                h.wants_close == (strchr(flags, 'c') != NULL) &&
                h.wants_keep_alive == (strchr(flags, 'k') != NULL) &&
                h.wants_continue == (strchr(flags, 'e') != NULL) &&
                h.is_chunked == (strchr(flags, 't') != NULL),
            "case %zu: %d", i, status);
    }
}

UNIT_TEST(test_refused)
{
    static const struct {
        const char *text;
        int status;
    } cases[] = {
        {"GET / HTTP/1.1\n", 400},
        {"\n", 400},
        {"GET\r\n", 400},
        {"GET /\r\n", 400},
        {"GET  HTTP/1.1\r\n", 400},
        {"GET  / HTTP/1.1\r\n", 400},
        {"GET / HTTP/1.1 \r\n", 400},
        {" GET / HTTP/1.1\r\n", 400},
        {"GET /a b HTTP/1.1\r\n", 400},
        {"GET /a\tb HTTP/1.1\r\n", 400},
        {"GET /a\rb HTTP/1.1\r\n", 400},
        {"G(T / HTTP/1.1\r\n", 400},
        {"GET / http/1.1\r\n", 400},
        {"GET / HTTP/1.12\r\n", 400},
        {"GET / HTTP/x.1\r\n", 400},
        {"GET / HTTP/1,1\r\n", 400},
        {"GET / HTTP/2.0\r\n", 505},
        {"GET / HTTP/0.9\r\n", 505},
        {"GET / HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n" HOST HOST, 400},
        {"GET / HTTP/1.1\r\n" HOST "X : y\r\n", 400},
        {"GET / HTTP/1.1\r\n" HOST " folded\r\n", 400},
        {"GET / HTTP/1.1\r\n" HOST ": y\r\n", 400},
        {"GET / HTTP/1.1\r\n" HOST "X\r\n", 400},
        {"GET / HTTP/1.1\r\n" HOST "X: a\x01\r\n", 400},
        {"GET / HTTP/1.1\r\n" HOST "X: a\x7f\r\n", 400},
        {"GET / HTTP/1.1\r\n" HOST "X: a\rb\r\n", 400},
        {"POST / HTTP/1.1\r\n" HOST "Content-Length:\r\n", 400},
        {"POST / HTTP/1.1\r\n" HOST "Content-Length: +5\r\n", 400},
        {"POST / HTTP/1.1\r\n" HOST "Content-Length: 5, 5\r\n", 400},
        {"POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\nContent-Length: 6\r\n", 400},
        {"POST / HTTP/1.1\r\n" HOST "Content-Length: 1234567890123456789\r\n", 413},
        {"POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n", 501},
        {"POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
         501},
        {"POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", 400},
        {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\n" HOST "Expect: 200-ok\r\n", 417},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct http_head head;
        int status = parse_head_both_ways(cases[i].text, &head);
        assert_that(status == cases[i].status, "case %zu: %d", i, status);
    }
}

/* Lines without CR, where they are taken; a stray CR is none. */
UNIT_TEST(test_bare_lf)
{
    static const char text[] = "\r\n\nGET /a HTTP/1.1\nHost:  b \r\nX: y\n\nGET";
    static const char stray[] = "GET /a HTTP/1.1\nHost: b\rc\n";
    const struct http_head lenient = {.takes_bare_lf = true};
    struct http_head head = lenient, strict = {0};
    assert_int_equal(http_head_parse(&head, (const uint8_t *)text, sizeof(text) - 1), 0);
    assert_int_equal(head.at, sizeof(text) - 1 - 3);
    assert_true(slice_equal(http_head_text((const uint8_t *)text, head.host), slice_str("b")));
    assert_int_equal(http_head_parse(&strict, (const uint8_t *)text, sizeof(text) - 1), 400);
    head = lenient;
    assert_int_equal(http_head_parse(&head, (const uint8_t *)stray, sizeof(stray) - 1), 400);
}

UNIT_TEST(test_a_nul_is_refused)
{
    static const char text[] = "GET /a\0b HTTP/1.1\r\n";
    struct http_head head = {.takes_bare_lf = true};
    assert_int_equal(http_head_parse(&head, (const uint8_t *)text, sizeof(text) - 1), 400);
}

/* One head of exactly the limit, padded in the target or in a field, and one a byte longer. */
UNIT_TEST(test_limit)
{
    static char text[HTTP_HEAD_MAX + 2];
    static const char before[] = "GET /", after[] = " HTTP/1.0\r\n", end[] = "X: y\r\n\r\n";
    size_t rest = sizeof(after) + sizeof(end) - 2;
    for (size_t len = HTTP_HEAD_MAX; len <= HTTP_HEAD_MAX + 1; len++) {
        struct http_head head = {0};
        memset(text, 'a', sizeof(text));
        memcpy(text, before, sizeof(before) - 1);
        memcpy(text + len - rest, after, sizeof(after) - 1);
        memcpy(text + len - sizeof(end) + 1, end, sizeof(end) - 1);
        int want = len > HTTP_HEAD_MAX ? 431 : 0;
        assert_int_equal(http_head_parse(&head, (const uint8_t *)text, len), want);
    }
    struct http_head head = {0};
    memset(text, 'a', sizeof(text));
    assert_int_equal(http_head_parse(&head, (const uint8_t *)text, HTTP_HEAD_MAX - 1),
                     HTTP_HEAD_MORE);
    assert_int_equal(http_head_parse(&head, (const uint8_t *)text, HTTP_HEAD_MAX), 414);
}

/* ---- Chunks ---- */

enum { BODY_MAX = 32 };

/* One byte at a time, or all at once. */
static int http_head_take_chunks(const char *text, size_t step, bool is_skipped, struct buf *body,
                                 size_t *ret_taken)
{
    struct http_chunks chunks = {0};
    size_t len = strlen(text), at = 0, taken;
    int status = HTTP_CHUNKS_MORE;
    while (status == HTTP_CHUNKS_MORE && at < len) {
        size_t part = step < len - at ? step : len - at;
        status = http_chunks_take(&chunks, (const uint8_t *)text + at, part,
                                  is_skipped ? NULL : body, &taken);
        assert_true(taken <= part && (taken == part || status != HTTP_CHUNKS_MORE));
        at += taken;
    }
    *ret_taken = at;
    return status;
}

UNIT_TEST(test_chunks)
{
    static const struct {
        const char *text;
        int status;
        const char *body, *rest; /* of those complete */
    } cases[] = {
        {"3\r\nabc\r\n0\r\n\r\n", 0, "abc", ""},
        {"3\r\nabc\r\n002\r\nde\r\n000\r\n\r\nGET", 0, "abcde", "GET"},
        {"A;x=\"y\"\r\n0123456789\r\n0;z\r\nSum: 1\r\nT: 2\r\n\r\n\r\n", 0, "0123456789", "\r\n"},
        {"a \t\r\n0123456789\r\n0\r\n\r\n", 0, "0123456789", ""},
        {"0\r\n\r\n", 0, "", ""},
        {"3\r\nabc\r\n", HTTP_CHUNKS_MORE, "", ""},
        {"0\r\nT: 1\r\n", HTTP_CHUNKS_MORE, "", ""},
        {"21\r\n0123456789abcdef0123456789abcdef0\r\n0\r\n\r\n", 413, "", ""},
        {"\r\n", 400, "", ""},
        {"3\nabc", 400, "", ""},
        {"3\r\rabc", 400, "", ""},
        {"g\r\n", 400, "", ""},
        {"-1\r\n", 400, "", ""},
        {"0x3\r\n", 400, "", ""},
        {"3;\n\r\n", 400, "", ""},
        {"3;\x01\r\n", 400, "", ""},
        {"3\r\nabcd\r\n", 400, "", ""},
        {"3\r\nabc\n", 400, "", ""},
        {"3\r\nabc\r\r", 400, "", ""},
        {"3\r\nabc\r\n\r\n", 400, "", ""},
        {"0\r\nT\n", 400, "", ""},
        {"0\r\nT\r\r", 400, "", ""},
        {"00000000\r\n", 400, "", ""},
        {"fffffffff\r\n", 400, "", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (size_t step = 1; step < 100; step += 13) {
            size_t taken;
            CLEANUP_BUF struct buf body = buf_of(BODY_MAX);
            int status = http_head_take_chunks(cases[i].text, step, false, &body, &taken);
            assert_that(
                status == cases[i].status &&
                    (status != 0 || (slice_equal(buf_slice(&body), slice_str(cases[i].body)) &&
                                     strcmp(cases[i].text + taken, cases[i].rest) == 0)),
                "case %zu by %zu: %d", i, step, status);
            int want = cases[i].status == 413 ? 0 : cases[i].status; /* skipped: no limit */
            assert_int_equal(http_head_take_chunks(cases[i].text, step, true, NULL, &taken), want);
        }
    }
}

/* Extensions and trailers together, of all chunks. */
UNIT_TEST(test_extra_limit)
{
    struct http_chunks chunks = {0};
    size_t taken, count = 0;
    int status;
    CLEANUP_BUF struct buf body = buf_of(SIZE_MAX);
    do {
        status = http_chunks_take(&chunks, (const uint8_t *)"1;x\r\na\r\n", 8, &body, &taken);
        count++;
    } while (status == HTTP_CHUNKS_MORE && count <= 2 * HTTP_CHUNKS_EXTRA_MAX);
    assert_int_equal(status, 431);
    assert_in_range(count, HTTP_CHUNKS_EXTRA_MAX, HTTP_CHUNKS_EXTRA_MAX + 1);
}
