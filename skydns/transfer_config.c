#include "skydns/transfer_config.h"

#include <string.h>

#include "common/base/buf.h"
#include "common/base/seeded_hash.h"
#include "common/base/xalloc.h"
#include "skydns/external/zone_table.h"
#include "skydns/publish/reverse_zone.h"

struct engine_config *transfer_config(const struct engine_config *published)
{
    struct engine_config *config = xcalloc(1, sizeof(*config));
    config->zone_count = published->zone_count;
    memcpy(config->zones, published->zones, sizeof(config->zones));
    memcpy(config->reverse_serials, published->reverse_serials, sizeof(config->reverse_serials));
    config->zones_of_others = zone_table_ref(published->zones_of_others);
    config->is_for_transfers = true;
    config->settings = published->settings;
    config->settings.round_robin = false; /* one order of addresses */
    config->settings.no_rec = false;      /* about clients' questions; here are none */
    config->settings.autopath = false;
    config->settings.any_is_hinfo = false;
    for (size_t i = 0; i < config->zone_count; i++) {
        config->zones[i].is_incomplete = false; /* each step says so */
    }
    return config;
}

/* ---- The hash ---- */

/* Version of the rules by which zones list records. Raise it when this program lists other records
 * for the same keys. */
enum { CONTENTS_VERSION = 2 };

static uint64_t hash_bytes(struct slice bytes)
{
    static const uint8_t key[SIPHASH_KEY_SIZE]; /* the same for all readers: nothing is secret */
    return siphash24(key, bytes);
}

static void transfer_config_append_name(struct buf *out, const struct dname *name)
{
    buf_append_sized(out, slice_of(name->wire, name->len));
}

static void append_domains(struct buf *out, const struct engine_config *config)
{
    buf_append_u32(out, (uint32_t)config->zone_count);
    for (size_t i = 0; i < config->zone_count; i++) {
        transfer_config_append_name(out, &config->zones[i].domain);
        transfer_config_append_name(out, &config->zones[i].hostmaster);
        if (config->zones[i].is_external) {
            buf_append_u8(out, 1); /* not with domains alone: as without -external-zones */
        }
    }
}

static void append_reverse_zones(struct buf *out, const struct engine_settings *settings)
{
    buf_append_u32(out, (uint32_t)settings->reverse_zone_count);
    for (size_t i = 0; i < settings->reverse_zone_count; i++) {
        const struct network *network = &settings->reverse_zones[i];
        buf_append_u32(out, network->prefix_bits);
        buf_append_sized(out, slice_of(network->ip.bytes, network->ip.family_bytes));
    }
}

static bool is_in_ours(const struct engine_config *config, const struct dname *name)
{
    struct dname apex;
    bool is_in = engine_config_zone(config, name) != NULL;
    for (size_t i = 0; !is_in && i < config->settings.reverse_zone_count; i++) {
        is_in = reverse_zone_apex(&config->settings.reverse_zones[i], &apex) &&
                dname_is_within(name, &apex);
    }
    return is_in;
}

/* Hashes stub zones, whose content is not ours. Their order says nothing. */
static uint64_t hash_stubs(const struct engine_config *config)
{
    size_t count = 0;
    const struct forward_zone *zones =
        config->zones_of_others ? zone_table_items(config->zones_of_others, &count) : NULL;
    uint64_t hash = 0;
    for (size_t i = 0; i < count; i++) {
        if (zone_is_stub(&zones[i]) && is_in_ours(config, &zones[i].name)) {
            hash += hash_bytes(slice_of(zones[i].name.wire, zones[i].name.len));
        }
    }
    return hash;
}

uint64_t transfer_config_hash(const struct engine_config *config)
{
    const struct engine_settings *settings = &config->settings;
    CLEANUP_BUF struct buf bytes = buf_of(SIZE_MAX);
    buf_append_u32(&bytes, CONTENTS_VERSION);
    append_domains(&bytes, config);
    append_reverse_zones(&bytes, settings);
    transfer_config_append_name(&bytes, &settings->local);
    buf_append_u32(&bytes, settings->ttl_s);
    buf_append_u32(&bytes, settings->min_ttl_s);
    buf_append_u32(&bytes, settings->priority);
    buf_append_u32(&bytes, settings->schema);
    buf_append_u32(&bytes, settings->pods);
    buf_append_u32(&bytes, settings->ndots);
    const uint64_t stubs = hash_stubs(config);
    buf_append_u32(&bytes, (uint32_t)(stubs >> 32));
    buf_append_u32(&bytes, (uint32_t)stubs);
    uint64_t hash = hash_bytes(buf_slice(&bytes));
    return hash;
}
