#include "skydns/upstream/frame_reader_internal.h"

#include <assert.h>

enum { PREFIX = 2, FRAME_MAX = PREFIX + UINT16_MAX };

void frame_reader_init(struct frame_reader *reader)
{
    buf_init(&reader->held, FRAME_MAX);
}

void frame_reader_fini(struct frame_reader *reader)
{
    buf_fini(&reader->held);
}

static size_t frame_len(const uint8_t *bytes)
{
    assert(bytes); /* there is a prefix, at least */
    return PREFIX + (size_t)(bytes[0] << 8 | bytes[1]);
}

/* Returns how many of the next bytes complete the held ones: the prefix first, then the message. */
static size_t frame_reader_missing(const struct buf *held)
{
    if (held->len < PREFIX) {
        return PREFIX - held->len;
    }
    return frame_len(held->data) - held->len;
}

/* Completes the held bytes. Returns how many bytes that took. */
static size_t frame_reader_fill(struct buf *held, const uint8_t *bytes, size_t len)
{
    size_t taken = 0;
    while (taken < len && frame_reader_missing(held) > 0) {
        size_t n =
            frame_reader_missing(held) < len - taken ? frame_reader_missing(held) : len - taken;
        buf_append(held, bytes + taken, n);
        taken += n;
    }
    return taken;
}

static bool is_whole(const struct buf *held)
{
    return held->len >= PREFIX && frame_reader_missing(held) == 0;
}

/* Passes the held message. Frees the buffer: an idle connection holds no memory. */
static bool pass_held(struct frame_reader *reader, frame_cb frame, void *data)
{
    bool goes_on = frame(data, reader->held.data + PREFIX, reader->held.len - PREFIX);
    buf_fini(&reader->held);
    frame_reader_init(reader);
    return goes_on;
}

bool frame_reader_take(struct frame_reader *reader, const uint8_t *bytes, size_t len,
                       frame_cb frame, void *data)
{
    if (reader->held.len > 0) {
        size_t taken = frame_reader_fill(&reader->held, bytes, len);
        bytes += taken;
        len -= taken;
        if (!is_whole(&reader->held)) {
            return true;
        }
        if (!pass_held(reader, frame, data)) {
            return false;
        }
    }
    while (len >= PREFIX && len >= frame_len(bytes)) {
        size_t taken = frame_len(bytes);
        if (!frame(data, bytes + PREFIX, taken - PREFIX)) {
            return false;
        }
        bytes += taken;
        len -= taken;
    }
    if (len > 0) {
        buf_append(&reader->held, bytes, len);
    }
    return true;
}
