#include "skydns/snapshot/snapshot_encode_internal.h"

int snapshot_encode(const struct snapshot_image *image, uint32_t now_s, snapshot_sink sink,
                    void *data)
{
    (void)image;
    (void)now_s;
    return sink(data, slice_of(NULL, 0));
}
