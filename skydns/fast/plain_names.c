#include "skydns/fast/plain_names.h"

#include <string.h>

#include "common/dns/dns.h"
#include "skydns/publish/reverse_zone.h"
#include "skydns/records/rr.h"

/* ---- Labels of this server ---- */

static struct slice label_above(const struct dname *name, const struct dname *domain)
{
    struct dname_labels labels;
    unsigned below = dname_label_count(domain);
    dname_labels(name, &labels);
    if (labels.count <= below || !dname_is_within(name, domain)) {
        return slice_of(NULL, 0);
    }
    return dname_label(name, labels.offsets[labels.count - below - 1]);
}

static void add_own(struct plain_names *names, const struct engine_zone *zone,
                    const struct dname *name)
{
    struct slice label = label_above(name, &zone->domain);
    if (label.len > 0 && !plain_names_are_own(names, label)) {
        names->own[names->own_count++] = label;
    }
}

/* Finds this server's own names: six at most, PLAIN_OWN_MAX. */
static void find_own(struct plain_names *names, const struct engine_config *config,
                     const struct engine_zone *zone)
{
    add_own(names, zone, &zone->ns);
    add_own(names, zone, &zone->local);
    add_own(names, zone, &zone->version);
    add_own(names, zone, &zone->hostmaster);
    if (config->settings.reverse_zone_count > 0) { /* they take precedence over the domain */
        add_own(names, zone, &reverse_zone_in_addr_arpa);
        add_own(names, zone, &reverse_zone_ip6_arpa);
    }
}

/* ---- Classes ---- */

/* The fast path denies these types without reading records. */
#define IS_DENIED(name, number, shape, answer, text) \
    || DNS_TYPE_##name == DNS_TYPE_SVCB || DNS_TYPE_##name == DNS_TYPE_HTTPS
_Static_assert(!(0 RR_TYPES(IS_DENIED)), "PLAIN_NO_TYPE: no answer has records of these types");
#undef IS_DENIED

static enum plain_action action_of(const struct engine_config *config, enum kube_place place,
                                   enum plain_kind kind)
{
    static const struct {
        uint16_t type;
        enum plain_action action;
    } kinds[PLAIN_KINDS] = {
        [PLAIN_ADDRESS] = {DNS_TYPE_A, PLAIN_ADDRESSES},
        [PLAIN_PORT] = {DNS_TYPE_SRV, PLAIN_TARGETS},
        [PLAIN_NO_TYPE] = {DNS_TYPE_HTTPS, PLAIN_NO_DATA},
    };
    if (config->settings.schema == ENGINE_SCHEMA_SKYDNS) {
        return kinds[kind].action;
    }
    bool may_be_alias = kube_place_has_data(place, DNS_TYPE_CNAME);
    if (kind == PLAIN_NO_TYPE || !kube_place_has_data(place, kinds[kind].type)) {
        return may_be_alias ? PLAIN_IF_ALIAS : PLAIN_NO_DATA;
    }
    if (kind == PLAIN_PORT && may_be_alias) {
        return PLAIN_NOT; /* a service's own name lists its ports, too */
    }
    return kinds[kind].action; /* prepared addresses belong to no alias */
}

/* Returns whether names of the tree depend on the store alone. */
static bool is_plain_tree(const struct plain_names *names, const struct engine_config *config,
                          const struct engine_zone *zone, enum kube_tree tree)
{
    if (zone->is_external) { /* few ask for these names: the slow path knows them */
        return false;
    }
    for (size_t i = 0; i < names->own_count && tree != KUBE_TREE_OTHER; i++) {
        if (kube_tree_of(names->own[i]) == tree) {
            return false;
        }
    }
    bool is_reverse =
        config->settings.reverse_zone_count > 0 && reverse_zone_is_reverse(&zone->domain);
    return !is_reverse && !(tree == KUBE_TREE_POD && config->settings.pods != ENGINE_PODS_VERIFIED);
}

static void make_tree(struct plain_names *names, const struct engine_config *config,
                      enum kube_tree tree)
{
    for (unsigned depth = 1; depth <= KUBE_DEPTH_MAX; depth++) {
        for (unsigned underscored = 0; underscored < 2; underscored++) {
            enum kube_place place = kube_place_at(tree, depth, underscored);
            struct plain_class *class = &names->classes[tree][depth][underscored];
            class->when_absent = PLAIN_NO_NAME;
            for (unsigned kind = 0; kind < PLAIN_KINDS; kind++) {
                class->when_found[kind] = (uint8_t)action_of(config, place, kind);
            }
        }
    }
}

static bool is_uniform(const struct plain_names *names)
{
    for (unsigned tree = 0; tree < KUBE_TREES; tree++) {
        const struct plain_class *first = &names->classes[tree][1][0];
        for (unsigned i = 1; i < 2 * KUBE_DEPTH_MAX; i++) {
            if (memcmp(&names->classes[tree][1 + i / 2][i % 2], first, sizeof(*first)) != 0) {
                return false;
            }
        }
    }
    return true;
}

static bool has_domains_below(const struct engine_config *config, const struct engine_zone *zone)
{
    for (size_t i = 0; i < config->zone_count; i++) {
        const struct engine_zone *other = &config->zones[i];
        if (other != zone && dname_is_within(&other->domain, &zone->domain)) {
            return true;
        }
    }
    return false;
}

void plain_names_make(struct plain_names *names, const struct engine_config *config,
                      const struct engine_zone *zone)
{
    memset(names, 0, sizeof(*names)); /* PLAIN_NOT */
    find_own(names, config, zone);
    for (unsigned tree = 0; tree < KUBE_TREES; tree++) {
        if (is_plain_tree(names, config, zone, tree)) {
            make_tree(names, config, tree);
        }
    }
    names->is_uniform = is_uniform(names);
    names->has_domains_below = has_domains_below(config, zone);
}

/* ---- Reverse names ---- */

bool plain_names_have_pointers(const struct engine_config *config)
{
    for (size_t i = 0; i < config->zone_count && config->settings.local.len > 0; i++) {
        if (reverse_zone_is_reverse(&config->zones[i].local)) {
            return false; /* it is an alias for another name */
        }
    }
    return true;
}
