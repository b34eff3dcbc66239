/* Claims, plans and sends, with namespaces taking turns. */
#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "kube2sky/reconcile/conflict_internal.h"
#include "kube2sky/reconcile/key_log_internal.h"
#include "kube2sky/reconcile/owner_groups_internal.h"
#include "kube2sky/reconcile/reconciler_internal.h"
#include "kube2sky/reconcile/refusal_internal.h"

/* Limits how long planning waits for claims of other namespaces. */
enum { CLAIMS_AWAITED_US = 100 * 1000 };

/* ---- Claims ---- */

/* Queues owners in other namespaces that have a reverse name now. Each writes it itself, and does
 * not wait for the former owner's turn, or share of etcd's space. */
static void look_at_heirs(struct reconciler *r, const struct owner *owner)
{
    for (size_t i = 0; owner->touched && i < owner->touched->count; i++) {
        struct reverse_winner winner;
        bool is_heir = planner_winner(&r->planner, &owner->touched->ips[i], &winner) &&
                       !reverse_is_same_namespace(winner.owner, owner->id);
        struct owner *heir = is_heir ? owners_find(r->owners, winner.owner) : NULL;
        if (heir) {
            heir->has_changed = true;
            reconciler_want_look(r, heir);
        }
    }
}

/* Queues the owner after its claim, since it may have been planned while that was due. */
static void note_claimed(struct reconciler *r, struct owner *owner)
{
    owner->has_claimed = true;
    if (owner->state == OWNER_SETTLED || owner->state == OWNER_HELD) {
        owners_enqueue(r->owners, owner);
    } else if (owner->state == OWNER_IN_FLIGHT) {
        owner->has_changed = true;
    }
    look_at_heirs(r, owner);
    if (!owners_awaits_claims(r->owners, owner->id)) {
        owners_hold_release_claims(r->owners);
    }
}

/* Claims the owner, or a portion of it. Returns whether that is done. */
static bool claim_owner(struct reconciler *r, struct owner *owner, size_t *budget)
{
    bool was_in_doubt = owner->is_in_doubt;
    bool has_changed = planner_has_changed(&r->planner, owner);
    size_t work = 0;
    if (!planner_claim(&r->planner, owner, budget, &work)) {
        return false;
    }
    owner_groups_end_due(r->owners->groups, owner);
    if (has_changed) {
        owner_groups_want_claim(r->owners->groups, owner);
    }
    owner_group_charge_claim(owner->group, work);
    if (was_in_doubt && !owner->is_in_doubt) {
        /* Held owners may have waited until this owner's wishes were all known. */
        r->are_orphans_due = true;
        owners_hold_release(r->owners);
    }
    note_claimed(r, owner);
    return true;
}

void reconciler_claim_some(struct reconciler *r, size_t *budget)
{
    const struct owner *unfinished = planner_claiming(&r->planner);
    if (unfinished && claim_owner(r, owners_find(r->owners, unfinished->id), budget)) {
        *budget = 0; /* has taken more than one turn: plans are next */
    }
    while (*budget && owner_groups_has_due(r->owners->groups)) {
        (void)claim_owner(r, owner_groups_next_due(r->owners->groups), budget);
    }
    if (!owner_groups_has_due(r->owners->groups)) {
        r->claims_due_us = 0;
        r->has_claimed |= r->was_complete;
    } else if (!r->claims_due_us) {
        r->claims_due_us = clock_monotonic_us();
    }
}

/* Returns whether planning may begin. It is best once all claims are registered: then the wishes
 * for each reverse key are known. But a namespace whose objects change faster than they can be
 * claimed delays only itself. */
static bool are_claims_done(const struct reconciler *r)
{
    return !owner_groups_has_due(r->owners->groups) ||
           (r->has_claimed && clock_monotonic_us() - r->claims_due_us > CLAIMS_AWAITED_US);
}

/* ---- Planning ---- */

/* Logs a key that the owner wants and leaves to others, once until it leaves none. */
static void log_left_keys(const struct reconciler *r, const struct owner *owner)
{
    static struct log_limit limit = {.burst = 10};
    const struct plan *left = &r->planner.left;
    if (owner->left_count || !left->op_count) {
        return;
    }
    const struct etcd_op op = plan_get(left, 0);
    if (owner->class == OWNER_CONFIG) {
        log_warn("another writer wrote a key that the ConfigMap wants, left alone",
                 LOG_SLICE("key", op.key));
    } else if (owner_is_alias(owner) && log_limit_pass(&limit)) {
        log_warn("external name is another object's or writer's, left alone",
                 LOG_SLICE("key", op.key), LOG_SLICE("owner", owner->id));
    } else if (!owner_is_alias(owner) && log_limit_pass(&limit)) {
        log_warn("another writer owns a reverse key, left alone", LOG_SLICE("key", op.key),
                 LOG_SLICE("owner", owner->id), LOG_SLICE("wanted", op.value));
    }
}

/* Logs a lack of room, once until none of the namespace's owners lacks room. */
static void note_room(struct reconciler *r, struct owner *owner, const struct planned *planned)
{
    if (owners_note_room(r->owners, owner, &planned->after, planned->lacks_room)) {
        log_warn("namespace has as many keys as it may, its new ones wait",
                 LOG_SLICE("namespace", owner_namespace(owner)), LOG_SLICE("owner", owner->id),
                 LOG_INT("keys", (int64_t)owner->group->room.taken.keys),
                 LOG_INT("bytes", (int64_t)owner->group->room.taken.bytes));
    }
}

/* Counts a plan when the owner is about to leave the queue, so that it is not planned again from
 * the same change. */
static void count_planned(struct reconciler *r, struct owner *owner, const struct planned *planned)
{
    log_left_keys(r, owner);
    planner_tell_planned(&r->planner, owner, planned);
    note_room(r, owner, planned);
    if (owner->class == OWNER_RECORDS) {
        r->desired += (uint64_t)planned->desired_count - owner->desired_count;
        if (owner_is_external(owner)) {
            r->external += (uint64_t)planned->desired_count - owner->desired_count;
        }
        uint64_t *others = owner_is_alias(owner) ? &r->alias_left : &r->others;
        *others += (uint64_t)planned->left_count - owner->left_count;
    }
    owner->desired_count = planned->desired_count;
    owner->left_count = planned->left_count;
    owner->has_copies = planned->has_copies;
}

static void settle_first(struct reconciler *r, struct owner *owner)
{
    owner->changed_us = 0;
    owner->trigger = 0;
    owner->is_disturbed = false;
    owner->is_overtaken = false;
    owner->is_split = false;
    owners_free_touched(owner);
    if (owner->refusal) {
        refusal_end(r->refusals, owner);
    }
    owners_dequeue(r->owners, owner, OWNER_SETTLED);
    reconciler_tell_settled(r, owner);
    owners_forget_if_empty(r->owners, owner);
}

static void lock_reverse_keys(struct reconciler *r, struct owner *owner, const struct plan *plan)
{
    for (size_t i = 0; i < plan->op_count; i++) {
        struct slice key = plan_get(plan, i).key;
        if (reconciler_is_reverse_key(key)) {
            reverse_keys_lock(r->reverse_keys, key, owner);
        }
    }
}

/* Makes the transaction conditional on the list that it was planned from. The owner is planned
 * again after it, for the work that is left. */
static void guard_config(const struct reconciler *r, struct owner *owner,
                         struct transaction *transaction)
{
    const struct config_keys *keys = &r->config_keys;
    owner->is_partial = true;
    if (!config_keys_has_document(keys, &r->plan)) {
        transaction->guard = (struct etcd_compare){
            .target = ETCD_COMPARE_MOD_REVISION,
            .key = slice_str(keys->document_key),
            .revision = keys->document_revision,
        };
    }
}

/* Adds the owner to the transaction. Returns false if that takes no further owner. */
static bool reconciler_send_add_owner(struct reconciler *r, struct owner *owner,
                                      struct transaction *transaction,
                                      const struct planned *planned)
{
    bool is_alone = owner->is_suspect || owner->is_overtaken || owner->is_split;
    if (is_alone && transaction->passenger_count) {
        return false;
    }
    enum plan_fit fit = transaction_board(transaction, r->owners, owner, &r->plan);
    if (fit == PLAN_FITS_NOT && !transaction->passenger_count) {
        owners_wait_for_place(r->owners, owner);
    }
    if (fit == PLAN_FITS_NOT) {
        return false;
    }
    causes_board(r->causes, owner->id);
    count_planned(r, owner, planned);
    if (planned->reverse_ops) {
        lock_reverse_keys(r, owner, fit == PLAN_FITS_WHOLE ? &r->plan : &transaction->rest);
    }
    owner->is_partial = planned->is_withheld;
    owner->is_split = planned->is_split;
    if (owner->class == OWNER_CONFIG) {
        guard_config(r, owner, transaction);
    }
    return fit == PLAN_FITS_WHOLE && !is_alone;
}

/* Withholds the puts of a namespace that has filled its share of etcd's space. After the next
 * compaction, the wishes that its objects have then are written. */
static void hold_back_puts(struct reconciler *r, const struct owner *owner, struct planned *planned)
{
    if (r->plan.put_count && reconciler_is_over_share(r, owner)) {
        plan_drop_puts(&r->plan);
        planned->is_withheld = true;
    }
}

static void pass_on(struct reconciler *r, struct owner *owner)
{
    if (r->config.planned && r->plan.op_count && !owner->is_told) {
        owner->is_told = true;
        r->config.planned(r->config.data, &r->plan);
    }
}

/* Plans the owner, the first of its namespace, and moves it to its next state; or plans a portion
 * of it. transaction NULL: nothing may be written. Returns false if the transaction takes no
 * further owner. */
static bool plan_owner(struct reconciler *r, struct owner *owner, struct transaction *transaction,
                       size_t *budget)
{
    struct planned planned;
    if (!planner_plan_some(&r->planner, owner, budget, &r->plan, &planned)) {
        return false;
    }
    hold_back_puts(r, owner, &planned);
    key_log_planned(owner, &r->plan, &planned);
    owners_charge(owner, 0, planned.work);
    bool has_none = r->plan.op_count == 0, is_held = has_none || !transaction;
    bool is_settled = has_none && !planned.is_withheld;
    bool must_rest = !is_held && owner->is_disturbed && !owner->changed_us &&
                     conflict_must_rest(r->conflicts, owner);
    if (owner->is_overtaken || owner->is_suspect || (must_rest && conflict_is_of_reverse(owner))) {
        planner_leave_reverse(&r->planner, &r->plan, &planned);
    }
    if (!is_held && owner->class == OWNER_CONFIG) {
        config_keys_cut(&r->config_keys, &r->plan, r->config.txn_ops_max - (r->leader != NULL));
    }
    if (!is_held && (!must_rest || (planned.is_split && conflict_is_of_reverse(owner)))) {
        return reconciler_send_add_owner(r, owner, transaction, &planned);
    }
    count_planned(r, owner, &planned);
    if (planned.other && is_held) {
        owners_block(r->owners, owner, planned.other);
    } else if (is_settled) {
        settle_first(r, owner);
    } else if (is_held) {
        pass_on(r, owner);
        owner->awaits_claims = planned.awaits_claims;
        owners_dequeue(r->owners, owner, OWNER_HELD);
        if (planned.lacks_room) {
            owners_wait_for_room(owner);
        }
    } else {
        owners_dequeue(r->owners, owner, OWNER_CONTESTED);
    }
    return true;
}

static bool can_send(struct reconciler *r, enum owner_class class, bool is_further)
{
    return !ev_is_active(&r->retry) && transactions_has_free(r->transactions, class, is_further) &&
           owner_groups_has_next(r->owners->groups, class, is_further);
}

/* Returns the next owner for a transaction of its own; NULL: none, or nothing can be sent. */
static struct owner *next_to_send(struct reconciler *r, enum owner_class class)
{
    bool is_further = !can_send(r, class, false);
    return can_send(r, class, is_further) ? owners_next(r->owners, class, is_further) : NULL;
}

static struct owner *next_aboard(struct reconciler *r, const struct transaction *transaction)
{
    size_t count = transaction->passenger_count;
    return count ? owners_next_aboard(r->owners, transaction->passengers[count - 1].owner,
                                      transaction_has_room_for_others(transaction))
                 : next_to_send(r, transaction->class);
}

/* Fills one transaction with as many waiting owners of the class as fit, by turns, from this one
 * on. */
static void fill_transaction(struct reconciler *r, struct owner *owner, size_t *budget)
{
    struct transaction *transaction = transactions_open(r->transactions, owner->class);
    while (owner && !owner->unfinished && *budget && plan_owner(r, owner, transaction, budget)) {
        owner = next_aboard(r, transaction);
    }
    if (transaction->passenger_count) {
        transaction_send(transaction);
    } else {
        transaction_close(transaction);
    }
}

static void reconciler_send_next(struct reconciler *r, enum owner_class class, size_t *budget)
{
    struct owner *owner = next_to_send(r, class);
    if (owner && owner->unfinished) {
        bool is_held = reconciler_is_over_share(r, owner);
        transaction_continue(owner->unfinished,
                             !is_held || !transaction_rest_has_puts(owner->unfinished));
    } else if (owner) {
        fill_transaction(r, owner, budget);
    }
}

/* Plans the next owner without writing, as a process that does not lead. */
static void look_over(struct reconciler *r, enum owner_class class, size_t *budget)
{
    struct owner *owner =
        owners_next(r->owners, class, !owner_groups_has_next(r->owners->groups, class, false));
    if (owner->unfinished) {
        transaction_continue(owner->unfinished, false);
    } else {
        (void)plan_owner(r, owner, NULL, budget);
    }
}

/* Returns whether an owner can be planned without writing. Nothing waits for keys that the
 * ConfigMap wants of another writer. */
static bool can_look_over(const struct reconciler *r, enum owner_class class)
{
    return (class == OWNER_CONFIG ? r->config.planned != NULL
                                  : r->was_complete || !r->config.planned) &&
           (owner_groups_has_next(r->owners->groups, class, false) ||
            owner_groups_has_next(r->owners->groups, class, true));
}

/* Returns whether an owner of the class can be planned. The wishes of one class may depend on the
 * state of others' owners. */
static bool can_plan_class(struct reconciler *r, enum owner_class class)
{
    return key_source_is_whole(&r->feeds[owner_class_source(class)]) &&
           !r->feeds[KEY_SOURCE_RECORDS].is_mid_publication &&
           (class != OWNER_RECORDS || are_claims_done(r)) &&
           (class != OWNER_CONFIG || reconciler_knows_config(r)) &&
           (reconciler_may_write(r) ? can_send(r, class, false) || can_send(r, class, true)
                                    : can_look_over(r, class));
}

/* Returns whether a free slot can be promised to a waiting owner. */
static bool can_promise_place(const struct reconciler *r)
{
    return owner_groups_has_waiting(r->owners->groups) &&
           transactions_large_free(r->transactions) > r->owners->promised_places;
}

bool reconciler_can_plan(struct reconciler *r)
{
    bool can = can_promise_place(r);
    for (int class = 0; class < OWNER_CLASSES && !can; class ++) {
        can = can_plan_class(r, (enum owner_class) class);
    }
    return can;
}

/* Returns whether a plan that was begun in an earlier turn may go on. Claims that have become due
 * since do not stop it: they are of later objects. */
static bool can_go_on(struct reconciler *r)
{
    const struct key_source *records = &r->feeds[KEY_SOURCE_RECORDS];
    return key_source_is_whole(records) && !records->is_mid_publication &&
           (reconciler_may_write(r)
                ? !ev_is_active(&r->retry) &&
                      transactions_has_free(r->transactions, OWNER_RECORDS, false)
                : r->was_complete || !r->config.planned);
}

static void go_on_planning(struct reconciler *r, size_t *budget)
{
    const struct owner *unfinished = planner_planning(&r->planner);
    struct owner *owner = unfinished ? owners_find(r->owners, unfinished->id) : NULL;
    if (!owner) {
        return;
    }
    if (!can_go_on(r)) {
        planner_give_up(&r->planner);
    } else if (reconciler_may_write(r)) {
        fill_transaction(r, owner, budget);
    } else {
        (void)plan_owner(r, owner, NULL, budget);
    }
}

void reconciler_plan_some(struct reconciler *r, size_t *budget)
{
    /* Not more slots than there are: an owner planned in vain costs as much as its plan. */
    while (can_promise_place(r)) {
        owners_release_place(r->owners);
    }
    go_on_planning(r, budget);
    for (int i = OWNER_CLASSES - 1; i >= 0; i--) {
        enum owner_class class = (enum owner_class)i;
        while (*budget && can_plan_class(r, class)) {
            if (reconciler_may_write(r)) {
                reconciler_send_next(r, class, budget);
            } else {
                look_over(r, class, budget);
            }
        }
    }
}
