#include "kube2sky/reconcile/sync_report_internal.h"

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/log.h"

enum { BETWEEN_LINES_MS = 1000 };

static bool sync_report_has_news(const struct sync_report *report)
{
    return !report->has_synced || report->told_written != report->keys_written ||
           report->told_deleted != report->keys_deleted;
}

static void reconcile_sync_report(struct sync_report *report)
{
    log_info("in sync",
             LOG_INT("keys_written", (int64_t)(report->keys_written - report->told_written)),
             LOG_INT("keys_deleted", (int64_t)(report->keys_deleted - report->told_deleted)),
             LOG_INT("desired", (int64_t)report->desired));
    report->told_written = report->keys_written;
    report->told_deleted = report->keys_deleted;
    report->told_ms = clock_monotonic_ms();
    report->has_synced = true;
}

static void sync_report_on_due(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    struct sync_report *report = timer->data;
    if (report->is_in_sync && sync_report_has_news(report)) {
        reconcile_sync_report(report);
    }
}

void sync_report_init(struct sync_report *report, struct ev_loop *loop)
{
    *report = (struct sync_report){.loop = loop};
    ev_timer_init(&report->timer, sync_report_on_due, 0.0, 0.0);
    report->timer.data = report;
}

void sync_report_fini(struct sync_report *report)
{
    if (ev_is_active(&report->timer) && report->is_in_sync && sync_report_has_news(report)) {
        reconcile_sync_report(report);
    }
    ev_timer_stop(report->loop, &report->timer);
}

void sync_report_update(struct sync_report *report, bool is_in_sync)
{
    report->is_in_sync = is_in_sync;
    if (!is_in_sync || !sync_report_has_news(report) || ev_is_active(&report->timer)) {
        return;
    }
    int64_t wait_ms = report->told_ms + BETWEEN_LINES_MS - clock_monotonic_ms();
    if (!report->has_synced || wait_ms <= 0) {
        reconcile_sync_report(report);
        return;
    }
    ev_timer_set(&report->timer, (double)wait_ms / 1000.0, 0.0);
    ev_timer_start(report->loop, &report->timer);
}
