/* Makes pods' owners and keys about clients wait for each other, and queues those that changed; and
 * owners of topology keys, and of names in the external zone, when their Services change. */
#include "kube2sky/naming/client_keys.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/reconcile/reconciler_internal.h"
#include "kube2sky/reconcile/refusal_internal.h"

static const enum owner_class classes[CLIENT_KEYS_PARTS] = {
    [CLIENT_KEYS_NODE_ADDRESS] = OWNER_NODE_ADDRESS,
    [CLIENT_KEYS_VISIBLE] = OWNER_VISIBLE,
    [CLIENT_KEYS_RECORD] = OWNER_CLIENT,
};

/* Queues the owner of the copy of a visibility key that the multicluster domain has. */
static void take_import_visible(struct reconciler *r, struct slice owner)
{
    const size_t skipped = sizeof(VISIBLE_PREFIX) - 1;
    if (r->config.import_domain && slice_has_prefix(owner, slice_str(VISIBLE_PREFIX))) {
        buf_clear(&r->import_visible_id);
        buf_append_str(&r->import_visible_id, IMPORT_VISIBLE_PREFIX);
        buf_append(&r->import_visible_id, owner.ptr + skipped, owner.len - skipped);
        reconciler_owner_changed(r, buf_slice(&r->import_visible_id));
    }
}

void reconciler_take_client_changes(struct reconciler *r)
{
    struct client_keys *keys = r->config.client_keys;
    for (int i = 0; keys && i < CLIENT_KEYS_PARTS; i++) {
        enum client_keys_part part = (enum client_keys_part)i;
        struct slice key;
        while ((key = client_keys_next_change(keys, part)).ptr) {
            if (ownership_place(&r->ownership, key) == KEY_CLIENT) {
                struct slice owner = ownership_part(&r->ownership, key).owner;
                reconciler_owner_changed(r, owner);
                take_import_visible(r, owner);
            }
        }
        bool may_delete = client_keys_may_delete(keys, part);
        if (may_delete && !r->may_delete_clients[part]) {
            owners_hold_release(r->owners);
        }
        r->may_delete_clients[part] = may_delete;
    }
}

static void reconciler_clients_release(void *data, struct owner *owner)
{
    if (owner->state == OWNER_HELD) {
        reconciler_want_look(data, owner);
    }
}

void reconciler_tell_settled(struct reconciler *r, const struct owner *owner)
{
    struct slice pod = owner_pod_label(owner), node = owner_node_label(owner);
    struct owner *waiting = pod.len ? owners_find_node(r->owners, pod) : NULL;
    if (waiting) {
        reconciler_clients_release(r, waiting);
    } else if (node.len && !r->config.planned) { /* in a dry run no owner waited */
        owners_each_at(r->owners, node, reconciler_clients_release, r);
    }
}

static bool is_pending(const struct reconciler *r, enum owner_class class)
{
    return owners_in(r->owners, class, OWNER_QUEUED) > 0 ||
           transactions_used_by(r->transactions, class) > 0;
}

static bool are_imports_pending(const struct reconciler *r)
{
    const struct key_source *source = &r->feeds[KEY_SOURCE_IMPORTS];
    return source->mirror &&
           (!key_source_is_settled(source) || is_pending(r, OWNER_IMPORT_VISIBLE));
}

bool reconciler_clients_are_pending(const struct reconciler *r)
{
    const struct key_source *source = &r->feeds[KEY_SOURCE_BESIDE];
    bool is_onlooker = !reconciler_may_write(r) && !r->config.planned;
    if (!r->config.client_keys || is_onlooker || key_source_is_barred(source)) {
        return false;
    }
    bool is_pending_any =
        !key_source_is_settled(source) || !client_keys_are_known(r->config.client_keys);
    for (size_t i = 0; i < CLIENT_KEYS_PARTS && !is_pending_any; i++) {
        is_pending_any = is_pending(r, classes[i]);
    }
    return is_pending_any || is_pending(r, OWNER_TOPOLOGY) || are_imports_pending(r);
}

bool reconciler_explain_clients(const struct reconciler *r, struct buf *out)
{
    const struct key_source *source = &r->feeds[KEY_SOURCE_BESIDE];
    const struct key_source *imports = &r->feeds[KEY_SOURCE_IMPORTS];
    if (key_source_is_barred(source) || key_source_is_barred(imports)) {
        bool is_of_imports = !key_source_is_barred(source);
        buf_printf(out, "keys about clients cannot be read below %s: %s",
                   is_of_imports ? r->ownership.import_visible : r->ownership.beside,
                   is_of_imports ? imports->failure.msg : source->failure.msg);
        return true;
    }
    for (int i = 0; i < CLIENT_KEYS_PARTS; i++) {
        if (refusals_of(r->refusals, classes[i]) && r->config.client_keys) {
            struct slice tree = client_keys_tree(r->config.client_keys, (enum client_keys_part)i);
            buf_append_str(out, "keys about clients cannot be written below ");
            buf_append_slice(out, tree);
            buf_printf(out, ": %s", r->refused[classes[i]].msg);
            return true;
        }
    }
    if (refusals_of(r->refusals, OWNER_IMPORT_VISIBLE)) {
        buf_printf(out, "keys about clients cannot be written below %s: %s",
                   r->ownership.import_visible, r->refused[OWNER_IMPORT_VISIBLE].msg);
        return true;
    }
    if (refusals_of(r->refusals, OWNER_TOPOLOGY)) {
        buf_printf(out, "zones of addresses cannot be written below %s" TOPOLOGY_PREFIX ": %s",
                   r->ownership.beside, r->refused[OWNER_TOPOLOGY].msg);
        return true;
    }
    return false;
}

/* ---- Topology keys ---- */

/* Returns the Service's owner with another prefix; empty: it is no Service's. */
static struct slice reconciler_clients_beside(struct reconciler *r, struct slice id,
                                              const char *prefix)
{
    if (!slice_has_prefix(id, slice_str(SERVICE_PREFIX))) {
        return slice_of(NULL, 0);
    }
    buf_clear(&r->beside_id);
    buf_append_str(&r->beside_id, prefix);
    buf_append_slice(&r->beside_id, slice_skip(id, OWNER_PREFIX_LEN));
    return r->beside_id.failed ? slice_of(NULL, 0) : buf_slice(&r->beside_id);
}

struct slice reconciler_topology_of(struct reconciler *r, struct slice id)
{
    const struct slice topology = reconciler_clients_beside(r, id, TOPOLOGY_PREFIX);
    return topology.len && ownership_is_topology(&r->ownership, topology) ? topology
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

/* ---- Names in the external zone ---- */

void reconciler_look_at_external(struct reconciler *r, struct slice id)
{
    const struct slice external = r->config.external.zone
                                      ? reconciler_clients_beside(r, id, EXTERNAL_PREFIX)
                                      : slice_of(NULL, 0);
    if (external.len &&
        (owners_find(r->owners, external) || planner_wants_external(&r->planner, id))) {
        reconciler_owner_changed(r, external);
    }
}
