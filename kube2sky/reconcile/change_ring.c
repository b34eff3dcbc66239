#include "kube2sky/reconcile/change_ring.h"

#include <string.h>

struct change *change_ring_add(struct change_ring *ring, struct slice owner)
{
    struct change *change = &ring->items[ring->count++ % CHANGES_KEPT];
    size_t len = owner.len < CHANGE_OWNER_MAX ? owner.len : CHANGE_OWNER_MAX;
    *change = (struct change){.api_to_plan_us = -1};
    memcpy(change->owner, owner.ptr, len); /* NUL-terminated by the line above */
    return change;
}

const struct change *change_ring_get(const struct change_ring *ring, size_t back)
{
    bool is_kept = back < CHANGES_KEPT && back < ring->count;
    return is_kept ? &ring->items[(ring->count - 1 - back) % CHANGES_KEPT] : NULL;
}
