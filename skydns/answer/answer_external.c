/* Answers external names: from hosts files, or by the upstreams of their zone. These rules come
 * before the response cache's (cache_access.h), which decide whether a cached response answers. */
#include "skydns/answer/answer_internal.h"
#include "skydns/answer/cache_access.h"
#include "skydns/answer/external_synthesis.h"
#include "skydns/answer/special_names.h"
#include "skydns/external/hosts_table.h"
#include "skydns/external/zone_table.h"
#include "skydns/wire/external_answer.h"

static struct rr hosts_rr(const struct answer *a, enum rr_type type, struct slice data)
{
    return (struct rr){.owner = a->owner, .ttl_s = HOSTS_TTL_S, .type = type, .data = data};
}

static void answer_external_add_addresses(struct answer *a, const struct ip *ips, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        enum rr_type type = ips[i].family_bytes == 4 ? RR_A : RR_AAAA;
        if (type == (enum rr_type)a->in.question->type) {
            answer_add(a, hosts_rr(a, type, slice_of(ips[i].bytes, ips[i].family_bytes)));
        }
    }
}

/* Returns whether -ndots keeps the name from the general upstreams. Like -no-rec, it does not
 * concern stub zones. */
static bool is_too_short(const struct answer *a)
{
    return engine_config_is_too_short(a->config, dname_label_count(&a->name), a->in.question->type,
                                      a->stub != NULL);
}

/* Finds the zone whose upstreams are responsible. Returns false when no upstream is to be asked. */
static bool find_servers(struct answer *a)
{
    const struct engine_config *config = a->config;
    const struct zone_table *zones = config->zones_of_others;
    const bool is_stub = a->stub != NULL;
    a->external = is_stub ? a->stub
                  : zones ? zone_table_find_for(zones, &a->asked, a->in.question->type)
                          : NULL;
    return (is_stub || !config->settings.no_rec) && !is_too_short(a) &&
           (a->external ? a->external->server_count > 0 : config->has_nameservers);
}

static bool is_address_type(const struct answer *a)
{
    return a->in.question->type == DNS_TYPE_A || a->in.question->type == DNS_TYPE_AAAA;
}

static void begin_hosts_answer(struct answer *a)
{
    a->plan.is_authoritative = false;
    a->rule = ANSWER_BY_HOSTS;
}

/* Answers from hosts files. Returns false for other types of a name when upstreams are to be asked
 * (`is_asked`). If none is, other types are NODATA without an SOA: a hosts file has none. */
static enum override_outcome answer_hosts_name(struct answer *a, bool is_asked)
{
    const struct hosts_table *hosts = a->config->hosts;
    size_t count;
    const struct ip *ips = hosts ? hosts_table_find(hosts, &a->asked, &count) : NULL;
    if (!ips || (is_asked && !is_address_type(a))) {
        return ips ? OVERRIDE_OTHER_TYPE : OVERRIDE_NONE;
    }
    begin_hosts_answer(a);
    answer_external_add_addresses(a, ips, count);
    return OVERRIDE_ANSWERED;
}

bool answer_hosts_address(struct answer *a, const struct ip *ip)
{
    const struct hosts_table *hosts = a->config->hosts;
    const struct slice name = hosts ? hosts_table_name(hosts, ip) : slice_of(NULL, 0);
    if (name.len == 0) {
        return false;
    }
    begin_hosts_answer(a);
    if (a->in.question->type == DNS_TYPE_PTR) {
        answer_add(a, hosts_rr(a, RR_PTR, name));
    }
    return true;
}

void answer_deny_external(struct answer *a, enum dns_rcode rcode, uint32_t ttl_s)
{
    static const struct dname root = {.len = 1};
    a->zone = &a->config->zones[0]; /* its name server and hostmaster */
    a->plan.rcode = rcode;
    a->plan.authority_count = 1;
    a->plan.authorities[0] = answer_soa_rr(a, rr_name(&root), ttl_s);
    a->plan.soa.minimum_s = ttl_s;
}

/* ---- Special names ---- */

static void add_special(struct answer *a, enum rr_type type, struct slice data)
{
    if (type == (enum rr_type)a->in.question->type) {
        answer_add(
            a, (struct rr){.owner = a->owner, .ttl_s = SPECIAL_TTL_S, .type = type, .data = data});
    }
}

/* Answers a special name. Returns false for an ordinary one. */
static bool answer_special_name(struct answer *a)
{
    const enum special_kind kind = special_name_find(&a->asked, a->external);
    switch (kind) {
    case SPECIAL_NONE:
        return false;
    case SPECIAL_LOCALHOST:
        add_special(a, RR_A, slice_of(special_ipv4, sizeof(special_ipv4)));
        add_special(a, RR_AAAA, slice_of(special_ipv6, sizeof(special_ipv6)));
        break;
    case SPECIAL_POINTER:
        add_special(a, RR_PTR, special_name_localhost());
        break;
    case SPECIAL_DENIED:
    case SPECIAL_NO_DATA:
        break;
    }
    a->plan.is_authoritative = false;
    a->rule = ANSWER_BY_SPECIAL_NAME;
    if (a->plan.answers.count == 0) {
        answer_deny_external(a, kind == SPECIAL_DENIED ? DNS_RCODE_NXDOMAIN : DNS_RCODE_NOERROR,
                             SPECIAL_TTL_S);
    }
    return true;
}

/* ---- -no-aaaa and DNS64 ---- */

/* Decides as far as is known by now; else the upstream is queried first, and the resolver decides
 * whether the client may. */
static bool may_use_upstream(const struct answer *a)
{
    return a->in.externals ||
           (a->in.cached && a->in.question->subnet_len == 0 &&
            (a->in.query->is_allowed || cache_access_allows(a->in.cached, a->in.query->client)));
}

/* Ends a DNS64 answer: with the addresses that were added; or NODATA, if all IPv6 addresses are
 * excluded and there are no IPv4 ones. */
static void end_mapped(struct answer *a)
{
    const struct rr_list *answers = &a->plan.answers;
    a->plan.is_authoritative = false;
    a->rule = ANSWER_BY_DNS64;
    if (a->follow.has_failed) {
        answer_unknown(a);
    } else if (!answers->is_cut &&
               (answers->count == 0 || answers->items[answers->count - 1].type != RR_AAAA)) {
        answer_deny_external(a, DNS_RCODE_NOERROR, SYNTHESIS_DENIAL_TTL_S);
    }
}

/* Answers with IPv6 addresses made from IPv4 ones. Returns false if the upstream's answer about
 * AAAA counts as it is. */
static bool map_ipv4(struct answer *a)
{
    const struct question *question = a->in.question;
    const struct cache_key key = {.name = a->asked,
                                  .type = DNS_TYPE_AAAA,
                                  .qclass = DNS_CLASS_IN,
                                  .dnssec_ok = question->dnssec_ok,
                                  .checking_disabled = question->checking_disabled,
                                  .zone_serial = a->external ? a->external->serial : 0};
    switch (follow_mapped(&a->follow, a->external, &key, a->owner, &a->plan.answers)) {
    case FOLLOW_AS_IS:
        return false;
    case FOLLOW_MAPPED:
        end_mapped(a);
        break;
    case FOLLOW_DEFERRED:
        break;
    }
    return true;
}

static bool answer_ipv6(struct answer *a, bool is_asked)
{
    if (a->in.question->type != DNS_TYPE_AAAA) {
        return false;
    }
    if (synthesis_denies_aaaa(a->config, &a->asked)) {
        a->plan.is_authoritative = false;
        a->rule = ANSWER_BY_NO_AAAA;
        answer_deny_external(a, DNS_RCODE_NOERROR, SYNTHESIS_DENIAL_TTL_S);
        return true;
    }
    return is_asked && a->follow.may_map && a->in.question->qclass == DNS_CLASS_IN &&
           may_use_upstream(a) && map_ipv4(a);
}

/* Defers a PTR question about an address that DNS64 made: its IPv4 address's reverse name is asked
 * for instead (answer_get_ipv4_reverse). */
static bool answer_made_reverse(struct answer *a)
{
    if (a->in.question->type != DNS_TYPE_PTR ||
        !synthesis_reverse(a->config, &a->asked, a->external, &a->ipv4_reverse)) {
        return false;
    }
    a->rule = ANSWER_BY_DNS64;
    a->follow.is_deferred = true;
    a->follow.deferral->kind = ENGINE_DEFER_FORWARD;
    return true;
}

/* Answers by the first that has the name: -alias, hosts files, overrides, special names. Returns
 * false if none has: then its upstream is queried. */
static bool answer_from_source(struct answer *a, bool is_asked)
{
    enum override_outcome outcome = answer_setting_alias(a, is_asked);
    outcome = outcome == OVERRIDE_NONE ? answer_hosts_name(a, is_asked) : outcome;
    outcome = outcome == OVERRIDE_NONE ? answer_override(a, is_asked) : outcome;
    if (outcome == OVERRIDE_ANSWERED || (outcome == OVERRIDE_NONE && answer_special_name(a))) {
        return true;
    }
    return answer_ipv6(a, is_asked) || (outcome == OVERRIDE_NONE && answer_made_reverse(a));
}

/* Forwards the question, or refuses it at once when another server of stub zones sent it: the two
 * would ask each other in a circle. An unanswered query would come again, and without the option,
 * in case the option is the cause. */
static void answer_external_forward(struct answer *a, bool is_asked)
{
    const bool has_recursion = a->stub || !a->config->settings.no_rec;
    a->plan.is_authoritative = false;
    if (a->stub && a->in.question->is_from_stub) {
        a->plan.is_recursive = false;
        answer_fail(a, DNS_RCODE_REFUSED, EDNS_ERROR_PROHIBITED);
    } else if (is_asked) {
        a->follow.is_deferred = true;
        a->follow.deferral->kind = ENGINE_DEFER_FORWARD;
    } else if (has_recursion && is_too_short(a) && dname_label_count(&a->name) == 1) {
        /* Does what dnsmasq's --domain-needed does. It is the last name of a search list: musl and
         * Go do not take SERVFAIL for an answer to that. */
        answer_deny_external(a, DNS_RCODE_NXDOMAIN, a->config->settings.min_ttl_s);
    } else {
        a->plan.is_recursive = has_recursion;
        answer_fail(a, DNS_RCODE_SERVFAIL, EDNS_ERROR_NOT_AUTHORITATIVE);
    }
}

/* Answers from our records when an upstream's CNAMEs lead to a name of ours: those records follow
 * the CNAMEs. */
static void lead_home(struct answer *a, const struct external_answer *answer)
{
    struct external_reader reader = external_answer_read(answer, a->owner);
    struct external_rr e;
    while (external_answer_next(&reader, &e) && e.type == DNS_TYPE_CNAME) {
        answer_add(
            a, (struct rr){.owner = e.owner, .ttl_s = e.ttl_s, .type = RR_CNAME, .data = e.data});
    }
    const struct dname end = dname_lower_of(reader.owner);
    const struct engine_zone *zone = engine_config_own_zone(a->config, &end);
    if (!zone || answer->outcome == EXTERNAL_FAILED) { /* the configuration has changed since */
        answer_unknown(a);
        return;
    }
    a->owner = reader.owner;
    a->name = end;
    answer_set_zone(a, zone);
    if (!a->follow.view.store) {
        answer_not_ready(a);
    } else {
        answer_in_domain(a);
    }
    a->plan.is_authoritative = false;
}

void answer_external(struct answer *a)
{
    const struct external_answer *home =
        a->in.externals ? external_answers_find(a->in.externals, &a->asked, a->in.question->type)
                        : NULL;
    const bool is_mapped = home &&
                           external_answers_find(a->in.externals, &a->asked, DNS_TYPE_A) != NULL &&
                           a->in.question->type == DNS_TYPE_AAAA;
    if (home && !is_mapped) {
        lead_home(a, home);
        return;
    }
    const bool is_asked = find_servers(a);
    const bool is_external = !engine_config_zone(a->config, &a->asked);
    if (is_external && answer_from_source(a, is_asked)) {
        return;
    }
    answer_external_forward(a, is_asked);
}
