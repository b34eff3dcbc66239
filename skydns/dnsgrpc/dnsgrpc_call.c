#include "skydns/dnsgrpc/dnsgrpc_call_internal.h"

#include <strings.h>

#include "common/base/cursor.h"
#include "common/base/proto_scan.h"
#include "common/dns/dns.h"
#include "skydns/wire/question.h"

enum {
    MSG_NUMBER = 1,
    MSG_TAG = MSG_NUMBER << 3 | 2, /* of bytes */
    FRAME_HEAD = 5,
    /* Room for the longest query, its tag and length, and unknown fields in what is left of 64
     * KB. */
    MESSAGE_MAX = 64 * 1024 + 32,
};

bool dnsgrpc_is_content_type(struct slice content_type)
{
    static const char want[] = "application/grpc", proto[] = "+proto";
    size_t len = sizeof(want) - 1, proto_len = sizeof(proto) - 1;
    if (content_type.len < len || strncasecmp(content_type.ptr, want, len) != 0) {
        return false;
    }
    struct slice rest = slice_of(content_type.ptr + len, content_type.len - len);
    if (rest.len >= proto_len && strncasecmp(rest.ptr, proto, proto_len) == 0) {
        rest = slice_of(rest.ptr + proto_len, rest.len - proto_len);
    }
    return rest.len == 0 || *rest.ptr == ';' || *rest.ptr == ' ';
}

static struct dnsgrpc_result dnsgrpc_call_result(enum dnsgrpc_status status, const char *message)
{
    return (struct dnsgrpc_result){status, message};
}

/* Takes the message in the one frame. */
static struct dnsgrpc_result dnsgrpc_call_take_frame(struct slice body, struct slice *ret_message)
{
    struct reader r = reader_of(body.ptr, body.len);
    uint8_t is_compressed = reader_u8(&r);
    uint32_t len = reader_u32(&r);
    if (r.failed) {
        return dnsgrpc_call_result(DNSGRPC_INVALID_ARGUMENT, "expected one message");
    }
    if (is_compressed) {
        return dnsgrpc_call_result(DNSGRPC_UNIMPLEMENTED, "messages may not be compressed");
    }
    if (len > MESSAGE_MAX) {
        return dnsgrpc_call_result(DNSGRPC_RESOURCE_EXHAUSTED,
                                   "a DNS query has at most 65535 bytes");
    }
    if (len != reader_left(&r)) {
        return dnsgrpc_call_result(DNSGRPC_INVALID_ARGUMENT, "expected one whole message");
    }
    *ret_message = slice_of(body.ptr + FRAME_HEAD, len);
    return dnsgrpc_call_result(DNSGRPC_OK, "");
}

struct dnsgrpc_result dnsgrpc_call_query(const struct dnsgrpc_request *request,
                                         struct slice *ret_query)
{
    struct slice message, query;
    if (request->is_cut_off) {
        return dnsgrpc_call_result(DNSGRPC_RESOURCE_EXHAUSTED, "the request is too long");
    }
    if (!slice_equal(request->path, slice_str("/coredns.dns.DnsService/Query"))) {
        return dnsgrpc_call_result(DNSGRPC_UNIMPLEMENTED, "expected /coredns.dns.DnsService/Query");
    }
    struct dnsgrpc_result r = dnsgrpc_call_take_frame(request->body, &message);
    if (r.status != DNSGRPC_OK) {
        return r;
    }
    if (!proto_scan_find(message, MSG_NUMBER, &query)) {
        return dnsgrpc_call_result(DNSGRPC_INVALID_ARGUMENT, "expected a DnsPacket");
    }
    if (query.len > DNS_MESSAGE_MAX) {
        return dnsgrpc_call_result(DNSGRPC_RESOURCE_EXHAUSTED,
                                   "a DNS query has at most 65535 bytes");
    }
    if (!question_is_there((const uint8_t *)query.ptr, query.len)) {
        return dnsgrpc_call_result(DNSGRPC_INVALID_ARGUMENT, "msg is not a DNS query");
    }
    *ret_query = query;
    return r;
}

/* Writes a varint: seven bits a byte, the lowest first. */
static size_t put_length(size_t len, uint8_t out[3])
{
    enum { MORE = 0x80, BITS = 7 };
    size_t n = 0;
    while (len >= MORE) {
        out[n++] = (uint8_t)(len | MORE);
        len >>= BITS;
    }
    out[n++] = (uint8_t)len;
    return n;
}

size_t dnsgrpc_call_reply(const uint8_t *reply, size_t len,
                          uint8_t out[DNSGRPC_PREFIX_MAX + ENGINE_REPLY_MAX])
{
    uint8_t length[3];
    size_t length_len = put_length(len, length);
    struct writer w = writer_of(out, DNSGRPC_PREFIX_MAX + ENGINE_REPLY_MAX);
    writer_u8(&w, 0); /* not compressed */
    writer_u32(&w, (uint32_t)(1 + length_len + len));
    writer_u8(&w, MSG_TAG);
    writer_bytes(&w, length, length_len);
    writer_bytes(&w, reply, len);
    return w.pos;
}
