#include "skydns/pages/explain_internal.h"

#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/cursor.h"
#include "common/base/xalloc.h"
#include "common/dns/dns_names.h"
#include "skydns/answer/near.h"
#include "skydns/engine/namespace_rate.h"
#include "skydns/engine/rate_limit.h"
#include "skydns/external/hosts_table.h"
#include "skydns/sync/store_sync.h"

struct explainer *explainer_new(const struct explainer_sources *sources)
{
    const struct engine_config *config = publisher_newest_config(sources->publisher);
    struct explainer *e = xcalloc(1, sizeof(*e));
    e->sources = *sources;
    e->answer = answer_new(config);
    e->probe = answer_new(config);
    e->lookup = lookup_new(EXPLAIN_RECORDS_MAX);
    return e;
}

void explainer_free(struct explainer *explainer)
{
    if (!explainer) {
        return;
    }
    answer_free(explainer->answer);
    answer_free(explainer->probe);
    lookup_free(explainer->lookup);
    free(explainer);
}

/* ---- The answer ---- */

/* Explains an external name; returns where its cached records begin in the message. What is cached
 * now says nothing of the past. */
static size_t explain_upstreams(struct explainer *e, const struct external_question *question,
                                const struct forward_zone *zone, uint8_t *message,
                                struct explain_external *ret)
{
    return explain_external(e->config, question, zone, clock_monotonic_ms(),
                            e->past ? NULL : message, ret);
}

static void explain_servers(struct explainer *e, struct explain_external *x)
{
    if (!e->past) {
        explain_external_servers(e->sources.resolver, x);
    }
}

/* Explains targets that are external names. */
static void explain_externals(struct explainer *e)
{
    e->result.external_count = e->deferral.question_count;
    for (size_t i = 0; i < e->deferral.question_count; i++) {
        const struct external_question *question = &e->deferral.questions[i];
        const struct zone_table *zones = e->config->zones_of_others;
        (void)explain_upstreams(e, question, zones ? zone_table_find(zones, &question->name) : NULL,
                                e->scratch, &e->externals[i]);
        explain_servers(e, &e->externals[i]);
    }
}

/* Explains the question if upstreams or hosts files decide about it. */
static void explain_elsewhere(struct explainer *e, enum engine_verdict verdict,
                              const struct dname *name)
{
    struct explain_external *x = &e->result.external;
    const struct answer_plan *plan = e->result.plan;
    const struct external_question question = {*name, e->result.question.type};
    const struct engine_zone *domain = engine_config_zone(e->config, name);
    if (verdict == ENGINE_DEFER && e->deferral.kind == ENGINE_DEFER_FORWARD) {
        e->result.records_at =
            explain_upstreams(e, &question, answer_get_external_zone(e->answer), e->message, x);
        e->result.message_len = e->result.records_at + x->cached.len;
        x->has_override = e->deferral.keeps_name && !x->is_listed;
        if (e->deferral.keeps_name && x->cached.rcode == DNS_RCODE_NXDOMAIN) {
            x->cached.rcode = DNS_RCODE_NOERROR; /* as the engine does */
        }
    } else if (plan && answer_get_rule(e->answer) == ANSWER_BY_HOSTS) {
        *x = (struct explain_external){.source = EXPLAIN_FROM_HOSTS, .ttl_s = HOSTS_TTL_S};
    } else if (plan && !plan->is_authoritative && plan->rcode == DNS_RCODE_SERVFAIL) {
        x->zone = engine_config_stub(e->config, name, e->result.question.type,
                                     domain); /* without upstreams */
        x->source = x->zone ? EXPLAIN_FROM_STUB : EXPLAIN_FROM_HERE;
    }
    explain_servers(e, x);
}

enum { EXPLAIN_STEP_RECORDS = 1024 }; /* lookup_be_walker's */

/* Counts another thousand records of subtree scans. Returns true if these are too many. */
static bool explain_is_late(void *data)
{
    struct explainer *e = data;
    return e->scan_steps == 0 || --e->scan_steps == 0;
}

/* Builds the answer as for a client's query, but without asking upstreams: what they would say
 * stays open. */
static enum engine_verdict explain_build_answer(struct explainer *e)
{
    struct external_answer not_asked[ENGINE_EXTERNAL_MAX];
    struct answer_input input = {
        .question = &e->result.question,
        .store = e->store,
        .client = e->result.who.view,
        .now_s = clock_wall_s(),
        .reply_limit = ENGINE_REPLY_MAX, /* as over TCP: all that there is */
        .may_scan = e->may_scan,
        .is_late = explain_is_late,
        .is_late_data = e,
    };
    enum engine_verdict verdict = answer_build(e->answer, &input, &e->deferral);
    if (verdict == ENGINE_DEFER && e->deferral.kind == ENGINE_DEFER_LOOKUP) {
        explain_externals(e);
        for (size_t i = 0; i < e->deferral.question_count; i++) {
            not_asked[i] = (struct external_answer){.question = e->deferral.questions[i]};
        }
        const struct external_answers externals = {e->deferral.question_count, not_asked};
        input.externals = &externals;
        verdict = answer_build(e->answer, &input, &e->deferral);
    }
    return verdict;
}

static int parse_question(struct question *q, const char *name, const char *type, struct err *err)
{
    *q = (struct question){.qclass = DNS_CLASS_IN, .recursion_desired = true};
    if (!name || !dname_from_text(slice_str(name), &q->name)) {
        return err_set(err, ERR_USAGE, "name `%s`: expected one like web.default.svc.cluster.local",
                       name ? name : "");
    }
    if (!dns_type_from_text(slice_str(type && *type ? type : "A"), &q->type)) {
        return err_set(err, ERR_USAGE, "type `%s`: expected one like A, SRV or TYPE65", type);
    }
    return 0;
}

static void explain_keys(struct explainer *e, enum engine_verdict verdict,
                         const struct engine_zone *zone, const struct dname *name)
{
    bool decide = zone ? !e->result.why || verdict == ENGINE_DEFER
                       : e->result.plan && e->result.plan->is_authoritative;
    if (decide) {
        explain_name_add(e, name, NULL, true);
    } else if (zone && e->result.question.type == DNS_TYPE_NS) {
        explain_name_add(e, &zone->ns, NULL, true); /* its keys, if any, are the name servers */
    }
    explain_name_all(e);
}

/* Returns the name in lower case, with local.dns.<domain> replaced. */
static struct dname name_meant(const struct explainer *e)
{
    struct dname name = e->result.question.name;
    dname_lower(&name);
    const struct engine_zone *zone = engine_config_zone(e->config, &name);
    return zone && e->config->settings.local.len > 0 && dname_equal(&name, &zone->local)
               ? e->config->settings.local
               : name;
}

static void explain_version(struct explainer *e)
{
    int64_t heard_ms;
    e->result.prefix = store_sync_prefix(e->sources.sync);
    e->result.revision = e->store ? store_revision(e->store) : 0;
    e->result.past = e->past;
    e->result.recent = store_sync_recent(e->sources.sync);
    e->result.etcd = explain_etcd(e->sources.sync, e->sources.outage);
    if (e->past) {
        return;
    }
    e->result.is_from_snapshot = store_sync_is_from_snapshot(e->sources.sync, &heard_ms);
    if (e->result.is_from_snapshot && clock_wall_s() > heard_ms / 1000) {
        e->result.snapshot_age_s = clock_wall_s() - heard_ms / 1000;
    }
}

/* Explains the answer to the name of e->result.question from the plan and the caches. */
static enum engine_verdict explain_answer(struct explainer *e, struct dname *ret_meant)
{
    e->result.external = (struct explain_external){.source = EXPLAIN_FROM_HERE};
    e->result.external_count = 0;
    enum engine_verdict verdict = explain_build_answer(e);
    *ret_meant = name_meant(e);
    e->result.plan = verdict == ENGINE_REPLY ? answer_get_plan(e->answer) : NULL;
    explain_elsewhere(e, verdict, ret_meant);
    return verdict;
}

/* Finds the keys of -dnssec that are the answer, if it is made here, for this client. Returns
 * whether it is. */
static bool explain_find_keys(struct explainer *e)
{
    struct explanation *x = &e->result;
    bool is_ours = x->external.source == EXPLAIN_FROM_HERE && !x->who.is_refused;
    if (is_ours) {
        x->keys = signed_sets_of_keys(e->config, &x->question);
    }
    return is_ours;
}

/* Explains signatures. Whatever another client asks for, the same answer has these signatures, and
 * they are cached. */
static void explain_signed(struct explainer *e)
{
    struct explanation *x = &e->result;
    if (explain_find_keys(e) && (x->plan || x->keys.set)) {
        x->signed_count = signed_sets_show(e->config, &x->question, x->plan, e->signed_sets);
    }
}

/* Explains the serial of the first SOA, which answers a question about it. */
static void explain_soa_serial(struct explainer *e)
{
    const struct answer_plan *plan = e->result.plan;
    struct explain_serial *serial = &e->result.serial;
    struct dname apex;
    if (!plan || plan->answers.count == 0 || plan->answers.items[0].type != RR_SOA) {
        return;
    }
    struct reader r = reader_of(plan->answers.items[0].owner.ptr, plan->answers.items[0].owner.len);
    if (dname_read(&r, &apex)) {
        dname_lower(&apex);
        serial->is_shown = true;
        serial->is_hour = e->config->settings.transfer_count == 0 || !e->sources.transfer_source;
        serial->value = plan->soa.serial;
        if (!serial->is_hour) {
            serial->origin = e->sources.serials(e->sources.transfer_source, &apex);
        }
    }
}

/* ---- The search list ---- */

static enum explain_outcome outcome_of_rcode(unsigned rcode, bool is_empty)
{
    return rcode == DNS_RCODE_NOERROR    ? is_empty ? EXPLAIN_NO_DATA : EXPLAIN_ANSWERS
           : rcode == DNS_RCODE_NXDOMAIN ? EXPLAIN_NO_NAME
                                         : EXPLAIN_FAILED;
}

static enum explain_outcome outcome_of(const struct explainer *e, const struct dname *meant)
{
    const struct explain_external *x = &e->result.external;
    enum explain_outcome outcome = EXPLAIN_ASKED;
    const struct answer_plan *plan = e->result.plan;
    if (plan) {
        outcome = outcome_of_rcode(plan->rcode,
                                   plan->answers.count == 0 && e->result.external_count == 0);
    } else if (x->source == EXPLAIN_FROM_CACHE) {
        outcome = x->cached.state == CACHE_FAILED
                      ? EXPLAIN_FAILED
                      : outcome_of_rcode(x->cached.rcode, x->cached.answers == 0);
    }
    return outcome != EXPLAIN_ANSWERS && outcome != EXPLAIN_NO_DATA &&
                   engine_config_keeps_short_name(e->config, meant, e->result.question.type)
               ? EXPLAIN_TOO_SHORT
               : outcome;
}

enum explain_outcome explain_try(struct explainer *e, const struct dname *name)
{
    struct dname meant;
    e->result.question.name = *name;
    (void)explain_answer(e, &meant); /* its outcome tells */
    return outcome_of(e, &meant);
}

/* Tries candidate names in their order. Afterwards, the question is about the one that answers, or
 * about the first if none does. */
static void explain_candidates(struct explainer *e)
{
    struct explain_asking_client *who = &e->result.who;
    for (size_t i = 0; i < who->path.count && !who->has_answer; i++) {
        enum explain_outcome *outcome = &who->outcomes[who->tried++];
        *outcome = EXPLAIN_TOO_LONG;
        if (who->path.names[i].len > 0) {
            *outcome = explain_try(e, &who->path.names[i]);
        }
        const bool is_passed =
            *outcome == EXPLAIN_NO_DATA && search_list_names_pass_no_data(i, who->path.count);
        who->has_answer = *outcome == EXPLAIN_ANSWERS || *outcome == EXPLAIN_ASKED ||
                          (*outcome == EXPLAIN_NO_DATA && !is_passed);
        who->has_no_data = who->has_no_data || is_passed;
        who->has_failed = who->has_failed || *outcome == EXPLAIN_FAILED;
    }
    if (!who->has_answer) {
        e->result.question.name = e->result.asked;
    }
}

/* ---- Similar names ---- */

struct probe {
    struct explainer *e;
    uint16_t type;
};

/* Asks as this client, and returns whether there are records. *ret_is_lookup: whether an upstream
 * decides that, who is asked for an alias's target. */
static bool explain_finds(struct explainer *e, const struct dname *name, uint16_t type,
                          const struct client_view *client, bool *ret_is_lookup)
{
    struct engine_deferral deferral;
    const struct question question = {
        .name = *name, .type = type, .qclass = DNS_CLASS_IN, .recursion_desired = true};
    const struct answer_input input = {.question = &question,
                                       .store = e->store,
                                       .client = *client,
                                       .now_s = clock_wall_s(),
                                       .reply_limit = ENGINE_REPLY_MAX};
    const enum engine_verdict verdict = answer_build(e->probe, &input, &deferral);
    const struct answer_plan *plan = answer_get_plan(e->probe);
    *ret_is_lookup = verdict == ENGINE_DEFER && deferral.kind == ENGINE_DEFER_LOOKUP;
    return verdict == ENGINE_REPLY && plan->rcode == DNS_RCODE_NOERROR && plan->answers.count > 0;
}

/* Returns whether the client would get records: not if upstreams decide that. */
static bool explain_resolves(void *data, const struct dname *name)
{
    const struct probe *probe = data;
    const struct explain_asking_client *who = &probe->e->result.who;
    bool unused;
    return !who->is_refused && explain_finds(probe->e, name, probe->type, &who->view, &unused);
}

size_t explain_similar(struct explainer *e, const struct dname *name, uint16_t type,
                       struct dname near[EXPLAIN_NEAR_MAX])
{
    struct probe probe = {e, type};
    if (e->past) {
        return 0; /* its version has not the names beside this one */
    }
    return explain_near_names(
        &(struct explain_near_case){.store = e->store,
                                    .config = e->config,
                                    .name = name,
                                    .space = client_space_label(e->result.who.view.space),
                                    .resolves = explain_resolves,
                                    .data = &probe},
        near);
}

/* Returns whether the name has a record that clients want, or is an alias. */
static bool explain_is_useful(void *data, const struct dname *name)
{
    static const uint16_t types[] = {DNS_TYPE_A, DNS_TYPE_AAAA, DNS_TYPE_SRV};
    static const struct client_view anybody;
    struct explainer *e = data;
    bool is_useful = false;
    for (size_t i = 0; i < ARRAY_LEN(types) && !is_useful; i++) {
        bool is_lookup;
        is_useful = explain_finds(e, name, types[i], &anybody, &is_lookup) || is_lookup;
    }
    return is_useful;
}

bool explainer_nearest(struct explainer *e, const struct dname *name, struct slice space,
                       struct dname *ret_near)
{
    struct dname near[EXPLAIN_NEAR_MAX];
    e->store = store_sync_store(e->sources.sync);
    e->config = publisher_newest_config(e->sources.publisher);
    answer_configure(e->probe, e->config);
    const struct explain_near_case c = {.store = e->store,
                                        .config = e->config,
                                        .name = name,
                                        .space = space,
                                        .resolves = explain_is_useful,
                                        .data = e};
    if (!e->store || explain_near_names(&c, near) == 0) {
        return false;
    }
    *ret_near = near[0];
    return true;
}

/* Suggests domains, since the name's may be mistyped, unless upstreams know the name. */
static void explain_domain(struct explainer *e, const struct dname *meant)
{
    const struct explain_external *x = &e->result.external;
    bool is_known = x->source == EXPLAIN_FROM_HOSTS ||
                    (x->source == EXPLAIN_FROM_CACHE && x->cached.rcode == DNS_RCODE_NOERROR &&
                     x->cached.answers > 0);
    bool is_answered = e->result.plan && (e->result.plan->is_authoritative ||
                                          answer_get_rule(e->answer) != ANSWER_BY_SOURCE);
    if (e->store && !e->result.zone && !is_known && !is_answered) {
        e->result.near_count = explain_similar(e, meant, e->result.question.type, e->result.near);
    }
    if (x->source == EXPLAIN_FROM_CACHE || x->source == EXPLAIN_FROM_STUB ||
        x->source == EXPLAIN_FROM_NAMESERVER) {
        explain_asking_client_recursion(e->config, &e->result.who);
    }
}

/* ---- All of it ---- */

static void explain_rate(const struct explainer *e, struct explain_asking_client *who)
{
    who->has_left = e->sources.rates && who->rate > 0;
    if (who->has_left) {
        const struct addr addr = addr_of_ip(&who->ip, 0);
        const struct rate rate = {who->rate, who->burst};
        who->left = rate_limit_left(e->sources.rates, rate_limit_client(&addr), &rate,
                                    clock_monotonic_us());
    }
    who->has_namespace_left = e->sources.namespace_rates && who->namespace_rate.per_s > 0;
    if (who->has_namespace_left) {
        who->namespace_left =
            namespace_rate_left(e->sources.namespace_rates, who->view.space, &who->ip,
                                &who->namespace_rate, clock_monotonic_us());
    }
}

/* Reads the question, and finds its client and that one's search list. */
static int explain_read_query(const struct engine_config *config, const struct explain_query *query,
                              struct question *ret_question, struct explain_asking_client *ret_who,
                              struct err *err)
{
    int r = parse_question(ret_question, query->name, query->type, err);
    if (r == 0) {
        r = explain_asking_client(config, query->client, ret_who, err);
    }
    if (r == 0) {
        search_list_names_find(config, ret_who->view.space, &ret_question->name, ret_question->type,
                               &ret_who->path);
    }
    return r;
}

/* Begins an explanation. scan_max limits the subtree scans that are made here; 0: none are, but
 * those of the past, within its own limit. */
static int explainer_begin(struct explainer *e, const struct explain_query *query,
                           unsigned scan_max, struct err *err)
{
    const struct explain_past *past = query->past;
    const struct engine_config *config = publisher_newest_config(e->sources.publisher);
    e->past = past;
    e->store = past ? past->store : store_sync_store(e->sources.sync);
    e->config = config;
    e->may_scan = past || scan_max > 0; /* no other thread has the past's records */
    e->scan_steps = (scan_max > 0 ? scan_max : EXPLAIN_PAST_SCAN_MAX) / EXPLAIN_STEP_RECORDS;
    e->result = (struct explanation){.message = e->message,
                                     .externals = e->externals,
                                     .names = e->names,
                                     .signed_sets = e->signed_sets};
    explain_version(e);
    int r = explain_read_query(config, query, &e->result.question, &e->result.who, err);
    if (r == 0) {
        e->result.asked = e->result.question.name;
        explain_rate(e, &e->result.who);
        e->view = view_of(config, e->store, &e->result.who.view, NULL);
        answer_configure(e->answer, config);
    }
    return r;
}

int explain_names_of(const struct engine_config *config, const struct explain_query *query,
                     struct dname ret_names[SEARCH_LIST_NAMES_MAX], size_t *ret_count,
                     uint16_t *ret_type, struct err *err)
{
    struct question question;
    struct explain_asking_client who;
    int r = explain_read_query(config, query, &question, &who, err);
    if (r < 0) {
        return r;
    }
    *ret_type = question.type;
    *ret_count = 0;
    for (size_t i = 0; i < who.path.count; i++) {
        ret_names[*ret_count] = who.path.names[i];
        *ret_count += who.path.names[i].len > 0;
    }
    if (who.path.count == 0) {
        ret_names[(*ret_count)++] = question.name;
    }
    for (size_t i = 0; i < *ret_count; i++) {
        dname_lower(&ret_names[i]);
    }
    return 0;
}

int explainer_explain(struct explainer *e, const struct explain_query *query,
                      const struct explanation **ret, struct err *err)
{
    struct dname meant;
    int r = explainer_begin(e, query, 0, err);
    if (r < 0) {
        return r;
    }
    const struct engine_config *config = e->config;
    answer_configure(e->probe, config);
    if (!e->past) {
        explain_search(e, query->name);
    }
    explain_candidates(e);
    enum engine_verdict verdict = explain_answer(e, &meant);
    /* An alias leaves out what the Service that it leads to does. */
    e->result.who.far_count = answer_get_far(e->answer);
    e->result.who.has_near = config->topology && e->result.who.view.zone &&
                             (e->result.who.far_count > 0 ||
                              near_service(config->topology, slice_of(meant.wire, meant.len)));
    const struct engine_zone *zone = engine_config_zone(config, &meant);
    e->result.zone = zone;
    if (e->store && !e->past) {
        e->result.level_count = explain_tree(e->store, &meant, e->result.levels);
        explain_signed(e);
        explain_soa_serial(e);
    }
    explain_domain(e, &meant);
    explain_asking_client_hidden(&e->view, &meant, &e->result.who);
    e->result.why = explain_why(&(struct explain_case){
        .config = config,
        .store = e->store,
        .zone = zone,
        .name = &meant,
        .type = e->result.question.type,
        .plan = e->result.plan,
        .is_of_keys = e->result.keys.set != NULL,
        .rule = answer_get_rule(e->answer),
        .external = &e->result.external,
    });
    if (e->store && e->result.external.source == EXPLAIN_FROM_HERE) {
        explain_keys(e, verdict, zone, &meant);
    }
    *ret = &e->result;
    return 0;
}

int explainer_answer(struct explainer *e, const struct explain_query *query,
                     const struct explanation **ret, struct err *err)
{
    struct dname meant;
    int r = explainer_begin(e, query, EXPLAIN_NOW_SCAN_MAX, err);
    if (r < 0) {
        return r;
    }
    (void)explain_answer(e, &meant); /* its plan, or where it is from, tells */
    e->result.zone = engine_config_zone(e->config, &meant);
    (void)explain_find_keys(e);
    e->may_scan = false;
    if (e->scan_steps == 0) {
        return err_set(err, ERR_USAGE, "name `%s`: has more than %d records, too many to watch",
                       query->name, EXPLAIN_NOW_SCAN_MAX);
    }
    if (!e->result.zone && !(e->result.plan && e->result.plan->is_authoritative)) {
        return err_set(err, ERR_USAGE,
                       "name `%s`: expected one of our domains, or a reverse name of etcd's: "
                       "upstreams do not tell of changes",
                       query->name);
    }
    *ret = &e->result;
    return 0;
}
