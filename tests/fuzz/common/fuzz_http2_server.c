/* A client's bytes, from the beginning or behind a preface: what is put are frames of HTTP/2,
 * GOAWAY the last of them after an error; requests are borrowed strings within limits, each
 * cancelled or answered once. In whatever pieces the bytes come, the same requests follow. The
 * first byte of the input: 1: a preface goes before; 2: replies come late; 4: replies are long; 8:
 * flushes are small; the upper four bits: the pieces. */
#include <assert.h>

#include "common/base/buf.h"
#include "common/base/cursor.h"
#include "common/http2/http2_server.h"
#include "tests/fuzz/fuzz_target.h"

enum { HAS_PREFACE = 1, IS_LATE = 2, IS_LONG = 4, IS_SLOW = 8 };
enum {
    INPUT_MAX = 1 << 17,
    LONG_BODY = 40000,
    SMALL_ROOM = 100,
    /* Allows as much as the limits of http2_server.h, with a buffer's doubling and the client's
     * table. */
    MEMORY_MAX = 4 * HTTP2_BODIES_MAX + 2 * HTTP2_STREAMS_MAX * LONG_BODY,
};
enum { TYPE_GOAWAY = 7, FRAME_HEADER = 9, FRAME_MAX = 16384 };

struct outcome {
    struct http2_server *server;
    unsigned mode;
    bool is_prompt;                 /* replies and flushes after each piece, not at the end */
    int32_t due[HTTP2_STREAMS_MAX]; /* requests without a reply */
    size_t due_count;
    size_t requests;
    uint32_t sum; /* over every byte of every request, so that all are read */
    struct buf out;
    size_t room;
    ssize_t rc;
};

static void add_up(struct outcome *o, struct slice bytes)
{
    for (size_t i = 0; i < bytes.len; i++) {
        o->sum = o->sum * 31 + (unsigned char)bytes.ptr[i];
    }
    o->sum = o->sum * 31 + (uint32_t)bytes.len;
}

static void http2_server_answer(struct outcome *o, int32_t stream)
{
    static const char body[LONG_BODY];
    static const struct http2_field fields[] = {{"content-type", "application/dns-message"}};
    static const struct http2_field trailers[] = {{"grpc-status", "0"}};
    const struct http2_reply reply = {.status = 200,
                                      .fields = fields,
                                      .field_count = 1,
                                      .body = slice_of(body, o->mode & IS_LONG ? LONG_BODY : 20),
                                      .trailers = trailers,
                                      .trailer_count = stream % 4 == 1};
    http2_server_reply(o->server, stream, &reply);
}

static void http2_server_requested(void *data, const struct http2_request *request)
{
    struct outcome *o = data;
    const struct slice texts[] = {request->method, request->path, request->content_type,
                                  request->body};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert(texts[i].len <= (i < 3 ? HTTP2_HEADERS_MAX : HTTP2_BODY_MAX));
        add_up(o, texts[i]);
    }
    o->requests++;
    if (o->mode & IS_LATE) {
        assert(o->due_count < HTTP2_STREAMS_MAX);
        o->due[o->due_count++] = request->stream;
    } else {
        http2_server_answer(o, request->stream);
    }
}

static void http2_server_cancelled(void *data, int32_t stream)
{
    struct outcome *o = data;
    size_t i = 0;
    while (i < o->due_count && o->due[i] != stream) {
        i++;
    }
    assert(i < o->due_count);
    o->due[i] = o->due[--o->due_count];
}

static bool http2_server_may_go_on(void *data)
{
    (void)data;
    return true;
}

static void http2_server_put(void *data, const void *bytes, size_t len)
{
    struct outcome *o = data;
    assert(len > 0 && len <= o->room);
    o->room -= len;
    buf_append(&o->out, bytes, len);
}

static void common_http2_server_flush(struct outcome *o)
{
    do {
        o->room = o->mode & IS_SLOW ? SMALL_ROOM : SIZE_MAX;
    } while (http2_server_flush(o->server, o->room));
}

/* Frames, whole, and none after GOAWAY. */
static void check_out(const struct outcome *o)
{
    struct reader r = reader_of(o->out.data, o->out.len);
    bool has_ended = false;
    while (reader_left(&r) > 0) {
        size_t len = (size_t)reader_u8(&r) << 16;
        len |= reader_u16(&r);
        uint8_t type = reader_u8(&r);
        (void)reader_take(&r, FRAME_HEADER - 4); /* any flags and stream */
        (void)reader_take(&r, len);              /* any payload */
        assert(!r.failed && len <= FRAME_MAX && !has_ended);
        has_ended = type == TYPE_GOAWAY;
    }
    assert(has_ended == (o->rc < 0));
}

static void http2_server_answer_one(struct outcome *o)
{
    int32_t stream = o->due[--o->due_count];
    http2_server_answer(o, stream);
    http2_server_answer(o, stream); /* passed over */
}

static void http2_server_feed(struct outcome *o, const uint8_t *bytes, size_t len, size_t piece)
{
    for (size_t at = 0; at < len && o->rc >= 0; at += piece) {
        size_t n = len - at < piece ? len - at : piece;
        o->rc = http2_server_take(o->server, bytes + at, n);
        assert(o->rc < 0 || (size_t)o->rc == n);
        if (o->is_prompt && o->due_count > 0) {
            http2_server_answer_one(o);
        }
        if (o->is_prompt) {
            common_http2_server_flush(o);
        }
        assert(http2_server_memory(o->server) <= MEMORY_MAX);
        assert(http2_server_streams(o->server) <= HTTP2_STREAMS_MAX);
    }
}

static void http2_server_run(struct outcome *o, const uint8_t *bytes, size_t len, size_t piece)
{
    static const uint8_t beginning[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0";
    const struct http2_server_callbacks callbacks = {.requested = http2_server_requested,
                                                     .cancelled = http2_server_cancelled,
                                                     .may_go_on = http2_server_may_go_on,
                                                     .put = http2_server_put,
                                                     .data = o};
    o->server = http2_server_new(&callbacks);
    buf_init(&o->out, SIZE_MAX / 2);
    if (o->mode & HAS_PREFACE) {
        http2_server_feed(o, beginning, sizeof(beginning),
                          piece); /* with the NUL: the stream's last byte */
    }
    http2_server_feed(o, bytes, len, piece);
    for (common_http2_server_flush(o); o->due_count > 0; common_http2_server_flush(o)) {
        http2_server_answer_one(o);
    }
    check_out(o);
    if (len % 2 && o->rc >= 0) {
        http2_server_drain(o->server);
        common_http2_server_flush(o);
    }
    http2_server_free(o->server);
    buf_fini(&o->out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > INPUT_MAX) {
        return 0;
    }
    struct outcome whole = {.mode = data[0] & 0xf}, pieces = whole, prompt = whole;
    size_t piece = (size_t)(data[0] >> 4) * (data[0] >> 4) + 1;
    http2_server_run(&whole, data + 1, size - 1, INPUT_MAX);
    http2_server_run(&pieces, data + 1, size - 1, piece);
    assert(whole.rc < 0 ? pieces.rc < 0 : pieces.rc >= 0);
    assert(whole.requests == pieces.requests && whole.sum == pieces.sum);
    prompt.is_prompt = true; /* when streams end depends on when a flush sees new windows */
    http2_server_run(&prompt, data + 1, size - 1, piece);
    return 0;
}
