/* Maps labels to the children of a store node: a persistent hash trie. It is one word for zero or
 * one child, otherwise branches of up to 64 slots. Each level selects by six more bits of the
 * label's hash, so that the 100,000 services of a namespace are three branches deep. Labels whose
 * full hashes are equal share a list at the end.
 *
 * Part of the record store (store_node_internal.h has the rules of a build). Find and each run on
 * any thread, put and remove on the writer's. */
#ifndef SKYDNS_RECORDS_LABEL_MAP_INTERNAL_H
#define SKYDNS_RECORDS_LABEL_MAP_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/slice.h"
#include "skydns/records/store_tally.h"

struct store_build;
struct store_node;

struct label_map {
    uintptr_t slot; /* 0, a node, or a branch with the lowest bit set */
};

/* Returns the node with this label, or NULL; `hash` is the label's seeded_hash. */
struct store_node *label_map_find(struct label_map map, uint32_t hash, struct slice label);

/* ---- A find, step by step (store_scan.h) ---- */

/* Each level uses six bits of a 32-bit hash; the sixth has the two that remain. A branch below the
 * last level is a list of labels with equal hashes, which only label_map_find tells apart. */
enum { LABEL_MAP_LEVELS = 6, LABEL_MAP_LEVEL_BITS = 6 };

struct label_branch {
    uint64_t stamp;
    struct store_tally tally; /* of the visible nodes below: label_map_count */
    uint64_t used; /* which of the 64 values have a slot; in a list the number of slots */
    uintptr_t slots[];
};

static inline bool label_map_is_branch(uintptr_t slot)
{
    return slot & 1;
}

static inline struct label_branch *label_map_as_branch(uintptr_t slot)
{
    return (struct label_branch *)(slot - 1);
}

static inline struct store_node *label_map_as_node(uintptr_t slot)
{
    return (struct store_node *)slot;
}

static inline uintptr_t label_map_slot_of(struct label_branch *branch)
{
    return (uintptr_t)branch | 1;
}

/* Returns the block that a slot leads to; NULL for slot 0. */
static inline const void *label_map_block(uintptr_t slot)
{
    return label_map_is_branch(slot) ? (const void *)label_map_as_branch(slot)
                                     : label_map_as_node(slot);
}

static inline uint64_t label_map_bit(uint32_t hash, unsigned level)
{
    return UINT64_C(1) << (hash >> (LABEL_MAP_LEVEL_BITS * level) & 63);
}

/* Counts the bits that are set: sums two, four and eight neighbours, then all. The compiler's
 * builtin is a call on processors that need not have an instruction for it. */
static inline unsigned label_map_count_bits(uint64_t word)
{
    static const uint64_t ones = UINT64_C(0x0101010101010101);
    word -= word >> 1 & 0x55 * ones;
    word = (word & 0x33 * ones) + (word >> 2 & 0x33 * ones);
    word = (word + (word >> 4)) & 0x0f * ones;
    return (unsigned)(word * ones >> 56);
}

static inline unsigned label_map_index(const struct label_branch *branch, uint64_t bit)
{
    return label_map_count_bits(branch->used & (bit - 1));
}

/* Returns the slot for a hash in this branch, which is on this level; 0: none. */
static inline uintptr_t label_map_below(uintptr_t slot, unsigned level, uint32_t hash)
{
    const struct label_branch *branch = label_map_as_branch(slot);
    uint64_t bit = label_map_bit(hash, level);
    return branch->used & bit ? branch->slots[label_map_index(branch, bit)] : 0;
}

/* Adds the node, or replaces the one with the same label, which the caller still has to retire. */
void label_map_put(struct label_map *map, struct store_node *node, struct store_build *build);

/* A node for a new map, with the fields that would have to be fetched from it. */
struct label_child {
    struct store_node *node;
    uint32_t hash;
    struct store_tally tally; /* zero if the node is hidden */
};

/* Builds the map that label_map_put makes of these nodes one by one. Their order is lost; `spare`
 * has room for as many. Returns false when two have the same label; the map is then good for
 * label_map_free alone. */
bool label_map_build(struct label_map *map, struct label_child *children, struct label_child *spare,
                     size_t count, const struct store_build *build) MUST_CHECK;

/* Returns a branch of the build with this many slots, nothing used or counted. */
struct label_branch *label_branch_new(size_t count, const struct store_build *build);

/* Removes the node, which must be in the map; the caller still has to retire it. */
void label_map_remove(struct label_map *map, const struct store_node *node,
                      struct store_build *build);

/* Changes the tallies on the way to a node of the map, which the build made, by `change`. The node
 * is visible. One that is put counts nothing yet, one that is removed nothing any more. */
void label_map_count(struct label_map map, const struct store_node *node,
                     const struct store_tally *change);

/* Calls fn for each node, in hash order, until it returns false; then returns false. */
typedef bool (*label_map_fn)(void *data, struct store_node *node);
bool label_map_each(struct label_map map, label_map_fn fn, void *data);

/* Does the same for one slot of a branch, on the level below that branch's. */
bool label_slot_each(uintptr_t slot, unsigned level, label_map_fn fn, void *data);

/* Does the same, beginning at this hash on each level and wrapping around. */
bool label_map_each_from(struct label_map map, uint32_t hash, label_map_fn fn, void *data);

/* Returns the number of slots of a branch on this level. */
unsigned label_map_slot_count(const struct label_branch *branch, unsigned level);

/* Returns the node after this hash and label, whether or not the map has a node with them; NULL at
 * the end. The order is the same for all maps. label_map_first starts it. */
struct store_node *label_map_next(struct label_map map, uint32_t hash, struct slice label);
struct store_node *label_map_first(struct label_map map);

/* Frees the branches, not the nodes. Call it once no version needs the map. */
void label_map_free(struct label_map map);

#endif
