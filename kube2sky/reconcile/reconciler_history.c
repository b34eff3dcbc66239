/* Limits the history that fills etcd's space, until a compaction has freed it. */
#include "common/base/attributes.h"
#include "common/base/log.h"
#include "common/etcd/etcd.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/reconcile/history_internal.h"
#include "kube2sky/reconcile/reconciler_internal.h"

/* A read of one key, sent only while some namespace has filled half of its share. */
enum { HISTORY_ASKED_EVERY_S = 5 };

/* Returns whether the owner belongs to a namespace. Reverse names, nodes, node addresses and the
 * ConfigMap belong to none. */
static bool has_share(const struct owner *owner)
{
    struct slice ns = owner_namespace(owner);
    return owner->class != OWNER_CONFIG && ns.len && ns.ptr[ns.len - 1] != '/';
}

bool reconciler_is_over_share(const struct reconciler *r, const struct owner *owner)
{
    return has_share(owner) && history_is_over(r->history, owner_namespace(owner));
}

void reconciler_charge_history(struct reconciler *r, const struct transaction *transaction)
{
    const struct plan *plan = &transaction->batch.plan;
    size_t at = 0;
    for (size_t i = 0; i < transaction->passenger_count; i++) {
        const struct owner *owner = transaction->passengers[i].owner;
        struct slice ns = owner_namespace(owner);
        uint64_t bytes = 0;
        for (size_t end = transaction_op_end(transaction, i); at < end; at++) {
            const struct etcd_op op = plan_get(plan, at);
            bytes += plan->ops[at].revision ? history_op_bytes(&op) : 0;
        }
        if (bytes && has_share(owner) &&
            history_charge(r->history, ns, bytes, transaction->revision)) {
            log_warn("namespace has filled its share of etcd's space, its additions wait for the "
                     "next compaction",
                     LOG_SLICE("namespace", ns), LOG_SLICE("owner", owner->id));
        }
    }
}

static void on_old_revision(void *data, const struct etcd_range_reply *reply UNUSED,
                            const struct err *err)
{
    struct reconciler *r = data;
    r->history_call = NULL;
    if (err && err->code == ERR_COMPACTED && history_compacted(r->history)) {
        log_info("etcd was compacted, additions of namespaces go on",
                 LOG_INT("waiting", (int64_t)history_over_count(r->history)));
        owners_hold_release(r->owners);
    }
}

static void on_history_timer(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    struct reconciler *r = timer->data;
    int64_t revision = r->history_call ? 0 : history_mark(r->history);
    if (revision) {
        const struct etcd_range range = {
            .key = slice_str(SKYDNS_TREE), .revision = revision, .keys_only = true};
        r->history_call = etcd_range(r->config.etcd, &range, on_old_revision, r);
    }
}

void reconciler_forget_history(struct reconciler *r)
{
    history_forget(r->history);
    owners_hold_release(r->owners);
}

void reconciler_open_history(struct reconciler *r)
{
    uint64_t space_bytes = r->config.etcd_space_bytes;
    r->history = history_new(space_bytes ? space_bytes / HISTORY_SHARE_DIVISOR : UINT64_MAX);
    ev_timer_init(&r->history_timer, on_history_timer, HISTORY_ASKED_EVERY_S,
                  HISTORY_ASKED_EVERY_S);
    r->history_timer.data = r;
    ev_timer_start(r->config.loop, &r->history_timer);
}

void reconciler_close_history(struct reconciler *r)
{
    ev_timer_stop(r->config.loop, &r->history_timer);
    if (r->history_call) {
        etcd_call_cancel(r->history_call);
    }
    history_free(r->history);
}
