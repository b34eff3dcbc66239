#include "kube2sky/reconcile/transactions_internal.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/reconcile/owner_groups_internal.h"

struct transactions {
    struct transactions_config config;
    int64_t revisions[KEY_FEEDS]; /* of the mirrors */
    struct etcd_op *ops;          /* room for those of one transaction */
    struct etcd_compare *compares;
    struct transaction items[TRANSACTIONS_MAX];
};

struct transactions *transactions_new(const struct transactions_config *config)
{
    struct transactions *transactions = xcalloc(1, sizeof(*transactions));
    /* Leaves room for a condition on each operation: etcd counts both. */
    size_t ops_max = config->ops_max - (config->condition != NULL);
    transactions->config = *config;
    transactions->compares =
        xcalloc(config->ops_max + 1, sizeof(*transactions->compares)); /* the guard */
    transactions->ops = xcalloc(config->ops_max, sizeof(*transactions->ops));
    for (size_t i = 0; i < TRANSACTIONS_MAX; i++) {
        struct transaction *transaction = &transactions->items[i];
        transaction->transactions = transactions;
        transaction->passengers = xcalloc(config->ops_max, sizeof(*transaction->passengers));
        plan_batch_init(&transaction->batch, ops_max);
        plan_init(&transaction->rest);
    }
    return transactions;
}

void transactions_free(struct transactions *transactions)
{
    if (!transactions) {
        return;
    }
    for (size_t i = 0; i < TRANSACTIONS_MAX; i++) {
        struct transaction *transaction = &transactions->items[i];
        if (transaction->call) {
            etcd_call_cancel(transaction->call);
        }
        plan_batch_fini(&transaction->batch);
        plan_fini(&transaction->rest);
        free(transaction->passengers);
    }
    free(transactions->compares);
    free(transactions->ops);
    free(transactions);
}

/* ---- Landing ---- */

/* Returns whether the owner must be planned again: unless its transaction is the only change that
 * it saw. No event at all does not prove that: an etcd restored from an older copy reuses
 * acknowledged revisions. If only reverse keys were written, which belong to no owner, planning
 * finds nothing to do. */
static bool needs_look(const struct owner *owner, int64_t revision)
{
    return owner->has_changed || owner->is_partial || owner->first_event != revision ||
           owner->last_event != revision;
}

static bool has_event_of_others(const struct owner *owner, int64_t revision)
{
    return (owner->first_event && owner->first_event != revision) ||
           (owner->last_event && owner->last_event != revision);
}

static void transactions_finish(struct transaction *transaction)
{
    const struct transactions_config *config = &transaction->transactions->config;
    bool is_whole = transaction->state == TRANSACTION_DONE && transaction->rest.op_count == 0;
    transaction->state = TRANSACTION_FREE;
    for (size_t i = 0; i < transaction->passenger_count; i++) {
        struct owner *owner = transaction->passengers[i].owner;
        owner->is_disturbed |= is_whole && has_event_of_others(owner, transaction->revision);
        config->landed(config->data, owner, needs_look(owner, transaction->revision));
    }
    transaction->is_large = false;
    plan_batch_clear(&transaction->batch); /* does not keep memory for the next large owner */
    plan_build_nothing(&transaction->rest);
}

/* Lets the owners be planned again after landing: planning against the mirror finds the work that
 * is left. */
static void want_look(struct transaction *transaction)
{
    for (size_t i = 0; i < transaction->passenger_count; i++) {
        struct passenger *passenger = &transaction->passengers[i];
        passenger->owner->has_changed = true;
        passenger->owner->is_disturbed |= passenger->is_restoring || passenger->owner->is_overtaken;
        if (passenger->changed_us) {
            passenger->owner->changed_us = passenger->changed_us;
            passenger->owner->trigger = passenger->trigger;
            passenger->owner->trigger_ahead = passenger->trigger_ahead;
        }
    }
}

static void land_undone(struct transaction *transaction)
{
    want_look(transaction);
    transactions_finish(transaction);
}

/* Returns whether the transaction is conditional on this operation's key. */
static bool is_condition(const struct transaction *transaction, size_t at)
{
    const struct transactions_config *config = &transaction->transactions->config;
    const struct plan_op *op = &transaction->batch.plan.ops[at];
    return at == transaction->probe || op->kind == ETCD_OP_DELETE || config->spares_others ||
           transaction->class == OWNER_CONFIG ||
           config->is_contested(plan_get(&transaction->batch.plan, at).key);
}

/* Returns whether the key of this operation has changed since it was planned. */
static bool is_stale(const struct transaction *transaction, size_t at)
{
    const struct plan *plan = &transaction->batch.plan;
    const struct transactions_config *config = &transaction->transactions->config;
    return is_condition(transaction, at) &&
           config->key_revision(config->data, plan_get(plan, at).key) != plan->ops[at].revision;
}

/* Returns whether the mirror shows that a condition failed. Marks the owners of those keys. */
static bool is_seen_stale(const struct transaction *transaction)
{
    const struct transactions_config *config = &transaction->transactions->config;
    const struct etcd_compare *guard = &transaction->guard;
    size_t at = 0;
    bool is_seen =
        guard->key.len && config->key_revision(config->data, guard->key) != guard->revision;
    for (size_t i = 0; i < transaction->passenger_count; i++) {
        size_t end = transaction_op_end(transaction, i);
        struct owner *owner = transaction->passengers[i].owner;
        for (; at < end; at++) {
            owner->is_overtaken |= is_stale(transaction, at);
        }
        is_seen |= owner->is_overtaken;
    }
    return is_seen;
}

static bool is_reached(const struct transaction *transaction)
{
    bool is = true;
    for (size_t source = 0; source < KEY_FEEDS; source++) {
        is &= !(transaction->awaited >> source & 1) ||
              transaction->revision <= transaction->transactions->revisions[source];
    }
    return is;
}

static void land_if_seen(struct transaction *transaction)
{
    if (transaction->state == TRANSACTION_DONE && is_reached(transaction)) {
        (transaction->is_void ? land_undone : transactions_finish)(transaction);
    } else if (transaction->state == TRANSACTION_STALE &&
               (is_seen_stale(transaction) || is_reached(transaction))) {
        land_undone(transaction);
    }
}

/* Lands the transaction after a full read, which does not tell its changes from others'. */
static void note_read(struct transaction *transaction, enum key_source_id source)
{
    bool is_waiting = transaction->state == TRANSACTION_DONE ||
                      transaction->state == TRANSACTION_STALE ||
                      transaction->state == TRANSACTION_UNFINISHED;
    if (is_waiting && transaction->awaited >> source & 1) {
        transaction->awaited &= ~(1u << source);
        transaction->is_void = true;
        land_if_seen(transaction);
    }
}

void transactions_on_mirror(struct transactions *transactions, enum key_source_id source,
                            int64_t revision, bool is_full)
{
    transactions->revisions[source] = revision;
    for (size_t i = 0; i < TRANSACTIONS_MAX; i++) {
        struct transaction *transaction = &transactions->items[i];
        land_if_seen(transaction);
        if (is_full) {
            note_read(transaction, source);
        }
    }
}

void transactions_on_condition(struct transactions *transactions)
{
    for (size_t i = 0; i < TRANSACTIONS_MAX; i++) {
        struct transaction *transaction = &transactions->items[i];
        if (transaction->state == TRANSACTION_UNFINISHED) {
            transaction->passengers[0].owner->has_changed = true;
        } else if (transaction->state == TRANSACTION_STALE) {
            land_undone(transaction);
        }
    }
}

/* ---- Sending ---- */

bool transaction_is_complete(const struct transaction *transaction)
{
    return transaction->rest_at == transaction->rest.op_count;
}

size_t transaction_op_end(const struct transaction *transaction, size_t passenger)
{
    bool is_last = passenger + 1 == transaction->passenger_count;
    return is_last ? transaction->batch.plan.op_count : transaction->passengers[passenger].op_end;
}

bool transaction_rest_has_puts(const struct transaction *transaction)
{
    return transaction->rest_at < transaction->rest.put_count;
}

/* Calls fn for each namespace aboard; owners of one are adjacent. */
static void each_group(const struct transaction *transaction, void (*fn)(const struct owner *owner))
{
    const struct owner_group *last = NULL;
    for (size_t i = 0; i < transaction->passenger_count; i++) {
        const struct owner *owner = transaction->passengers[i].owner;
        if (owner->group != last) {
            fn(owner);
        }
        last = owner->group;
    }
}

/* Ends the turns of the namespaces aboard, since etcd has answered. */
static void end_turns(const struct transaction *transaction)
{
    each_group(transaction, owners_end_turn);
}

/* Drops the rest of the plan. The owner is planned anew, from what the mirror shows after the
 * written parts. */
static void transactions_drop_rest(struct transaction *transaction)
{
    transaction->state = TRANSACTION_DONE;
    want_look(transaction); /* its change is still to be written */
    if (transaction->is_void) {
        transactions_finish(transaction);
    } else {
        land_if_seen(transaction);
    }
}

void transaction_continue(struct transaction *transaction, bool may_send)
{
    const struct passenger *first = &transaction->passengers[0];
    assert(transaction->state == TRANSACTION_UNFINISHED);
    owners_dequeue_rest(first->owner);
    if (first->owner->has_changed || transaction->is_void || !may_send) {
        transactions_drop_rest(transaction);
        return;
    }
    plan_batch_clear(&transaction->batch);
    plan_batch_add(&transaction->batch, &transaction->rest, &transaction->rest_at);
    owners_charge(first->owner, transaction->batch.size, 0);
    owners_begin_turn(first->owner);
    transaction_send(transaction);
}

static void transactions_read_probe(struct transaction *transaction);

static void transactions_fail(struct transaction *transaction, const struct err *err)
{
    const struct transactions_config *config = &transaction->transactions->config;
    bool is_refused =
        err->code == ERR_REFUSED || err->code == ERR_NOT_FOUND || err->code == ERR_TOO_LARGE;
    log_debug("transaction failed", LOG_STR("reason", err->msg),
              LOG_INT("may_have_happened", !is_refused),
              LOG_INT("owners", (int64_t)transaction->passenger_count));
    config->failed(config->data, transaction,
                   is_refused ? TRANSACTION_REFUSED : TRANSACTION_UNCERTAIN, err);
    if (is_refused) {
        end_turns(transaction);
        land_undone(transaction);
    } else {
        transactions_read_probe(transaction);
    }
}

static void transactions_on_txn(void *data, const struct etcd_txn_reply *reply,
                                const struct err *err)
{
    struct transaction *transaction = data;
    const struct transactions_config *config = &transaction->transactions->config;
    transaction->call = NULL;
    if (err) {
        transactions_fail(transaction, err);
        return;
    }
    end_turns(transaction);
    transaction->revision = reply->revision;
    transaction->state = reply->succeeded ? TRANSACTION_DONE : TRANSACTION_STALE;
    if (reply->succeeded) {
        config->acknowledged(config->data, transaction);
    } else {
        log_debug("transaction not applied: a key or the leader changed",
                  LOG_INT("revision", reply->revision),
                  LOG_INT("owners", (int64_t)transaction->passenger_count));
        config->refuted(config->data);
    }
    if (reply->succeeded && !transaction_is_complete(transaction)) {
        transaction->state = TRANSACTION_UNFINISHED;
        owners_enqueue_rest(transaction->passengers[0].owner, transaction);
    } else {
        land_if_seen(transaction);
    }
}

/* Returns the operation that proves the outcome: a put if there is one, since its key has the
 * revision. */
static size_t transactions_probe_of(const struct plan *plan)
{
    size_t at = 0;
    while (at < plan->op_count && plan->ops[at].kind != ETCD_OP_PUT) {
        at++;
    }
    return at < plan->op_count ? at : 0;
}

/* Fills transactions->compares; returns their number. */
static size_t collect_conditions(const struct transaction *transaction)
{
    const struct transactions *transactions = transaction->transactions;
    const struct transactions_config *config = &transactions->config;
    const struct plan *plan = &transaction->batch.plan;
    size_t count = 0;
    for (size_t i = 0; i < plan->op_count; i++) {
        if (is_condition(transaction, i)) {
            transactions->compares[count++] = (struct etcd_compare){
                .target = ETCD_COMPARE_MOD_REVISION,
                .key = plan_get(plan, i).key,
                .revision = plan->ops[i].revision,
            };
        }
    }
    if (transaction->guard.key.len) {
        transactions->compares[count++] = transaction->guard;
    }
    if (config->condition) {
        transactions->compares[count++] = config->condition(config->data);
    }
    return count;
}

/* Returns the mirrors, as bits, that show the transaction's keys. */
static unsigned feeds_of(const struct transaction *transaction)
{
    const struct plan *plan = &transaction->batch.plan;
    unsigned own = 1u << owner_class_source(transaction->class), feeds = 0;
    for (size_t i = 0; i < plan->op_count; i++) {
        bool is_record = slice_has_prefix(plan_get(plan, i).key, slice_str(SKYDNS_TREE));
        feeds |= is_record ? 1u << KEY_SOURCE_RECORDS : own;
    }
    return feeds;
}

void transaction_send(struct transaction *transaction)
{
    const struct transactions *transactions = transaction->transactions;
    const struct transactions_config *config = &transactions->config;
    transaction->probe = transactions_probe_of(&transaction->batch.plan);
    transaction->awaited = feeds_of(transaction);
    transaction->was_doubtful = false;
    const struct etcd_txn txn = {
        .compares = transactions->compares,
        .compare_count = collect_conditions(transaction),
        .ops = transactions->ops,
        .op_count = plan_batch_ops(&transaction->batch, transactions->ops),
    };
    log_debug("transaction sent", LOG_INT("operations", (int64_t)txn.op_count),
              LOG_INT("puts", (int64_t)transaction->batch.plan.put_count),
              LOG_INT("conditions", (int64_t)txn.compare_count),
              LOG_INT("owners", (int64_t)transaction->passenger_count));
    transaction->state = TRANSACTION_SENT;
    transaction->sent_us = clock_monotonic_us();
    transaction->call = etcd_txn(config->etcd, &txn, transactions_on_txn, transaction);
}

/* ---- Unknown outcomes ---- */

/* Returns whether the transaction happened. All its keys changed at once, so one proves it. If
 * others changed that key since, the result is a wrong "no", which costs only an empty plan. */
static bool has_happened(const struct etcd_op *op, const struct etcd_kv *kv)
{
    return op->kind == ETCD_OP_PUT ? kv && slice_equal(kv->value, op->value) : !kv;
}

static void transactions_on_answer(void *data, const struct etcd_range_reply *reply,
                                   const struct err *err)
{
    struct transaction *transaction = data;
    const struct transactions_config *config = &transaction->transactions->config;
    const struct etcd_op op = plan_get(&transaction->batch.plan, transaction->probe);
    transaction->call = NULL;
    if (err) {
        config->failed(config->data, transaction, TRANSACTION_UNCERTAIN, err);
        return;
    }
    const struct etcd_kv *kv = reply->count ? &reply->kvs[0] : NULL;
    log_debug("outcome of an uncertain transaction", LOG_SLICE("key", op.key),
              LOG_INT("has_happened", has_happened(&op, kv)));
    end_turns(transaction);
    want_look(transaction); /* another writer may have written the same value */
    if (!has_happened(&op, kv)) {
        transactions_finish(transaction);
        return;
    }
    transaction->state =
        kv ? TRANSACTION_DONE : TRANSACTION_STALE; /* the revision of a delete is unknown */
    transaction->revision = kv ? kv->mod_revision : reply->revision;
    config->acknowledged(config->data, transaction);
    land_if_seen(transaction);
}

static void transactions_read_probe(struct transaction *transaction)
{
    const struct etcd_range range = {
        .key = plan_get(&transaction->batch.plan, transaction->probe).key};
    transaction->state = TRANSACTION_DOUBTFUL;
    transaction->was_doubtful = true;
    transaction->call = etcd_range(transaction->transactions->config.etcd, &range,
                                   transactions_on_answer, transaction);
}

void transactions_ask_again(struct transactions *transactions)
{
    for (size_t i = 0; i < TRANSACTIONS_MAX; i++) {
        struct transaction *transaction = &transactions->items[i];
        if (transaction->state == TRANSACTION_DOUBTFUL && !transaction->call) {
            transactions_read_probe(transaction);
        }
    }
}

/* ---- Filling ---- */

/* Counts the transactions in one of the states, as bits; class OWNER_CLASSES: of any class. */
static size_t transactions_count_in(const struct transactions *transactions, unsigned class,
                                    unsigned states)
{
    size_t n = 0;
    for (size_t i = 0; i < TRANSACTIONS_MAX; i++) {
        const struct transaction *transaction = &transactions->items[i];
        n += (states >> transaction->state & 1) &&
             (class == OWNER_CLASSES || transaction->class == class);
    }
    return n;
}

size_t transactions_large_free(const struct transactions *transactions)
{
    size_t n = TRANSACTIONS_LARGE_MAX;
    for (size_t i = 0; i < TRANSACTIONS_MAX; i++) {
        n -= transactions->items[i].is_large;
    }
    return n;
}

size_t transactions_used_by(const struct transactions *transactions, enum owner_class class)
{
    return transactions_count_in(transactions, class, ~(1u << TRANSACTION_FREE));
}

size_t transactions_used(const struct transactions *transactions)
{
    return transactions_count_in(transactions, OWNER_CLASSES, ~(1u << TRANSACTION_FREE));
}

size_t transactions_busy(const struct transactions *transactions, bool is_paused)
{
    size_t n = transactions_used(transactions);
    for (size_t i = 0; i < TRANSACTIONS_MAX; i++) {
        const struct transaction *transaction = &transactions->items[i];
        n -= (transaction->state == TRANSACTION_DOUBTFUL && !transaction->call) ||
             (transaction->state == TRANSACTION_UNFINISHED && is_paused);
    }
    return n;
}

size_t transactions_passengers(const struct transactions *transactions)
{
    size_t n = 0;
    for (size_t i = 0; i < TRANSACTIONS_MAX; i++) {
        const struct transaction *transaction = &transactions->items[i];
        n += transaction->state != TRANSACTION_FREE ? transaction->passenger_count : 0;
    }
    return n;
}

bool transactions_has_free(const struct transactions *transactions, enum owner_class class,
                           bool is_further)
{
    if (class != OWNER_RECORDS) {
        return !is_further && transactions_used_by(transactions, class) == 0;
    }
    const size_t sent = transactions_count_in(transactions, class,
                                              1u << TRANSACTION_SENT | 1u << TRANSACTION_DOUBTFUL);
    return sent < (is_further ? TRANSACTIONS_FURTHER_MAX : TRANSACTIONS_SENT_MAX) &&
           transactions_used_by(transactions, class) < TRANSACTIONS_RECORDS_MAX;
}

struct transaction *transactions_open(struct transactions *transactions, enum owner_class class)
{
    struct transaction *transaction = transactions->items;
    while (transaction->state != TRANSACTION_FREE) {
        transaction++;
        assert(transaction < transactions->items + TRANSACTIONS_MAX);
    }
    transaction->class = class;
    transaction->state = TRANSACTION_FILLING;
    transaction->is_void = false;
    transaction->guard = (struct etcd_compare){.revision = 0};
    transaction->passenger_count = 0;
    plan_batch_clear(&transaction->batch);
    plan_build_nothing(&transaction->rest);
    transaction->rest_at = 0;
    return transaction;
}

void transaction_close(struct transaction *transaction)
{
    transaction->state = TRANSACTION_FREE;
}

bool transaction_has_room_for_others(const struct transaction *transaction)
{
    return transaction->batch.size < TRANSACTION_SHARED_BYTES;
}

enum plan_fit transaction_board(struct transaction *transaction, struct owners *owners,
                                struct owner *owner, struct plan *plan)
{
    size_t from = 0, size = transaction->batch.size;
    enum plan_fit fit = plan_batch_add(&transaction->batch, plan, &from);
    bool may_be_large = owner->has_place || transactions_large_free(transaction->transactions) >
                                                owners->promised_places;
    if (fit == PLAN_FITS_PARTLY && !may_be_large) {
        plan_batch_clear(&transaction->batch);
        fit = PLAN_FITS_NOT;
    }
    if (fit == PLAN_FITS_NOT) {
        return fit;
    }
    if (fit == PLAN_FITS_PARTLY) {
        struct plan larger = *plan;
        *plan = transaction->rest;
        transaction->rest = larger;
        transaction->rest_at = from;
        transaction->is_large = true;
    }
    owners_dequeue(owners, owner, OWNER_IN_FLIGHT);
    owners_charge(owner, transaction->batch.size - size, 0);
    const size_t aboard = transaction->passenger_count;
    if (!aboard || transaction->passengers[aboard - 1].owner->group != owner->group) {
        owners_begin_turn(owner);
    }
    transaction->passengers[transaction->passenger_count++] = (struct passenger){
        .owner = owner,
        .changed_us = owner->changed_us,
        .trigger_ahead = owner->trigger_ahead,
        .trigger = owner->trigger,
        .op_end = transaction->batch.plan.op_count,
        .is_restoring = owner->is_disturbed && !owner->changed_us,
    };
    owner->has_changed = false;
    owner->is_overtaken = false;
    owner->is_disturbed = false;
    owner->changed_us = 0;
    owner->trigger = 0;
    owner->first_event = 0;
    owner->last_event = 0;
    return fit;
}
