#include "skydns/clients/topology_service.h"

#include "common/base/seeded_hash.h"
#include "common/base/xalloc.h"

/* The fewest slots of a table, as a power of two: a search ends at a free one. */
enum { SLOT_BITS_MIN = 1, HASH_BITS = 32 };

/* The zones of the entries, each once; and how many addresses of each family they have. */
struct zones_found {
    size_t v4, v6;
    unsigned count;
    struct slice zones[TOPOLOGY_ZONES_MAX];
};

static uint8_t find_zone(const struct slice *zones, unsigned count, struct slice zone)
{
    for (unsigned i = 0; i < count; i++) {
        if (slice_equal(zones[i], zone)) {
            return (uint8_t)i;
        }
    }
    return TOPOLOGY_NO_ZONE;
}

static void find_zones(const struct topology_entry *entries, size_t count, struct zones_found *ret)
{
    *ret = (struct zones_found){.count = 0};
    for (size_t i = 0; i < count; i++) {
        bool is_v4 = entries[i].ip.family_bytes == 4;
        ret->v4 += is_v4;
        ret->v6 += !is_v4;
        if (ret->count < TOPOLOGY_ZONES_MAX &&
            find_zone(ret->zones, ret->count, entries[i].zone) == TOPOLOGY_NO_ZONE) {
            ret->zones[ret->count++] = entries[i].zone;
        }
    }
}

/* Returns the bits of a table's index: at most half of its slots are used. */
static unsigned slot_bits(size_t addresses)
{
    unsigned bits = SLOT_BITS_MIN;
    while (addresses > 0 && (size_t)1 << bits < 2 * addresses) {
        bits++;
    }
    return bits;
}

static void *topology_service_take(char **end, size_t bytes)
{
    char *at = *end;
    *end += bytes;
    return at;
}

static struct slice copy_text(char **end, struct slice text)
{
    char *at = topology_service_take(end, text.len);
    memcpy(at, text.ptr, text.len);
    return slice_of(at, text.len);
}

static void add_v4(struct topology_v4 *v4, const struct ip *ip, uint8_t zone)
{
    uint32_t key;
    memcpy(&key, ip->bytes, sizeof(key));
    uint32_t at = key * v4->multiplier >> v4->shift;
    while (v4->zones[at] != TOPOLOGY_NO_ZONE && v4->keys[at] != key) {
        at = (at + 1) & v4->mask;
    }
    if (v4->zones[at] == TOPOLOGY_NO_ZONE) {
        ((uint32_t *)(uintptr_t)v4->keys)[at] = key; /* of this block, which nobody reads yet */
        ((uint8_t *)(uintptr_t)v4->zones)[at] = zone;
    }
}

static uint32_t find_v6(const struct topology_service *service, const uint8_t bytes[16])
{
    uint32_t at = seeded_hash(slice_of(bytes, 16)) & service->v6_mask;
    while (service->v6_zones[at] != TOPOLOGY_NO_ZONE &&
           memcmp(service->v6_keys[at], bytes, 16) != 0) {
        at = (at + 1) & service->v6_mask;
    }
    return at;
}

uint8_t topology_service_zone_of_v6(const struct topology_service *service, const uint8_t bytes[16])
{
    return service->v6_zones[find_v6(service, bytes)];
}

static void add_v6(struct topology_service *service, const struct ip *ip, uint8_t zone)
{
    uint32_t at = find_v6(service, ip->bytes);
    if (service->v6_zones[at] == TOPOLOGY_NO_ZONE) {
        memcpy((void *)(uintptr_t)service->v6_keys[at], ip->bytes, 16);
        ((uint8_t *)(uintptr_t)service->v6_zones)[at] = zone;
    }
}

/* Lays out the block behind its head. */
static struct topology_service *lay_out(struct slice name, const struct zones_found *found)
{
    const unsigned v4_bits = slot_bits(found->v4), v6_bits = slot_bits(found->v6);
    const size_t v4 = (size_t)1 << v4_bits, v6 = (size_t)1 << v6_bits;
    const size_t head =
        sizeof(struct topology_service) + found->count * sizeof(struct topology_zone);
    size_t bytes = head + v4 * (sizeof(uint32_t) + 1) + v6 * (16 + 1) + name.len;
    for (unsigned i = 0; i < found->count; i++) {
        bytes += found->zones[i].len;
    }
    struct topology_service *service = xcalloc(1, bytes);
    char *end = (char *)service + head;
    service->bytes = bytes;
    service->v4 = (struct topology_v4){
        .multiplier = seeded_hash(name) | 1,
        .shift = (uint8_t)(HASH_BITS - v4_bits),
        .mask = (uint32_t)v4 - 1,
        .keys = topology_service_take(&end, v4 * sizeof(uint32_t)),
    };
    service->v6_mask = (uint32_t)v6 - 1;
    service->v6_keys = topology_service_take(&end, v6 * sizeof(service->v6_keys[0]));
    service->v4.zones = memset(topology_service_take(&end, v4), TOPOLOGY_NO_ZONE, v4);
    service->v6_zones = memset(topology_service_take(&end, v6), TOPOLOGY_NO_ZONE, v6);
    service->name = copy_text(&end, name);
    service->zone_count = found->count;
    for (unsigned i = 0; i < found->count; i++) {
        service->zones[i].text = copy_text(&end, found->zones[i]);
    }
    return service;
}

struct topology_service *topology_service_new(struct slice name,
                                              const struct topology_entry *entries, size_t count)
{
    struct zones_found found;
    seeded_hash_init();
    find_zones(entries, count, &found);
    struct topology_service *service = lay_out(name, &found);
    for (size_t i = 0; i < count; i++) {
        const struct ip *ip = &entries[i].ip;
        const uint8_t zone = find_zone(found.zones, found.count, entries[i].zone);
        if (zone != TOPOLOGY_NO_ZONE && ip->family_bytes == 4) {
            add_v4(&service->v4, ip, zone);
        } else if (zone != TOPOLOGY_NO_ZONE) {
            add_v6(service, ip, zone);
        }
    }
    return service;
}

size_t topology_service_bytes(const struct topology_service *service)
{
    return service->bytes;
}

/* Tells of slot *at of both tables, one behind the other; false: it is free. */
static bool read_slot(const struct topology_service *service, size_t at,
                      struct topology_entry *ret_entry)
{
    const size_t v4 = (size_t)service->v4.mask + 1;
    const bool is_v4 = at < v4;
    const uint8_t zone = is_v4 ? service->v4.zones[at] : service->v6_zones[at - v4];
    if (zone == TOPOLOGY_NO_ZONE) {
        return false;
    }
    ret_entry->ip = (struct ip){.family_bytes = is_v4 ? 4 : 16};
    memcpy(ret_entry->ip.bytes,
           is_v4 ? (const void *)&service->v4.keys[at] : service->v6_keys[at - v4],
           ret_entry->ip.family_bytes);
    ret_entry->zone = service->zones[zone].text;
    return true;
}

bool topology_service_next(const struct topology_service *service, size_t *at,
                           struct topology_entry *ret_entry)
{
    const size_t slots = (size_t)service->v4.mask + 1 + service->v6_mask + 1;
    bool has_entry = false;
    while (*at < slots && !has_entry) {
        has_entry = read_slot(service, (*at)++, ret_entry);
    }
    return has_entry;
}
