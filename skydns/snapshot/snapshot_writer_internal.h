/* Makes, for tests, a writer with another disk. */
#ifndef SKYDNS_SNAPSHOT_SNAPSHOT_WRITER_INTERNAL_H
#define SKYDNS_SNAPSHOT_SNAPSHOT_WRITER_INTERNAL_H

#include "skydns/snapshot/snapshot_file.h"
#include "skydns/snapshot/snapshot_writer.h"

/* Writes as snapshot_file_write does. */
typedef int (*snapshot_write_fn)(const struct snapshot_file_write *write, size_t *ret_bytes,
                                 struct err *err);

struct snapshot_writer *snapshot_writer_new_on(const struct snapshot_writer_config *config,
                                               snapshot_write_fn write);

#endif
