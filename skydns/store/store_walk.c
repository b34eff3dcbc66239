#include "skydns/store/store_walk.h"

#include "common/base/seeded_hash.h"
#include "skydns/store/store_node_internal.h"

/* Blocks span two cache lines more often than not. NULL is fine: nothing is read. */
static void fetch(const void *block)
{
    enum { BLOCK_TAIL = 47 };
    __builtin_prefetch(block);
    __builtin_prefetch((const void *)((uintptr_t)block + BLOCK_TAIL));
}

static struct slice next_label(const struct store_walk *w)
{
    const uint8_t *at = w->name + w->offsets[w->count - 1 - w->passed_count];
    return slice_of(at + 1, at[0]);
}

static bool end(struct store_walk *w, const struct store_node *node)
{
    w->node = node;
    w->slot = 0;
    return false;
}

/* Descends from a node by the next label. */
static bool go_below(struct store_walk *w, const struct store_node *node)
{
    if (w->passed_count == w->count || node->children.slot == 0) {
        return end(w, w->passed_count == w->count ? node : NULL);
    }
    w->node = node;
    w->hash = seeded_hash(next_label(w));
    w->level = 0;
    w->slot = node->children.slot;
    fetch(label_map_block(w->slot));
    return true;
}

void store_walk_begin(struct store_walk *walk, const struct store_node *from)
{
    walk->passed_count = 0;
    (void)go_below(walk, from); /* store_walk_step returns whether there is a step */
}

bool store_walk_step(struct store_walk *walk)
{
    struct store_walk *w = walk;
    if (w->slot == 0) {
        return false;
    }
    const struct store_node *node;
    if (!label_map_is_branch(w->slot)) {
        node = label_map_block(w->slot);
        node = store_node_has_label(node, w->hash, next_label(w)) ? node : NULL;
    } else if (w->level < LABEL_MAP_LEVELS) {
        w->slot = label_map_below(w->slot, w->level++, w->hash);
        fetch(label_map_block(w->slot));
        return w->slot != 0 || end(w, NULL);
    } else { /* labels with equal hashes */
        node = label_map_find(w->node->children, w->hash, next_label(w));
    }
    if (!node) {
        return end(w, NULL);
    }
    if (w->passed_count < STORE_WALK_PASSED_MAX) {
        w->passed[w->passed_count] = node;
    }
    w->passed_count++;
    fetch(node->record); /* of nodes on the way, too: a port's target is one of them */
    return go_below(w, node);
}

void store_walk_finish(struct store_walk *walk)
{
    while (store_walk_step(walk)) {
    }
}
