#include "skydns/publish/engine_config.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/xalloc.h"
#include "skydns/clients/visibility.h"
#include "skydns/dnssec/dnssec.h"
#include "skydns/external/hosts_table.h"
#include "skydns/external/zone_table.h"
#include "skydns/tsig/tsig_keys.h"

/* Returns the labels, leftmost first, in front of the domain; empty when they do not fit. */
static struct dname engine_config_below(const struct dname *domain, const char *first,
                                        const char *second)
{
    struct dname name = *domain;
    bool fits = (!second || dname_prepend(&name, slice_str(second))) &&
                dname_prepend(&name, slice_str(first));
    return fits ? name : (struct dname){0};
}

/* Returns the first index whose domain has fewer labels: no domain comes after one that contains
 * it. */
static size_t engine_config_place_of(const struct engine_config *config, unsigned labels)
{
    size_t at = 0;
    while (at < config->zone_count && config->zones[at].labels >= labels) {
        at++;
    }
    return at;
}

static struct engine_zone make_zone(const struct dname *domain, const struct dname *hostmaster)
{
    struct engine_zone zone = {
        .domain = *domain,
        .labels = dname_label_count(domain),
        .hostmaster = hostmaster ? *hostmaster : engine_config_below(domain, "hostmaster", NULL),
        .ns = engine_config_below(domain, "ns", "dns"),
        .local = engine_config_below(domain, "local", "dns"),
        .apex = engine_config_below(domain, "apex", "dns"),
    };
    zone.ns = zone.ns.len ? zone.ns : *domain;
    zone.hostmaster = zone.hostmaster.len ? zone.hostmaster : *domain;
    return zone;
}

bool engine_config_add_domain(struct engine_config *config, const struct dname *domain,
                              const struct dname *hostmaster)
{
    for (size_t i = 0; i < config->zone_count; i++) {
        if (dname_equal(&config->zones[i].domain, domain)) {
            return true;
        }
    }
    if (config->zone_count == ENGINE_ZONES_MAX) {
        return false;
    }
    const struct engine_zone zone = make_zone(domain, hostmaster);
    size_t at = engine_config_place_of(config, zone.labels);
    memmove(&config->zones[at + 1], &config->zones[at],
            (config->zone_count - at) * sizeof(config->zones[0]));
    config->zones[at] = zone;
    config->zones[at].version = engine_config_below(domain, "dns-version", NULL);
    config->zones[at].pods = engine_config_below(domain, "pod", NULL);
    if (config->zone_count++ == 0) {
        config->first_domain = *domain;
        config->zones[at].apex = (struct dname){0};
    }
    return true;
}

bool engine_config_add_external(struct engine_config *config, const struct dname *zone,
                                const struct dname *hostmaster)
{
    if (config->zone_count == ENGINE_ZONES_MAX) {
        return false;
    }
    struct engine_zone *added = &config->zones[config->zone_count++];
    *added = make_zone(zone, hostmaster);
    added->shown = engine_config_below(zone, "public", "dns");
    added->is_external = true;
    return true;
}

const struct engine_alias *engine_config_alias(const struct engine_config *config,
                                               const struct dname *name)
{
    const struct engine_alias *longest = NULL;
    for (size_t i = 0; i < config->settings.alias_count; i++) {
        const struct engine_alias *alias = &config->settings.aliases[i];
        const bool is_it = alias->is_below
                               ? name->len > alias->from.len && dname_is_within(name, &alias->from)
                               : dname_equal(name, &alias->from);
        if (is_it && (!longest || alias->from.len > longest->from.len)) {
            longest = alias;
        }
    }
    return longest;
}

bool engine_config_alias_target(const struct engine_alias *alias, const struct dname *name,
                                struct dname *ret_target)
{
    const size_t before = name->len - alias->from.len, len = before + alias->to.len;
    *ret_target = alias->to;
    if (!alias->keeps_labels) {
        return true;
    }
    if (len > DNAME_MAX) {
        return false;
    }
    ret_target->len = (uint8_t)len;
    memcpy(ret_target->wire, name->wire, before);
    memcpy(ret_target->wire + before, alias->to.wire, alias->to.len);
    return true;
}

const struct forward_zone *engine_config_stub(const struct engine_config *config,
                                              const struct dname *name, uint16_t type,
                                              const struct engine_zone *domain)
{
    if (!config->zones_of_others) {
        return NULL;
    }
    const struct forward_zone *zone = zone_table_find_for(config->zones_of_others, name, type);
    return zone_is_stub(zone) && (!domain || zone->name.len > domain->domain.len) ? zone : NULL;
}

bool engine_config_is_above_stub(const struct engine_config *config, const struct dname *name)
{
    size_t count = 0;
    const struct forward_zone *zones =
        config->zones_of_others ? zone_table_items(config->zones_of_others, &count) : NULL;
    for (size_t i = 0; i < count; i++) {
        if (zone_is_stub(&zones[i]) && dname_is_within(&zones[i].name, name)) {
            return true;
        }
    }
    return false;
}

void engine_config_free(struct engine_config *config)
{
    if (config) {
        tsig_keys_unref(config->tsig);
        zone_table_unref(config->zones_of_others);
        hosts_table_unref(config->hosts);
        cache_unref(config->cache);
        visibility_unref(config->visibility);
        dnssec_unref(config->dnssec);
        free(config);
    }
}

bool engine_config_keeps_short_name(const struct engine_config *config, const struct dname *name,
                                    uint16_t type)
{
    return engine_config_is_too_short(config, dname_label_count(name), type, false) &&
           !engine_config_zone(config, name) &&
           !engine_config_stub(config, name, DNS_TYPE_SOA, NULL);
}

/* ---- Clients that may transfer zones ---- */

/* Returns whether the client has the address's scope: a link-local address is another machine's on
 * each interface. */
static bool has_scope_of(const struct addr *client, const struct addr *scoped)
{
    return scoped->sa.sa_family != AF_INET6 || scoped->v6.sin6_scope_id == 0 ||
           (client->sa.sa_family == AF_INET6 &&
            client->v6.sin6_scope_id == scoped->v6.sin6_scope_id);
}

static bool is_right(const struct transfer_who *who, const struct addr *client,
                     const struct dname *key)
{
    const struct ip ip = addr_ip(client);
    return (!who->has_network ||
            (network_contains(&who->network, &ip) && has_scope_of(client, &who->notify))) &&
           (!who->has_key || (key && dname_equal(&who->key, key)));
}

bool transfer_access_allows(const struct transfer_who *who, size_t count, const struct addr *client,
                            const struct dname *key)
{
    for (size_t i = 0; i < count; i++) {
        if (is_right(&who[i], client, key)) {
            return true;
        }
    }
    return false;
}

/* ---- Serials ---- */

struct zone_serials {
    size_t count;
    struct zone_serial *items[ZONE_SERIALS_MAX];
};

struct zone_serials *zone_serials_new(void)
{
    return xcalloc(1, sizeof(struct zone_serials));
}

void zone_serials_free(struct zone_serials *serials)
{
    if (!serials) {
        return;
    }
    for (size_t i = 0; i < serials->count; i++) {
        free(serials->items[i]);
    }
    free(serials);
}

struct zone_serial *zone_serials_of(struct zone_serials *serials, const struct dname *apex)
{
    for (size_t i = 0; i < serials->count; i++) {
        if (dname_equal(&serials->items[i]->apex, apex)) {
            return serials->items[i];
        }
    }
    if (serials->count == ZONE_SERIALS_MAX) {
        return NULL;
    }
    struct zone_serial *serial = xcalloc(1, sizeof(*serial));
    serial->apex = *apex;
    const int64_t now_s = clock_wall_s();
    atomic_init(&serial->value, (uint32_t)(now_s - now_s % 3600));
    atomic_init(&serial->is_known, false);
    serials->items[serials->count++] = serial;
    return serial;
}
