#include "skydns/records/label_map_internal.h"

#include <string.h>

#include "skydns/records/store_node_internal.h"

enum { LIST_LEVEL = LABEL_MAP_LEVELS };

/* ---- Branches ---- */

unsigned label_map_slot_count(const struct label_branch *branch, unsigned level)
{
    return level == LIST_LEVEL ? (unsigned)branch->used
                               : (unsigned)__builtin_popcountll(branch->used);
}

/* Returns the position in a list; the list's length when absent. */
static unsigned index_in_list(const struct label_branch *list, struct slice label)
{
    unsigned at = 0;
    while (at < list->used &&
           !slice_equal(store_node_label_slice(label_map_as_node(list->slots[at])), label)) {
        at++;
    }
    return at;
}

struct label_branch *label_branch_new(size_t count, const struct store_build *build)
{
    struct label_branch *branch =
        store_pool_alloc(build->pool, sizeof(*branch) + count * sizeof(branch->slots[0]));
    *branch = (struct label_branch){.stamp = build->stamp};
    return branch;
}

/* Returns the branch itself when the build made it, else a copy. */
static struct label_branch *branch_writable(struct label_branch *branch, unsigned level,
                                            struct store_build *build)
{
    if (branch->stamp == build->stamp) {
        return branch;
    }
    unsigned count = label_map_slot_count(branch, level);
    struct label_branch *copy = label_branch_new(count, build);
    copy->used = branch->used;
    copy->tally = branch->tally;
    memcpy(copy->slots, branch->slots, count * sizeof(copy->slots[0]));
    store_build_retire(build, branch->stamp, branch);
    return copy;
}

/* Adds a slot at `at`. The caller fills it and sets `used`. */
static struct label_branch *branch_open(struct label_branch *branch, unsigned level, unsigned at,
                                        struct store_build *build)
{
    unsigned count = label_map_slot_count(branch, level);
    struct label_branch *wider = label_branch_new(count + 1, build);
    wider->used = branch->used;
    wider->tally = branch->tally;
    memcpy(wider->slots, branch->slots, at * sizeof(wider->slots[0]));
    memcpy(wider->slots + at + 1, branch->slots + at, (count - at) * sizeof(wider->slots[0]));
    store_build_retire(build, branch->stamp, branch);
    return wider;
}

/* Removes the slot at `at`. The caller sets `used`. */
static struct label_branch *branch_close(struct label_branch *branch, unsigned level, unsigned at,
                                         struct store_build *build)
{
    unsigned count = label_map_slot_count(branch, level);
    struct label_branch *narrower = branch;
    if (branch->stamp != build->stamp) {
        narrower = label_branch_new(count - 1, build);
        narrower->used = branch->used;
        narrower->tally = branch->tally;
        memcpy(narrower->slots, branch->slots, at * sizeof(narrower->slots[0]));
        store_build_retire(build, branch->stamp, branch);
    }
    memmove(narrower->slots + at, branch->slots + at + 1,
            (count - at - 1) * sizeof(narrower->slots[0]));
    return narrower;
}

/* ---- Operations ---- */

struct store_node *label_map_find(struct label_map map, uint32_t hash, struct slice label)
{
    uintptr_t slot = map.slot;
    for (unsigned level = 0; label_map_is_branch(slot); level++) {
        const struct label_branch *branch = label_map_as_branch(slot);
        if (level == LIST_LEVEL) {
            unsigned at = index_in_list(branch, label);
            return at < branch->used ? label_map_as_node(branch->slots[at]) : NULL;
        }
        uint64_t bit = label_map_bit(hash, level);
        if (!(branch->used & bit)) {
            return NULL;
        }
        slot = branch->slots[label_map_index(branch, bit)];
    }
    struct store_node *node = label_map_as_node(slot);
    return node && store_node_has_label(node, hash, label) ? node : NULL;
}

/* Returns a branch for this level that holds just this node. */
static struct label_branch *branch_around(struct store_node *node, unsigned level,
                                          const struct store_build *build)
{
    struct label_branch *branch = label_branch_new(1, build);
    branch->used = level == LIST_LEVEL ? 1 : label_map_bit(node->hash, level);
    branch->slots[0] = (uintptr_t)node;
    if (!store_node_is_hidden(node)) {
        branch->tally = store_node_tally(node);
    }
    return branch;
}

/* Returns the replacement for `slot`, with the node in it. At most seven calls deep. */
static uintptr_t put_below(uintptr_t slot, unsigned level, struct store_node *node,
                           struct store_build *build)
{
    struct slice label = store_node_label_slice(node);
    struct label_branch *branch;
    if (slot == 0 || (!label_map_is_branch(slot) &&
                      store_node_has_label(label_map_as_node(slot), node->hash, label))) {
        return (uintptr_t)node;
    }
    branch = label_map_is_branch(slot) ? label_map_as_branch(slot)
                                       : branch_around(label_map_as_node(slot), level, build);

    uint64_t used, bit = level == LIST_LEVEL ? 0 : label_map_bit(node->hash, level);
    unsigned at;
    bool there;
    if (level == LIST_LEVEL) {
        at = index_in_list(branch, label);
        there = at < branch->used;
        used = branch->used + 1;
    } else {
        at = label_map_index(branch, bit);
        there = branch->used & bit;
        used = branch->used | bit;
    }
    if (!there) {
        branch = branch_open(branch, level, at, build);
        branch->used = used;
        branch->slots[at] = (uintptr_t)node;
        return label_map_slot_of(branch);
    }
    uintptr_t below = level == LIST_LEVEL ? (uintptr_t)node
                                          : put_below(branch->slots[at], level + 1, node, build);
    if (below != branch->slots[at]) {
        branch = branch_writable(branch, level, build);
        branch->slots[at] = below;
    }
    return label_map_slot_of(branch);
}

void label_map_put(struct label_map *map, struct store_node *node, struct store_build *build)
{
    map->slot = put_below(map->slot, 0, node, build);
}

/* Returns the replacement for `slot`, without the node. It replaces a branch left with a single
 * node by that node: equal contents have equal shapes. */
static uintptr_t remove_below(uintptr_t slot, unsigned level, const struct store_node *node,
                              struct store_build *build)
{
    if (!label_map_is_branch(slot)) {
        return 0;
    }
    struct label_branch *branch = label_map_as_branch(slot);
    uint64_t bit = level == LIST_LEVEL ? 0 : label_map_bit(node->hash, level);
    unsigned at, count = label_map_slot_count(branch, level);
    uintptr_t below = 0;
    if (level == LIST_LEVEL) {
        at = index_in_list(branch, store_node_label_slice(node));
    } else {
        at = label_map_index(branch, bit);
        below = remove_below(branch->slots[at], level + 1, node, build);
    }
    if (below == 0 && count == 2 && !label_map_is_branch(branch->slots[1 - at])) {
        below = branch->slots[1 - at];
        store_build_retire(build, branch->stamp, branch);
        return below;
    }
    if (below != 0 && !label_map_is_branch(below) && count == 1) {
        store_build_retire(build, branch->stamp, branch);
        return below;
    }
    if (below != 0) {
        branch = branch_writable(branch, level, build);
        branch->slots[at] = below;
        return label_map_slot_of(branch);
    }
    uint64_t used = level == LIST_LEVEL ? branch->used - 1 : branch->used & ~bit;
    branch = branch_close(branch, level, at, build);
    branch->used = used;
    return label_map_slot_of(branch);
}

void label_map_remove(struct label_map *map, const struct store_node *node,
                      struct store_build *build)
{
    map->slot = remove_below(map->slot, 0, node, build);
}

void label_map_count(struct label_map map, const struct store_node *node,
                     const struct store_tally *change)
{
    uintptr_t slot = map.slot;
    for (unsigned level = 0; label_map_is_branch(slot); level++) {
        struct label_branch *branch = label_map_as_branch(slot);
        store_tally_add(&branch->tally, change);
        slot = level == LIST_LEVEL ? 0 : label_map_below(slot, level, node->hash);
    }
}

bool label_slot_each(uintptr_t slot, unsigned level, label_map_fn fn, void *data)
{
    if (!label_map_is_branch(slot)) {
        return slot == 0 || fn(data, label_map_as_node(slot));
    }
    const struct label_branch *branch = label_map_as_branch(slot);
    unsigned count = label_map_slot_count(branch, level);
    for (unsigned i = 0; i < count; i++) {
        if (!label_slot_each(branch->slots[i], level + 1, fn, data)) {
            return false;
        }
    }
    return true;
}

bool label_map_each(struct label_map map, label_map_fn fn, void *data)
{
    return label_slot_each(map.slot, 0, fn, data);
}

static bool each_from(uintptr_t slot, unsigned level, uint32_t hash, label_map_fn fn, void *data)
{
    if (!label_map_is_branch(slot)) {
        return slot == 0 || fn(data, label_map_as_node(slot));
    }
    const struct label_branch *branch = label_map_as_branch(slot);
    unsigned count = label_map_slot_count(branch, level);
    unsigned first = level == LIST_LEVEL ? 0 : label_map_index(branch, label_map_bit(hash, level));
    for (unsigned i = 0; i < count; i++) {
        if (!each_from(branch->slots[(first + i) % count], level + 1, hash, fn, data)) {
            return false;
        }
    }
    return true;
}

bool label_map_each_from(struct label_map map, uint32_t hash, label_map_fn fn, void *data)
{
    return each_from(map.slot, 0, hash, fn, data);
}

/* ---- In order: by the hash's bits, level by level, then by label ---- */

/* Returns the node of a list with the smallest label; if `after` is given, the smallest one after
 * it. */
static struct store_node *least_in_list(const struct label_branch *list, const struct slice *after)
{
    struct store_node *least = NULL;
    for (unsigned i = 0; i < list->used; i++) {
        struct store_node *node = label_map_as_node(list->slots[i]);
        struct slice label = store_node_label_slice(node);
        if ((!after || slice_compare(label, *after) > 0) &&
            (!least || slice_compare(label, store_node_label_slice(least)) < 0)) {
            least = node;
        }
    }
    return least;
}

static struct store_node *first_below(uintptr_t slot, unsigned level)
{
    for (; label_map_is_branch(slot); level++) {
        if (level == LIST_LEVEL) {
            return least_in_list(label_map_as_branch(slot), NULL);
        }
        slot = label_map_as_branch(slot)->slots[0];
    }
    return label_map_as_node(slot);
}

/* Returns whether the node comes after this hash and label; both agree on the levels before this
 * one. */
static bool is_behind(const struct store_node *node, unsigned level, uint32_t hash,
                      struct slice label)
{
    for (; level < LIST_LEVEL; level++) {
        uint64_t own = label_map_bit(node->hash, level), other = label_map_bit(hash, level);
        if (own != other) {
            return own > other;
        }
    }
    return slice_compare(store_node_label_slice(node), label) > 0;
}

static struct store_node *label_map_next_below(uintptr_t slot, unsigned level, uint32_t hash,
                                               struct slice label)
{
    if (!label_map_is_branch(slot)) {
        struct store_node *node = label_map_as_node(slot);
        return node && is_behind(node, level, hash, label) ? node : NULL;
    }
    const struct label_branch *branch = label_map_as_branch(slot);
    if (level == LIST_LEVEL) {
        return least_in_list(branch, &label);
    }
    uint64_t bit = label_map_bit(hash, level);
    unsigned at = label_map_index(branch, bit);
    if (branch->used & bit) {
        struct store_node *node = label_map_next_below(branch->slots[at++], level + 1, hash, label);
        if (node) {
            return node;
        }
    }
    return at < label_map_slot_count(branch, level) ? first_below(branch->slots[at], level + 1)
                                                    : NULL;
}

struct store_node *label_map_next(struct label_map map, uint32_t hash, struct slice label)
{
    return label_map_next_below(map.slot, 0, hash, label);
}

struct store_node *label_map_first(struct label_map map)
{
    return first_below(map.slot, 0);
}

/* ---- Cleanup ---- */

static void free_below(uintptr_t slot, unsigned level)
{
    if (!label_map_is_branch(slot)) {
        return;
    }
    struct label_branch *branch = label_map_as_branch(slot);
    unsigned count = label_map_slot_count(branch, level);
    for (unsigned i = 0; i < count; i++) {
        free_below(branch->slots[i], level + 1);
    }
    store_pool_free(branch);
}

void label_map_free(struct label_map map)
{
    free_below(map.slot, 0);
}
