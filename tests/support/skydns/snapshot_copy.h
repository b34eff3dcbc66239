/* A snapshot through a file and back. */
#ifndef TESTS_SUPPORT_SKYDNS_SNAPSHOT_COPY_H
#define TESTS_SUPPORT_SKYDNS_SNAPSHOT_COPY_H

#include "common/base/slice.h"
#include "skydns/snapshot/snapshot.h"

/* Frees the image; the caller frees the content (snapshot_content_fini). */
void snapshot_copy(struct snapshot_image *image, struct snapshot_content *ret_content);

/* Replaces the content of a section. */
void snapshot_copy_set(struct snapshot_content *content, enum snapshot_section section,
                       struct slice bytes);

#endif
