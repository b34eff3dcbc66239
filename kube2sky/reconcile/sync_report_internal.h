/* Logs finished work: one line whenever the queue empties, at most one per second, since a steady
 * stream of changes is not news. Notes the first time that the queue was empty. On the main loop.
 */
#ifndef KUBE2SKY_RECONCILE_SYNC_REPORT_INTERNAL_H
#define KUBE2SKY_RECONCILE_SYNC_REPORT_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

struct sync_report {
    struct ev_loop *loop;
    ev_timer timer; /* active: writes the pending line */

    /* Counted by the reconciler. */
    uint64_t keys_written;
    uint64_t keys_deleted;
    uint64_t desired; /* keys wanted now */

    bool has_synced; /* the queue has been empty once */
    bool is_in_sync; /* at the last update */
    uint64_t told_written;
    uint64_t told_deleted;
    int64_t told_ms; /* when the last line was written */
};

void sync_report_init(struct sync_report *report, struct ev_loop *loop);
/* Writes the pending line. */
void sync_report_fini(struct sync_report *report);

/* Notes after each turn whether the queue is empty. */
void sync_report_update(struct sync_report *report, bool is_in_sync);

#endif
