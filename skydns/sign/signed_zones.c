#include "skydns/sign/signed_zones.h"

#include <string.h>

#include "common/dns/dns.h"
#include "skydns/external/zone_table.h"
#include "skydns/publish/reverse_zone.h"

/* Returns the keys whose owner is exactly this name. */
static const struct dnssec_zone *keys_at(const struct engine_config *config,
                                         const struct dname *apex)
{
    const struct dnssec_zone *zone = dnssec_zone_of(config->dnssec, apex);
    return zone && dname_equal(&zone->name, apex) ? zone : NULL;
}

const struct dnssec_zone *signed_zones_domain(const struct engine_config *config,
                                              const struct engine_zone *domain)
{
    return config->dnssec ? keys_at(config, &domain->domain) : NULL;
}

void signed_zones_configure(struct signed_zones *zones, const struct engine_config *config)
{
    zones->config = config;
    for (size_t i = 0; i < config->zone_count; i++) {
        zones->domains[i] = signed_zones_domain(config, &config->zones[i]);
    }
}

/* Returns the name from an offset on. */
static struct dname tail_of(const struct dname *name, unsigned at)
{
    struct dname tail = {.len = (uint8_t)(name->len - at)};
    memcpy(tail.wire, name->wire + at, tail.len);
    return tail;
}

/* Finds the reverse zone of a name. Reverse zones precede domains of ours (answer.c). */
static bool find_reverse(const struct engine_config *config, const struct dname *name,
                         struct signed_place *ret_place)
{
    unsigned at;
    if (!reverse_zone_is_reverse(name) || !reverse_zone_find(config, name, &at)) {
        return false;
    }
    const struct dname apex = tail_of(name, at);
    *ret_place = (struct signed_place){
        .is_ours = true, .apex_at = (uint8_t)at, .keys = keys_at(config, &apex)};
    return true;
}

static struct signed_place signed_zones_find_domain(const struct signed_zones *zones,
                                                    const struct dname *name)
{
    const struct engine_config *config = zones->config;
    for (size_t i = 0; i < config->zone_count; i++) {
        if (dname_is_within(name, &config->zones[i].domain)) {
            return (struct signed_place){
                .is_ours = true,
                .apex_at = (uint8_t)(name->len - config->zones[i].domain.len),
                .keys = zones->domains[i],
            };
        }
    }
    return (struct signed_place){.apex_at = name->len};
}

struct signed_place signed_zones_find(const struct signed_zones *zones, const struct dname *name)
{
    struct signed_place place;
    if (!find_reverse(zones->config, name, &place)) {
        place = signed_zones_find_domain(zones, name);
    }
    const struct forward_zone *stub = engine_config_stub(zones->config, name, DNS_TYPE_SOA, NULL);
    if (stub && name->len - stub->name.len < place.apex_at) { /* the longest has it */
        place = (struct signed_place){.apex_at = (uint8_t)(name->len - stub->name.len)};
    }
    return place;
}

bool signed_zones_is_cut(const struct signed_zones *zones, const struct dname *name,
                         struct signed_place *ret_place, struct signed_place *ret_parent)
{
    *ret_place = signed_zones_find(zones, name);
    if (ret_place->apex_at != 0 || name->len <= 1) {
        return false;
    }
    struct dname above = *name;
    dname_strip(&above, 1);
    *ret_parent = signed_zones_find(zones, &above);
    return ret_parent->is_ours && ret_parent->keys;
}

const struct dnssec_zone *signed_zones_keys(const struct signed_zones *zones,
                                            const struct dname *name, uint16_t type)
{
    struct signed_place place, parent;
    if (type == DNS_TYPE_DS && signed_zones_is_cut(zones, name, &place, &parent)) {
        return parent.keys;
    }
    return signed_zones_find(zones, name).keys;
}
