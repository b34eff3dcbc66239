/* Splits the bytes of an upstream over TLS at any point: each message arrives once, whole and in
 * order, and looking for the keepalive option in it reads nothing else. The first byte of the input
 * says where to split. */
#include "skydns/upstream/frame_reader_internal.h"
#include "skydns/upstream/upstream_message.h"
#include "tests/fuzz/fuzz_target.h"

struct expected {
    const uint8_t *bytes;
    size_t len, at;
};

static bool upstream_frames_see(void *data, const uint8_t *message, size_t len)
{
    struct expected *x = data;
    uint16_t ds;
    fuzz_check(x->len - x->at >= 2 + len &&
               (size_t)(x->bytes[x->at] << 8 | x->bytes[x->at + 1]) == len &&
               memcmp(x->bytes + x->at + 2, message, len) == 0);
    x->at += 2 + len;
    (void)upstream_reply_keepalive(message, len, &ds); /* either is fine */
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct frame_reader reader;
    if (size < 2) {
        return 0;
    }
    size_t step = 1 + data[0];
    struct expected x = {.bytes = data + 1, .len = size - 1};
    frame_reader_init(&reader);
    for (size_t at = 0; at < x.len; at += step) {
        size_t left = x.len - at;
        fuzz_check(frame_reader_take(&reader, x.bytes + at, left < step ? left : step,
                                     upstream_frames_see, &x));
    }
    size_t rest = x.len - x.at;
    fuzz_check(rest == reader.held.len &&
               memcmp(reader.held.data ? reader.held.data : data, x.bytes + x.at, rest) == 0 &&
               (rest < 2 || rest < 2 + (size_t)(x.bytes[x.at] << 8 | x.bytes[x.at + 1])));
    frame_reader_fini(&reader);
    return 0;
}
