#include "skydns/snapshot/snapshot.h"

#include "common/base/cleanup.h"
#include "skydns/records/store.h"

void snapshot_image_init(struct snapshot_image *image)
{
    *image = (struct snapshot_image){.store = NULL};
    for (size_t i = 0; i < SNAPSHOT_SECTIONS; i++) {
        buf_init(&image->sections[i], SNAPSHOT_SECTION_MAX);
    }
}

void snapshot_image_fini(struct snapshot_image *image)
{
    for (size_t i = 0; i < SNAPSHOT_SECTIONS; i++) {
        buf_fini(&image->sections[i]);
    }
}

void snapshot_content_fini(struct snapshot_content *content)
{
    for (size_t i = 0; i < SNAPSHOT_SECTIONS; i++) {
        buf_fini(&content->sections[i]);
    }
    store_writer_free(STEAL(content->writer));
}
