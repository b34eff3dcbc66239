#include "kube2sky/dry_run.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/outage.h"
#include "common/base/xalloc.h"
#include "kube2sky/config_source.h"
#include "kube2sky/kube_source.h"
#include "kube2sky/reconcile/plan.h"
#include "kube2sky/reconcile/reconciler.h"
#include "kube2sky/status.h"

/* Limits the whole run: listing a million objects takes less. */
enum { LIMIT_MS = 120 * 1000 };

/* Interval of checks for conditions that may never come. */
static const double look_s = 0.25;

/* The largest plan of an owner (plan.h), times four for escapes. */
enum { LINES_BYTES_MAX = 1024 * 1024 * 1024 };

enum { REASON_BYTES_MAX = 4096 };

struct dry_run {
    struct ev_loop *loop;
    const struct metrics_sources *sources;
    ev_prepare turn;
    ev_timer look;
    int64_t started_ms;
    struct buf lines; /* of one owner's plan */
    uint64_t changes;
    bool is_complete; /* everything was planned */
    bool has_failed;  /* writing to stdout failed */
};

struct dry_run *dry_run_new(struct ev_loop *loop)
{
    struct dry_run *run = xcalloc(1, sizeof(*run));
    run->loop = loop;
    buf_init(&run->lines, LINES_BYTES_MAX);
    return run;
}

void dry_run_free(struct dry_run *run)
{
    if (run) {
        ev_prepare_stop(run->loop, &run->turn);
        ev_timer_stop(run->loop, &run->look);
        buf_fini(&run->lines);
        free(run);
    }
}

void dry_run_planned(void *data, const struct plan *plan)
{
    struct dry_run *run = data;
    buf_clear(&run->lines);
    preview_append(plan, PREVIEW_DUE, &run->lines);
    run->changes += plan->op_count;
    size_t written = fwrite(run->lines.data, 1, run->lines.len, stdout);
    run->has_failed |= run->lines.failed || written < run->lines.len;
}

/* Checks after the reconciler's turn whether everything is known. */
static void dry_run_on_turn(struct ev_loop *loop, ev_prepare *prepare, int revents UNUSED)
{
    struct dry_run *run = prepare->data;
    if (!reconciler_has_synced(run->sources->reconciler)) {
        return;
    }
    /* A refused ConfigMap was logged; its wanted keys are not known. */
    const struct config_source *source = run->sources->config_source;
    run->is_complete = !source || !kube2sky_config_source_is_refused(source);
    if (fflush(stdout) != 0 || run->has_failed) {
        run->has_failed = true;
        log_error("cannot print the changes to stdout");
    }
    ev_break(loop, EVBREAK_ALL);
}

/* Returns whether the outage is overdue, and not just because of a long list. */
static bool dry_run_is_failing(const struct outage *outage)
{
    return outage->is_overdue && *outage_why(outage);
}

static void dry_run_on_check(struct ev_loop *loop, ev_timer *timer, int revents UNUSED)
{
    struct dry_run *run = timer->data;
    const struct metrics_sources *sources = run->sources;
    bool is_over = dry_run_is_failing(sources->etcd_outage) ||
                   dry_run_is_failing(kube_source_outage(sources->kube_source)) ||
                   clock_monotonic_ms() - run->started_ms > LIMIT_MS;
    if (is_over) {
        struct buf why;
        buf_init(&why, REASON_BYTES_MAX);
        status_explain_missing(sources, &why);
        log_error("cannot compute the changes", LOG_STR("reason", buf_cstr(&why)));
        buf_fini(&why);
        ev_break(loop, EVBREAK_ALL);
    }
}

void dry_run_start(struct dry_run *run, const struct metrics_sources *sources)
{
    run->sources = sources;
    run->started_ms = clock_monotonic_ms();
    ev_prepare_init(&run->turn, dry_run_on_turn);
    run->turn.data = run;
    ev_prepare_start(run->loop, &run->turn);
    ev_timer_init(&run->look, dry_run_on_check, look_s, look_s);
    run->look.data = run;
    ev_timer_start(run->loop, &run->look);
}

enum dry_run_status dry_run_result(const struct dry_run *run)
{
    if (!run->is_complete || run->has_failed) {
        return DRY_RUN_UNKNOWN;
    }
    return run->changes ? DRY_RUN_CHANGES : DRY_RUN_NOTHING;
}
