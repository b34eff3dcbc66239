#include "skydns/answer/answer.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/metrics.h"
#include "common/base/xalloc.h"
#include "skydns/answer/answer_internal.h"
#include "skydns/answer/cache_access.h"
#include "skydns/answer/external_synthesis.h"
#include "skydns/external/cache_counts.h"
#include "skydns/publish/reverse_zone.h"

struct answer *answer_new(const struct engine_config *config)
{
    struct answer *a = xcalloc(1, sizeof(*a));
    weights_init(&a->weights);
    follow_init(&a->follow, &a->in);
    rr_list_init(&a->plan.answers);
    rr_list_init(&a->plan.additionals);
    answer_configure(a, config);
    return a;
}

void answer_free(struct answer *answer)
{
    if (!answer) {
        return;
    }
    weights_fini(&answer->weights);
    follow_fini(&answer->follow);
    rr_list_fini(&answer->plan.answers);
    rr_list_fini(&answer->plan.additionals);
    free(answer);
}

void answer_configure(struct answer *answer, const struct engine_config *config)
{
    answer->config = config;
    answer->follow.config = config;
}

struct answer_plan *answer_get_plan(struct answer *answer)
{
    return &answer->plan;
}

struct answer_plan *answer_start_plan(struct answer *answer)
{
    struct answer_plan *plan = &answer->plan;
    plan->rcode = DNS_RCODE_NOERROR;
    plan->is_authoritative = true;
    plan->is_recursive = true;
    plan->is_signed = false;
    plan->error = EDNS_ERROR_NONE;
    plan->rr_class = DNS_CLASS_IN;
    plan->authority_count = 0;
    rr_list_clear(&plan->answers);
    rr_list_clear(&plan->additionals);
    return plan;
}

const struct forward_zone *answer_get_external_zone(const struct answer *answer)
{
    return answer->external;
}

const struct dname *answer_get_ipv4_reverse(const struct answer *answer)
{
    return &answer->ipv4_reverse;
}

size_t answer_get_far(const struct answer *answer)
{
    return answer->follow.far_count;
}

enum answer_rule answer_get_rule(const struct answer *answer)
{
    return answer->rule;
}

/* ---- Outcomes ---- */

void answer_fail(struct answer *a, enum dns_rcode rcode, enum edns_error error)
{
    rr_list_clear(&a->plan.answers); /* the CNAMEs that led here */
    a->plan.rcode = rcode;
    a->plan.error = error;
}

void answer_not_ready(struct answer *a)
{
    answer_fail(a, DNS_RCODE_SERVFAIL, EDNS_ERROR_NOT_READY);
}

void answer_add(struct answer *a, struct rr rr)
{
    rr_list_add(&a->plan.answers, &rr);
}

struct rr answer_soa_rr(struct answer *a, struct slice owner, uint32_t ttl_s)
{
    assert(a->zone);
    a->plan.soa = (struct answer_soa){
        .mname = rr_name(&a->zone->ns),
        .rname = rr_name(&a->zone->hostmaster),
        .serial = answer_soa_serial(a->serial, a->in.now_s),
        .minimum_s = a->config->settings.min_ttl_s,
    };
    return (struct rr){.owner = owner, .ttl_s = ttl_s, .type = RR_SOA};
}

void answer_own_soa(struct answer *a)
{
    if (a->serial && !zone_serial_is_known(a->serial)) {
        answer_not_ready(a);
        return;
    }
    answer_add(a, answer_soa_rr(a, a->owner, a->config->settings.ttl_s));
}

void answer_unknown(struct answer *a)
{
    a->plan.is_authoritative = false;
    answer_fail(a, DNS_RCODE_SERVFAIL, EDNS_ERROR_NO_AUTHORITY);
}

/* Makes a negative answer (RFC 2308): NODATA for NOERROR, else NXDOMAIN. */
static void answer_set_negative(struct answer *a, enum dns_rcode rcode)
{
    if (a->is_incomplete) {
        answer_not_ready(a);
        return;
    }
    a->plan.rcode = rcode;
    a->plan.authority_count = 1;
    a->plan.authorities[0] = answer_soa_rr(a, a->soa_owner, a->config->settings.min_ttl_s);
}

void answer_no_data(struct answer *a)
{
    answer_set_negative(a, DNS_RCODE_NOERROR);
}

void answer_denied(struct answer *a)
{
    answer_set_negative(a, DNS_RCODE_NXDOMAIN);
}

bool answer_is_apex(const struct answer *a)
{
    return dname_equal(&a->name, &a->zone->domain);
}

/* Returns whether the name exists whatever records there are: the apex, the name server's name and
 * the names between them, and the names above another domain of ours or above a stub zone. */
static bool always_exists(const struct answer *a)
{
    if (dname_is_within(&a->zone->ns, &a->name)) {
        return true;
    }
    for (size_t i = 0; i < a->config->zone_count; i++) {
        if (dname_is_within(&a->config->zones[i].domain, &a->name)) {
            return true;
        }
    }
    return engine_config_is_above_stub(a->config, &a->name);
}

void answer_no_name(struct answer *a)
{
    answer_set_negative(a, always_exists(a) ? DNS_RCODE_NOERROR : DNS_RCODE_NXDOMAIN);
}

/* ---- Dispatch ---- */

void answer_set_zone(struct answer *a, const struct engine_zone *zone)
{
    a->zone = zone;
    a->serial = zone ? zone->serial : NULL;
    a->is_incomplete = zone && zone->is_incomplete;
    if (zone) {
        a->soa_owner = rr_name(&zone->domain);
        a->follow.rule = follow_rule(a->config, zone);
    }
}

bool answer_is_hidden(const struct answer *a)
{
    return lookup_is_hidden(&a->follow.view, &a->name, a->follow.rule);
}

/* Sets the name, or the name that it is an alias for, and its zone. */
static void take_name(struct answer *a, const struct dname *name)
{
    const struct engine_config *config = a->config;
    a->owner = rr_name(name);
    a->asked = *name;
    dname_lower(&a->asked);
    a->name = a->asked;
    const struct engine_zone *zone = engine_config_zone(config, &a->name);
    a->stub = engine_config_stub(config, &a->asked, a->in.question->type, zone);
    if (a->stub && zone && follow_is_hidden(&a->follow.view, zone, &a->asked)) {
        a->stub = NULL; /* denied, not forwarded */
    }
    if (a->stub) {
        zone = NULL;
    } else if (config->settings.local.len > 0 && zone && dname_equal(&a->name, &zone->local)) {
        a->name = config->settings.local;
        zone = engine_config_zone(config, &a->name);
    }
    answer_set_zone(a, zone);
}

void answer_start_denial(struct answer *answer, const struct engine_zone *zone,
                         enum dns_rcode rcode, int64_t now_s)
{
    assert(!zone->is_incomplete);
    (void)answer_start_plan(answer);
    answer_set_zone(answer, zone);
    answer->in.now_s = now_s;
    answer_set_negative(answer, rcode);
}

static void answer_start(struct answer *a, const struct answer_input *input)
{
    a->in = *input;
    a->follow.view = view_of(a->config, input->store, &input->client, &a->trail);
    take_name(a, &input->question->name);
    a->external = NULL;
    a->ipv4_reverse.len = 0;
    a->rule = ANSWER_BY_SOURCE;
    (void)answer_start_plan(a);
}

/* Answers the question; the order of the checks is SkyDNS's. Before the first sync, names of ours
 * are SERVFAIL: clients would cache an NXDOMAIN. A reverse name may be ours, too. */
static void answer_dispatch(struct answer *a)
{
    if (answer_meta(a)) {
        return;
    }
    if (a->in.question->type == DNS_TYPE_ANY) {
        answer_any(a);
    } else if (a->in.question->qclass == DNS_CLASS_CH) {
        answer_chaos(a);
    } else if (reverse_zone_is_reverse(&a->name) && answer_reverse(a)) {
        return;
    } else if (!a->zone) {
        answer_external(a);
    } else if (!a->follow.view.store) {
        answer_not_ready(a);
    } else {
        answer_in_domain(a);
    }
}

/* Truncates the answer if the records visited so far do not fit: all records cannot fit either, so
 * the others need no visit. SRV weights are then shares of the visited records. Returns false when
 * all records must be visited. */
static bool answer_cut(struct answer *a)
{
    struct rr_list *answers = &a->plan.answers;
    if (answers->least_bytes <= a->in.reply_limit) {
        return false;
    }
    answers->is_cut = true;
    return true;
}

/* Answers SERVFAIL after a subtree scan that took too long: a partial result would pass for the
 * whole answer. */
static void answer_late(struct answer *a)
{
    rr_list_clear(&a->plan.additionals);
    a->plan.authority_count = 0;
    a->follow.is_deferred = false;
    answer_fail(a, DNS_RCODE_SERVFAIL, EDNS_ERROR_OTHER);
}

static void begin_follow(struct follow *follow, const struct answer_input *input,
                         struct engine_deferral *ret_deferral)
{
    follow->may_ask = input->question->recursion_desired;
    follow->may_map = synthesis_may_map(follow->config, input->question);
    follow->deferral = ret_deferral;
    follow_start(follow);
    if (input->may_scan) {
        lookup_be_walker(follow->lookup, input->is_late, input->is_late_data);
    }
}

enum engine_verdict answer_build(struct answer *answer, const struct answer_input *input,
                                 struct engine_deferral *ret_deferral)
{
    answer_start(answer, input);
    begin_follow(&answer->follow, input, ret_deferral);
    answer_dispatch(answer);
    if (lookup_is_late(answer->follow.lookup)) {
        answer_late(answer);
    }
    if (answer->follow.is_some && !answer_cut(answer)) {
        (void)follow_defer_scan(
            &answer->follow); /* some answers are made only by a thread that may scan */
    }
    if (input->cached && !follow_is_scan_deferred(&answer->follow)) {
        follow_end(&answer->follow);
    }
    if (answer->follow.is_deferred) {
        return ENGINE_DEFER;
    }
    if (input->question->qclass == DNS_CLASS_ANY) { /* there may be other classes: RFC 1035 6.2 */
        answer->plan.is_authoritative = false;
    }
    if (answer->config->settings.round_robin) {
        uint32_t random = input->random;
        rr_list_shuffle_addresses(&answer->plan.answers, &random);
        rr_list_shuffle_addresses(&answer->plan.additionals, &random);
    }
    const bool keeps_ttls = answer->rule == ANSWER_BY_HOSTS || answer->rule == ANSWER_BY_ALIAS ||
                            answer->rule == ANSWER_BY_OVERRIDE || answer->rule == ANSWER_BY_DNS64;
    if (answer->plan.answers.count > 1 && !keeps_ttls) { /* one record keeps its TTL */
        rr_list_level_ttls(&answer->plan.answers, answer->config->settings.ttl_s);
    }
    if (answer->follow.far_count > 0 && input->cached) {
        counter_add(&input->cached->counts->near, 1);
    }
    return ENGINE_REPLY;
}
