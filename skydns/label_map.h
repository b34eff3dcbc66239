/* The children of a store node: a persistent hash trie from labels to nodes. One word when there is
 * no child or one; else branches of up to 64 slots, each level choosing by six more bits of the
 * label's hash, so that the 100,000 services of a namespace are three branches deep. Labels whose
 * whole hash is the same share a list at the end.
 *
 * Part of the store (store_node.h has the rules of a build): find and each on any thread, put and
 * remove on the writer's. */
#ifndef SKYDNS_LABEL_MAP_H
#define SKYDNS_LABEL_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/slice.h"

struct store_build;
struct store_node;

struct label_map {
    uintptr_t slot; /* 0, a node, or a branch with the lowest bit set */
};

/* The node with this label, whose seeded_hash is given, or NULL. */
struct store_node *label_map_find(struct label_map map, uint32_t hash, struct slice label);

/* The way of a find, step by step (store_walk.h): the block that a slot leads to, a node unless it
 * is a branch; NULL for slot 0. Below a branch of a level the slot for a hash; 0: there is none. A
 * branch behind the last level holds labels that only label_map_find tells apart. */
enum { LABEL_MAP_LEVELS = 6 };
bool label_map_is_branch(uintptr_t slot);
const void *label_map_block(uintptr_t slot);
uintptr_t label_map_below(uintptr_t branch, unsigned level, uint32_t hash);

/* Puts the node in the place of the one with the same label, if there is one: that one stays the
 * caller's to retire. */
void label_map_put(struct label_map *map, struct store_node *node, struct store_build *build);

/* Takes the node out, which is in the map; it stays the caller's to retire. */
void label_map_remove(struct label_map *map, const struct store_node *node,
                      struct store_build *build);

/* Calls fn for each node until it returns false; false then. The order is that of the hashes. */
typedef bool (*label_map_fn)(void *data, struct store_node *node);
bool label_map_each(struct label_map map, label_map_fn fn, void *data);

/* The node that follows this hash and label in an order that is the same for all maps, whether the
 * map has a node with them or not; NULL: none does. label_map_first begins it. */
struct store_node *label_map_next(struct label_map map, uint32_t hash, struct slice label);
struct store_node *label_map_first(struct label_map map);

/* Frees the branches, not the nodes. Call it when no version needs the map any more. */
void label_map_free(struct label_map map);

#endif
