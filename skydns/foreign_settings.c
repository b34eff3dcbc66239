#include "skydns/foreign_settings.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "skydns/foreign/cache.h"
#include "skydns/foreign/zone_table.h"
#include "skydns/stub_zones.h"

struct foreign_settings {
    struct cache_tally *tally;
    struct cache *cache; /* NULL: none */
    size_t cache_entries;
    struct zone_table *zones; /* NULL before the first fill */
    bool is_renewed;
};

struct foreign_settings *foreign_settings_new(struct cache_tally *tally)
{
    struct foreign_settings *foreign = xcalloc(1, sizeof(*foreign));
    foreign->tally = tally;
    return foreign;
}

void foreign_settings_free(struct foreign_settings *foreign)
{
    if (foreign) {
        cache_unref(foreign->cache);
        zone_table_unref(foreign->zones);
        free(foreign);
    }
}

void foreign_settings_renew(struct foreign_settings *foreign)
{
    foreign->is_renewed = true;
}

static struct foreign_zone general(const struct options *options)
{
    _Static_assert(OPTIONS_NAMESERVERS_MAX == (int)ZONE_SERVERS_MAX, "as many as a zone");
    struct foreign_zone root = {.name = {.len = 1}, .server_count = options->nameserver_count};
    memcpy(root.servers, options->nameservers, sizeof(options->nameservers));
    return root;
}

static void set_zones(struct foreign_settings *foreign, const struct options *options)
{
    size_t count;
    const struct foreign_zone *stubs = stub_zones_items(options->stubs, &count);
    struct foreign_zone *zones = xcalloc(count + 1, sizeof(*zones));
    zones[0] = general(options);
    if (count > 0) {
        memcpy(zones + 1, stubs, count * sizeof(*zones));
    }
    struct zone_table *old = foreign->zones;
    foreign->zones = zone_table_new(zones, count + 1, foreign->is_renewed ? NULL : old);
    foreign->is_renewed = false;
    zone_table_unref(old);
    free(zones);
}

static void set_cache(struct foreign_settings *foreign, size_t entries)
{
    if (entries != foreign->cache_entries) {
        cache_unref(foreign->cache);
        foreign->cache = entries ? cache_new(entries) : NULL;
        foreign->cache_entries = entries;
    }
}

static void copy_allowed(const struct recursion *recursion, struct engine_config *config)
{
    bool has_all_v4 = false, has_all_v6 = false;
    _Static_assert(ENGINE_ALLOWED_MAX == (int)RECURSION_NETWORKS_MAX, "all of them fit");
    config->allowed_count = recursion->count;
    memcpy(config->allowed, recursion->networks, recursion->count * sizeof(config->allowed[0]));
    for (size_t i = 0; i < recursion->count; i++) {
        const struct network *network = &recursion->networks[i];
        has_all_v4 = has_all_v4 || (network->prefix_bits == 0 && network->ip.family_bytes == 4);
        has_all_v6 = has_all_v6 || (network->prefix_bits == 0 && network->ip.family_bytes == 16);
    }
    config->allows_all = has_all_v4 && has_all_v6;
}

void foreign_settings_fill(struct foreign_settings *foreign, const struct options *options,
                           struct engine_config *config)
{
    set_zones(foreign, options);
    set_cache(foreign, options->rcache);
    config->zones_of_others = zone_table_ref(foreign->zones);
    config->cache = cache_ref(foreign->cache);
    config->cache_limits = (struct cache_limits){
        .ttl_max_s = options->rcache_ttl_s,
        .stale_ms = options->rcache_stale_ms,
    };
    config->cache_tally = foreign->tally;
    copy_allowed(&options->recursion, config);
}
