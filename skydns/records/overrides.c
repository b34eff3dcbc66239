#include "skydns/records/overrides.h"

static struct slice overrides_mark(void)
{
    return slice_of(OVERRIDE_MARK, 1);
}

static bool overrides_is_mark(struct slice label)
{
    return label.len == 1 && label.ptr[0] == OVERRIDE_MARK[0];
}

/* Fills in what lies below the owner's mark. Returns false if the owner has no mark. */
static bool set_found(const struct store_node *owner, unsigned labels, bool is_wildcard,
                      struct override_found *ret_found)
{
    const struct store_node *node = owner ? store_child(owner, overrides_mark()) : NULL;
    *ret_found =
        (struct override_found){.node = node, .is_wildcard = is_wildcard, .labels = labels};
    return node != NULL;
}

bool overrides_find(const struct store *overrides, const struct dname *name,
                    struct override_found *ret_found)
{
    const struct store_node *node = store_root(overrides);
    struct dname_labels labels;
    dname_labels(name, &labels);
    for (unsigned i = labels.count; i > 0; i--) {
        const struct slice label = dname_label(name, labels.offsets[i - 1]);
        const struct store_node *child = overrides_is_mark(label) ? NULL : store_child(node, label);
        if (!child) {
            return i < labels.count && set_found(store_child(node, slice_of("*", 1)),
                                                 labels.count - i + 1, true, ret_found);
        }
        node = child;
    }
    return labels.count > 0 && set_found(node, labels.count, false, ret_found);
}

bool overrides_place(const struct override_found *found, const struct dname *name,
                     struct dname *ret_place)
{
    *ret_place = *name;
    if (found->is_wildcard) {
        dname_strip(ret_place, dname_label_count(name) + 1 - found->labels);
        if (!dname_prepend(ret_place, slice_of("*", 1))) {
            return false;
        }
    }
    return dname_prepend(ret_place, overrides_mark());
}
