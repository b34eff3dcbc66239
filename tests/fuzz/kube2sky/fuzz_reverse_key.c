/* Any bytes as a reverse key: rejected, or the address that the key spells. */
#include <assert.h>

#include "kube2sky/naming/reverse.h"
#include "tests/fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ip ip;
    if (reverse_parse_key(slice_of(data, size), &ip)) {
        CLEANUP_BUF struct buf key = buf_of(REVERSE_KEY_MAX);
        reverse_key(&ip, &key);
        assert(slice_equal(buf_slice(&key), slice_of(data, size)));
    }
    return 0;
}
