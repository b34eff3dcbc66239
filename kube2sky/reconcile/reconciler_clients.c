#include "common/etcd/etcd_mirror.h"
#include "kube2sky/reconcile/client_key_writer_internal.h"
#include "kube2sky/reconcile/reconciler_internal.h"

/* ---- What they ask of each other ---- */

static struct client_key_writer *node_addresses(const struct reconciler *r)
{
    return r->client_key_writers[CLIENT_KEYS_NODE_ADDRESS];
}

/* A dry run tells what will be there in the end. */
bool reconciler_lacks_node_address(const void *data, struct slice label)
{
    const struct reconciler *r = data;
    return node_addresses(r) && !r->config.planned &&
           client_key_writer_lacks(node_addresses(r), label);
}

static void look_whether_open(void *data, struct owner *owner)
{
    bool *is_open = data;
    *is_open |= owner->state != OWNER_SETTLED || owner->is_claim_due;
}

/* A node's address, while keys of pods at it may be about to change. */
static bool is_free(const void *data, struct slice name)
{
    const struct reconciler *r = data;
    bool is_open = !r->is_mirrored || r->is_mid_publication;
    owners_each_at(r->owners, name, look_whether_open, &is_open);
    return !is_open || r->config.planned;
}

static bool is_always_free(const void *data, struct slice name)
{
    (void)data;
    (void)name;
    return true;
}

static void release(void *data, struct owner *owner)
{
    if (owner->state == OWNER_HELD) {
        reconciler_want_look(data, owner);
    }
}

static void on_settled(void *data, struct slice name)
{
    struct reconciler *r = data;
    if (r->config.planned) { /* nobody waited, and each plan is passed on once */
        return;
    }
    if (name.len) {
        owners_each_at(r->owners, name, release, r);
    } else {
        owners_hold_release(r->owners);
    }
}

static void ignore_settled(void *data, struct slice name)
{
    (void)data;
    (void)name;
}

void reconciler_tell_settled(struct reconciler *r, const struct owner *owner)
{
    struct slice label = owner_pod_label(owner);
    if (node_addresses(r) && label.len) {
        client_key_writer_recheck(node_addresses(r), label);
    }
}

/* ---- All of them ---- */

void reconciler_recheck_clients(struct reconciler *r)
{
    if (node_addresses(r)) {
        client_key_writer_recheck(node_addresses(r), slice_of(NULL, 0));
    }
}

void reconciler_clients_lead_changed(struct reconciler *r)
{
    for (size_t i = 0; i < CLIENT_KEYS_PARTS && r->client_key_writers[i]; i++) {
        client_key_writer_lead_changed(r->client_key_writers[i]);
    }
}

void reconciler_turn_clients(struct reconciler *r)
{
    for (size_t i = 0; i < CLIENT_KEYS_PARTS && r->client_key_writers[i]; i++) {
        client_key_writer_turn(r->client_key_writers[i]);
    }
}

bool reconciler_clients_are_pending(const struct reconciler *r)
{
    bool are_pending = false;
    for (size_t i = 0; i < CLIENT_KEYS_PARTS && r->client_key_writers[i]; i++) {
        are_pending |= client_key_writer_is_pending(r->client_key_writers[i]);
    }
    return are_pending;
}

bool reconciler_clients_are_busy(const struct reconciler *r)
{
    bool are_busy = false;
    for (size_t i = 0; i < CLIENT_KEYS_PARTS && r->client_key_writers[i]; i++) {
        are_busy |= client_key_writer_is_busy(r->client_key_writers[i]);
    }
    return are_busy;
}

/* ---- Lifetime ---- */

static void open_one(struct reconciler *r, enum client_keys_part part)
{
    const struct reconciler_config *config = &r->config;
    bool is_node_address = part == CLIENT_KEYS_NODE_ADDRESS;
    r->client_key_writers[part] = client_key_writer_start(&(struct client_key_writer_config){
        .loop = config->loop,
        .etcd = config->etcd,
        .keys = config->client_keys,
        .part = part,
        .domain = config->domain,
        .namespaces = config->namespaces,
        .namespace_count = config->namespace_count,
        .txn_ops_max = config->txn_ops_max,
        .may_write = reconciler_writes,
        .condition = config->leader_lease_s ? reconciler_leads : NULL,
        .is_free = is_node_address ? is_free : is_always_free,
        .settled = is_node_address ? on_settled : ignore_settled,
        .refuted = reconciler_refuted,
        .wrote = reconciler_wrote_beside,
        .planned = config->planned ? reconciler_planned_beside : NULL,
        .data = r,
    });
}

void reconciler_open_clients(struct reconciler *r)
{
    for (int i = 0; i < CLIENT_KEYS_PARTS && r->config.client_keys; i++) {
        open_one(r, (enum client_keys_part)i);
    }
}

void reconciler_close_clients(struct reconciler *r)
{
    for (size_t i = 0; i < CLIENT_KEYS_PARTS; i++) {
        client_key_writer_stop(r->client_key_writers[i]);
    }
}
