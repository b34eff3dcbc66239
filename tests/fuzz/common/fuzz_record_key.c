/* Any bytes as a key: rejected, or a valid DNS name whose labels spell the key. */
#include <assert.h>

#include "common/dns/record.h"
#include "tests/fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice prefix = slice_str("/skydns/");
    struct dname name;
    if (!record_key_to_name(prefix, slice_of(data, size), &name)) {
        return 0;
    }
    struct dname_labels labels;
    CLEANUP_BUF struct buf key = buf_of(1024);
    buf_append_slice(&key, prefix);
    dname_labels(&name, &labels);
    assert(labels.count > 0);
    for (unsigned i = labels.count; i-- > 0;) {
        buf_append_slice(&key, dname_label(&name, labels.offsets[i]));
        if (i) {
            buf_append_char(&key, '/');
        }
    }
    assert(slice_equal(buf_slice(&key), slice_of(data, size)));
    return 0;
}
