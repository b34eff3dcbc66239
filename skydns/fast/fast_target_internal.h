/* Finds the target of a port: its node, and its name in the response. Most targets share a suffix
 * with the question, whose lookup has already passed that suffix's nodes. And that of an override.
 * On the engine's thread; it allocates nothing. */
#ifndef SKYDNS_FAST_FAST_TARGET_INTERNAL_H
#define SKYDNS_FAST_FAST_TARGET_INTERNAL_H

#include <stdbool.h>

#include "common/base/slice.h"
#include "skydns/fast/fast_names_internal.h"

struct fast_target {
    const struct store_node *node; /* NULL: it has no addresses */
    int shared_at; /* offset in the question's name of the target as its end; -1: none */
};

/* Finds a target in wire form, of a question whose name is in lower case, plain and found. Returns
 * false to fall back to the slow path. */
bool fast_target_find(const struct fast_zones *zones, const struct fast_question *question,
                      struct slice wire, struct fast_target *ret_target);

/* Finds the node of a target in wire form which no question helps to find. NULL: it has no
 * addresses, or the slow path decides. */
const struct store_node *fast_target_find_alone(const struct fast_zones *zones, struct slice wire);

#endif
