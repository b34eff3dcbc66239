#include "skydns/sign/signed_sets.h"

#include <stdlib.h>

#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/sign/rrsets_internal.h"
#include "skydns/sign/signed_apex_internal.h"
#include "skydns/sign/signed_zones.h"

struct scratch {
    struct signed_zones zones;
    struct rrsets sets;
    struct rrset_scratch canonical;
};

static struct signed_set_shown show_rrset(const struct engine_config *config,
                                          const struct dnssec_zone *zone, const struct dname *owner,
                                          const struct dnssec_rrset *rrset)
{
    struct signed_set_shown shown = {.owner = *owner, .type = rrset->type, .zone = zone};
    for (size_t i = 0; i < zone->key_count; i++) {
        shown.ends_s[i] = dnssec_peek(config->dnssec, zone, i, rrset);
    }
    return shown;
}

/* Lists the RRsets of a section, after `count` others. */
static size_t show_section(const struct engine_config *config, struct scratch *s,
                           const struct answer_plan *plan, const struct rr *rrs, size_t rr_count,
                           size_t count, struct signed_set_shown ret_sets[SIGNED_SETS_SHOWN_MAX])
{
    (void)!rrsets_find(&s->sets, rrs, rr_count); /* if there are too many, those found will do */
    for (size_t i = 0; i < s->sets.count && count < SIGNED_SETS_SHOWN_MAX; i++) {
        const struct rrset *set = &s->sets.items[i];
        const struct dname owner = rr_owner(&rrs[set->first]);
        const struct dnssec_zone *keys = signed_zones_keys(&s->zones, &owner, (uint16_t)set->type);
        if (keys) {
            const struct dnssec_rrset rrset =
                rrsets_canonical(&s->sets, set, &owner, &plan->soa, &s->canonical);
            ret_sets[count++] = show_rrset(config, keys, &owner, &rrset);
        }
    }
    return count;
}

static size_t show_keys(const struct engine_config *config, const struct question *question,
                        const struct signed_keys_shown *keys, struct signed_set_shown *ret)
{
    struct dname name = question->name;
    dname_lower(&name);
    const struct dnssec_rrset rrset = {
        .owner = slice_of(name.wire, name.len),
        .type = question->type,
        .ttl_s = keys->ttl_s,
        .count = keys->set->count,
        .rdata = keys->set->rdata,
    };
    *ret = show_rrset(config, dnssec_zone_of(config->dnssec, &name), &name, &rrset);
    return 1;
}

struct signed_keys_shown signed_sets_of_keys(const struct engine_config *config,
                                             const struct question *question)
{
    struct signed_keys_shown shown = {0};
    struct signed_zones zones;
    struct dname name = question->name;
    if (!config->dnssec || question->type == DNS_TYPE_DS) {
        return shown;
    }
    dname_lower(&name);
    signed_zones_configure(&zones, config);
    struct signed_place place = signed_zones_find(&zones, &name);
    if (place.is_ours && place.keys && place.apex_at == 0) {
        shown.set = signed_apex_set(place.keys, question->type);
        shown.ttl_s = shown.set && shown.set->ttl_s ? shown.set->ttl_s : config->settings.ttl_s;
    }
    return shown;
}

size_t signed_sets_show(const struct engine_config *config, const struct question *question,
                        const struct answer_plan *plan,
                        struct signed_set_shown ret_sets[SIGNED_SETS_SHOWN_MAX])
{
    const struct signed_keys_shown keys = signed_sets_of_keys(config, question);
    if (keys.set) {
        return show_keys(config, question, &keys, ret_sets);
    }
    if (!config->dnssec ||
        (plan->rcode != DNS_RCODE_NOERROR && plan->rcode != DNS_RCODE_NXDOMAIN)) {
        return 0;
    }
    struct scratch *s = xcalloc(1, sizeof(*s));
    signed_zones_configure(&s->zones, config);
    size_t count =
        show_section(config, s, plan, plan->answers.items, plan->answers.count, 0, ret_sets);
    count =
        show_section(config, s, plan, plan->authorities, plan->authority_count, count, ret_sets);
    count = show_section(config, s, plan, plan->additionals.items, plan->additionals.count, count,
                         ret_sets);
    free(s);
    return count;
}
