/* Collects a name's records by a subtree scan. */
#include "skydns/answer/lookup_internal.h"

#include <stdlib.h>

#include "common/base/xalloc.h"

/* Visits between two looks at the clock: some 50 microseconds. */
enum { LATE_EACH = 1024 };

bool lookup_visit(struct lookup *l)
{
    if (l->visits_left % LATE_EACH == 0 && l->is_walker && l->ask_late &&
        l->ask_late(l->ask_data)) {
        l->is_late = true;
    }
    if (l->visits_left == 0 || l->is_late) {
        l->limit_hit = true;
        return false;
    }
    l->visits_left--;
    return true;
}

void lookup_push_record(struct lookup *l, const struct store_record *record)
{
    if (l->count == l->capacity) {
        l->capacity *= 2;
        l->records = xrealloc_array(l->records, l->capacity, sizeof(const struct store_record *));
    }
    l->records[l->count++] = record;
}

static void push_node(struct node_stack *stack, const struct store_node *node)
{
    if (stack->count == stack->capacity) {
        stack->capacity *= 2;
        stack->items =
            xrealloc_array(stack->items, stack->capacity, sizeof(const struct store_node *));
    }
    stack->items[stack->count++] = node;
}

static bool is_hidden(struct slice label)
{
    return label.len > 0 && label.ptr[0] == '_';
}

static int lookup_scan_compare_labels(const void *a, const void *b)
{
    return slice_compare(store_node_label(*(const struct store_node *const *)a),
                         store_node_label(*(const struct store_node *const *)b));
}

/* Pushes a child. Siblings beyond the remaining visits cannot be visited and are not worth sorting.
 */
static bool lookup_scan_push_child(struct lookup *l, const struct store_node *child)
{
    if (l->nodes.count - l->siblings_base >= l->visits_left) {
        l->limit_hit = !l->is_some;
        return false;
    }
    push_node(&l->nodes, child);
    return true;
}

static bool push_visible_child(void *data, const struct store_node *child)
{
    bool is_wanted = !is_hidden(store_node_label(child)) && store_visible_count(child) > 0;
    return !is_wanted || lookup_scan_push_child(data, child);
}

static bool push_hidden_child(void *data, const struct store_node *child)
{
    return !is_hidden(store_node_label(child)) || lookup_scan_push_child(data, child);
}

/* Pushes the children that `push` accepts, in order; the caller pops back to the old count. */
static void push_children(struct lookup *l, const struct view_node *at, store_child_fn push)
{
    size_t base = l->siblings_base = l->nodes.count;
    if (l->is_some) {
        view_each_child_from(l->view, at, l->from, push, l);
        return;
    }
    (void)view_each_child(l->view, at, push, l);
    if (l->nodes.count - base > 1 && !l->limit_hit) {
        qsort(l->nodes.items + base, l->nodes.count - base, sizeof(const struct store_node *),
              lookup_scan_compare_labels);
    }
}

void lookup_scan_all(struct lookup *l, const struct view_node *at)
{
    const struct store_record *record = view_record(l->view, at);
    struct view_node child;
    if (record && lookup_visit(l)) {
        lookup_push_record(l, record);
    }
    size_t base = l->nodes.count;
    push_children(l, at, push_visible_child);
    size_t end = l->nodes.count;
    for (size_t i = base; i < end && !l->limit_hit; i++) {
        if (view_below(l->view, at, l->nodes.items[i], &child)) {
            lookup_scan_all(l, &child);
        }
    }
    l->nodes.count = base;
}

void lookup_scan_matching(struct lookup *l, const struct view_node *at, const struct pattern *p,
                          int i)
{
    struct view_node child;
    if (i < 0) {
        lookup_scan_all(l, at);
        return;
    }
    struct slice label = dname_label(p->name, p->labels.offsets[i]);
    if (!lookup_is_wildcard(label)) {
        if (!is_hidden(label) && view_child(l->view, at, label, &child)) {
            lookup_scan_matching(l, &child, p, i - 1);
        }
        return;
    }
    size_t base = l->nodes.count;
    push_children(l, at, push_visible_child);
    size_t end = l->nodes.count;
    for (size_t k = base; k < end && !l->limit_hit && lookup_visit(l); k++) {
        if (view_below(l->view, at, l->nodes.items[k], &child)) {
            lookup_scan_matching(l, &child, p, i - 1);
        }
    }
    l->nodes.count = base;
}

void lookup_scan_hidden(struct lookup *l, const struct view_node *at, int levels)
{
    struct view_node child;
    if (levels == 0) {
        lookup_scan_all(l, at);
        return;
    }
    size_t base = l->nodes.count;
    push_children(l, at, push_hidden_child);
    size_t end = l->nodes.count;
    for (size_t i = base; i < end && !l->limit_hit && lookup_visit(l); i++) {
        if (view_below(l->view, at, l->nodes.items[i], &child)) {
            lookup_scan_hidden(l, &child, levels - 1);
        }
    }
    l->nodes.count = base;
}

/* ---- Search for a visible record ---- */

struct search {
    struct lookup *lookup;
    const struct view_node *at;
    bool is_listing; /* only what a listing shows */
    bool has_found;
};

static bool search_child(void *data, const struct store_node *node)
{
    struct search *s = data;
    struct view_node child;
    if (s->is_listing && is_hidden(store_node_label(node))) {
        return true;
    }
    s->has_found = lookup_visit(s->lookup) && view_below(s->lookup->view, s->at, node, &child) &&
                   lookup_has_records(s->lookup, &child, s->is_listing);
    return !s->has_found && !s->lookup->limit_hit;
}

static bool has_records_below(struct lookup *l, const struct view_node *at, bool is_listing)
{
    struct search search = {.lookup = l, .at = at, .is_listing = is_listing};
    (void)view_each_child(l->view, at, search_child, &search);
    return search.has_found;
}

bool lookup_has_records(struct lookup *l, const struct view_node *at, bool is_listing)
{
    if (at->part == VIEW_WHOLE) {
        return !is_listing || store_visible_count(at->node) > 0;
    }
    return view_record(l->view, at) || has_records_below(l, at, is_listing);
}

bool lookup_is_leaf(struct lookup *l, const struct view_node *at)
{
    bool is_alone = at->part == VIEW_WHOLE ? store_visible_count(at->node) == 1
                                           : !has_records_below(l, at, true);
    return is_alone && view_record(l->view, at);
}
