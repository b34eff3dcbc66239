/* Exceeds each limit of common/http2/http2_server.h, or breaks RFC 9113, with frames made here: the
 * stream or the connection ends with the right error, and the next connection is served. */
#include "common/http2/http2_server.h"

#include "tests/support/h2_client.h"
#include "tests/support/unit_test.h"

enum {
    NO_ERROR = 0,
    PROTOCOL_ERROR = 1,
    FLOW_CONTROL_ERROR = 3,
    STREAM_CLOSED = 5,
    FRAME_SIZE_ERROR = 6,
    REFUSED_STREAM = 7,
    COMPRESSION_ERROR = 9,
    ENHANCE_YOUR_CALM = 11,
};

enum { FRAME_MAX = 16384 };
static const char cancel[] = {0, 0, 0, 8};

static void put_headers_with(struct buf *out, uint32_t stream, const char *name, size_t value_len)
{
    CLEANUP_BUF struct buf b = buf_of(1 << 20);
    h2_header_block(&b, H2_CLIENT_GET);
    buf_append_char(&b, 0);
    buf_append_char(&b, (char)strlen(name));
    buf_append_str(&b, name);
    assert_in_range(value_len, 127, 127 + (1 << 14) - 1);
    buf_append_u8(&b, 127);
    buf_append_u8(&b, (uint8_t)(0x80 | ((value_len - 127) & 0x7f)));
    buf_append_u8(&b, (uint8_t)((value_len - 127) >> 7));
    for (size_t i = 0; i < value_len; i++) {
        buf_append_char(&b, 'v');
    }
    h2_frame(out, H2_HEADERS, H2_END_STREAM, stream,
             slice_of(b.data, b.len < FRAME_MAX ? b.len : FRAME_MAX));
    size_t rest = b.len < FRAME_MAX ? 0 : b.len - FRAME_MAX;
    h2_frame(out, H2_CONTINUATION, H2_END_HEADERS, stream, slice_of(b.data + b.len - rest, rest));
}

/* ---- Single frames that end the connection ---- */

struct wrong_frame {
    const char *name;
    unsigned type, flags, stream;
    const char *payload;
    size_t len;
    uint32_t error;
};
#define BYTES(literal) (literal), sizeof(literal) - 1

/* After an answered request on stream 1 and one that waits on stream 3. */
static const struct wrong_frame wrong_frames[] = {
    {"a setting cut off", H2_SETTINGS, 0, 0, BYTES("\0\1\0\0\0"), FRAME_SIZE_ERROR},
    {"settings of a stream", H2_SETTINGS, 0, 1, BYTES(""), PROTOCOL_ERROR},
    {"settings acknowledged with some", H2_SETTINGS, H2_ACK, 0, BYTES("\0\1\0\0\0\0"),
     FRAME_SIZE_ERROR},
    {"a window of 2 GiB", H2_SETTINGS, 0, 0, BYTES("\0\4\x80\0\0\0"), FLOW_CONTROL_ERROR},
    {"push twice enabled", H2_SETTINGS, 0, 0, BYTES("\0\2\0\0\0\2"), PROTOCOL_ERROR},
    {"frames too short", H2_SETTINGS, 0, 0, BYTES("\0\5\0\0\x3f\xff"), PROTOCOL_ERROR},
    {"frames too long", H2_SETTINGS, 0, 0, BYTES("\0\5\1\0\0\0"), PROTOCOL_ERROR},
    {"a short ping", H2_PING, 0, 0, BYTES("1234567"), FRAME_SIZE_ERROR},
    {"a ping of a stream", H2_PING, 0, 1, BYTES("12345678"), PROTOCOL_ERROR},
    {"a short window update", H2_WINDOW_UPDATE, 0, 0, BYTES("\0\0\1"), FRAME_SIZE_ERROR},
    {"a window update of 0", H2_WINDOW_UPDATE, 0, 0, BYTES("\0\0\0\0"), PROTOCOL_ERROR},
    {"a window beyond 2 GiB", H2_WINDOW_UPDATE, 0, 0, BYTES("\x7f\xff\xff\xff"),
     FLOW_CONTROL_ERROR},
    {"a window of a stream to come", H2_WINDOW_UPDATE, 0, 5, BYTES("\0\0\0\1"), PROTOCOL_ERROR},
    {"a short reset", H2_RST_STREAM, 0, 3, BYTES("\0\0\0"), FRAME_SIZE_ERROR},
    {"a reset of the connection", H2_RST_STREAM, 0, 0, BYTES("\0\0\0\0"), PROTOCOL_ERROR},
    {"a reset of a stream to come", H2_RST_STREAM, 0, 5, BYTES("\0\0\0\0"), PROTOCOL_ERROR},
    {"a reset of our stream", H2_RST_STREAM, 0, 2, BYTES("\0\0\0\0"), PROTOCOL_ERROR},
    {"a short priority", H2_PRIORITY, 0, 3, BYTES("\0\0\0\0"), FRAME_SIZE_ERROR},
    {"a priority of the connection", H2_PRIORITY, 0, 0, BYTES("\0\0\0\0\0"), PROTOCOL_ERROR},
    {"a promise", H2_PUSH_PROMISE, H2_END_HEADERS, 3, BYTES("\0\0\0\2"), PROTOCOL_ERROR},
    {"a request on stream 0", H2_HEADERS, H2_END_HEADERS, 0, BYTES("\x82"), PROTOCOL_ERROR},
    {"a request on our stream", H2_HEADERS, H2_END_HEADERS, 2, BYTES("\x82"), PROTOCOL_ERROR},
    {"a request on a stream that has ended", H2_HEADERS, H2_END_HEADERS, 1, BYTES("\x82"),
     PROTOCOL_ERROR},
    {"more padding than frame", H2_HEADERS, H2_END_HEADERS | H2_PADDED, 5, BYTES("\2\x82"),
     PROTOCOL_ERROR},
    {"no padding at all", H2_HEADERS, H2_END_HEADERS | H2_PADDED, 5, BYTES(""), PROTOCOL_ERROR},
    {"half a priority", H2_HEADERS, H2_END_HEADERS | H2_HAS_PRIORITY, 5, BYTES("\0\0\0"),
     PROTOCOL_ERROR},
    {"no such entry of the table", H2_HEADERS, H2_END_HEADERS, 5, BYTES("\xff\xff\xff\x01"),
     COMPRESSION_ERROR},
    {"half a field", H2_HEADERS, H2_END_HEADERS, 5, BYTES("\0\5abc"), COMPRESSION_ERROR},
    {"a broken block nobody looks at", H2_HEADERS, H2_END_HEADERS | H2_END_STREAM, 3,
     BYTES("\0\5abc"), COMPRESSION_ERROR},
    {"a continuation of nothing", H2_CONTINUATION, H2_END_HEADERS, 5, BYTES("\x82"),
     PROTOCOL_ERROR},
    {"data of the connection", H2_DATA, 0, 0, BYTES("a"), PROTOCOL_ERROR},
    {"data of a stream to come", H2_DATA, 0, 5, BYTES("a"), PROTOCOL_ERROR},
    {"data of our stream", H2_DATA, 0, 2, BYTES("a"), PROTOCOL_ERROR},
    {"data of a stream that has ended", H2_DATA, 0, 1, BYTES("a"), STREAM_CLOSED},
    {"data with more padding than frame", H2_DATA, H2_PADDED, 3, BYTES("\2a"), PROTOCOL_ERROR},
};

UNIT_FIXTURE(struct h2_client, h2_client_start, h2_client_end)

UNIT_TEST(test_wrong_frames)
{
    for (size_t i = 0; i < ARRAY_LEN(wrong_frames); i++) {
        const struct wrong_frame *wrong = &wrong_frames[i];
        CLEANUP(h2_client_end) struct h2_client c;
        print_message("%s\n", wrong->name);
        h2_client_start(&c);
        h2_client_get(&c, 1);
        h2_client_expect_reply(&c, 1, "reply 1");
        c.is_late = true;
        h2_client_get(&c, 3);
        h2_frame(&c.bytes, wrong->type, wrong->flags, wrong->stream,
                 slice_of(wrong->payload, wrong->len));
        h2_frame(&c.bytes, H2_PING, 0, 0, slice_str("12345678")); /* is not answered any more */
        h2_client_send(&c);
        int32_t last = wrong->error == COMPRESSION_ERROR && wrong->stream == 5 ? 5 : 3;
        h2_client_expect_goaway(&c, last, wrong->error);
    }
}

UNIT_TEST(test_beginnings)
{
    static const struct {
        const char *name, *bytes;
        size_t len;
        uint32_t error;
    } cases[] = {
        {"HTTP/1.1", BYTES("GET / HTTP/1.1\r\n\r\n"), PROTOCOL_ERROR},
        {"a preface with one wrong byte", BYTES("PRI * HTTP/2.0\r\n\r\nSM\r\n\rx"), PROTOCOL_ERROR},
        {"a ping first", BYTES(H2_PREFACE "\0\0\x8\6\0\0\0\0\0"), PROTOCOL_ERROR},
        {"an acknowledgement first", BYTES(H2_PREFACE "\0\0\0\4\1\0\0\0\0"), PROTOCOL_ERROR},
        {"a frame too long", BYTES(H2_PREFACE "\0\x40\1\4\0\0\0\0\0"), FRAME_SIZE_ERROR},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(h2_client_end) struct h2_client c;
        struct h2_frame_view frame;
        print_message("%s\n", cases[i].name);
        h2_client_open(&c);
        buf_append(&c.bytes, cases[i].bytes, cases[i].len);
        h2_client_send(&c);
        assert_true(h2_client_next(&c, H2_SETTINGS, &frame));
        assert_true(h2_client_next(&c, H2_WINDOW_UPDATE, &frame));
        h2_client_expect_goaway(&c, 0, cases[i].error);
    }
}

/* ---- Requests that end their stream ---- */

UNIT_TEST_ON(test_malformed_requests, struct h2_client *c)
{
    static const char *const cases[] = {
        ":method: GET\n:scheme: https",
        ":method: GET\n:path: /",
        ":scheme: https\n:path: /",
        ":method: GET\n:scheme: https\n:path: ",
        ":method: GET\n:method: GET\n:scheme: https\n:path: /",
        ":method: GET\n:scheme: https\n:path: /\n:path: /",
        ":method: GET\n:scheme: https\n:scheme: https\n:path: /",
        ":method: GET\n:scheme: https\nx: y\n:path: /",
        ":method: GET\n:scheme: https\n:path: /\n:status: 200",
        ":method: CONNECT\n:scheme: https\n:path: /",
        H2_CLIENT_GET "X-Upper: 1",
        H2_CLIENT_GET "x y: 1",
        H2_CLIENT_GET "x: a\tb\x7f",
        H2_CLIENT_GET "x: 0123456789\x01",
        H2_CLIENT_GET "x: 0123456\x7f",
        H2_CLIENT_GET "x:  leading space",
        H2_CLIENT_GET "connection: close",
        H2_CLIENT_GET "keep-alive: 1",
        H2_CLIENT_GET "upgrade: h2c",
        H2_CLIENT_GET "proxy-connection: close",
        H2_CLIENT_GET "transfer-encoding: chunked",
        H2_CLIENT_GET "te: gzip",
        H2_CLIENT_GET "content-length: 1",
        H2_CLIENT_GET "content-length: x",
        H2_CLIENT_GET "content-length: ",
        H2_CLIENT_GET "content-length: 1234567890123456789",
        H2_CLIENT_GET "content-length: 0\ncontent-length: 1",
    };
    uint32_t id = 1;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++, id += 2) {
        print_message("%s\n", cases[i]);
        h2_headers(&c->bytes, H2_END_STREAM, id, cases[i]);
        h2_client_send(c);
        h2_client_expect_reset(c, (int32_t)id, PROTOCOL_ERROR);
    }
    assert_int_equal(c->request_count, 0);
    h2_client_get(c, (int32_t)id);
    assert_int_equal(c->request_count, 1);
    assert_int_equal(http2_server_streams(c->server), 0);
}

/* Accepts requests that look odd. */
UNIT_TEST_ON(test_odd_requests, struct h2_client *c)
{
    static const char *const cases[] = {
        ":method: CONNECT\n:authority: a:1",
        ":path: /\n:scheme: https\n:method: GET\nx: \ny: a\tb and some more\nz: \x80\xff",
        H2_CLIENT_GET "content-length: 0\ncontent-length: 0\nte: trailers",
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        h2_headers(&c->bytes, H2_END_STREAM, (uint32_t)(2 * i + 1), cases[i]);
        h2_client_send(c);
        assert_int_equal(c->request_count, i + 1);
    }
}

UNIT_TEST_ON(test_wrong_bodies, struct h2_client *c)
{
    h2_headers(&c->bytes, 0, 1, H2_CLIENT_POST "content-length: 4");
    h2_frame(&c->bytes, H2_DATA, H2_END_STREAM, 1, slice_str("abc"));
    h2_headers(&c->bytes, 0, 3, H2_CLIENT_POST "content-length: 4");
    h2_frame(&c->bytes, H2_DATA, 0, 3, slice_str("abcde"));
    h2_headers(&c->bytes, 0, 5, H2_CLIENT_POST "content-length: 4");
    h2_headers(&c->bytes, H2_END_STREAM, 5, "x: y");
    h2_headers(&c->bytes, 0, 7, H2_CLIENT_POST);
    h2_headers(&c->bytes, H2_END_STREAM, 7, ":path: /");
    h2_headers(&c->bytes, 0, 9, H2_CLIENT_POST);
    h2_headers(&c->bytes, 0, 9, "x: y");
    h2_client_send(c);
    for (int32_t id = 1; id <= 9; id += 2) {
        h2_client_expect_reset(c, id, PROTOCOL_ERROR);
    }
    h2_frame(&c->bytes, H2_DATA, 0, 3, slice_str("on its way")); /* no error: it could not know */
    h2_headers(&c->bytes, H2_END_STREAM, 3, "x: y");
    h2_client_get(c, 11);
    assert_int_equal(c->request_count, 1);
}

/* Sends wrong frames of a request whose answer is due. */
UNIT_TEST_ON(test_wrong_frames_of_a_stream, struct h2_client *c)
{
    c->is_late = true;
    for (int32_t id = 1; id <= 7; id += 2) {
        h2_client_get(c, id);
    }
    h2_frame(&c->bytes, H2_DATA, 0, 1, slice_str("more"));
    h2_headers(&c->bytes, H2_END_STREAM, 3, "x: y");
    h2_frame(&c->bytes, H2_WINDOW_UPDATE, 0, 5, slice_of("\0\0\0", 4));
    h2_frame(&c->bytes, H2_WINDOW_UPDATE, 0, 7, slice_of("\x7f\xff\xff\xff", 4));
    h2_client_send(c);
    h2_client_expect_reset(c, 1, STREAM_CLOSED);
    h2_client_expect_reset(c, 3, STREAM_CLOSED);
    h2_client_expect_reset(c, 5, PROTOCOL_ERROR);
    h2_client_expect_reset(c, 7, FLOW_CONTROL_ERROR);
    assert_int_equal(c->cancel_count, 4);
    assert_int_equal(http2_server_streams(c->server), 0);
    assert_false(c->is_over);
}

/* ---- Limits ---- */

UNIT_TEST_ON(test_streams, struct h2_client *c)
{
    c->is_late = true;
    for (int32_t i = 0; i < HTTP2_STREAMS_MAX; i++) {
        h2_client_get(c, 2 * i + 1);
    }
    assert_int_equal(c->request_count, HTTP2_STREAMS_MAX);
    int32_t id = 2 * HTTP2_STREAMS_MAX + 1;
    h2_client_get(c, id);
    h2_client_expect_reset(c, id, REFUSED_STREAM);
    assert_int_equal(c->request_count, HTTP2_STREAMS_MAX);
    h2_client_answer(c, 77, slice_of(NULL, 0));
    h2_client_flush(c);
    h2_client_expect_reply(c, 77, "reply 77");
    h2_client_get(c, id + 2);
    assert_int_equal(c->request_count, HTTP2_STREAMS_MAX + 1);
}

/* Streams beyond the number, again and again. */
UNIT_TEST_ON(test_refused_streams, struct h2_client *c)
{
    c->is_late = true;
    int32_t count = HTTP2_STREAMS_MAX + HTTP2_RESETS_MAX;
    for (int32_t i = 0; i < count; i++) {
        h2_client_get(c, 2 * i + 1);
    }
    assert_false(c->is_over);
    h2_client_get(c, 2 * count + 1);
    h2_client_expect_goaway(c, 2 * count + 1, ENHANCE_YOUR_CALM);
}

UNIT_TEST_ON(test_rapid_reset, struct h2_client *c)
{
    c->is_late = true;
    int32_t id = 1;
    for (size_t i = 0; i <= HTTP2_RESETS_MAX; i++, id += 2) {
        assert_false(c->is_over);
        h2_headers(&c->bytes, H2_END_STREAM, (uint32_t)id, H2_CLIENT_GET);
        h2_frame(&c->bytes, H2_RST_STREAM, 0, (uint32_t)id, slice_of(cancel, sizeof(cancel)));
        h2_client_send(c);
    }
    assert_int_equal(c->request_count, HTTP2_RESETS_MAX + 1);
    assert_int_equal(c->cancel_count, HTTP2_RESETS_MAX + 1);
    h2_client_expect_goaway(c, id - 2, ENHANCE_YOUR_CALM);
}

/* One of three is cancelled, for as long as it likes; one of two is too many. */
UNIT_TEST(test_resets_come_back)
{
    for (unsigned answered = HTTP2_RESETS_REFILL; answered >= 1; answered--) {
        CLEANUP(h2_client_end) struct h2_client c;
        h2_client_start(&c);
        c.is_late = true;
        int32_t id = 1;
        for (size_t i = 0; i < 5 * HTTP2_RESETS_MAX && !c.is_over; i++, id += 2) {
            for (unsigned n = 0; n < answered; n++, id += 2) {
                h2_client_get(&c, id);
                h2_client_answer(&c, id, slice_of(NULL, 0));
            }
            h2_client_get(&c, id);
            h2_frame(&c.bytes, H2_RST_STREAM, 0, (uint32_t)id, slice_of(cancel, sizeof(cancel)));
            h2_client_send(&c);
        }
        assert_int_equal(c.is_over, answered < HTTP2_RESETS_REFILL);
    }
}

/* Resets that it makes us send are its own (CVE-2025-8671). */
UNIT_TEST_ON(test_made_resets, struct h2_client *c)
{
    c->is_late = true;
    int32_t id = 1;
    for (size_t i = 0; i <= HTTP2_RESETS_MAX; i++, id += 2) {
        assert_false(c->is_over);
        h2_headers(&c->bytes, H2_END_STREAM, (uint32_t)id, H2_CLIENT_GET);
        h2_frame(&c->bytes, H2_WINDOW_UPDATE, 0, (uint32_t)id, slice_of("\0\0\0", 4));
        h2_client_send(c);
        h2_client_expect_reset(c, id, PROTOCOL_ERROR);
    }
    h2_client_expect_goaway(c, id - 2, ENHANCE_YOUR_CALM);
}

struct flood {
    const char *name;
    unsigned type, flags, stream;
    const char *payload;
    size_t len;
};

/* Each is allowed HTTP2_CONTROL_MAX times between two requests. */
UNIT_TEST(test_floods)
{
    static const struct flood floods[] = {
        {"PING", H2_PING, 0, 0, BYTES("12345678")},
        {"PING with ACK", H2_PING, H2_ACK, 0, BYTES("12345678")},
        {"SETTINGS", H2_SETTINGS, 0, 0, BYTES("")},
        {"SETTINGS with ACK", H2_SETTINGS, H2_ACK, 0, BYTES("")},
        {"PRIORITY", H2_PRIORITY, 0, 5, BYTES("\0\0\0\0\1")},
        {"WINDOW_UPDATE", H2_WINDOW_UPDATE, 0, 0, BYTES("\0\0\0\1")},
        {"WINDOW_UPDATE of a stream", H2_WINDOW_UPDATE, 0, 3, BYTES("\0\0\0\1")},
        {"WINDOW_UPDATE of a stream that has ended", H2_WINDOW_UPDATE, 0, 1, BYTES("\0\0\0\1")},
        {"RST_STREAM of a stream that has ended", H2_RST_STREAM, 0, 1, BYTES("\0\0\0\0")},
        {"GOAWAY", H2_GOAWAY, 0, 0, BYTES("\0\0\0\0\0\0\0\0")},
        {"an unknown type", 0xbb, 0xff, 7, BYTES("anything")},
        {"empty DATA", H2_DATA, 0, 3, BYTES("")},
        {"DATA of one byte", H2_DATA, 0, 3, BYTES("a")},
        {"DATA of padding", H2_DATA, H2_PADDED, 3, BYTES("\3\0\0\0")},
    };
    for (size_t i = 0; i < ARRAY_LEN(floods); i++) {
        const struct flood *flood = &floods[i];
        CLEANUP(h2_client_end) struct h2_client c;
        print_message("%s\n", flood->name);
        h2_client_start(&c);
        h2_client_get(&c, 1);
        h2_client_expect_reply(&c, 1, "reply 1");
        h2_headers(&c.bytes, 0, 3, H2_CLIENT_POST);
        h2_client_send(&c);
        for (size_t n = 0; n < HTTP2_CONTROL_MAX; n++) {
            h2_frame(&c.bytes, flood->type, flood->flags, flood->stream,
                     slice_of(flood->payload, flood->len));
        }
        h2_client_send(&c);
        assert_false(c.is_over);
        h2_client_get(&c, 5); /* is answered, and lets it begin again */
        h2_client_expect_reply(&c, 5, "reply 5");
        for (size_t n = 0; n <= HTTP2_CONTROL_MAX; n++) {
            assert_false(c.is_over);
            h2_frame(&c.bytes, flood->type, flood->flags, flood->stream,
                     slice_of(flood->payload, flood->len));
            h2_client_send(&c);
        }
        h2_client_expect_goaway(&c, 5, ENHANCE_YOUR_CALM);
    }
}

/* DATA of any size, for streams that the client has made us reset: all that fits the windows of as
 * many as it may have is passed over, and no more than HTTP2_CONTROL_MAX frames of it. */
UNIT_TEST_ON(test_data_of_reset_streams, struct h2_client *c)
{
    enum { EACH = HTTP2_BODY_MAX / FRAME_MAX + 1, RESETS = 99 };
    static const uint8_t zeros[FRAME_MAX];
    int32_t id = 1;
    for (size_t i = 0; i < RESETS; i++, id += 2) {
        h2_headers(&c->bytes, 0, (uint32_t)id, "malformed: 1");
        for (size_t n = 0; n < EACH; n++) {
            h2_frame(&c->bytes, H2_DATA, 0, (uint32_t)id, slice_of(zeros, FRAME_MAX));
        }
        h2_client_send(c);
        h2_client_expect_reset(c, id, PROTOCOL_ERROR);
        assert_false(c->is_over);
    }
    h2_client_get(c, id); /* is answered, and lets it begin again */
    h2_client_expect_reply(c, id, "reply 199");
    for (size_t n = 0; n <= HTTP2_CONTROL_MAX; n++) {
        assert_false(c->is_over);
        h2_frame(&c->bytes, H2_DATA, n % 2 ? H2_END_STREAM : 0, 1, slice_of(zeros, FRAME_MAX));
        h2_client_send(c);
    }
    h2_client_expect_goaway(c, id, ENHANCE_YOUR_CALM);
}

/* The client sends requests and pings, and takes no bytes: no flush. */
UNIT_TEST_ON(test_unread_answers_to_pings, struct h2_client *c)
{
    ssize_t rc = 0;
    size_t rounds = 0;
    for (uint32_t id = 1; rc >= 0 && rounds < 100; id += 2, rounds++) {
        h2_headers(&c->bytes, H2_END_STREAM, id, H2_CLIENT_GET);
        for (size_t n = 0; n < HTTP2_CONTROL_MAX; n++) {
            h2_frame(&c->bytes, H2_PING, 0, 0, slice_str("12345678"));
        }
        rc = http2_server_take(c->server, c->bytes.data, c->bytes.len);
        buf_clear(&c->bytes);
        assert_in_range(http2_server_memory(c->server), 0, 256 * 1024);
    }
    assert_int_equal(rc, -1);
    assert_in_range(rounds, 3, 6); /* 64 KiB of answers, 17 KB each round */
}

/* Requests, whose replies nobody reads, though the windows are wide open. */
UNIT_TEST_ON(test_unread_replies, struct h2_client *c)
{
    enum { BODY = 60000 };
    c->is_late = true;
    h2_frame(&c->bytes, H2_SETTINGS, 0, 0, slice_of("\0\4\x7f\xff\xff\xff", 6));
    h2_frame(&c->bytes, H2_WINDOW_UPDATE, 0, 0, slice_of("\x7f\xff\0\0", 4));
    h2_client_send(c);
    CLEANUP_FREE uint8_t *body = xcalloc(1, BODY);
    int32_t id = 1;
    for (size_t i = 0; i < 2 * HTTP2_STREAMS_MAX; i++, id += 2) {
        h2_headers(&c->bytes, H2_END_STREAM, (uint32_t)id, H2_CLIENT_GET);
        assert_int_equal(http2_server_take(c->server, c->bytes.data, c->bytes.len), c->bytes.len);
        buf_clear(&c->bytes);
        h2_client_answer(c, id, slice_of(body, BODY));
        if (c->request_count < i + 1) {
            break; /* refused */
        }
    }
    assert_int_equal(http2_server_streams(c->server), HTTP2_STREAMS_MAX);
    assert_in_range(http2_server_memory(c->server), HTTP2_STREAMS_MAX * (BODY - 1000),
                    HTTP2_STREAMS_MAX * (BODY + 1000) + 128 * 1024);
    c->room = 10000;
    h2_client_flush(c);
    assert_int_equal(http2_server_streams(c->server), 0);
    assert_in_range(c->got.len, HTTP2_STREAMS_MAX * BODY, HTTP2_STREAMS_MAX * (BODY + 1000));
}

/* Heads of requests whose bodies do not come: they count as what the connection holds. */
UNIT_TEST_ON(test_unfinished_heads, struct h2_client *c)
{
    enum { PATH = 15000 };
    static char lines[PATH + 256];
    int n =
        snprintf(lines, sizeof(lines), ":method: POST\n:scheme: https\n:authority: a\n:path: /");
    memset(lines + n, 'x', PATH);
    for (uint32_t i = 0; i < HTTP2_STREAMS_MAX; i++) {
        h2_headers(&c->bytes, 0, 1 + 2 * i, lines);
        h2_client_send(c);
    }
    assert_int_equal(http2_server_streams(c->server), HTTP2_STREAMS_MAX);
    assert_in_range(http2_server_memory(c->server), HTTP2_STREAMS_MAX * PATH,
                    HTTP2_STREAMS_MAX * (PATH + 2000) + 128 * 1024);
    for (uint32_t i = 0; i < HTTP2_STREAMS_MAX; i++) {
        h2_frame(&c->bytes, H2_DATA, H2_END_STREAM, 1 + 2 * i, slice_str("q"));
    }
    h2_client_send(c);
    assert_int_equal(c->request_count, HTTP2_STREAMS_MAX);
    assert_in_range(http2_server_memory(c->server), 0, 128 * 1024);
}

UNIT_TEST(test_continuations)
{
    struct h2_client c;
    for (size_t count = 8; count <= 9; count++) {
        h2_client_start(&c);
        CLEANUP_BUF struct buf block = buf_of(4096);
        h2_header_block(&block, H2_CLIENT_GET);
        h2_frame(&c.bytes, H2_HEADERS, H2_END_STREAM, 1, slice_of(NULL, 0));
        for (size_t i = 0; i + 1 < count; i++) {
            h2_frame(&c.bytes, H2_CONTINUATION, 0, 1, slice_of(NULL, 0));
        }
        h2_frame(&c.bytes, H2_CONTINUATION, H2_END_HEADERS, 1, buf_slice(&block));
        h2_client_send(&c);
        if (count == 8) {
            assert_int_equal(c.request_count, 1);
        } else {
            h2_client_expect_goaway(&c, 0, ENHANCE_YOUR_CALM);
        }
        h2_client_end(&c);
    }
}

UNIT_TEST(test_continuation_interrupted)
{
    static const struct {
        enum h2_type type;
        uint32_t stream;
    } cases[] = {{H2_PING, 0}, {H2_HEADERS, 1}, {H2_HEADERS, 3}, {H2_CONTINUATION, 3}, {0xbb, 1}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(h2_client_end) struct h2_client c;
        h2_client_start(&c);
        h2_frame(&c.bytes, H2_HEADERS, H2_END_STREAM, 1, slice_str("\x82"));
        h2_frame(&c.bytes, cases[i].type, H2_END_HEADERS, cases[i].stream, slice_str("12345678"));
        h2_client_send(&c);
        h2_client_expect_goaway(&c, 0, PROTOCOL_ERROR);
    }
}

UNIT_TEST_ON(test_long_heads, struct h2_client *c)
{
    put_headers_with(&c->bytes, 1, "x-long", HTTP2_HEADERS_MAX - 400);
    h2_client_send(c);
    assert_int_equal(c->request_count, 1);
    assert_false(c->last.is_head_too_long);
    put_headers_with(&c->bytes, 3, "x-long", HTTP2_HEADERS_MAX - 130); /* and the others */
    h2_client_send(c);
    assert_int_equal(c->request_count, 2);
    assert_true(c->last.is_head_too_long);
    h2_client_expect_text(c->last.path, "/dns-query?dns=AAAA");
    put_headers_with(&c->bytes, 5, "x-long", HTTP2_HEADERS_MAX); /* compressed, too */
    h2_client_send(c);
    h2_client_expect_goaway(c, 3, ENHANCE_YOUR_CALM);
}

/* A long field in the table, and references of a byte each. */
UNIT_TEST(test_header_bomb)
{
    enum { FIELD = 4000 };
    static const size_t references[] = {10, 100};
    for (size_t i = 0; i < ARRAY_LEN(references); i++) {
        CLEANUP(h2_client_end) struct h2_client c;
        h2_client_start(&c);
        CLEANUP_BUF struct buf b = buf_of(1 << 20);
        h2_header_block(&b, H2_CLIENT_GET);
        buf_append_str(&b, "\x40\x01x\x7f\xa1\x1e"); /* 4000 bytes follow */
        for (size_t n = 0; n < FIELD; n++) {
            buf_append_char(&b, 'v');
        }
        for (size_t n = 0; n < references[i]; n++) {
            buf_append_u8(&b, 0xbe);
        }
        h2_frame(&c.bytes, H2_HEADERS, H2_END_STREAM | H2_END_HEADERS, 1, buf_slice(&b));
        h2_client_send(&c);
        if (references[i] * FIELD < 4 * HTTP2_HEADERS_MAX) {
            assert_int_equal(c.request_count, 1);
            assert_true(c.last.is_head_too_long);
            h2_client_get(&c, 3); /* the table is still right */
            h2_client_expect_reply(&c, 1, "reply 1");
            h2_client_expect_reply(&c, 3, "reply 3");
        } else {
            h2_client_expect_goaway(&c, 1, ENHANCE_YOUR_CALM);
        }
    }
}

/* The client's table full of the smallest fields: a connection's memory counts what they take. */
UNIT_TEST_ON(test_table_of_small_fields, struct h2_client *c)
{
    enum { FIELDS = 200, HELD_MAX = 40 * 1024 };
    CLEANUP_BUF struct buf b = buf_of(4096);
    h2_header_block(&b, H2_CLIENT_GET);
    for (size_t i = 0; i < FIELDS; i++) {
        buf_append(&b, "\x40\x01x\x00", 4);
    }
    for (uint32_t id = 1; id < 20; id += 2) {
        h2_frame(&c->bytes, H2_HEADERS, H2_END_STREAM | H2_END_HEADERS, id, buf_slice(&b));
    }
    h2_client_send(c);
    assert_int_equal(c->request_count, 10);
    assert_in_range(http2_server_memory(c->server), 4096, HELD_MAX);
}

static void put_body(struct h2_client *c, uint32_t stream, size_t len, unsigned flags)
{
    static const uint8_t zeros[FRAME_MAX];
    for (size_t n; len > 0; len -= n) {
        n = len < FRAME_MAX ? len : FRAME_MAX;
        h2_frame(&c->bytes, H2_DATA, n == len ? flags : 0, stream, slice_of(zeros, n));
    }
}

UNIT_TEST_ON(test_long_bodies, struct h2_client *c)
{
    h2_headers(&c->bytes, 0, 1, H2_CLIENT_POST);
    put_body(c, 1, HTTP2_BODY_MAX, H2_END_STREAM);
    h2_client_send(c);
    assert_int_equal(c->request_count, 1);
    assert_false(c->last.is_too_long);
    assert_int_equal(c->last.body.len, HTTP2_BODY_MAX);

    c->is_late = true;
    h2_headers(&c->bytes, 0, 3, H2_CLIENT_POST);
    put_body(c, 3, HTTP2_BODY_MAX + 1, 0);
    h2_client_send(c);
    assert_int_equal(c->request_count, 2);
    assert_true(c->last.is_too_long);
    h2_client_answer(c, 3, slice_str("too long"));
    h2_client_flush(c);
    h2_client_expect_reply(c, 1, "reply 1");
    h2_client_expect_reply(c, 3, "too long");
    h2_client_expect_reset(c, 3, NO_ERROR);

    h2_headers(&c->bytes, 0, 5, H2_CLIENT_POST);
    put_body(c, 5, HTTP2_BODY_MAX + 2, 0); /* beyond its window */
    h2_client_send(c);
    h2_client_expect_goaway(c, 5, FLOW_CONTROL_ERROR);
}

/* Sends as many unfinished bodies as the connection's window allows, and one byte more. */
UNIT_TEST_ON(test_all_bodies, struct h2_client *c)
{
    enum { EACH = 4 * FRAME_MAX };
    uint32_t id = 1;
    for (size_t len = 0; len < HTTP2_BODIES_MAX; len += EACH, id += 2) {
        h2_headers(&c->bytes, 0, id, H2_CLIENT_POST);
        put_body(c, id, EACH, 0);
    }
    h2_headers(&c->bytes, 0, id, H2_CLIENT_POST);
    h2_client_send(c);
    assert_false(c->is_over);
    assert_in_range(http2_server_memory(c->server), HTTP2_BODIES_MAX, 3 * HTTP2_BODIES_MAX);
    put_body(c, id, 1, H2_END_STREAM);
    h2_client_send(c);
    h2_client_expect_goaway(c, (int32_t)id, FLOW_CONTROL_ERROR);
}

UNIT_TEST_ON(test_many_settings, struct h2_client *c)
{
    static const char settings[33 * 6];
    h2_frame(&c->bytes, H2_SETTINGS, 0, 0, slice_of(settings, 32 * 6));
    h2_client_send(c);
    assert_false(c->is_over);
    h2_frame(&c->bytes, H2_SETTINGS, 0, 0, slice_of(settings, 33 * 6));
    h2_client_send(c);
    struct h2_frame_view frame;
    assert_true(h2_client_next(c, H2_SETTINGS, &frame));
    h2_client_expect_goaway(c, 0, ENHANCE_YOUR_CALM);
}

/* Windows of streams that SETTINGS make too large. */
UNIT_TEST_ON(test_window_overflow_by_settings, struct h2_client *c)
{
    c->is_late = true;
    h2_client_get(c, 1);
    h2_frame(&c->bytes, H2_WINDOW_UPDATE, 0, 1, slice_of("\0\0\0\1", 4));
    h2_frame(&c->bytes, H2_SETTINGS, 0, 0, slice_of("\0\4\x7f\xff\xff\xff", 6));
    h2_client_send(c);
    h2_client_expect_goaway(c, 1, FLOW_CONTROL_ERROR);
}
