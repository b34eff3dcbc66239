/* What the cluster has, as the reflectors told: the latest state of each object, found by the owner
 * of the keys it gives. An owner's id is the path of its keys below the domain, in lower case:
 *
 *     svc/<namespace>/<service>    a Service with the Endpoints of its name, or with its slices
 *     pod/<namespace>/<IP label>   an address that pods of the namespace have (naming_pod_label)
 *
 * A list that is complete removes what it did not name; one that begins again voids the part that
 * came before. A Service list without default/kubernetes, which every API server makes by itself,
 * is not complete (the server's store may have been empty a moment ago): it removes nothing until
 * that Service has appeared. Each kind is complete or not for itself: one that cannot be listed
 * keeps the keys it feeds as they are, and no others. Single-threaded. */
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
    /* Only some namespaces or labels are listed, so default/kubernetes need not be there. */
    bool is_narrowed;
    /* What the owner's keys come of changed, appeared or went; the same state again is no change.
     * Called from inside the calls below; it must not call back. */
    void (*changed)(void *data, struct slice owner);
    void *data;
};

/* Endpoints come from KUBE_ENDPOINTS and pods are wanted until the calls below say otherwise. */
struct inventory *inventory_new(const struct inventory_config *config);
void inventory_free(struct inventory *inventory); /* NULL is fine */

/* Which kind, KUBE_ENDPOINTS or KUBE_SLICE, says what headless Services have. When the one before
 * was listed it stays in force until the new one is, so that no key goes in between. Objects of the
 * other kind are not kept. */
void inventory_use_endpoints(struct inventory *inventory, enum kube_kind kind);

/* Without pods nothing is waited for, and no pod has an address. */
void inventory_want_pods(struct inventory *inventory, bool are_wanted);

/* ---- The reflectors' side: see reflector.h. Kinds that are not wanted are ignored. ---- */

void inventory_list_begin(struct inventory *inventory, enum kube_kind kind);
void inventory_upsert(struct inventory *inventory, struct kube_object *object); /* takes it */
void inventory_remove(struct inventory *inventory, enum kube_kind kind, const char *ns,
                      const char *name);
void inventory_list_end(struct inventory *inventory, enum kube_kind kind);

/* An object that cannot be understood, "<namespace>/<name>": it keeps its last state, and without
 * one what it feeds is not known until it is understood or gone. With the name "" it could be any
 * object, so the list it was in removes nothing. */
void inventory_bad(struct inventory *inventory, enum kube_kind kind, const char *name);

/* ---- The reconciler's side ---- */

/* Fills ret_objects (cleared first), borrowed until the next change. False: one of the objects is
 * there and could not be understood, so what the owner should have is not known. */
bool inventory_get(const struct inventory *inventory, struct slice owner,
                   struct owner_objects *ret_objects);

/* What the owner should have is all that inventory_get says, so its other keys may go: every kind
 * that feeds them has been listed completely, and no object is in doubt. Else they stay. */
bool inventory_may_delete(const struct inventory *inventory, struct slice owner);

/* The same for reverse keys, which any Service may claim: they may be given another name or none.
 */
bool inventory_knows_claims(const struct inventory *inventory);

/* Moves on whenever more may be deleted than before: those who could not, ask again. */
uint32_t inventory_epoch(const struct inventory *inventory);

/* Every kind has been listed completely: what is not here does not exist. */
bool inventory_is_complete(const struct inventory *inventory);

/* What it still waits for, for /readiness and the log; NULL when complete. Constant. */
const char *inventory_missing(const struct inventory *inventory);

/* How many objects of the kind there are. */
size_t inventory_count(const struct inventory *inventory, enum kube_kind kind);

#endif
