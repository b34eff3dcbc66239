#include "kube2sky/api/kube_frames_internal.h"

#include <string.h>

#include "common/base/cursor.h"

/* Length prefix of a protobuf message. */
enum { LENGTH_BYTES = 4 };

void kube_frames_init(struct kube_frames *frames, enum kube_encoding encoding)
{
    *frames = (struct kube_frames){.encoding = encoding};
    buf_init(&frames->partial, LENGTH_BYTES + KUBE_FRAME_MAX);
}

void kube_frames_fini(struct kube_frames *frames)
{
    buf_fini(&frames->partial);
}

void kube_frames_push(struct kube_frames *frames, struct slice bytes)
{
    frames->input = bytes;
}

static void kube_frames_skip(struct slice *s, size_t len)
{
    s->ptr += len;
    s->len -= len;
}

/* Releases a buffer that grew for a huge object. */
static void drop_handed_out(struct kube_frames *frames)
{
    enum { KEEP_BYTES = 64 * 1024 };
    if (frames->is_partial_out && frames->partial.cap > KEEP_BYTES) {
        buf_fini(&frames->partial);
    } else if (frames->is_partial_out) {
        buf_clear(&frames->partial);
    }
    frames->is_partial_out = false;
}

/* Takes a line, up to a newline. */
static bool kube_frames_take_line(struct kube_frames *frames, struct slice *ret_line)
{
    const char *newline = memchr(frames->input.ptr, '\n', frames->input.len);
    size_t len = newline ? (size_t)(newline - frames->input.ptr) : frames->input.len;
    struct slice line = slice_of(frames->input.ptr, len);
    kube_frames_skip(&frames->input, newline ? len + 1 : len);
    if (frames->partial.len > 0 || !newline) {
        buf_append_slice(&frames->partial, line);
        line = buf_slice(&frames->partial);
        frames->is_partial_out = newline != NULL;
    }
    frames->failed = frames->partial.failed || line.len > KUBE_FRAME_MAX;
    *ret_line = line;
    return newline != NULL;
}

/* Appends input to the partial frame until it has `want` bytes. */
static bool complete_partial(struct kube_frames *frames, size_t want)
{
    size_t missing = frames->partial.len < want ? want - frames->partial.len : 0;
    size_t len = missing < frames->input.len ? missing : frames->input.len;
    buf_append(&frames->partial, frames->input.ptr, len);
    kube_frames_skip(&frames->input, len);
    return len == missing;
}

static size_t length_of(struct kube_frames *frames, struct slice head)
{
    struct reader reader = reader_of(head.ptr, head.len);
    size_t len = reader_u32(&reader);
    frames->failed = len > KUBE_FRAME_MAX;
    return frames->failed ? 0 : len;
}

/* Takes a message of the length that precedes it. */
static bool take_message(struct kube_frames *frames, struct slice *ret_message)
{
    struct slice *input = &frames->input;
    if (frames->partial.len == 0 && input->len >= LENGTH_BYTES) {
        size_t len = length_of(frames, *input);
        if (len <= input->len - LENGTH_BYTES) {
            *ret_message = slice_of(input->ptr + LENGTH_BYTES, len);
            kube_frames_skip(input, LENGTH_BYTES + len);
            return true;
        }
    }
    if (!complete_partial(frames, LENGTH_BYTES)) {
        return false;
    }
    size_t len = length_of(frames, buf_slice(&frames->partial));
    if (!complete_partial(frames, LENGTH_BYTES + len)) {
        return false;
    }
    *ret_message = slice_of(frames->partial.data + LENGTH_BYTES, len);
    frames->is_partial_out = true;
    return true;
}

bool kube_frames_next(struct kube_frames *frames, struct slice *ret_frame)
{
    drop_handed_out(frames);
    while (!frames->failed && frames->input.len > 0) {
        struct slice frame = {0};
        bool is_whole = frames->encoding == KUBE_JSON ? kube_frames_take_line(frames, &frame)
                                                      : take_message(frames, &frame);
        if (is_whole && frame.len > 0 && !frames->failed) {
            *ret_frame = frame;
            return true;
        }
        if (is_whole && !frames->failed) {
            drop_handed_out(frames);
        }
    }
    return false;
}
