/* Any bytes as a mirror's saved state: rejected, or the very bytes that its content makes. */
#include "common/etcd/etcd_saved_internal.h"
#include "tests/fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct etcd_saved saved;
    if (!etcd_saved_read(slice_of(data, size), &saved)) {
        return 0;
    }
    CLEANUP_BUF struct buf again = buf_of(size);
    etcd_saved_append(&saved, &again);
    fuzz_check(!again.failed && slice_equal(buf_slice(&again), slice_of(data, size)));
    (void)etcd_saved_held_ms(&saved, INT64_MAX / 4000);
    return 0;
}
