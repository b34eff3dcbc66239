/* Counts records, and finds addresses by the counts. */
#include "skydns/records/store_tally.h"

#include "skydns/records/store_node_internal.h"
#include "skydns/records/store_pick.h"

struct store_tally store_record_tally(const struct store_record *record)
{
    bool is_address = record->host == STORE_HOST_IP, is_name = record->host == STORE_HOST_NAME;
    return (struct store_tally){
        .v4 = is_address && record->host_len == 4,
        .v6 = is_address && record->host_len == 16,
        .names = is_name,
        .texts = record->lens[RECORD_TEXT] > 0,
        .mails = record->mail && (is_address || is_name),
        .groups = record->lens[RECORD_GROUP] > 0,
        .rrs = record->lens[RECORD_RR] > 0,
    };
}

struct store_tally store_node_tally(const struct store_node *node)
{
    struct store_tally tally = {0};
    for (;;) {
        const struct store_record *record = store_node_own_record(node);
        uintptr_t slot = node->children.slot;
        if (record) {
            struct store_tally own = store_record_tally(record);
            store_tally_add(&tally, &own);
        }
        if (label_map_is_branch(slot)) {
            store_tally_add(&tally, &label_map_as_branch(slot)->tally);
            return tally;
        }
        node = label_map_as_node(slot);
        if (!node || store_node_is_hidden(node)) {
            return tally;
        }
    }
}

/* ---- Addresses ---- */

/* Nodes fetched before they are visited: those of a large name are in no near cache. */
enum { FETCH_AHEAD = 4 };

struct pick {
    unsigned family_bytes;
    uint32_t skip; /* addresses still to be skipped */
    uint32_t left; /* to be visited after these */
    store_pick_fn fn;
    void *data;
};

static bool pick_record(struct pick *p, const struct store_record *record)
{
    if (record->host != STORE_HOST_IP || record->host_len != p->family_bytes) {
        return true;
    }
    if (p->skip > 0) {
        p->skip--;
        return true;
    }
    if (p->left == 0) {
        return false;
    }
    p->left--;
    return p->fn(p->data, record);
}

/* Skips everything counted here. Returns whether it could. */
static bool store_tally_pass_over(struct pick *p, const struct store_tally *tally)
{
    uint32_t count = store_tally_of_family(tally, p->family_bytes);
    if (count <= p->skip) {
        p->skip -= count;
        return true;
    }
    return false;
}

static bool pick_own(struct pick *p, const struct store_node *node)
{
    const struct store_record *record = store_node_own_record(node);
    return !record || pick_record(p, record);
}

static bool pick_below(struct pick *p, uintptr_t slot, unsigned level);

static bool pick_node(struct pick *p, const struct store_node *node)
{
    return pick_own(p, node) && pick_below(p, node->children.slot, 0);
}

/* Returns whether the slot is a node with one record, or none: nearly all of a large name's are. */
static bool is_leaf(uintptr_t slot)
{
    return !label_map_is_branch(slot) && label_map_as_node(slot)->children.slot == 0;
}

static bool pick_leaf(struct pick *p, const struct store_node *leaf)
{
    return store_node_is_hidden(leaf) || pick_own(p, leaf);
}

static bool pick_branch(struct pick *p, const struct label_branch *branch, unsigned level)
{
    if (store_tally_pass_over(p, &branch->tally)) {
        return true;
    }
    unsigned count = label_map_slot_count(branch, level);
    for (unsigned i = 0; i < count; i++) {
        uintptr_t slot = branch->slots[i];
        if (i + FETCH_AHEAD < count) {
            __builtin_prefetch(label_map_block(branch->slots[i + FETCH_AHEAD]));
        }
        if (is_leaf(slot) ? !pick_leaf(p, label_map_as_node(slot))
                          : !pick_below(p, slot, level + 1)) {
            return false;
        }
    }
    return true;
}

/* Visits a slot. A name's labels bound the recursion. */
static bool pick_below(struct pick *p, uintptr_t slot, unsigned level)
{
    if (slot == 0) {
        return true;
    }
    if (label_map_is_branch(slot)) {
        return pick_branch(p, label_map_as_branch(slot), level);
    }
    const struct store_node *node = label_map_as_node(slot);
    if (store_node_is_hidden(node)) {
        return true;
    }
    if (p->skip > 0) {
        struct store_tally tally = store_node_tally(node);
        if (store_tally_pass_over(p, &tally)) {
            return true;
        }
    }
    return pick_node(p, node);
}

void store_pick_addresses(const struct store_node *node, unsigned family_bytes, uint32_t first,
                          store_pick_fn fn, void *data)
{
    struct store_tally tally = store_node_tally(node);
    struct pick p = {.family_bytes = family_bytes,
                     .skip = first,
                     .left = store_tally_of_family(&tally, family_bytes) - first,
                     .fn = fn,
                     .data = data};
    if (pick_node(&p, node)) {
        p.left = first;
        (void)pick_node(&p, node);
    }
}
