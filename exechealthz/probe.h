/* Runs one shell command periodically and holds its last result. main() creates it, the HTTP
 * handler reads it; everything on one loop's thread, which never waits for the command.
 *
 *     every period ──▶ sh -c COMMAND in a process group of its own ──▶ result {output, error, time}
 *                           │ longer than the timeout: the whole group is killed
 *
 * The first run starts one period after probe_start; until its result the probe is healthy. With
 * starts_unhealthy it runs at once, and is unhealthy until then. A run longer than the period is
 * followed by the next at once; missed ticks do not accumulate. When the shell ends, everything
 * left in its group is killed. */
#ifndef EXECHEALTHZ_PROBE_H
#define EXECHEALTHZ_PROBE_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/metrics.h"
#include "common/base/slice.h"
#include "exechealthz/probe_settings.h"
#include "exechealthz/shell_run.h"

struct probe_config {
    const char *path;    /* for the response's text */
    const char *command; /* both borrowed until probe_free */
    struct probe_settings settings;
};

struct probe_counts {
    uint64_t runs; /* completed */
    uint64_t failures;
    uint64_t timeouts; /* also count as failures */
    struct histogram duration;
};

struct probe_result {
    uint64_t run;        /* 0: none yet, which counts as success unless it starts unhealthy */
    struct slice output; /* stdout and stderr interleaved, at most 64 KiB */
    const char *error;   /* NULL: success; "exit status 1", "signal: killed" */
};

struct probe;

/* Copies config. */
struct probe *probe_new(struct ev_loop *loop, struct reaper *reaper,
                        const struct probe_config *config);

/* Kills a running command with all its processes. NULL is fine. */
void probe_free(struct probe *probe);

/* Starts the period; with starts_unhealthy, runs the command at once, too. */
void probe_start(struct probe *probe);

/* Returns the report's source, for tests. Borrowed until the loop turns. */
struct probe_result probe_last(const struct probe *probe);

const char *probe_path(const struct probe *probe);
const struct probe_counts *probe_counts(const struct probe *probe);

/* Returns whether it is healthy at this time (clock_monotonic_ms). */
bool probe_is_healthy(const struct probe *probe, int64_t now_ms);

/* Returns whether it is healthy at this time. Appends the response's text either way; when
 * unhealthy, it names the reason and ends with a newline. */
bool probe_report(const struct probe *probe, int64_t now_ms, struct buf *reply);

#endif
