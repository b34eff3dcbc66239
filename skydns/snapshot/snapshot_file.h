/* The file of -snapshot. Writing: a temporary file beside it, `FILE.tmp`, mode 0600, synced, then
 * renamed over it, and the folder synced; whoever crashes leaves the old file whole, and a
 * temporary one that the next writer reuses. A lock on that one lets several processes with the
 * same FILE take turns. Any thread; blocks. */
#ifndef SKYDNS_SNAPSHOT_SNAPSHOT_FILE_H
#define SKYDNS_SNAPSHOT_SNAPSHOT_FILE_H

#include <stdatomic.h>
#include <stddef.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "skydns/snapshot/snapshot.h"

/* 0; 1 if there is no such file; -errno or ERR_SYNTAX with the reason: not used. */
int snapshot_file_read(const char *path, struct snapshot_content *ret_content,
                       struct err *err) MUST_CHECK;

struct snapshot_file_write {
    const char *path;
    const struct snapshot_image *image;
    /* All bytes are with the kernel: the image's version is not needed any more, only the disk is.
     * May be NULL. */
    void (*encoded)(void *data);
    void *data;
    const atomic_bool *is_cancelled; /* leaves the old file as it is; NULL: never */
};

/* 0 and the file's size, or -errno with the reason: then FILE is as it was. */
int snapshot_file_write(const struct snapshot_file_write *write, size_t *ret_bytes,
                        struct err *err) MUST_CHECK;

#endif
