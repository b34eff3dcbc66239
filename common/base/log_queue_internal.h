/* Log lines on their way to stderr: callers append to one buffer, a thread writes the other.
 *
 * The thread swaps the two when it has written one. So callers hold a lock only to copy a line, and
 * a slow reader of stderr can stall that thread alone.
 *
 * Once a line did not fit, all but warnings and errors are lost until the next swap: one gap, told
 * where it is, costs less than many. Warnings and errors have a part of the buffer to themselves,
 * so that a flood of others does not push them out.
 *
 * Started and stopped on the main thread; everything else: any thread. */
#ifndef COMMON_BASE_LOG_QUEUE_INTERNAL_H
#define COMMON_BASE_LOG_QUEUE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/log.h"

/* Sizes each of the two buffers: 3,500 lines of queries, a third of a second at 10,000 queries/s. A
 * healthy reader is never away for longer. Only pages in use take memory. */
enum { LOG_QUEUE_BYTES = 512 * 1024 };

/* Reserves a part for warnings and errors: a thousand of them. */
enum { LOG_QUEUE_RESERVE_BYTES = 128 * 1024 };

/* Starts the thread, which never handles a signal. write_loss(text, count) writes the line about
 * lost ones into LOG_LINE_MAX bytes and returns its length. Returns 0 or -errno. */
int log_queue_start(size_t (*write_loss)(char *text, uint64_t count)) MUST_CHECK;

/* Stops the thread as log_stop does. After a stop in time, it may be started again. */
void log_queue_stop(int64_t timeout_ms);

/* Returns false while lines of this level are being lost; counts one then. */
bool log_queue_takes(enum log_level level);

/* Queues a line of 1 to LOG_LINE_MAX bytes that ends with its only newline, or counts it as lost;
 * writes it at once if there is no thread. Returns false if it is lost. */
bool log_queue_put(enum log_level level, const char *line, size_t len);

/* Queues a line at info that comes in floods: such lines wake the thread ten times a second at
 * most, and wait for it meanwhile. */
bool log_queue_put_bulk(const char *line, size_t len);

uint64_t log_queue_lost(void);

#endif
