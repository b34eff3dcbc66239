#include "skydns/records/store_diff.h"

#include "skydns/records/store_node_internal.h"

struct diff {
    store_diff_fn fn;
    void *data;
    bool is_swapped; /* the new version is scanned, and the old one looked up */
};

static bool store_diff_report(const struct diff *diff, const struct store_record *walked,
                              const struct store_record *other)
{
    return diff->is_swapped ? diff->fn(diff->data, other, walked)
                            : diff->fn(diff->data, walked, other);
}

static bool diff_nodes(const struct diff *diff, const struct store_node *a,
                       const struct store_node *b);

/* ---- A node that the other version lacks ---- */

static bool tell_all(void *data, struct store_node *node)
{
    const struct diff *diff = data;
    const struct store_record *record = store_node_own_record(node);
    return (!record || store_diff_report(diff, record, NULL)) &&
           label_map_each(node->children, tell_all, data);
}

/* ---- Maps: slots of one level, for the same bits of the hash ---- */

/* Returns the node of `slot`, which is on this level, with the label of `like`; or NULL. */
static const struct store_node *store_diff_find_below(uintptr_t slot, unsigned level,
                                                      const struct store_node *like)
{
    while (label_map_is_branch(slot) && level < LABEL_MAP_LEVELS) {
        slot = label_map_below(slot, level++, like->hash);
    }
    struct slice label = store_node_label_slice(like);
    if (label_map_is_branch(slot)) { /* a list */
        const struct label_branch *list = label_map_as_branch(slot);
        for (uint64_t i = 0; i < list->used; i++) {
            const struct store_node *node = label_map_as_node(list->slots[i]);
            if (store_node_has_label(node, like->hash, label)) {
                return node;
            }
        }
        return NULL;
    }
    const struct store_node *node = slot ? label_map_as_node(slot) : NULL;
    return node && store_node_has_label(node, like->hash, label) ? node : NULL;
}

struct side {
    struct diff diff;
    uintptr_t other; /* the other version's slot */
    unsigned level;
    bool only_missing;
};

static bool diff_one(void *data, struct store_node *node)
{
    struct side *side = data;
    const struct store_node *other = store_diff_find_below(side->other, side->level, node);
    if (!other) {
        return tell_all(&side->diff, node);
    }
    return side->only_missing || diff_nodes(&side->diff, node, other);
}

/* Compares two slots of which at least one is no branch, or a list: few nodes, or one version's
 * only. */
static bool diff_node_by_node(const struct diff *diff, uintptr_t a, uintptr_t b, unsigned level)
{
    struct side there = {.diff = *diff, .other = b, .level = level};
    struct side back = {.diff = *diff, .other = a, .level = level, .only_missing = true};
    back.diff.is_swapped = !diff->is_swapped;
    return label_slot_each(a, level, diff_one, &there) &&
           label_slot_each(b, level, diff_one, &back);
}

static bool diff_slots(const struct diff *diff, uintptr_t a, uintptr_t b, unsigned level)
{
    if (a == b) {
        return true;
    }
    bool are_branches = label_map_is_branch(a) && label_map_is_branch(b);
    if (!are_branches || level >= LABEL_MAP_LEVELS) {
        return diff_node_by_node(diff, a, b, level);
    }
    uint64_t used = label_map_as_branch(a)->used | label_map_as_branch(b)->used;
    for (unsigned i = 0; i < 64; i++) {
        uint32_t hash = (uint32_t)i << (LABEL_MAP_LEVEL_BITS * level);
        bool is_used = used >> i & 1;
        if (is_used && !diff_slots(diff, label_map_below(a, level, hash),
                                   label_map_below(b, level, hash), level + 1)) {
            return false;
        }
    }
    return true;
}

/* ---- Nodes of one name ---- */

static bool diff_records(const struct diff *diff, const struct store_record *a,
                         const struct store_record *b)
{
    bool is_same = a == b || (a && b && store_record_same_content(a, b));
    return is_same || store_diff_report(diff, a, b);
}

/* Compares two nodes; as deep as names have labels: 127. */
static bool diff_nodes(const struct diff *diff, const struct store_node *a,
                       const struct store_node *b)
{
    return a == b || (diff_records(diff, store_node_own_record(a), store_node_own_record(b)) &&
                      diff_slots(diff, a->children.slot, b->children.slot, 0));
}

bool store_diff(const struct store *old_store, const struct store *new_store, store_diff_fn fn,
                void *data)
{
    const struct diff diff = {.fn = fn, .data = data};
    return diff_nodes(&diff, old_store->root, new_store->root);
}
