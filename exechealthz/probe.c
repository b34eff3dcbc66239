#include "exechealthz/probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "exechealthz/health_actions.h"
#include "exechealthz/shell_run.h"

/* Holds a finished run. */
struct outcome {
    struct buf output;
    char error[SHELL_ERROR_MAX]; /* empty: success */
    int64_t at_ms;               /* monotonic, for its age */
    struct timespec at;          /* wall clock, for its text */
};

struct probe {
    struct ev_loop *loop;
    struct probe_config config;
    ev_timer tick;
    bool tick_missed; /* a tick came during a run */

    struct shell_run run;
    unsigned number; /* of health_actions_add */

    struct outcome last;
    struct probe_counts counts;
};

static struct probe *exechealthz_probe_of(struct shell_run *run)
{
    return (struct probe *)(void *)((char *)run - offsetof(struct probe, run));
}

/* ---- Results ---- */

static void probe_log_result(const struct probe *probe, bool had_failed, int64_t duration_us)
{
    const struct outcome *last = &probe->last;
    bool has_failed = last->error[0] != '\0';
    log_debug("run ended", LOG_STR("path", probe->config.path), LOG_STR("status", last->error),
              LOG_INT("duration_ms", duration_us / 1000));
    if (has_failed && !had_failed) {
        log_warn("command failed, reporting unhealthy", LOG_STR("error", last->error),
                 LOG_SLICE("output", buf_slice(&last->output)));
    } else if (!has_failed && had_failed) {
        log_info("command succeeded, reporting healthy");
    }
    if (!probe->config.settings.is_quiet) {
        log_info("command run", LOG_STR("cmd", probe->config.command),
                 LOG_STR("error", has_failed ? last->error : "None"),
                 LOG_INT("duration_ms", duration_us / 1000));
    }
}

/* Swaps the run's output into the last result, whose buffer serves the next run. */
static void probe_record(struct probe *probe, const char *error)
{
    struct outcome *last = &probe->last;
    struct buf old = last->output;
    bool had_failed = last->error[0] != '\0';
    int64_t duration_us = clock_monotonic_us() - probe->run.started_us;
    last->output = probe->run.output;
    probe->run.output = old;
    (void)snprintf(last->error, sizeof(last->error), "%s", error); /* fits */
    last->at_ms = clock_monotonic_ms();
    clock_gettime(CLOCK_REALTIME, &last->at);
    probe->counts.runs++;
    probe->counts.failures += error[0] != '\0';
    probe->counts.timeouts += probe->run.is_timed_out;
    histogram_observe_us(&probe->counts.duration, duration_us);
    probe_log_result(probe, had_failed, duration_us);
}

/* ---- Runs ---- */

static void probe_run(struct probe *probe)
{
    shell_run_start(&probe->run, probe->config.path, probe->config.command, environ);
    if (shell_run_is_active(&probe->run)) {
        log_debug("run started", LOG_STR("path", probe->config.path),
                  LOG_INT("pid", probe->run.pid));
    }
}

static void probe_on_end(struct shell_run *run, const char *error)
{
    struct probe *probe = exechealthz_probe_of(run);
    probe_record(probe, error);
    health_actions_note(probe->config.settings.actions, probe->number, error);
    if (probe->tick_missed) {
        probe->tick_missed = false;
        probe_run(probe);
    }
}

static void probe_on_tick(struct ev_loop *loop UNUSED, ev_timer *w, int events UNUSED)
{
    struct probe *probe = w->data;
    if (shell_run_is_active(&probe->run)) {
        probe->tick_missed = true;
    } else {
        probe_run(probe);
    }
}

/* ---- Lifetime ---- */

struct probe *probe_new(struct ev_loop *loop, struct reaper *reaper,
                        const struct probe_config *config)
{
    double period_s = (double)config->settings.period_ms / 1000;
    struct probe *probe = xcalloc(1, sizeof(*probe));
    probe->loop = loop;
    probe->config = *config;
    probe->number = health_actions_add(config->settings.actions, config->path);
    shell_run_init(&probe->run, loop, reaper, config->settings.timeout_ms, probe_on_end);
    buf_init(&probe->last.output, probe->run.output.limit);
    if (config->settings.starts_unhealthy) {
        (void)snprintf(probe->last.error, SHELL_ERROR_MAX, "waiting for first run"); /* fits */
    }
    ev_timer_init(&probe->tick, probe_on_tick, config->settings.starts_unhealthy ? 0. : period_s,
                  period_s);
    probe->tick.data = probe;
    return probe;
}

void probe_start(struct probe *probe)
{
    probe->last.at_ms = clock_monotonic_ms();
    clock_gettime(CLOCK_REALTIME, &probe->last.at);
    ev_now_update(probe->loop);
    ev_timer_start(probe->loop, &probe->tick);
}

void probe_free(struct probe *probe)
{
    if (!probe) {
        return;
    }
    ev_timer_stop(probe->loop, &probe->tick);
    shell_run_fini(&probe->run);
    buf_fini(&probe->last.output);
    free(probe);
}

/* ---- For the HTTP handler ---- */

struct probe_result probe_last(const struct probe *probe)
{
    const struct outcome *last = &probe->last;
    return (struct probe_result){
        .run = probe->counts.runs,
        .output = buf_slice(&last->output),
        .error = last->error[0] ? last->error : NULL,
    };
}

const char *probe_path(const struct probe *probe)
{
    return probe->config.path;
}

const struct probe_counts *probe_counts(const struct probe *probe)
{
    return &probe->counts;
}

/* Appends "2016-04-07 12:34:56.789 +0000 UTC": fractions without trailing zeros. */
static void append_time(struct buf *reply, struct timespec time)
{
    char text[64];
    struct tm utc;
    gmtime_r(&time.tv_sec, &utc);
    size_t n = strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &utc);
    (void)snprintf(text + n, sizeof(text) - n, ".%09ld", time.tv_nsec); /* 29 bytes */
    n = strlen(text);
    while (text[n - 1] == '0') {
        n--;
    }
    buf_append(reply, text, text[n - 1] == '.' ? n - 1 : n);
    buf_append_str(reply, " +0000 UTC");
}

static void append_result(struct buf *reply, const struct outcome *last)
{
    buf_append_str(reply, "Result of last exec: ");
    buf_append_slice(reply, buf_slice(&last->output));
    buf_append_str(reply, ", at ");
    append_time(reply, last->at);
    buf_append_str(reply, ", error ");
    buf_append_str(reply, last->error[0] ? last->error : "None");
}

static bool is_too_old(const struct probe *probe, int64_t now_ms)
{
    return now_ms - probe->last.at_ms > probe->config.settings.latency_ms;
}

bool probe_is_healthy(const struct probe *probe, int64_t now_ms)
{
    return !probe->last.error[0] && !is_too_old(probe, now_ms);
}

bool probe_report(const struct probe *probe, int64_t now_ms, struct buf *reply)
{
    const struct outcome *last = &probe->last;
    if (last->error[0]) {
        buf_printf(reply, "Healthz probe on %s error: ", probe->config.path);
        append_result(reply, last);
        buf_append_str(reply, "\n");
        return false;
    }
    if (is_too_old(probe, now_ms)) {
        buf_append_str(reply, "Latest result too old to be useful: ");
        append_result(reply, last);
        buf_append_str(reply, ".\n");
        return false;
    }
    if (probe->config.settings.want_output) {
        buf_append_slice(reply, buf_slice(&last->output));
    } else {
        buf_append_str(reply, "ok");
    }
    return true;
}
