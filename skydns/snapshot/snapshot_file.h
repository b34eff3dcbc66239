/* Reads and writes the file of -snapshot. Any thread; blocks.
 *
 * Writing makes `FILE.tmp` beside it, mode 0600, syncs it, renames it over FILE and syncs the
 * folder: at every moment FILE is whole, the old one or the new one. A killed writer leaves
 * FILE.tmp, and the next one begins it anew. A writer that fails removes it, so that a full disk
 * gets its bytes back. A lock on FILE.tmp (flock) lets several processes with the same FILE take
 * turns: the last one wins.
 *
 * Reading follows a symbolic link at FILE; writing replaces it: the file that it leads to is not
 * ours, and its folder may be closed to us. A device there stays. Only a regular file is read: a
 * FIFO would hang. At FILE.tmp, a link or another user's file is replaced, too; a folder is not.
 *
 * System calls beside those of any file: fchmod, fdatasync, flock, fsync, ftruncate, renameat,
 * unlinkat. Rights in the folder: to read it (for fsync), and to make, write, truncate, rename and
 * remove files. */
#ifndef SKYDNS_SNAPSHOT_SNAPSHOT_FILE_H
#define SKYDNS_SNAPSHOT_SNAPSHOT_FILE_H

#include <stdatomic.h>
#include <stddef.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "skydns/snapshot/snapshot.h"

/* Reads the file. Returns 0; 1 if there is no such file; -errno or ERR_SYNTAX with the reason, for
 * a line that names the file. If it is not 0, *ret_content is as it was. */
int snapshot_file_read(const char *path, struct snapshot_content *ret_content,
                       struct err *err) MUST_CHECK;

/* Time to wait for another process, which takes a second to write 300,000 records. */
enum { SNAPSHOT_LOCK_WAIT_MS = 10000 };

struct snapshot_file_write {
    const char *path;
    const struct snapshot_image *image;
    /* Called when the kernel has all bytes: only the disk is needed, no longer the image's version.
     * Not called if that fails. May be NULL. */
    void (*encoded)(void *data);
    void *data;
    const atomic_bool *is_cancelled; /* until then: leaves FILE as it is; NULL: never */
    int64_t lock_wait_ms;            /* 0: SNAPSHOT_LOCK_WAIT_MS */
};

/* Writes the file. Returns 0 and its size, or -errno or ERR_CANCELED with the reason. On failure
 * FILE is as it was, or, if only its folder could not be synced, the new one. */
int snapshot_file_write(const struct snapshot_file_write *write, size_t *ret_bytes,
                        struct err *err) MUST_CHECK;

#endif
