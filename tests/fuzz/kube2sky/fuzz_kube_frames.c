/* The body of a watch, cut into events: pieces of any size give the same events as a single piece.
 * The first byte is the piece size. */
#include "kube2sky/api/kube_frames_internal.h"
#include "tests/fuzz/fuzz_target.h"

/* All frames concatenated, each followed by a mark. */
static void kube_frames_cut(enum kube_encoding encoding, struct slice bytes, size_t piece,
                            struct buf *out)
{
    struct kube_frames frames;
    struct slice frame;
    kube_frames_init(&frames, encoding);
    for (size_t pos = 0; pos < bytes.len && !frames.failed; pos += piece) {
        size_t left = bytes.len - pos;
        kube_frames_push(&frames, slice_of(bytes.ptr + pos, left < piece ? left : piece));
        while (kube_frames_next(&frames, &frame)) {
            buf_append_slice(out, frame);
            buf_append_str(out, "|");
        }
    }
    kube_frames_fini(&frames);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum kube_encoding encodings[] = {KUBE_JSON, KUBE_PROTOBUF};
    struct slice bytes = size ? slice_of(data + 1, size - 1) : slice_of("", 0);
    size_t piece = size && data[0] ? data[0] : 1;
    for (size_t i = 0; i < ARRAY_LEN(encodings); i++) {
        CLEANUP_BUF struct buf whole = buf_of(2 * size + 1);
        CLEANUP_BUF struct buf pieces = buf_of(2 * size + 1);
        kube_frames_cut(encodings[i], bytes, bytes.len + 1, &whole);
        kube_frames_cut(encodings[i], bytes, piece, &pieces);
        fuzz_check(slice_equal(buf_slice(&whole), buf_slice(&pieces)) && !whole.failed);
    }
    return 0;
}
