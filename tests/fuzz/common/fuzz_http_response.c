/* Any bytes as an HTTP reply: within the limits, and the same outcome however they are split. */
#include <assert.h>

#include "common/http/http_response.h"
#include "tests/fuzz/fuzz_target.h"

enum { BODY_MAX = 65535 };

static int read_in_pieces(struct http_response *reply, const uint8_t *data, size_t size,
                          size_t piece)
{
    int r = 0;
    http_response_init(reply, BODY_MAX);
    for (size_t at = 0; r == 0 && at < size; at += piece) {
        r = http_response_add(reply, slice_of(data + at, size - at < piece ? size - at : piece),
                              NULL);
    }
    return r == 0 ? http_response_end(reply, NULL) : r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_response whole, bytes;
    int r = read_in_pieces(&whole, data, size, size + 1);
    int same = read_in_pieces(&bytes, data, size, 1);
    assert((r == 0) == (whole.part == HTTP_RESPONSE_DONE) && whole.body.len <= BODY_MAX);
    assert((r == 0) == (same == 0));
    assert(r != 0 || slice_equal(buf_slice(&whole.body), buf_slice(&bytes.body)));
    http_response_fini(&whole);
    http_response_fini(&bytes);
    return 0;
}
