/* Any bytes as the body of a call of DNS over gRPC: refused, or a query within them, whose answer
 * in a reply's body is read back as it was; a connection asks exactly what is a query. The first
 * byte of the input says where the body is split into frames. */
#include "skydns/dnsgrpc/dnsgrpc.h"
#include "skydns/dnsgrpc/dnsgrpc_call_internal.h"
#include "skydns/wire/question.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/skydns/stream_host_fake.h"

enum { INPUT_MAX = 8192, END_STREAM = 1, END_HEADERS = 4, DATA = 0, HEADERS = 1, SETTINGS = 4 };

static void dnsgrpc_check_round_trip(struct slice query)
{
    static uint8_t body[DNSGRPC_PREFIX_MAX + ENGINE_REPLY_MAX];
    struct slice again;
    size_t len = dnsgrpc_call_reply((const uint8_t *)query.ptr, query.len, body);
    const struct dnsgrpc_request request = {.path = slice_str("/coredns.dns.DnsService/Query"),
                                            .body = slice_of(body, len)};
    assert(dnsgrpc_call_query(&request, &again).status == DNSGRPC_OK);
    assert(slice_equal(again, query));
}

static void dnsgrpc_append_frame(struct buf *b, unsigned type, unsigned flags, struct slice payload)
{
    buf_append_u8(b, (uint8_t)(payload.len >> 16));
    buf_append_u16(b, (uint16_t)payload.len);
    buf_append_u8(b, (uint8_t)type);
    buf_append_u8(b, (uint8_t)flags);
    buf_append_u32(b, type == SETTINGS ? 0 : 1);
    buf_append_slice(b, payload);
}

static void dnsgrpc_append_field(struct buf *b, const char *name, const char *value)
{
    buf_append_u8(b, 0);
    buf_append_u8(b, (uint8_t)strlen(name));
    buf_append_str(b, name);
    buf_append_u8(b, (uint8_t)strlen(value));
    buf_append_str(b, value);
}

static void append_call(struct buf *b, struct slice body, size_t split)
{
    CLEANUP_BUF struct buf block = buf_of(SIZE_MAX);
    dnsgrpc_append_field(&block, ":method", "POST");
    dnsgrpc_append_field(&block, ":scheme", "http");
    dnsgrpc_append_field(&block, ":path", "/coredns.dns.DnsService/Query");
    dnsgrpc_append_field(&block, "content-type", "application/grpc");
    buf_append_str(b, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    dnsgrpc_append_frame(b, SETTINGS, 0, slice_of(NULL, 0));
    dnsgrpc_append_frame(b, HEADERS, END_HEADERS, buf_slice(&block));
    dnsgrpc_append_frame(b, DATA, 0, slice_of(body.ptr, split));
    dnsgrpc_append_frame(b, DATA, END_STREAM, slice_of(body.ptr + split, body.len - split));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > INPUT_MAX) {
        return 0;
    }
    struct slice body = slice_of(data + 1, size - 1), query = {NULL, 0};
    const struct dnsgrpc_request request = {.path = slice_str("/coredns.dns.DnsService/Query"),
                                            .body = body};
    struct dnsgrpc_result result = dnsgrpc_call_query(&request, &query);
    if (result.status == DNSGRPC_OK) {
        assert(query.ptr > body.ptr && query.ptr + query.len <= body.ptr + body.len);
        assert(question_is_there((const uint8_t *)query.ptr, query.len));
        dnsgrpc_check_round_trip(query);
    }
    struct stream_host host;
    fake_host_open(&host, &dnsgrpc_protocol);
    CLEANUP_BUF struct buf bytes = buf_of(SIZE_MAX);
    append_call(&bytes, body, data[0] < body.len ? data[0] : body.len);
    fake_host_arrive(&host, bytes.data, bytes.len);
    assert(host.verdict == STREAM_WAITS && host.in.len == 0);
    assert(host.queries == (result.status == DNSGRPC_OK));
    assert(host.queries == 0 || slice_equal(buf_slice(&host.query), query));
    assert(host.out.len > 0);
    fake_host_close(&host);
    return 0;
}
