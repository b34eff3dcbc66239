/* Reads a version. store_writer.c writes. */
#include "skydns/records/store.h"

#include "common/base/seeded_hash.h"
#include "skydns/records/store_node_internal.h"
#include "skydns/records/store_ready.h"

/* ---- Reading ---- */

int64_t store_revision(const struct store *store)
{
    return store->revision;
}

uint64_t store_serial(const struct store *store)
{
    return store->serial;
}

const struct store *store_overrides(const struct store *store)
{
    return store->overrides;
}

bool store_has_rrs(const struct store *store)
{
    return store->rr_count > 0;
}

const struct store_ready *store_node_ready(const struct store_node *node)
{
    return node->has == STORE_NODE_READY ? node->ready : NULL;
}

const struct store_record *store_node_single(const struct store_node *node)
{
    return node->has == STORE_NODE_SINGLE ? node->record : NULL;
}

const struct store_node *store_root(const struct store *store)
{
    return store->root;
}

const struct store_node *store_child(const struct store_node *node, struct slice label)
{
    return label_map_find(node->children, seeded_hash(label), label);
}

/* Descends label by label from the root. */
const struct store_node *store_find(const struct store *store, const struct dname *name)
{
    const struct store_node *node = store->root;
    struct dname_labels labels;
    dname_labels(name, &labels);
    for (unsigned i = labels.count; i > 0 && node; i--) {
        node = store_child(node, dname_label(name, labels.offsets[i - 1]));
    }
    return node;
}

const struct store_record *store_find_record(const struct store *store, const struct dname *name)
{
    const struct store_node *node = store_find(store, name);
    return node ? store_node_record(node) : NULL;
}

const struct store_record *store_node_record(const struct store_node *node)
{
    return store_node_own_record(node);
}

struct slice store_node_label(const struct store_node *node)
{
    return store_node_label_slice(node);
}

size_t store_visible_count(const struct store_node *node)
{
    return node->visible;
}

struct child_visit {
    store_child_fn fn;
    void *data;
};

static bool visit_child(void *data, struct store_node *node)
{
    const struct child_visit *visit = data;
    return visit->fn(visit->data, node);
}

bool store_each_child(const struct store_node *node, store_child_fn fn, void *data)
{
    struct child_visit visit = {fn, data};
    return label_map_each(node->children, visit_child, &visit);
}

void store_each_child_from(const struct store_node *node, uint32_t from, store_child_fn fn,
                           void *data)
{
    struct child_visit visit = {fn, data};
    (void)label_map_each_from(node->children, from, visit_child, &visit); /* all, or fn stopped */
}

/* Returns the first record at or below the node: every node has one. */
static const struct store_record *first_record(const struct store_node *node)
{
    while (!store_node_own_record(node)) {
        node = label_map_first(node->children);
    }
    return store_node_own_record(node);
}

/* Returns the first record below the node and after the name, of which the `left` leftmost labels
 * are still to be matched. A node's own record comes before its children's. */
static const struct store_record *store_next_below(const struct store_node *node,
                                                   const struct dname *name,
                                                   const struct dname_labels *labels, unsigned left)
{
    const struct store_node *sibling;
    if (left == 0) {
        sibling = label_map_first(node->children);
    } else {
        struct slice label = dname_label(name, labels->offsets[left - 1]);
        uint32_t hash = seeded_hash(label);
        const struct store_node *child = label_map_find(node->children, hash, label);
        const struct store_record *record =
            child ? store_next_below(child, name, labels, left - 1) : NULL;
        if (record) {
            return record;
        }
        sibling = label_map_next(node->children, hash, label);
    }
    return sibling ? first_record(sibling) : NULL;
}

const struct store_record *store_next(const struct store *store, const struct dname *after)
{
    struct dname_labels labels;
    if (!after) {
        const struct store_node *root = store->root;
        return store_node_own_record(root) || root->children.slot ? first_record(root) : NULL;
    }
    dname_labels(after, &labels);
    return store_next_below(store->root, after, &labels, labels.count);
}
