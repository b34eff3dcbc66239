#include "common/live/event_stream_internal.h"

#include "tests/support/unit_test.h"

#define HEAD "HTTP/1.0 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\n"

/* The events, each with a `|` after it, then the error if there is one. */
static void event_stream_read_all(const char *bytes, size_t chunk, struct buf *out)
{
    CLEANUP(event_stream_fini) struct event_stream stream;
    struct slice data;
    struct err err;
    event_stream_init(&stream);
    for (size_t at = 0, len = strlen(bytes); at < len; at += chunk) {
        enum event_stream_result result;
        event_stream_add(&stream, slice_of(bytes + at, len - at < chunk ? len - at : chunk));
        while ((result = event_stream_next(&stream, &data, &err)) == EVENT_STREAM_EVENT) {
            buf_append_slice(out, data);
            buf_append_char(out, '|');
        }
        if (result == EVENT_STREAM_FAILED) {
            buf_append_str(out, err.msg);
            break;
        }
    }
}

UNIT_TEST(test_streams)
{
    static const struct {
        const char *in, *want;
    } cases[] = {
        {HEAD "data: a\n\ndata: b\n\n", "a|b|"},
        {HEAD "data:a\r\n\r\ndata:  b\r\n\r\n", "a| b|"},
        {HEAD "data: a\ndata: b\n\n", "a\nb|"},
        {HEAD ": comment\nid: 1\nevent: x\nretry: 5\ndata: a\nother\n\n", "a|"},
        {HEAD "\n\n\ndata: a\n\n\n\n", "a|"},
        {HEAD "data: not yet whole\n", ""},
        {HEAD "data:\n\n", "|"},
        {"HTTP/1.1 200 OK\ncontent-type:text/event-stream\n\ndata: a\n\n", "a|"},
        {"HTTP/1.0 200 OK\r\ncontent-type: text/html\r\n\r\n", "its /live is no stream of events"},
        {"HTTP/1.0 200 OK\r\n\r\n", "its /live is no stream of events"},
        {"HTTP/1.0 404 Not Found\r\n\r\n", "HTTP status 404"},
        {"HTTP/2 200\r\n\r\n", "it does not speak HTTP, but `HTTP/2 200`"},
        {"\n", "it does not speak HTTP, but ``"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (size_t chunk = 1; chunk < 200; chunk += 7) {
            CLEANUP_BUF struct buf out = buf_of(4096);
            event_stream_read_all(cases[i].in, chunk, &out);
            assert_string_equal(buf_cstr(&out), cases[i].want);
        }
    }
}

UNIT_TEST(test_reason_of_a_refusal)
{
    CLEANUP_BUF struct buf out = buf_of(4096);
    event_stream_read_all("HTTP/1.0 503 Busy\r\n\r\nfull\nup\n", 1000, &out);
    assert_string_equal(buf_cstr(&out), "HTTP status 503: full");
}

/* An event of 1 MiB is the largest, in one line or in many. */
UNIT_TEST(test_limits)
{
    static const struct {
        size_t lines, len; /* len with the `\n` between lines */
        const char *want;
    } cases[] = {
        {1, EVENT_STREAM_EVENT_MAX - 6, ""},
        {1, EVENT_STREAM_EVENT_MAX + 1, "an event of more than 1 MiB"},
        {1024, 1023, ""},
        {1024, 1025, "an event of more than 1 MiB"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP_BUF struct buf in = buf_of(4 * EVENT_STREAM_EVENT_MAX);
        CLEANUP_BUF struct buf out = buf_of(4 * EVENT_STREAM_EVENT_MAX);
        buf_append_str(&in, HEAD);
        for (size_t line = 0; line < cases[i].lines; line++) {
            buf_append_str(&in, "data: ");
            for (size_t n = 0; n < cases[i].len; n++) {
                buf_append_char(&in, 'x');
            }
            buf_append_char(&in, '\n');
        }
        buf_append_char(&in, '\n');
        event_stream_read_all(buf_cstr(&in), EVENT_STREAM_CHUNK_MAX, &out);
        bool is_event = buf_cstr(&out)[0] == 'x';
        assert_int_equal(is_event, *cases[i].want == '\0');
        if (!is_event) {
            assert_string_equal(buf_cstr(&out), cases[i].want);
        }
    }
}

UNIT_TEST(test_a_failure_stays)
{
    CLEANUP(event_stream_fini) struct event_stream stream;
    struct slice data;
    struct err err;
    event_stream_init(&stream);
    event_stream_add(&stream, slice_str("no HTTP\n"));
    assert_int_equal(event_stream_next(&stream, &data, &err), EVENT_STREAM_FAILED);
    event_stream_add(&stream, slice_str(HEAD "data: a\n\n"));
    assert_int_equal(event_stream_next(&stream, &data, &err), EVENT_STREAM_FAILED);
}
