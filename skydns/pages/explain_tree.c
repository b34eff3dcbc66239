/* The way from the root to a name, and what is at each label of it. */
#include "skydns/pages/explain.h"

size_t explain_tree(const struct store *store, const struct dname *name,
                    struct explain_level levels[EXPLAIN_LEVELS_MAX])
{
    const struct store_node *node = store_root(store);
    struct dname at = {.len = 1}; /* the root */
    struct dname_labels labels;
    size_t count = 0;
    dname_labels(name, &labels);
    for (unsigned i = labels.count; i > 0 && count < EXPLAIN_LEVELS_MAX; i--) {
        struct slice label = dname_label(name, labels.offsets[i - 1]);
        if (!dname_prepend(&at, label)) {
            break;
        }
        node = node ? store_child(node, label) : NULL;
        levels[count++] = (struct explain_level){
            .name = at,
            .exists = node != NULL,
            .has_record = node && store_node_record(node),
            .below = node ? store_visible_count(node) : 0,
        };
    }
    return count;
}
