/* The reply to GET /live, in chunks of the size in the first byte, and each event's JSON: the same
 * events come whatever the chunks, and every name leads to a value. */
#include <assert.h>

#include "common/live/event_stream_internal.h"
#include "common/live/live_event.h"
#include "tests/fuzz/fuzz_target.h"

static void read_event(struct slice text)
{
    struct live_node *event = live_event_parse(text);
    for (const char *name = NULL; (name = live_next_name(event, name)) != NULL;) {
        const struct live_node *value = live_get(event, name);
        assert(value);
        for (size_t i = 0; i < live_count(value); i++) {
            (void)live_number_at(value, i);
            assert(live_at(value, i));
            (void)live_bytes(live_at(value, i));
        }
        assert(live_text(event, name));
    }
    live_event_free(event);
}

/* All events, and whether it failed, in `seen`. */
static void read_stream(const uint8_t *data, size_t size, size_t chunk, struct buf *seen)
{
    struct event_stream stream;
    struct slice text;
    struct err err;
    enum event_stream_result result = EVENT_STREAM_MORE;
    event_stream_init(&stream);
    for (size_t at = 0; at < size && result != EVENT_STREAM_FAILED; at += chunk) {
        event_stream_add(&stream, slice_of(data + at, size - at < chunk ? size - at : chunk));
        while ((result = event_stream_next(&stream, &text, &err)) == EVENT_STREAM_EVENT) {
            read_event(text);
            buf_append_sized(seen, text);
        }
    }
    buf_append_char(seen, result == EVENT_STREAM_FAILED ? 'x' : '.');
    event_stream_fini(&stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > EVENT_STREAM_CHUNK_MAX) {
        return 0;
    }
    CLEANUP_BUF struct buf whole = buf_of(1 << 20);
    CLEANUP_BUF struct buf parts = buf_of(1 << 20);
    read_stream(data + 1, size - 1, EVENT_STREAM_CHUNK_MAX, &whole);
    read_stream(data + 1, size - 1, (size_t)data[0] + 1, &parts);
    assert(slice_equal(buf_slice(&whole), buf_slice(&parts)));
    return 0;
}
