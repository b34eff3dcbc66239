/* The same request over HTTP/1.1 and HTTP/2 has the same status and the same body. The input is
 * METHOD LF TARGET LF TYPE LF BODY, an empty type for none; what either version forbids anywhere is
 * passed over. Frames that are wrong themselves: fuzz_http2_server. */
#include <nghttp2/nghttp2.h>

#include "common/base/cursor.h"
#include "skydns/doh/doh.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/skydns/stream_host_fake.h"

enum { INPUT_MAX = 8192, FRAME_HEADER = 9, END_STREAM = 1, END_HEADERS = 4, DATA = 0, HEADERS = 1 };

struct reply {
    unsigned status;
    struct buf body;
};

/* ---- HTTP/1.1 ---- */

static void append_slices(struct buf *b, const struct slice *slices, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        buf_append_slice(b, slices[i]);
    }
}

static void ask_http1(const struct slice parts[4], struct reply *reply)
{
    struct stream_host host;
    const char *type = parts[2].len > 0 ? "\r\nContent-Type: " : "";
    const struct slice head[] = {parts[0],
                                 slice_str(" "),
                                 parts[1],
                                 slice_str(" HTTP/1.1\r\nHost: x"),
                                 slice_str(type),
                                 parts[2],
                                 slice_str("\r\nContent-Length: ")};
    fake_host_open(&host, &doh_protocol);
    CLEANUP_BUF struct buf b = buf_of(SIZE_MAX);
    append_slices(&b, head, sizeof(head) / sizeof(head[0]));
    buf_printf(&b, "%zu\r\n\r\n", parts[3].len);
    buf_append_slice(&b, parts[3]);
    fake_host_arrive(&host, b.data, b.len);
    assert(host.verdict == STREAM_WAITS && host.in.len == 0);
    const char *out = buf_cstr(&host.out), *end = strstr(out, "\r\n\r\n");
    assert(end && strncmp(out, "HTTP/1.1 ", 9) == 0);
    reply->status = (unsigned)strtoul(out + 9, NULL, 10);
    buf_append(&reply->body, end + 4, host.out.len - (size_t)(end + 4 - out));
    fake_host_close(&host);
}

/* ---- HTTP/2 ---- */

static void doh_http2_append_frame(struct buf *b, unsigned type, unsigned flags,
                                   struct slice payload)
{
    buf_append_u8(b, (uint8_t)(payload.len >> 16));
    buf_append_u16(b, (uint16_t)payload.len);
    buf_append_u8(b, (uint8_t)type);
    buf_append_u8(b, (uint8_t)flags);
    buf_append_u32(b, type == 4 ? 0 : 1);
    buf_append_slice(b, payload);
}

/* A literal that enters no table; lengths of up to two further bytes. */
static void doh_http2_append_field(struct buf *b, const char *name, struct slice value)
{
    buf_append_u8(b, 0);
    buf_append_u8(b, (uint8_t)strlen(name));
    buf_append_str(b, name);
    if (value.len < 127) {
        buf_append_u8(b, (uint8_t)value.len);
    } else {
        buf_append_u8(b, 127);
        buf_append_u8(b, (uint8_t)((value.len - 127) % 128 | 128));
        buf_append_u8(b, (uint8_t)((value.len - 127) / 128));
    }
    buf_append_slice(b, value);
}

static unsigned read_status(struct slice block)
{
    nghttp2_hd_inflater *inflater;
    nghttp2_nv nv;
    int flags = 0;
    unsigned status = 0;
    assert(nghttp2_hd_inflate_new(&inflater) == 0);
    while (!(flags & NGHTTP2_HD_INFLATE_FINAL)) {
        ssize_t n =
            nghttp2_hd_inflate_hd2(inflater, &nv, &flags, (const uint8_t *)block.ptr, block.len, 1);
        assert(n >= 0);
        block = slice_of(block.ptr + n, block.len - (size_t)n);
        if (flags & NGHTTP2_HD_INFLATE_EMIT && nv.namelen == 7 &&
            memcmp(nv.name, ":status", 7) == 0) {
            status = (unsigned)strtoul((const char *)nv.value, NULL, 10);
        }
    }
    nghttp2_hd_inflate_del(inflater);
    return status;
}

static void read_frames(const struct buf *out, struct reply *reply)
{
    struct reader r = reader_of(out->data, out->len);
    while (reader_left(&r) > 0) {
        size_t len = (size_t)reader_u8(&r) << 16;
        len |= reader_u16(&r);
        unsigned type = reader_u8(&r);
        (void)reader_u8(&r);  /* flags */
        (void)reader_u32(&r); /* stream */
        const uint8_t *payload = reader_take(&r, len);
        assert(!r.failed);
        if (type == HEADERS) {
            reply->status = read_status(slice_of(payload, len));
        } else if (type == DATA) {
            buf_append(&reply->body, payload, len);
        }
    }
}

static void ask_http2(const struct slice parts[4], struct reply *reply)
{
    struct stream_host host;
    fake_host_open(&host, &doh_protocol);
    CLEANUP_BUF struct buf b = buf_of(SIZE_MAX);
    CLEANUP_BUF struct buf block = buf_of(SIZE_MAX);
    doh_http2_append_field(&block, ":method", parts[0]);
    doh_http2_append_field(&block, ":scheme", slice_str("https"));
    doh_http2_append_field(&block, ":authority", slice_str("x"));
    doh_http2_append_field(&block, ":path", parts[1]);
    if (parts[2].len > 0) {
        doh_http2_append_field(&block, "content-type", parts[2]);
    }
    buf_append_str(&b, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    doh_http2_append_frame(&b, 4, 0, slice_of(NULL, 0));
    doh_http2_append_frame(&b, HEADERS, END_HEADERS, buf_slice(&block));
    doh_http2_append_frame(&b, DATA, END_STREAM, parts[3]);
    fake_host_arrive(&host, b.data, b.len);
    assert(host.verdict == STREAM_WAITS && host.in.len == 0);
    read_frames(&host.out, reply);
    fake_host_close(&host);
}

/* ---- Both ---- */

static struct slice cut_line(struct slice *rest)
{
    const char *end = rest->len ? memchr(rest->ptr, '\n', rest->len) : NULL;
    size_t len = end ? (size_t)(end - rest->ptr) : rest->len;
    struct slice line = slice_of(rest->ptr, len);
    len += end != NULL;
    *rest = slice_of(rest->ptr + len, rest->len - len);
    return line;
}

static bool is_graphic(struct slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] <= ' ' || s.ptr[i] > '~') {
            return false;
        }
    }
    return s.len > 0;
}

static bool is_letters(struct slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] < 'A' || s.ptr[i] > 'Z') {
            return false;
        }
    }
    return s.len > 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > INPUT_MAX) {
        return 0;
    }
    struct slice rest = slice_of(data, size), parts[4];
    for (size_t i = 0; i < 3; i++) {
        parts[i] = cut_line(&rest);
    }
    parts[3] = rest;
    if (!is_letters(parts[0]) || slice_equal(parts[0], slice_str("CONNECT")) ||
        !is_graphic(parts[1]) || parts[1].ptr[0] != '/' ||
        (parts[2].len > 0 && !is_graphic(parts[2]))) {
        return 0;
    }
    struct reply http1 = {0}, http2 = {0};
    buf_init(&http1.body, SIZE_MAX);
    buf_init(&http2.body, SIZE_MAX);
    ask_http1(parts, &http1);
    ask_http2(parts, &http2);
    assert(http1.status >= 200 && http1.status == http2.status);
    assert(slice_equal(buf_slice(&http1.body), buf_slice(&http2.body)));
    buf_fini(&http1.body);
    buf_fini(&http2.body);
    return 0;
}
