/* Plans one owner: inventory -> naming -> desired, against what etcd holds -> plan. It keeps the
 * memory the steps need from one owner to the next, and says what had to be left out. Single-
 * threaded, no I/O but the log. */
#ifndef KUBE2SKY_PLANNER_H
#define KUBE2SKY_PLANNER_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "kube2sky/desired.h"
#include "kube2sky/inventory.h"
#include "kube2sky/naming.h"
#include "kube2sky/owners.h"
#include "kube2sky/plan.h"

struct planner {
    const struct inventory *inventory; /* borrowed */
    struct naming_config naming;
    struct buf base;
    struct desired desired;
    uint64_t dropped; /* parts of objects that cannot be in a key, each time they were met */
};

/* The domain is borrowed; the planner must stay where it is. */
void planner_init(struct planner *planner, const struct inventory *inventory, const char *domain,
                  uint32_t ttl_s);
void planner_fini(struct planner *planner);

/* Fills ret_plan, empty when nothing is to be done or when what the owner should have cannot be
 * told (its keys then stay as they are), and sets owner->desired_count. Returns the work it was, in
 * records. */
size_t planner_plan(struct planner *planner, const struct owners *owners, struct owner *owner,
                    struct plan *ret_plan);

#endif
