/* Holds the cluster's objects, as the reflectors report them: the latest state of each, indexed by
 * the owner of the keys that it yields. An owner's id is the path of its keys below the domain, in
 * lower case:
 *
 *     svc/<namespace>/<service>    a Service with its Endpoints or slices
 *     pod/<namespace>/<IP label>   an address that pods of the namespace have (naming_pod_label)
 *     node/<labels in reverse>     a Node, ip-10-0-0-1.ec2.internal: node/internal/ec2/ip-10-0-0-1
 *
 * An inventory of its own has imports, as Services with their slices (kube_object_localize), whose
 * owners are mcs/<namespace>/<name>.
 *
 * A complete list removes objects that it did not name; a list that starts over voids its earlier
 * part. A Service list without default/kubernetes, which every API server creates, is not complete,
 * since the server's storage may have just been emptied: it removes nothing until that Service
 * appears. A list of pods, or of Nodes, without any removes nothing until there is one; nothing
 * waits for that. Kinds are complete independently: a kind that cannot be listed preserves the keys
 * that it feeds, and no others.
 *
 * With namespaces, each has its own state: lists, source and doubts of one say nothing of another.
 *
 * Most Endpoints and slices belong to Services with a cluster IP, where they yield no keys: then
 * only their names are stored. If such a Service becomes headless (from ExternalName, or deleted
 * and made again), its own are listed again, since no watch repeats them; meanwhile it is in doubt.
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

/* Says what kind of Service a change reported by `triggered` belongs to. */
enum inventory_trigger { TRIGGER_CLUSTER_IP, TRIGGER_HEADLESS };
enum { INVENTORY_TRIGGERS = 2 };

struct inventory_config {
    /* Only some namespaces or labels are listed, which may lack default/kubernetes and pods. */
    bool is_narrowed;
    bool has_imports; /* it has imports, in place of Services */
    /* An object that comes may be old: it has got the label of a selector. */
    bool is_selected;
    /* Only objects in the Namespaces listed yield keys; not with `namespaces`. KUBE_NAMESPACE must
     * be wanted then. A list of Namespaces without any is not believed. */
    bool selects_namespaces;
    const char *const *namespaces; /* lower case, borrowed for its lifetime; none: all are one */
    size_t namespace_count;
    /* Called when the objects behind the owner's keys changed, not for an unchanged state. It is
     * called from inside the functions below, and must not call back. */
    void (*changed)(void *data, struct slice owner);
    /* Called instead for a slice's change that can be named by itself; borrowed. NULL: `changed` is
     * called. */
    void (*slice_changed)(void *data, struct slice owner, const struct slice_change *change);
    /* Called after `changed`, or slice_changed, for a change that a watch showed, with the Unix
     * time at which it happened: the creation of a Service with a cluster IP, or a change of a
     * headless Service's endpoints whose controller says when it was triggered. What a list shows
     * is no news. NULL: not wanted. */
    void (*triggered)(void *data, struct slice owner, enum inventory_trigger trigger,
                      int64_t since_us);
    /* Called when the Service's Endpoints or slices must be listed for inventory_fill; from inside,
     * too. NULL: not wanted. */
    void (*parts_wanted)(void *data, const char *ns, const char *service);
    void *data;
};

/* Creates an inventory. Endpoints come from KUBE_ENDPOINTS, and pods are wanted; Nodes and
 * Namespaces are not. */
struct inventory *inventory_new(const struct inventory_config *config);
void inventory_free(struct inventory *inventory); /* NULL is fine */

/* Returns where objects of the kind in this namespace go: the first argument of the functions down
 * to "The reconciler's side". That is the inventory itself, unless it has namespaces and the kind
 * is in one. NULL: the namespace is not listed. */
struct inventory *inventory_part(struct inventory *inventory, enum kube_kind kind, const char *ns);

/* Sets the source of headless Services' endpoints, KUBE_ENDPOINTS or KUBE_SLICE. A source that was
 * listed stays in force until the new one is listed, so that no key goes away in between. Objects
 * of the other kind are dropped. */
void inventory_use_endpoints(struct inventory *inventory, enum kube_kind kind);

/* Sets whether a complete list of the source decides alone; initially true. If false, endpoints
 * that the source lacks may still exist (endpoints_source.h). A headless Service is then in doubt,
 * unless its endpoints have changed in the source since its first list, or gone from it. A change
 * is reported for each headless Service. */
void inventory_settle_endpoints(struct inventory *inventory, bool is_settled);

/* Sets whether pods, Nodes or Namespaces are fed, in every namespace. Nothing waits for an unwanted
 * kind, which has no objects. */
void inventory_want(struct inventory *inventory, enum kube_kind kind, bool is_wanted);

/* Notes that the server refuses to list the kind, or does not have it: nothing waits for it, but
 * none of it is known, so its keys stay. For kinds that an older ClusterRole does not permit, and
 * for one namespace of several. KUBE_ENDPOINTS stands for the source of endpoints. */
void inventory_lack(struct inventory *inventory, enum kube_kind kind);

/* ---- The reflectors' side: see reflector.h. Unwanted kinds are ignored. ---- */

void inventory_list_begin(struct inventory *inventory, enum kube_kind kind);

/* Takes the object. A garbled one keeps its last state. Without such a state, the owner that it
 * names is in doubt until the object is understood or gone. (A slice names its Service by a label,
 * a pod names no owner.) */
void inventory_upsert(struct inventory *inventory, struct kube_object *object);

void inventory_remove(struct inventory *inventory, enum kube_kind kind, const char *ns,
                      const char *name);
void inventory_list_end(struct inventory *inventory, enum kube_kind kind);

/* Takes Endpoints or a slice of a Service that wanted them, listed while the watch goes on. It
 * gives content only to a known object that has none: the watch's state is newer, and the watch
 * will repeat what it has not sent yet. */
void inventory_fill(struct inventory *inventory, struct kube_object *object);

/* ---- The reconciler's side: of all namespaces ---- */

/* Fills ret_objects, cleared first; borrowed until the next change. */
void inventory_get(const struct inventory *inventory, struct slice owner,
                   struct owner_objects *ret_objects);

/* Returns whether every kind that feeds the owner's keys has been listed completely. Then its
 * unwanted keys may be deleted, unless it is in doubt (owner_objects.h). */
bool inventory_may_delete(const struct inventory *inventory, struct slice owner);

/* Returns the same for a reverse key that names this Service, "svc/default/web": whether it may be
 * changed or deleted. An empty owner stands for any Service. */
bool inventory_knows_claims(const struct inventory *inventory, struct slice owner);

/* Returns whether the owner's namespace is selected, as far as it is known. */
bool inventory_selects(const struct inventory *inventory, struct slice owner);

/* Returns whether claims are still to come: of Services and endpoints that the server does not
 * refuse. */
bool inventory_awaits_claims(const struct inventory *inventory);

/* Return whether pods that have not ended have the address; and whether such pods of the namespace,
 * in lower case, have it. */
bool inventory_has_pod(const struct inventory *inventory, const struct ip *ip);
bool inventory_has_pod_of(const struct inventory *inventory, const struct ip *ip, struct slice ns);

/* Returns whether all pods of the namespace of this Service, "svc/default/web", are known: listed
 * completely, or not wanted. An empty owner stands for all namespaces. */
bool inventory_knows_pods(const struct inventory *inventory, struct slice owner);

/* Returns a count that grows when a kind becomes complete somewhere, and at each later list: more
 * keys may then be deleted. */
uint64_t inventory_completions(const struct inventory *inventory);

/* Returns the faults of the object's last state, borrowed; "" if there are none. */
const char *inventory_faults(struct inventory *inventory, const struct kube_object *object);

/* Returns, for pages, the object by "<namespace>/<name>" in lower case, garbled or not; borrowed
 * until the next change. NULL: unknown. */
const struct kube_object *inventory_find(const struct inventory *inventory, enum kube_kind kind,
                                         struct slice id);

/* Calls fn for each object of the kind, in any order, until it returns false; id as above. */
void inventory_each(const struct inventory *inventory, enum kube_kind kind,
                    bool (*fn)(void *data, struct slice id, const struct kube_object *object),
                    void *data);

/* Returns whether every kind has been listed completely: other objects do not exist. */
bool inventory_is_complete(const struct inventory *inventory);

/* Returns what it still waits for, for /readiness and the log; a constant; NULL if complete. */
const char *inventory_missing(const struct inventory *inventory);

/* Returns whether the last list of the kind, pods or Nodes, was empty, which is not believed. */
bool inventory_doubts(const struct inventory *inventory, enum kube_kind kind);

/* Returns the number of objects of the kind. */
size_t inventory_count(const struct inventory *inventory, enum kube_kind kind);

#endif
