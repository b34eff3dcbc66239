/* The inventory's Nodes. A name has all records below it, so the answer for a node `b` would have
 * the addresses of a node `a.b`, too: while there is a node `b`, `a.b` has no keys. Part of
 * inventory.c. */
#ifndef KUBE2SKY_NAMING_INVENTORY_NODES_INTERNAL_H
#define KUBE2SKY_NAMING_INVENTORY_NODES_INTERNAL_H

#include <stdbool.h>

#include "kube2sky/naming/inventory_index_internal.h"
#include "kube2sky/naming/owner_objects.h"

/* Whether it is the owner id of a Node. */
bool inventory_nodes_is_owner(struct slice owner);

/* Adds the owner's Node. Until all of them were listed (are_known), one whose name has a dot is in
 * doubt: another may be above it. */
void inventory_nodes_get(const struct index *index, struct slice owner, bool are_known,
                         struct owner_objects *objects);

/* A Node of this name came or went: reports those below it. Looks at all Nodes. */
void inventory_nodes_tell_below(struct index *index, const char *name);

/* Reports all whose name has a dot: after a list, or when others may have gone. */
void inventory_nodes_tell_dotted(struct index *index);

#endif
