#include "kube2sky/reconcile/reconciler.h"

#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/xalloc.h"
#include "common/dns/dname.h"
#include "common/etcd/etcd.h"
#include "common/etcd/etcd_mirror.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/naming/external_aliases.h"
#include "kube2sky/naming/external_keys.h"
#include "kube2sky/reconcile/conflict_internal.h"
#include "kube2sky/reconcile/etcd_space_internal.h"
#include "kube2sky/reconcile/key_log_internal.h"
#include "kube2sky/reconcile/leader_internal.h"
#include "kube2sky/reconcile/owner_groups_internal.h"
#include "kube2sky/reconcile/reconciler_internal.h"
#include "kube2sky/reconcile/refusal_internal.h"
#include "kube2sky/reconcile/serial_key_internal.h"

/* Limits the records that are named in a turn of the loop, and those that are compared: about 2 ms,
 * so that probes, API events and etcd's acknowledgements are served in between. An owner with more
 * takes several turns. */
enum { CLAIMS_PER_TURN = 4096, PLANS_PER_TURN = 2 * CLAIMS_PER_TURN };

bool reconciler_may_write(const struct reconciler *r)
{
    return !r->config.planned && (!r->leader || leader_is_leading(r->leader));
}

bool reconciler_is_leading(const struct reconciler *r)
{
    return reconciler_may_write(r);
}

/* ---- Owners ---- */

void reconciler_want_look(struct reconciler *r, struct owner *owner)
{
    owners_free_difference(owner);
    if (owner->state == OWNER_SETTLED || owner->state == OWNER_HELD) {
        owners_enqueue(r->owners, owner);
    }
}

void reconciler_owner_changed(struct reconciler *r, struct slice id)
{
    struct owner *owner = owners_get(r->owners, id);
    owner->is_told = false;
    if (owner->state == OWNER_IN_FLIGHT) {
        owner->has_changed = true;
    }
    if (!owner->changed_us) {
        owner->changed_us = clock_monotonic_us();
    }
    if (owner->state == OWNER_CONTESTED) { /* its objects' change does not wait for the backoff */
        owners_enqueue(r->owners, owner);
    }
    if (owner->class == OWNER_RECORDS) {
        planner_note_objects(&r->planner, owner);
        owner_groups_want_claim(r->owners->groups, owner);
        reconciler_look_at_topology(r, id);
        reconciler_look_at_external(r, id);
    }
    reconciler_want_look(r, owner);
}

/* Notes a change of one slice. Only a settled owner differs from etcd by that change alone; a
 * copied value would have to go with its original. */
void reconciler_slice_changed(struct reconciler *r, struct slice id,
                              const struct slice_change *change)
{
    struct owner *owner = owners_get(r->owners, id);
    bool is_settled = owner->state == OWNER_SETTLED && !owner->is_claim_due &&
                      !owner->is_in_doubt && !owner->touched && !owner->left_count &&
                      !owner->has_copies && owner->desired_count > 0;
    reconciler_owner_changed(r, id);
    if (is_settled) {
        (void)planner_note_change(&r->planner, owner,
                                  change); /* on failure, the plan compares all keys */
    }
}

void reconciler_note_trigger(struct reconciler *r, struct slice id, enum inventory_trigger trigger,
                             int64_t since_us)
{
    struct owner *owner = owners_find(r->owners, id);
    if (!owner || !owner->changed_us || owner->trigger) {
        return;
    }
    int64_t ago_us = clock_wall_ns() / 1000 - since_us;
    int64_t ahead = (owner->changed_us - (clock_monotonic_us() - ago_us)) / OWNER_TRIGGER_US;
    owner->trigger_ahead = (int32_t)(ahead > INT32_MAX   ? INT32_MAX
                                     : ahead < INT32_MIN ? INT32_MIN
                                                         : ahead);
    owner->trigger = (uint8_t)(1 + trigger);
}

void reconciler_note_cause(struct reconciler *r, struct slice id)
{
    const struct cause_object *object =
        r->config.cause ? r->config.cause(r->config.cause_data) : NULL;
    if (object) {
        causes_note(r->causes, id, object);
    }
}

const struct cause *reconciler_cause(const struct reconciler *r, struct slice id, size_t back)
{
    return causes_get(r->causes, id, back);
}

/* ---- The lead ---- */

static void on_leader_changed(void *data, bool is_leading)
{
    struct reconciler *r = data;
    transactions_on_condition(r->transactions);
    if (reconciler_has_config(r)) {
        reconciler_want_another_look(r, owners_get(r->owners, slice_str(CONFIG_OWNER)));
    }
    if (is_leading) {
        owners_hold_release(r->owners);
    }
}

/* ---- The turn of the loop ---- */

/* Returns whether another process writes, or this is a dry run. */
static bool is_onlooker(const struct reconciler *r)
{
    return r->config.planned != NULL ||
           (r->leader && !leader_is_leading(r->leader) && *leader_holder(r->leader));
}

size_t reconciler_queued(const struct reconciler *r)
{
    return owners_in(r->owners, OWNER_RECORDS, OWNER_QUEUED) +
           owners_in(r->owners, OWNER_RECORDS, OWNER_BLOCKED);
}

/* Returns whether the queue is empty. A process that does not write is in sync when it knows what
 * it would write. Owners held by doubt do not count: doubt may last as long as an object that
 * cannot be understood, or until the source of endpoints is settled. */
static bool is_in_sync(const struct reconciler *r)
{
    bool are_orphans_due = r->are_orphans_due && !inventory_awaits_claims(r->config.inventory);
    bool is_known = key_source_is_whole(&r->feeds[KEY_SOURCE_RECORDS]) && r->was_complete &&
                    !are_orphans_due && !owner_groups_has_due(r->owners->groups) &&
                    reconciler_queued(r) == 0 && !reconciler_config_is_pending(r) &&
                    !reconciler_clients_are_pending(r);
    bool is_done = transactions_used(r->transactions) == 0 &&
                   owners_in(r->owners, OWNER_RECORDS, OWNER_REFUSED) == 0;
    return is_known && (is_onlooker(r) || (is_done && reconciler_may_write(r)));
}

/* Queues held owners when one more kind is complete in their namespace, which they may have waited
 * for. */
static void check_completeness(struct reconciler *r)
{
    uint64_t before = r->completions;
    const struct inventory *imports = r->config.imports;
    r->completions =
        inventory_completions(r->config.inventory) + (imports ? inventory_completions(imports) : 0);
    /* A dry run waits for Ingresses and routes, too: it prints everything that would be written. */
    const bool awaits_routes =
        r->config.planned && r->aliases && external_aliases_count(r->aliases).held > 0;
    r->was_complete = inventory_is_complete(r->config.inventory) && !awaits_routes &&
                      !(r->config.planned && imports && !inventory_is_complete(imports));
    if (r->completions != before) {
        owners_hold_release(r->owners);
    }
}

static void finish_drain(struct reconciler *r)
{
    void (*done)(void *data) = r->drained;
    if (!done || transactions_busy(r->transactions, ev_is_active(&r->retry)) ||
        serial_key_is_busy(r->serial_key) ||
        (r->import_serial && serial_key_is_busy(r->import_serial)) ||
        owner_groups_has_due(r->owners->groups) || reconciler_can_plan(r) ||
        planner_planning(&r->planner) ||
        etcd_mirror_counts(r->feeds[KEY_SOURCE_RECORDS].mirror).is_marking) {
        return;
    }
    r->drained = NULL;
    if (r->leader) {
        leader_resign(r->leader, done, r->drained_data);
    } else {
        done(r->drained_data);
    }
}

/* Marks the multicluster domain as complete, unless imports are still to be listed. Returns false
 * while that is under way. */
static bool mark_imports(struct reconciler *r, struct etcd_mirror *mirror,
                         const struct etcd_compare *condition)
{
    return !r->import_serial || !inventory_is_complete(r->config.imports) ||
           serial_key_turn(r->import_serial, mirror, condition);
}

/* Marks etcd's data set as complete, conditional on the lead: a process that lost it writes
 * nothing. */
static void mark_store(struct reconciler *r)
{
    struct etcd_mirror *mirror = r->feeds[KEY_SOURCE_RECORDS].mirror;
    struct etcd_compare condition;
    if (r->leader) {
        condition = leader_condition(r->leader);
    }
    const struct etcd_compare *leads = r->leader ? &condition : NULL;
    if (serial_key_turn(r->serial_key, mirror, leads) && mark_imports(r, mirror, leads)) {
        etcd_mirror_mark_store(mirror, leads);
    }
}

/* Deletes before memory is given back, a namespace's worth: giving it back scans the heap. */
enum { TRIM_AFTER_DELETES = 4096 };

/* Gives memory back after a mass delete, once the mirror has dropped the keys, and after a full
 * read, whose pages take megabytes. */
static void trim_memory(struct reconciler *r)
{
    if (r->report.keys_deleted - r->trimmed_at >= TRIM_AFTER_DELETES ||
        r->feeds[KEY_SOURCE_RECORDS].reads != r->trimmed_reads) {
        r->trimmed_at = r->report.keys_deleted;
        r->trimmed_reads = r->feeds[KEY_SOURCE_RECORDS].reads;
        xalloc_trim();
    }
}

/* Works before the loop sleeps: by then everything that has arrived is known. */
static void reconciler_on_turn(struct ev_loop *loop, ev_prepare *prepare, int revents UNUSED)
{
    struct reconciler *r = prepare->data;
    size_t claim_budget = CLAIMS_PER_TURN, plan_budget = PLANS_PER_TURN;
    check_completeness(r);
    reconciler_take_client_changes(r);
    if (!r->must_plan && !planner_planning(&r->planner)) {
        reconciler_claim_some(r, &claim_budget);
    }
    bool is_claiming = planner_claiming(&r->planner) != NULL;
    r->must_plan = !r->must_plan && !is_claiming && claim_budget == 0;
    reconciler_find_orphans(r);
    if (!r->must_plan && !is_claiming) {
        reconciler_plan_some(r, &plan_budget);
    }
    if (owner_groups_has_due(r->owners->groups) || reconciler_can_plan(r) ||
        planner_planning(&r->planner)) {
        ev_idle_start(loop, &r->stay_awake);
    } else {
        ev_idle_stop(loop, &r->stay_awake);
    }
    bool has_no_work = is_in_sync(r);
    if (has_no_work && reconciler_may_write(r)) {
        outage_back(&r->written); /* the failed change happened after all, or is not wanted any
                                   * longer */
        for (size_t i = 0; i < OWNER_CLASSES; i++) {
            if (!refusals_of(r->refusals, (enum owner_class)i)) {
                r->refused[i].msg[0] = '\0';
            }
        }
        mark_store(r);
    }
    if (has_no_work) {
        trim_memory(r);
    }
    r->report.desired = r->desired + planner_reverse_count(&r->planner);
    sync_report_update(&r->report, has_no_work);
    finish_drain(r);
}

static void reconciler_on_idle(struct ev_loop *loop UNUSED, ev_idle *idle UNUSED,
                               int revents UNUSED)
{
    /* while active, the loop does not sleep */
}

/* ---- Lifetime ---- */

static void init_watchers(struct reconciler *r)
{
    ev_prepare_init(&r->turn, reconciler_on_turn);
    ev_idle_init(&r->stay_awake, reconciler_on_idle);
    r->turn.data = r;
    /* Runs before the etcd client's, which sends what was written during the turn. */
    ev_set_priority(&r->turn, EV_MAXPRI);
    ev_prepare_start(r->config.loop, &r->turn);
}

static const char *reconciler_current_endpoint(const void *etcd)
{
    return etcd_endpoint(etcd);
}

static void reconciler_join_outage(struct reconciler *r)
{
    r->followed.away_line = "etcd cannot be followed, retrying";
    r->followed.back_line = "etcd is followed";
    r->followed.endpoint = reconciler_current_endpoint;
    r->followed.data = r->config.etcd;
    outage_join(r->config.outage, &r->followed, true);
    r->written.away_line = "etcd transaction failed, retrying";
    r->written.back_line = "etcd transactions succeed again";
    outage_join(r->config.outage, &r->written, false);
}

/* Queues the owner of external names, which wants other keys now. */
static void on_alias_changed(void *data, struct slice owner)
{
    reconciler_owner_changed(data, owner);
    reconciler_note_cause(data, owner);
}

static void on_alias_unclaimed(void *data, struct slice owner_object)
{
    struct reconciler *r = data;
    planner_tell_unclaimed(&r->planner, owner_object);
}

/* Queues the owner of the name, since somebody else's key has come to the name or gone from it. */
static void on_external_changed(void *data, struct slice name_key)
{
    struct reconciler *r = data;
    bool is_config = false;
    struct slice id =
        r->aliases ? external_aliases_owner(r->aliases, name_key, &is_config) : slice_of(NULL, 0);
    if (id.len) {
        planner_forget_names(&r->planner);
        reconciler_want_another_look(r, owners_get(r->owners, id));
    } else if (is_config && reconciler_has_config(r)) {
        reconciler_want_another_look(r, owners_get(r->owners, slice_str(CONFIG_OWNER)));
    }
}

static void start_aliases(struct reconciler *r)
{
    const struct reconciler_config *config = &r->config;
    r->external_keys = external_keys_new(&(struct external_keys_config){
        .zones = config->zones, .changed = on_external_changed, .data = r});
    if (config->zones) {
        r->aliases = external_aliases_new(&(struct external_aliases_config){
            .zones = config->zones,
            .domain = config->domain,
            .ttl_s = config->ttl_s,
            .changed = on_alias_changed,
            .unclaimed = on_alias_unclaimed,
            .data = r,
        });
    }
}

static void start_planner(struct reconciler *r)
{
    const struct reconciler_config *config = &r->config;
    ownership_init(&r->ownership, &(struct ownership_config){
                                      .domain = config->domain,
                                      .import_domain = config->import_domain,
                                      .namespaces = config->namespaces,
                                      .namespace_count = config->namespace_count,
                                      .only_written = config->own_only_written,
                                      .has_nodes = config->has_nodes,
                                      .external_zone = config->external.zone,
                                  });
    r->owners = owners_new(&r->ownership);
    start_aliases(r);
    config_keys_init(&r->config_keys, &r->ownership, config->domain);
    r->config_keys.external_keys = config->zones ? r->external_keys : NULL;
    r->config_keys.is_known = !config->has_config_map;
    r->reverse_keys = reverse_keys_new();
    plan_init(&r->plan);
    buf_init(&r->owner_object, 2 * DNAME_MAX);
    buf_init(&r->beside_id, 2 * DNAME_MAX);
    buf_init(&r->import_visible_id, 2 * DNAME_MAX);
    planner_init(&r->planner,
                 &(struct planner_config){
                     .inventory = config->inventory,
                     .imports = config->imports,
                     .owners = r->owners,
                     .reverse_keys = r->reverse_keys,
                     .domain = config->domain,
                     .import_domain = config->import_domain,
                     .ttl_s = config->ttl_s,
                     .endpoint_names = config->endpoint_names,
                     .external = config->external,
                     .limits = key_limits_of(config->etcd_space_bytes, config->owner_keys_max,
                                             config->ns_keys_max),
                     .has_reverse = !config->no_reverse,
                     .has_topology = config->has_topology,
                     .flaws = config->flaws,
                     .events = config->events,
                     .client_keys = config->client_keys,
                     .config_keys = &r->config_keys,
                     .aliases = r->aliases,
                     .external_keys = r->external_keys,
                     .feeds = r->feeds,
                     .is_dry = config->planned != NULL,
                 });
}

static void start_leader(struct reconciler *r)
{
    if (r->config.leader_lease_s) {
        r->leader = leader_start(&(struct leader_config){
            .loop = r->config.loop,
            .etcd = r->config.etcd,
            .domain = r->config.domain,
            .lease_s = r->config.leader_lease_s,
            .changed = on_leader_changed,
            .data = r,
        });
    }
}

struct reconciler *reconciler_start(const struct reconciler_config *config)
{
    struct reconciler *r = xcalloc(1, sizeof(*r));
    r->causes = causes_new();
    r->config = *config;
    start_planner(r);
    reconciler_join_outage(r);
    sync_report_init(&r->report, config->loop);
    reconciler_open_transactions(r);
    reconciler_open_history(r);
    r->space = etcd_space_start(&(struct etcd_space_config){
        .loop = config->loop, .etcd = config->etcd, .quota_bytes = config->etcd_space_bytes});
    init_watchers(r);
    r->serial_key = serial_key_new(&(struct serial_key_config){
        .loop = config->loop, .etcd = config->etcd, .domain = config->domain});
    if (config->import_domain) {
        r->import_serial = serial_key_new(&(struct serial_key_config){
            .loop = config->loop,
            .etcd = config->etcd,
            .domain = config->import_domain,
            .version = IMPORT_DNS_VERSION,
            .is_second = true,
        });
    }
    start_leader(r);
    if (config->external.zone) {
        reconciler_owner_changed(r, slice_str(EXTERNAL_PUBLIC_OWNER));
    }
    reconciler_follow(r);
    return r;
}

void reconciler_stop(struct reconciler *r)
{
    if (!r) {
        return;
    }
    reconciler_unfollow(r);
    serial_key_free(r->serial_key);
    serial_key_free(r->import_serial);
    leader_stop(r->leader);
    outage_leave(&r->followed);
    outage_leave(&r->written);
    ev_timer_stop(r->config.loop, &r->retry);
    reconciler_close_history(r);
    etcd_space_stop(r->space);
    sync_report_fini(&r->report);
    causes_free(r->causes);
    ev_prepare_stop(r->config.loop, &r->turn);
    ev_idle_stop(r->config.loop, &r->stay_awake);
    transactions_free(r->transactions);
    conflicts_free(r->conflicts);
    refusals_free(r->refusals);
    plan_fini(&r->plan);
    buf_fini(&r->owner_object);
    buf_fini(&r->beside_id);
    buf_fini(&r->import_visible_id);
    planner_fini(&r->planner);
    reverse_keys_free(r->reverse_keys);
    external_aliases_free(r->aliases);
    external_keys_free(r->external_keys);
    owners_free(r->owners);
    config_keys_fini(&r->config_keys);
    ownership_fini(&r->ownership);
    free(r);
}

void reconciler_drain(struct reconciler *r, void (*done)(void *data), void *data)
{
    r->drained = done;
    r->drained_data = data;
}
