/* Tells the log at debug what was planned for an owner, and which keys a transaction has written
 * and deleted, each with its owner and why. The reconciler's, on the main loop. */
#ifndef KUBE2SKY_RECONCILE_KEY_LOG_INTERNAL_H
#define KUBE2SKY_RECONCILE_KEY_LOG_INTERNAL_H

#include "kube2sky/naming/inventory.h"
#include "kube2sky/reconcile/flights_internal.h"
#include "kube2sky/reconcile/planner_internal.h"

/* What planner_plan has made of the owner. */
void key_log_planned(const struct owner *owner, const struct plan *plan,
                     const struct planned *planned);

/* The flight's transaction happened, at its revision. The inventory tells whether the owner is
 * still there. Both cost nothing
 * when debug lines are not logged. */
void key_log(const struct flight *flight, const struct inventory *inventory);

#endif
