#include "kube2sky/reconcile/planner_internal.h"

#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/dns/record_json.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/reconcile/actual.h"

/* Foreign keys can be as long as a request to etcd, 1.5 MiB by default. */
enum { ETCD_KEY_MAX = 16 * 1024 * 1024 };

static void on_dropped(void *data, const struct naming_drop *drop)
{
    static struct log_limit limit = {.burst = 10};
    struct planner *planner = data;
    planner->dropped++;
    if (log_limit_pass(&limit)) {
        log_warn("part of an object cannot be part of a key, left out", LOG_STR("kind", drop->kind),
                 LOG_STR("namespace", drop->ns), LOG_STR("name", drop->name),
                 LOG_STR("what", drop->what), LOG_STR("value", drop->value));
    }
}

void planner_init(struct planner *planner, const struct planner_config *config)
{
    *planner = (struct planner){
        .config = *config,
        .naming = {.domain = config->domain, .ttl_s = config->ttl_s, .dropped = on_dropped},
        .reverse = reverse_new(),
    };
    planner->naming.data = planner;
    buf_init(&planner->base, ETCD_KEY_MAX);
    buf_init(&planner->key, ETCD_KEY_MAX);
    buf_init(&planner->value, RECORD_JSON_MAX);
    owner_objects_init(&planner->objects);
    desired_init(&planner->desired);
    claims_init(&planner->claims);
    plan_init(&planner->reverse_plan);
    plan_init(&planner->left);
}

void planner_fini(struct planner *planner)
{
    reverse_free(planner->reverse);
    buf_fini(&planner->base);
    buf_fini(&planner->key);
    buf_fini(&planner->value);
    owner_objects_fini(&planner->objects);
    desired_fini(&planner->desired);
    claims_fini(&planner->claims);
    ip_list_fini(&planner->touched);
    plan_fini(&planner->reverse_plan);
    plan_fini(&planner->left);
}

static bool build_desired(struct planner *planner, const struct owner *owner)
{
    static struct log_limit limit = {.burst = 10};
    struct err err;
    desired_clear(&planner->desired);
    claims_clear(&planner->claims);
    if (!inventory_get(planner->config.inventory, owner->id, &planner->objects)) {
        return false;
    }
    if (naming_build(&planner->naming, &planner->objects, &planner->desired, &planner->claims,
                     &err) < 0) {
        if (log_limit_pass(&limit)) {
            log_error("too many records for one owner, its keys are unchanged",
                      LOG_SLICE("owner", owner->id), LOG_STR("error", err.msg));
        }
        return false;
    }
    return true;
}

/* ---- Reverse keys ---- */

static void on_winner_changed(void *data, const struct ip *ip)
{
    struct planner *planner = data;
    ip_list_add(&planner->touched, ip);
}

static bool wins(const struct planner *planner, const struct owner *owner, const struct ip *ip)
{
    struct reverse_winner winner;
    return reverse_winner(planner->reverse, ip, &winner) && slice_equal(winner.owner, owner->id);
}

/* The addresses that concern the owner and that it does not win. */
static void collect_touched(struct planner *planner, const struct owner *owner)
{
    size_t kept = 0;
    for (size_t i = 0; owner->touched && i < owner->touched->count; i++) {
        ip_list_add(&planner->touched, &owner->touched->ips[i]);
    }
    for (size_t i = 0; i < planner->touched.count; i++) {
        if (!wins(planner, owner, &planner->touched.ips[i])) {
            planner->touched.ips[kept++] = planner->touched.ips[i];
        }
    }
    planner->touched.count = kept;
    ip_list_seal(&planner->touched);
}

static void leave_to_others(struct planner *planner, struct owner *owner, const struct etcd_op *op,
                            struct slice host)
{
    static struct log_limit limit = {.burst = 10};
    owner->foreign_count++;
    plan_add(&planner->left, op, 0);
    if (!planner->was_told && log_limit_pass(&limit)) {
        planner->was_told = true;
        log_warn("somebody else owns a reverse key, left alone", LOG_SLICE("key", op->key),
                 LOG_SLICE("wanted", host));
    }
}

/* Compares one reverse key, planner->key, with its desired value. True if something must be done,
 * now or later; unknown for a key in flight with another's transaction. */
static bool plan_reverse_key(struct planner *planner, struct owner *owner,
                             const struct reverse_winner *winner, struct planned *planned)
{
    struct slice key = buf_slice(&planner->key);
    const struct reverse_key *there = reverse_keys_find(planner->config.reverse_keys, key);
    struct owner *locker = reverse_keys_locker(planner->config.reverse_keys, key);
    if (locker && locker != owner) { /* its value in etcd is about to change */
        planned->other = locker;
        return true;
    }
    struct etcd_op op = {.kind = ETCD_OP_DELETE, .key = key};
    if (winner) {
        naming_value(&planner->naming, winner->host, 0, &planner->value);
        op.kind = ETCD_OP_PUT;
        op.value = buf_slice(&planner->value);
    }
    if (winner && there && !there->value.is_ours) {
        leave_to_others(planner, owner, &op, winner->host);
        return false;
    }
    if (winner ? there && there->value.hash == actual_value_hash(op.value)
               : !there || !there->value.is_ours) {
        return false;
    }
    if (there && !(planner->has_all_claims && inventory_knows_claims(planner->config.inventory))) {
        planned->has_left_some = true;
        return true;
    }
    plan_add(&planner->reverse_plan, &op, there ? there->value.revision : 0);
    return true;
}

static bool plan_address(struct planner *planner, struct owner *owner, const struct ip *ip,
                         struct planned *planned)
{
    struct reverse_winner winner;
    bool has_winner = reverse_winner(planner->reverse, ip, &winner);
    buf_clear(&planner->key);
    reverse_key(ip, &planner->key);
    return plan_reverse_key(planner, owner, has_winner ? &winner : NULL, planned);
}

/* Forgets addresses with nothing left to do. */
static void plan_touched(struct planner *planner, struct owner *owner, struct planned *planned)
{
    struct ip_list *touched = &planner->touched;
    size_t kept = 0;
    for (size_t i = 0; i < touched->count; i++) {
        if (plan_address(planner, owner, &touched->ips[i], planned)) {
            touched->ips[kept++] = touched->ips[i];
        }
    }
    touched->count = kept;
    owners_free_touched(owner);
    if (kept) {
        owner->touched = xmalloc(sizeof(*owner->touched));
        *owner->touched = *touched;
        *touched = (struct ip_list){.ips = NULL};
    }
}

/* Returns how many reverse keys the owner has. */
static uint32_t plan_claims(struct planner *planner, struct owner *owner, struct planned *planned)
{
    uint32_t won = 0;
    ip_list_clear(&planner->touched);
    if (planner->config.has_reverse) {
        reverse_set(planner->reverse, owner->id, &planner->claims, on_winner_changed, planner);
    }
    collect_touched(planner, owner);
    for (size_t i = 0; i < planner->claims.count; i++) {
        struct claim claim = claims_get(&planner->claims, i);
        if (wins(planner, owner, &claim.ip)) {
            (void)plan_address(planner, owner, &claim.ip, planned);
            won++;
        }
    }
    plan_touched(planner, owner, planned);
    return won;
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

/* ---- Planning ---- */

static void append_ops(struct plan *plan, const struct plan *more, enum etcd_op_kind kind)
{
    for (size_t i = 0; i < more->op_count; i++) {
        if (more->ops[i].kind == kind) {
            struct etcd_op op = plan_get(more, i);
            plan_add(plan, &op, more->ops[i].revision);
        }
    }
}

/* A reverse key without a claim when it became an owner. */
static void plan_orphan(struct planner *planner, struct owner *owner, struct planned *planned)
{
    struct reverse_winner winner;
    struct ip ip;
    buf_clear(&planner->key);
    buf_append_str(&planner->key, SKYDNS_TREE);
    buf_append_slice(&planner->key, owner->id);
    bool has_winner = reverse_parse_key(buf_slice(&planner->key), &ip) &&
                      reverse_winner(planner->reverse, &ip, &winner);
    (void)plan_reverse_key(planner, owner, has_winner ? &winner : NULL, planned);
}

/* Puts before deletes, the owner's own keys first. */
static void put_together(struct planner *planner, struct owner *owner, struct plan *plan)
{
    struct slice base = buf_slice(&planner->base);
    plan_add_puts(&planner->desired, base, &owner->actual, plan);
    append_ops(plan, &planner->reverse_plan, ETCD_OP_PUT);
    plan_add_deletes(&planner->desired, base, &owner->actual, plan);
    append_ops(plan, &planner->reverse_plan, ETCD_OP_DELETE);
}

static void plan_objects(struct planner *planner, struct owner *owner, struct planned *planned,
                         struct plan *plan)
{
    if (!build_desired(planner, owner)) {
        return;
    }
    uint32_t won = plan_claims(planner, owner, planned);
    owner->desired_count = (uint32_t)planner->desired.count + won;
    owners_base(planner->config.owners, owner, &planner->base);
    put_together(planner, owner, plan);
    size_t own_deletes = 0;
    for (size_t i = plan->put_count; i < plan->op_count; i++) {
        own_deletes += slice_has_prefix(plan_get(plan, i).key, buf_slice(&planner->base));
    }
    planned->must_wait = own_deletes && !inventory_may_delete(planner->config.inventory, owner->id);
    planned->work += owner->desired_count + owner->actual.count;
}

struct planned planner_plan(struct planner *planner, struct owner *owner, struct plan *ret_plan)
{
    struct planned planned = {.work = 1};
    plan_build_nothing(ret_plan);
    plan_build_nothing(&planner->reverse_plan);
    plan_build_nothing(&planner->left);
    planner->foreign -= owner->foreign_count;
    planner->was_told = owner->foreign_count > 0;
    owner->foreign_count = 0;
    if (slice_has_prefix(owner->id, slice_str(ARPA_PREFIX))) {
        plan_orphan(planner, owner, &planned);
        append_ops(ret_plan, &planner->reverse_plan, ETCD_OP_PUT);
        append_ops(ret_plan, &planner->reverse_plan, ETCD_OP_DELETE);
    } else {
        plan_objects(planner, owner, &planned, ret_plan);
    }
    planner->foreign += owner->foreign_count;
    planned.reverse_ops = planner->reverse_plan.op_count;
    return planned;
}
