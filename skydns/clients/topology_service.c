#include "skydns/clients/topology_service.h"

#include <string.h>

#include "common/base/seeded_hash.h"
#include "common/base/xalloc.h"

struct topology_slot {
    uint8_t family_bytes; /* 0: free */
    uint8_t zone;
    uint8_t bytes[16];
};

struct topology_service {
    size_t bytes;     /* of the block */
    size_t slot_mask; /* slots are a power of two, at most half of them used */
    struct topology_slot *slots;
    struct slice name;
    unsigned zone_count;
    struct slice zones[]; /* then slots, then texts */
};

/* The zones of the entries, each once; the others are not known. */
struct zones_found {
    unsigned count;
    struct slice zones[TOPOLOGY_ZONES_MAX];
};

static uint8_t find_zone(const struct slice *zones, unsigned count, struct slice zone)
{
    for (unsigned i = 0; i < count; i++) {
        if (zones[i].len == zone.len && memcmp(zones[i].ptr, zone.ptr, zone.len) == 0) {
            return (uint8_t)i;
        }
    }
    return TOPOLOGY_NO_ZONE;
}

static void find_zones(const struct topology_entry *entries, size_t count, struct zones_found *ret)
{
    ret->count = 0;
    for (size_t i = 0; i < count; i++) {
        if (ret->count < TOPOLOGY_ZONES_MAX &&
            find_zone(ret->zones, ret->count, entries[i].zone) == TOPOLOGY_NO_ZONE) {
            ret->zones[ret->count++] = entries[i].zone;
        }
    }
}

/* Returns the address's slot, or the free one where it would be. Compares fixed sizes. */
static struct topology_slot *topology_service_slot(const struct topology_service *service,
                                                   const uint8_t *bytes, unsigned family_bytes)
{
    size_t at = seeded_hash(slice_of(bytes, family_bytes)) & service->slot_mask;
    struct topology_slot *slot = &service->slots[at];
    while (slot->family_bytes != 0 &&
           (slot->family_bytes != family_bytes ||
            (family_bytes == 4 ? memcmp(slot->bytes, bytes, 4) : memcmp(slot->bytes, bytes, 16)))) {
        at = (at + 1) & service->slot_mask;
        slot = &service->slots[at];
    }
    return slot;
}

static struct slice copy_text(char **end, struct slice text)
{
    char *at = *end;
    memcpy(at, text.ptr, text.len);
    *end += text.len;
    return slice_of(at, text.len);
}

struct topology_service *topology_service_new(struct slice name,
                                              const struct topology_entry *entries, size_t count)
{
    struct zones_found found;
    size_t slots = 4, text = name.len;
    seeded_hash_init();
    find_zones(entries, count, &found);
    for (unsigned i = 0; i < found.count; i++) {
        text += found.zones[i].len;
    }
    while (slots < 2 * count) {
        slots *= 2;
    }
    const size_t head = sizeof(struct topology_service) + found.count * sizeof(struct slice);
    const size_t bytes = head + slots * sizeof(struct topology_slot) + text;
    struct topology_service *service = xcalloc(1, bytes);
    service->bytes = bytes;
    service->slot_mask = slots - 1;
    service->slots = (struct topology_slot *)((char *)service + head);
    char *end = (char *)(service->slots + slots);
    service->name = copy_text(&end, name);
    service->zone_count = found.count;
    for (unsigned i = 0; i < found.count; i++) {
        service->zones[i] = copy_text(&end, found.zones[i]);
    }
    for (size_t i = 0; i < count; i++) {
        const struct ip *ip = &entries[i].ip;
        uint8_t zone = find_zone(found.zones, found.count, entries[i].zone);
        struct topology_slot *slot = topology_service_slot(service, ip->bytes, ip->family_bytes);
        if (slot->family_bytes == 0 && zone != TOPOLOGY_NO_ZONE) {
            slot->family_bytes = ip->family_bytes;
            slot->zone = zone;
            memcpy(slot->bytes, ip->bytes, ip->family_bytes);
        }
    }
    return service;
}

struct slice topology_service_name(const struct topology_service *service)
{
    return service->name;
}

size_t topology_service_bytes(const struct topology_service *service)
{
    return service->bytes;
}

bool topology_service_next(const struct topology_service *service, size_t *at,
                           struct topology_entry *ret_entry)
{
    while (*at <= service->slot_mask) {
        const struct topology_slot *slot = &service->slots[(*at)++];
        if (slot->family_bytes != 0) {
            ret_entry->ip = (struct ip){.family_bytes = slot->family_bytes};
            memcpy(ret_entry->ip.bytes, slot->bytes, slot->family_bytes);
            ret_entry->zone = service->zones[slot->zone];
            return true;
        }
    }
    return false;
}

uint8_t topology_service_zone(const struct topology_service *service, struct slice zone)
{
    return find_zone(service->zones, service->zone_count, zone);
}

bool topology_service_is_near(const struct topology_service *service, uint8_t zone,
                              const uint8_t *bytes, unsigned family_bytes)
{
    const struct topology_slot *slot = topology_service_slot(service, bytes, family_bytes);
    return slot->family_bytes == 0 || slot->zone == zone;
}
