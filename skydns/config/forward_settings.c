#include "skydns/config/forward_settings_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "skydns/external/cache.h"
#include "skydns/external/hosts_table.h"
#include "skydns/external/zone_table.h"
#include "skydns/settings/stub_zones.h"

struct forward_settings {
    struct cache_tally *tally;
    struct cache *cache; /* NULL: none */
    size_t cache_entries;
    struct hosts_table *hosts; /* NULL: none */
    struct zone_table *zones;  /* NULL before the first fill */
    bool is_renewed;
    bool is_full; /* more stub zones than there is room for: told once */
    size_t key_count;
    struct forward_zone *keys; /* zones that etcd's keys name */
};

struct forward_settings *forward_settings_new(struct cache_tally *tally)
{
    struct forward_settings *external = xcalloc(1, sizeof(*external));
    external->tally = tally;
    return external;
}

void forward_settings_free(struct forward_settings *external)
{
    if (external) {
        cache_unref(external->cache);
        hosts_table_unref(external->hosts);
        zone_table_unref(external->zones);
        free(external->keys);
        free(external);
    }
}

void forward_settings_renew(struct forward_settings *external)
{
    external->is_renewed = true;
}

void forward_settings_set_keys(struct forward_settings *external, const struct forward_zone *zones,
                               size_t count)
{
    free(external->keys);
    external->keys = xcalloc(count ? count : 1, sizeof(*zones));
    external->key_count = count;
    if (count > 0) {
        memcpy(external->keys, zones, count * sizeof(*zones));
    }
}

void forward_settings_set_hosts(struct forward_settings *external, struct hosts_table *hosts)
{
    hosts_table_unref(external->hosts);
    external->hosts = hosts_table_ref(hosts);
}

static struct forward_zone forward_settings_general(const struct options *options)
{
    struct forward_zone root = {.name = {.len = 1}, .server_count = options->nameserver_count};
    memcpy(root.servers, options->nameservers, sizeof(options->nameservers));
    return root;
}

/* Warns once of zones that are not in the table, which has room for fewer. */
static void forward_settings_tell_left_out(struct forward_settings *external,
                                           const struct forward_zone *zones, size_t count)
{
    size_t held, left_out = 0;
    (void)zone_table_items(external->zones, &held);
    for (size_t i = 0; i < count && held > ZONE_TABLE_MAX; i++) {
        const struct forward_zone *found = zone_table_find(external->zones, &zones[i].name);
        left_out += !dname_equal(&found->name, &zones[i].name);
    }
    if (left_out > 0 && !external->is_full) {
        log_warn("more stub zones than there is room for, the last ones are left out",
                 LOG_INT("left_out", (int64_t)left_out), LOG_INT("room", ZONE_TABLE_MAX));
    }
    external->is_full = left_out > 0;
}

static void forward_settings_set_fallbacks(const struct options *options,
                                           struct forward_zone *zones, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        zones[i].fallback = ZONE_ENDS;
        for (size_t k = 0; k < options->stub_fallback_count; k++) {
            const struct stub_fallback *fallback = &options->stub_fallbacks[k];
            if (dname_equal(&fallback->zone, &zones[i].name)) {
                zones[i].fallback = fallback->kind;
            }
        }
    }
}

static void forward_settings_set_zones(struct forward_settings *external,
                                       const struct options *options)
{
    size_t count;
    const struct forward_zone *stubs = stub_zones_items(options->stubs, &count);
    size_t all = 1 + count + external->key_count;
    struct forward_zone *zones = xcalloc(all, sizeof(*zones));
    zones[0] = forward_settings_general(options);
    if (count > 0) {
        memcpy(zones + 1, stubs, count * sizeof(*zones));
    }
    if (external->key_count > 0) {
        memcpy(zones + 1 + count, external->keys, external->key_count * sizeof(*zones));
    }
    forward_settings_set_fallbacks(options, zones, all);
    struct zone_table *old = external->zones;
    external->zones = zone_table_new(zones, all, external->is_renewed ? NULL : old);
    external->is_renewed = false;
    forward_settings_tell_left_out(external, zones, all);
    zone_table_unref(old);
    free(zones);
}

static void set_cache(struct forward_settings *external, size_t entries)
{
    if (entries != external->cache_entries) {
        cache_unref(external->cache);
        external->cache = entries ? cache_new(entries) : NULL;
        external->cache_entries = entries;
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

void forward_settings_fill(struct forward_settings *external, const struct options *options,
                           struct engine_config *config)
{
    forward_settings_set_zones(external, options);
    set_cache(external, options->rcache);
    config->zones_of_others = zone_table_ref(external->zones);
    config->hosts = hosts_table_ref(external->hosts);
    config->cache = cache_ref(external->cache);
    config->cache_limits = (struct cache_limits){
        .ttl_max_s = options->rcache_ttl_s,
        .stale_ms = options->rcache_stale_ms,
    };
    config->cache_tally = external->tally;
    copy_allowed(&options->recursion, config);
}

/* Adds the upstream of a line `nameserver ADDRESS`; ignores other lines and unusable addresses, as
 * the C library's resolver does. */
static void take_resolv_line(struct options *o, const char *line)
{
    static const char blanks[] = " \t\r\n";
    static const char keyword[] = "nameserver";
    struct addr server;
    line += strspn(line, blanks);
    if (strncmp(line, keyword, sizeof(keyword) - 1) != 0) {
        return;
    }
    line += sizeof(keyword) - 1;
    size_t gap = strspn(line, blanks);
    struct slice text = slice_of(line + gap, strcspn(line + gap, blanks));
    if (gap > 0 && o->nameserver_count < OPTIONS_NAMESERVERS_MAX &&
        addr_parse_ip(text, NAMESERVER_PORT, &server)) {
        o->nameservers[o->nameserver_count++] = nameserver_at(server);
    }
}

int resolv_conf_read(struct options *options, const char *path, struct err *err)
{
    char line[512]; /* pieces of longer lines (search lists) match nothing */
    CLEANUP_FILE FILE *file = fopen(path, "re");
    if (!file) {
        if (errno == ENOENT) {
            return 0;
        }
        int code = -errno;
        return err_set(err, code, "read `%s`: %s; make it readable or set -nameservers", path,
                       err_code_text(code));
    }
    while (fgets(line, sizeof(line), file)) {
        take_resolv_line(options, line);
    }
    if (ferror(file)) {
        return err_set(err, -EIO, "read `%s` failed; set -nameservers", path);
    }
    return 0;
}
