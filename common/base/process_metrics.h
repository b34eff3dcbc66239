/* Tells what the process takes, under the names that Prometheus' client libraries use: process_cpu_
 * seconds_total, process_resident_memory_bytes and others, the same in each program. Linux's /proc
 * tells; its files are opened early, since a confined process may not open them any more. */
#ifndef COMMON_BASE_PROCESS_METRICS_H
#define COMMON_BASE_PROCESS_METRICS_H

#include <stdint.h>

#include "common/base/buf.h"

/* Main thread, once, before threads and confinement. Three descriptors stay open. Without /proc,
 * some metrics are missing. */
void process_metrics_open(void);

/* Main thread. start_s: Unix time. */
void process_metrics_write(struct buf *out, int64_t start_s);

#endif
