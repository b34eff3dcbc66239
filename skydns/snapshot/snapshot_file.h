/* The file of -snapshot. Any thread; blocks.
 *
 * Writing makes `FILE.tmp` beside it, mode 0600, syncs it, renames it over FILE and syncs the
 * folder: at every moment FILE is whole, the old one or the new one. Who is killed leaves FILE.tmp,
 * and the next writer begins it anew; who fails removes it, so that a full disk gets its bytes
 * back. A lock on FILE.tmp (flock) lets several processes with the same FILE take turns: the last
 * one wins.
 *
 * A symbolic link at FILE is followed by reading, and replaced by writing: the file that it leads
 * to is not ours, and its folder may be closed to us. A device there stays. Only a regular file is
 * read: a FIFO would hang. What is at FILE.tmp and is no file of ours, a link or one of another
 * user, is replaced, too; a folder is not.
 *
 * System calls beside those of any file: fchmod, fdatasync, flock, fsync, ftruncate, renameat,
 * unlinkat. In the folder: to read it (for fsync), to make, write, truncate, rename and remove
 * files. */
#ifndef SKYDNS_SNAPSHOT_SNAPSHOT_FILE_H
#define SKYDNS_SNAPSHOT_SNAPSHOT_FILE_H

#include <stdatomic.h>
#include <stddef.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "skydns/snapshot/snapshot.h"

/* 0; 1 if there is no such file; -errno or ERR_SYNTAX with the reason, for a line that names the
 * file: not used, and *ret_content is as it was. */
int snapshot_file_read(const char *path, struct snapshot_content *ret_content,
                       struct err *err) MUST_CHECK;

/* How long to wait for another process, which takes a second to write 300,000 records. */
enum { SNAPSHOT_LOCK_WAIT_MS = 10000 };

struct snapshot_file_write {
    const char *path;
    const struct snapshot_image *image;
    /* All bytes are with the kernel: the image's version is not needed any more, only the disk is.
     * Not called where that fails. May be NULL. */
    void (*encoded)(void *data);
    void *data;
    const atomic_bool *is_cancelled; /* until then: leaves FILE as it is; NULL: never */
    int64_t lock_wait_ms;            /* 0: SNAPSHOT_LOCK_WAIT_MS */
};

/* 0 and the file's size, or -errno or ERR_CANCELED with the reason: then FILE is as it was, or, if
 * only its folder could not be synced, the new one. */
int snapshot_file_write(const struct snapshot_file_write *write, size_t *ret_bytes,
                        struct err *err) MUST_CHECK;

#endif
