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
 * A plan withholds each operation that may turn out to be wrong. Deletes wait until all objects
 * that may want the owner's keys are listed. Changes of reverse keys wait until all claims are
 * known, and while claims of the namespace that has the key now are due. Both wait while the owner
 * that has the key is in doubt and might want it; a cluster IP, or a pod where the other has none,
 * does not wait for that. So additions never wait, and doubt delays only the owner that it
 * concerns.
 *
 * A reverse key in flight with another owner waits until that transaction has landed; the rest of
 * the plan does not.
 *
 * Additions of a pod on the host network wait until readers can know that its address is its
 * node's: they take an address for a pod's unless it is among the node addresses. So the node
 * address, in turn, stays until the pod's keys are gone.
 *
 * New keys wait while their namespace has no room for them (key_room_internal.h).
 *
 * Only one owner is claimed or planned at a time. A large one is so in portions, between which the
 * loop serves everything else.
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
#include "kube2sky/naming/naming.h"
#include "kube2sky/naming/owner_objects.h"
#include "kube2sky/naming/reverse.h"
#include "kube2sky/reconcile/flaw_list.h"
#include "kube2sky/reconcile/key_room_internal.h"
#include "kube2sky/reconcile/owners_internal.h"
#include "kube2sky/reconcile/plan.h"
#include "kube2sky/reconcile/reverse_keys_internal.h"

struct client_keys;
struct event_queue;
struct config_keys;
struct external_aliases;
struct external_keys;
struct key_source;

struct planner_config {
    const struct inventory *inventory; /* this and the next pointers outlive the planner */
    const struct inventory *imports;   /* NULL: there are none */
    const struct owners *owners;
    const struct reverse_keys *reverse_keys;
    const char *domain;
    const char *import_domain; /* NULL: there are no imports */
    uint32_t ttl_s;
    enum endpoint_names endpoint_names;
    struct external_zone external;
    struct key_limits limits;
    bool has_reverse;                          /* whether reverse keys are desired, */
    bool has_topology;                         /* and topology keys */
    struct flaw_list *flaws;                   /* outlives it; NULL: not wanted */
    struct event_queue *events;                /* likewise */
    const struct client_keys *client_keys;     /* outlives it; NULL: no owner is of its classes */
    struct config_keys *config_keys;           /* outlives it; NULL: there is no CONFIG_OWNER */
    struct external_aliases *aliases;          /* outlives it; NULL: none are wanted */
    const struct external_keys *external_keys; /* outlives it; needed with aliases */
    const struct key_source *feeds;            /* KEY_FEEDS mirrors' states, with client_keys */
    bool is_dry;                               /* a dry run: nothing waits for unwritten keys */
};

struct planned {
    size_t work;             /* its size in records */
    size_t reverse_ops;      /* operations on reverse keys */
    uint32_t desired_count;  /* its own keys */
    uint32_t left_count;     /* desired keys that others have, reverse keys and external names:
                                planner->left */
    bool has_copies;         /* plan_add_deletes left copies */
    bool is_withheld;        /* planner->withheld has operations */
    bool is_split;           /* planner_leave_reverse withheld reverse keys */
    bool awaits_claims;      /* some are withheld since claims of the key's namespace are due */
    bool lacks_room;         /* new keys are withheld for want of room: key_room_internal.h */
    struct key_amount after; /* its own keys in etcd after the plan */
    struct owner *other;     /* the owner whose transaction in flight has a reverse key that this
                              * one wants, withheld until that has landed; or NULL */
};

/* Steps of a claim or plan, of owners that have names; a claim has the first only. */
enum planner_step {
    PLANNER_NAMES,
    PLANNER_PUTS,
    PLANNER_DELETES,
};

/* A claim, or plan, that goes on in the next turn of the loop. */
struct planner_job {
    const struct owner *owner; /* NULL: there is none */
    bool is_plan;
    enum planner_step step;
    struct naming_job *naming; /* NULL: the names are complete */
    size_t listed;             /* owner_objects_work when it began to name */
    bool has_changed;          /* the owner's objects have changed since it began */
    bool is_outdated;          /* any objects have: the names are good for this job only */
    /* Plans only */
    bool is_named;      /* the owner had just claimed */
    bool is_touched;    /* etcd's keys of the owner have changed: they are compared again */
    bool puts_wait;     /* puts are withheld, */
    bool may_delete;    /* deletes are not, */
    bool awaits_claims; /* perhaps only since claims are due */
    struct plan_place place;
    struct planned planned;
};

/* Counts how often in a row an owner's job was given up, or its comparison begun again. */
struct planner_setbacks {
    const struct owner *owner; /* only compared; it may be gone */
    unsigned count;
};

struct planner {
    struct planner_config config;
    struct naming_config naming;
    struct reverse *reverse;
    struct owner_objects objects;
    struct buf base;
    struct buf key;
    struct buf value;
    struct desired desired; /* of the owner last named, as are the claims */
    struct desired others;  /* likewise: external names that it claims and does not get */
    struct claims claims;
    struct buf holder_key; /* scratch buffer of planner_reverse_holder */
    struct planner_job job;
    struct planner_setbacks setbacks;
    struct buf named;            /* id of the owner last named; empty: none, or objects have changed
                                  * since */
    struct ip_list touched;      /* addresses beside those that the owner wins */
    struct plan reverse_plan;    /* only operations on reverse keys */
    struct plan left;            /* of the last plan: puts of keys that belong to other writers */
    struct plan withheld;        /* of the last plan */
    struct owner_objects placed; /* of the topology key being planned, */
    struct buf zones;            /* and its value */
    char *port_fault;            /* of the owner being claimed, for its event; NULL: none */
    uint64_t dropped;   /* counts parts of objects that cannot be in a key, each time an owner
                         * claims */
    uint64_t too_large; /* owners */
};

/* Returns the inventory with the objects of the owner: Services, or imports. */
const struct inventory *planner_inventory(const struct planner *planner, struct slice id);

/* Initializes the planner, which must not move afterwards. */
void planner_init(struct planner *planner, const struct planner_config *config);
void planner_fini(struct planner *planner);

/* Forgets the names of the last owner: call it when objects changed. */
void planner_forget_names(struct planner *planner);

/* Registers the owner's claims and adds to owner->touched. Sets owner->is_in_doubt, also if it has
 * too many records. Such an owner has no claims, as after a restart: etcd keeps its keys, and it is
 * in no other owner's way.
 *
 * It does so in portions. Each takes the records that it names from the budget; with none left it
 * returns false, and goes on when called with the same owner. A call for another owner gives it
 * up. When done, it sets *ret_work to the owner's size in records. */
bool planner_claim(struct planner *planner, struct owner *owner, size_t *budget, size_t *ret_work);

/* Returns the owner whose claim, or plan, is to go on; NULL: there is none. */
const struct owner *planner_claiming(const struct planner *planner);
const struct owner *planner_planning(const struct planner *planner);

/* Returns whether the owner's objects have changed since its claim or plan began. */
bool planner_has_changed(const struct planner *planner, const struct owner *owner);

/* Gives up what is to go on. After a few such setbacks in a row, all is done at once. */
void planner_give_up(struct planner *planner);

/* Notes that the owner's objects, or its keys in etcd, have changed. */
void planner_note_objects(struct planner *planner, const struct owner *owner);
void planner_note_keys(struct planner *planner, const struct owner *owner);

/* Notes the only change of the settled owner: claim and plan then cost as much as the change.
 * Returns false if they must take the whole owner. */
bool planner_note_change(struct planner *planner, struct owner *owner,
                         const struct slice_change *change);

/* Builds the owner's desired keys in planner->desired and planner->claims, for pages. They are
 * valid until objects change or another owner is named. Dropped parts are passed to dropped(data),
 * not counted. */
int planner_look(struct planner *planner, const struct owner *owner,
                 void (*dropped)(void *data, const struct naming_drop *drop), void *data,
                 struct err *err) MUST_CHECK;

/* Returns whether the owner "topology/default/web" wants its key, as far as its Service says. */
bool planner_wants_topology(struct planner *planner, struct slice id);

/* Returns whether the Service "svc/default/web" wants names in the external zone. */
bool planner_wants_external(struct planner *planner, struct slice id);

/* Returns, for pages, the winner of an address. */
bool planner_winner(const struct planner *planner, const struct ip *ip,
                    struct reverse_winner *ret_winner);

/* Fills ret_plan; it is empty if there is nothing to do, or nothing yet. CONFIG_OWNER requires that
 * its keys are known, and its plan must be cut before it is sent.
 *
 * It does so in portions, as planner_claim, if the owner has names; ret_plan is left alone between
 * them. The plan is of the objects as they were at first. */
bool planner_plan_some(struct planner *planner, const struct owner *owner, size_t *budget,
                       struct plan *ret_plan, struct planned *ret_planned);

/* Does the same at once, for pages, which may plan an owner that is unknown. Gives up what is to go
 * on. */
struct planned planner_plan(struct planner *planner, const struct owner *owner,
                            struct plan *ret_plan);

/* Withholds the reverse keys of a plan that also has the owner's own keys: another writer keeps
 * changing them. */
void planner_leave_reverse(struct planner *planner, struct plan *plan, struct planned *planned);

/* Returns whether somebody else has keys at the external name, or has this key. data: the keys, of
 * external_aliases_build. */
bool planner_is_name_taken(const void *data, struct slice name_key, struct slice key);

/* ---- planner_events.c: tells planner_config.events, if set, which faults an owner has ---- */

/* Notes a part that was dropped while the owner claims. */
void planner_note_drop(struct planner *planner, const struct naming_drop *drop);

/* Tells the fault found in the change of a slice; that of an earlier change stays. */
void planner_tell_changed(struct planner *planner, const struct owner *owner);

/* Tell the faults of the owner's objects, when it begins to claim; and, when it has claimed, why it
 * has too many records; NULL: it has not. */
void planner_tell_objects(struct planner *planner, const struct owner *owner);
void planner_tell_claimed(struct planner *planner, const struct owner *owner,
                          const char *too_large);

/* Tells the faults found by the plan that planner_plan has just made. */
void planner_tell_planned(struct planner *planner, const struct owner *owner,
                          const struct planned *planned);

/* Ends the faults of an object that claims no external name any more. */
void planner_tell_unclaimed(struct planner *planner, struct slice owner_object);

/* Return the number of desired reverse keys of all owners; and of addresses that only namespaces
 * claim that may not have them (reverse.h). */
size_t planner_reverse_count(const struct planner *planner);
size_t planner_reverse_refused(const struct planner *planner);

/* Decides again whose the reverse key is, after etcd's key changed. Returns true if another owner
 * wins now. */
bool planner_decide_reverse(struct planner *planner, struct slice key);

/* Returns the id of the owner that wants the reverse key; empty if none. Borrowed until the next
 * plan. */
struct slice planner_reverse_owner(const struct planner *planner, struct slice key);

/* ---- The planner's files only ---- */

/* planner_claim.c: names the owner of a job, in portions. */

/* Give up what is to go on and begin another job; and end it when it is done. */
void planner_job_open(struct planner *planner, const struct owner *owner, bool is_plan);
void planner_job_finish(struct planner *planner);

/* Begins to name the owner. Its names are complete if planner->job.naming is NULL afterwards. */
void planner_job_begin_names(struct planner *planner, const struct naming_config *naming,
                             const struct owner *owner);

/* Goes on with the names. Returns whether they are complete. */
bool planner_job_go_on_naming(struct planner *planner, size_t *budget);

/* Ends the naming; without more changes of objects, planner->named has the owner's id now. Fails if
 * it has too many records, or bytes of them. */
int planner_job_end_names(struct planner *planner, const struct owner *owner,
                          struct err *err) MUST_CHECK;

/* Returns the size of the work on the owner last named: the larger of its input and output. */
size_t planner_job_work(const struct planner *planner);

/* Takes work that was done at once from the budget. */
void planner_job_spend(size_t *budget, size_t work);

/* Note that the owner's job begins again; and return whether it must be done at once now. */
void planner_job_note_setback(struct planner *planner, const struct owner *owner);
bool planner_job_has_setbacks(const struct planner *planner, const struct owner *owner);

/* Adds to the list for pages; frees both texts. */
void planner_note_flaw(struct planner *planner, char *what, char *why);

/* Counts and tells a part that was dropped while an owner claims; data: the planner. */
void planner_on_dropped(void *data, const struct naming_drop *drop);

/* planner_reverse.c: whose name an address has, and when its key may change. */

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
