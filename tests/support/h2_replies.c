#include "tests/support/h2_replies.h"

#include <nghttp2/nghttp2.h>

#include "tests/support/h2_bytes.h"
#include "tests/support/unit_test.h"

enum { BYTES_MAX = 1 << 20 };

void h2_replies_init(struct h2_replies *replies)
{
    nghttp2_hd_inflater *inflater = NULL;
    memset(replies, 0, sizeof(*replies));
    assert_int_equal(nghttp2_hd_inflate_new(&inflater), 0);
    replies->inflater = inflater;
}

void h2_replies_fini(struct h2_replies *replies)
{
    for (size_t i = 0; i < replies->count; i++) {
        buf_fini(&replies->replies[i].head);
        buf_fini(&replies->replies[i].body);
        buf_fini(&replies->replies[i].trailers);
    }
    nghttp2_hd_inflate_del(replies->inflater);
}

static struct h2_reply *reply_of(struct h2_replies *replies, uint32_t stream)
{
    for (size_t i = 0; i < replies->count; i++) {
        if (replies->replies[i].stream == stream) {
            return &replies->replies[i];
        }
    }
    assert_in_range(replies->count, 0, H2_REPLIES_MAX - 1);
    struct h2_reply *reply = &replies->replies[replies->count++];
    reply->stream = stream;
    buf_init(&reply->head, BYTES_MAX);
    buf_init(&reply->body, BYTES_MAX);
    buf_init(&reply->trailers, BYTES_MAX);
    return reply;
}

static void h2_replies_take_block(struct h2_replies *replies, struct slice block, struct buf *lines)
{
    const uint8_t *in = (const uint8_t *)block.ptr;
    size_t left = block.len;
    int flags = 0;
    while (!(flags & NGHTTP2_HD_INFLATE_FINAL)) {
        nghttp2_nv nv;
        ssize_t n = nghttp2_hd_inflate_hd2(replies->inflater, &nv, &flags, in, left, 1);
        assert_true(n >= 0);
        in += n;
        left -= (size_t)n;
        if (flags & NGHTTP2_HD_INFLATE_EMIT) {
            buf_append(lines, nv.name, nv.namelen);
            buf_append_str(lines, ": ");
            buf_append(lines, nv.value, nv.valuelen);
            buf_append_char(lines, '\n');
        }
    }
    assert_int_equal(nghttp2_hd_inflate_end_headers(replies->inflater), 0);
}

static void h2_replies_take_frame(struct h2_replies *replies, const struct h2_frame_view *frame)
{
    struct reader r = reader_of(frame->payload.ptr, frame->payload.len);
    if (frame->type == H2_GOAWAY) {
        (void)reader_u32(&r); /* the last stream */
        replies->is_over = true;
        replies->error = reader_u32(&r);
    }
    if (frame->stream == 0 || frame->type == H2_WINDOW_UPDATE) {
        return;
    }
    struct h2_reply *reply = reply_of(replies, frame->stream);
    assert_false(reply->is_reset || (reply->is_ended && frame->type != H2_RST_STREAM));
    if (frame->type == H2_HEADERS) {
        assert_true(frame->flags & H2_END_HEADERS);
        h2_replies_take_block(replies, frame->payload,
                              reply->head.len ? &reply->trailers : &reply->head);
    } else if (frame->type == H2_DATA) {
        assert_true(reply->head.len > 0 && reply->trailers.len == 0);
        buf_append_slice(&reply->body, frame->payload);
    } else {
        assert_int_equal(frame->type, H2_RST_STREAM);
        reply->is_reset = true;
        reply->error = reader_u32(&r);
    }
    reply->is_ended =
        reply->is_ended || (frame->type != H2_RST_STREAM && (frame->flags & H2_END_STREAM));
}

void h2_replies_take(struct h2_replies *replies, struct buf *bytes)
{
    struct reader r = reader_of(bytes->data, bytes->len);
    struct h2_frame_view frame;
    while (h2_next_frame(&r, &frame)) {
        h2_replies_take_frame(replies, &frame);
    }
    buf_consume(bytes, r.pos);
}

const struct h2_reply *h2_replies_find(const struct h2_replies *replies, uint32_t stream)
{
    for (size_t i = 0; i < replies->count; i++) {
        if (replies->replies[i].stream == stream) {
            return &replies->replies[i];
        }
    }
    return NULL;
}

bool h2_replies_has(const struct buf *lines, const char *line)
{
    const char *at = (const char *)lines->data;
    size_t left = lines->len, len = strlen(line);
    while (left > 0) {
        size_t n = (size_t)((const char *)memchr(at, '\n', left) - at);
        if (n == len && memcmp(at, line, len) == 0) {
            return true;
        }
        at += n + 1;
        left -= n + 1;
    }
    return false;
}
