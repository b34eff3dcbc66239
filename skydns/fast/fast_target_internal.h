/* Finds the target of a port: its node, and its name in the reply. Most targets share a suffix with
 * the question, whose walk has already passed the nodes of that suffix. The engine's thread;
 * nothing allocates. */
#ifndef SKYDNS_FAST_FAST_TARGET_INTERNAL_H
#define SKYDNS_FAST_FAST_TARGET_INTERNAL_H

#include <stdbool.h>

#include "common/base/slice.h"
#include "skydns/fast/fast_names_internal.h"

struct fast_target {
    const struct store_node *node; /* NULL: it has no addresses */
    int shared_at;                 /* where the question's name has it as its end; -1: nowhere */
};

/* For a target in wire form, of a question whose name is in lower case, plain and found. False:
 * fall back to the slow path. */
bool fast_target_find(const struct fast_zones *zones, const struct fast_question *question,
                      struct slice wire, struct fast_target *ret_target);

#endif
