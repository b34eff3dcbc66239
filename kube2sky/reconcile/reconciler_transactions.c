/* Handles the outcomes of transactions. */
#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/etcd/etcd_mirror.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/reconcile/conflict_internal.h"
#include "kube2sky/reconcile/etcd_space_internal.h"
#include "kube2sky/reconcile/key_log_internal.h"
#include "kube2sky/reconcile/leader_internal.h"
#include "kube2sky/reconcile/reconciler_internal.h"
#include "kube2sky/reconcile/refusal_internal.h"

/* ---- Failures ---- */

static void reconciler_transactions_on_retry(struct ev_loop *loop UNUSED, ev_timer *timer,
                                             int revents UNUSED)
{
    struct reconciler *r = timer->data;
    transactions_ask_again(r->transactions);
}

static void wait_before_retry(struct reconciler *r)
{
    if (!ev_is_active(&r->retry)) {
        uint32_t delay_ms = backoff_next_ms(&r->backoff, backoff_random());
        log_debug("transactions paused", LOG_INT("retry_ms", delay_ms));
        timer_arm_ms(r->config.loop, &r->retry, delay_ms);
    }
}

/* Marks the owners to go alone from now on, so that one does not delay the others: etcd does not
 * say which owner's part of a transaction it refused. */
static void set_suspect(const struct transaction *transaction, bool is_suspect)
{
    for (size_t i = 0; i < transaction->passenger_count; i++) {
        struct owner *owner = transaction->passengers[i].owner;
        owner->is_suspect = is_suspect;
        owner->is_refusal_told &= is_suspect;
    }
}

/* Notes that etcd refused a single owner; that does not mean that etcd is away. */
static void refuse_again(struct reconciler *r, const struct transaction *transaction,
                         const struct err *err)
{
    static struct log_limit limit = {.burst = 10};
    struct owner *owner = transaction->passengers[0].owner;
    r->refused[owner->class] = *err;
    if (owner->is_refusal_told || !log_limit_pass(&limit)) {
        return;
    }
    owner->is_refusal_told = true;
    if (owner->class == OWNER_RECORDS) {
        log_warn("etcd refuses the service's keys, retrying", LOG_SLICE("service", owner->id),
                 LOG_STR("reason", err->msg));
    } else if (owner->class == OWNER_CONFIG) {
        log_warn("keys of the ConfigMap cannot be written, retrying", LOG_STR("reason", err->msg));
    } else {
        log_warn("keys about clients cannot be written, retrying",
                 LOG_SLICE("key", plan_get(&transaction->batch.plan, 0).key),
                 LOG_STR("reason", err->msg));
    }
}

static void on_failed(void *data, const struct transaction *transaction,
                      enum transaction_failure failure, const struct err *err)
{
    struct reconciler *r = data;
    struct owner *first = transaction->passengers[0].owner;
    bool is_single = first->is_suspect || first->class == OWNER_CONFIG;
    etcd_space_note_write(r->space, err);
    if (failure == TRANSACTION_REFUSED && is_single) {
        refuse_again(r, transaction, err);
    } else {
        outage_away(&r->written, err);
    }
    r->failures++;
    if (failure == TRANSACTION_UNCERTAIN) {
        wait_before_retry(r);
        return;
    }
    set_suspect(transaction, true);
    if (transaction->passenger_count == 1 || refusals_are_general(r->refusals)) {
        for (size_t i = 0; i < transaction->passenger_count; i++) {
            refusal_wait(r->refusals, transaction->passengers[i].owner);
        }
    }
}

/* Ends the refusals of owners whose keys etcd accepted. */
static void end_refusals(struct reconciler *r, const struct transaction *transaction)
{
    bool was_refused = false;
    set_suspect(transaction, false);
    for (size_t i = 0; i < transaction->passenger_count; i++) {
        was_refused |= transaction->passengers[i].owner->refusal != NULL;
        refusal_end(r->refusals, transaction->passengers[i].owner);
    }
    if (was_refused) {
        refusals_retry(r->refusals);
    }
}

/* Notes the list that etcd has now, unless another writer's list may be there. */
static void note_config(struct reconciler *r, const struct transaction *transaction)
{
    if (!transaction->was_doubtful) {
        config_keys_note_written(&r->config_keys, &transaction->batch.plan);
    }
    if (r->refused[OWNER_CONFIG].msg[0]) {
        log_info("keys of the ConfigMap can be written again");
        r->refused[OWNER_CONFIG].msg[0] = '\0';
    }
}

/* Remembers and logs which object the change comes from. A rollout of a large cluster changes
 * hundreds a second: a minute's worth of a small one is logged. */
static void note_cause_of(struct reconciler *r, const struct passenger *passenger,
                          const struct change *change)
{
    static struct log_limit limit = {.burst = 120};
    const struct cause *cause =
        passenger->changed_us ? causes_confirm(r->causes, passenger->owner->id, change->revision,
                                               change->puts, change->deletes)
                              : NULL;
    if (cause && log_limit_pass(&limit)) {
        log_info(cause->is_deleted ? "records changed, as an object was deleted"
                                   : "records changed, as an object did",
                 LOG_SLICE("owner", passenger->owner->id), LOG_STR("kind", cause->kind),
                 LOG_STR("object", cause->object), LOG_STR("resource_version", cause->version),
                 LOG_INT("revision", cause->revision), LOG_INT("puts", (int64_t)cause->puts),
                 LOG_INT("deletes", (int64_t)cause->deletes),
                 LOG_INT("suppressed", (int64_t)limit.suppressed));
    }
}

/* Adds an entry to the latest changes. The passenger's operations are from..end of the
 * transaction's. */
static void reconciler_transactions_note_change(struct reconciler *r,
                                                const struct transaction *transaction,
                                                const struct passenger *passenger, size_t from,
                                                size_t end, int64_t now_us)
{
    struct change *change = change_ring_add(&r->changes, passenger->owner->id);
    for (size_t i = from; i < end; i++) {
        change->puts += transaction->batch.plan.ops[i].kind == ETCD_OP_PUT;
    }
    change->deletes = end - from - change->puts;
    change->time_ms = clock_wall_ms();
    change->revision = transaction->revision;
    change->plan_to_etcd_us = now_us - transaction->sent_us;
    note_cause_of(r, passenger, change);
    if (passenger->changed_us) {
        change->api_to_plan_us = transaction->sent_us - passenger->changed_us;
        histogram_observe_us(&r->plan_time, change->api_to_plan_us);
    }
}

/* Counts acknowledged changes; only the last part of a plan larger than a transaction counts. */
static void count_passengers(struct reconciler *r, const struct transaction *transaction,
                             int64_t now_us)
{
    size_t from = 0;
    if (!transaction_is_complete(transaction)) {
        return;
    }
    for (size_t i = 0; i < transaction->passenger_count; i++) {
        const struct passenger *passenger = &transaction->passengers[i];
        size_t end = transaction_op_end(transaction, i);
        reconciler_transactions_note_change(r, transaction, passenger, from, end, now_us);
        if (passenger->changed_us) {
            histogram_observe_us(&r->change_time, now_us - passenger->changed_us);
        }
        if (passenger->trigger) {
            int64_t ahead_us = (int64_t)passenger->trigger_ahead * OWNER_TRIGGER_US;
            histogram_observe(&r->programming_time[passenger->trigger - 1],
                              &reconciler_programming_scale,
                              now_us - passenger->changed_us + ahead_us);
        }
        if (passenger->is_restoring) {
            r->keys_restored += end - from;
            key_log_restored(transaction, passenger, from, end);
            conflict_restored(r->conflicts, transaction, passenger, from, end);
        }
        from = end;
    }
}

static void on_acknowledged(void *data, const struct transaction *transaction)
{
    struct reconciler *r = data;
    const struct plan *plan = &transaction->batch.plan;
    int64_t now_us = clock_monotonic_us();
    log_debug("transaction acknowledged", LOG_INT("revision", transaction->revision),
              LOG_INT("operations", (int64_t)plan->op_count),
              LOG_INT("duration_us", now_us - transaction->sent_us));
    key_log(transaction, &r->planner);
    etcd_space_note_write(r->space, NULL);
    reconciler_charge_history(r, transaction);
    outage_back(&r->written);
    backoff_reset(&r->backoff);
    end_refusals(r, transaction);
    r->transaction_count++;
    r->report.keys_written += plan->put_count;
    r->report.keys_deleted += plan->op_count - plan->put_count;
    histogram_observe_us(&r->transaction_time, now_us - transaction->sent_us);
    count_passengers(r, transaction, now_us);
    if (transaction->class == OWNER_CONFIG) {
        note_config(r, transaction);
    }
    for (size_t source = 0; source < KEY_FEEDS; source++) {
        if (transaction->awaited >> source & 1) {
            etcd_mirror_note_write(r->feeds[source].mirror, transaction->revision);
        }
    }
}

static void on_refuted(void *data)
{
    struct reconciler *r = data;
    r->conflict_count++;
    if (r->leader) {
        leader_doubt(r->leader);
    }
}

static struct etcd_compare reconciler_transactions_leads(const void *data)
{
    const struct reconciler *r = data;
    return leader_condition(r->leader);
}

static void on_landed(void *data, struct owner *owner, bool needs_look)
{
    struct reconciler *r = data;
    owners_land(r->owners, owner);
    if (owner->locks) {
        reverse_keys_unlock(r->reverse_keys, owner);
        owners_blocked_release(r->owners, owner);
    }
    if (refusal_is_waiting(owner)) {
        owners_refuse(r->owners, owner);
    } else if (needs_look) {
        owners_enqueue(r->owners, owner);
    } else {
        owners_free_touched(owner);
        reconciler_tell_settled(r, owner);
        owners_forget_if_empty(r->owners, owner);
    }
}

/* ---- Lifetime ---- */

/* Queues an owner whose backoff, or conflict, is over. */
static void reconciler_transactions_on_due(void *data, struct owner *owner)
{
    struct reconciler *r = data;
    if (owner->state == OWNER_CONTESTED || owner->state == OWNER_REFUSED) {
        owners_enqueue(r->owners, owner);
    }
    owners_forget_if_empty(r->owners, owner);
}

bool reconciler_is_reverse_key(struct slice key)
{
    return slice_has_prefix(key, slice_str(REVERSE_TREE));
}

/* Returns whether another writer may have such keys: reverse names are common to all, and so are
 * node addresses. */
static bool may_be_others(struct slice key)
{
    return reconciler_is_reverse_key(key) || !slice_has_prefix(key, slice_str(SKYDNS_TREE));
}

void reconciler_open_transactions(struct reconciler *r)
{
    const struct reconciler_config *config = &r->config;
    backoff_init(&r->backoff, BACKOFF_REMOTE_FIRST_MS, BACKOFF_REMOTE_MAX_MS);
    timer_init(&r->retry, reconciler_transactions_on_retry, r);
    r->transactions = transactions_new(&(struct transactions_config){
        .etcd = config->etcd,
        .ops_max = config->txn_ops_max,
        .key_revision = reconciler_key_revision,
        .is_contested = may_be_others,
        .spares_others = config->own_only_written,
        .condition = config->leader_lease_s ? reconciler_transactions_leads : NULL,
        .acknowledged = on_acknowledged,
        .failed = on_failed,
        .refuted = on_refuted,
        .landed = on_landed,
        .data = r,
    });
    r->conflicts = conflicts_new(&(struct conflicts_config){
        .loop = config->loop,
        .ownership = &r->ownership,
        .limits = conflict_limits,
        .due = reconciler_transactions_on_due,
        .data = r,
    });
    r->refusals = refusals_new(&(struct refusals_config){
        .loop = config->loop,
        .due = reconciler_transactions_on_due,
        .data = r,
    });
}
