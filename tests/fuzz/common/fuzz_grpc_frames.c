/* The reassembly of gRPC messages from DATA chunks, and the decoding of grpc-message. The first
 * byte is the chunk size; the same bytes in one chunk must give the same messages. */
#include "common/grpc/grpc_frame_internal.h"
#include "tests/fuzz/fuzz_target.h"

enum { MESSAGE_MAX = 4096 };

struct outcome {
    int rc;
    size_t messages;
    size_t bytes;
    unsigned char sum; /* over every byte of every message, so that all are read */
};

static struct outcome grpc_frames_feed(struct slice wire, size_t piece)
{
    struct outcome o = {.rc = 0};
    struct grpc_frames frames;
    grpc_frames_init(&frames, MESSAGE_MAX);
    for (size_t at = 0; at < wire.len && o.rc == 0; at += piece) {
        size_t left = wire.len - at;
        struct slice message;
        struct err err;
        grpc_frames_push(&frames, slice_of(wire.ptr + at, left < piece ? left : piece));
        while ((o.rc = grpc_frames_next(&frames, &message, &err)) > 0) {
            o.messages++;
            o.bytes += message.len;
            for (size_t i = 0; i < message.len; i++) {
                o.sum = (unsigned char)(o.sum * 31 + (unsigned char)message.ptr[i]);
            }
        }
    }
    grpc_frames_fini(&frames);
    return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    struct slice wire = slice_of(data + 1, size - 1);
    struct outcome pieces = grpc_frames_feed(wire, (size_t)data[0] + 1);
    struct outcome whole = grpc_frames_feed(wire, SIZE_MAX / 2);
    fuzz_check(pieces.rc == whole.rc && pieces.messages == whole.messages &&
               pieces.bytes == whole.bytes && pieces.sum == whole.sum);
    fuzz_check(whole.bytes + whole.messages * GRPC_FRAME_HEADER <= wire.len);
    char text[64];
    fuzz_check(strlen(grpc_percent_decode(wire, text, sizeof(text))) < sizeof(text));
    (void)grpc_status_text(grpc_status_parse(wire)); /* any text is fine */
    return 0;
}
