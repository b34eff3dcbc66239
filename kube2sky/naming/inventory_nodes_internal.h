/* Finds the inventory's Nodes. A name has all records below it, so the response for a node `b`
 * would have the addresses of a node `a.b`, too: while there is a node `b`, `a.b` has no keys. Part
 * of inventory.c. */
#ifndef KUBE2SKY_NAMING_INVENTORY_NODES_INTERNAL_H
#define KUBE2SKY_NAMING_INVENTORY_NODES_INTERNAL_H

#include <stdbool.h>

#include "kube2sky/naming/inventory_index_internal.h"
#include "kube2sky/naming/owner_objects.h"

/* Returns whether it is the owner id of a Node. */
bool inventory_nodes_is_owner(struct slice owner);

/* Adds the owner's Node. Until all were listed (are_known), a Node whose name has a dot is in
 * doubt: another may be above it. */
void inventory_nodes_get(const struct index *index, struct slice owner, bool are_known,
                         struct owner_objects *objects);

/* Reports the Nodes below this name when a Node of the name appeared or went away. Looks at all
 * Nodes. */
void inventory_nodes_tell_below(struct index *index, const char *name);

/* Reports all Nodes whose names have dots: after a list, or when other Nodes may have gone. */
void inventory_nodes_tell_dotted(struct index *index);

#endif
