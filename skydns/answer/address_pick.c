#include "skydns/answer/address_pick.h"
#include "skydns/answer/rrsynth_internal.h"

#include <string.h>

#include "common/base/seeded_hash.h"
#include "skydns/records/rng.h"
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
    uint32_t seen;      /* records looked at since the first one */
    bool is_first_near; /* of the last draw */
    bool is_over;       /* picking would need more visits than allowed */
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
    p->seen++;
    if (pick->is_near && !near_has(&p->wanted->near, record->bytes, record->host_len)) {
        pick->far++;
        return true;
    }
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

/* Notes whether the record is near, and ends at it. */
static bool look_at_first(void *data, const struct store_record *record)
{
    struct picking *p = data;
    p->is_first_near = near_has(&p->wanted->near, record->bytes, record->host_len);
    return false;
}

/* Returns the index of the first record. If only near ones are picked, most draws end at one of
 * them: to go on from a far one to the next would choose those behind many far ones more often. */
static uint32_t draw_first(struct picking *p, uint32_t count)
{
    enum { DRAWS = 16 };
    const struct address_wanted *wanted = p->wanted;
    uint32_t random = wanted->random, first = 0;
    for (int i = 0; i < DRAWS && wanted->config->settings.round_robin; i++) {
        first = address_pick_first(random, count);
        if (!p->pick->is_near || p->pick->visits == wanted->visits_max) {
            break;
        }
        p->pick->visits++;
        store_pick_addresses(wanted->node, wanted->family_bytes, first, look_at_first, p);
        if (p->is_first_near) {
            break;
        }
        (void)shuffle_random(&random);
    }
    return first;
}

static void pick_from(struct picking *p, uint32_t first)
{
    struct address_pick *pick = p->pick;
    memset(pick->slots, 0, (p->slot_mask + 1) * sizeof(pick->slots[0]));
    pick->count = pick->far = 0;
    pick->ttl_s = UINT32_MAX;
    p->seen = 0;
    store_pick_addresses(p->wanted->node, p->wanted->family_bytes, first, pick_one, p);
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
    pick->visits = 0;
    pick->is_near = wanted->near.service != NULL;
    pick_from(&p, draw_first(&p, count));
    if (pick->is_near && pick->count == 0 && !p.is_over) { /* none is near: all count */
        pick->is_near = false;
        pick_from(&p, draw_first(&p, count));
    }
    pick->is_all = p.seen == count;
    return !p.is_over;
}
