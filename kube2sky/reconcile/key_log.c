#include "kube2sky/reconcile/key_log_internal.h"

#include "common/base/log.h"
#include "kube2sky/naming/contract.h"

void key_log_planned(const struct owner *owner, const struct plan *plan,
                     const struct planned *planned)
{
    log_debug("owner planned", LOG_SLICE("owner", owner->id),
              LOG_INT("puts", (int64_t)plan->put_count),
              LOG_INT("deletes", (int64_t)(plan->op_count - plan->put_count)),
              LOG_INT("must_wait", planned->is_withheld),
              LOG_SLICE("blocked_by", planned->other ? planned->other->id : slice_of(NULL, 0)));
}

/* ---- Written and deleted ---- */

/* Says why the keys of one passenger are written or deleted. */
struct cause {
    const struct owner *owner;
    bool is_in_api;
    bool has_changed; /* true: its objects changed; false: etcd did */
    bool is_restoring;
};

static struct cause cause_of(const struct passenger *passenger, const struct planner *planner)
{
    struct owner_objects objects;
    owner_objects_init(&objects);
    const struct slice id = passenger->owner->id;
    inventory_get(planner_inventory(planner, id), id, &objects);
    bool is_in_api = objects.is_in_doubt || objects.service || objects.pod_ns.ptr ||
                     (passenger->owner->class != OWNER_RECORDS && passenger->owner->desired_count);
    owner_objects_fini(&objects);
    return (struct cause){
        .owner = passenger->owner,
        .is_in_api = is_in_api,
        .has_changed = passenger->changed_us != 0,
        .is_restoring = passenger->is_restoring,
    };
}

static const char *why_put(const struct cause *cause, bool is_reverse, bool was_there)
{
    if (!was_there) {
        return cause->has_changed ? "new" : "missing in etcd";
    }
    if (is_reverse) {
        return "reverse name moved";
    }
    return cause->has_changed ? "changed" : "another writer's value replaced";
}

static const char *why_deleted(const struct cause *cause, bool is_reverse)
{
    if (slice_has_prefix(cause->owner->id, slice_str(ARPA_PREFIX))) {
        return "orphan";
    }
    if (!cause->is_in_api) {
        return cause->has_changed ? "gone from the API" : "orphan";
    }
    if (is_reverse) {
        return "reverse name gone";
    }
    return cause->is_restoring ? "foreign" : "no longer wanted";
}

static void log_op(const struct plan *plan, size_t at, const struct cause *cause, int64_t revision)
{
    const struct etcd_op op = plan_get(plan, at);
    bool is_reverse = slice_has_prefix(op.key, slice_str(REVERSE_TREE));
    bool was_there = plan->ops[at].revision != 0;
    if (op.kind == ETCD_OP_PUT) {
        log_debug("key written", LOG_SLICE("key", op.key), LOG_SLICE("owner", cause->owner->id),
                  LOG_STR("why", why_put(cause, is_reverse, was_there)),
                  LOG_SLICE("value", op.value), LOG_INT("revision", revision));
    } else {
        log_debug("key deleted", LOG_SLICE("key", op.key), LOG_SLICE("owner", cause->owner->id),
                  LOG_STR("why", why_deleted(cause, is_reverse)), LOG_INT("revision", revision));
    }
}

void key_log(const struct transaction *transaction, const struct planner *planner)
{
    const struct plan *plan = &transaction->batch.plan;
    size_t at = 0;
    if (!log_is_on(LOG_LEVEL_DEBUG)) {
        return;
    }
    for (size_t i = 0; i < transaction->passenger_count; i++) {
        const struct passenger *passenger = &transaction->passengers[i];
        size_t end = transaction_op_end(transaction, i);
        struct cause cause = cause_of(passenger, planner);
        for (; at < end; at++) {
            log_op(plan, at, &cause, transaction->revision);
        }
    }
}

/* ---- Other writers' changes ---- */

void key_log_restored(const struct transaction *transaction, const struct passenger *passenger,
                      size_t from, size_t end)
{
    static struct log_limit limit = {.burst = 10};
    const struct plan *plan = &transaction->batch.plan;
    int64_t changed = 0, deleted = 0, added = 0;
    for (size_t i = from; i < end; i++) {
        bool is_put = plan->ops[i].kind == ETCD_OP_PUT, was_there = plan->ops[i].revision != 0;
        changed += is_put && was_there;
        deleted += is_put && !was_there;
        added += !is_put;
    }
    if (from < end && log_limit_pass(&limit)) {
        log_info(passenger->owner->class == OWNER_CONFIG
                     ? "another writer changed keys of the ConfigMap, restored"
                     : "another writer changed keys of the service, restored",
                 LOG_SLICE("owner", passenger->owner->id),
                 LOG_SLICE("key", plan_get(plan, from).key), LOG_INT("changed", changed),
                 LOG_INT("deleted", deleted), LOG_INT("added", added),
                 LOG_INT("suppressed", (int64_t)limit.suppressed));
    }
}
