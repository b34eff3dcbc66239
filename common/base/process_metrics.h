/* Measures what the process takes, under the names that Prometheus' client libraries use.
 *
 * These are process_cpu_seconds_total, process_resident_memory_bytes and others, the same in each
 * program. The source is Linux's /proc. Its files are opened early, since a confined process may
 * not open them any more. */
#ifndef COMMON_BASE_PROCESS_METRICS_H
#define COMMON_BASE_PROCESS_METRICS_H

#include <stdint.h>

#include "common/base/buf.h"

/* Opens the files, once, on the main thread, before threads and confinement. Three descriptors stay
 * open. Without /proc, some metrics are missing. */
void process_metrics_open(void);

/* Writes the metrics, on the main thread. start_s: Unix time. */
void process_metrics_write(struct buf *out, int64_t start_s);

#endif
