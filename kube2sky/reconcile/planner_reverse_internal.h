/* The planner's reverse keys (planner.c): whose name an address has, and when its key may change.
 * No other file calls these. */
#ifndef KUBE2SKY_RECONCILE_PLANNER_REVERSE_INTERNAL_H
#define KUBE2SKY_RECONCILE_PLANNER_REVERSE_INTERNAL_H

#include "kube2sky/naming/reverse.h"
#include "kube2sky/reconcile/planner_internal.h"

/* Whom the address's key in etcd names; empty: nobody of ours. For struct reverse_config. */
struct slice planner_reverse_holder(void *data, const struct ip *ip);

/* Whether the owner has the address's name. */
bool planner_reverse_wins(const struct planner *planner, const struct owner *owner,
                          const struct ip *ip);

/* A pod claims no name, but decides whose its address may have, and whether a key whose owner is in
 * doubt may change: adds to planner->touched. */
void planner_reverse_decide_pod(struct planner *planner, const struct owner *owner);

/* Keeps the operation out of the plan, until it may be written. */
void planner_withhold(struct planner *planner, const struct etcd_op *op, int64_t revision,
                      struct planned *planned);

/* Compares one reverse key, planner->key, with its desired value. ip NULL: it is of no address.
 * winner NULL: the address has no name. */
void planner_reverse_plan_key(struct planner *planner, const struct owner *owner,
                              const struct ip *ip, const struct reverse_winner *winner,
                              struct planned *planned);

/* The addresses that the owner wins with these claims, and those that it touched. */
void planner_reverse_plan_addresses(struct planner *planner, const struct owner *owner,
                                    const struct claims *claims, struct planned *planned);

#endif
