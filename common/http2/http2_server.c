#include "common/http2/http2_server.h"

#include <stdlib.h>

#include "common/base/cursor.h"
#include "common/base/xalloc.h"
#include "common/http2/http2_state_internal.h"

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
enum { PREFACE_LEN = sizeof(preface) - 1 };

enum {
    SETTING_HEADER_TABLE_SIZE = 1,
    SETTING_ENABLE_PUSH = 2,
    SETTING_MAX_CONCURRENT_STREAMS = 3,
    SETTING_INITIAL_WINDOW_SIZE = 4,
    SETTING_MAX_FRAME_SIZE = 5,
    SETTING_MAX_HEADER_LIST_SIZE = 6,
    SETTING_LEN = 6, /* bytes of an entry */
};

/* ---- What goes out ---- */

void http2_put_frame(struct buf *out, enum frame_type type, unsigned flags, int32_t stream,
                     size_t len)
{
    uint32_t id = (uint32_t)stream;
    const uint8_t header[FRAME_HEADER] = {
        (uint8_t)(len >> 16), (uint8_t)(len >> 8), (uint8_t)len,
        (uint8_t)type,        (uint8_t)flags,      (uint8_t)(id >> 24),
        (uint8_t)(id >> 16),  (uint8_t)(id >> 8),  (uint8_t)id};
    buf_append(out, header, sizeof(header));
}

static void put_goaway(struct http2_server *s, enum http2_error error)
{
    http2_put_frame(&s->out, FRAME_GOAWAY, 0, 0, 8);
    buf_append_u32(&s->out, (uint32_t)(s->is_draining ? s->drained_id : s->last_id));
    buf_append_u32(&s->out, (uint32_t)error);
}

void http2_fail(struct http2_server *s, enum http2_error error)
{
    if (!s->is_over) {
        s->is_over = true;
        put_goaway(s, error);
    }
}

void http2_count_control(struct http2_server *s)
{
    if (++s->control > HTTP2_CONTROL_MAX) {
        http2_fail(s, HTTP2_ENHANCE_YOUR_CALM);
    }
}

bool http2_has_room(struct http2_server *s)
{
    if (s->out.len - s->out_at > OUT_MAX) {
        http2_fail(s, HTTP2_ENHANCE_YOUR_CALM);
    }
    return !s->is_over;
}

static void put_greeting(struct http2_server *s)
{
    static const uint32_t settings[][2] = {
        {SETTING_MAX_CONCURRENT_STREAMS, HTTP2_STREAMS_MAX},
        {SETTING_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
        {SETTING_MAX_HEADER_LIST_SIZE, HTTP2_HEADERS_MAX},
    };
    http2_put_frame(&s->out, FRAME_SETTINGS, 0, 0, ARRAY_LEN(settings) * SETTING_LEN);
    for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
        buf_append_u16(&s->out, (uint16_t)settings[i][0]);
        buf_append_u32(&s->out, settings[i][1]);
    }
    http2_put_frame(&s->out, FRAME_WINDOW_UPDATE, 0, 0, 4);
    buf_append_u32(&s->out, HTTP2_BODIES_MAX - WINDOW_START);
}

/* ---- Control frames ---- */

/* Applies one entry; returns false after a failure. Entries that concern nothing of ours are
 * skipped. */
static bool take_setting(struct http2_server *s, unsigned id, uint32_t value, int64_t *ret_window)
{
    if (id == SETTING_INITIAL_WINDOW_SIZE && value > WINDOW_MAX) {
        http2_fail(s, HTTP2_FLOW_CONTROL_ERROR);
    } else if (id == SETTING_INITIAL_WINDOW_SIZE) {
        *ret_window = value;
    } else if (id == SETTING_ENABLE_PUSH && value > 1) {
        http2_fail(s, HTTP2_PROTOCOL_ERROR);
    } else if (id == SETTING_MAX_FRAME_SIZE && (value < FRAME_MAX || value > 0xffffff)) {
        http2_fail(s, HTTP2_PROTOCOL_ERROR);
    } else if (id == SETTING_HEADER_TABLE_SIZE) {
        s->must_empty_table = true;
    }
    return !s->is_over;
}

/* Gives open streams the difference (RFC 9113 6.9.2). */
static void set_stream_window(struct http2_server *s, int64_t window)
{
    for (size_t i = 0; i < s->stream_count && window != s->stream_window; i++) {
        s->streams[i]->window += window - s->stream_window;
        if (s->streams[i]->window > WINDOW_MAX) {
            http2_fail(s, HTTP2_FLOW_CONTROL_ERROR);
        }
    }
    s->stream_window = window;
}

static void take_settings(struct http2_server *s, const struct http2_frame *frame)
{
    size_t len = frame->payload.len;
    bool is_ack = frame->flags & FLAG_ACK;
    if (frame->stream != 0) {
        http2_fail(s, HTTP2_PROTOCOL_ERROR);
    } else if (len % SETTING_LEN != 0 || (is_ack && len > 0)) {
        http2_fail(s, HTTP2_FRAME_SIZE_ERROR);
    } else if (len > SETTINGS_ENTRIES_MAX * SETTING_LEN) {
        http2_fail(s, HTTP2_ENHANCE_YOUR_CALM);
    }
    if (s->is_over || is_ack) {
        return;
    }
    int64_t window = s->stream_window;
    struct reader r = reader_of(frame->payload.ptr, len);
    while (reader_left(&r) > 0) {
        unsigned id = reader_u16(&r);
        if (!take_setting(s, id, reader_u32(&r), &window)) {
            return;
        }
    }
    set_stream_window(s, window);
    if (http2_has_room(s)) {
        http2_put_frame(&s->out, FRAME_SETTINGS, FLAG_ACK, 0, 0);
    }
}

static void take_ping(struct http2_server *s, const struct http2_frame *frame)
{
    enum { PING_LEN = 8 };
    if (frame->stream != 0) {
        http2_fail(s, HTTP2_PROTOCOL_ERROR);
    } else if (frame->payload.len != PING_LEN) {
        http2_fail(s, HTTP2_FRAME_SIZE_ERROR);
    } else if (!(frame->flags & FLAG_ACK) && http2_has_room(s)) {
        http2_put_frame(&s->out, FRAME_PING, FLAG_ACK, 0, PING_LEN);
        buf_append_slice(&s->out, frame->payload);
    }
}

/* Returns whether the stream has not begun: then only HEADERS and PRIORITY may name it. */
static bool is_idle(const struct http2_server *s, int32_t id)
{
    return id > s->last_id || id % 2 == 0;
}

static void take_window_update(struct http2_server *s, const struct http2_frame *frame)
{
    struct reader r = reader_of(frame->payload.ptr, frame->payload.len);
    int64_t more = reader_u32(&r) & WINDOW_MAX;
    struct http2_stream *stream = frame->stream ? http2_stream_find(s, frame->stream) : NULL;
    if (frame->payload.len != 4) {
        http2_fail(s, HTTP2_FRAME_SIZE_ERROR);
    } else if (frame->stream == 0) {
        s->window += more;
        if (more == 0 || s->window > WINDOW_MAX) {
            http2_fail(s, more ? HTTP2_FLOW_CONTROL_ERROR : HTTP2_PROTOCOL_ERROR);
        }
    } else if (is_idle(s, frame->stream)) {
        http2_fail(s, HTTP2_PROTOCOL_ERROR);
    } else if (stream) {
        stream->window += more;
        if (more == 0 || stream->window > WINDOW_MAX) {
            http2_stream_reset(s, stream->id,
                               more ? HTTP2_FLOW_CONTROL_ERROR : HTTP2_PROTOCOL_ERROR);
        }
    }
}

static void take_reset(struct http2_server *s, const struct http2_frame *frame)
{
    if (frame->payload.len != 4) {
        http2_fail(s, HTTP2_FRAME_SIZE_ERROR);
    } else if (frame->stream == 0 || is_idle(s, frame->stream)) {
        http2_fail(s, HTTP2_PROTOCOL_ERROR);
    } else {
        struct http2_stream *stream = http2_stream_find(s, frame->stream);
        if (stream) {
            http2_stream_close(s, stream);
            http2_count_reset(s);
        }
    }
}

/* Ignores priorities: responses go out in the order in which they are ready. */
static void take_priority(struct http2_server *s, const struct http2_frame *frame)
{
    if (frame->stream == 0) {
        http2_fail(s, HTTP2_PROTOCOL_ERROR);
    } else if (frame->payload.len != 5) {
        http2_fail(s, HTTP2_FRAME_SIZE_ERROR);
    }
}

/* ---- Frames ---- */

static void http2_server_take_control(struct http2_server *s, const struct http2_frame *frame)
{
    http2_count_control(s);
    if (s->is_over) {
        return;
    }
    switch (frame->type) {
    case FRAME_SETTINGS:
        take_settings(s, frame);
        break;
    case FRAME_PING:
        take_ping(s, frame);
        break;
    case FRAME_WINDOW_UPDATE:
        take_window_update(s, frame);
        break;
    case FRAME_RST_STREAM:
        take_reset(s, frame);
        break;
    case FRAME_PRIORITY:
        take_priority(s, frame);
        break;
    case FRAME_PUSH_PROMISE:
        http2_fail(s, HTTP2_PROTOCOL_ERROR);
        break;
    default: /* GOAWAY: we begin no streams. Unknown types: RFC 9113 4.1. */
        break;
    }
}

static void http2_server_take_frame(struct http2_server *s, const struct http2_frame *frame)
{
    if (s->block_stream ? frame->type != FRAME_CONTINUATION || frame->stream != s->block_stream
                        : frame->type == FRAME_CONTINUATION) {
        http2_fail(s, HTTP2_PROTOCOL_ERROR);
        return;
    }
    switch (frame->type) {
    case FRAME_HEADERS:
        http2_take_headers(s, frame);
        break;
    case FRAME_CONTINUATION:
        http2_take_continuation(s, frame);
        break;
    case FRAME_DATA:
        http2_take_data(s, frame);
        break;
    default:
        http2_server_take_control(s, frame);
        break;
    }
}

/* Returns whether a frame may complete a request. */
static bool is_of_request(uint8_t type)
{
    return type == FRAME_HEADERS || type == FRAME_DATA || type == FRAME_CONTINUATION;
}

/* ---- Bytes in ---- */

/* Checks what a frame's header tells, before the rest is awaited. */
static bool check_header(struct http2_server *s, const uint8_t *header, size_t len)
{
    if (!s->has_settings && (header[3] != FRAME_SETTINGS || (header[4] & FLAG_ACK))) {
        http2_fail(s, HTTP2_PROTOCOL_ERROR);
    } else if (len > FRAME_MAX) {
        http2_fail(s, HTTP2_FRAME_SIZE_ERROR);
    }
    return !s->is_over;
}

static size_t take_preface(struct http2_server *s, const uint8_t *bytes, size_t len)
{
    size_t held = s->in.len;
    size_t n = len < PREFACE_LEN - held ? len : PREFACE_LEN - held;
    if (memcmp(bytes, preface + held, n) != 0) {
        http2_fail(s, HTTP2_PROTOCOL_ERROR);
        return 0;
    }
    buf_append(&s->in, bytes, n);
    if (s->in.len == PREFACE_LEN) {
        s->has_preface = true;
        buf_fini(&s->in);
    }
    return n;
}

/* Returns the first FRAME_HEADER bytes of a frame, which have arrived. */
static const uint8_t *frame_header(const struct http2_server *s, const uint8_t *bytes,
                                   uint8_t joined[FRAME_HEADER])
{
    size_t held = s->in.len;
    if (held == 0) {
        return bytes;
    }
    if (held >= FRAME_HEADER) {
        return s->in.data;
    }
    memcpy(joined, s->in.data, held);
    memcpy(joined + held, bytes, FRAME_HEADER - held);
    return joined;
}

/* Stores all bytes of an unfinished frame: at most FRAME_HEADER + FRAME_MAX. */
static ssize_t http2_server_keep(struct http2_server *s, const uint8_t *bytes, size_t len)
{
    buf_append(&s->in, bytes, len);
    return (ssize_t)len;
}

/* Takes the next frame, or the beginning of it that is there. Returns 0 if may_go_on has said no,
 * -1 at the end of the connection. */
static ssize_t http2_server_take_some(struct http2_server *s, const uint8_t *bytes, size_t len)
{
    uint8_t joined[FRAME_HEADER];
    size_t held = s->in.len;
    if (held + len < FRAME_HEADER) {
        return http2_server_keep(s, bytes, len);
    }
    const uint8_t *header = frame_header(s, bytes, joined);
    size_t payload_len = (size_t)header[0] << 16 | (size_t)header[1] << 8 | header[2];
    if (!check_header(s, header, payload_len)) {
        return -1;
    }
    size_t n = FRAME_HEADER + payload_len - held;
    if (n > len) {
        return http2_server_keep(s, bytes, len);
    }
    if (is_of_request(header[3]) && !s->callbacks.may_go_on(s->callbacks.data)) {
        return 0;
    }
    struct http2_frame frame = {.type = header[3], .flags = header[4]};
    frame.stream = (int32_t)((uint32_t)(header[5] & 0x7f) << 24 | (uint32_t)header[6] << 16 |
                             (uint32_t)header[7] << 8 | header[8]);
    if (held) {
        buf_append(&s->in, bytes, n);
        bytes = s->in.data;
    }
    frame.payload = slice_of(bytes + FRAME_HEADER, payload_len);
    s->has_settings = true;
    http2_server_take_frame(s, &frame);
    if (held) {
        buf_fini(&s->in);
    }
    return s->is_over ? -1 : (ssize_t)n;
}

ssize_t http2_server_take(struct http2_server *s, const uint8_t *bytes, size_t len)
{
    size_t taken = 0;
    while (taken < len && !s->is_over) {
        if (!s->has_preface) {
            taken += take_preface(s, bytes + taken, len - taken);
            continue;
        }
        ssize_t n = http2_server_take_some(s, bytes + taken, len - taken);
        if (n <= 0) {
            break;
        }
        taken += (size_t)n;
    }
    return s->is_over ? -1 : (ssize_t)taken;
}

/* ---- Bytes out ---- */

bool http2_server_flush(struct http2_server *s, size_t room)
{
    do {
        size_t left = s->out.len - s->out_at;
        size_t n = left < room ? left : room;
        if (n) {
            s->callbacks.put(s->callbacks.data, s->out.data + s->out_at, n);
            s->out_at += n;
            room -= n;
        }
        if (n < left) {
            return true;
        }
        s->out_at = 0;
        buf_clear(&s->out);
    } while (http2_replies_move(s));
    if (s->out.cap > OUT_KEPT) {
        buf_fini(&s->out);
    }
    return false;
}

/* ---- Lifetime ---- */

struct http2_server *http2_server_new(const struct http2_server_callbacks *callbacks)
{
    struct http2_server *s = xcalloc(1, sizeof(*s));
    s->callbacks = *callbacks;
    s->fields = http2_fields_new();
    buf_init(&s->in, FRAME_HEADER + FRAME_MAX);
    buf_init(&s->out, 2 * OUT_MAX);
    buf_init(&s->block, HTTP2_HEADERS_MAX);
    TAILQ_INIT(&s->waiting);
    s->must_empty_table = true;
    s->resets_left = HTTP2_RESETS_MAX;
    s->recv_window = HTTP2_BODIES_MAX;
    s->window = WINDOW_START;
    s->stream_window = WINDOW_START;
    put_greeting(s);
    return s;
}

void http2_server_free(struct http2_server *s)
{
    if (!s) {
        return;
    }
    http2_streams_free(s);
    http2_fields_free(s->fields);
    buf_fini(&s->in);
    buf_fini(&s->out);
    buf_fini(&s->block);
    free(s->resets);
    free(s);
}

void http2_server_drain(struct http2_server *s)
{
    if (!s->is_draining && !s->is_over) {
        s->is_draining = true;
        s->drained_id = s->last_id;
        put_goaway(s, HTTP2_NO_ERROR);
    }
}

size_t http2_server_streams(const struct http2_server *s)
{
    return s->stream_count;
}

size_t http2_server_memory(const struct http2_server *s)
{
    size_t out = s->out.cap > OUT_KEPT ? s->out.cap : 0;
    return s->in.cap + out + s->block.cap + s->held + http2_fields_memory(s->fields) +
           s->stream_count * sizeof(struct http2_stream);
}
