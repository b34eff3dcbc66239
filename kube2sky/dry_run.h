/* Prints what would be written (plan.h) to stdout once everything is known, then ends:
 * --dry-run. Writes nothing to etcd. Created by main(), which runs the loop; on the main loop. */
#ifndef KUBE2SKY_DRY_RUN_H
#define KUBE2SKY_DRY_RUN_H

#include <ev.h>

#include "kube2sky/metrics_table.h"

struct dry_run;
struct plan;

enum dry_run_status {
    DRY_RUN_NOTHING = 0, /* etcd is up to date */
    DRY_RUN_UNKNOWN = 1, /* something could not be read, the ConfigMap is refused, or writing to
                          * stdout failed */
    DRY_RUN_CHANGES = 3,
};

struct dry_run *dry_run_new(struct ev_loop *loop);
void dry_run_free(struct dry_run *run); /* NULL is fine */

/* Prints a plan: the reconciler's `planned`; data is the struct dry_run. */
void dry_run_planned(void *data, const struct plan *plan);

/* Starts the run, and breaks the loop when everything was planned. It gives up, with a line on
 * stderr, once etcd or the API has been failing for longer than --etcd-mutation-timeout, or after
 * two minutes. The sources are borrowed. */
void dry_run_start(struct dry_run *run, const struct metrics_sources *sources);

/* Returns the exit status: DRY_RUN_UNKNOWN if the loop ended early. */
enum dry_run_status dry_run_result(const struct dry_run *run);

#endif
