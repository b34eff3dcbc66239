/* One HTTP/2 connection: requests in whatever pieces, replies at once and late, windows. What
 * exceeds a limit is in test_http2_limits.c. */
#include "common/http2/http2_server.h"

#include "tests/support/h2_client.h"
#include "tests/support/unit_test.h"

enum { PROTOCOL_ERROR = 1, ENHANCE_YOUR_CALM = 11, WINDOW_START = 65535 };

/* ---- Requests ---- */

UNIT_FIXTURE(struct h2_client, h2_client_start, h2_client_end)

UNIT_TEST_ON(test_get, struct h2_client *c)
{
    h2_client_get(c, 1);
    assert_int_equal(c->request_count, 1);
    assert_int_equal(c->last.stream, 1);
    h2_client_expect_text(c->last.method, "GET");
    h2_client_expect_text(c->last.path, "/dns-query?dns=AAAA");
    assert_int_equal(c->last.content_type.len, 0);
    assert_int_equal(c->last.body.len, 0);
    h2_client_expect_reply(c, 1, "reply 1");
    assert_int_equal(http2_server_streams(c->server), 0);
}

UNIT_TEST_ON(test_post, struct h2_client *c)
{
    h2_headers(&c->bytes, 0, 1, H2_CLIENT_POST "content-length: 6\nte: trailers");
    h2_frame(&c->bytes, H2_DATA, 0, 1, slice_str("abc"));
    h2_client_send(c);
    assert_int_equal(c->request_count, 0);
    assert_true(http2_server_memory(c->server) > 0);
    h2_frame(&c->bytes, H2_DATA, H2_END_STREAM, 1, slice_str("def"));
    h2_client_send(c);
    assert_int_equal(c->request_count, 1);
    h2_client_expect_text(c->last.method, "POST");
    h2_client_expect_text(c->last.content_type, "application/dns-message");
    h2_client_expect_text(c->last.body, "abcdef");
    assert_false(c->last.is_too_long);
    h2_client_expect_reply(c, 1, "reply 1");
    assert_int_equal(http2_server_memory(c->server), 0);
}

/* Every form of a request: in one frame, with a body, with padding and priority, in CONTINUATION,
 * with trailers. */
static void put_requests(struct buf *out)
{
    CLEANUP_BUF struct buf block = buf_of(4096);
    CLEANUP_BUF struct buf padded = buf_of(4096);
    h2_headers(out, H2_END_STREAM, 1, H2_CLIENT_GET);
    h2_headers(out, 0, 3, H2_CLIENT_POST);
    h2_frame(out, H2_DATA, H2_END_STREAM, 3, slice_str("three"));

    h2_header_block(&block, H2_CLIENT_POST);
    buf_append(&padded, "\3\0\0\0\1\7", 6); /* bytes of padding, then the priority */
    buf_append_slice(&padded, buf_slice(&block));
    buf_append(&padded, "\0\0\0", 3);
    h2_frame(out, H2_HEADERS, H2_PADDED | H2_HAS_PRIORITY | H2_END_HEADERS, 5, buf_slice(&padded));
    h2_frame(out, H2_DATA, H2_PADDED, 5, slice_of("\2five\0\0", 7));
    h2_frame(out, H2_DATA, H2_END_STREAM, 5, slice_of(NULL, 0));

    h2_frame(out, H2_HEADERS, 0, 7, slice_of(block.data, 10));
    h2_frame(out, H2_CONTINUATION, 0, 7, slice_of(block.data + 10, 20));
    h2_frame(out, H2_CONTINUATION, H2_END_HEADERS, 7, slice_of(block.data + 30, block.len - 30));
    h2_frame(out, H2_DATA, 0, 7, slice_str("seven"));
    h2_headers(out, H2_END_STREAM, 7, "x-sum: 1");
}

UNIT_TEST(test_pieces)
{
    static const char *const bodies[] = {"", "three", "five", "seven"};
    for (size_t piece = 0; piece < 40; piece++) {
        CLEANUP(h2_client_end) struct h2_client c;
        h2_client_start(&c);
        c.piece = 1;
        h2_client_send(&c);
        CLEANUP_BUF struct buf all = buf_of(4096);
        put_requests(&all);
        c.piece = piece;
        c.is_late = true;
        struct reader r = reader_of(all.data, all.len);
        struct h2_frame_view frame;
        for (size_t i = 0, at = 0; i < ARRAY_LEN(bodies);) {
            assert_true(h2_next_frame(&r, &frame));
            buf_append(&c.bytes, all.data + at, r.pos - at);
            at = r.pos;
            assert_int_equal(h2_client_send(&c), 0);
            if (c.request_count == i + 1) {
                assert_int_equal(c.last.stream, 2 * i + 1);
                h2_client_expect_text(c.last.body, bodies[i]);
                h2_client_answer(&c, c.last.stream, slice_of(NULL, 0));
                i++;
            }
        }
        h2_client_flush(&c);
        h2_client_expect_reply(&c, 1, "reply 1");
        h2_client_expect_reply(&c, 3, "reply 3");
        h2_client_expect_reply(&c, 5, "reply 5");
        h2_client_expect_reply(&c, 7, "reply 7");
        assert_int_equal(http2_server_streams(c.server), 0);
        assert_int_equal(http2_server_memory(c.server), 0);
    }
}

/* Fields that the client puts into the table, and refers to. */
UNIT_TEST_ON(test_table, struct h2_client *c)
{
    /* GET, https, ":path" with indexing: the table's first entry, index 62. */
    static const char first[] = "\x82\x87\x44\x05/path";
    static const char again[] = "\x82\x87\xbe";
    h2_frame(&c->bytes, H2_HEADERS, H2_END_STREAM | H2_END_HEADERS, 1, slice_str(first));
    h2_client_send(c);
    h2_client_expect_text(c->last.path, "/path");
    h2_frame(&c->bytes, H2_HEADERS, H2_END_STREAM | H2_END_HEADERS, 3, slice_str(again));
    h2_client_send(c);
    assert_int_equal(c->request_count, 2);
    h2_client_expect_text(c->last.path, "/path");
    assert_in_range(http2_server_memory(c->server), 1, 1024); /* of the table */
}

UNIT_TEST(test_pause)
{
    for (size_t piece = 0; piece < 30; piece += 7) {
        CLEANUP(h2_client_end) struct h2_client c;
        h2_client_start(&c);
        h2_client_send(&c);
        c.piece = piece;
        c.must_stop = true;
        h2_headers(&c.bytes, H2_END_STREAM, 1, H2_CLIENT_GET);
        size_t len = c.bytes.len;
        size_t left = h2_client_send(&c);
        assert_in_range(left, 1, len);
        assert_int_equal(h2_client_send(&c), left);
        assert_int_equal(c.request_count, 0);
        c.must_stop = false;
        assert_int_equal(h2_client_send(&c), 0);
        assert_int_equal(c.request_count, 1);
        h2_client_expect_reply(&c, 1, "reply 1");
    }
}

/* ---- Replies ---- */

UNIT_TEST_ON(test_late_replies, struct h2_client *c)
{
    c->is_late = true;
    for (int32_t id = 1; id <= 9; id += 2) {
        h2_client_get(c, id);
    }
    assert_int_equal(http2_server_streams(c->server), 5);
    h2_client_answer(c, 7, slice_of(NULL, 0));
    h2_client_answer(c, 1, slice_of(NULL, 0));
    h2_client_answer(c, 1, slice_str("a second one is passed over"));
    h2_client_answer(c, 11, slice_str("no such stream"));
    h2_client_answer(c, 9, slice_of(NULL, 0));
    h2_client_flush(c);
    h2_client_expect_reply(c, 7, "reply 7");
    h2_client_expect_reply(c, 1, "reply 1");
    h2_client_expect_reply(c, 9, "reply 9");
    assert_int_equal(c->got_at, c->got.len);
    assert_int_equal(http2_server_streams(c->server), 2);
}

UNIT_TEST_ON(test_cancel, struct h2_client *c)
{
    c->is_late = true;
    h2_client_get(c, 1);
    h2_headers(&c->bytes, 0, 3, H2_CLIENT_POST);
    h2_frame(&c->bytes, H2_RST_STREAM, 0, 1, slice_of("\0\0\0\x8", 4));
    h2_frame(&c->bytes, H2_RST_STREAM, 0, 3, slice_of("\0\0\0\x8", 4)); /* not yet a request */
    h2_client_send(c);
    assert_int_equal(c->cancel_count, 1);
    assert_int_equal(c->last_cancelled, 1);
    h2_client_answer(c, 1, slice_of(NULL, 0));
    h2_client_flush(c);
    assert_int_equal(c->got_at, c->got.len);
    assert_int_equal(http2_server_streams(c->server), 0);
}

static void expect_fields(struct h2_client *c, unsigned flags, const void *fields, size_t len)
{
    struct h2_frame_view frame;
    assert_true(h2_client_next(c, H2_HEADERS, &frame));
    assert_int_equal(frame.flags, flags);
    assert_int_equal(frame.payload.len, len);
    assert_memory_equal(frame.payload.ptr, fields, len);
}

/* The bytes of RFC 7541: our table is emptied first, and whenever the client sets its size. */
UNIT_TEST_ON(test_fields_of_replies, struct h2_client *c)
{
    static const char table_of_0[] = {0, 1, 0, 0, 0, 0};
    static const char ok[] = "\x88\x0f\x10\x17"
                             "application/dns-message\0\x07x-other\1"
                             "1";
    static const char other[] = "\x08\x03"
                                "413\x0f\x0d\x01"
                                "0\x0f\x09\x09"
                                "max-age=5\x0f\x07\x03GET";
    const struct http2_field fields[] = {
        {"content-length", "0"}, {"cache-control", "max-age=5"}, {"allow", "GET"}};
    const struct http2_reply too_long = {.status = 413, .fields = fields, .field_count = 3};
    char first[sizeof(ok)] = {0x20};
    memcpy(first + 1, ok, sizeof(ok) - 1);
    h2_client_get(c, 1);
    expect_fields(c, H2_END_HEADERS, first, sizeof(first));
    h2_client_get(c, 3);
    expect_fields(c, H2_END_HEADERS, ok, sizeof(ok) - 1);
    h2_frame(&c->bytes, H2_SETTINGS, 0, 0, slice_of(table_of_0, sizeof(table_of_0)));
    h2_client_get(c, 5);
    expect_fields(c, H2_END_HEADERS, first, sizeof(first));
    c->is_late = true;
    h2_client_get(c, 7);
    http2_server_reply(c->server, 7, &too_long);
    h2_client_flush(c);
    expect_fields(c, H2_END_HEADERS | H2_END_STREAM, other, sizeof(other) - 1);
}

UNIT_TEST_ON(test_trailers_of_replies, struct h2_client *c)
{
    static const char status[] = "\0\x0bgrpc-status\1"
                                 "0";
    const struct http2_field trailers[] = {{"grpc-status", "0"}};
    struct http2_reply reply = {
        .status = 200, .body = slice_str("message"), .trailers = trailers, .trailer_count = 1};
    struct h2_frame_view frame;
    c->is_late = true;
    h2_client_get(c, 1);
    http2_server_reply(c->server, 1, &reply);
    h2_client_flush(c);
    expect_fields(c, H2_END_HEADERS, "\x20\x88", 2);
    assert_true(h2_client_next(c, H2_DATA, &frame));
    assert_int_equal(frame.flags, 0);
    h2_client_expect_text(frame.payload, "message");
    expect_fields(c, H2_END_HEADERS | H2_END_STREAM, status, sizeof(status) - 1);

    reply.body.len = 0;
    h2_client_get(c, 3);
    http2_server_reply(c->server, 3, &reply);
    h2_client_flush(c);
    expect_fields(c, H2_END_HEADERS, "\x88", 1);
    expect_fields(c, H2_END_HEADERS | H2_END_STREAM, status, sizeof(status) - 1);
    assert_int_equal(c->got_at, c->got.len);
}

/* More fields than a reply of ours could have. */
UNIT_TEST_ON(test_reply_too_long, struct h2_client *c)
{
    char value[5000];
    memset(value, 'a', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    const struct http2_field fields[] = {{"x", value}};
    const struct http2_reply reply = {.status = 200, .fields = fields, .field_count = 1};
    c->is_late = true;
    h2_client_get(c, 1);
    http2_server_reply(c->server, 1, &reply);
    h2_client_flush(c);
    h2_client_expect_reset(c, 1, 2);
    assert_int_equal(c->cancel_count, 0);
}

/* ---- Windows ---- */

static void put_window(struct h2_client *c, uint32_t stream, uint32_t more)
{
    CLEANUP_BUF struct buf b = buf_of(4);
    buf_append_u32(&b, more);
    h2_frame(&c->bytes, H2_WINDOW_UPDATE, 0, stream, buf_slice(&b));
}

static void put_stream_window(struct h2_client *c, uint32_t window)
{
    CLEANUP_BUF struct buf b = buf_of(6);
    buf_append_u16(&b, 4);
    buf_append_u32(&b, window);
    h2_frame(&c->bytes, H2_SETTINGS, 0, 0, buf_slice(&b));
}

static void expect_data(struct h2_client *c, uint32_t stream, const char *text, unsigned flags)
{
    struct h2_frame_view frame;
    assert_true(h2_client_next(c, H2_DATA, &frame));
    assert_int_equal(frame.stream, stream);
    assert_int_equal(frame.flags, flags);
    h2_client_expect_text(frame.payload, text);
}

static void expect_nothing(struct h2_client *c)
{
    struct h2_frame_view frame;
    assert_false(h2_client_next(c, H2_DATA, &frame));
}

UNIT_TEST_ON(test_stream_windows, struct h2_client *c)
{
    put_stream_window(c, 3);
    h2_client_get(c, 1);
    expect_data(c, 1, "rep", 0);
    put_window(c, 1, 2);
    h2_client_send(c);
    expect_data(c, 1, "ly", 0);
    expect_nothing(c);
    put_stream_window(c, 0); /* minus 3 for the stream */
    put_window(c, 1, 3);
    h2_client_send(c);
    expect_nothing(c);
    assert_true(http2_server_memory(c->server) > 0);
    put_window(c, 1, 1);
    h2_client_send(c);
    expect_data(c, 1, " ", 0);
    h2_client_get(c, 3);
    put_stream_window(c, 100);
    h2_client_send(c);
    expect_data(c, 1, "1", H2_END_STREAM);
    expect_data(c, 3, "reply 3", H2_END_STREAM);
    assert_int_equal(http2_server_streams(c->server), 0);
}

/* Two of the longest replies: the connection's window holds the second up. */
UNIT_TEST_ON(test_connection_window, struct h2_client *c)
{
    struct h2_frame_view frame;
    CLEANUP_FREE uint8_t *body = xmalloc(WINDOW_START);
    memset(body, 'a', WINDOW_START);
    c->is_late = true;
    c->room = 1000;
    h2_client_get(c, 1);
    h2_client_get(c, 3);
    h2_client_answer(c, 1, slice_of(body, WINDOW_START));
    h2_client_answer(c, 3, slice_of(body, WINDOW_START));
    h2_client_flush(c);
    size_t len = 0;
    while (h2_client_next(c, H2_DATA, &frame)) {
        assert_int_equal(frame.stream, 1);
        len += frame.payload.len;
    }
    assert_int_equal(len, WINDOW_START);
    assert_int_equal(http2_server_streams(c->server), 1);
    put_window(c, 0, WINDOW_START);
    h2_client_send(c);
    for (len = 0; h2_client_next(c, H2_DATA, &frame);) {
        len += frame.payload.len;
        assert_int_equal(frame.stream, 3);
        assert_int_equal(frame.flags, len == WINDOW_START ? H2_END_STREAM : 0);
    }
    assert_int_equal(len, WINDOW_START);
    assert_int_equal(http2_server_streams(c->server), 0);
    assert_int_equal(http2_server_memory(c->server), 0);
}

/* A reset, and the end of the connection, free what waits. */
UNIT_TEST_ON(test_reset_while_replying, struct h2_client *c)
{
    put_stream_window(c, 3);
    h2_client_get(c, 1);
    h2_client_get(c, 3);
    h2_frame(&c->bytes, H2_RST_STREAM, 0, 1, slice_of("\0\0\0\x8", 4));
    h2_client_send(c);
    assert_int_equal(c->cancel_count, 0); /* the reply has been given */
    assert_int_equal(http2_server_streams(c->server), 1);
}

/* Bodies give the connection's window back. */
UNIT_TEST_ON(test_window_is_returned, struct h2_client *c)
{
    enum { BODY = 16384, COUNT = 100 };
    struct h2_frame_view frame;
    static const uint8_t body[BODY];
    size_t window = HTTP2_BODIES_MAX;
    unsigned updates = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_true(window >= BODY);
        h2_headers(&c->bytes, 0, 2 * i + 1, H2_CLIENT_POST);
        h2_frame(&c->bytes, H2_DATA, H2_END_STREAM, 2 * i + 1, slice_of(body, BODY));
        h2_client_send(c);
        window -= BODY;
        while (h2_client_next(c, H2_WINDOW_UPDATE, &frame)) {
            struct reader r = reader_of(frame.payload.ptr, frame.payload.len);
            assert_int_equal(frame.stream, 0);
            window += reader_u32(&r);
            updates++;
        }
    }
    assert_int_equal(c->request_count, COUNT);
    assert_int_equal(updates, COUNT * BODY / (HTTP2_BODIES_MAX / 2));
}

/* ---- The end ---- */

UNIT_TEST_ON(test_drain, struct h2_client *c)
{
    struct h2_frame_view frame;
    c->is_late = true;
    h2_client_get(c, 1);
    http2_server_drain(c->server);
    http2_server_drain(c->server);
    h2_client_flush(c);
    assert_true(h2_client_next(c, H2_GOAWAY, &frame));
    assert_memory_equal(frame.payload.ptr, "\0\0\0\1\0\0\0\0", 8);
    h2_client_get(c, 3);
    assert_int_equal(c->request_count, 1);
    h2_client_answer(c, 1, slice_of(NULL, 0));
    h2_client_flush(c);
    h2_client_expect_reply(c, 1, "reply 1");
    assert_int_equal(http2_server_streams(c->server), 0);
    h2_frame(&c->bytes, H2_DATA, 0, 0, slice_of(NULL, 0));
    h2_client_send(c);
    h2_client_expect_goaway(c, 1, PROTOCOL_ERROR); /* not of stream 3 */
}

/* Charges a client nothing for more requests than it has resets, sent before it saw GOAWAY: it gets
 * the answer that it is owed. The first requests have a body and trailers. */
UNIT_TEST_ON(test_drain_with_requests_on_their_way, struct h2_client *c)
{
    enum { LATE = HTTP2_STREAMS_MAX - 1, WITH_BODY = 10 };
    struct h2_frame_view frame;
    c->is_late = true;
    h2_client_get(c, 1);
    http2_server_drain(c->server);
    for (uint32_t i = 0; i < LATE; i++) {
        uint32_t id = 2 * i + 3;
        if (i < WITH_BODY) {
            h2_headers(&c->bytes, 0, id, H2_CLIENT_POST);
            h2_frame(&c->bytes, H2_DATA, 0, id, slice_str("body"));
            h2_frame(&c->bytes, H2_WINDOW_UPDATE, 0, id, slice_of("\0\0\0\1", 4));
            h2_headers(&c->bytes, H2_END_STREAM, id, "x-sum: 1");
        } else {
            h2_headers(&c->bytes, H2_END_STREAM, id, H2_CLIENT_GET);
        }
        h2_frame(&c->bytes, H2_RST_STREAM, 0, id, slice_of("\0\0\0\x8", 4));
    }
    assert_int_equal(h2_client_send(c), 0);
    assert_false(c->is_over);
    assert_int_equal(c->request_count, 1);
    assert_int_equal(http2_server_streams(c->server), 1);
    h2_client_answer(c, 1, slice_of(NULL, 0));
    h2_client_flush(c);
    h2_client_expect_reply(c, 1, "reply 1");
    assert_false(h2_client_next(c, H2_RST_STREAM, &frame));

    /* No more than other frames that ask for nothing. */
    for (uint32_t id = 2 * LATE + 3; !c->is_over && id < 2 * (LATE + HTTP2_CONTROL_MAX); id += 2) {
        h2_client_get(c, (int32_t)id);
    }
    h2_client_expect_goaway(c, 1, ENHANCE_YOUR_CALM);
}

UNIT_TEST(test_free_of_nothing)
{
    http2_server_free(NULL);
}
