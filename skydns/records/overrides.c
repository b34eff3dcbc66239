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
static bool set_found(const struct store_node *owner, const struct dname *name, bool is_wildcard,
                      struct override_found *ret_found)
{
    const struct store_node *node = owner ? store_child(owner, overrides_mark()) : NULL;
    if (!node) {
        return false;
    }
    ret_found->node = node;
    ret_found->place = *name;
    ret_found->is_wildcard = is_wildcard;
    ret_found->labels = dname_label_count(name);
    return dname_prepend(&ret_found->place, overrides_mark());
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
            const struct slice star = slice_of("*", 1);
            struct dname wildcard = *name;
            dname_strip(&wildcard, i);
            return i < labels.count && dname_prepend(&wildcard, star) &&
                   set_found(store_child(node, star), &wildcard, true, ret_found);
        }
        node = child;
    }
    return labels.count > 0 && set_found(node, name, false, ret_found);
}
