#include "skydns/store_ahead.h"

#include "skydns/store_node.h"
#include "skydns/store_ready.h"

/* Blocks lie across two lines more often than not. */
static void fetch(const void *block)
{
    enum { BLOCK_TAIL = 47 };
    __builtin_prefetch(block);
    __builtin_prefetch((const char *)block + BLOCK_TAIL);
}

/* From a node down by the next label. */
static bool go_below(struct store_ahead *a, const struct store_node *node)
{
    a->slot = node->children.slot;
    a->level = 0;
    fetch(label_map_block(a->slot));
    return a->slot != 0;
}

void store_ahead_begin(struct store_ahead *ahead, const struct store_node *from)
{
    ahead->at = 0;
    if (ahead->count == 0 || !go_below(ahead, from)) {
        ahead->slot = 0;
    }
}

/* Of the node that the walk was for: what a port's answer says comes from its first target. */
static void fetch_target(const struct store_node *node)
{
    if (node->is_ready && node->ready && node->ready->kind == STORE_READY_TARGETS) {
        fetch(node->ready->records[0]);
    }
}

bool store_ahead_step(struct store_ahead *ahead)
{
    struct store_ahead *a = ahead;
    if (a->slot == 0) {
        return false;
    }
    if (label_map_is_branch(a->slot)) {
        a->slot = label_map_below(a->slot, a->level++, a->hashes[a->at]);
        fetch(label_map_block(a->slot));
        return a->slot != 0;
    }
    const struct store_node *node = label_map_block(a->slot);
    if (a->at == a->count) {
        fetch_target(node);
        return false;
    }
    if (node->hash != a->hashes[a->at]) {
        a->slot = 0;
        return false;
    }
    fetch(node->record); /* of those on the way, too: a port's target is one of them */
    return ++a->at == a->count || go_below(a, node);
}

const struct store_node *store_ahead_found(const struct store_ahead *ahead)
{
    return ahead->slot && ahead->at == ahead->count ? label_map_block(ahead->slot) : NULL;
}
