/* Selects objects by their namespace's labels (--namespace-labels): those of a Namespace that is
 * not listed are as if they did not exist. Part of inventory.c and inventory_view.c. */
#ifndef KUBE2SKY_NAMING_INVENTORY_NAMESPACES_INTERNAL_H
#define KUBE2SKY_NAMING_INVENTORY_NAMESPACES_INTERNAL_H

#include <stdbool.h>

#include "common/base/slice.h"
#include "kube2sky/naming/inventory_index_internal.h"

/* Returns whether objects of the namespace that the id begins with, "default/web", yield keys. */
bool inventory_namespaces_has(const struct index *index, struct slice id);

/* Reports the owners in a namespace that has come or gone; NULL: in any. Takes time in proportion
 * to all objects, for an event that is rare. */
void inventory_namespaces_tell(struct index *index, const char *ns);

#endif
