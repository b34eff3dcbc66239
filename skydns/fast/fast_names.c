#include "skydns/fast/fast_names_internal.h"

#include <string.h>
#include <strings.h>

#include "common/base/attributes.h"
#include "common/dns/dns.h"
#include "skydns/answer/external_synthesis.h"
#include "skydns/answer/lookup.h"
#include "skydns/answer/special_names.h"
#include "skydns/external/hosts_table.h"
#include "skydns/external/zone_table.h"
#include "skydns/publish/reverse_zone.h"
#include "skydns/records/overrides.h"

/* ---- Domains ---- */

static bool is_nested(const struct engine_config *config, const struct dname *domain)
{
    for (size_t i = 0; i < config->zone_count; i++) {
        const struct dname *other = &config->zones[i].domain;
        if (other != domain && dname_is_within(domain, other)) {
            return true;
        }
    }
    return dname_is_within(domain, &reverse_zone_in_addr_arpa) ||
           dname_is_within(domain, &reverse_zone_ip6_arpa) ||
           dname_is_within(&reverse_zone_in_addr_arpa, domain) ||
           dname_is_within(&reverse_zone_ip6_arpa, domain);
}

static struct slice last_label(const struct dname *name)
{
    struct dname_labels labels;
    dname_labels(name, &labels);
    return labels.count > 0 ? dname_label(name, labels.offsets[labels.count - 1])
                            : slice_of(NULL, 0);
}

/* Makes the SOA that answer_deny_external writes, for questions that share no suffix with its
 * names.
 */
static void make_root_soa(struct fast_zones *zones, const struct engine_config *config,
                          struct encoder *encoder)
{
    if (config->settings.no_aaaa_count > 0) {
        struct engine_zone root = config->zones[0];
        root.domain = (struct dname){.len = 1};
        root.labels = 0;
        soa_template_make(&zones->root_soa, SYNTHESIS_DENIAL_TTL_S, &root, 0, encoder);
        zones->root_soa_ends[0] = last_label(&config->zones[0].ns);
        zones->root_soa_ends[1] = last_label(&config->zones[0].hostmaster);
    }
}

void fast_zones_configure(struct fast_zones *zones, const struct engine_config *config,
                          struct encoder *encoder)
{
    zones->config = config;
    zones->has_cached = config->cache && config->zones_of_others &&
                        (config->allows_all || config->allowed_count > 0);
    zones->slow_type = config->settings.no_aaaa_count > 0 || config->settings.dns64.is_on
                           ? DNS_TYPE_AAAA
                           : DNS_TYPE_ANY;
    make_root_soa(zones, config, encoder);
    zones->has_pointers = plain_names_have_pointers(config);
    zones->has_aliases = config->settings.alias_count > 0;
    zones->overrides = NULL;
    zones->is_nested = false;
    zones->serial = 0;
    zones->count = config->zone_count;
    for (size_t i = 0; i < config->zone_count; i++) {
        struct fast_zone *z = &zones->zones[i];
        z->zone = &config->zones[i];
        plain_names_make(&z->plain, config, z->zone);
        soa_templates_make(&z->soas, config->settings.min_ttl_s, z->zone, encoder);
        zones->is_nested = zones->is_nested || is_nested(config, &z->zone->domain);
        z->has_stubs_below = engine_config_is_above_stub(config, &z->zone->domain);
        if (z->has_stubs_below) { /* a target's zone depends on all of its name */
            z->plain.is_uniform = false;
        }
        z->has_zones_below = z->has_stubs_below || z->plain.has_domains_below;
    }
}

void fast_zones_use(struct fast_zones *zones, const struct store *store)
{
    if (zones->serial != store_serial(store)) {
        zones->serial = store_serial(store);
        zones->has_rrs = store_has_rrs(store);
        zones->overrides = store_overrides(store);
        zones->arpa =
            zones->has_pointers ? store_child(store_root(store), slice_of("arpa", 4)) : NULL;
        for (size_t i = 0; i < zones->count; i++) {
            struct fast_zone *z = &zones->zones[i];
            z->node = store_find(store, &z->zone->domain);
        }
    }
}

static struct dname fast_names_name_of(const struct fast_query *q)
{
    struct dname name = {.len = q->name_len};
    memcpy(name.wire, q->name, q->name_len);
    return name;
}

static NOINLINE bool fast_names_is_stubs(const struct fast_zones *zones,
                                         const struct fast_zone *zone, const struct fast_query *q)
{
    struct dname name = fast_names_name_of(q);
    return engine_config_stub(zones->config, &name, q->type, zone->zone) != NULL;
}

const struct fast_zone *fast_zones_find(const struct fast_zones *zones,
                                        const struct fast_query *query)
{
    const struct fast_query *q = query;
    for (size_t i = 0; i < zones->count; i++) {
        const struct engine_zone *zone = zones->zones[i].zone;
        if (q->label_count >= zone->labels && q->name_len >= zone->domain.len &&
            q->offsets[q->label_count - zone->labels] == q->name_len - zone->domain.len &&
            memcmp(q->name + q->name_len - zone->domain.len, zone->domain.wire, zone->domain.len) ==
                0) {
            const struct fast_zone *found = &zones->zones[i];
            return found->has_stubs_below && fast_names_is_stubs(zones, found, q) ? NULL : found;
        }
    }
    return NULL;
}

/* ---- Questions ---- */

static bool fast_names_is_label(struct slice label, const char *text, size_t len)
{
    return label.len == len && memcmp(label.ptr, text, len) == 0;
}

/* Returns whether the name is a reverse name. Compares labels, not bytes: the bytes of one label
 * may end like another. */
static bool is_reverse(const struct fast_query *q)
{
    if (q->label_count < 2 ||
        !fast_names_is_label(fast_query_label(q, q->label_count - 1u), "arpa", 4)) {
        return false;
    }
    struct slice form = fast_query_label(q, q->label_count - 2u);
    return fast_names_is_label(form, "in-addr", 7) || fast_names_is_label(form, "ip6", 3);
}

static void begin_scan(const struct store_node *from, unsigned labels, const struct fast_query *q,
                       struct store_scan *scan)
{
    scan->name = q->name;
    scan->offsets = q->offsets;
    scan->count = labels;
    store_scan_begin(scan, from);
}

void fast_scan_begin(const struct fast_zone *zone, const struct fast_query *query,
                     struct store_scan *scan)
{
    begin_scan(zone->node, query->label_count - zone->zone->labels, query, scan);
}

static bool ends_like_root_soa(const struct fast_zones *zones, const struct fast_query *q)
{
    const struct slice end = fast_query_label(q, q->label_count - 1u);
    for (size_t i = 0; i < ARRAY_LEN(zones->root_soa_ends); i++) {
        const struct slice label = zones->root_soa_ends[i];
        if (label.len == end.len && strncasecmp(label.ptr, end.ptr, end.len) == 0) {
            return true;
        }
    }
    return false;
}

/* Begins a question for AAAA, by the rules of answer_external.c. */
static NOINLINE enum fast_source begin_ipv6(const struct fast_zones *zones,
                                            const struct fast_query *q)
{
    const struct engine_config *config = zones->config;
    const struct dname name = fast_names_name_of(q);
    size_t unused;
    if (!synthesis_denies_aaaa(config, &name)) {
        return config->settings.dns64.is_on ? FAST_NOWHERE : FAST_CACHE;
    }
    const struct forward_zone *zone =
        config->zones_of_others ? zone_table_find(config->zones_of_others, &name) : NULL;
    return q->label_count == 0 || ends_like_root_soa(zones, q) || is_reverse(q) ||
                   engine_config_zone(config, &name) ||
                   special_name_find(&name, zone) != SPECIAL_NONE ||
                   (config->hosts && hosts_table_find(config->hosts, &name, &unused))
               ? FAST_NOWHERE
               : FAST_NO_AAAA;
}

/* Begins a question whose name may have an override. FAST_CACHE: it has neither alias nor override.
 */
static NOINLINE enum fast_source begin_override(const struct fast_zones *zones,
                                                struct fast_question *question)
{
    const struct engine_config *config = zones->config;
    const struct dname name = fast_names_name_of(question->query);
    const uint16_t type = question->query->type;
    struct override_found found;
    size_t unused;
    if (engine_config_alias(config, &name)) {
        return FAST_NOWHERE;
    }
    if (!zones->overrides || !overrides_find(zones->overrides, &name, &found)) {
        return FAST_CACHE;
    }
    if ((type != DNS_TYPE_A && type != DNS_TYPE_AAAA) ||
        (config->hosts && hosts_table_find(config->hosts, &name, &unused)) ||
        (found.is_wildcard && engine_config_stub(config, &name, DNS_TYPE_SOA, NULL))) {
        return FAST_NOWHERE;
    }
    question->zone = NULL;
    question->scan.node = found.node;
    return FAST_OVERRIDE;
}

/* Begins an external question, by the rules of answer_external.c. Names in hosts files, names that
 * are not forwarded and reverse names that may be ours take the slow path. */
static enum fast_source begin_external(const struct fast_zones *zones,
                                       struct fast_question *question)
{
    const struct engine_config *config = zones->config;
    const struct fast_query *q = question->query;
    struct cache_key *key = &question->key;
    size_t unused;
    if (dns_type_is_meta(q->type) || q->type == DNS_TYPE_ANY || is_reverse(q)) {
        return FAST_NOWHERE;
    }
    if (zones->overrides || zones->has_aliases) {
        const enum fast_source source = begin_override(zones, question);
        if (source != FAST_CACHE) {
            return source;
        }
    }
    if (q->type == zones->slow_type) {
        const enum fast_source source = begin_ipv6(zones, q);
        if (source != FAST_CACHE) {
            return source;
        }
    }
    if (!zones->has_cached) {
        return FAST_NOWHERE;
    }
    key->name.len = q->name_len;
    memcpy(key->name.wire, q->name, q->name_len);
    const struct forward_zone *zone =
        zone_table_find_for(config->zones_of_others, &key->name, q->type);
    if (zone->server_count == 0 || (!zone_is_stub(zone) && config->settings.no_rec) ||
        engine_config_is_too_short(config, q->label_count, q->type, zone_is_stub(zone)) ||
        (config->hosts && hosts_table_find(config->hosts, &key->name, &unused))) {
        return FAST_NOWHERE;
    }
    key->type = q->type;
    key->qclass = DNS_CLASS_IN;
    key->dnssec_ok = q->dnssec_ok;
    key->checking_disabled = (q->wire[3] & DNS_FLAG_CD) != 0;
    key->zone_serial = zone->serial;
    key->hash = 0;
    return FAST_CACHE;
}

static enum fast_source begin_in_zone(const struct fast_zones *zones,
                                      struct fast_question *question)
{
    question->zone = fast_zones_find(zones, question->query);
    if (!question->zone) {
        return begin_external(zones, question);
    }
    if (!question->zone->node) {
        return FAST_NOWHERE;
    }
    fast_scan_begin(question->zone, question->query, &question->scan);
    return FAST_STORE;
}

/* Begins a question whose type the slow path looks for in domains of ours. */
static enum fast_source begin_elsewhere(const struct fast_zones *zones,
                                        struct fast_question *question)
{
    return fast_zones_find(zones, question->query) ? FAST_NOWHERE : begin_external(zones, question);
}

static enum fast_source begin_in_arpa(const struct fast_zones *zones,
                                      struct fast_question *question)
{
    const struct fast_query *q = question->query;
    if (!zones->arpa) {
        return FAST_NOWHERE;
    }
    question->zone = NULL;
    begin_scan(zones->arpa, q->label_count - 1, q, &question->scan);
    return FAST_STORE;
}

static enum fast_source begin_question(const struct fast_zones *zones, const struct fast_query *q,
                                       struct fast_question *question)
{
    if (!q) {
        return FAST_NOWHERE;
    }
    question->query = q;
    switch (q->type) {
    case DNS_TYPE_A:
    case DNS_TYPE_AAAA:
        question->kind = PLAIN_ADDRESS;
        break;
    case DNS_TYPE_SRV:
        question->kind = PLAIN_PORT;
        break;
    case DNS_TYPE_SVCB:
    case DNS_TYPE_HTTPS:
        if (zones->has_rrs) {
            return begin_elsewhere(zones, question);
        }
        question->kind = PLAIN_NO_TYPE;
        break;
    case DNS_TYPE_PTR:
        if (is_reverse(q)) {
            return begin_in_arpa(zones, question);
        }
        return begin_elsewhere(zones, question);
    default:
        return begin_elsewhere(zones, question);
    }
    return begin_in_zone(zones, question);
}

void fast_question_begin(const struct fast_zones *zones, const struct fast_query *query,
                         struct fast_question *question)
{
    question->source = begin_question(zones, query, question);
}

/* ---- A name's action ---- */

static bool fast_names_has_wildcard(const struct fast_query *q, unsigned labels)
{
    for (unsigned i = 0; i < labels; i++) {
        if (lookup_is_wildcard(fast_query_label(q, i))) {
            return true;
        }
    }
    return false;
}

/* Returns whether the name is above a domain of ours. Such names exist, whatever the store has. */
static bool is_above_a_domain(const struct fast_zones *zones, const struct fast_query *q)
{
    for (size_t i = 0; i < zones->count; i++) {
        const struct dname *domain = &zones->zones[i].zone->domain;
        if (domain->len > q->name_len &&
            memcmp(domain->wire + domain->len - q->name_len, q->name, q->name_len) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_above_a_stub(const struct fast_zones *zones, const struct fast_query *q)
{
    struct dname name = fast_names_name_of(q);
    return engine_config_is_above_stub(zones->config, &name);
}

/* Returns whether the name, which is the zone's, exists because a zone is below it. */
static NOINLINE bool is_above_a_zone(const struct fast_zones *zones, const struct fast_zone *zone,
                                     const struct fast_query *q)
{
    return (zone->plain.has_domains_below && is_above_a_domain(zones, q)) ||
           (zone->has_stubs_below && is_above_a_stub(zones, q));
}

enum view_part fast_name_part(const struct fast_zones *zones, const struct fast_zone *zone,
                              const struct fast_query *query, const struct client_view *client)
{
    unsigned labels = (unsigned)query->label_count - zone->zone->labels;
    if (labels == 0 || zones->is_nested || zone->zone->is_external) {
        return VIEW_SOME;
    }
    if (kube_tree_of(fast_query_label(query, labels - 1)) == KUBE_TREE_OTHER) {
        return VIEW_WHOLE;
    }
    if (labels == 1) {
        return VIEW_SPACES;
    }
    return visibility_shows(client->visibility, fast_query_label(query, labels - 2), client->space)
               ? VIEW_WHOLE
               : VIEW_NONE;
}

enum plain_action fast_name_action(const struct fast_zones *zones, const struct fast_zone *zone,
                                   const struct fast_query *query, enum plain_kind kind,
                                   const struct store_node *node)
{
    unsigned labels = (unsigned)query->label_count - zone->zone->labels;
    if (labels == 0 || fast_names_has_wildcard(query, labels)) {
        return PLAIN_NOT;
    }
    const struct plain_class *class =
        plain_names_class(&zone->plain, query->name, query->offsets, labels);
    if (node) {
        return class->when_found[kind];
    }
    return zone->has_zones_below && is_above_a_zone(zones, zone, query) ? PLAIN_NOT
                                                                        : class->when_absent;
}
