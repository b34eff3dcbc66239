#include "kube2sky/reconcile/planner_internal.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/cleanup.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/dns/record_json.h"
#include "kube2sky/naming/client_keys.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/naming/external_aliases.h"
#include "kube2sky/naming/external_keys.h"
#include "kube2sky/naming/topology_value.h"
#include "kube2sky/reconcile/actual.h"
#include "kube2sky/reconcile/config_keys_internal.h"
#include "kube2sky/reconcile/key_source_internal.h"

/* Other writers' keys can be as long as a request to etcd, 1.5 MiB by default. */
enum { ETCD_KEY_MAX = 16 * 1024 * 1024 };

const struct inventory *planner_inventory(const struct planner *planner, struct slice id)
{
    const struct planner_config *config = &planner->config;
    return config->imports && owner_id_is_import(id) ? config->imports : config->inventory;
}

void planner_init(struct planner *planner, const struct planner_config *config)
{
    *planner = (struct planner){
        .config = *config,
        .naming = {.domain = config->domain,
                   .import_domain = config->import_domain,
                   .ttl_s = config->ttl_s,
                   .records_max = config->limits.owner_keys,
                   .bytes_max = config->limits.owner_bytes,
                   .endpoint_names = config->endpoint_names,
                   .external = config->external,
                   .dropped = planner_on_dropped},
    };
    planner->naming.data = planner;
    planner->reverse = reverse_new(&(struct reverse_config){
        .inventory = config->inventory, .holder = planner_reverse_holder, .data = planner});
    buf_init(&planner->holder_key, REVERSE_KEY_MAX);
    buf_init(&planner->base, ETCD_KEY_MAX);
    buf_init(&planner->key, ETCD_KEY_MAX);
    buf_init(&planner->value, RECORD_JSON_MAX);
    owner_objects_init(&planner->objects);
    owner_objects_init(&planner->placed);
    buf_init(&planner->zones, 2 * TOPOLOGY_VALUE_MAX);
    desired_init(&planner->desired);
    desired_init(&planner->others);
    buf_init(&planner->named, ETCD_KEY_MAX);
    claims_init(&planner->claims);
    plan_init(&planner->reverse_plan);
    plan_init(&planner->left);
    plan_init(&planner->withheld);
}

void planner_fini(struct planner *planner)
{
    planner_give_up(planner);
    reverse_free(planner->reverse);
    buf_fini(&planner->holder_key);
    buf_fini(&planner->base);
    buf_fini(&planner->key);
    buf_fini(&planner->value);
    owner_objects_fini(&planner->objects);
    owner_objects_fini(&planner->placed);
    buf_fini(&planner->zones);
    desired_fini(&planner->desired);
    desired_fini(&planner->others);
    buf_fini(&planner->named);
    claims_fini(&planner->claims);
    ip_list_fini(&planner->touched);
    plan_fini(&planner->reverse_plan);
    plan_fini(&planner->left);
    plan_fini(&planner->withheld);
    free(planner->port_fault);
}

/* ---- Keys about clients ---- */

/* Returns whether the owner must wait until readers know its pod's address as a node's. The node
 * address must not be there by chance, or about to be deleted. */
static bool must_wait(struct planner *planner, const struct owner *owner)
{
    const struct planner_config *config = &planner->config;
    struct slice label = owner_pod_label(owner);
    if (!label.len || !config->client_keys || config->is_dry) {
        return false;
    }
    buf_clear(&planner->key);
    buf_append_slice(&planner->key,
                     client_keys_tree(config->client_keys, CLIENT_KEYS_NODE_ADDRESS));
    buf_append_slice(&planner->key, label);
    const struct owner *node = owners_find_node(config->owners, label);
    bool is_there = key_source_is_confirmed(&config->feeds[KEY_SOURCE_BESIDE]) && node &&
                    node->actual.count > 0 && node->state != OWNER_IN_FLIGHT;
    return client_keys_value(config->client_keys, buf_slice(&planner->key)).ptr && !is_there;
}

static void look_whether_open(void *data, struct owner *owner)
{
    bool *is_open = data;
    *is_open |= owner->state != OWNER_SETTLED || owner->is_claim_due;
}

/* Returns whether a node's address may be deleted: not while keys of pods at it may be about to
 * change. */
static bool is_node_address_free(const struct planner *planner, const struct owner *node)
{
    const struct planner_config *config = &planner->config;
    bool is_open = !key_source_is_whole(&config->feeds[KEY_SOURCE_RECORDS]);
    owners_each_at(config->owners, owner_node_label(node), look_whether_open, &is_open);
    return !is_open || config->is_dry;
}

static bool may_delete_client_key(const struct planner *planner, const struct owner *owner)
{
    const struct client_keys *keys = planner->config.client_keys;
    return owner->class == OWNER_VISIBLE || owner->class == OWNER_IMPORT_VISIBLE
               ? client_keys_may_delete(keys, CLIENT_KEYS_VISIBLE)
           : owner->class == OWNER_CLIENT
               ? client_keys_may_delete(keys, CLIENT_KEYS_RECORD)
               : client_keys_may_delete(keys, CLIENT_KEYS_NODE_ADDRESS) &&
                     is_node_address_free(planner, owner);
}

/* Returns the value that an owner's only key should have; ptr NULL: none. The multicluster domain
 * has copies of the visibility keys: its readers look there. */
static struct slice client_value(struct planner *planner, const struct owner *owner)
{
    const struct client_keys *keys = planner->config.client_keys;
    if (owner->class != OWNER_IMPORT_VISIBLE) {
        return client_keys_value(keys, buf_slice(&planner->base));
    }
    buf_clear(&planner->key);
    buf_append_slice(&planner->key, client_keys_tree(keys, CLIENT_KEYS_VISIBLE));
    buf_append_slice(&planner->key, owner_namespace(owner));
    return client_keys_value(keys, buf_slice(&planner->key));
}

/* Plans the only key of an owner, planner->base, which should have this value; ptr NULL: none.
 * may_change: what is due about it may be done now. */
static void plan_only_key(struct planner *planner, const struct owner *owner, struct slice value,
                          bool may_change, struct planned *planned, struct plan *plan)
{
    size_t at = 0;
    const struct actual_key *there = actual_next(&owner->actual, &at);
    const int64_t revision = there ? there->value.revision : 0;
    const struct etcd_op op = {.kind = value.ptr ? ETCD_OP_PUT : ETCD_OP_DELETE,
                               .key = buf_slice(&planner->base),
                               .value = value};
    const bool is_due = value.ptr ? !there || there->value.hash != actual_value_hash(value)
                                  : there && there->value.is_ours;
    planned->desired_count = value.ptr != NULL;
    if (is_due && may_change) {
        plan_add(plan, &op, revision);
    } else if (is_due) {
        planner_withhold(planner, &op, revision, planned);
    }
}

/* Plans a key about clients. A client record that another writer has is left alone. */
static void plan_client_key(struct planner *planner, const struct owner *owner,
                            struct planned *planned, struct plan *plan)
{
    size_t at = 0;
    const struct actual_key *there = actual_next(&owner->actual, &at);
    owners_base(planner->config.owners, owner, &planner->base);
    struct slice value = client_value(planner, owner);
    if (value.ptr && owner->class == OWNER_CLIENT && there && !there->value.is_ours) {
        planned->desired_count = 1;
    } else {
        plan_only_key(planner, owner, value, value.ptr || may_delete_client_key(planner, owner),
                      planned, plan);
    }
}

/* ---- Zones of addresses ---- */

/* Fills planner->placed for the owner "topology/default/web". Returns its Service's owner, written
 * into planner->key. */
static struct slice get_placed(struct planner *planner, struct slice id)
{
    const size_t skipped = sizeof(TOPOLOGY_PREFIX) - 1;
    buf_clear(&planner->key);
    buf_append_str(&planner->key, SERVICE_PREFIX);
    buf_append(&planner->key, id.ptr + skipped, id.len - skipped);
    inventory_get(planner->config.inventory, buf_slice(&planner->key), &planner->placed);
    return buf_slice(&planner->key);
}

bool planner_wants_topology(struct planner *planner, struct slice id)
{
    (void)get_placed(planner, id);
    return topology_value_is_marked(planner->placed.service);
}

bool planner_wants_external(struct planner *planner, struct slice id)
{
    inventory_get(planner->config.inventory, id, &planner->placed);
    return naming_is_external(&planner->naming, planner->placed.service);
}

static void note_too_long(struct planner *planner, const struct owner *owner)
{
    static struct log_limit limit = {.burst = 10};
    planner_note_flaw(planner, xstrndup(owner->id.ptr, owner->id.len),
                      xstrdup("more zones of addresses than 256 KiB: clients get all addresses"));
    if (log_limit_pass(&limit)) {
        log_warn("zones of a Service's addresses have no room, left out",
                 LOG_SLICE("owner", owner->id), LOG_INT("bytes", TOPOLOGY_VALUE_MAX));
    }
}

/* Plans the key once the Service and all its slices are known: a value of some of them would be
 * written twice. */
static void plan_topology_key(struct planner *planner, const struct owner *owner,
                              struct planned *planned, struct plan *plan)
{
    const struct slice service = get_placed(planner, owner->id);
    const bool is_on = planner->config.has_topology;
    const bool is_known = !is_on || (!planner->placed.is_in_doubt &&
                                     inventory_may_delete(planner->config.inventory, service));
    const enum topology_value wish =
        is_on ? topology_value_build(&planner->placed, &planner->zones) : TOPOLOGY_VALUE_NONE;
    if (wish == TOPOLOGY_VALUE_TOO_LONG) {
        note_too_long(planner, owner);
    }
    owners_base(planner->config.owners, owner, &planner->base);
    plan_only_key(planner, owner,
                  wish == TOPOLOGY_VALUE_WANTED ? buf_slice(&planner->zones) : slice_of(NULL, 0),
                  is_known, planned, plan);
    planned->work += owner_objects_work(&planner->placed);
}

/* ---- The ConfigMap's ---- */

static void plan_config_keys(struct planner *planner, struct planned *planned, struct plan *plan)
{
    struct config_keys *keys = planner->config.config_keys;
    config_keys_plan(keys, plan, &planner->left);
    planned->desired_count = (uint32_t)keys->wanted.keys.count;
    planned->left_count = (uint32_t)planner->left.op_count;
    planned->work += keys->wanted.keys.count + keys->listed;
}

/* ---- Records ---- */

static void append_ops(struct plan *plan, const struct plan *more, enum etcd_op_kind kind)
{
    for (size_t i = 0; i < more->op_count; i++) {
        if (more->ops[i].kind == kind) {
            struct etcd_op op = plan_get(more, i);
            plan_add(plan, &op, more->ops[i].revision);
        }
    }
}

/* Plans a reverse key that had no claim when it became an owner. */
static void plan_orphan(struct planner *planner, const struct owner *owner, struct planned *planned)
{
    struct reverse_winner winner;
    struct ip ip;
    buf_clear(&planner->key);
    buf_append_str(&planner->key, SKYDNS_TREE);
    buf_append_slice(&planner->key, owner->id);
    bool has_ip = reverse_parse_key(buf_slice(&planner->key), &ip);
    bool has_winner = has_ip && reverse_winner(planner->reverse, &ip, &winner);
    planner_reverse_plan_key(planner, owner, has_ip ? &ip : NULL, has_winner ? &winner : NULL,
                             planned);
}

/* Plans them again, since other Services may have better claims on its names. */
static bool awaits_aliases(const struct planner *planner, const struct owner *owner)
{
    return owner_is_alias(owner) && inventory_awaits_claims(planner->config.inventory);
}

/* Counts and lists the names that the owner asks for and does not get. */
static void leave_aliases(struct planner *planner, struct planned *planned)
{
    for (size_t i = 0; i < planner->others.count && i < KEY_ROOM_SHOWN_MAX; i++) {
        struct desired_record record = desired_get(&planner->others, i);
        const struct etcd_op op = {.kind = ETCD_OP_PUT, .key = record.key, .value = record.value};
        plan_add(&planner->left, &op, 0);
    }
    planned->left_count += (uint32_t)planner->others.count;
}

/* Returns whether the owner's unwanted keys may be deleted. */
static bool planner_may_delete_own(const struct planner *planner, const struct owner *owner)
{
    const struct external_aliases *aliases = planner->config.aliases;
    bool is_held = aliases && owner_is_alias(owner) && external_aliases_is_held(aliases, owner->id);
    return !is_held && !owner->is_in_doubt &&
           inventory_may_delete(planner_inventory(planner, owner->id), owner->id);
}

static void empty_plans(struct planner *planner, struct plan *plan)
{
    plan_build_nothing(plan);
    plan_build_nothing(&planner->reverse_plan);
    plan_build_nothing(&planner->left);
    plan_build_nothing(&planner->withheld);
}

/* Begins the comparison with etcd's keys: plans reverse keys, and decides what may be done about
 * the owner's own. */
static void begin_comparison(struct planner *planner, const struct owner *owner, struct plan *plan)
{
    struct planner_job *job = &planner->job;
    empty_plans(planner, plan);
    plan_place_fini(&job->place);
    job->planned = (struct planned){.work = 1};
    job->is_touched = false;
    job->step = PLANNER_PUTS;
    planner_reverse_plan_addresses(planner, owner, &planner->claims, &job->planned);
    job->planned.desired_count = (uint32_t)planner->desired.count;
    job->puts_wait = must_wait(planner, owner) || awaits_aliases(planner, owner);
    job->awaits_claims =
        owner_is_alias(owner) && owners_awaits_claims(planner->config.owners, owner->id);
    job->may_delete = !job->awaits_claims && planner_may_delete_own(planner, owner);
}

/* Compares the owner's own keys; puts come before deletes, and its own keys before reverse keys.
 * Returns whether that is done. */
static bool go_on_comparing(struct planner *planner, const struct owner *owner, size_t *budget,
                            struct plan *plan)
{
    struct planner_job *job = &planner->job;
    struct planned *planned = &job->planned;
    owners_base(planner->config.owners, owner, &planner->base);
    struct slice base = buf_slice(&planner->base);
    if (job->step == PLANNER_PUTS) {
        if (!plan_add_puts(&planner->desired, base, &owner->actual, &job->place, budget,
                           job->puts_wait ? &planner->withheld : plan)) {
            return false;
        }
        plan_place_fini(&job->place);
        append_ops(plan, &planner->reverse_plan, ETCD_OP_PUT);
        job->step = PLANNER_DELETES;
    }
    if (!plan_add_deletes(&planner->desired, base, &owner->actual, &job->place, budget,
                          job->may_delete ? plan : &planner->withheld)) {
        return false;
    }
    append_ops(plan, &planner->reverse_plan, ETCD_OP_DELETE);
    planned->has_copies = job->place.has_copies;
    planned->awaits_claims |= job->awaits_claims && planner->withheld.op_count > 0;
    planned->is_withheld |= planner->withheld.op_count > 0;
    if (owner_is_alias(owner)) {
        leave_aliases(planner, planned);
    }
    planned->work += planner_job_work(planner) + owner->actual.count;
    return true;
}

/* Plans an owner that has too many records: only reverse keys that it had. */
static void plan_too_large(struct planner *planner, const struct owner *owner, struct plan *plan)
{
    struct planned *planned = &planner->job.planned;
    claims_clear(&planner->claims);
    planner_reverse_plan_addresses(planner, owner, &planner->claims, planned);
    append_ops(plan, &planner->reverse_plan, ETCD_OP_PUT);
    append_ops(plan, &planner->reverse_plan, ETCD_OP_DELETE);
    planned->work += planner_job_work(planner);
}

/* Begins the plan of an owner that has names, unless it has just claimed. */
static void begin_objects(struct planner *planner, const struct owner *owner)
{
    struct naming_config naming = planner->naming;
    naming.dropped = NULL; /* they were reported when the owner claimed */
    planner->job.is_named = slice_equal(buf_slice(&planner->named), owner->id);
    if (!planner->job.is_named) {
        planner_job_begin_names(planner, &naming, owner);
    }
}

/* Goes on with the names, then with the comparison. Returns whether the plan is complete. */
static bool go_on_objects(struct planner *planner, const struct owner *owner, size_t *budget,
                          struct plan *plan)
{
    struct planner_job *job = &planner->job;
    struct err ignored; /* was reported when the owner claimed */
    size_t unlimited = SIZE_MAX;
    size_t *left = planner_job_has_setbacks(planner, owner) ? &unlimited : budget;
    if (job->step == PLANNER_NAMES) {
        if (!planner_job_go_on_naming(planner, budget)) {
            return false;
        }
        if (!job->is_named && planner_job_end_names(planner, owner, &ignored) < 0) {
            plan_too_large(planner, owner, plan);
            return true;
        }
        begin_comparison(planner, owner, plan);
        planner_job_spend(budget, job->planned.work);
    } else if (job->is_touched) {
        planner_job_note_setback(planner, owner);
        begin_comparison(planner, owner, plan);
    }
    return go_on_comparing(planner, owner, left, plan);
}

static const struct actual_key *find_actual(const struct owner *owner, struct slice base,
                                            struct slice key)
{
    return actual_find(&owner->actual, slice_skip(key, base.len));
}

static void plan_come(const struct owner *owner, struct slice base, struct plan *plan)
{
    for (size_t i = 0; i < owner->difference->come.count; i++) {
        struct desired_record record = desired_get(&owner->difference->come, i);
        const struct actual_key *there = find_actual(owner, base, record.key);
        const struct etcd_op put = {.kind = ETCD_OP_PUT, .key = record.key, .value = record.value};
        if (!there || there->value.hash != actual_value_hash(record.value)) {
            plan_add(plan, &put, there ? there->value.revision : 0);
        }
    }
}

static void plan_gone(const struct owner *owner, struct slice base, struct plan *plan)
{
    for (size_t i = 0; i < owner->difference->gone.count; i++) {
        const struct etcd_op del = {
            .kind = ETCD_OP_DELETE,
            .key = desired_get(&owner->difference->gone, i).key,
        };
        const struct actual_key *there = find_actual(owner, base, del.key);
        if (there && there->value.is_ours) {
            plan_add(plan, &del, there->value.revision);
        }
    }
}

/* Plans like plan_objects, but only the changed records. */
static void plan_difference(struct planner *planner, const struct owner *owner,
                            struct planned *planned, struct plan *plan)
{
    bool may_delete = planner_may_delete_own(planner, owner);
    planner_reverse_plan_addresses(planner, owner, &owner->difference->claims_come, planned);
    owners_base(planner->config.owners, owner, &planner->base);
    plan_come(owner, buf_slice(&planner->base), plan);
    append_ops(plan, &planner->reverse_plan, ETCD_OP_PUT);
    plan_gone(owner, buf_slice(&planner->base), may_delete ? plan : &planner->withheld);
    planned->is_withheld |= planner->withheld.op_count > 0;
    append_ops(plan, &planner->reverse_plan, ETCD_OP_DELETE);
    planned->desired_count = owner->desired_count + (uint32_t)owner->difference->count_change;
    planned->left_count += owner->left_count;
    planned->work += owner->difference->come.count + owner->difference->gone.count;
}

/* ---- Room ---- */

/* Returns whether a namespace's limit applies: reverse names, nodes and keys about clients belong
 * to no namespace. */
static bool has_limit(const struct planner *planner, const struct owner *owner)
{
    struct slice ns = owner_namespace(owner);
    return planner->config.limits.ns.keys && owner->group &&
           (owner->class == OWNER_RECORDS || owner->class == OWNER_TOPOLOGY) && ns.len &&
           ns.ptr[ns.len - 1] != '/';
}

static void fit_into_room(struct planner *planner, const struct owner *owner,
                          struct planned *planned, struct plan *plan)
{
    if (has_limit(planner, owner)) {
        owners_base(planner->config.owners, owner, &planner->base);
        planned->lacks_room =
            key_room_fit(owner, &planner->config.limits.ns, buf_slice(&planner->base), plan,
                         &planner->withheld, &planned->after);
        planned->is_withheld |= planned->lacks_room;
    }
}

/* ---- Planning ---- */

/* Returns whether the owner has names, which may be many. */
static bool has_named_keys(const struct owner *owner)
{
    return owner->class == OWNER_RECORDS && !owner->difference &&
           !slice_has_prefix(owner->id, slice_str(ARPA_PREFIX));
}

static void plan_few(struct planner *planner, const struct owner *owner, struct planned *planned,
                     struct plan *plan)
{
    if (owner->class == OWNER_CONFIG) {
        plan_config_keys(planner, planned, plan);
    } else if (owner->class == OWNER_TOPOLOGY) {
        plan_topology_key(planner, owner, planned, plan);
    } else if (owner->class != OWNER_RECORDS) {
        plan_client_key(planner, owner, planned, plan);
    } else if (owner->difference) {
        plan_difference(planner, owner, planned, plan);
    } else {
        plan_orphan(planner, owner, planned);
        append_ops(plan, &planner->reverse_plan, ETCD_OP_PUT);
        append_ops(plan, &planner->reverse_plan, ETCD_OP_DELETE);
    }
}

bool planner_plan_some(struct planner *planner, const struct owner *owner, size_t *budget,
                       struct plan *ret_plan, struct planned *ret_planned)
{
    struct planner_job *job = &planner->job;
    if (planner_planning(planner) != owner) {
        planner_job_open(planner, owner, true);
        job->planned = (struct planned){.work = 1};
        empty_plans(planner, ret_plan);
        if (has_named_keys(owner)) {
            begin_objects(planner, owner);
        }
    }
    if (!has_named_keys(owner)) {
        plan_few(planner, owner, &job->planned, ret_plan);
        planner_job_spend(budget, job->planned.work);
    } else if (!go_on_objects(planner, owner, budget, ret_plan)) {
        return false;
    }
    job->planned.reverse_ops = planner->reverse_plan.op_count;
    fit_into_room(planner, owner, &job->planned, ret_plan);
    planner_job_spend(budget, ret_plan->op_count);
    *ret_planned = job->planned;
    planner_job_finish(planner);
    return true;
}

struct planned planner_plan(struct planner *planner, const struct owner *owner,
                            struct plan *ret_plan)
{
    struct planned planned;
    size_t unlimited = SIZE_MAX;
    planner_give_up(planner);
    const struct planner_setbacks setbacks = planner->setbacks;
    (void)planner_plan_some(planner, owner, &unlimited, ret_plan, &planned);
    planner->setbacks = setbacks; /* the owner is still to be planned */
    return planned;
}
