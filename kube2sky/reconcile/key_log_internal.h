/* Writes log lines about keys. At debug: the plan for an owner, and the keys that a transaction
 * wrote and deleted, each with its owner and the reason. At info: changes of another writer that
 * were undone. Called by the reconciler, on the main loop. */
#ifndef KUBE2SKY_RECONCILE_KEY_LOG_INTERNAL_H
#define KUBE2SKY_RECONCILE_KEY_LOG_INTERNAL_H

#include "kube2sky/reconcile/planner_internal.h"
#include "kube2sky/reconcile/transactions_internal.h"

/* Logs the result of planner_plan for the owner. */
void key_log_planned(const struct owner *owner, const struct plan *plan,
                     const struct planned *planned);

/* Logs the keys of a transaction that was acknowledged. The planner's inventories tell whether the
 * owner still exists. Returns at once unless debug lines are on. */
void key_log(const struct transaction *transaction, const struct planner *planner);

/* Logs that the passenger's transaction undid another writer's changes: operations from..end of its
 * plan. Writes at most ten lines a minute. */
void key_log_restored(const struct transaction *transaction, const struct passenger *passenger,
                      size_t from, size_t end);

#endif
