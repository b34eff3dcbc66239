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
    /* A write has ended; err NULL: FILE has that image now, with that many bytes. From the loop, or
     * from snapshot_writer_wait. It may begin the next write. */
    void (*written)(void *data, const struct snapshot_header *header, size_t bytes,
                    const struct err *err);
    void *data;
};

struct snapshot_writer *snapshot_writer_new(const struct snapshot_writer_config *config);

/* Cancels a write under way, unless it is done but for the disk, and waits for its thread; does not
 * call `written`. NULL is fine. After a snapshot_writer_wait that returned false it gives one
 * that it cancels a second more, and then leaves the thread to itself, so that a disk that hangs
 * does not hold up the end of the program: the version may be freed then, for one that is cancelled
 * reads it no more when the disk lets it go on. */
void snapshot_writer_free(struct snapshot_writer *writer);

/* Takes the image over, its store pinned (publisher_pin); unpins it. False, and nothing is taken,
 * while another is being written. That no thread can be started is told as a failed write. */
bool snapshot_writer_write(struct snapshot_writer *writer, struct snapshot_image *image) MUST_CHECK;

bool snapshot_writer_is_busy(const struct snapshot_writer *writer);

/* Blocks until the write under way, if any, has ended, then calls `written`: at the end of the
 * program. The disk is given this long; then it returns false, and the thread goes on. */
bool snapshot_writer_wait(struct snapshot_writer *writer, int64_t timeout_ms);

#endif
