#include "kube2sky/reconcile/owner_report.h"

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/etcd/etcd_mirror.h"
#include "kube2sky/reconcile/conflict_internal.h"
#include "kube2sky/reconcile/etcd_space_internal.h"
#include "kube2sky/reconcile/leader_internal.h"
#include "kube2sky/reconcile/reconciler_internal.h"
#include "kube2sky/reconcile/refusal_internal.h"

/* Other writers' keys may be as long as a request to etcd. */
enum { KEY_MAX = 16 * 1024 * 1024 };

struct look {
    struct reconciler *r;
    const struct owner *owner;
    const struct owner_visitor *visitor;
    struct owner_report *report;
    struct buf text; /* scratch buffer */
};

const char *owner_key_state_name(enum owner_key_state state)
{
    static const char *const names[OWNER_KEY_STATES] = {
        [OWNER_KEY_PRESENT] = "present", [OWNER_KEY_MISSING] = "missing",
        [OWNER_KEY_DIFFERS] = "differs", [OWNER_KEY_UNWANTED] = "unwanted",
        [OWNER_KEY_OTHERS] = "foreign",  [OWNER_KEY_UNKNOWN] = "unknown",
        [OWNER_KEY_TAKEN] = "taken",
    };
    return names[state];
}

const char *owner_state_name(enum owner_state state)
{
    static const char *const names[] = {
        [OWNER_SETTLED] = "settled",     [OWNER_QUEUED] = "queued",
        [OWNER_HELD] = "held",           [OWNER_BLOCKED] = "blocked",
        [OWNER_CONTESTED] = "contested", [OWNER_REFUSED] = "refused",
        [OWNER_IN_FLIGHT] = "in flight",
    };
    return names[state];
}

static void add_reason(struct owner_report *report, const char *text)
{
    if (report->reason_count < OWNER_REASONS_MAX) {
        report->reasons[report->reason_count++] = text;
    }
}

/* ---- Its own keys ---- */

static enum owner_key_state owner_report_compare(const struct look *look,
                                                 const struct actual_value *there,
                                                 struct slice value)
{
    return !look->r->feeds[KEY_SOURCE_RECORDS].is_mirrored ? OWNER_KEY_UNKNOWN
           : !there                                        ? OWNER_KEY_MISSING
           : there->hash == actual_value_hash(value)       ? OWNER_KEY_PRESENT
                                                           : OWNER_KEY_DIFFERS;
}

static void tell_wanted(const struct look *look, const struct desired_record *record,
                        const struct actual_key *there)
{
    const struct owner_key key = {
        .key = record->key,
        .value = record->value,
        .revision = there ? there->value.revision : 0,
        .state = owner_report_compare(look, there ? &there->value : NULL, record->value),
    };
    look->visitor->key(look->visitor->data, &key);
}

static void tell_unwanted(struct look *look, struct slice base, const struct actual_key *there)
{
    buf_clear(&look->text);
    buf_append_slice(&look->text, base);
    buf_append_slice(&look->text, actual_suffix(there));
    const struct owner_key key = {
        .key = buf_slice(&look->text),
        .revision = there->value.revision,
        .state = there->value.is_ours ? OWNER_KEY_UNWANTED : OWNER_KEY_OTHERS,
    };
    look->visitor->key(look->visitor->data, &key);
}

/* Reports each key, merging the sorted lists of desired and actual keys. */
static void tell_keys(struct look *look)
{
    const struct desired *desired = &look->r->planner.desired;
    const struct actual_keys *actual = &look->owner->actual;
    struct slice base = buf_slice(&look->r->planner.base);
    size_t next = 0, at = 0;
    const struct actual_key *there = actual_next(actual, &at);
    while (there || next < desired->count) {
        int d = there ? 1 : -1; /* negative: the desired key comes first */
        struct desired_record record = {.key = base};
        if (next < desired->count) {
            record = desired_get(desired, next);
            struct slice suffix = slice_skip(record.key, base.len);
            d = there ? slice_compare(suffix, actual_suffix(there)) : -1;
        }
        if (d <= 0) {
            tell_wanted(look, &record, d == 0 ? there : NULL);
            next++;
        } else {
            tell_unwanted(look, base, there);
        }
        if (d >= 0) {
            at++;
            there = actual_next(actual, &at);
        }
    }
}

/* ---- The zones of its addresses ---- */

/* Reports the topology key of a Service's owner, if it has or wants one. */
static void tell_topology(struct look *look, struct slice id)
{
    struct reconciler *r = look->r;
    struct planner *planner = &r->planner;
    struct slice topology = reconciler_topology_of(r, id);
    const struct owner *owner = topology.len ? owners_find(r->owners, topology) : NULL;
    if (!owner) {
        return;
    }
    size_t at = 0;
    const struct actual_key *there = actual_next(&owner->actual, &at);
    (void)planner_plan(planner, owner, &r->plan);
    const struct slice value = owner->desired_count ? buf_slice(&planner->zones) : slice_of("", 0);
    const struct owner_key key = {
        .key = buf_slice(&planner->base),
        .value = value,
        .revision = there ? there->value.revision : 0,
        .state = value.len ? owner_report_compare(look, there ? &there->value : NULL, value)
                 : !there  ? OWNER_KEY_UNKNOWN
                           : OWNER_KEY_UNWANTED,
    };
    if (value.len || there) {
        look->visitor->key(look->visitor->data, &key);
    }
}

/* ---- Reverse names ---- */

static enum owner_key_state compare_reverse(struct look *look, const struct reverse_key *there,
                                            struct slice host)
{
    struct planner *planner = &look->r->planner;
    if (there && !there->value.is_ours) {
        return OWNER_KEY_OTHERS;
    }
    naming_value(&planner->naming, host, 0, &planner->value);
    return owner_report_compare(look, there ? &there->value : NULL, buf_slice(&planner->value));
}

static void tell_claim(struct look *look, const struct claim *claim)
{
    struct reconciler *r = look->r;
    struct reverse_winner winner = {.host = {.ptr = NULL}};
    bool has_winner = planner_winner(&r->planner, &claim->ip, &winner);
    buf_clear(&look->text);
    reverse_key(&claim->ip, &look->text);
    const struct reverse_key *there = reverse_keys_find(r->reverse_keys, buf_slice(&look->text));
    const struct owner_claim told = {
        .ip = claim->ip,
        .key = buf_slice(&look->text),
        .host = claim->host,
        .winner_host = winner.host,
        .winner_owner = winner.owner,
        .is_won = has_winner && slice_equal(winner.owner, look->owner->id),
        .revision = there ? there->value.revision : 0,
        .state = !has_winner && !reverse_may_win(r->planner.reverse, &claim->ip, look->owner->id)
                     ? OWNER_KEY_TAKEN
                     : compare_reverse(look, there, has_winner ? winner.host : claim->host),
    };
    look->visitor->claim(look->visitor->data, &told);
}

static void tell_claims(struct look *look)
{
    const struct claims *claims = &look->r->planner.claims;
    for (size_t i = 0; i < claims->count && !look->r->config.no_reverse; i++) {
        struct claim claim = claims_get(claims, i);
        tell_claim(look, &claim);
    }
}

/* ---- Reasons for the difference ---- */

static bool has_kind(const struct plan *plan, bool is_reverse)
{
    bool has = false;
    for (size_t i = 0; i < plan->op_count && !has; i++) {
        has = reconciler_is_reverse_key(plan_get(plan, i).key) == is_reverse;
    }
    return has;
}

/* Adds the reasons why operations are withheld, in the planner's order. */
static void explain_held_back(const struct look *look, const struct planned *planned)
{
    const struct planner *planner = &look->r->planner;
    const struct inventory *inventory = look->r->config.inventory;
    bool has_own = has_kind(&planner->withheld, false) && !look->owner->lacks_room;
    bool has_reverse = has_kind(&planner->withheld, true);
    if (has_own && look->owner->is_in_doubt) {
        add_reason(look->report, "deletes wait: one of its objects cannot be understood, or its "
                                 "endpoints are not all known again yet");
    }
    if (has_own &&
        !inventory_may_delete(planner_inventory(planner, look->owner->id), look->owner->id)) {
        add_reason(look->report, "deletes wait: not everything that may want its keys has been "
                                 "listed");
    }
    if (has_reverse && planned->other) {
        add_reason(look->report,
                   "a reverse name waits: its key is in another Service's transaction");
    } else if (has_reverse) {
        add_reason(look->report, !inventory_knows_claims(inventory, slice_of(NULL, 0))
                                     ? "reverse names wait: not every Service and endpoint that "
                                       "may claim them has been listed"
                                 : !inventory_knows_pods(inventory, slice_of(NULL, 0))
                                     ? "a reverse name waits: pods, which may decide whose it is, "
                                       "have not been listed"
                                 : planned->awaits_claims
                                     ? "a reverse name waits: objects that may claim it are due"
                                     : "a reverse name waits: the Service that has it now is in "
                                       "doubt");
    }
}

static void explain_writing(struct look *look)
{
    struct reconciler *r = look->r;
    struct owner_report *report = look->report;
    bool has_work = report->puts + report->deletes > 0 || look->owner->state == OWNER_IN_FLIGHT;
    if (!r->feeds[KEY_SOURCE_RECORDS].is_mirrored) {
        add_reason(report, "etcd has not been read yet");
        return;
    }
    if (has_work && !report->is_leading) {
        add_reason(report, *report->leader ? "another kube2sky leads, and writes"
                                           : "no kube2sky leads yet");
    }
    if (has_work && (r->followed.is_away || r->written.is_away)) {
        add_reason(report, "etcd is away");
    }
    if (report->puts && reconciler_is_over_share(r, look->owner)) {
        add_reason(report, "its namespace has filled its share of etcd's space: additions wait for "
                           "the next compaction");
    }
    if (etcd_space_refusal(r->space)) {
        add_reason(report, "etcd is out of space and refuses writes");
    } else if (etcd_space_shortage(r->space)) {
        add_reason(report, etcd_space_shortage(r->space));
    }
    if (look->owner->is_too_large) {
        add_reason(report,
                   look->owner->is_too_long || r->planner.config.limits.owner_keys != DESIRED_MAX
                       ? "it has more records, or bytes of them, than an owner may: its "
                         "keys are unchanged"
                       : "it has more than 100,000 records: its keys are unchanged");
    }
    if (look->owner->lacks_room) {
        add_reason(report, "its namespace has as many keys as it may: new ones wait until others "
                           "are gone");
    }
    if (report->rest_ms > 0) {
        add_reason(report, conflict_is_of_reverse(look->owner)
                               ? "another writer keeps changing its reverse names: they are "
                                 "restored less often"
                               : "another writer keeps changing its keys: they are restored less "
                                 "often");
    }
    if (report->is_refused) {
        add_reason(report, "etcd refuses its keys");
    }
}

static void owner_report_plan(struct look *look)
{
    struct planner *planner = &look->r->planner;
    struct planned planned = planner_plan(planner, look->owner, &look->r->plan);
    look->report->puts = look->r->plan.put_count;
    look->report->deletes = look->r->plan.op_count - look->r->plan.put_count;
    for (size_t i = 0; i < planner->withheld.op_count; i++) {
        struct etcd_op op = plan_get(&planner->withheld, i);
        look->visitor->held_back(look->visitor->data, &op);
    }
    explain_held_back(look, &planned);
    if (look->owner->state == OWNER_BLOCKED && !planned.other) {
        add_reason(look->report, "it waits for a slot among the large changes");
    }
}

static void owner_report_fill(struct look *look)
{
    struct owner_report *report = look->report;
    const struct owner *owner = look->owner;
    report->state = owner_state_name(owner->state);
    report->changed_ms = owner->changed_us ? (clock_monotonic_us() - owner->changed_us) / 1000 : 0;
    report->is_contested = conflict_of(owner, &report->restored, &report->rest_ms);
    report->contested_key = conflict_key(owner);
    report->is_refused = owner->refusal != NULL;
    report->retry_ms = refusal_wait_ms(owner);
}

static void fill_writer(const struct reconciler *r, struct owner_report *report)
{
    report->is_leading = !r->leader || leader_is_leading(r->leader);
    report->is_electing = r->leader != NULL;
    report->leader = r->leader ? leader_holder(r->leader) : "";
    report->refusal = r->refused[OWNER_RECORDS].msg;
}

void owner_report(struct reconciler *r, struct slice id, const struct owner_visitor *visitor,
                  struct owner_report *report)
{
    const struct owner nobody = {.id = id, .class = OWNER_RECORDS}; /* wants nothing, perhaps since
                                                                     * --namespaces leaves it out */
    const struct owner *owner = owners_find(r->owners, id);
    struct look look = {
        .r = r, .owner = owner ? owner : &nobody, .visitor = visitor, .report = report};
    struct err err;
    *report = (struct owner_report){.is_known = owner != NULL};
    buf_init(&look.text, KEY_MAX);
    fill_writer(r, report);
    owner_report_fill(&look);
    if (r->feeds[KEY_SOURCE_RECORDS].is_mirrored) {
        owner_report_plan(&look);
    }
    if (planner_look(&r->planner, look.owner, visitor->dropped, visitor->data, &err) == 0) {
        owners_base(r->owners, look.owner, &r->planner.base);
        tell_keys(&look);
        tell_claims(&look);
    }
    tell_topology(&look, id);
    explain_writing(&look);
    buf_fini(&look.text);
}
