/* DNS over HTTP/2 on a connection: told from HTTP/1.1 by its first bytes, each status, late replies
 * as they come, the host's limits and ours. What HTTP/2 itself forbids: tests/unit/common/http2. */
#include "skydns/doh/doh_http2_internal.h"

#include "common/http2/http2_server.h"
#include "skydns/doh/doh.h"
#include "skydns/doh/doh_reply_internal.h"
#include "tests/support/skydns/h2_host.h"
#include "tests/support/unit_test.h"

/* `a.` A, as it is asked. */
#define QUERY      "\0\0\1\0\0\1\0\0\0\0\0\0\1a\0\0\1\0\1"
#define QUERY_TEXT "AAABAAABAAAAAAAAAWEAAAEAAQ"
#define AT(path)   ":scheme: https\n:authority: x\n:path: " path "\n"
#define GET        ":method: GET\n" AT("/dns-query?dns=" QUERY_TEXT)
#define TYPE       "content-type: application/dns-message\n"
#define POST       ":method: POST\n" AT("/dns-query") TYPE
enum { QUERY_LEN = sizeof(QUERY) - 1 };

static int doh_http2_open_bed(void **state)
{
    return h2_host_open(state, &doh_protocol);
}

static const struct slice none = {NULL, 0};

static void doh_http2_assert_answered(const struct h2_reply *reply)
{
    assert_non_null(reply);
    assert_true(reply->is_ended);
    assert_true(h2_replies_has(&reply->head, ":status: 200"));
    assert_true(h2_replies_has(&reply->head, "content-type: application/dns-message"));
    assert_true(h2_replies_has(&reply->head, "content-length: 19"));
    assert_true(h2_replies_has(&reply->head, "cache-control: max-age=0"));
    assert_non_null(memmem(reply->head.data, reply->head.len, "date: ", 6));
    assert_int_equal(reply->body.len, QUERY_LEN);
    assert_memory_equal(reply->body.data, "\0\0\x81\0\0\1", 6);
}

UNIT_TEST_IN(test_get_and_post, doh_http2_open_bed, h2_host_close)
{
    struct bed *bed = *state;
    doh_http2_assert_answered(h2_host_ask(bed, GET, none));
    assert_memory_equal(bed->host.query.data, QUERY, QUERY_LEN);
    doh_http2_assert_answered(h2_host_ask(bed, POST, slice_of(QUERY, QUERY_LEN)));
    assert_int_equal(bed->host.queries, 2);
    assert_int_equal(bed->host.verdict, STREAM_WAITS);
}

UNIT_TEST_IN(test_head, doh_http2_open_bed, h2_host_close)
{
    struct bed *bed = *state;
    const struct h2_reply *reply =
        h2_host_ask(bed, ":method: HEAD\n" AT("/dns-query?dns=" QUERY_TEXT), none);
    assert_true(reply->is_ended);
    assert_true(h2_replies_has(&reply->head, ":status: 200"));
    assert_true(h2_replies_has(&reply->head, "content-length: 19"));
    assert_int_equal(reply->body.len, 0);
}

UNIT_TEST_IN(test_max_age, doh_http2_open_bed, h2_host_close)
{
    static const uint8_t answer[] = "\0\0\x81\x83\0\1\0\0\0\1\0\0\1a\0\0\1\0\1"
                                    "\0\0\6\0\1\0\0\0\x3c\0\x16\0\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4"
                                    "\0\0\0\x1d";
    struct bed *bed = *state;
    bed->host.reply = answer;
    bed->host.reply_len = sizeof(answer) - 1;
    const struct h2_reply *reply = h2_host_ask(bed, GET, none);
    assert_true(h2_replies_has(&reply->head, "cache-control: max-age=29"));
    assert_true(slice_equal(buf_slice(&reply->body), slice_of(answer, sizeof(answer) - 1)));
}

UNIT_TEST_IN(test_refused, doh_http2_open_bed, h2_host_close)
{
    struct bed *bed = *state;
    static const struct {
        const char *lines, *body, *line, *more;
    } cases[] = {
        {":method: GET\n" AT("/"), NULL, ":status: 404", NULL},
        {":method: PUT\n" AT("/dns-query") TYPE, "abc", ":status: 405", "allow: GET, POST, HEAD"},
        {":method: GET\n" AT("/dns-query"), NULL, ":status: 400", NULL},
        {":method: GET\n" AT("/dns-query?dns=A"), NULL, ":status: 400", NULL},
        {":method: GET\n" AT("/dns-query?dns=AAAA"), NULL, ":status: 400", NULL},
        {POST, "abc", ":status: 400", NULL},
        {POST, NULL, ":status: 400", NULL},
        {":method: POST\n" AT("/dns-query"), "abc", ":status: 415", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct h2_reply *reply =
            h2_host_ask(bed, cases[i].lines, cases[i].body ? slice_str(cases[i].body) : none);
        assert_that(reply && h2_replies_has(&reply->head, cases[i].line), "case %zu", i);
        assert_true(!cases[i].more || h2_replies_has(&reply->head, cases[i].more));
        assert_int_equal(memmem(reply->head.data, reply->head.len, "allow: ", 7) != NULL,
                         cases[i].more != NULL);
        assert_true(h2_replies_has(&reply->head, "content-type: text/plain; charset=utf-8"));
        assert_true(reply->is_ended && reply->body.len > 0);
    }
    assert_int_equal(bed->host.queries, 0);
    doh_http2_assert_answered(h2_host_ask(bed, GET, none));
}

/* A body of `len` zeroes behind a query, in frames. */
static const struct h2_reply *post_long(struct bed *bed, size_t len)
{
    enum { FRAME_MAX = 16384 };
    CLEANUP_FREE uint8_t *body = xcalloc(1, len);
    uint32_t stream = bed->last_stream += bed->last_stream ? 2 : 1;
    memcpy(body, QUERY, QUERY_LEN);
    h2_headers(&bed->bytes, 0, stream, POST);
    for (size_t at = 0; at < len; at += FRAME_MAX) {
        size_t part = len - at < FRAME_MAX ? len - at : FRAME_MAX;
        h2_frame(&bed->bytes, H2_DATA, at + part == len ? H2_END_STREAM : 0, stream,
                 slice_of(body + at, part));
    }
    h2_host_arrive(bed);
    return h2_replies_find(&bed->got, stream);
}

UNIT_TEST_IN(test_too_long, doh_http2_open_bed, h2_host_close)
{
    static const uint8_t answer[QUERY_LEN] = QUERY;
    struct bed *bed = *state;
    bed->host.reply = answer; /* not the echo, which exceeds a client's window */
    bed->host.reply_len = QUERY_LEN;
    assert_true(h2_replies_has(&post_long(bed, 65535)->head, ":status: 200"));
    assert_int_equal(bed->host.query.len, 65535);
    assert_true(h2_replies_has(&post_long(bed, 65536)->head, ":status: 413"));
    assert_true(h2_replies_has(&post_long(bed, HTTP2_BODY_MAX + 1)->head, ":status: 413"));
    assert_int_equal(bed->host.queries, 1);
}

/* Fields of 34 bytes each, as HTTP/2 counts them. */
UNIT_TEST_IN(test_long_head, doh_http2_open_bed, h2_host_close)
{
    struct bed *bed = *state;
    CLEANUP_BUF struct buf lines = buf_of(SIZE_MAX);
    buf_append_str(&lines, GET);
    for (size_t i = 0; i < HTTP2_HEADERS_MAX / 34; i++) {
        buf_append_str(&lines, "x: y\n");
    }
    const struct h2_reply *reply = h2_host_ask(bed, buf_cstr(&lines), none);
    assert_true(reply && h2_replies_has(&reply->head, ":status: 431"));
    doh_http2_assert_answered(h2_host_ask(bed, GET, none));
}

UNIT_TEST_IN(test_late, doh_http2_open_bed, h2_host_close)
{
    struct bed *bed = *state;
    bed->host.answers = FAKE_LATE;
    uint32_t first = h2_host_add(bed, GET, none);
    uint32_t second = h2_host_add(bed, POST, slice_of(QUERY, QUERY_LEN));
    uint32_t third = h2_host_add(bed, ":method: HEAD\n" AT("/dns-query?dns=" QUERY_TEXT), none);
    uint32_t fourth = h2_host_add(bed, GET, none);
    h2_host_arrive(bed);
    assert_int_equal(bed->host.late, 4);
    assert_int_equal(bed->got.count, 0);
    assert_true(bed->host.protocol->memory(bed->host.stream) > 0);
    fake_host_reply(&bed->host, 2, "third", 5);
    fake_host_reply(&bed->host, 0, "first", 5);
    fake_host_reply(&bed->host, 3, NULL, 0);
    h2_replies_take(&bed->got, &bed->host.out);
    assert_int_equal(bed->got.count, 3);
    const struct h2_reply *reply = h2_replies_find(&bed->got, third);
    assert_true(reply->is_ended && reply->body.len == 0);
    assert_true(h2_replies_has(&reply->head, "content-length: 5"));
    assert_true(
        slice_equal(buf_slice(&h2_replies_find(&bed->got, first)->body), slice_str("first")));
    reply = h2_replies_find(&bed->got, fourth);
    assert_true(h2_replies_has(&reply->head, ":status: 500"));
    h2_frame(&bed->bytes, H2_RST_STREAM, 0, second, slice_of("\0\0\0\10", 4));
    h2_host_arrive(bed);
    fake_host_reply(&bed->host, 1, "second", 6); /* nobody waits for it */
    h2_replies_take(&bed->got, &bed->host.out);
    assert_int_equal(bed->got.count, 3);
    bed->host.answers = FAKE_ECHO;
    doh_http2_assert_answered(h2_host_ask(bed, GET, none));
}

/* Byte by byte: the preface, too. */
UNIT_TEST_IN(test_pieces, doh_http2_open_bed, h2_host_close)
{
    struct bed *bed = *state;
    uint32_t first = h2_host_add(bed, GET, none);
    uint32_t second = h2_host_add(bed, POST, slice_of(QUERY, QUERY_LEN));
    for (size_t i = 0; i < bed->bytes.len; i++) {
        fake_host_arrive(&bed->host, bed->bytes.data + i, 1);
    }
    h2_replies_take(&bed->got, &bed->host.out);
    doh_http2_assert_answered(h2_replies_find(&bed->got, first));
    doh_http2_assert_answered(h2_replies_find(&bed->got, second));
}

UNIT_TEST_IN(test_pause, doh_http2_open_bed, h2_host_close)
{
    struct bed *bed = *state;
    bed->host.is_full = true;
    uint32_t first = h2_host_add(bed, GET, none), second = h2_host_add(bed, GET, none);
    h2_host_arrive(bed);
    assert_int_equal(bed->host.verdict, STREAM_PAUSED);
    assert_int_equal(bed->host.queries, 0);
    bed->host.is_full = false;
    bed->host.room = 50;
    fake_host_go_on(&bed->host);
    while (bed->host.has_more) {
        bed->host.room = 50;
        fake_host_flush(&bed->host);
    }
    h2_replies_take(&bed->got, &bed->host.out);
    doh_http2_assert_answered(h2_replies_find(&bed->got, first));
    doh_http2_assert_answered(h2_replies_find(&bed->got, second));
}

UNIT_TEST_IN(test_refused_max, doh_http2_open_bed, h2_host_close)
{
    struct bed *bed = *state;
    for (unsigned i = 0; i <= DOH_REFUSED_MAX; i++) {
        assert_int_equal(bed->host.verdict, STREAM_WAITS);
        assert_false(bed->got.is_over);
        const struct h2_reply *reply = h2_host_ask(bed, ":method: GET\n" AT("/"), none);
        assert_true(reply && h2_replies_has(&reply->head, ":status: 404"));
    }
    assert_true(bed->got.is_over);
    assert_int_equal(bed->got.error, 0);
    h2_frame(&bed->bytes, H2_PING, 0, 0, slice_str("12345678"));
    h2_host_arrive(bed);
    assert_int_equal(bed->host.verdict, STREAM_ENDS);
}

UNIT_TEST_IN(test_drain, doh_http2_open_bed, h2_host_close)
{
    struct bed *bed = *state;
    bed->host.answers = FAKE_LATE;
    uint32_t first = h2_host_add(bed, GET, none);
    h2_host_arrive(bed);
    bed->host.protocol->drain(bed->host.stream);
    fake_host_flush(&bed->host);
    h2_replies_take(&bed->got, &bed->host.out);
    assert_true(bed->got.is_over);
    (void)h2_host_ask(bed, GET, none);
    assert_int_equal(bed->host.late, 1);
    assert_int_equal(bed->host.verdict, STREAM_WAITS);
    bed->host.reply = NULL;
    fake_host_reply(&bed->host, 0, "\0\0\x81\0\0\1 thirteen byt", QUERY_LEN);
    h2_replies_take(&bed->got, &bed->host.out);
    doh_http2_assert_answered(h2_replies_find(&bed->got, first));
    h2_frame(&bed->bytes, H2_PING, 0, 0, slice_str("12345678"));
    h2_host_arrive(bed);
    assert_int_equal(bed->host.verdict, STREAM_ENDS);
}

/* Anything that HTTP/2 forbids ends the connection, after GOAWAY. */
UNIT_TEST_IN(test_broken, doh_http2_open_bed, h2_host_close)
{
    struct bed *bed = *state;
    h2_frame(&bed->bytes, H2_DATA, 0, 0, slice_str("x"));
    h2_host_arrive(bed);
    assert_int_equal(bed->host.verdict, STREAM_BROKEN);
    assert_true(bed->got.is_over);
    assert_int_equal(bed->got.error, 1);
}

/* Neither version yet; then HTTP/1.1 after all. */
UNIT_TEST(test_first_bytes)
{
    struct stream_host host;
    fake_host_open(&host, &doh_protocol);
    fake_host_arrive(&host, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r", 23);
    assert_int_equal(host.out.len, 0);
    assert_int_equal(host.protocol->memory(host.stream), 0);
    fake_host_arrive(&host, "x", 1);
    assert_int_equal(host.verdict, STREAM_ENDS);
    assert_memory_equal(host.out.data, "HTTP/1.1 505 ", 13);
    fake_host_close(&host);
    fake_host_open(&host, &doh_protocol);
    fake_host_close(&host);
}
