#include "skydns/records/rr.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/seeded_hash.h"
#include "common/base/xalloc.h"
#include "common/dns/dname.h"
#include "skydns/records/rng.h"

/* Twice the items, so that searches stay short. */
enum { SLOTS = 2 * RR_LIST_MAX };

/* For up to this many items, comparing with each is cheaper than clearing and filling the slots. */
enum { UNINDEXED_MAX = 16 };

bool rr_same_name(struct slice a, struct slice b)
{
    if (a.len != b.len) {
        return false;
    }
    if (a.ptr == b.ptr) {
        return true;
    }
    for (size_t i = 0; i < a.len; i++) {
        if (ascii_lower((uint8_t)a.ptr[i]) != ascii_lower((uint8_t)b.ptr[i])) {
            return false;
        }
    }
    return true;
}

void rr_list_init(struct rr_list *list)
{
    *list = (struct rr_list){
        .items = xcalloc(RR_LIST_MAX, sizeof(*list->items)),
        .slots = xcalloc(SLOTS, sizeof(*list->slots)),
    };
}

void rr_list_fini(struct rr_list *list)
{
    free(list->items);
    free(list->slots);
    *list = (struct rr_list){.items = NULL};
}

void rr_list_clear(struct rr_list *list)
{
    list->count = 0;
    list->is_cut = false;
    list->least_bytes = 0;
    list->is_indexed = false;
    list->hashed_owner = slice_of(NULL, 0);
}

static bool data_is_name(enum rr_type type)
{
    enum rr_shape shape = rr_shape_of(type);
    return shape != RR_SHAPE_BYTES &&
           shape != RR_SHAPE_TEXT; /* RR_SHAPE_ZONE: empty, equal either way */
}

/* Returns whether the list may hold only one of the two. */
static bool rr_excludes(const struct rr *a, const struct rr *b)
{
    if (a->type != b->type || !rr_same_name(a->owner, b->owner)) {
        return false;
    }
    if (a->type == RR_CNAME) {
        return true;
    }
    return a->is_wire == b->is_wire && a->priority == b->priority && a->weight == b->weight &&
           a->port == b->port &&
           (data_is_name(a->type) ? rr_same_name(a->data, b->data) : slice_equal(a->data, b->data));
}

static uint32_t rr_hash_name(struct slice name)
{
    uint8_t lower[DNAME_MAX];
    const size_t len = name.len < sizeof(lower) ? name.len : sizeof(lower);
    for (size_t i = 0; i < len; i++) {
        lower[i] = ascii_lower((uint8_t)name.ptr[i]);
    }
    return seeded_hash(slice_of(lower, len));
}

/* Returns one hash for records that exclude each other; with a seed, as an upstream chooses records
 * of long lists. These mostly have one owner, which is hashed once. */
static uint32_t hash_rr(struct rr_list *list, const struct rr *rr)
{
    const uint32_t odd = 0x9e3779b1;
    if (rr->owner.ptr != list->hashed_owner.ptr || rr->owner.len != list->hashed_owner.len) {
        list->hashed_owner = rr->owner;
        list->owner_hash = rr_hash_name(rr->owner);
    }
    const uint32_t h = list->owner_hash ^ rr->type;
    if (rr->type == RR_CNAME) {
        return h;
    }
    const uint32_t numbers = (uint32_t)rr->priority << 16 ^ (uint32_t)rr->weight << 8 ^ rr->port;
    return (h ^ numbers) * odd ^
           (data_is_name(rr->type) ? rr_hash_name(rr->data) : seeded_hash(rr->data));
}

/* Returns the slot of the record that excludes this one, or the free slot for this one. */
static struct rr_slot *find_slot(struct rr_list *list, const struct rr *rr)
{
    const uint32_t hash = hash_rr(list, rr);
    const uint16_t tag = (uint16_t)(hash >> 16);
    size_t at = hash & (SLOTS - 1);
    while (list->slots[at].item && (list->slots[at].tag != tag ||
                                    !rr_excludes(&list->items[list->slots[at].item - 1], rr))) {
        at = (at + 1) & (SLOTS - 1);
    }
    list->slots[at].tag = tag;
    return &list->slots[at];
}

static void build_index(struct rr_list *list)
{
    memset(list->slots, 0, SLOTS * sizeof(*list->slots));
    for (size_t i = 0; i < list->count; i++) {
        find_slot(list, &list->items[i])->item = (uint16_t)(i + 1);
    }
    list->is_indexed = true;
}

/* Returns the record that excludes this one, which has this slot if there is an index; NULL: none.
 */
static struct rr *find_excluding(struct rr_list *list, const struct rr *rr,
                                 const struct rr_slot *slot)
{
    if (slot) {
        return slot->item ? &list->items[slot->item - 1] : NULL;
    }
    for (size_t i = 0; i < list->count; i++) {
        if (rr_excludes(&list->items[i], rr)) {
            return &list->items[i];
        }
    }
    return NULL;
}

/* Returns the record's fewest bytes in a message, with names compressed away: the owner and others
 * to the root label alone. */
static size_t least_bytes(const struct rr *rr)
{
    enum { OWNER = 1, FIXED = 10, NAME = 1 };
    const enum rr_shape shape = rr_shape(rr);
    const bool is_whole = shape == RR_SHAPE_SERVICE_NAMED || !data_is_name(rr->type);
    return OWNER + FIXED + rr_numbers_len(shape) + (is_whole ? rr->data.len : NAME);
}

void rr_list_add(struct rr_list *list, const struct rr *rr)
{
    if (list->count == UNINDEXED_MAX && !list->is_indexed) {
        build_index(list);
    }
    struct rr_slot *slot = list->is_indexed ? find_slot(list, rr) : NULL;
    struct rr *earlier = find_excluding(list, rr, slot);
    if (earlier) {
        uint32_t ttl_s = earlier->ttl_s < rr->ttl_s ? earlier->ttl_s : rr->ttl_s;
        *earlier = *rr;
        earlier->ttl_s = ttl_s;
        return;
    }
    if (list->count == RR_LIST_MAX) {
        list->is_cut = true;
        return;
    }
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): rr_list_init allocates them */
    list->items[list->count++] = *rr;
    list->least_bytes += least_bytes(rr);
    if (slot) {
        slot->item = (uint16_t)list->count;
    }
}

static bool are_addresses_of_one_name(const struct rr *a, const struct rr *b)
{
    return (a->type == RR_A || a->type == RR_AAAA) && a->type == b->type &&
           rr_same_name(a->owner, b->owner);
}

void rr_list_shuffle_addresses(struct rr_list *list, uint32_t *random)
{
    struct rr *items = list->items;
    for (size_t first = 0, end; first < list->count; first = end) {
        end = first + 1;
        while (end < list->count && are_addresses_of_one_name(&items[first], &items[end])) {
            size_t other = first + shuffle_random(random) % (end - first + 1);
            struct rr rr = items[end];
            items[end++] = items[other];
            items[other] = rr;
        }
    }
}

void rr_list_level_ttls(struct rr_list *list, uint32_t ttl_s)
{
    for (size_t i = 0; i < list->count; i++) {
        ttl_s = list->items[i].ttl_s < ttl_s ? list->items[i].ttl_s : ttl_s;
    }
    for (size_t i = 0; i < list->count; i++) {
        list->items[i].ttl_s = ttl_s;
    }
}
