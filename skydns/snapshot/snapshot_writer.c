#include "skydns/snapshot/snapshot_writer.h"

#include <stdlib.h>

#include "common/base/xalloc.h"

struct snapshot_writer {
    struct snapshot_writer_config config;
};

struct snapshot_writer *snapshot_writer_new(const struct snapshot_writer_config *config)
{
    struct snapshot_writer *writer = xcalloc(1, sizeof(*writer));
    writer->config = *config;
    return writer;
}

void snapshot_writer_free(struct snapshot_writer *writer)
{
    free(writer);
}

bool snapshot_writer_write(struct snapshot_writer *writer, struct snapshot_image *image)
{
    return writer && image && false;
}

bool snapshot_writer_is_busy(const struct snapshot_writer *writer)
{
    return writer && false;
}

bool snapshot_writer_wait(struct snapshot_writer *writer, int64_t timeout_ms)
{
    return writer && timeout_ms >= 0;
}
