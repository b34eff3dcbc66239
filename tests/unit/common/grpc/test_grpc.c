/* common/grpc/grpc.h and grpc_frame_internal.h: the pure parts by tables, the connection against a
 * peer of hand-written HTTP/2 bytes (RFC 9113, RFC 7541) that behaves or breaks in every way we
 * could think of. */
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/grpc/grpc.h"
#include "common/grpc/grpc_frame_internal.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/h2_bytes.h"
#include "tests/support/loopback.h"
#include "tests/support/test_clock.h"
#include "tests/support/unit_test.h"

/* ---- The peer's bytes ---- */

static void grpc_headers(struct buf *out, unsigned flags, const char *lines)
{
    h2_headers(out, flags, 1, lines);
}

static void grpc_data(struct buf *out, unsigned flags, const char *bytes, size_t len)
{
    h2_frame(out, H2_DATA, flags, 1, slice_of(bytes, len));
}

#define OK_HEADERS     ":status: 200\ncontent-type: application/grpc"
#define BYTES(literal) (literal), sizeof(literal) - 1

/* ---- One connection to the peer ---- */

struct session {
    struct ev_loop *loop;
    struct addr address;
    int listener;
    int peer; /* the peer's end */
    struct grpc *grpc;
    struct grpc_stream *stream;
    bool is_open;
    bool is_closed;
    bool is_ended;
    int status;
    struct err close_err;
    struct err end_err; /* code 0 = success */
    unsigned messages;
    size_t message_bytes;
    bool free_in_message; /* grpc_free from inside grpc_on_message */
    bool cancel_in_message;
};

static struct session s;

static void grpc_on_open(void *user)
{
    s.is_open = true;
}

static void grpc_on_close(void *user, const struct err *err)
{
    assert_false(s.is_closed);
    s.is_closed = true;
    s.close_err = *err;
}

static void grpc_on_message(void *user, struct slice message)
{
    assert_false(s.is_ended);
    s.messages++;
    s.message_bytes += message.len;
    if (s.free_in_message) {
        grpc_free(s.grpc);
        s.grpc = NULL;
    } else if (s.cancel_in_message) {
        grpc_stream_cancel(s.stream);
    }
}

static void grpc_on_end(void *user, int status, const struct err *err)
{
    assert_false(s.is_ended);
    assert_false(s.is_closed);
    s.is_ended = true;
    s.status = status;
    if (err) {
        s.end_err = *err;
    }
}

static bool is_set(const void *flag)
{
    return *(const bool *)flag;
}

static void connect_to_peer(uint32_t open_timeout_ms, uint32_t ping_interval_ms)
{
    const struct grpc_config config = {
        .loop = s.loop,
        .address = s.address,
        .authority = "peer",
        .open_timeout_ms = open_timeout_ms,
        .ping_interval_ms = ping_interval_ms,
        .on_open = grpc_on_open,
        .on_close = grpc_on_close,
    };
    s.grpc = grpc_new(&config);
    s.peer = accept(s.listener, NULL, NULL);
    assert_true(s.peer >= 0);
}

static int grpc_setup(void **state)
{
    s = (struct session){.loop = ev_loop_new(EVFLAG_AUTO), .peer = -1};
    s.listener = loopback_listen(&s.address);
    return 0;
}

static int grpc_teardown(void **state)
{
    test_clock_run();
    grpc_free(s.grpc);
    close(s.listener);
    if (s.peer >= 0) {
        close(s.peer);
    }
    ev_loop_destroy(s.loop);
    return 0;
}

/* Sends all of it, running the loop whenever the socket is full. */
static void peer_send(struct slice bytes)
{
    while (bytes.len > 0 && !s.is_closed) {
        ssize_t n = send(s.peer, bytes.ptr, bytes.len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) {
            bytes = slice_of(bytes.ptr + n, bytes.len - (size_t)n);
        } else {
            ev_run(s.loop, EVRUN_NOWAIT);
        }
    }
}

static void peer_settings(void)
{
    CLEANUP_BUF struct buf out = buf_of(64);
    h2_frame(&out, H2_SETTINGS, 0, 0, slice_of(NULL, 0));
    h2_frame(&out, H2_SETTINGS, H2_ACK, 0, slice_of(NULL, 0));
    peer_send(buf_slice(&out));
}

static void peer_hang_up(void)
{
    close(s.peer);
    s.peer = -1;
}

/* Holds what the peer has received so far, decoded from `bytes`. */
struct received {
    struct buf bytes;
    size_t data; /* payload of DATA frames */
    size_t connection_window;
    size_t stream_window;
    bool was_reset;
};

static void count_frame(struct received *in, const struct h2_frame_view *frame)
{
    if (frame->type == H2_DATA) {
        in->data += frame->payload.len;
    } else if (frame->type == H2_RST_STREAM) {
        in->was_reset = true;
    } else if (frame->type == H2_WINDOW_UPDATE) {
        struct reader payload = reader_of(frame->payload.ptr, frame->payload.len);
        *(frame->stream ? &in->stream_window : &in->connection_window) += reader_u32(&payload);
    }
}

static void peer_receive(struct received *in)
{
    struct h2_frame_view frame;
    for (;;) {
        ssize_t n = recv(s.peer, buf_reserve(&in->bytes, 65536), 65536, MSG_DONTWAIT);
        if (n <= 0) {
            break;
        }
        in->bytes.len += (size_t)n;
    }
    in->data = in->connection_window = in->stream_window = 0;
    struct reader r = reader_of(in->bytes.data, in->bytes.len);
    (void)reader_take(&r, strlen(H2_PREFACE));
    while (h2_next_frame(&r, &frame)) {
        count_frame(in, &frame);
    }
}

/* Opens the connection and a stream, with one message sent. */
static void open_stream(bool is_long, struct slice message)
{
    const struct grpc_stream_config config = {.path = "/test.Test/Call",
                                              .is_long = is_long,
                                              .on_message = grpc_on_message,
                                              .on_end = grpc_on_end};
    connect_to_peer(10000, 0);
    peer_settings();
    loop_until(s.loop, is_set, &s.is_open);
    s.stream = grpc_stream_open(s.grpc, &config);
    grpc_stream_send(s.stream, message, !is_long);
}

/* ---- Before the stream ---- */

UNIT_TEST_IN(test_peer_that_is_no_http2, grpc_setup, grpc_teardown)
{
    connect_to_peer(10000, 0);
    peer_send(slice_str("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"));
    loop_until(s.loop, is_set, &s.is_closed);
    assert_int_equal(s.close_err.code, ERR_PROTOCOL);
    assert_false(s.is_open);
}

UNIT_TEST_IN(test_peer_that_hangs_up_at_once, grpc_setup, grpc_teardown)
{
    connect_to_peer(10000, 0);
    peer_hang_up();
    loop_until(s.loop, is_set, &s.is_closed);
    assert_int_equal(s.close_err.code, ERR_UNAVAILABLE);
}

UNIT_TEST_IN(test_peer_that_says_nothing, grpc_setup, grpc_teardown)
{
    connect_to_peer(20, 0);
    loop_until(s.loop, is_set, &s.is_closed);
    assert_int_equal(s.close_err.code, ERR_UNAVAILABLE);
    assert_string_equal(s.close_err.msg, "no HTTP/2 SETTINGS within 20 ms");
}

/* The loop's time does not advance in a callback: time spent there is not deducted from the
 * limit. */
UNIT_TEST_IN(test_time_limit_counts_from_the_call, grpc_setup, grpc_teardown)
{
    ev_now_update(s.loop);
    test_clock_stop();
    test_clock_advance_ms(20000);
    connect_to_peer(10000, 0);
    peer_settings();
    while (!s.is_open && !s.is_closed) {
        ev_run(s.loop, EVRUN_ONCE);
    }
    assert_true(s.is_open);
    test_clock_advance_ms(10000);
    ev_run(s.loop, EVRUN_NOWAIT);
    assert_false(s.is_closed);
}

UNIT_TEST_IN(test_nobody_listens, grpc_setup, grpc_teardown)
{
    const struct grpc_config config = {
        .loop = s.loop,
        .address = loopback_addr(loopback_free_port()),
        .authority = "nobody",
        .open_timeout_ms = 10000,
        .on_open = grpc_on_open,
        .on_close = grpc_on_close,
    };
    s.grpc = grpc_new(&config);
    assert_false(s.is_closed); /* never from inside the call */
    loop_until(s.loop, is_set, &s.is_closed);
    assert_string_equal(s.close_err.msg, "connect: Connection refused");
}

UNIT_TEST_IN(test_address_that_cannot_be, grpc_setup, grpc_teardown)
{
    struct addr no_family = {.len = sizeof(struct sockaddr_in)};
    const struct grpc_config config = {.loop = s.loop,
                                       .address = no_family,
                                       .authority = "none",
                                       .open_timeout_ms = 10000,
                                       .on_open = grpc_on_open,
                                       .on_close = grpc_on_close};
    s.grpc = grpc_new(&config);
    assert_false(s.is_closed);
    loop_until(s.loop, is_set, &s.is_closed);
    assert_int_equal(s.close_err.code, ERR_UNAVAILABLE);
}

/* ---- Replies ---- */

static void reply_good(struct buf *out)
{
    grpc_headers(out, 0, OK_HEADERS);
    grpc_data(out, 0, BYTES("\0\0\0\0\3abc"));
    grpc_headers(out, H2_END_STREAM, "grpc-status: 0\ngrpc-message: ");
}

static void reply_trailers_only(struct buf *out)
{
    grpc_headers(out, H2_END_STREAM, OK_HEADERS "\ngrpc-status: 7\ngrpc-message: you%20may%20not");
}

static void reply_status_without_text(struct buf *out)
{
    grpc_headers(out, H2_END_STREAM, OK_HEADERS "\ngrpc-status: 14");
}

static void reply_without_trailers(struct buf *out)
{
    grpc_headers(out, 0, OK_HEADERS);
    grpc_data(out, H2_END_STREAM, BYTES("\0\0\0\0\3abc"));
}

static void reply_half_a_message(struct buf *out)
{
    grpc_headers(out, 0, OK_HEADERS);
    grpc_data(out, 0, BYTES("\0\0\0\0\3ab"));
    grpc_headers(out, H2_END_STREAM, "grpc-status: 0");
}

static void reply_compressed(struct buf *out)
{
    grpc_headers(out, 0, OK_HEADERS);
    grpc_data(out, 0, BYTES("\1\0\0\0\3abc"));
}

static void reply_too_large(struct buf *out)
{
    grpc_headers(out, 0, OK_HEADERS);
    grpc_data(out, 0, BYTES("\0\6\0\0\0")); /* 100,663,296 bytes to come */
}

static void reply_http_error(struct buf *out)
{
    grpc_headers(out, 0, ":status: 503\ncontent-type: text/plain");
    grpc_data(out, H2_END_STREAM, BYTES("try later"));
}

static void reply_not_found(struct buf *out)
{
    grpc_headers(out, H2_END_STREAM, ":status: 404\ncontent-type: text/plain");
}

static void reply_no_grpc(struct buf *out)
{
    grpc_headers(out, 0, ":status: 200\ncontent-type: text/html");
    grpc_data(out, H2_END_STREAM, BYTES("<html>"));
}

static void reply_bad_status(struct buf *out)
{
    grpc_headers(out, H2_END_STREAM, OK_HEADERS "\ngrpc-status: ok");
}

static void reply_reset(struct buf *out)
{
    grpc_headers(out, 0, OK_HEADERS);
    h2_frame(out, H2_RST_STREAM, 0, 1, slice_of("\0\0\0\7", 4));
}

static void reply_reset_at_once(struct buf *out)
{
    h2_frame(out, H2_RST_STREAM, 0, 1, slice_of("\0\0\0\13", 4));
}

static void reply_data_before_headers(struct buf *out)
{
    grpc_data(out, 0, BYTES("\0\0\0\0\3abc"));
}

static void reply_after_the_end(struct buf *out)
{
    reply_good(out);
    grpc_data(out, 0, BYTES("\0\0\0\0\3abc"));
}

static void reply_many_headers(struct buf *out)
{
    CLEANUP_BUF struct buf lines = buf_of(1 << 16);
    buf_append_str(&lines, OK_HEADERS);
    for (int i = 0; i < 100; i++) {
        buf_printf(&lines, "\nx-%d: y", i);
    }
    grpc_headers(out, 0, buf_cstr(&lines));
}

static void reply_endless_headers(struct buf *out)
{
    CLEANUP_BUF struct buf block = buf_of(1 << 16);
    h2_header_block(&block, OK_HEADERS);
    h2_frame(out, H2_HEADERS, 0, 1, buf_slice(&block));
    buf_clear(&block);
    h2_header_block(&block,
                    "x-again: 0123456789012345678901234567890123456789012345678901234567890");
    for (int i = 0; i < 10000; i++) {
        h2_frame(out, H2_CONTINUATION, 0, 1, buf_slice(&block));
    }
}

static void reply_unknown_frames(struct buf *out)
{
    h2_frame(out, (enum h2_type)0xfa, 0xff, 1, slice_str("what is this"));
    reply_good(out);
}

static const struct {
    const char *name;
    void (*reply)(struct buf *out);
    unsigned messages;
    int status, code;
    const char *text; /* part of the message */
} replies[] = {
    {"good", reply_good, 1, 0, 0, ""},
    {"trailers only", reply_trailers_only, 0, 7, ERR_REFUSED, "you may not"},
    {"status without text", reply_status_without_text, 0, 14, ERR_UNAVAILABLE, "unavailable"},
    {"without trailers", reply_without_trailers, 1, -1, ERR_PROTOCOL, "without grpc-status"},
    {"half a message", reply_half_a_message, 0, 0, ERR_PROTOCOL, "inside a message"},
    {"compressed", reply_compressed, 0, -1, ERR_PROTOCOL, "compressed"},
    {"too large", reply_too_large, 0, -1, ERR_TOO_LARGE, "message of 100663296 bytes"},
    {"HTTP 503", reply_http_error, 0, -1, ERR_UNAVAILABLE, "HTTP status 503"},
    {"HTTP 404", reply_not_found, 0, -1, ERR_REFUSED, "HTTP status 404"},
    {"no gRPC", reply_no_grpc, 0, -1, ERR_PROTOCOL, "did not answer with gRPC"},
    {"bad status", reply_bad_status, 0, -1, ERR_PROTOCOL, "without grpc-status"},
    {"reset", reply_reset, 0, -1, ERR_UNAVAILABLE, "REFUSED_STREAM"},
    {"reset at once", reply_reset_at_once, 0, -1, ERR_UNAVAILABLE, "ENHANCE_YOUR_CALM"},
    {"data before headers", reply_data_before_headers, 0, -1, 0, NULL},
    {"data after the end", reply_after_the_end, 1, 0, 0, ""},
    {"many headers", reply_many_headers, 0, -1, ERR_TOO_LARGE, "more than 64 headers"},
    {"endless headers", reply_endless_headers, 0, -1, 0, NULL},
    {"unknown frames", reply_unknown_frames, 1, 0, 0, ""},
};

/* Each reply at once and byte by byte, then with a hang-up in the middle. */
static void grpc_play(size_t i, size_t piece, size_t len_max)
{
    CLEANUP_BUF struct buf out = buf_of(4 << 20);
    replies[i].reply(&out);
    assert_false(out.failed);
    grpc_setup(NULL);
    open_stream(false, slice_str("question"));
    size_t len = out.len < len_max ? out.len : len_max;
    for (size_t at = 0; at < len; at += piece) {
        peer_send(slice_of(out.data + at, len - at < piece ? len - at : piece));
        if (piece == 1) {
            ev_run(s.loop, EVRUN_NOWAIT);
        }
    }
    if (len < out.len) {
        peer_hang_up();
    }
    loop_until(s.loop, is_set, &s.is_ended);
}

static void grpc_expect(size_t i)
{
    assert_that(s.messages == replies[i].messages && s.status == replies[i].status &&
                    (!replies[i].text || s.end_err.code == replies[i].code) &&
                    (replies[i].text || s.end_err.code != 0) &&
                    (!replies[i].text || strstr(s.end_err.msg, replies[i].text)),
                "%s: got %u messages, status %d, error %d `%s`", replies[i].name, s.messages,
                s.status, s.end_err.code, s.end_err.msg);
}

UNIT_TEST(test_replies)
{
    for (size_t i = 0; i < ARRAY_LEN(replies); i++) {
        grpc_play(i, SIZE_MAX / 2, SIZE_MAX);
        grpc_expect(i);
        grpc_teardown(NULL);
    }
}

UNIT_TEST(test_replies_byte_by_byte)
{
    for (size_t i = 0; i < ARRAY_LEN(replies); i++) {
        if (replies[i].reply == reply_endless_headers) {
            continue; /* half a million bytes, a loop iteration each */
        }
        grpc_play(i, 1, SIZE_MAX);
        grpc_expect(i);
        grpc_teardown(NULL);
    }
}

UNIT_TEST(test_replies_cut_anywhere)
{
    for (size_t len = 0;; len++) {
        CLEANUP_BUF struct buf out = buf_of(1 << 20);
        reply_good(&out);
        size_t whole = out.len;
        if (len == whole) {
            break;
        }
        grpc_play(0, SIZE_MAX / 2, len);
        assert_int_equal(s.status, -1);
        assert_int_equal(s.end_err.code, ERR_UNAVAILABLE);
        grpc_teardown(NULL);
    }
}

/* ---- Going away, callbacks that end things, pings ---- */

UNIT_TEST_IN(test_goaway_ends_a_long_stream, grpc_setup, grpc_teardown)
{
    CLEANUP_BUF struct buf out = buf_of(1024);
    open_stream(true, slice_str("watch"));
    h2_frame(&out, H2_GOAWAY, 0, 0, slice_of("\0\0\0\1\0\0\0\13too_many_pings", 22));
    peer_send(buf_slice(&out));
    loop_until(s.loop, is_set, &s.is_closed);
    assert_true(s.is_ended);
    assert_int_equal(s.end_err.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(s.close_err.msg, "ENHANCE_YOUR_CALM, too_many_pings"));
    assert_true(grpc_was_closed_for_pings(s.grpc));
}

UNIT_TEST_IN(test_goaway_lets_a_call_finish, grpc_setup, grpc_teardown)
{
    CLEANUP_BUF struct buf out = buf_of(1024);
    open_stream(false, slice_str("question"));
    h2_frame(&out, H2_GOAWAY, 0, 0, slice_of("\0\0\0\1\0\0\0\0", 8));
    peer_send(buf_slice(&out));
    while (grpc_is_open(s.grpc)) {
        ev_run(s.loop, EVRUN_ONCE);
    }
    assert_false(s.is_ended);
    buf_clear(&out);
    reply_good(&out);
    peer_send(buf_slice(&out));
    loop_until(s.loop, is_set, &s.is_closed);
    assert_true(s.is_ended);
    assert_int_equal(s.end_err.code, 0);
    assert_int_equal(s.messages, 1);
    assert_false(grpc_was_closed_for_pings(s.grpc));
}

static bool is_freed(const void *unused)
{
    return s.grpc == NULL;
}

static void two_messages(struct buf *out)
{
    grpc_headers(out, 0, OK_HEADERS);
    grpc_data(out, 0, BYTES("\0\0\0\0\1a\0\0\0\0\1b"));
    grpc_data(out, 0, BYTES("\0\0\0\0\1c"));
    grpc_headers(out, H2_END_STREAM, "grpc-status: 0");
}

UNIT_TEST_IN(test_free_inside_a_message, grpc_setup, grpc_teardown)
{
    CLEANUP_BUF struct buf out = buf_of(1024);
    two_messages(&out);
    open_stream(false, slice_str("question"));
    s.free_in_message = true;
    peer_send(buf_slice(&out));
    loop_until(s.loop, is_freed, NULL);
    assert_int_equal(s.messages, 1);
    assert_false(s.is_ended);
}

UNIT_TEST_IN(test_cancel_inside_a_message, grpc_setup, grpc_teardown)
{
    struct received in = {.data = 0};
    CLEANUP_BUF struct buf out = buf_of(1024);
    buf_init(&in.bytes, 1 << 20);
    two_messages(&out);
    /* Without the trailers: a finished stream cannot be reset. */
    open_stream(true, slice_str("question"));
    s.cancel_in_message = true;
    peer_send(slice_of(out.data, out.len - 9 - 16));
    while (!in.was_reset) {
        ev_run(s.loop, EVRUN_NOWAIT);
        peer_receive(&in);
    }
    assert_int_equal(s.messages, 1);
    assert_false(s.is_ended);
    buf_fini(&in.bytes);
}

UNIT_TEST_IN(test_ping_unanswered, grpc_setup, grpc_teardown)
{
    const struct grpc_stream_config config = {.path = "/test.Test/Watch",
                                              .is_long = true,
                                              .on_message = grpc_on_message,
                                              .on_end = grpc_on_end};
    connect_to_peer(10000, 6000);
    peer_settings();
    loop_until(s.loop, is_set, &s.is_open);
    s.stream = grpc_stream_open(s.grpc, &config);
    test_clock_stop();
    test_clock_advance_ms(6001);
    ev_run(s.loop, EVRUN_NOWAIT);
    test_clock_advance_ms(2999);
    ev_run(s.loop, EVRUN_NOWAIT);
    assert_false(s.is_closed);
    test_clock_advance_ms(2);
    loop_until(s.loop, is_set, &s.is_closed);
    assert_string_equal(s.close_err.msg, "no answer to a PING within 3 s");
    assert_true(s.is_ended);
}

/* ---- Windows ---- */

/* Beyond the initial 65,535 bytes of HTTP/2, data must wait for WINDOW_UPDATE. */
UNIT_TEST_IN(test_peer_window_is_respected, grpc_setup, grpc_teardown)
{
    enum { MESSAGE = 200000 };
    CLEANUP_FREE char *message = xcalloc(1, MESSAGE);
    struct received in = {.data = 0};
    CLEANUP_BUF struct buf out = buf_of(1024);
    buf_init(&in.bytes, 4 << 20);
    open_stream(false, slice_of(message, MESSAGE));
    while (in.data < 65535) {
        ev_run(s.loop, EVRUN_NOWAIT);
        peer_receive(&in);
    }
    for (int i = 0; i < 20; i++) {
        ev_run(s.loop, EVRUN_NOWAIT);
    }
    peer_receive(&in);
    assert_int_equal(in.data, 65535);

    h2_frame(&out, H2_WINDOW_UPDATE, 0, 0, slice_of("\0\x10\0\0", 4));
    h2_frame(&out, H2_WINDOW_UPDATE, 0, 1, slice_of("\0\x10\0\0", 4));
    peer_send(buf_slice(&out));
    while (in.data < MESSAGE + GRPC_FRAME_HEADER) {
        ev_run(s.loop, EVRUN_NOWAIT);
        peer_receive(&in);
    }
    assert_int_equal(in.data, MESSAGE + GRPC_FRAME_HEADER);
    assert_false(in.was_reset);
    buf_fini(&in.bytes);
}

/* 20 MB in messages of 1 MB: more than both our windows, so they must be reopened on the way. */
UNIT_TEST_IN(test_own_windows_are_opened_again, grpc_setup, grpc_teardown)
{
    enum { MESSAGES = 20, MESSAGE = 1 << 20, PIECE = 16384 };
    const size_t stream_window = 4 << 20;
    const size_t connection_window = 65535; /* the rest of its 16 MB comes by WINDOW_UPDATE */
    struct received in = {.data = 0};
    CLEANUP_FREE char *zeros = xcalloc(1, PIECE);
    size_t sent = 0;
    CLEANUP_BUF struct buf out = buf_of(1 << 20);
    buf_init(&in.bytes, 1 << 20);
    open_stream(false, slice_str("question"));
    grpc_headers(&out, 0, OK_HEADERS);
    for (int i = 0; i < MESSAGES * (MESSAGE / PIECE); i++) {
        if (i % (MESSAGE / PIECE) == 0) {
            grpc_data(&out, 0, BYTES("\0\0\x10\0\0"));
            sent += GRPC_FRAME_HEADER;
        }
        grpc_data(&out, 0, zeros, PIECE);
        sent += PIECE;
        while (sent > stream_window + in.stream_window ||
               sent > connection_window + in.connection_window) {
            ev_run(s.loop, EVRUN_NOWAIT);
            peer_receive(&in);
        }
        peer_send(buf_slice(&out));
        buf_clear(&out);
    }
    grpc_headers(&out, H2_END_STREAM, "grpc-status: 0");
    peer_send(buf_slice(&out));
    loop_until(s.loop, is_set, &s.is_ended);
    assert_int_equal(s.end_err.code, 0);
    assert_int_equal(s.messages, MESSAGES);
    assert_int_equal(s.message_bytes, MESSAGES * MESSAGE);
    buf_fini(&in.bytes);
}
