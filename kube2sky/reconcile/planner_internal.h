/* Plans one owner: inventory -> naming -> desired and claims, against what etcd holds -> plan. It
 * keeps the memory the steps need from one owner to the next, and says what had to be left out.
 * Single-threaded, no I/O but the log.
 *
 * A plan has the differences of the owner's own keys, and of the reverse keys of every address
 *
 *     that it claims, when it is the winner (reverse.h), and
 *     that has another winner now, or none, through what changed about the owner.
 *
 * The latter stay with the owner (owner->touched) until a plan finds nothing to do about them, so
 * that they are part of its transaction also when the first one fails. */
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
    const struct inventory *inventory; /* all borrowed for good */
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
    struct buf host;
    struct buf value;
    struct desired desired;
    struct claims claims;
    struct ip_list touched;   /* besides those it wins */
    struct plan reverse_plan; /* operations on reverse keys alone */
    struct plan left;         /* of the last plan: puts of keys that are somebody else's and stay */
    uint64_t dropped;    /* parts of objects that cannot be in a key, each time they were met */
    bool has_all_claims; /* the reconciler's to say: each owner has been planned since all was
                            listed */
    bool was_told;       /* that keys of the owner being planned are others' */
    uint64_t foreign;    /* desired reverse keys that are others', now */
};

/* The planner must stay where it is. */
void planner_init(struct planner *planner, const struct planner_config *config);
void planner_fini(struct planner *planner);

struct planned {
    size_t work;        /* how much it was, in records */
    size_t reverse_ops; /* operations on reverse keys */
    bool must_wait;     /* it deletes what must not be deleted yet */
    bool has_left_some; /* operations on reverse keys that must not be done yet were left out */
    struct owner
        *other; /* whose transaction in flight has a key of this plan, which is void; or NULL */
};

/* Fills ret_plan, empty when nothing is to be done or when what the owner should have cannot be
 * told (its keys then stay as they are), and sets what owner says of its last plan. */
struct planned planner_plan(struct planner *planner, struct owner *owner, struct plan *ret_plan);

/* Whose the reverse key is: the owner's id, or empty when nobody wants it. Borrowed until the next
 * plan. */
struct slice planner_reverse_owner(const struct planner *planner, struct slice key);

#endif
