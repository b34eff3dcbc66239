/* What a store_sync saves, through a file and back: what the next process starts with. */
#ifndef TESTS_SUPPORT_SKYDNS_SNAPSHOT_COPY_H
#define TESTS_SUPPORT_SKYDNS_SNAPSHOT_COPY_H

#include <stdbool.h>

#include "skydns/snapshot/snapshot.h"
#include "skydns/sync/store_sync.h"

/* The caller frees the content (snapshot_content_fini). Fails the test if nothing can be saved. */
void snapshot_copy(const struct store_sync *sync, struct snapshot_content *ret_content);

/* Whether there is something to save. */
bool snapshot_copy_is_possible(const struct store_sync *sync);

/* Replaces the content of a section. */
void snapshot_copy_set(struct snapshot_content *content, enum snapshot_section section,
                       struct slice bytes);

#endif
