/* The cluster's objects, as reported by the reflectors: the latest state of each, indexed by the
 * owner of the keys it yields. An owner's id is the path of its keys below the domain, in lower
 * case:
 *
 *     svc/<namespace>/<service>    a Service with its Endpoints or slices
 *     pod/<namespace>/<IP label>   an address that pods of the namespace have (naming_pod_label)
 *
 * A complete list removes objects it did not name; a list that starts over voids its earlier part.
 * A Service list without default/kubernetes, which every API server creates, is not complete (the
 * server's store may have just been emptied): it removes nothing until that Service appears. Kinds
 * are complete independently: one that cannot be listed preserves the keys it feeds, and no others.
 * Single-threaded. */
#ifndef KUBE2SKY_NAMING_INVENTORY_H
#define KUBE2SKY_NAMING_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"
#include "kube2sky/api/kube_object.h"
#include "kube2sky/naming/owner_objects.h"

struct inventory;

struct inventory_config {
    /* Only some namespaces or labels are listed, which may lack default/kubernetes. */
    bool is_narrowed;
    /* The objects behind the owner's keys changed; not called for an unchanged state. Called from
     * inside the functions below; must not call back. */
    void (*changed)(void *data, struct slice owner);
    void *data;
};

/* Initially endpoints come from KUBE_ENDPOINTS, and pods are wanted. */
struct inventory *inventory_new(const struct inventory_config *config);
void inventory_free(struct inventory *inventory); /* NULL is fine */

/* Sets the source of headless Services' endpoints, KUBE_ENDPOINTS or KUBE_SLICE. A source that was
 * listed stays in force until the new one is listed, so that no key goes away in between. Objects
 * of the other kind are dropped. */
void inventory_use_endpoints(struct inventory *inventory, enum kube_kind kind);

/* Without pods, none are waited for, and no pod has an address. */
void inventory_want_pods(struct inventory *inventory, bool are_wanted);

/* ---- The reflectors' side: see reflector.h. Unwanted kinds are ignored. ---- */

void inventory_list_begin(struct inventory *inventory, enum kube_kind kind);
void inventory_upsert(struct inventory *inventory, struct kube_object *object); /* takes it */
void inventory_remove(struct inventory *inventory, enum kube_kind kind, const char *ns,
                      const char *name);
void inventory_list_end(struct inventory *inventory, enum kube_kind kind);

/* An object that cannot be parsed, "<namespace>/<name>": it keeps its last state; without one, what
 * it feeds is unknown until it is parsed or gone. With the name "" it could be any object, so its
 * list removes nothing. */
void inventory_bad(struct inventory *inventory, enum kube_kind kind, const char *name);

/* ---- The reconciler's side ---- */

/* Fills ret_objects (cleared first), borrowed until the next change. False: one of the objects
 * could not be parsed, so the owner's desired keys are unknown. */
bool inventory_get(const struct inventory *inventory, struct slice owner,
                   struct owner_objects *ret_objects);

/* Whether inventory_get is complete for the owner, so that its other keys may be deleted: every
 * kind that feeds them has been listed completely, and no object is in doubt. */
bool inventory_may_delete(const struct inventory *inventory, struct slice owner);

/* The same for reverse keys, which any Service may claim: whether they may be changed or deleted.
 */
bool inventory_knows_claims(const struct inventory *inventory);

/* Incremented whenever more may be deleted than before, so that held owners ask again. */
uint32_t inventory_epoch(const struct inventory *inventory);

/* Every kind has been listed completely: other objects do not exist. */
bool inventory_is_complete(const struct inventory *inventory);

/* What it still waits for, for /readiness and the log; a constant; NULL if complete. */
const char *inventory_missing(const struct inventory *inventory);

/* Number of objects of the kind. */
size_t inventory_count(const struct inventory *inventory, enum kube_kind kind);

#endif
