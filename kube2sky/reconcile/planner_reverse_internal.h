/* Plans reverse keys for planner.c: whose name an address has, and when its key may change. No
 * other file calls these. */
#ifndef KUBE2SKY_RECONCILE_PLANNER_REVERSE_INTERNAL_H
#define KUBE2SKY_RECONCILE_PLANNER_REVERSE_INTERNAL_H

#include "kube2sky/naming/reverse.h"
#include "kube2sky/reconcile/planner_internal.h"

/* Returns the owner that etcd's key of the address names, for struct reverse_config; empty: none of
 * ours. */
struct slice planner_reverse_holder(void *data, const struct ip *ip);

/* Returns whether the owner wins the address's name. */
bool planner_reverse_wins(const struct planner *planner, const struct owner *owner,
                          const struct ip *ip);

/* Adds a pod's address to planner->touched. A pod claims no name, but decides which owner its
 * address may name, and whether a key whose owner is in doubt may change. */
void planner_reverse_decide_pod(struct planner *planner, const struct owner *owner);

/* Withholds the operation from the plan until it may be written. */
void planner_withhold(struct planner *planner, const struct etcd_op *op, int64_t revision,
                      struct planned *planned);

/* Compares one reverse key, planner->key, with its desired value. ip NULL: the key is of no
 * address. winner NULL: the address has no name. */
void planner_reverse_plan_key(struct planner *planner, const struct owner *owner,
                              const struct ip *ip, const struct reverse_winner *winner,
                              struct planned *planned);

/* Plans the addresses that the owner wins with these claims, and those that it touched. */
void planner_reverse_plan_addresses(struct planner *planner, const struct owner *owner,
                                    const struct claims *claims, struct planned *planned);

#endif
