/* Where the target of a port is: its node, and its name in the reply. Most targets end with the
 * question's own end, down to which the question's walk has been already. The engine's thread;
 * nothing allocates. */
#ifndef SKYDNS_ANSWER_FAST_TARGET_INTERNAL_H
#define SKYDNS_ANSWER_FAST_TARGET_INTERNAL_H

#include <stdbool.h>

#include "common/base/slice.h"
#include "skydns/answer/fast_names_internal.h"

struct fast_target {
    const struct store_node *node; /* NULL: nothing is known of it */
    unsigned owner_at;             /* where the reply has its name */
};

/* For a target in wire bytes that was written at `written_at` of the reply to a question whose name
 * is in lower case, plain and found. False: the long way has to look. */
bool fast_target_find(const struct fast_zones *zones, const struct fast_question *question,
                      struct slice wire, unsigned written_at, struct fast_target *ret_target);

#endif
