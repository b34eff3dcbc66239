#include "tests/support/h2_client.h"

#include "tests/support/unit_test.h"

enum { BYTES_MAX = 32 << 20 };

/* ---- Callbacks ---- */

static void h2_client_keep(struct h2_client *c, struct slice *slice)
{
    size_t at = c->texts.len;
    buf_append_slice(&c->texts, *slice);
    slice->ptr = (const char *)at; /* until the buffer stays where it is */
}

static void h2_client_settle(const struct h2_client *c, struct slice *slice)
{
    slice->ptr = (const char *)c->texts.data + (size_t)slice->ptr;
}

static void h2_client_requested(void *data, const struct http2_request *request)
{
    struct h2_client *c = data;
    buf_clear(&c->texts);
    c->last = *request;
    buf_append_char(&c->texts, 0); /* so that there is a buffer */
    struct slice *slices[] = {&c->last.method, &c->last.path, &c->last.content_type, &c->last.body};
    for (size_t i = 0; i < ARRAY_LEN(slices); i++) {
        h2_client_keep(c, slices[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(slices); i++) {
        h2_client_settle(c, slices[i]);
    }
    c->request_count++;
    if (!c->is_late) {
        h2_client_answer(c, request->stream, slice_of(NULL, 0));
    }
}

static void h2_client_cancelled(void *data, int32_t stream)
{
    struct h2_client *c = data;
    c->cancel_count++;
    c->last_cancelled = stream;
}

static bool h2_client_may_go_on(void *data)
{
    const struct h2_client *c = data;
    return !c->must_stop;
}

static void h2_client_put(void *data, const void *bytes, size_t len)
{
    struct h2_client *c = data;
    assert_true(len > 0);
    buf_append(&c->got, bytes, len);
    assert_false(c->got.failed);
}

/* ---- Client ---- */

void h2_client_open(struct h2_client *c)
{
    memset(c, 0, sizeof(*c));
    const struct http2_server_callbacks callbacks = {.requested = h2_client_requested,
                                                     .cancelled = h2_client_cancelled,
                                                     .may_go_on = h2_client_may_go_on,
                                                     .put = h2_client_put,
                                                     .data = c};
    buf_init(&c->bytes, BYTES_MAX);
    buf_init(&c->got, BYTES_MAX);
    buf_init(&c->texts, BYTES_MAX);
    c->server = http2_server_new(&callbacks);
}

void h2_client_start(struct h2_client *c)
{
    h2_client_open(c);
    buf_append_str(&c->bytes, H2_PREFACE);
    h2_frame(&c->bytes, H2_SETTINGS, 0, 0, slice_of(NULL, 0));
    assert_int_equal(h2_client_send(c), 0);
    struct h2_frame_view frame;
    assert_true(h2_client_next(c, H2_SETTINGS, &frame));
    assert_int_equal(frame.flags, 0);
    assert_true(h2_client_next(c, H2_WINDOW_UPDATE, &frame));
    assert_true(h2_client_next(c, H2_SETTINGS, &frame));
    assert_int_equal(frame.flags, H2_ACK);
    h2_frame(&c->bytes, H2_SETTINGS, H2_ACK, 0, slice_of(NULL, 0));
}

void h2_client_end(struct h2_client *c)
{
    http2_server_free(c->server);
    buf_fini(&c->bytes);
    buf_fini(&c->got);
    buf_fini(&c->texts);
}

void h2_client_flush(struct h2_client *c)
{
    size_t room = c->room ? c->room : SIZE_MAX;
    for (bool has_more = true; has_more;) {
        size_t before = c->got.len;
        has_more = http2_server_flush(c->server, room);
        assert_true(c->got.len - before <= room);
        assert_true(!has_more || c->got.len - before == room);
    }
}

size_t h2_client_send(struct h2_client *c)
{
    assert_false(c->bytes.failed);
    while (c->bytes.len && !c->is_over) {
        size_t n = c->piece && c->piece < c->bytes.len ? c->piece : c->bytes.len;
        ssize_t taken = http2_server_take(c->server, c->bytes.data, n);
        c->is_over = taken < 0;
        assert_true(c->is_over || (size_t)taken == n || c->must_stop);
        h2_client_flush(c);
        buf_consume(&c->bytes, c->is_over ? c->bytes.len : (size_t)taken);
        if (!c->is_over && (size_t)taken < n) {
            break;
        }
    }
    return c->bytes.len;
}

void h2_client_get(struct h2_client *c, int32_t stream)
{
    h2_headers(&c->bytes, H2_END_STREAM, (uint32_t)stream, H2_CLIENT_GET);
    (void)h2_client_send(c); /* what is not taken stays in bytes */
}

void h2_client_answer(struct h2_client *c, int32_t stream, struct slice body)
{
    char text[32];
    const struct http2_field fields[] = {{"content-type", "application/dns-message"},
                                         {"x-other", "1"}};
    struct http2_reply reply = {.status = 200, .fields = fields, .field_count = ARRAY_LEN(fields)};
    (void)snprintf(text, sizeof(text), "reply %d", (int)stream); /* fits */
    reply.body = body.ptr ? body : slice_str(text);
    http2_server_reply(c->server, stream, &reply);
}

/* ---- What came ---- */

bool h2_client_next(struct h2_client *c, enum h2_type type, struct h2_frame_view *ret)
{
    struct reader r = reader_of(c->got.data + c->got_at, c->got.len - c->got_at);
    while (h2_next_frame(&r, ret)) {
        if (ret->type == type) {
            c->got_at += r.pos;
            return true;
        }
    }
    return false;
}

void h2_client_expect_reply(struct h2_client *c, int32_t stream, const char *body)
{
    struct h2_frame_view frame;
    assert_true(h2_client_next(c, H2_HEADERS, &frame));
    assert_int_equal(frame.stream, stream);
    assert_int_equal(frame.flags, H2_END_HEADERS);
    assert_true(h2_client_next(c, H2_DATA, &frame));
    assert_int_equal(frame.stream, stream);
    assert_int_equal(frame.flags, H2_END_STREAM);
    h2_client_expect_text(frame.payload, body);
}

void h2_client_expect_reset(struct h2_client *c, int32_t stream, uint32_t error)
{
    struct h2_frame_view frame;
    assert_true(h2_client_next(c, H2_RST_STREAM, &frame));
    struct reader r = reader_of(frame.payload.ptr, frame.payload.len);
    assert_int_equal(frame.stream, stream);
    assert_int_equal(reader_u32(&r), error);
}

static void expect_service(void)
{
    CLEANUP(h2_client_end) struct h2_client other;
    h2_client_start(&other);
    h2_client_get(&other, 1);
    h2_client_expect_reply(&other, 1, "reply 1");
}

void h2_client_expect_goaway(struct h2_client *c, int32_t last_stream, uint32_t error)
{
    struct h2_frame_view frame;
    assert_true(c->is_over);
    assert_true(h2_client_next(c, H2_GOAWAY, &frame));
    struct reader r = reader_of(frame.payload.ptr, frame.payload.len);
    assert_int_equal(reader_u32(&r), last_stream);
    assert_int_equal(reader_u32(&r), error);
    assert_int_equal(c->got_at, c->got.len);
    assert_int_equal(http2_server_take(c->server, (const uint8_t *)"x", 1), -1);
    expect_service();
}

void h2_client_expect_text(struct slice got, const char *want)
{
    assert_int_equal(got.len, strlen(want));
    assert_memory_equal(got.ptr, want, got.len);
}
