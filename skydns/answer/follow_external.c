/* Follows external names: by hosts files, special names, the response cache and upstreams' answers;
 * and makes DNS64's addresses of these. */
#include <string.h>

#include "common/base/attributes.h"
#include "common/dns/dns.h"
#include "skydns/answer/answer.h"
#include "skydns/answer/cache_access.h"
#include "skydns/answer/external_synthesis.h"
#include "skydns/answer/follow_internal.h"
#include "skydns/answer/special_names.h"
#include "skydns/external/hosts_table.h"
#include "skydns/external/zone_table.h"

_Static_assert(ENGINE_EXTERNAL_MAX <= 32, "follow.added has a bit for each");

/* ---- Answers of upstreams and the response cache ---- */

/* Lists a question in case one of them must be asked. Then all are, since a cache entry may have
 * expired by then. Returns false when the question does not fit, and its target gets no addresses.
 */
static bool list_question(struct follow *f, const struct cache_key *key)
{
    struct engine_deferral *d = f->deferral;
    for (size_t i = 0; i < d->question_count; i++) {
        if (d->questions[i].type == key->type && dname_equal(&d->questions[i].name, &key->name)) {
            return true;
        }
    }
    if (d->question_count == ENGINE_EXTERNAL_MAX) {
        return false;
    }
    d->questions[d->question_count++] = (struct external_question){key->name, key->type};
    return true;
}

static void ask_external(struct follow *f, size_t listed_before)
{
    if (!f->is_deferred) {
        f->is_deferred = true;
        f->deferral->kind = ENGINE_DEFER_LOOKUP;
        f->deferral->needs_recursion = f->is_flat;
    }
    f->missed += f->deferral->question_count > listed_before;
}

/* Follows the last CNAME of an external answer without addresses, which may lead to a name of ours.
 */
static void follow_home(struct follow *f, struct follow_chain *chain, uint16_t type,
                        struct slice name)
{
    const struct dname lower = dname_lower_of(name);
    if (engine_config_own_zone(f->config, &lower)) {
        const enum follow_families families = chain->families;
        chain->families = type == DNS_TYPE_A ? FOLLOW_A : FOLLOW_AAAA;
        follow_chain_name(f, chain, name);
        chain->families = families;
    }
}

/* The outcome of an external question, as far as it is known. */
struct found_external {
    const struct external_answer *answer; /* NULL: nothing that may be used now */
    uint32_t bit;                         /* its place in those of `added` and `mapped` */
    uint32_t *added, *mapped;
};

static struct rr external_rr_of(const struct external_rr *e)
{
    return (struct rr){
        .owner = e->owner, .ttl_s = e->ttl_s, .type = (enum rr_type)e->type, .data = e->data};
}

/* Adds an external answer once: thousands of records may point to one target, which may have
 * thousands of addresses. `added` has a bit for each such answer. */
static void add_external(struct follow *f, struct follow_chain *chain,
                         const struct found_external *found, struct slice name)
{
    const struct external_answer *answer = found->answer;
    struct external_reader reader = external_answer_read(answer, name);
    struct external_rr e;
    bool is_alias = false;
    if (*found->added & found->bit && answer->records.len > 0) {
        follow_chain_show(chain);
        return;
    }
    *found->added |= found->bit;
    while (external_answer_next(&reader, &e)) {
        if (f->may_map && e.type == DNS_TYPE_AAAA &&
            synthesis_excludes(&f->config->settings.dns64, e.data)) {
            continue;
        }
        const struct rr rr = external_rr_of(&e);
        follow_chain_add(chain, &rr);
        is_alias = e.type == DNS_TYPE_CNAME;
    }
    if (is_alias) {
        follow_home(f, chain, answer->question.type, reader.owner);
    }
}

/* Returns the IPv6 address made from an IPv4 one; it lives as long as the answer. Empty: there is
 * none, or no room for it. */
static struct slice map_address(struct follow *f, struct follow_chain *chain, struct slice ipv4)
{
    uint8_t ipv6[FOLLOW_MAPPED_BYTES];
    const size_t at = f->mapped.len;
    if (!synthesis_map(&f->config->settings.dns64, ipv4, ipv6)) {
        return slice_of(NULL, 0);
    }
    if (at == 0) {
        (void)buf_reserve(&f->mapped,
                          FOLLOW_MAPPED_MAX); /* so that addresses stay where they are */
    }
    buf_append(&f->mapped, ipv6, sizeof(ipv6));
    if (f->mapped.failed) {
        chain->out->is_cut = true;
        return slice_of(NULL, 0);
    }
    return slice_of(f->mapped.data + at, sizeof(ipv6));
}

/* Adds the CNAMEs and IPv4 addresses that upstream gave, these as IPv6 ones that last no longer
 * than the denial that they take the place of. */
static NOINLINE void add_mapped(struct follow *f, struct follow_chain *chain,
                                const struct found_external *ipv4, uint32_t denial_ttl_s,
                                struct slice name)
{
    struct external_reader reader = external_answer_read(ipv4->answer, name);
    struct external_rr e;
    if (*ipv4->mapped & ipv4->bit) {
        follow_chain_show(chain);
        return;
    }
    *ipv4->mapped |= ipv4->bit;
    while (external_answer_next(&reader, &e)) {
        struct rr rr = external_rr_of(&e);
        if (e.type == DNS_TYPE_A) {
            rr.type = RR_AAAA;
            rr.data = map_address(f, chain, e.data);
            rr.ttl_s = e.ttl_s < denial_ttl_s ? e.ttl_s : denial_ttl_s;
        }
        if (rr.data.len > 0) {
            follow_chain_add(chain, &rr);
        }
    }
}

/* Remembers the first chain to a name that no upstream was asked about, unless the chain is in the
 * answer. */
static NOINLINE void note_unasked_target(struct follow *f, const struct follow_chain *chain)
{
    if (f->unasked_count == 0 && chain->shown == 0 && !chain->is_for_target) {
        memcpy(f->unasked, chain->links, chain->count * sizeof(chain->links[0]));
        f->unasked_count = chain->count;
    }
}

void follow_show_unasked(struct follow *follow, struct rr_list *out)
{
    for (unsigned i = 0; i < follow->unasked_count; i++) {
        rr_list_add(out, &follow->unasked[i]);
    }
}

static void use_external(struct follow *f, struct follow_chain *chain,
                         const struct found_external *found, struct slice name)
{
    switch (found->answer->outcome) {
    case EXTERNAL_NOT_ASKED:
        f->is_open = true;
        break;
    case EXTERNAL_DENIED:
        f->deferral->lacks_target |= found->answer->is_nxdomain && !chain->is_for_target;
        add_external(f, chain, found, name);
        break;
    case EXTERNAL_ANSWERED:
        add_external(f, chain, found, name);
        break;
    case EXTERNAL_TRUNCATED:
        if (!chain->is_for_target && !f->in->may_cut) {
            f->has_failed = true; /* the upstream had no more over TCP, and the client would get no
                                   * more either */
        } else if (!chain->is_for_target) {
            add_external(f, chain, found, name);
            chain->out->is_cut = true;
        }
        break;
    case EXTERNAL_FAILED:
        if (f->may_ask) {
            f->has_failed = true;
        } else {
            note_unasked_target(f, chain); /* a cached failure of another client's question */
        }
        break;
    }
}

/* Requires recursion: an external target is for clients whose queries may be forwarded. */
static bool may_use_cached(const struct follow *f)
{
    return !f->is_flat || f->in->query->is_allowed ||
           cache_access_allows(f->in->cached, f->in->query->client);
}

/* Finds the answer in the response cache, if that may be used now. */
static struct found_external find_cached(struct follow *f, const struct cache_key *key)
{
    struct found_external found = {.added = &f->added_cached, .mapped = &f->added_cached_mapped};
    if (f->in->cached && f->config->cache && key->zone_serial > 0 && may_use_cached(f)) {
        found.answer =
            cached_targets_find(f->cached, f->in->cached, f->in->query, key, f->in->reply_limit);
        found.bit = found.answer ? UINT32_C(1) << (found.answer - f->cached->items) : 0;
    }
    return found;
}

static const struct external_answer *find_asked(const struct follow *f, const struct cache_key *key)
{
    return f->in->externals ? external_answers_find(f->in->externals, &key->name, key->type) : NULL;
}

/* Finds what is known of a question: the upstream's answer, in the engine's second call, or that of
 * the response cache. Without either, defers to ask the upstream, or notes that it cannot be asked.
 * A second call may use the cache, too: its version may have targets that the first one lacked. */
static struct found_external find_external(struct follow *f, const struct follow_chain *chain,
                                           const struct cache_key *key)
{
    const size_t listed_before = f->deferral->question_count;
    const struct external_answer *asked = find_asked(f, key);
    struct found_external found = {.answer = asked,
                                   .bit =
                                       asked ? UINT32_C(1) << (asked - f->in->externals->items) : 0,
                                   .added = &f->added,
                                   .mapped = &f->added_mapped};
    if (asked || (f->may_ask && !list_question(f, key))) {
        return found;
    }
    found = find_cached(f, key);
    if (!found.answer && !f->may_ask) {
        note_unasked_target(f, chain);
    } else if (!found.answer && !f->in->externals) {
        ask_external(f, listed_before);
    }
    return found;
}

static void follow_question(struct follow *f, struct follow_chain *chain,
                            const struct cache_key *key, struct slice name)
{
    const struct found_external found = find_external(f, chain, key);
    if (found.answer) {
        use_external(f, chain, &found, name);
    }
}

/* ---- DNS64 ---- */

/* Uses a truncated answer about IPv4 addresses, as use_external does. */
static void use_truncated(struct follow *f, struct follow_chain *chain,
                          const struct found_external *ipv4, uint32_t ttl_max_s, struct slice name)
{
    if (chain->is_for_target) {
        return;
    }
    if (!f->in->may_cut) {
        f->has_failed = true;
        return;
    }
    add_mapped(f, chain, ipv4, ttl_max_s, name);
    chain->out->is_cut = true;
}

/* Adds the IPv6 addresses that DNS64 makes instead of an answer about AAAA. Returns false if that
 * answer counts. */
static bool use_mapped(struct follow *f, struct follow_chain *chain,
                       const struct found_external *ipv6, const struct found_external *ipv4,
                       struct slice name)
{
    const uint32_t denial_ttl_s = ipv6->answer->denial_ttl_s;
    const uint32_t ttl_max_s = denial_ttl_s > 0 ? denial_ttl_s : SYNTHESIS_TTL_MAX_S;
    if (ipv4->answer && ipv4->answer->outcome == EXTERNAL_TRUNCATED) {
        use_truncated(f, chain, ipv4, ttl_max_s, name);
        return true;
    }
    if (!ipv4->answer || !synthesis_maps_any(&f->config->settings.dns64, ipv4->answer)) {
        return false;
    }
    add_mapped(f, chain, ipv4, ttl_max_s, name);
    return true;
}

/* Both are asked at once (RFC 6147 5.1.8), unless it is known that there are IPv6 addresses. */
static NOINLINE void follow_question_mapped(struct follow *f, struct follow_chain *chain,
                                            const struct cache_key *key, struct slice name)
{
    struct cache_key ipv4_key = *key;
    ipv4_key.type = DNS_TYPE_A;
    const struct found_external ipv6 = find_external(f, chain, key);
    if (ipv6.answer && synthesis_worth_of(f->config, ipv6.answer) != SYNTHESIS_NONE) {
        use_external(f, chain, &ipv6, name);
        return;
    }
    const struct found_external ipv4 = find_external(f, chain, &ipv4_key);
    if (ipv6.answer && !f->is_deferred && !use_mapped(f, chain, &ipv6, &ipv4, name)) {
        use_external(f, chain, &ipv6, name);
    }
}

enum follow_mapped follow_mapped(struct follow *follow, const struct forward_zone *zone,
                                 const struct cache_key *key, struct slice name,
                                 struct rr_list *out)
{
    struct follow *f = follow;
    struct follow_chain chain = {.out = out, .families = FOLLOW_AAAA, .start = name};
    const struct cache_key ipv4_key = {.name = key->name,
                                       .type = DNS_TYPE_A,
                                       .qclass = DNS_CLASS_IN,
                                       .zone_serial = zone ? zone->serial : 0};
    if (!find_asked(f, key) && !find_cached(f, key).answer) {
        return FOLLOW_AS_IS; /* upstream has to be asked for that first */
    }
    const struct found_external ipv6 = find_external(f, &chain, key);
    switch (synthesis_worth_of(f->config, ipv6.answer)) {
    case SYNTHESIS_WHOLE:
        return FOLLOW_AS_IS;
    case SYNTHESIS_PART:
        use_external(f, &chain, &ipv6, name);
        return FOLLOW_MAPPED;
    case SYNTHESIS_NONE:
        break;
    }
    const struct found_external ipv4 = find_external(f, &chain, &ipv4_key);
    if (f->is_deferred) {
        return FOLLOW_DEFERRED;
    }
    if (use_mapped(f, &chain, &ipv6, &ipv4, name)) {
        return FOLLOW_MAPPED;
    }
    if (ipv6.answer->outcome != EXTERNAL_ANSWERED) {
        return FOLLOW_AS_IS;
    }
    f->has_failed = !ipv4.answer || ipv4.answer->outcome == EXTERNAL_FAILED;
    use_external(f, &chain, &ipv6, name); /* what is left: its CNAMEs */
    return FOLLOW_MAPPED;
}

/* ---- Sources ---- */

bool follow_chain_hosts(struct follow *f, struct follow_chain *chain, const struct dname *lower,
                        struct slice name)
{
    size_t count = 0;
    const struct ip *ips = f->config->hosts && !engine_config_zone(f->config, lower)
                               ? hosts_table_find(f->config->hosts, lower, &count)
                               : NULL;
    for (size_t i = 0; i < count; i++) {
        bool is_v4 = ips[i].family_bytes == 4;
        if (chain->families & (is_v4 ? FOLLOW_A : FOLLOW_AAAA)) {
            struct rr rr = {.owner = name,
                            .ttl_s = HOSTS_TTL_S,
                            .type = is_v4 ? RR_A : RR_AAAA,
                            .data = slice_of(ips[i].bytes, ips[i].family_bytes)};
            follow_chain_add(chain, &rr);
        }
    }
    return ips != NULL;
}

static void follow_add_local(struct follow_chain *chain, enum follow_families family,
                             struct slice address, struct slice name)
{
    const struct rr rr = {.owner = name,
                          .ttl_s = SPECIAL_TTL_S,
                          .type = family == FOLLOW_A ? RR_A : RR_AAAA,
                          .data = address};
    if (chain->families & family) {
        follow_chain_add(chain, &rr);
    }
}

/* Adds the addresses of a special name. Returns true if it is one: then no upstream is queried. */
static bool follow_special(struct follow_chain *chain, const struct dname *lower, struct slice name,
                           const struct forward_zone *zone)
{
    const enum special_kind kind = special_name_find(lower, zone);
    if (kind == SPECIAL_LOCALHOST) {
        follow_add_local(chain, FOLLOW_A, slice_of(special_ipv4, sizeof(special_ipv4)), name);
        follow_add_local(chain, FOLLOW_AAAA, slice_of(special_ipv6, sizeof(special_ipv6)), name);
    }
    return kind != SPECIAL_NONE;
}

void follow_chain_external(struct follow *f, struct follow_chain *chain, const struct dname *lower,
                           struct slice name)
{
    static const struct {
        enum follow_families family;
        uint16_t type;
    } types[] = {{FOLLOW_A, DNS_TYPE_A}, {FOLLOW_AAAA, DNS_TYPE_AAAA}};
    const struct engine_config *config = f->config;
    const struct forward_zone *zone =
        config->zones_of_others ? zone_table_find(config->zones_of_others, lower) : NULL;
    bool is_stub = zone && zone_is_stub(zone);
    const bool is_external = !engine_config_zone(config, lower);
    bool has_servers = zone ? zone->server_count > 0 : config->has_nameservers;

    if (follow_override(f, chain, lower, name) ||
        (is_external && follow_special(chain, lower, name, zone))) {
        return;
    }
    if (is_stub && f->in->question->is_from_stub) {
        /* The other server follows CNAMEs into its stub zones itself: two with aliases of each
         * other's names would ask in a circle. */
        note_unasked_target(f, chain);
        return;
    }
    if (!has_servers ||
        engine_config_is_too_short(config, dname_label_count(lower), DNS_TYPE_A, is_stub)) {
        f->has_failed = f->has_failed || (is_stub && f->may_ask);
        note_unasked_target(f, chain);
        return;
    }
    struct cache_key key = {
        .name = *lower, .qclass = DNS_CLASS_IN, .zone_serial = zone ? zone->serial : 0};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        key.type = types[i].type;
        if (!(chain->families & types[i].family) ||
            (key.type == DNS_TYPE_AAAA && is_external && synthesis_denies_aaaa(config, lower))) {
            continue;
        }
        if (key.type == DNS_TYPE_AAAA && f->may_map && is_external) {
            follow_question_mapped(f, chain, &key, name);
        } else {
            follow_question(f, chain, &key, name);
        }
    }
}

void follow_outside(struct follow *follow, const struct dname *lower, struct slice name,
                    enum follow_families families, struct rr_list *out)
{
    struct follow_chain chain = {.out = out, .families = families};
    follow_chain_external(follow, &chain, lower, name);
}
