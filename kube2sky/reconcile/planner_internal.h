/* Plans one owner: inventory -> naming -> desired keys and claims, compared with etcd -> plan.
 * Reuses the steps' memory between owners, and reports what had to be left out. Single-threaded, no
 * I/O but the log.
 *
 * A plan has the differences of the owner's own keys, and of the reverse keys of every address
 *
 *     that it claims and wins (reverse.h), and
 *     whose winner the owner's change replaced or removed.
 *
 * The latter stay with the owner (owner->touched) until a plan finds nothing to do about them, so
 * that they survive a failed transaction. */
#ifndef KUBE2SKY_RECONCILE_PLANNER_INTERNAL_H
#define KUBE2SKY_RECONCILE_PLANNER_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "kube2sky/naming/claims.h"
#include "kube2sky/naming/desired.h"
#include "kube2sky/naming/inventory.h"
#include "kube2sky/naming/ip_list.h"
#include "kube2sky/naming/naming.h"
#include "kube2sky/naming/owner_objects.h"
#include "kube2sky/naming/reverse.h"
#include "kube2sky/reconcile/owners_internal.h"
#include "kube2sky/reconcile/plan.h"
#include "kube2sky/reconcile/reverse_keys_internal.h"

struct planner_config {
    const struct inventory *inventory; /* all outlive the planner */
    const struct owners *owners;
    const struct reverse_keys *reverse_keys;
    const char *domain;
    uint32_t ttl_s;
    bool has_reverse; /* reverse keys are desired */
};

struct planner {
    struct planner_config config;
    struct naming_config naming;
    struct reverse *reverse;
    struct owner_objects objects;
    struct buf base;
    struct buf key;
    struct buf value;
    struct desired desired;
    struct claims claims;
    struct ip_list touched;   /* in addition to those it wins */
    struct plan reverse_plan; /* only operations on reverse keys */
    struct plan left;         /* of the last plan: puts of keys that others own, left alone */
    uint64_t dropped;         /* parts of objects that cannot be in a key, each time one is found */
    bool has_all_claims; /* set by the reconciler: each owner was planned since all was listed */
    bool was_told;       /* logged that others own keys of the owner being planned */
    uint64_t foreign;    /* desired reverse keys that others own */
};

/* The planner must not move afterwards. */
void planner_init(struct planner *planner, const struct planner_config *config);
void planner_fini(struct planner *planner);

struct planned {
    size_t work;         /* its size in records */
    size_t reverse_ops;  /* operations on reverse keys */
    bool must_wait;      /* it contains deletes that must wait */
    bool has_left_some;  /* operations on reverse keys that must wait were left out */
    struct owner *other; /* the owner whose transaction in flight has a key of this plan (then
                            void), or NULL */
};

/* Fills ret_plan, empty if there is nothing to do or the owner's desired keys are unknown (then its
 * keys are unchanged), and sets the owner's fields about its last plan. */
struct planned planner_plan(struct planner *planner, struct owner *owner, struct plan *ret_plan);

/* The id of the owner that wants the reverse key; empty if none. Borrowed until the next plan. */
struct slice planner_reverse_owner(const struct planner *planner, struct slice key);

#endif
