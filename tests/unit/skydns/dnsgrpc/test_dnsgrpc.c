/* CoreDNS's DNS over gRPC: the bytes of calls, each status, late replies, limits. What HTTP/2
 * itself forbids: tests/unit/common/http2. */
#include "skydns/dnsgrpc/dnsgrpc.h"

#include "common/base/proto_scan.h"
#include "common/http2/http2_server.h"
#include "skydns/dnsgrpc/dnsgrpc_call_internal.h"
#include "tests/support/skydns/h2_host.h"
#include "tests/support/unit_test.h"

/* `a.` A, as it is asked, in a message, in a frame. */
#define QUERY   "\0\0\1\0\0\1\0\0\0\0\0\0\1a\0\0\1\0\1"
#define MESSAGE "\x0a\x13" QUERY
#define FRAME   "\0\0\0\0\x15" MESSAGE
#define PATH    "/coredns.dns.DnsService/Query"
#define SLICE(literal)               \
    {                                \
        literal, sizeof(literal) - 1 \
    }
enum { QUERY_LEN = sizeof(QUERY) - 1 };

/* ---- The bytes of a call ---- */

UNIT_TEST(test_content_types)
{
    static const char *const good[] = {"application/grpc", "Application/GRPC+Proto",
                                       "application/grpc;charset=x", "application/grpc+proto ; x"};
    static const char *const bad[] = {"",
                                      "application/grp",
                                      "application/grpc-web",
                                      "application/grpc+json",
                                      "application/grpc+protox",
                                      "application/dns-message"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_true(dnsgrpc_is_content_type(slice_str(good[i])));
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_false(dnsgrpc_is_content_type(slice_str(bad[i])));
    }
}

UNIT_TEST(test_bodies)
{
    static const struct {
        struct slice body;
        enum dnsgrpc_status status;
    } cases[] = {
        {SLICE(FRAME), DNSGRPC_OK},
        {SLICE("\0\0\0\0\x17\x10\x07" MESSAGE), DNSGRPC_OK},  /* an unknown field */
        {SLICE("\0\0\0\0\x18\x0a\x01x" MESSAGE), DNSGRPC_OK}, /* the last one counts */
        {SLICE(""), DNSGRPC_INVALID_ARGUMENT},                /* no message */
        {SLICE("\0\0\0\0"), DNSGRPC_INVALID_ARGUMENT},        /* not whole */
        {SLICE("\0\0\0\0\x16" MESSAGE), DNSGRPC_INVALID_ARGUMENT},
        {SLICE(FRAME FRAME), DNSGRPC_INVALID_ARGUMENT},  /* two */
        {SLICE("\0\0\0\0\0"), DNSGRPC_INVALID_ARGUMENT}, /* no query in it */
        {SLICE("\0\0\0\0\2\x0a\0"), DNSGRPC_INVALID_ARGUMENT},
        {SLICE("\0\0\0\0\2\x08\1"), DNSGRPC_INVALID_ARGUMENT},   /* a number */
        {SLICE("\0\0\0\0\2\x0a\x13"), DNSGRPC_INVALID_ARGUMENT}, /* cut off */
        {SLICE("\0\0\0\0\3\x0a\1x"), DNSGRPC_INVALID_ARGUMENT},
        {SLICE("\1\0\0\0\x15" MESSAGE), DNSGRPC_UNIMPLEMENTED}, /* compressed */
        {SLICE("\0\0\1\0\x21"), DNSGRPC_RESOURCE_EXHAUSTED},
        {SLICE("\0\xff\xff\xff\xff"), DNSGRPC_RESOURCE_EXHAUSTED},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct dnsgrpc_request request = {.path = slice_str(PATH), .body = cases[i].body};
        struct slice query = {NULL, 0};
        struct dnsgrpc_result got = dnsgrpc_call_query(&request, &query);
        assert_that(got.status == cases[i].status, "case %zu: %d %s", i, (int)got.status,
                    got.message);
        if (got.status == DNSGRPC_OK) {
            assert_true(slice_equal(query, slice_of(QUERY, QUERY_LEN)));
        }
    }
}

/* The longest query, and one byte more. */
UNIT_TEST(test_longest_query)
{
    CLEANUP_BUF struct buf body = buf_of(SIZE_MAX);
    for (size_t len = 65535; len <= 65536; len++) {
        struct slice query;
        buf_clear(&body);
        buf_append(&body, "\0", 1);
        buf_append_u32(&body, (uint32_t)(4 + len));
        buf_append(&body, len == 65535 ? "\x0a\xff\xff\x03" : "\x0a\x80\x80\x04", 4);
        buf_append(&body, QUERY, QUERY_LEN);
        memset(buf_reserve(&body, len - QUERY_LEN), 0, len - QUERY_LEN);
        body.len += len - QUERY_LEN;
        const struct dnsgrpc_request request = {.path = slice_str(PATH), .body = buf_slice(&body)};
        struct dnsgrpc_result got = dnsgrpc_call_query(&request, &query);
        assert_int_equal(got.status, len == 65535 ? DNSGRPC_OK : DNSGRPC_RESOURCE_EXHAUSTED);
        assert_in_range(body.len, 65535, HTTP2_BODY_MAX);
    }
}

UNIT_TEST(test_reply_bytes)
{
    static const size_t lens[] = {1, 127, 128, 16383, 16384, ENGINE_REPLY_MAX};
    CLEANUP_FREE uint8_t *reply = xcalloc(1, ENGINE_REPLY_MAX);
    CLEANUP_FREE uint8_t *out = xcalloc(1, DNSGRPC_PREFIX_MAX + ENGINE_REPLY_MAX);
    for (size_t i = 0; i < ARRAY_LEN(lens); i++) {
        struct slice msg;
        memset(reply, (int)i + 1, lens[i]);
        size_t len = dnsgrpc_call_reply(reply, lens[i], out);
        struct reader r = reader_of(out, len);
        assert_int_equal(reader_u8(&r), 0);
        assert_int_equal(reader_u32(&r), len - 5);
        assert_true(proto_scan_find(slice_of(out + 5, len - 5), 1, &msg));
        assert_true(slice_equal(msg, slice_of(reply, lens[i])));
    }
}

/* ---- On a connection ---- */

static int dnsgrpc_open_bed(void **state)
{
    return h2_host_open(state, &dnsgrpc_protocol);
}

#define AT(path) ":scheme: http\n:authority: x\n:path: " path "\n"
#define TYPE     "content-type: application/grpc\n"
#define CALL     ":method: POST\n" AT(PATH) TYPE "te: trailers\n"

static const struct slice frame = SLICE(FRAME);

static void dnsgrpc_assert_answered(const struct h2_reply *reply)
{
    static const char want[] = "\0\0\0\0\x15\x0a\x13\0\0\x81\0\0\1";
    assert_non_null(reply);
    assert_true(h2_replies_has(&reply->head, ":status: 200"));
    assert_true(h2_replies_has(&reply->head, "content-type: application/grpc"));
    assert_int_equal(reply->body.len, 5 + 2 + QUERY_LEN);
    assert_memory_equal(reply->body.data, want, sizeof(want) - 1);
    assert_true(h2_replies_has(&reply->trailers, "grpc-status: 0"));
    assert_true(reply->is_ended);
}

static void assert_status(const struct h2_reply *reply, const char *status)
{
    assert_non_null(reply);
    assert_true(h2_replies_has(&reply->head, ":status: 200"));
    assert_true(h2_replies_has(&reply->head, "content-type: application/grpc"));
    assert_that(h2_replies_has(&reply->head, status), "expected %s in %.*s", status,
                (int)reply->head.len, (const char *)reply->head.data);
    assert_non_null(memmem(reply->head.data, reply->head.len, "grpc-message: ", 14));
    assert_int_equal(reply->body.len, 0);
    assert_int_equal(reply->trailers.len, 0);
    assert_true(reply->is_ended);
}

UNIT_TEST_IN(test_calls, dnsgrpc_open_bed, h2_host_close)
{
    struct bed *bed = *state;
    dnsgrpc_assert_answered(h2_host_ask(bed, CALL, frame));
    assert_memory_equal(bed->host.query.data, QUERY, QUERY_LEN);
    dnsgrpc_assert_answered(h2_host_ask(bed, CALL, frame));
    assert_int_equal(bed->host.verdict, STREAM_WAITS);
}

UNIT_TEST_IN(test_statuses, dnsgrpc_open_bed, h2_host_close)
{
    struct bed *bed = *state;
    assert_status(h2_host_ask(bed, CALL, slice_of("", 0)), "grpc-status: 3");
    assert_status(
        h2_host_ask(bed, ":method: POST\n" AT("/coredns.dns.DnsService/Watch") TYPE, frame),
        "grpc-status: 12");
    assert_status(h2_host_ask(bed, ":method: POST\n" AT("/") TYPE, frame), "grpc-status: 12");
    assert_status(h2_host_ask(bed, CALL, (struct slice)SLICE("\1\0\0\0\0")), "grpc-status: 12");
    assert_status(h2_host_ask(bed, CALL, (struct slice)SLICE("\0\0\2\0\0")), "grpc-status: 8");
    bed->host.answers = FAKE_NONE;
    assert_status(h2_host_ask(bed, CALL, frame), "grpc-status: 14");
    bed->host.answers = FAKE_ECHO;
    dnsgrpc_assert_answered(h2_host_ask(bed, CALL, frame));
    assert_int_equal(bed->host.queries, 2);
}

UNIT_TEST_IN(test_no_grpc, dnsgrpc_open_bed, h2_host_close)
{
    struct bed *bed = *state;
    const struct h2_reply *reply = h2_host_ask(bed, ":method: POST\n" AT(PATH), frame);
    assert_true(h2_replies_has(&reply->head, ":status: 415"));
    assert_true(reply->is_ended);
    reply = h2_host_ask(bed, ":method: GET\n" AT(PATH) TYPE, slice_of("", 0));
    assert_true(h2_replies_has(&reply->head, ":status: 405"));
    assert_true(h2_replies_has(&reply->head, "allow: POST"));
    assert_int_equal(bed->host.queries, 0);
}

/* In several frames of DATA; cut off, whatever it says of its length. */
UNIT_TEST_IN(test_long_body, dnsgrpc_open_bed, h2_host_close)
{
    enum { PART = 16384 };
    struct bed *bed = *state;
    CLEANUP_FREE uint8_t *part = xcalloc(1, PART);
    uint32_t stream = h2_host_add(bed, CALL, frame);
    h2_host_arrive(bed);
    dnsgrpc_assert_answered(h2_replies_find(&bed->got, stream));
    bed->last_stream = stream += 2;
    h2_headers(&bed->bytes, 0, stream, CALL);
    for (size_t left = HTTP2_BODY_MAX + 1; left > 0;) {
        size_t len = left < PART ? left : PART;
        left -= len;
        h2_frame(&bed->bytes, H2_DATA, left ? 0 : H2_END_STREAM, stream, slice_of(part, len));
    }
    h2_host_arrive(bed);
    assert_status(h2_replies_find(&bed->got, stream), "grpc-status: 8");
}

UNIT_TEST_IN(test_long_head, dnsgrpc_open_bed, h2_host_close)
{
    struct bed *bed = *state;
    CLEANUP_BUF struct buf lines = buf_of(SIZE_MAX);
    buf_append_str(&lines, CALL);
    for (size_t i = 0; i < HTTP2_HEADERS_MAX / 34; i++) {
        buf_append_str(&lines, "x: y\n");
    }
    assert_status(h2_host_ask(bed, buf_cstr(&lines), frame), "grpc-status: 8");
}

UNIT_TEST_IN(test_late, dnsgrpc_open_bed, h2_host_close)
{
    struct bed *bed = *state;
    bed->host.answers = FAKE_LATE;
    uint32_t first = h2_host_add(bed, CALL, frame), second = h2_host_add(bed, CALL, frame);
    uint32_t third = h2_host_add(bed, CALL, frame);
    h2_host_arrive(bed);
    assert_int_equal(bed->got.count, 0);
    fake_host_reply(&bed->host, 2, NULL, 0);
    fake_host_reply(&bed->host, 0, "\0\0\x81\0\0\1 thirteen byt", QUERY_LEN);
    h2_replies_take(&bed->got, &bed->host.out);
    assert_int_equal(bed->got.count, 2);
    assert_status(h2_replies_find(&bed->got, third), "grpc-status: 14");
    dnsgrpc_assert_answered(h2_replies_find(&bed->got, first));
    h2_frame(&bed->bytes, H2_RST_STREAM, 0, second, slice_of("\0\0\0\10", 4));
    h2_host_arrive(bed);
    fake_host_reply(&bed->host, 1, "late", 4); /* its deadline is over */
    h2_replies_take(&bed->got, &bed->host.out);
    assert_int_equal(bed->got.count, 2);
}

UNIT_TEST_IN(test_pieces, dnsgrpc_open_bed, h2_host_close)
{
    struct bed *bed = *state;
    uint32_t stream = h2_host_add(bed, CALL, frame);
    bed->host.room = 0;
    for (size_t i = 0; i < bed->bytes.len; i++) {
        fake_host_arrive(&bed->host, bed->bytes.data + i, 1);
    }
    while (bed->host.has_more) {
        bed->host.room = 3;
        fake_host_flush(&bed->host);
    }
    h2_replies_take(&bed->got, &bed->host.out);
    dnsgrpc_assert_answered(h2_replies_find(&bed->got, stream));
}

UNIT_TEST_IN(test_refused_max, dnsgrpc_open_bed, h2_host_close)
{
    struct bed *bed = *state;
    for (unsigned i = 0; i <= DNSGRPC_REFUSED_MAX; i++) {
        assert_int_equal(bed->host.verdict, STREAM_WAITS);
        assert_false(bed->got.is_over);
        assert_status(h2_host_ask(bed, CALL, slice_of("", 0)), "grpc-status: 3");
    }
    assert_true(bed->got.is_over);
    assert_int_equal(bed->got.error, 0);
}

UNIT_TEST_IN(test_drain, dnsgrpc_open_bed, h2_host_close)
{
    struct bed *bed = *state;
    bed->host.answers = FAKE_LATE;
    uint32_t first = h2_host_add(bed, CALL, frame);
    h2_host_arrive(bed);
    bed->host.protocol->drain(bed->host.stream);
    (void)h2_host_ask(bed, CALL, frame);
    assert_true(bed->got.is_over);
    assert_int_equal(bed->host.late, 1);
    fake_host_reply(&bed->host, 0, "\0\0\x81\0\0\1 thirteen byt", QUERY_LEN);
    h2_replies_take(&bed->got, &bed->host.out);
    dnsgrpc_assert_answered(h2_replies_find(&bed->got, first));
    h2_frame(&bed->bytes, H2_PING, 0, 0, slice_str("12345678"));
    h2_host_arrive(bed);
    assert_int_equal(bed->host.verdict, STREAM_ENDS);
}

/* Before the first byte; and HTTP/1.1, which is no gRPC. */
UNIT_TEST(test_other_beginnings)
{
    CLEANUP(fake_host_close) struct stream_host host;
    fake_host_open(&host, &dnsgrpc_protocol);
    assert_int_equal(host.protocol->memory(host.stream), 0);
    host.protocol->drain(host.stream);
    fake_host_flush(&host);
    assert_int_equal(host.out.len, 0);
    fake_host_arrive(&host, "GET / HTTP/1.1\r\n\r\n", 18);
    assert_int_equal(host.verdict, STREAM_BROKEN);
}
