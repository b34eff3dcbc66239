/* The cluster's objects, as reported by the reflectors: the latest state of each, indexed by the
 * owner of the keys it yields. An owner's id is the path of its keys below the domain, in lower
 * case:
 *
 *     svc/<namespace>/<service>    a Service with its Endpoints or slices
 *     pod/<namespace>/<IP label>   an address that pods of the namespace have (naming_pod_label)
 *     node/<labels in reverse>     a Node, ip-10-0-0-1.ec2.internal: node/internal/ec2/ip-10-0-0-1
 *
 * A complete list removes objects it did not name; a list that starts over voids its earlier part.
 * A Service list without default/kubernetes, which every API server creates, is not complete (the
 * server's store may have just been emptied): it removes nothing until that Service appears. A list
 * of pods, or of Nodes, without any removes nothing until there is one; without keys of theirs
 * nothing waits for that. Kinds are complete independently: one that cannot be listed preserves the
 * keys it feeds, and no others.
 *
 * With namespaces, each has its own state: lists, source and doubts of one say nothing of another.
 *
 * Most Endpoints and slices belong to Services with a cluster IP, where they yield no keys: then
 * only their names are kept. If such a Service becomes headless (from ExternalName, or deleted and
 * made again), its own are listed again, since no watch repeats them; meanwhile it is in doubt.
 *
 * Single-threaded. */
#ifndef KUBE2SKY_NAMING_INVENTORY_H
#define KUBE2SKY_NAMING_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/slice.h"
#include "kube2sky/api/kube_object.h"
#include "kube2sky/naming/owner_objects.h"
#include "kube2sky/naming/slice_change.h"

struct inventory;

struct inventory_config {
    /* Only some namespaces or labels are listed, which may lack default/kubernetes and pods. */
    bool is_narrowed;
    const char *const *namespaces; /* lower case, borrowed for good; none: all are one */
    size_t namespace_count;
    /* The objects behind the owner's keys changed; not called for an unchanged state. Called from
     * inside the functions below; must not call back. */
    void (*changed)(void *data, struct slice owner);
    /* Instead of it, for a slice's change that can be named by itself; borrowed. NULL: changed. */
    void (*slice_changed)(void *data, struct slice owner, const struct slice_change *change);
    /* The Service's Endpoints or slices must be listed, for inventory_fill; likewise from inside.
     * NULL: not wanted. */
    void (*parts_wanted)(void *data, const char *ns, const char *service);
    void *data;
};

/* Initially endpoints come from KUBE_ENDPOINTS, and pods are wanted; Nodes and Namespaces are not.
 */
struct inventory *inventory_new(const struct inventory_config *config);
void inventory_free(struct inventory *inventory); /* NULL is fine */

/* Where objects of the kind in this namespace go: the first argument of the functions down to "The
 * reconciler's side". The inventory itself, unless it has namespaces and the kind is in one; NULL:
 * this is none of them. */
struct inventory *inventory_part(struct inventory *inventory, enum kube_kind kind, const char *ns);

/* Sets the source of headless Services' endpoints, KUBE_ENDPOINTS or KUBE_SLICE. A source that was
 * listed stays in force until the new one is listed, so that no key goes away in between. Objects
 * of the other kind are dropped. */
void inventory_use_endpoints(struct inventory *inventory, enum kube_kind kind);

/* false: what the source lacks may still exist (endpoints_source.h): a headless Service is in doubt
 * unless its endpoints have changed in the source since its first list, or gone from it. true: a
 * complete list of the source decides alone. Initially true. A change is reported for each of them.
 */
void inventory_settle_endpoints(struct inventory *inventory, bool is_settled);

/* Whether pods, Nodes or Namespaces are fed, in every namespace. Of a kind that is not, none are
 * waited for, and none exist. */
void inventory_want(struct inventory *inventory, enum kube_kind kind, bool is_wanted);

/* The server refuses to list the kind, or does not have it: not waited for either, but nothing of
 * it is known, so its keys stay. For kinds that an older ClusterRole does not permit, and for one
 * namespace of several. KUBE_ENDPOINTS: their source. */
void inventory_lack(struct inventory *inventory, enum kube_kind kind);

/* ---- The reflectors' side: see reflector.h. Unwanted kinds are ignored. ---- */

void inventory_list_begin(struct inventory *inventory, enum kube_kind kind);

/* Takes the object. A garbled one keeps its last state; without one, the owner it names is in doubt
 * until it is understood or gone. (A slice names its Service by a label, a pod names no owner.) */
void inventory_upsert(struct inventory *inventory, struct kube_object *object);

void inventory_remove(struct inventory *inventory, enum kube_kind kind, const char *ns,
                      const char *name);
void inventory_list_end(struct inventory *inventory, enum kube_kind kind);

/* Endpoints or a slice of a Service that wanted them, listed while the watch goes on; takes it.
 * Only gives content to what is known and has none: what the watch has said is newer, and what it
 * has not yet said, it will. */
void inventory_fill(struct inventory *inventory, struct kube_object *object);

/* ---- The reconciler's side: of all namespaces ---- */

/* Fills ret_objects (cleared first), borrowed until the next change. */
void inventory_get(const struct inventory *inventory, struct slice owner,
                   struct owner_objects *ret_objects);

/* Whether every kind that feeds the owner's keys has been listed completely, so that those it does
 * not want may be deleted, unless it is in doubt (owner_objects.h). */
bool inventory_may_delete(const struct inventory *inventory, struct slice owner);

/* The same for a reverse key that names this Service, "svc/default/web": whether it may be changed
 * or deleted. An empty owner: whichever it names. */
bool inventory_knows_claims(const struct inventory *inventory, struct slice owner);

/* Claims are still to come: of Services and endpoints that the server does not refuse. */
bool inventory_awaits_claims(const struct inventory *inventory);

/* Whether pods that have not ended have the address; and such pods of the namespace, in lower case.
 */
bool inventory_has_pod(const struct inventory *inventory, const struct ip *ip);
bool inventory_has_pod_of(const struct inventory *inventory, const struct ip *ip, struct slice ns);

/* Whether those of the namespace of this Service, "svc/default/web", are all: pods have been listed
 * completely, or are not wanted. An empty owner: of all namespaces. */
bool inventory_knows_pods(const struct inventory *inventory, struct slice owner);

/* A bit (1 << kind) for each kind that has been listed completely or is not wanted. */
unsigned inventory_complete_kinds(const struct inventory *inventory);

/* Grows when a kind becomes complete somewhere, and at each later list: more may be deleted. */
uint64_t inventory_completions(const struct inventory *inventory);

/* The faults of the object's last state, borrowed; "" if there are none. */
const char *inventory_faults(struct inventory *inventory, const struct kube_object *object);

/* For pages: the object by "<namespace>/<name>" in lower case, garbled or not; borrowed until the
 * next change. NULL: none is known. */
const struct kube_object *inventory_find(const struct inventory *inventory, enum kube_kind kind,
                                         struct slice id);

/* Each object of the kind, in any order, until fn returns false; id as above. */
void inventory_each(const struct inventory *inventory, enum kube_kind kind,
                    bool (*fn)(void *data, struct slice id, const struct kube_object *object),
                    void *data);

/* Every kind has been listed completely: other objects do not exist. */
bool inventory_is_complete(const struct inventory *inventory);

/* What it still waits for, for /readiness and the log; a constant; NULL if complete. */
const char *inventory_missing(const struct inventory *inventory);

/* The last list of the kind, pods or Nodes, had none, which is not believed. */
bool inventory_doubts(const struct inventory *inventory, enum kube_kind kind);

/* Number of objects of the kind. */
size_t inventory_count(const struct inventory *inventory, enum kube_kind kind);

#endif
