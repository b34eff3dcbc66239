/* Converts Nodes' names to the owner ids of their keys and back, and finds the inventory's Nodes. A
 * name may have dots, which stay: the node ip-10-0-0-1.ec2.internal is
 * ip-10-0-0-1.ec2.internal.node.<domain>, and its owner node/internal/ec2/ip-10-0-0-1. For naming
 * and the inventory; pure. */
#ifndef KUBE2SKY_NAMING_NODE_NAMES_INTERNAL_H
#define KUBE2SKY_NAMING_NODE_NAMES_INTERNAL_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/base/slice.h"
#include "kube2sky/naming/inventory_index_internal.h"
#include "kube2sky/naming/owner_objects.h"

/* The API's limit is 253 bytes; longer names are truncated. */
enum { NODE_NAME_MAX = 1024 };

/* Appends the id, in lower case. It has an invalid name unchanged, behind a mark that no label
 * begins with. */
void node_names_append_owner(struct slice name, struct buf *out);

/* Sets `out` to the name with this id. Returns false, with `out` empty, if no name has it. */
bool node_names_from_owner(struct slice owner, struct buf *out);

/* ---- The inventory's Nodes ----
 *
 * A name has all records below it, so the response for a node `b` would have the addresses of a
 * node `a.b`, too: while there is a node `b`, `a.b` has no keys. */

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
