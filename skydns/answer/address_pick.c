#include "skydns/answer/address_pick.h"
#include "skydns/answer/rrsynth_internal.h"

#include <string.h>

#include "common/base/seeded_hash.h"
#include "skydns/records/store_pick.h"

/* The record before its rdata: owner pointer, type, class, TTL, length. */
enum { RECORD_HEAD = 12 };

size_t address_pick_enough(unsigned family_bytes, size_t reply_limit)
{
    size_t enough = reply_limit / (RECORD_HEAD + family_bytes) + 1;
    return enough < RR_LIST_MAX ? enough : RR_LIST_MAX;
}

struct picking {
    struct address_pick *pick;
    const struct address_wanted *wanted;
    size_t enough;
    size_t slot_mask;
    bool is_over; /* picking would need more visits than allowed */
};

/* Returns whether two addresses of one family are equal. Compares fixed sizes: calls of memcmp
 * would be a tenth of a pick's time. */
static bool address_pick_is_same(const struct store_record *a, const struct store_record *b)
{
    return a->host_len == 4 ? memcmp(a->bytes, b->bytes, 4) == 0
                            : memcmp(a->bytes, b->bytes, 16) == 0;
}

static bool pick_one(void *data, const struct store_record *record)
{
    struct picking *p = data;
    struct address_pick *pick = p->pick;
    if (pick->visits == p->wanted->visits_max) {
        p->is_over = true;
        return false;
    }
    pick->visits++;
    uint32_t ttl_s = rrsynth_ttl_s(p->wanted->config, record);
    pick->ttl_s = ttl_s < pick->ttl_s ? ttl_s : pick->ttl_s;
    size_t at = seeded_hash(slice_of(record->bytes, record->host_len)) & p->slot_mask;
    for (; pick->slots[at]; at = (at + 1) & p->slot_mask) {
        if (address_pick_is_same(pick->records[pick->slots[at] - 1], record)) {
            return true;
        }
    }
    pick->records[pick->count++] = record;
    pick->slots[at] = (uint16_t)pick->count;
    return pick->count < p->enough;
}

bool address_pick(struct address_pick *pick, const struct address_wanted *wanted)
{
    struct store_tally tally = store_node_tally(wanted->node);
    uint32_t count = store_tally_of_family(&tally, wanted->family_bytes);
    struct picking p = {.pick = pick,
                        .wanted = wanted,
                        .enough = address_pick_enough(wanted->family_bytes, wanted->reply_limit)};
    size_t slots = 4;
    while (slots < 2 * p.enough) {
        slots *= 2;
    }
    p.slot_mask = slots - 1;
    memset(pick->slots, 0, slots * sizeof(pick->slots[0]));
    pick->count = 0;
    pick->visits = 0;
    pick->ttl_s = UINT32_MAX;
    uint32_t first =
        wanted->config->settings.round_robin ? address_pick_first(wanted->random, count) : 0;
    store_pick_addresses(wanted->node, wanted->family_bytes, first, pick_one, &p);
    pick->is_all = pick->visits == count;
    return !p.is_over;
}
