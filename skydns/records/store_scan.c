#include "skydns/records/store_scan.h"

#include "common/base/attributes.h"
#include "common/base/seeded_hash.h"
#include "skydns/records/store_node_internal.h"

/* Fetches a block, which spans two cache lines more often than not. NULL is fine: nothing is read.
 */
static void store_scan_fetch(const void *block)
{
    enum { BLOCK_TAIL = 47 };
    __builtin_prefetch(block);
    __builtin_prefetch((const void *)((uintptr_t)block + BLOCK_TAIL));
}

static struct slice next_label(const struct store_scan *w)
{
    const uint8_t *at = w->name + w->offsets[w->count - 1 - w->passed_count];
    return slice_of(at + 1, at[0]);
}

static bool store_scan_end(struct store_scan *w, const struct store_node *node)
{
    w->node = node;
    w->slot = 0;
    return false;
}

/* Descends from a node by the next label. */
static bool go_below(struct store_scan *w, const struct store_node *node)
{
    if (w->passed_count == w->count || node->children.slot == 0) {
        return store_scan_end(w, w->passed_count == w->count ? node : NULL);
    }
    w->node = node;
    w->hash = seeded_hash(next_label(w));
    w->level = 0;
    w->slot = node->children.slot;
    store_scan_fetch(label_map_block(w->slot));
    return true;
}

void store_scan_begin(struct store_scan *scan, const struct store_node *from)
{
    scan->passed_count = 0;
    (void)go_below(scan, from); /* store_scan_step returns whether there is a step */
}

/* Descends to a label's node at the end of its way through the map, if the node is there. */
static NOINLINE bool take_node(struct store_scan *w)
{
    const struct store_node *node;
    if (!label_map_is_branch(w->slot)) {
        node = label_map_block(w->slot);
        node = store_node_has_label(node, w->hash, next_label(w)) ? node : NULL;
    } else { /* labels with equal hashes */
        node = label_map_find(w->node->children, w->hash, next_label(w));
    }
    if (!node) {
        return store_scan_end(w, NULL);
    }
    if (w->passed_count < STORE_SCAN_PASSED_MAX) {
        w->passed[w->passed_count] = node;
    }
    w->passed_count++;
    store_scan_fetch(node->record); /* of nodes on the way, too: a port's target is one of them */
    return go_below(w, node);
}

/* Takes one step. Most steps are through a branch; without a call, they save no registers. */
bool store_scan_step(struct store_scan *scan)
{
    struct store_scan *w = scan;
    if (w->slot == 0) {
        return false;
    }
    if (!label_map_is_branch(w->slot) || w->level == LABEL_MAP_LEVELS) {
        return take_node(w);
    }
    w->slot = label_map_below(w->slot, w->level++, w->hash);
    store_scan_fetch(label_map_block(w->slot));
    return w->slot != 0 || store_scan_end(w, NULL);
}

void store_scan_finish(struct store_scan *scan)
{
    while (store_scan_step(scan)) {
    }
}

/* ---- All records ---- */

/* Neighbours are far apart in memory: those to come are fetched while the present one is visited.
 */
enum { AHEAD = 4 };

struct record_visit {
    store_record_fn fn;
    void *data;
};

/* Fetches the memory that a visit of this slot, already fetched itself, reads first. */
static void fetch_below(uintptr_t slot)
{
    if (!label_map_is_branch(slot)) {
        const struct store_node *node = label_map_as_node(slot);
        store_scan_fetch(node->record);
        store_scan_fetch(label_map_block(node->children.slot));
    }
}

static bool visit_slot(const struct record_visit *visit, uintptr_t slot, unsigned level);

static bool visit_node(const struct record_visit *visit, const struct store_node *node)
{
    const struct store_record *record = store_node_own_record(node);
    return (!record || visit->fn(visit->data, record)) &&
           (!node->children.slot || visit_slot(visit, node->children.slot, 0));
}

/* Visits a slot. A name's labels bound the recursion. */
static bool visit_slot(const struct record_visit *visit, uintptr_t slot, unsigned level)
{
    if (!label_map_is_branch(slot)) {
        return visit_node(visit, label_map_as_node(slot));
    }
    const struct label_branch *branch = label_map_as_branch(slot);
    unsigned count = label_map_slot_count(branch, level);
    for (unsigned i = 0; i < count; i++) {
        store_scan_fetch(label_map_block(branch->slots[i]));
    }
    for (unsigned i = 0; i < count; i++) {
        if (i + AHEAD < count) {
            fetch_below(branch->slots[i + AHEAD]);
        }
        if (!visit_slot(visit, branch->slots[i], level + 1)) {
            return false;
        }
    }
    return true;
}

bool store_each_record(const struct store *store, store_record_fn fn, void *data)
{
    const struct record_visit visit = {fn, data};
    return visit_node(&visit, store->root);
}
