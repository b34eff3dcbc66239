/* Explains which keys of a name gave records, and why the others did not; then the names that these
 * records lead to. */
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "common/dns/record.h"
#include "skydns/answer/answer_kube.h"
#include "skydns/answer/follow.h"
#include "skydns/answer/near.h"
#include "skydns/pages/explain_internal.h"
#include "skydns/sync/store_sync.h"

/* Limits the records that one explanation may visit: 10 ms of the main thread. */
enum { VISITS_MAX = 50000 };

/* ---- The rule for a key ---- */

/* Keys that a lookup found, and those left after groups; owned copies. */
struct found {
    const struct explain_name *name;
    const struct store_record **all;
    size_t all_count;
    const struct store_record **grouped;
    size_t grouped_count;
};

static bool explain_name_is_among(const struct store_record *const *records, size_t count,
                                  const struct store_record *record)
{
    for (size_t i = 0; i < count; i++) {
        if (records[i] == record) {
            return true;
        }
    }
    return false;
}

static bool list_has_part(const struct rr_list *list, const struct store_record *record)
{
    for (size_t i = 0; i < list->count; i++) {
        if (store_record_holds(record, list->items[i].data)) {
            return true;
        }
    }
    return false;
}

static bool gave_something(const struct explainer *e, const struct explain_name *name,
                           const struct store_record *record)
{
    const struct answer_plan *plan = e->result.plan;
    return plan && (list_has_part(&plan->answers, record) ||
                    (name->from && list_has_part(&plan->additionals, record)));
}

/* Returns whether a label below the name, or one that its wildcards match, starts with `_`. */
static bool is_hidden_below(const struct dname *record_name, unsigned listed_labels)
{
    struct dname_labels labels;
    dname_labels(record_name, &labels);
    for (unsigned i = 0; i + listed_labels < labels.count; i++) {
        struct slice label = dname_label(record_name, labels.offsets[i]);
        if (label.len > 0 && label.ptr[0] == '_') {
            return true;
        }
    }
    return false;
}

static const struct store_record *find_same(const struct found *found,
                                            const struct store_record *record)
{
    for (size_t i = 0; i < found->all_count; i++) {
        if (found->all[i] != record && store_record_same_data(found->all[i], record)) {
            return found->all[i];
        }
    }
    return NULL;
}

/* Explains why the lookup skipped a record. */
static void explain_name_explain_left_out(const struct found *found, unsigned listed_labels,
                                          struct explain_record *x)
{
    struct dname name;
    store_record_name(x->record, &name);
    x->other = find_same(found, x->record);
    x->rule = is_hidden_below(&name, listed_labels) ? EXPLAIN_HIDDEN
              : x->other                            ? EXPLAIN_DUPLICATE
                                                    : EXPLAIN_PATTERN;
    if (x->rule != EXPLAIN_DUPLICATE) {
        x->other = NULL;
    }
}

/* Returns whether the query is SRV at a Service's own name, which the keys of its ports answer. */
static bool lists_ports(const struct explainer *e, const struct explain_name *name)
{
    const struct engine_zone *zone = engine_config_zone(e->config, &name->name);
    return e->config->settings.schema == ENGINE_SCHEMA_KUBERNETES && zone && name->is_asked &&
           kube_place_lists_ports(kube_place_of(zone, &name->name), e->result.question.type);
}

/* Returns whether the schema forbids it: SRV at a service's name comes only from its ports. */
static bool is_against_schema(const struct explainer *e, const struct explain_name *name)
{
    const struct engine_zone *zone = engine_config_zone(e->config, &name->name);
    uint16_t type = e->result.question.type;
    if (e->config->settings.schema != ENGINE_SCHEMA_KUBERNETES || !zone) {
        return false;
    }
    if (!name->is_asked) { /* its addresses are wanted */
        return !kube_has_data(zone, &name->name, DNS_TYPE_A);
    }
    return lists_ports(e, name) || !kube_has_data(zone, &name->name, type);
}

/* Returns whether a host name is ignored: it is among the records of a name that is no alias. */
static bool is_ignored_host(const struct explainer *e, const struct explain_name *name,
                            const struct store_record *record)
{
    uint16_t type = name->is_asked ? e->result.question.type : DNS_TYPE_A;
    return e->config->settings.schema == ENGINE_SCHEMA_KUBERNETES &&
           record->host == STORE_HOST_NAME &&
           (type == DNS_TYPE_A || type == DNS_TYPE_AAAA || type == DNS_TYPE_CNAME);
}

/* Returns why a key that was found gives nothing to a query of this type. */
static enum explain_rule type_rule(const struct explainer *e, const struct explain_name *name,
                                   const struct store_record *record)
{
    if (name->alias) {
        return EXPLAIN_ALIAS;
    }
    return is_ignored_host(e, name, record) || is_against_schema(e, name)
               ? EXPLAIN_SCHEMA
               : explain_type_rule(e->config, e->result.question.type, &name->name, record);
}

static bool is_in_stub_zone(const struct explainer *e, const struct dname *name)
{
    const struct engine_zone *domain = engine_config_zone(e->config, name);
    return domain && engine_config_stub(e->config, name, e->result.question.type, domain);
}

static bool is_veiled(const struct explainer *e, const struct store_record *record)
{
    struct dname name;
    store_record_name(record, &name);
    return view_part_of(&e->view, &name) == VIEW_NONE || view_hides_record(&e->view, &name);
}

/* Returns whether -topology leaves the record out for this client. */
static bool is_far(const struct explainer *e, const struct explain_name *name,
                   const struct store_record *record)
{
    bool is_near = true;
    const struct near near =
        near_of(e->config, e->result.who.view.zone, slice_of(name->name.wire, name->name.len));
    if (near.service) {
        (void)near_judge(&near, near_node(&near, e->store), record, &is_near);
    }
    return !is_near;
}

/* Returns why a key that was found gave nothing: one that could have given a record is far, or
 * another key gave the same. */
static enum explain_rule left_out_rule(const struct explainer *e, const struct explain_name *name,
                                       const struct store_record *record)
{
    const enum explain_rule rule = type_rule(e, name, record);
    return rule == EXPLAIN_DUPLICATE && is_far(e, name, record) ? EXPLAIN_FAR : rule;
}

static void explain_name_classify(const struct explainer *e, const struct found *found,
                                  unsigned listed_labels, struct explain_record *x)
{
    const struct explain_name *name = found->name;
    if (gave_something(e, name, x->record)) {
        x->rule = EXPLAIN_GAVE;
    } else if (is_veiled(e, x->record)) {
        x->rule = EXPLAIN_VEILED;
    } else if (is_in_stub_zone(e, &name->name)) {
        x->rule = EXPLAIN_STUB;
    } else if (!explain_name_is_among(found->all, found->all_count, x->record)) {
        explain_name_explain_left_out(found, listed_labels, x);
        if (x->rule == EXPLAIN_HIDDEN && lists_ports(e, name) && is_far(e, name, x->record)) {
            x->rule = EXPLAIN_FAR;
        }
    } else if (!explain_name_is_among(found->grouped, found->grouped_count, x->record)) {
        x->rule = EXPLAIN_GROUP;
    } else if (e->result.plan && e->result.plan->answers.is_cut) {
        x->rule = EXPLAIN_ROOM;
    } else {
        x->rule = e->result.plan ? left_out_rule(e, name, x->record) : EXPLAIN_TYPE;
    }
}

/* ---- A name ---- */

static struct lookup_rule explain_name_rule(const struct explainer *e, const struct dname *name)
{
    const struct engine_zone *zone = engine_config_zone(e->config, name);
    return zone ? follow_rule(e->config, zone) : (struct lookup_rule){.no_wildcards = true};
}

/* Collects every record at or below the name, including hidden ones. */
static void explain_name_collect(struct explainer *e, const struct found *found,
                                 const struct dname *listed, struct explain_name *x)
{
    unsigned labels = dname_label_count(listed), named = dname_label_count(&x->name);
    const struct store_record *record = store_find_record(e->store, listed);
    struct dname at = *listed;
    if (!record) {
        record = store_next(e->store, &at);
    }
    for (; record && x->record_total < VISITS_MAX; record = store_next(e->store, &at)) {
        store_record_name(record, &at);
        if (!dname_is_within(&at, listed)) {
            break;
        }
        x->record_total++;
        if (x->record_count < EXPLAIN_RECORDS_MAX) {
            struct explain_record *shown = &x->records[x->record_count++];
            *shown = (struct explain_record){.record = record};
            explain_name_classify(e, found, labels < named ? labels : named, shown);
        }
    }
}

static struct dname closest_to(const struct store *store, const struct dname *name)
{
    struct dname closest = *name;
    while (closest.len > 1 && !store_find(store, &closest)) {
        dname_strip(&closest, 1);
    }
    return closest;
}

struct broken_search {
    struct explain_name *x;
    struct slice key; /* of the name */
};

static bool see_broken(void *data, const struct broken_key *key)
{
    struct broken_search *s = data;
    bool is_below = slice_has_prefix(key->key, s->key) &&
                    (key->key.len == s->key.len || key->key.ptr[s->key.len] == '/');
    if (is_below && s->x->broken_count < EXPLAIN_BROKEN_MAX) {
        s->x->broken[s->x->broken_count++] = *key;
    }
    return s->x->broken_count < EXPLAIN_BROKEN_MAX;
}

static void find_broken(struct explainer *e, struct explain_name *x, const struct dname *listed)
{
    CLEANUP_BUF struct buf key = buf_of(store_sync_prefix(e->sources.sync).len + DNAME_MAX);
    record_key_of(store_sync_prefix(e->sources.sync), listed, &key);
    struct broken_search s = {.x = x, .key = buf_slice(&key)};
    broken_each(e->past ? e->past->broken : store_sync_broken(e->sources.sync), see_broken, &s);
}

static const struct store_record **copy_span(const struct explainer *e,
                                             const struct lookup_span *span)
{
    const struct store_record **copy = xcalloc(span->count + 1, sizeof(*copy));
    for (size_t i = 0; i < span->count; i++) {
        copy[i] = lookup_record(e->lookup, span, i);
    }
    return copy;
}

/* Looks up the records, before and after groups. */
static enum lookup_result explain_name_look_up(struct explainer *e, const struct explain_name *x,
                                               struct found *ret)
{
    const struct lookup_rule rule = explain_name_rule(e, &x->name);
    const struct view view =
        view_of(e->config, e->store, &(struct client_view){.space = NULL}, NULL);
    struct lookup_span span;
    lookup_start(e->lookup);
    lookup_allow(e->lookup, VISITS_MAX);
    *ret = (struct found){.name = x};
    enum lookup_result result = lookup_find(e->lookup, &view, &x->name, rule, &span);
    if (result == LOOKUP_FOUND) {
        ret->all = copy_span(e, &span);
        ret->all_count = span.count;
        if (e->result.question.type != DNS_TYPE_MX) { /* as answer_types.c */
            lookup_keep_group(e->lookup, &span);
        }
        ret->grouped = copy_span(e, &span);
        ret->grouped_count = span.count;
    }
    return result;
}

/* Returns the type to look up: for a target, that of addresses. */
static uint16_t type_wanted(const struct explainer *e, const struct explain_name *x)
{
    uint16_t type = e->result.question.type;
    return x->is_asked || type == DNS_TYPE_AAAA ? type : DNS_TYPE_A;
}

static void explain_name(struct explainer *e, struct explain_name *x)
{
    struct found found;
    const struct view view =
        view_of(e->config, e->store, &(struct client_view){.space = NULL}, NULL);
    const struct engine_zone *zone = engine_config_zone(e->config, &x->name);
    const struct dname listed = lookup_listed_name(&x->name, explain_name_rule(e, &x->name));
    x->alias = zone ? follow_alias(&view, zone, &x->name) : NULL;
    find_broken(e, x, &listed);
    switch (explain_name_look_up(e, x, &found)) {
    case LOOKUP_FOUND:
        x->exists = true;
        explain_name_collect(e, &found, &listed, x);
        break;
    case LOOKUP_LIMIT:
        x->exists = x->is_too_large = true;
        break;
    case LOOKUP_ABSENT:
        x->closest = closest_to(e->store, &listed);
        if (zone && dname_is_within(&x->closest, &zone->domain)) {
            x->near_count = explain_similar(e, &x->name, type_wanted(e, x), x->near);
        }
        break;
    }
    free(found.all);
    free(found.grouped);
}

/* ---- Targets ---- */

void explain_name_add(struct explainer *e, const struct dname *name,
                      const struct store_record *from, bool is_asked)
{
    for (size_t i = 0; i < e->result.name_count; i++) {
        if (dname_equal(&e->names[i].name, name)) {
            return;
        }
    }
    if (e->result.name_count < EXPLAIN_NAMES_MAX) {
        e->names[e->result.name_count++] =
            (struct explain_name){.name = *name, .from = from, .is_asked = is_asked};
    }
}

static void add_targets(struct explainer *e, const struct explain_name *x)
{
    for (size_t i = 0; i < x->record_count; i++) {
        const struct explain_record *r = &x->records[i];
        struct dname target;
        bool gave_text =
            e->result.question.type == DNS_TYPE_TXT && r->record->lens[RECORD_TEXT] > 0;
        bool is_followed = (r->rule == EXPLAIN_GAVE && !gave_text) || r->rule == EXPLAIN_TARGET;
        if (is_followed && store_record_host_name(r->record, &target)) {
            dname_lower(&target);
            if (engine_config_zone(e->config, &target)) {
                explain_name_add(e, &target, r->record, x->alias && x->is_asked);
            }
        }
    }
}

void explain_name_all(struct explainer *e)
{
    const uint16_t type = e->result.question.type;
    const bool leads_on = type == DNS_TYPE_A || type == DNS_TYPE_AAAA || type == DNS_TYPE_SRV ||
                          type == DNS_TYPE_MX; /* as answer_types.c */
    for (size_t i = 0; i < e->result.name_count; i++) {
        explain_name(e, &e->names[i]);
        if (leads_on || (e->names[i].alias && type != DNS_TYPE_CNAME)) {
            add_targets(e, &e->names[i]);
        }
    }
}
