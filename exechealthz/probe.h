/* One shell command run again and again, and whether its last result says healthy. main() makes it,
 * the HTTP handler asks it; everything on one loop's thread, which never waits for the command.
 *
 *     every period ──▶ sh -c COMMAND in a process group of its own ──▶ result {output, error, time}
 *                           │ longer than the timeout: the whole group is killed
 *
 * The first run starts one period after probe_start; until its result the probe is healthy. One
 * that starts unhealthy runs at once, and is unhealthy until then. A run that takes longer than the
 * period is followed by the next at once; missed ticks do not pile up. When the shell has ended,
 * whatever it left running in its group is killed. */
#ifndef EXECHEALTHZ_PROBE_H
#define EXECHEALTHZ_PROBE_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/metrics.h"
#include "common/base/slice.h"
#include "exechealthz/reaper.h"

struct probe_config {
    const char *path;    /* for the reply's text */
    const char *command; /* both borrowed until probe_free */
    int64_t period_ms;
    int64_t latency_ms; /* an older result is none */
    int64_t timeout_ms; /* a longer run is killed */
    bool want_output;   /* a healthy reply is the command's output, not `ok` */
    bool is_quiet;      /* log changes of health only, not every run */
    bool starts_unhealthy;
};

struct probe_counts {
    uint64_t runs; /* ended ones */
    uint64_t failures;
    uint64_t timeouts; /* failures too */
    struct histogram duration;
};

struct probe_result {
    uint64_t run;        /* 0: none yet, which counts as a success unless it starts unhealthy */
    struct slice output; /* stdout and stderr as they came, at most 64 KiB of it */
    const char *error;   /* NULL: success; "exit status 1", "signal: killed" */
};

struct probe;

/* config is copied. */
struct probe *probe_new(struct ev_loop *loop, struct reaper *reaper,
                        const struct probe_config *config);

/* Kills a running command with all its processes. NULL is fine. */
void probe_free(struct probe *probe);

void probe_start(struct probe *probe);

/* Borrowed until the loop runs again. */
struct probe_result probe_last(const struct probe *probe);

const char *probe_path(const struct probe *probe);
const struct probe_counts *probe_counts(const struct probe *probe);

/* At this time (clock_monotonic_ms). */
bool probe_is_healthy(const struct probe *probe, int64_t now_ms);

/* True: healthy at this time. The reply's text is appended either way; when
 * unhealthy it names the reason and ends with a newline. */
bool probe_report(const struct probe *probe, int64_t now_ms, struct buf *reply);

#endif
