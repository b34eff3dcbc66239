/* Any bytes as an HTTP reply: within the limits, and the same outcome however they are split. */
#include <assert.h>

#include "exechealthz/doh_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_in_pieces(struct doh_reply *reply, const uint8_t *data, size_t size, size_t piece)
{
    int r = 0;
    doh_reply_init(reply);
    for (size_t at = 0; r == 0 && at < size; at += piece) {
        r = doh_reply_add(reply, slice_of(data + at, size - at < piece ? size - at : piece), NULL);
    }
    return r == 0 ? doh_reply_end(reply, NULL) : r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct doh_reply whole, bytes;
    int r = read_in_pieces(&whole, data, size, size + 1);
    int same = read_in_pieces(&bytes, data, size, 1);
    assert((r == 0) == (whole.part == DOH_DONE) && whole.body.len <= DOH_BODY_MAX);
    assert((r == 0) == (same == 0));
    assert(r != 0 || slice_equal(buf_slice(&whole.body), buf_slice(&bytes.body)));
    doh_reply_fini(&whole);
    doh_reply_fini(&bytes);
    return 0;
}
