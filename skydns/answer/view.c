#include "skydns/answer/view.h"

#include <assert.h>
#include <string.h>

#include "skydns/answer/answer_kube.h"
#include "skydns/publish/reverse_zone.h"

/* ---- Names ---- */

/* Returns whether etcd says that nothing in the external zone is hidden. */
static bool view_is_zone_shown(const struct view *view, const struct engine_zone *zone)
{
    return view->store && store_find_record(view->store, &zone->shown);
}

/* Returns the part of a name in the zone. */
static enum view_part part_in(const struct view *view, const struct engine_zone *zone,
                              const struct dname *name, const struct dname_labels *labels)
{
    unsigned depth = labels->count - zone->labels;
    if (zone->is_external && view_is_zone_shown(view, zone)) {
        return VIEW_WHOLE;
    }
    if (depth == 0) {
        return zone->is_external ? VIEW_SPACES : VIEW_SOME;
    }
    if (kube_zone_tree(zone, dname_label(name, labels->offsets[depth - 1])) == KUBE_TREE_OTHER) {
        return VIEW_WHOLE;
    }
    depth = kube_zone_depth(zone, depth);
    if (depth == 1) {
        return VIEW_SPACES;
    }
    struct slice ns = dname_label(name, labels->offsets[depth - 2]);
    return visibility_shows(view->visibility, ns, view->space) ? VIEW_WHOLE : VIEW_NONE;
}

static bool is_related(const struct dname *a, const struct dname *b)
{
    return dname_is_within(a, b) || dname_is_within(b, a);
}

/* Returns whether reverse names may be at or below the name. It compares the name's end first,
 * which few names share. */
static bool may_have_reverse(const struct dname *name)
{
    static const char arpa[] = "\4arpa"; /* with the root label */
    bool may_be =
        name->len == 1 || (name->len >= sizeof(arpa) &&
                           memcmp(name->wire + name->len - sizeof(arpa), arpa, sizeof(arpa)) == 0);
    return may_be && (is_related(name, &reverse_zone_in_addr_arpa) ||
                      is_related(name, &reverse_zone_ip6_arpa));
}

enum view_part view_part_of(const struct view *view, const struct dname *name)
{
    struct dname_labels labels;
    if (!view->visibility) {
        return VIEW_WHOLE;
    }
    dname_labels(name, &labels);
    enum view_part least = may_have_reverse(name) ? VIEW_SOME : VIEW_WHOLE;
    for (size_t i = 0; i < view->config->zone_count; i++) {
        const struct engine_zone *zone = &view->config->zones[i];
        enum view_part part = dname_is_within(name, &zone->domain)
                                  ? part_in(view, zone, name, &labels)
                              : dname_is_within(&zone->domain, name) ? VIEW_SOME
                                                                     : VIEW_WHOLE;
        least = part < least ? part : least;
    }
    return least;
}

bool view_hides_target(const struct view *view, struct slice target)
{
    if (!view->visibility || target.len == 0) {
        return false;
    }
    const struct dname name = dname_lower_of(target);
    return view_part_of(view, &name) == VIEW_NONE;
}

/* ---- Nodes ---- */

static unsigned offset_from_end(const struct dname *name, const struct dname_labels *labels,
                                unsigned count)
{
    return (unsigned)name->len - labels->offsets[labels->count - count];
}

/* Returns how many labels, counted from the end, the name shares with the trail's nodes. */
static unsigned view_count_shared(const struct view_trail *t, const struct dname *name,
                                  const struct dname_labels *labels)
{
    const uint8_t *a = t->name.wire + t->name.len, *b = name->wire + name->len;
    unsigned shared = 0;
    while (shared < t->found && shared < labels->count) {
        unsigned end = offset_from_end(name, labels, shared + 1), from = t->ends[shared];
        if (end != t->ends[shared + 1] || memcmp(a - end, b - end, end - from) != 0) {
            break;
        }
        shared++;
    }
    return shared;
}

static void begin_trail(struct view_trail *t, const struct store *store)
{
    t->store_serial = store_serial(store);
    t->name.len = 0;
    t->found = 0;
    t->ends[0] = 1; /* the root label */
    t->nodes[0] = store_root(store);
}

/* Finds what store_find finds, from the trail on. */
static const struct store_node *find_node(const struct view *view, const struct dname *name)
{
    struct view_trail *t = view->trail;
    struct dname_labels labels;
    if (!t) {
        return store_find(view->store, name);
    }
    if (t->store_serial != store_serial(view->store)) {
        begin_trail(t, view->store);
    } else if (t->name.len == name->len && memcmp(t->name.wire, name->wire, name->len) == 0) {
        return t->node;
    }
    dname_labels(name, &labels);
    if (labels.count > VIEW_TRAIL_LABELS) {
        return store_find(view->store, name);
    }
    t->found = view_count_shared(t, name, &labels);
    assert(t->found <= labels.count);
    const struct store_node *node = t->nodes[t->found];
    while (t->found < labels.count && node) {
        const struct slice label = dname_label(name, labels.offsets[labels.count - t->found - 1]);
        if ((node = store_child(node, label))) {
            t->found++;
            t->ends[t->found] = (uint8_t)offset_from_end(name, &labels, t->found);
            t->nodes[t->found] = node;
        }
    }
    t->name.len = name->len;
    memcpy(t->name.wire, name->wire, name->len);
    return t->node = node;
}

bool view_find(const struct view *view, const struct dname *name, struct view_node *ret_node)
{
    ret_node->part = view_part_of(view, name);
    ret_node->node = ret_node->part == VIEW_NONE ? NULL : find_node(view, name);
    if (ret_node->part != VIEW_WHOLE) {
        ret_node->name = *name;
    }
    return ret_node->node != NULL;
}

bool view_below_some(const struct view *view, const struct view_node *parent,
                     const struct store_node *child, struct view_node *ret_child)
{
    ret_child->node = child;
    ret_child->name = parent->name;
    if (!dname_prepend(&ret_child->name, store_node_label(child))) {
        return false; /* no node has such a name */
    }
    ret_child->part = view_part_of(view, &ret_child->name);
    return ret_child->part != VIEW_NONE;
}

bool view_child(const struct view *view, const struct view_node *parent, struct slice label,
                struct view_node *ret_child)
{
    const struct store_node *child = store_child(parent->node, label);
    return child && view_below(view, parent, child, ret_child);
}

const struct store_record *view_record(const struct view *view, const struct view_node *node)
{
    const struct store_record *record = store_node_record(node->node);
    bool is_hidden = record && node->part != VIEW_WHOLE && record->host == STORE_HOST_NAME &&
                     reverse_zone_is_reverse(&node->name) &&
                     view_hides_target(view, store_record_host_wire(record));
    return is_hidden ? NULL : record;
}

/* Takes as long as view_hides_target, for no target. */
static bool hides_nothing(const struct view *view)
{
    static const char *const labels[] = {"svc", "no-namespace", "no-service"};
    struct dname name = view->config->zones[0].domain;
    bool fits = true;
    for (size_t i = 0; i < ARRAY_LEN(labels) && fits; i++) {
        fits = dname_prepend(&name, slice_str(labels[i]));
    }
    return view_part_of(view, &name) == VIEW_NONE;
}

bool view_has_record(const struct view *view, const struct view_node *node)
{
    bool has_record = node && store_node_record(node->node);
    if (!has_record && view->visibility) {
        (void)hides_nothing(view);
    }
    return has_record;
}

bool view_hides_record(const struct view *view, const struct dname *name)
{
    struct view_node node;
    return view->visibility && view_find(view, name, &node) && store_node_record(node.node) &&
           !view_record(view, &node);
}

/* ---- Children ---- */

struct each {
    const struct view *view;
    const struct view_node *parent;
    store_child_fn fn;
    void *data;
};

static bool see_child(void *data, const struct store_node *child)
{
    const struct each *each = data;
    struct view_node ignored;
    return !view_below(each->view, each->parent, child, &ignored) || each->fn(each->data, child);
}

static bool see_space(void *data, struct slice ns)
{
    const struct each *each = data;
    const struct store_node *child = store_child(each->parent->node, ns);
    return !child || see_child(data, child);
}

bool view_each_child(const struct view *view, const struct view_node *node, store_child_fn fn,
                     void *data)
{
    struct each each = {view, node, fn, data};
    switch (node->part) {
    case VIEW_WHOLE:
        return store_each_child(node->node, fn, data);
    case VIEW_SPACES:
        return visibility_each(view->visibility, view->space, see_space, &each);
    case VIEW_SOME:
        return store_each_child(node->node, see_child, &each);
    case VIEW_NONE:
        break;
    }
    return true;
}

void view_each_child_from(const struct view *view, const struct view_node *node, uint32_t from,
                          store_child_fn fn, void *data)
{
    if (node->part == VIEW_WHOLE) {
        store_each_child_from(node->node, from, fn, data);
    } else {
        (void)view_each_child(view, node, fn, data);
    }
}
