/* DNS over HTTP/1.1 on a connection: each status, bodies, order, late replies, ends and limits; all
 * the same however the bytes are split. */
#include "skydns/doh/doh_http1_internal.h"

#include "skydns/doh/doh.h"
#include "skydns/doh/doh_reply_internal.h"
#include "skydns/doh/doh_request_internal.h"
#include "tests/support/skydns/stream_host_fake.h"
#include "tests/support/unit_test.h"

/* `a.` A, as it is asked. */
#define QUERY      "\0\0\1\0\0\1\0\0\0\0\0\0\1a\0\0\1\0\1"
#define QUERY_TEXT "AAABAAABAAAAAAAAAWEAAAEAAQ"
enum { QUERY_LEN = sizeof(QUERY) - 1 };

#define HOST "Host: x\r\n"
#define GET  "GET /dns-query?dns=" QUERY_TEXT " HTTP/1.1\r\n" HOST "\r\n"
#define TYPE "Content-Type: application/dns-message\r\n"
#define POST "POST /dns-query HTTP/1.1\r\n" HOST TYPE

static int open_host(void **state)
{
    struct stream_host *host = xcalloc(1, sizeof(*host));
    fake_host_open(host, &doh_protocol);
    *state = host;
    return 0;
}

static int close_host(void **state)
{
    CLEANUP_FREE struct stream_host *host = *state;
    fake_host_close(host);
    return 0;
}

static void doh_http1_arrive(struct stream_host *host, const char *text)
{
    fake_host_arrive(host, text, strlen(text));
}

/* ---- Replies ---- */

struct got {
    unsigned status;
    struct slice head, body; /* of the host's output */
};

static bool head_has(struct got got, const char *line)
{
    CLEANUP_FREE char *want = xasprintf("\r\n%s\r\n", line);
    return memmem(got.head.ptr, got.head.len, want, strlen(want)) != NULL;
}

/* The reply at *at of the output; its status is 0 at the end. */
static struct got next_reply(const struct stream_host *host, size_t *at, bool has_body)
{
    struct got got = {0};
    const char *start = (const char *)host->out.data + *at;
    size_t len = host->out.len - *at, body_len = 0;
    if (len == 0) {
        return got;
    }
    const char *end = memmem(start, len, "\r\n\r\n", 4);
    assert_non_null(end);
    got.head = slice_of(start, (size_t)(end - start) + 2);
    assert_memory_equal(start, "HTTP/1.1 ", 9);
    got.status = (unsigned)strtoul(start + 9, NULL, 10);
    const char *length = memmem(start, got.head.len, "\r\nContent-Length: ", 18);
    if (length && has_body) {
        body_len = strtoul(length + 18, NULL, 10);
    }
    got.body = slice_of(end + 4, body_len);
    *at += got.head.len + 2 + body_len;
    assert_in_range(*at, 0, host->out.len);
    return got;
}

/* The only reply; forgets it. Its slices stay valid until the next arrives. */
static struct got only_reply(struct stream_host *host)
{
    size_t at = 0;
    struct got got = next_reply(host, &at, true);
    assert_int_equal(at, host->out.len);
    host->out.len = 0;
    return got;
}

static void doh_http1_assert_answered(struct got got)
{
    assert_int_equal(got.status, 200);
    assert_int_equal(got.body.len, QUERY_LEN);
    assert_memory_equal(got.body.ptr, "\0\0\x81\0\0\1", 6);
    assert_true(head_has(got, "Content-Type: application/dns-message"));
    assert_true(head_has(got, "Cache-Control: max-age=0"));
}

/* ---- Single requests ---- */

UNIT_TEST_IN(test_get, open_host, close_host)
{
    struct stream_host *host = *state;
    doh_http1_arrive(host, GET);
    doh_http1_assert_answered(only_reply(host));
    assert_int_equal(host->verdict, STREAM_WAITS);
    assert_int_equal(host->query.len, QUERY_LEN);
    assert_memory_equal(host->query.data, QUERY, QUERY_LEN);
    doh_http1_arrive(host, GET); /* keep-alive */
    struct got got = only_reply(host);
    doh_http1_assert_answered(got);
    assert_false(head_has(got, "Connection: keep-alive"));
    assert_int_equal(host->protocol->memory(host->stream), 0);
}

UNIT_TEST_IN(test_head, open_host, close_host)
{
    struct stream_host *host = *state;
    size_t at = 0;
    doh_http1_arrive(host, "HEAD /dns-query?dns=" QUERY_TEXT " HTTP/1.1\r\n" HOST "\r\n");
    doh_http1_arrive(host, "HEAD / HTTP/1.1\r\n" HOST "\r\n");
    struct got got = next_reply(host, &at, false);
    assert_int_equal(got.status, 200);
    assert_true(head_has(got, "Content-Length: 19"));
    got = next_reply(host, &at, false);
    assert_int_equal(got.status, 404);
    assert_false(head_has(got, "Content-Length: 0"));
    assert_int_equal(at, host->out.len);
    assert_int_equal(host->queries, 1);
}

UNIT_TEST_IN(test_post, open_host, close_host)
{
    struct stream_host *host = *state;
    doh_http1_arrive(host, POST "Content-Length: 19\r\n\r\n");
    fake_host_arrive(host, QUERY, QUERY_LEN - 1);
    assert_int_equal(host->out.len, 0);
    fake_host_arrive(host, &QUERY[QUERY_LEN - 1], 1);
    doh_http1_assert_answered(only_reply(host));
    doh_http1_arrive(host, GET);
    doh_http1_assert_answered(only_reply(host));
}

UNIT_TEST_IN(test_max_age, open_host, close_host)
{
    static const uint8_t reply[] = "\0\0\x81\x80\0\1\0\1\0\0\0\0\1a\0\0\1\0\1"
                                   "\xc0\x0c\0\1\0\1\0\0\0\x1e\0\4\1\2\3\4";
    struct stream_host *host = *state;
    host->reply = reply;
    host->reply_len = sizeof(reply) - 1;
    doh_http1_arrive(host, GET);
    struct got got = only_reply(host);
    assert_true(head_has(got, "Cache-Control: max-age=30"));
    assert_true(slice_equal(got.body, slice_of(reply, sizeof(reply) - 1)));
}

UNIT_TEST_IN(test_longest, open_host, close_host)
{
    struct stream_host *host = *state;
    CLEANUP_FREE uint8_t *body = xcalloc(1, DOH_QUERY_MAX);
    memcpy(body, QUERY, QUERY_LEN);
    doh_http1_arrive(host, POST "Content-Length: 65535\r\n\r\n");
    fake_host_arrive(host, body, DOH_QUERY_MAX);
    assert_int_equal(host->query.len, DOH_QUERY_MAX);
    assert_int_equal(only_reply(host).body.len, DOH_QUERY_MAX);
}

UNIT_TEST_IN(test_refused, open_host, close_host)
{
    struct stream_host *host = *state;
    static const struct {
        const char *text;
        unsigned status;
        const char *line;
    } cases[] = {
        {"GET /dns HTTP/1.1\r\n" HOST "\r\n", 404, NULL},
        {"PUT /dns-query HTTP/1.1\r\n" HOST "\r\n", 405, "Allow: GET, POST, HEAD"},
        {"GET /dns-query HTTP/1.1\r\n" HOST "\r\n", 400, NULL},
        {"GET /dns-query?dns=AAAA HTTP/1.1\r\n" HOST "\r\n", 400, NULL},
        {"GET /dns-query?dns=A HTTP/1.1\r\n" HOST "\r\n", 400, NULL},
        {"GET /dns-query?dns=AACBAAABAAAAAAAAAWEAAAEAAQ HTTP/1.1\r\n" HOST "\r\n", 400, NULL},
        {POST "\r\n", 400, NULL},
        {POST "Content-Length: 4\r\n\r\nabcd", 400, NULL},
        {POST "Transfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n", 400, NULL},
        {"POST /dns-query HTTP/1.1\r\n" HOST "Content-Length: 4\r\n\r\nabcd", 415, NULL},
        {"PUT /dns-query HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 405,
         NULL},
        {"GET / HTTP/1.1\r\n" HOST "Content-Length: 4\r\n\r\nabcd", 404, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        doh_http1_arrive(host, cases[i].text);
        struct got got = only_reply(host);
        assert_that(got.status == cases[i].status &&
                        (!cases[i].line || head_has(got, cases[i].line)),
                    "case %zu: %u", i, got.status);
        assert_true(head_has(got, "Content-Type: text/plain; charset=utf-8"));
        assert_true(got.body.len > 0 && got.body.ptr[got.body.len - 1] == '\n');
        assert_false(head_has(got, "Connection: close"));
        assert_int_equal(host->verdict, STREAM_WAITS);
        assert_int_equal(host->in.len, 0);
    }
    assert_int_equal(host->queries, 0);
    doh_http1_arrive(host, GET);
    doh_http1_assert_answered(only_reply(host));
}

/* Bytes that cannot be understood end the connection. */
UNIT_TEST(test_broken)
{
    static const struct {
        const char *text;
        unsigned status;
    } cases[] = {
        {"GET / HTTP/1.1\n" GET, 400},
        {"GET / HTTP/2.0\r\n" GET, 505},
        {"GET / HTTP/1.1\r\n\r\n" GET, 400},
        {POST "Transfer-Encoding: br\r\n\r\n", 501},
        {POST "Expect: x\r\n\r\n", 417},
        {POST "Content-Length: 0123456789012345678901\r\n\r\n", 413},
        {POST "Content-Length: 1048577\r\n\r\n" GET, 413}, /* DOH_SKIPPED_MAX and one */
        {POST "Content-Length: 70000\r\nExpect: 100-continue\r\n\r\n" GET, 413},
        {POST "Transfer-Encoding: chunked\r\n\r\nx\r\n" GET, 400},
        {"PRI * HTTP/1.1\r\n\r\n", 400},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(fake_host_close) struct stream_host host;
        fake_host_open(&host, &doh_protocol);
        doh_http1_arrive(&host, cases[i].text);
        struct got got = only_reply(&host);
        assert_that(got.status == cases[i].status && host.verdict == STREAM_ENDS, "case %zu: %u", i,
                    got.status);
        assert_true(head_has(got, "Connection: close"));
        assert_int_equal(host.queries, 0);
    }
}

/* A body refused for its length: with its length, the connection lives on; in chunks, it ends with
 * the body or after DOH_SKIPPED_MAX, as the response says. */
UNIT_TEST_IN(test_too_long, open_host, close_host)
{
    struct stream_host *host = *state;
    CLEANUP_FREE uint8_t *body = xcalloc(1, DOH_SKIPPED_MAX);
    doh_http1_arrive(host, POST "Content-Length: 65536\r\n\r\n");
    struct got got = only_reply(host);
    assert_int_equal(got.status, 413);
    assert_false(head_has(got, "Connection: close"));
    fake_host_arrive(host, body, DOH_QUERY_MAX + 1);
    doh_http1_arrive(host, GET);
    doh_http1_assert_answered(only_reply(host));
    doh_http1_arrive(host, POST "Transfer-Encoding: chunked\r\n\r\n10000\r\n");
    fake_host_arrive(host, body, DOH_QUERY_MAX);
    assert_int_equal(host->out.len, 0);
    assert_in_range(host->protocol->memory(host->stream), DOH_QUERY_MAX, 2 * DOH_QUERY_MAX);
    fake_host_arrive(host, body, 1);
    got = only_reply(host);
    assert_int_equal(got.status, 413);
    assert_true(head_has(got, "Connection: close"));
    assert_int_equal(host->protocol->memory(host->stream), 0);
    doh_http1_arrive(host, "\r\n5\r\nabcde\r\n0\r\n");
    assert_int_equal(host->verdict, STREAM_WAITS);
    doh_http1_arrive(host, "\r\n" GET);
    assert_int_equal(host->verdict, STREAM_ENDS);
    assert_int_equal(host->out.len, 0);

    fake_host_close(host);
    fake_host_open(host, &doh_protocol);
    doh_http1_arrive(host, POST "Transfer-Encoding: chunked\r\n\r\n1000000\r\n");
    fake_host_arrive(host, body, DOH_QUERY_MAX + 1);
    assert_int_equal(only_reply(host).status, 413);
    fake_host_arrive(host, body, DOH_SKIPPED_MAX - 1);
    assert_int_equal(host->verdict, STREAM_WAITS);
    fake_host_arrive(host, body, 1);
    assert_int_equal(host->verdict, STREAM_ENDS);
}

UNIT_TEST_IN(test_chunked, open_host, close_host)
{
    struct stream_host *host = *state;
    doh_http1_arrive(host, POST "Transfer-Encoding: chunked\r\n\r\n5\r\n");
    fake_host_arrive(host, QUERY, 5);
    doh_http1_arrive(host, "\r\ne\r\n");
    fake_host_arrive(host, &QUERY[5], QUERY_LEN - 5);
    doh_http1_arrive(host, "\r\n0\r\n\r\n" GET);
    size_t at = 0;
    doh_http1_assert_answered(next_reply(host, &at, true));
    doh_http1_assert_answered(next_reply(host, &at, true));
    assert_int_equal(at, host->out.len);
    assert_int_equal(host->protocol->memory(host->stream), 0);
}

UNIT_TEST_IN(test_continue, open_host, close_host)
{
    struct stream_host *host = *state;
    doh_http1_arrive(host, POST "Expect: 100-continue\r\nContent-Length: 19\r\n\r\n");
    size_t at = 0;
    assert_int_equal(next_reply(host, &at, false).status, 100);
    fake_host_arrive(host, QUERY, QUERY_LEN);
    doh_http1_assert_answered(next_reply(host, &at, true));
    assert_int_equal(at, host->out.len);
    host->out.len = 0;
    host->answers = FAKE_LATE; /* in its place behind a late reply */
    doh_http1_arrive(host, GET);
    doh_http1_arrive(host, POST "Expect: 100-continue\r\nContent-Length: 19\r\n\r\n");
    assert_int_equal(host->out.len, 0);
    fake_host_reply(host, 0, QUERY, QUERY_LEN);
    at = 0;
    assert_int_equal(next_reply(host, &at, true).status, 200);
    assert_int_equal(next_reply(host, &at, false).status, 100);
    host->out.len = 0;
    fake_host_arrive(host, QUERY, QUERY_LEN);
    fake_host_reply(host, 1, QUERY, QUERY_LEN);
    assert_int_equal(only_reply(host).status, 200);
}

/* ---- Many requests ---- */

static void check_stream(const char *text, size_t len, size_t first, size_t second)
{
    static const unsigned want[] = {200, 404, 200, 405, 200, 413, 0};
    CLEANUP(fake_host_close) struct stream_host host;
    fake_host_open(&host, &doh_protocol);
    for (size_t at = 0; at < len;) {
        size_t part = at < first ? first - at : at < second ? second - at : len - at;
        fake_host_arrive(&host, text + at, part);
        at += part;
    }
    size_t at = 0;
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        assert_int_equal(next_reply(&host, &at, true).status, want[i]);
    }
    assert_int_equal(host.queries, 3);
    assert_int_equal(host.verdict, STREAM_ENDS);
}

/* Several requests, split at every two bytes; the one behind the last reply is not asked. */
UNIT_TEST(test_splits)
{
    static const char text[] =
        GET "GET / HTTP/1.1\r\n" HOST "\r\n" POST "Content-Length: 19\r\n\r\n" QUERY
            "PUT /dns-query HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc" POST
            "Transfer-Encoding: chunked\r\n\r\n13;x\r\n" QUERY "\r\n0\r\nT: x\r\n\r\n" POST
            "Transfer-Encoding: chunked\r\nContent-Type: application/dns-message\r\n\r\n10000\r\n";
    size_t head_len = sizeof(text) - 1, len = head_len + 0x10000;
    static const char end[] = "\r\n0\r\n\r\n" GET;
    CLEANUP_FREE char *all = xmalloc(len + sizeof(end));
    memcpy(all, text, head_len);
    memset(all + head_len, 'x', 0x10000);
    memcpy(all + len, end, sizeof(end) - 1);
    len += sizeof(end) - 1;
    for (size_t first = 1; first < head_len; first++) {
        check_stream(all, len, first, first + (first * 7) % 50);
        check_stream(all, len, first, len - first % sizeof(end));
    }
}

UNIT_TEST_IN(test_order, open_host, close_host)
{
    struct stream_host *host = *state;
    host->answers = FAKE_LATE;
    doh_http1_arrive(host, GET GET);
    host->answers = FAKE_ECHO;
    doh_http1_arrive(host, GET "GET / HTTP/1.1\r\n" HOST "\r\n");
    host->answers = FAKE_LATE;
    doh_http1_arrive(host, "HEAD /dns-query?dns=" QUERY_TEXT " HTTP/1.0\r\n\r\n" GET);
    assert_int_equal(host->verdict, STREAM_ENDS); /* not the last GET */
    assert_int_equal(host->late, 3);
    assert_int_equal(host->out.len, 0);
    fake_host_reply(host, 2, QUERY, QUERY_LEN);
    fake_host_reply(host, 1, "second", 6);
    assert_int_equal(host->out.len, 0);
    assert_true(host->protocol->memory(host->stream) > 0);
    fake_host_reply(host, 0, "first", 5);
    size_t at = 0;
    assert_true(slice_equal(next_reply(host, &at, true).body, slice_str("first")));
    assert_true(slice_equal(next_reply(host, &at, true).body, slice_str("second")));
    doh_http1_assert_answered(next_reply(host, &at, true));
    assert_int_equal(next_reply(host, &at, true).status, 404);
    struct got got = next_reply(host, &at, false);
    assert_int_equal(got.status, 200);
    assert_true(head_has(got, "Connection: close"));
    assert_int_equal(at, host->out.len);
    assert_int_equal(host->protocol->memory(host->stream), 0);
}

UNIT_TEST_IN(test_no_reply, open_host, close_host)
{
    struct stream_host *host = *state;
    host->answers = FAKE_NONE;
    doh_http1_arrive(host, GET);
    assert_int_equal(only_reply(host).status, 500);
    host->answers = FAKE_LATE;
    doh_http1_arrive(host, GET);
    fake_host_reply(host, 0, NULL, 0);
    assert_int_equal(only_reply(host).status, 500);
    fake_host_reply(host, 0, "again", 5); /* is nobody's */
    assert_int_equal(host->out.len, 0);
    assert_int_equal(host->verdict, STREAM_WAITS);
}

UNIT_TEST(test_versions)
{
    static const struct {
        const char *version_and_fields;
        const char *line; /* NULL: lives on, and says nothing about it */
    } cases[] = {
        {"HTTP/1.1\r\n" HOST, NULL},
        {"HTTP/1.1\r\n" HOST "Connection: keep-alive\r\n", NULL},
        {"HTTP/1.1\r\n" HOST "Connection: close\r\n", "Connection: close"},
        {"HTTP/1.0\r\n", "Connection: close"},
        {"HTTP/1.0\r\nConnection: keep-alive\r\n", "Connection: keep-alive"},
        {"HTTP/1.0\r\nConnection: keep-alive, close\r\n", "Connection: close"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(fake_host_close) struct stream_host host;
        CLEANUP_FREE char *text =
            xasprintf("GET /dns-query?dns=" QUERY_TEXT " %s\r\n", cases[i].version_and_fields);
        fake_host_open(&host, &doh_protocol);
        doh_http1_arrive(&host, text);
        struct got got = only_reply(&host);
        doh_http1_assert_answered(got);
        bool ends = cases[i].line && strcmp(cases[i].line, "Connection: close") == 0;
        assert_int_equal(host.verdict, ends ? STREAM_ENDS : STREAM_WAITS);
        assert_true(cases[i].line ? head_has(got, cases[i].line)
                                  : !memmem(got.head.ptr, got.head.len, "Connection", 10));
    }
}

/* ---- The host's limits, and ours ---- */

UNIT_TEST_IN(test_pause, open_host, close_host)
{
    struct stream_host *host = *state;
    host->is_full = true;
    doh_http1_arrive(host, GET GET);
    assert_int_equal(host->verdict, STREAM_PAUSED);
    assert_int_equal(host->queries, 0);
    host->is_full = false;
    fake_host_go_on(host);
    assert_int_equal(host->queries, 2);
    assert_int_equal(host->verdict, STREAM_WAITS);
}

UNIT_TEST_IN(test_little_room, open_host, close_host)
{
    struct stream_host *host = *state;
    host->room = 100;
    doh_http1_arrive(host, GET GET);
    assert_true(host->has_more);
    assert_int_equal(host->out.len, 100);
    while (host->has_more) {
        host->room = 7;
        fake_host_flush(host);
    }
    size_t at = 0;
    doh_http1_assert_answered(next_reply(host, &at, true));
    doh_http1_assert_answered(next_reply(host, &at, true));
    assert_int_equal(at, host->out.len);
    host->out.len = 0;
    host->room = SIZE_MAX;
    doh_http1_arrive(host, GET);
    doh_http1_assert_answered(only_reply(host));
}

/* Behind a late reply: as many as are held, and bytes of them. */
UNIT_TEST(test_held_max)
{
    static const size_t body_lens[] = {QUERY_LEN, 60000};
    for (size_t i = 0; i < ARRAY_LEN(body_lens); i++) {
        CLEANUP(fake_host_close) struct stream_host host;
        CLEANUP_FREE uint8_t *body = xcalloc(1, body_lens[i]);
        fake_host_open(&host, &doh_protocol);
        host.answers = FAKE_LATE;
        doh_http1_arrive(&host, GET);
        host.answers = FAKE_ECHO;
        host.reply = body;
        host.reply_len = body_lens[i];
        size_t max = i == 0 ? DOH_HELD_MAX : 4; /* 3 of 60,000 are beyond DOH_HELD_BYTES_MAX */
        for (size_t n = 1; n < max; n++) {
            doh_http1_arrive(&host, GET);
            assert_int_equal(host.verdict, STREAM_WAITS);
        }
        doh_http1_arrive(&host, GET GET);
        assert_int_equal(host.verdict, STREAM_ENDS);
        assert_int_equal(host.queries, max + 1);
        fake_host_reply(&host, 0, QUERY, QUERY_LEN);
        size_t at = 0;
        struct got got = {0};
        for (size_t n = 0; n < max + 1; n++) {
            assert_false(n > 0 && head_has(got, "Connection: close"));
            got = next_reply(&host, &at, true);
            assert_int_equal(got.status, 200);
        }
        assert_true(head_has(got, "Connection: close"));
        assert_int_equal(at, host.out.len);
    }
}

UNIT_TEST_IN(test_refused_max, open_host, close_host)
{
    struct stream_host *host = *state;
    static const char wrong[] = "GET / HTTP/1.1\r\n" HOST "\r\n";
    for (unsigned i = 0; i < 10 * DOH_REFUSED_MAX; i++) { /* as many right ones */
        doh_http1_arrive(host, wrong);
        assert_int_equal(only_reply(host).status, 404);
        doh_http1_arrive(host, GET);
        doh_http1_assert_answered(only_reply(host));
    }
    for (unsigned i = 0; i < DOH_REFUSED_MAX; i++) {
        assert_int_equal(host->verdict, STREAM_WAITS);
        doh_http1_arrive(host, wrong);
        assert_false(head_has(only_reply(host), "Connection: close"));
    }
    doh_http1_arrive(host, wrong);
    assert_true(head_has(only_reply(host), "Connection: close"));
    assert_int_equal(host->verdict, STREAM_ENDS);
}

UNIT_TEST_IN(test_drain, open_host, close_host)
{
    struct stream_host *host = *state;
    host->answers = FAKE_LATE;
    doh_http1_arrive(host, GET);
    host->protocol->drain(host->stream);
    host->answers = FAKE_ECHO;
    doh_http1_arrive(host, GET GET);
    assert_int_equal(host->verdict, STREAM_ENDS);
    assert_int_equal(host->queries, 2);
    fake_host_reply(host, 0, QUERY, QUERY_LEN);
    size_t at = 0;
    assert_false(head_has(next_reply(host, &at, true), "Connection: close"));
    assert_true(head_has(next_reply(host, &at, true), "Connection: close"));
    assert_int_equal(at, host->out.len);
}

/* Also before the first byte. */
UNIT_TEST_IN(test_drain_early, open_host, close_host)
{
    struct stream_host *host = *state;
    host->protocol->drain(host->stream);
    doh_http1_arrive(host, GET);
    assert_true(head_has(only_reply(host), "Connection: close"));
}
