/* What the cluster has, as the reflectors told: the latest state of each object, a Service paired
 * with the Endpoints of its name. An owner is such a pair; its id is "<namespace>/<name>", in lower
 * case, as in the keys. Single-threaded.
 *
 * A list that is complete removes what it did not name; one that begins again voids the part that
 * came before. A Service list without default/kubernetes, which every API server makes by itself,
 * is not complete (the server's store may have been empty a moment ago): it removes nothing until
 * that Service has appeared. */
#ifndef KUBE2SKY_INVENTORY_H
#define KUBE2SKY_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "common/slice.h"
#include "kube2sky/kube_object.h"

struct inventory;

struct inventory_config {
    /* The owner's objects changed, appeared or went. Called from inside the calls below. */
    void (*changed)(void *data, struct slice owner);
    void *data;
};

struct inventory *inventory_new(const struct inventory_config *config);
void inventory_free(struct inventory *inventory); /* NULL is fine */

/* ---- The reflectors' side: see reflector.h ---- */

void inventory_list_begin(struct inventory *inventory, enum kube_kind kind);
void inventory_upsert(struct inventory *inventory, struct kube_object *object); /* takes it */
void inventory_remove(struct inventory *inventory, enum kube_kind kind, const char *ns,
                      const char *name);
void inventory_list_end(struct inventory *inventory, enum kube_kind kind);

/* An object that cannot be understood, "<namespace>/<name>": it keeps its last state, and without
 * one its owner is not known until it is understood or gone. With the name "" it could be any
 * object, so the list it was in removes nothing. */
void inventory_bad(struct inventory *inventory, enum kube_kind kind, const char *name);

/* ---- The reconciler's side ---- */

/* Every kind has been listed completely: what is not here does not exist. */
bool inventory_is_complete(const struct inventory *inventory);

/* What it still waits for, for /readiness and the log; NULL when complete. Constant. */
const char *inventory_missing(const struct inventory *inventory);

struct inventory_pair {
    const struct kube_object *service;   /* NULL: there is none */
    const struct kube_object *endpoints; /* NULL: there are none */
};

/* Borrowed until the next change. False: one of the objects is there and could not be understood,
 * so what the owner should have is not known. */
bool inventory_get(const struct inventory *inventory, struct slice owner,
                   struct inventory_pair *ret_pair);

/* How many objects of the kind there are. */
size_t inventory_count(const struct inventory *inventory, enum kube_kind kind);

#endif
