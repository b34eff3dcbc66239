/* Plans reverse keys: whose name an address has, and when its key may change. */
#include "kube2sky/reconcile/planner_internal.h"

#include "kube2sky/naming/contract.h"
#include "kube2sky/reconcile/reverse_keys_internal.h"

struct slice planner_reverse_holder(void *data, const struct ip *ip)
{
    struct planner *planner = data;
    buf_clear(&planner->holder_key);
    reverse_key(ip, &planner->holder_key);
    const struct reverse_key *there =
        reverse_keys_find(planner->config.reverse_keys, buf_slice(&planner->holder_key));
    return there && there->value.is_ours ? reverse_key_owner_object(there) : slice_of(NULL, 0);
}

/* Returns whether etcd has the address's name for an owner other than the winner, which may be
 * held. */
static bool is_another_there(struct planner *planner, const struct ip *ip)
{
    struct reverse_winner winner;
    struct slice holder = planner_reverse_holder(planner, ip);
    return holder.len > 0 &&
           !(reverse_winner(planner->reverse, ip, &winner) && slice_equal(winner.owner, holder));
}

void planner_reverse_decide_pod(struct planner *planner, const struct owner *owner)
{
    struct slice label = owner_pod_label(owner);
    struct ip ip;
    if (label.len && naming_parse_pod_label(label, &ip) &&
        (reverse_decide(planner->reverse, &ip) || is_another_there(planner, &ip))) {
        ip_list_add(&planner->touched, &ip);
    }
}

bool planner_reverse_wins(const struct planner *planner, const struct owner *owner,
                          const struct ip *ip)
{
    struct reverse_winner winner;
    return reverse_winner(planner->reverse, ip, &winner) && slice_equal(winner.owner, owner->id);
}

/* ---- Plans ---- */

void planner_withhold(struct planner *planner, const struct etcd_op *op, int64_t revision,
                      struct planned *planned)
{
    plan_add(&planner->withheld, op, revision);
    planned->is_withheld = true;
}

/* Returns whether claims are due that may want the key to stay. */
static bool awaits_claims(const struct planner *planner, struct slice named)
{
    const struct owners *owners = planner->config.owners;
    const struct owner *owner_object = owners_find(owners, named);
    bool is_new = owner_object && owner_object->is_claim_due && !owner_object->has_claimed;
    return named.len && (is_new || owners_awaits_claims(owners, named));
}

/* Returns whether the key may be changed. It may not while the owner that it names may want it to
 * stay: one in doubt whose claim might win, or a namespace whose pods are not all known. ip NULL:
 * the key is of no address. winner NULL: the address has no name. */
static bool may_change(const struct planner *planner, const struct reverse_key *there,
                       const struct ip *ip, const struct reverse_winner *winner,
                       struct planned *planned)
{
    struct slice named = reverse_key_owner_object(there);
    const struct inventory *inventory = planner->config.inventory;
    const struct owner *owner_object = owners_find(planner->config.owners, named);
    bool is_in_doubt = owner_object && owner_object->is_in_doubt;
    if (owner_id_is_import(named) && winner && !winner->is_import) {
        return true; /* whatever imports claim next comes after it */
    }
    if (!inventory_knows_claims(planner_inventory(planner, named), named)) {
        return false;
    }
    if (ip && winner && (winner->is_allocated || slice_equal(winner->owner, named))) {
        return true; /* holds whatever is claimed next */
    }
    if (awaits_claims(planner, named)) {
        planned->awaits_claims = true;
        return false;
    }
    if (!ip) {
        return true;
    }
    if (is_in_doubt && reverse_may_win(planner->reverse, ip, named)) {
        return false;
    }
    return inventory_knows_pods(inventory, named) ||
           !reverse_is_claimed_beside(planner->reverse, ip, named) ||
           (winner && reverse_is_same_namespace(winner->owner, named));
}

void planner_reverse_plan_key(struct planner *planner, const struct owner *owner,
                              const struct ip *ip, const struct reverse_winner *winner,
                              struct planned *planned)
{
    struct slice key = buf_slice(&planner->key);
    const struct reverse_key *there = reverse_keys_find(planner->config.reverse_keys, key);
    struct owner *locker = reverse_keys_locker(planner->config.reverse_keys, key);
    struct etcd_op op = {.kind = ETCD_OP_DELETE, .key = key};
    if (winner) {
        naming_value(&planner->naming, winner->host, 0, &planner->value);
        op.kind = ETCD_OP_PUT;
        op.value = buf_slice(&planner->value);
    }
    if (locker && locker != owner) { /* that transaction is about to change its value */
        planner_withhold(planner, &op, there ? there->value.revision : 0, planned);
        planned->other = locker;
        return;
    }
    if (winner && there && !there->value.is_ours) {
        if (slice_equal(winner->owner, owner->id)) { /* counts it once, and not for an owner that
                                                      * loses it */
            planned->left_count++;
            plan_add(&planner->left, &op, 0);
        }
        return;
    }
    if (winner ? there && there->value.hash == actual_value_hash(op.value)
               : !there || !there->value.is_ours) {
        return;
    }
    int64_t revision = there ? there->value.revision : 0;
    if (there && !may_change(planner, there, ip, winner, planned)) {
        planner_withhold(planner, &op, revision, planned);
    } else {
        plan_add(&planner->reverse_plan, &op, revision);
    }
}

static void plan_address(struct planner *planner, const struct owner *owner, const struct ip *ip,
                         struct planned *planned)
{
    struct reverse_winner winner;
    bool has_winner = reverse_winner(planner->reverse, ip, &winner);
    buf_clear(&planner->key);
    reverse_key(ip, &planner->key);
    planner_reverse_plan_key(planner, owner, ip, has_winner ? &winner : NULL, planned);
}

void planner_reverse_plan_addresses(struct planner *planner, const struct owner *owner,
                                    const struct claims *claims, struct planned *planned)
{
    for (size_t i = 0; i < claims->count; i++) {
        struct claim claim = claims_get(claims, i);
        if (planner_reverse_wins(planner, owner, &claim.ip)) {
            plan_address(planner, owner, &claim.ip, planned);
            planned->work++;
        }
    }
    for (size_t i = 0; owner->touched && i < owner->touched->count; i++) {
        if (!planner_reverse_wins(planner, owner, &owner->touched->ips[i])) {
            plan_address(planner, owner, &owner->touched->ips[i], planned);
        }
        planned->work++;
    }
}

/* ---- For the reconciler ---- */

bool planner_winner(const struct planner *planner, const struct ip *ip,
                    struct reverse_winner *ret_winner)
{
    return reverse_winner(planner->reverse, ip, ret_winner);
}

size_t planner_reverse_count(const struct planner *planner)
{
    return reverse_count(planner->reverse);
}

size_t planner_reverse_refused(const struct planner *planner)
{
    return reverse_refused_count(planner->reverse);
}

bool planner_decide_reverse(struct planner *planner, struct slice key)
{
    struct ip ip;
    return reverse_parse_key(key, &ip) && reverse_decide(planner->reverse, &ip);
}

void planner_leave_reverse(struct planner *planner, struct plan *plan, struct planned *planned)
{
    size_t reverse_ops = 0;
    for (size_t i = 0; i < plan->op_count; i++) {
        reverse_ops += slice_has_prefix(plan_get(plan, i).key, slice_str(REVERSE_TREE));
    }
    if (reverse_ops > 0 && reverse_ops < plan->op_count) {
        plan_move(plan, slice_str(REVERSE_TREE), &planner->withheld);
        planned->reverse_ops = 0;
        planned->is_withheld = true;
        planned->is_split = true;
    }
}

struct slice planner_reverse_owner(const struct planner *planner, struct slice key)
{
    struct reverse_winner winner;
    struct ip ip;
    if (!reverse_parse_key(key, &ip) || !reverse_winner(planner->reverse, &ip, &winner)) {
        return slice_of(NULL, 0);
    }
    return winner.owner;
}
