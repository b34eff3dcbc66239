/* Claims and plans an owner in small portions, as the reconciler does in larger ones. For tests of
 * the planner, whose models judge the result. */
#ifndef TESTS_UNIT_KUBE2SKY_RECONCILE_PLANNER_WHOLE_H
#define TESTS_UNIT_KUBE2SKY_RECONCILE_PLANNER_WHOLE_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "kube2sky/reconcile/planner_internal.h"

/* Records of a portion; and how many of them pass until the work is given up, or repeated. */
enum { PORTION = 5, PORTIONS_WITHOUT_SETBACK = 11 };

/* Returns the owner's size in records. */
static inline size_t claim_whole(struct planner *planner, struct owner *owner)
{
    size_t work = 0;
    for (size_t portions = 1, budget = PORTION; !planner_claim(planner, owner, &budget, &work);
         portions++, budget = PORTION) {
        if (portions % PORTIONS_WITHOUT_SETBACK == 0) {
            planner_give_up(planner);
        }
    }
    return work;
}

static inline struct planned plan_owner_whole(struct planner *planner, const struct owner *owner,
                                              struct plan *plan)
{
    struct planned planned;
    for (size_t portions = 1, budget = PORTION;
         !planner_plan_some(planner, owner, &budget, plan, &planned);
         portions++, budget = PORTION) {
        if (portions % PORTIONS_WITHOUT_SETBACK == 0) {
            planner_note_keys(planner, owner);
        }
    }
    return planned;
}

static inline void plan_whole(const struct desired *desired, struct slice base,
                              const struct actual_keys *actual, struct plan *plan)
{
    struct plan_place puts = {0}, deletes = {0};
    size_t budget = 1;
    while (!plan_add_puts(desired, base, actual, &puts, &budget, plan)) {
        budget = 1;
    }
    while (!plan_add_deletes(desired, base, actual, &deletes, &budget, plan)) {
        budget = 1;
    }
    plan_place_fini(&deletes);
}

#endif
