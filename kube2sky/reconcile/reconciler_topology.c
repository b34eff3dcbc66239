/* Queues the owners of topology keys when their Services change. */
#include <string.h>

#include "kube2sky/naming/contract.h"
#include "kube2sky/reconcile/reconciler_internal.h"

struct slice reconciler_topology_of(struct reconciler *r, struct slice id)
{
    if (!slice_has_prefix(id, slice_str(SERVICE_PREFIX))) {
        return slice_of(NULL, 0);
    }
    buf_clear(&r->topology_id);
    buf_append_str(&r->topology_id, TOPOLOGY_PREFIX);
    buf_append(&r->topology_id, id.ptr + OWNER_PREFIX_LEN, id.len - OWNER_PREFIX_LEN);
    const struct slice topology = buf_slice(&r->topology_id);
    return !r->topology_id.failed && ownership_is_topology(&r->ownership, topology)
               ? topology
               : slice_of(NULL, 0);
}

void reconciler_look_at_topology(struct reconciler *r, struct slice id)
{
    const struct slice topology =
        r->config.has_topology ? reconciler_topology_of(r, id) : slice_of(NULL, 0);
    if (topology.len &&
        (owners_find(r->owners, topology) || planner_wants_topology(&r->planner, topology))) {
        reconciler_owner_changed(r, topology);
    }
}
