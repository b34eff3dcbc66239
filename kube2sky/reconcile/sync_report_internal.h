/* What has been done, for the log: one line whenever the work runs out, at most one a second (a
 * steady stream of changes is no news), and the moment when that was so for the first time. On the
 * main loop. */
#ifndef KUBE2SKY_RECONCILE_SYNC_REPORT_INTERNAL_H
#define KUBE2SKY_RECONCILE_SYNC_REPORT_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

struct sync_report {
    struct ev_loop *loop;
    ev_timer timer; /* active: a line is due when it fires */

    /* Counted by the reconciler. */
    uint64_t keys_written;
    uint64_t keys_deleted;
    uint64_t desired; /* keys now */

    bool has_synced; /* there was a moment with nothing left to do */
    bool is_in_sync; /* when last updated */
    uint64_t told_written;
    uint64_t told_deleted;
    int64_t told_ms; /* when the last line was written */
};

void sync_report_init(struct sync_report *report, struct ev_loop *loop);
/* Writes the line that is due. */
void sync_report_fini(struct sync_report *report);

/* After each turn: is there nothing left to do? */
void sync_report_update(struct sync_report *report, bool is_in_sync);

#endif
