/* Answers external names from -alias and -overrides, and a domain's apex. Such an answer is flat:
 * it has the addresses of the target at the name itself, and no CNAME. A type that the override
 * lacks is the upstream's to answer; its NXDOMAIN becomes NODATA, since the name exists. */
#include "skydns/answer/answer_internal.h"
#include "skydns/answer/lookup.h"
#include "skydns/answer/override_match.h"

/* Sets the SOA minimum of an alias without data, which is as for other settings. */
enum { ALIAS_MINIMUM_S = 300 };

static uint32_t minimum_s(const struct answer *a)
{
    return a->rule == ANSWER_BY_ALIAS ? (uint32_t)ALIAS_MINIMUM_S : a->config->settings.min_ttl_s;
}

/* Gives all records the least TTL on the way to them. */
static void level_flat_ttls(struct answer *a)
{
    struct rr_list *answers = &a->plan.answers;
    uint32_t ttl_s = a->follow.flat_ttl_s;
    for (size_t i = 0; i < answers->count; i++) {
        ttl_s = answers->items[i].ttl_s < ttl_s ? answers->items[i].ttl_s : ttl_s;
    }
    for (size_t i = 0; i < answers->count; i++) {
        answers->items[i].ttl_s = ttl_s;
    }
}

static void end_without_address(struct answer *a, bool is_over_limit)
{
    const struct follow *f = &a->follow;
    if (f->is_endless || is_over_limit) {
        answer_fail(a, DNS_RCODE_SERVFAIL, EDNS_ERROR_OTHER);
    } else if (f->has_failed) {
        answer_unknown(a);
    } else if (f->is_lacking) {
        answer_not_ready(a);
    } else if (f->is_open) {
        return; /* no upstream was asked */
    } else if (f->unasked_count > 0) {
        answer_fail(a, DNS_RCODE_SERVFAIL, EDNS_ERROR_NOT_AUTHORITATIVE);
    } else if (!a->plan.answers.is_cut) {
        answer_deny_external(a, DNS_RCODE_NOERROR, minimum_s(a));
    }
}

/* Returns false if the match says nothing of this address family; then an upstream may answer. */
static bool add_flat_addresses(struct answer *a, const struct override_match *match)
{
    const enum follow_families family = a->in.question->type == DNS_TYPE_A ? FOLLOW_A : FOLLOW_AAAA;
    if (!follow_flat(&a->follow, match, a->owner, family, &a->plan.answers)) {
        return false;
    }
    if (!a->follow.is_deferred && a->plan.answers.count == 0) {
        end_without_address(a, match->is_deferred);
    }
    return true;
}

/* Adds records of another type, from `rr` and `text`. */
static void add_other_type(struct answer *a, const struct override_match *match)
{
    const enum rr_type type = (enum rr_type)a->in.question->type;
    for (size_t i = 0; i < match->span.count; i++) {
        const struct store_record *record = lookup_record(a->follow.lookup, &match->span, i);
        if (!override_shows(&a->follow, record)) {
            continue;
        }
        if (type == RR_TXT && record->lens[RECORD_TEXT] > 0) {
            answer_add(a, rrsynth_txt(a->config, record, a->owner));
        }
        rrsynth_add_packed(a->config, record, a->owner, type, &a->plan.answers);
    }
}

static bool add_matched_records(struct answer *a, const struct override_match *match)
{
    const uint16_t type = a->in.question->type;
    if ((type == DNS_TYPE_A || type == DNS_TYPE_AAAA) && add_flat_addresses(a, match)) {
        return true;
    }
    if (!match->is_alias && !match->is_deferred) {
        add_other_type(a, match);
    }
    return a->plan.answers.count > 0 || match->is_deferred;
}

/* Answers from a match. is_asked: an upstream can be queried for types that the match lacks. */
static enum override_outcome answer_matched(struct answer *a, const struct override_match *match,
                                            bool is_asked)
{
    a->rule = match->is_alias ? ANSWER_BY_ALIAS : ANSWER_BY_OVERRIDE;
    const bool has_it = add_matched_records(a, match);
    if (!has_it && is_asked) {
        a->rule = ANSWER_BY_SOURCE;
        a->follow.deferral->keeps_name = true;
        return OVERRIDE_OTHER_TYPE;
    }
    a->plan.is_authoritative = false;
    if (has_it) {
        level_flat_ttls(a);
    } else {
        answer_deny_external(a, DNS_RCODE_NOERROR, minimum_s(a));
    }
    return OVERRIDE_ANSWERED;
}

enum override_outcome answer_setting_alias(struct answer *a, bool is_asked)
{
    struct override_match match;
    struct follow *f = &a->follow;
    if (!override_may_match(a->config, f->view.store)) {
        return OVERRIDE_NONE;
    }
    lookup_allow(f->lookup, follow_visits(f));
    return override_match_alias(f, &a->asked, &match) ? answer_matched(a, &match, is_asked)
                                                      : OVERRIDE_NONE;
}

enum override_outcome answer_override(struct answer *a, bool is_asked)
{
    struct override_match match;
    struct follow *f = &a->follow;
    if (!override_may_match(a->config, f->view.store)) {
        return OVERRIDE_NONE;
    }
    lookup_allow(f->lookup, follow_visits(f));
    if (!override_match_records(f, &a->asked, &match)) {
        return OVERRIDE_NONE;
    }
    const enum override_outcome outcome = answer_matched(a, &match, is_asked);
    override_match_end(f, &match);
    return outcome;
}

/* ---- The apex of a domain ---- */

static bool is_apex_type(uint16_t type)
{
    return type != DNS_TYPE_SOA && type != DNS_TYPE_NS && type != DNS_TYPE_CNAME;
}

static void end_apex_without_address(struct answer *a)
{
    const struct follow *f = &a->follow;
    if (f->is_endless) {
        answer_fail(a, DNS_RCODE_SERVFAIL, EDNS_ERROR_OTHER);
    } else if (f->has_failed || f->unasked_count > 0) {
        answer_unknown(a);
    } else if (f->is_lacking) {
        answer_not_ready(a);
    }
}

/* Answers as CoreDNS's etcd plugin does; but a host name gives addresses, since an apex has no
 * CNAME. */
static void answer_apex_address(struct answer *a)
{
    struct follow *f = &a->follow;
    const enum follow_families family = a->in.question->type == DNS_TYPE_A ? FOLLOW_A : FOLLOW_AAAA;
    struct lookup_span span;
    lookup_allow(f->lookup, follow_visits(f));
    switch (lookup_find(f->lookup, &f->view, &a->zone->apex, f->rule, &span)) {
    case LOOKUP_FOUND:
        lookup_keep_group(f->lookup, &span);
        follow_flat_records(f, &span, a->owner, family, &a->plan.answers);
        break;
    case LOOKUP_ABSENT:
        return;
    case LOOKUP_LIMIT:
        if (!follow_defer_scan(f)) {
            answer_fail(a, DNS_RCODE_SERVFAIL, EDNS_ERROR_OTHER);
        }
        return;
    }
    if (a->plan.answers.count > 0) {
        level_flat_ttls(a);
    } else if (!f->is_deferred) {
        end_apex_without_address(a);
    }
}

bool answer_apex(struct answer *a)
{
    struct view_node at;
    const uint16_t type = a->in.question->type;
    if (a->zone->apex.len == 0 || !dname_equal(&a->name, &a->zone->domain) || !is_apex_type(type) ||
        !lookup_find_literal(&a->follow.view, &a->zone->apex, &at)) {
        return false;
    }
    if (type == DNS_TYPE_A || type == DNS_TYPE_AAAA) {
        answer_apex_address(a);
        return true;
    }
    a->name = a->zone->apex;
    answer_records(a);
    a->name = a->zone->domain;
    return true;
}
