/* Writes snapshots in a thread, one at a time, from a pinned version. Neither the main loop nor an
 * answering thread waits for the disk. The thread has a low priority, so that a worker's batch
 * takes as long as ever; it exists only while it writes.
 *
 *     main loop                                  the thread
 *     snapshot_writer_write(image) ------------> snapshot_file_write
 *     publisher_unpin  <--- all bytes with the kernel
 *     config.written   <--- renamed, or failed
 *
 * All functions: main thread. */
#ifndef SKYDNS_SNAPSHOT_SNAPSHOT_WRITER_H
#define SKYDNS_SNAPSHOT_SNAPSHOT_WRITER_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "skydns/snapshot/snapshot.h"

struct publisher;
struct snapshot_writer;

struct snapshot_writer_config {
    struct ev_loop *loop;
    struct publisher *publisher; /* borrowed: where the images' versions are pinned */
    const char *path;
    /* Called when a write has ended; err NULL: FILE has that image now, with that many bytes.
     * Called from the loop, or from snapshot_writer_wait. It may begin the next write. */
    void (*written)(void *data, const struct snapshot_header *header, size_t bytes,
                    const struct err *err);
    void *data;
};

struct snapshot_writer *snapshot_writer_new(const struct snapshot_writer_config *config);

/* Cancels a write under way, unless only the disk is missing, and waits for its thread; does not
 * call `written`. NULL is fine.
 *
 * After a snapshot_writer_wait that returned false, gives the write that it cancels one more
 * second, and then leaves the thread to itself: a disk that hangs does not hold up the end of the
 * program. The version may be freed then, since a cancelled write reads it no more when the disk
 * lets it go on. */
void snapshot_writer_free(struct snapshot_writer *writer);

/* Takes the image over, its store pinned (publisher_pin); unpins it. Returns false, and takes
 * nothing, while another is being written. A thread that cannot be started counts as a failed
 * write. */
bool snapshot_writer_write(struct snapshot_writer *writer, struct snapshot_image *image) MUST_CHECK;

bool snapshot_writer_is_busy(const struct snapshot_writer *writer);

/* Blocks until the write under way, if any, has ended, then calls `written`. Call at the end of the
 * program. Returns false after timeout_ms; the thread then goes on. */
bool snapshot_writer_wait(struct snapshot_writer *writer, int64_t timeout_ms);

#endif
