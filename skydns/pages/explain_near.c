/* Names that the user may have meant: similar spellings, the same name in a sibling (another
 * namespace), and names without the `svc` before the domain. */
#include <string.h>

#include "common/base/typing_errors.h"
#include "skydns/pages/explain.h"

/* Children compared per name: a namespace of thousands is compared in part. */
enum { COMPARED_MAX = 20000 };

/* One typo or swap of neighbours per word; two in a long word. */
enum { LONG_LABEL = 8 };

struct search {
    const struct dname *parent; /* of the labels compared */
    struct slice wanted;
    const struct store *store;
    struct dname *near;
    size_t count;
    size_t compared;
};

static bool is_known(const struct search *s, const struct dname *name)
{
    for (size_t i = 0; i < s->count; i++) {
        if (dname_equal(&s->near[i], name)) {
            return true;
        }
    }
    return false;
}

static void add(struct search *s, const struct dname *name)
{
    if (s->count < EXPLAIN_NEAR_MAX && !is_known(s, name)) {
        s->near[s->count++] = *name;
    }
}

static bool see_sibling(void *data, const struct store_node *child)
{
    struct search *s = data;
    struct slice label = store_node_label(child);
    size_t allowed = s->wanted.len >= LONG_LABEL ? 2 : 1;
    struct dname name = *s->parent;
    if (typing_errors(label, s->wanted) <= allowed && dname_prepend(&name, label)) {
        add(s, &name);
    }
    return s->count < EXPLAIN_NEAR_MAX && ++s->compared < COMPARED_MAX;
}

/* The same label below a sibling of the parent. */
static bool see_cousin(void *data, const struct store_node *aunt)
{
    struct search *s = data;
    struct dname name = *s->parent;
    if (store_child(aunt, s->wanted) && dname_prepend(&name, store_node_label(aunt)) &&
        dname_prepend(&name, s->wanted)) {
        add(s, &name);
    }
    return s->count < EXPLAIN_NEAR_MAX && ++s->compared < COMPARED_MAX;
}

static void search_below(struct search *s, const struct dname *parent, store_child_fn see)
{
    const struct store_node *node = store_find(s->store, parent, NULL);
    s->parent = parent;
    s->compared = 0;
    if (node) {
        (void)store_each_child(node, see, s); /* stops when there are enough */
    }
}

/* web.default.<domain> for web.default.svc.<domain> */
static void try_service(struct search *s, const struct engine_zone *zone, const struct dname *name)
{
    struct dname tried = zone->domain;
    struct dname_labels labels;
    dname_labels(name, &labels);
    unsigned own = labels.count - zone->labels;
    bool ok = dname_prepend(&tried, slice_str("svc"));
    for (unsigned i = own; i > 0 && ok; i--) {
        ok = dname_prepend(&tried, dname_label(name, labels.offsets[i - 1]));
    }
    if (ok && store_find(s->store, &tried, NULL)) {
        add(s, &tried);
    }
}

size_t explain_near(const struct store *store, const struct engine_zone *zone,
                    const struct dname *name, const struct dname *closest,
                    struct dname near[EXPLAIN_NEAR_MAX])
{
    struct search s = {.store = store, .near = near};
    struct dname_labels labels;
    dname_labels(name, &labels);
    unsigned missing = labels.count - dname_label_count(closest);
    if (missing == 0) {
        return 0;
    }
    s.wanted = dname_label(name, labels.offsets[missing - 1]);
    search_below(&s, closest, see_sibling);
    if (dname_label_count(closest) > zone->labels) {
        struct dname above = *closest;
        dname_strip(&above, 1);
        search_below(&s, &above, see_cousin);
    }
    try_service(&s, zone, name);
    return s.count;
}
