/* Plans one owner in two steps, each from the inventory through naming:
 *
 *     its objects changed -> claim: its claims on reverse names replace its last ones (reverse.h)
 *     then, and whenever etcd changed -> plan: desired keys compared with etcd. PURE
 *
 * A plan has the differences of the owner's own keys, and of the reverse keys of every address
 *
 *     that it claims and wins, and
 *     whose winner the owner's change replaced or removed.
 *
 * The latter stay with the owner (owner->touched) until a plan finds nothing to do about them, so
 * that they survive a failed transaction.
 *
 * Withheld, that is, not in the plan, is what may turn out to be wrong: deletes before all that
 * feeds the owner's keys is listed; changes of reverse keys before all claims are, and while
 * claims of the namespace that has the key now are awaited; and both while the owner that has it is
 * in doubt and might want it: whoever has a cluster IP, or a pod where the other has none, does not
 * wait for that. So additions
 * never wait, and doubt holds up only the owner that it concerns. A reverse key in flight with
 * another owner waits until that has landed; the rest of the plan does not. Withheld, too, are the
 * additions of a pod on the host network before readers can know that its address is its node's:
 * they take an address for its pod's unless it is among the node addresses. So the node address, in
 * turn, stays until the pod's keys are gone. Withheld, at last, are new keys for which their
 * namespace has no room (key_room_internal.h); and those of external names until all Services are
 * known, of which an older one may claim them.
 *
 * Plan only when no claims of the owner's namespace are awaited (owners_awaits_claims), and again
 * after a claim that was due. Single-threaded, no I/O but the log; reuses the steps' memory between
 * owners. */
#ifndef KUBE2SKY_RECONCILE_PLANNER_INTERNAL_H
#define KUBE2SKY_RECONCILE_PLANNER_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "kube2sky/naming/claims.h"
#include "kube2sky/naming/desired.h"
#include "kube2sky/naming/inventory.h"
#include "kube2sky/naming/ip_list.h"
#include "kube2sky/naming/naming.h"
#include "kube2sky/naming/owner_objects.h"
#include "kube2sky/naming/reverse.h"
#include "kube2sky/reconcile/flaw_list.h"
#include "kube2sky/reconcile/key_room_internal.h"
#include "kube2sky/reconcile/owners_internal.h"
#include "kube2sky/reconcile/plan.h"
#include "kube2sky/reconcile/reverse_keys_internal.h"

struct client_keys;
struct config_keys;
struct external_aliases;
struct external_keys;
struct key_source;

struct planner_config {
    const struct inventory *inventory; /* all outlive the planner */
    const struct owners *owners;
    const struct reverse_keys *reverse_keys;
    const char *domain;
    uint32_t ttl_s;
    enum endpoint_names endpoint_names;
    struct key_limits limits;
    bool has_reverse;                          /* reverse keys are desired */
    struct flaw_list *flaws;                   /* outlives it; NULL: not wanted */
    const struct client_keys *client_keys;     /* outlive it; NULL: no owner is of their classes */
    struct config_keys *config_keys;           /* outlives it; NULL: there is no CONFIG_OWNER */
    struct external_aliases *aliases;          /* outlives it; NULL: none are wanted */
    const struct external_keys *external_keys; /* outlives it; needed with aliases */
    const struct key_source *feeds;            /* KEY_FEEDS of them, with client_keys */
    bool is_dry;                               /* nothing waits for what will not be written */
};

struct planner {
    struct planner_config config;
    struct naming_config naming;
    struct reverse *reverse;
    struct owner_objects objects;
    struct buf base;
    struct buf key;
    struct buf value;
    struct desired desired; /* and claims: of the owner last named */
    struct desired others;  /* likewise: external names that it claims and does not get */
    struct claims claims;
    struct buf holder_key;    /* scratch of reverse_holder */
    struct buf named;         /* its id; empty: none, or objects have changed since */
    struct ip_list touched;   /* in addition to those it wins */
    struct plan reverse_plan; /* only operations on reverse keys */
    struct plan left;         /* of the last plan: puts of keys that others own, left alone */
    struct plan withheld;     /* of the last plan */
    uint64_t dropped;   /* parts of objects that cannot be in a key, each time an owner claims */
    uint64_t too_large; /* owners */
};

/* The planner must not move afterwards. */
void planner_init(struct planner *planner, const struct planner_config *config);
void planner_fini(struct planner *planner);

/* To be called when objects changed: the owner named last is named again. */
void planner_forget_names(struct planner *planner);

/* Registers the owner's claims and adds to owner->touched; sets owner->is_in_doubt, also if it has
 * too many records. Then it has no claims, as after a restart: what etcd holds for it stays, and it
 * is in nobody's way elsewhere. Returns its size in records. */
size_t planner_claim(struct planner *planner, struct owner *owner);

/* All that changed about the settled owner: claim and plan cost what the change does. False: they
 * take everything, as without it. */
bool planner_note_change(struct planner *planner, struct owner *owner,
                         const struct slice_change *change);

/* What the owner wants, into planner->desired and planner->claims, valid until objects change or
 * another owner is named; parts left out are passed to dropped(data), not counted. For pages. */
int planner_look(struct planner *planner, const struct owner *owner,
                 void (*dropped)(void *data, const struct naming_drop *drop), void *data,
                 struct err *err) MUST_CHECK;

/* For pages, too: the winner of an address; whether the owner's unwanted keys may be deleted. */
bool planner_winner(const struct planner *planner, const struct ip *ip,
                    struct reverse_winner *ret_winner);
bool planner_may_delete_own(const struct planner *planner, const struct owner *owner);

struct planned {
    size_t work;             /* its size in records */
    size_t reverse_ops;      /* operations on reverse keys */
    uint32_t desired_count;  /* keys of its own */
    uint32_t external_count; /* desired reverse keys, or external names, that others own:
                               planner->left */
    bool has_copies;         /* plan_add_deletes left some */
    bool is_withheld;        /* planner->withheld has operations */
    bool is_split;           /* planner_leave_reverse withheld some */
    bool awaits_claims;      /* likewise, because claims of the key's namespace are due */
    bool lacks_room;         /* new keys were withheld for that: key_room_internal.h */
    struct key_amount after; /* what etcd has of its own keys after the plan */
    struct owner *other;     /* the owner whose transaction in flight has a reverse key that this
                                one wants, withheld until it has landed; or NULL */
};

/* Fills ret_plan, empty if there is nothing to do, or nothing yet. CONFIG_OWNER's requires that its
 * keys are known, and is to be cut before it is sent. */
struct planned planner_plan(struct planner *planner, const struct owner *owner,
                            struct plan *ret_plan);

/* Of a plan that also has the owner's own keys, withholds the reverse keys: another writer keeps
 * changing those. */
void planner_leave_reverse(struct planner *planner, struct plan *plan, struct planned *planned);

/* The reverse keys that are desired, of all owners; and the addresses that are claimed only by
 * namespaces whose they cannot be (reverse.h). */
size_t planner_reverse_count(const struct planner *planner);
size_t planner_reverse_refused(const struct planner *planner);

/* To be called when etcd's reverse key changed: true if it names another owner now than before. */
bool planner_decide_reverse(struct planner *planner, struct slice key);

/* The id of the owner that wants the reverse key; empty if none. Borrowed until the next plan. */
struct slice planner_reverse_owner(const struct planner *planner, struct slice key);

#endif
