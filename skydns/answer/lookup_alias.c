/* Decides whether a name is an alias (lookup.h). */
#include "skydns/answer/lookup.h"
#include "skydns/records/store_ready.h"

/* Returns whether the record is a host name and nothing else but texts, which are the alias's TXT
 * data. A port makes it SRV data and `mail` MX data, of which a name can have several. */
static bool is_bare_name(const struct store_record *r)
{
    return r->host == STORE_HOST_NAME && r->port == 0 && !r->mail;
}

static bool has_hidden_label(const struct store_node *node)
{
    struct slice label = store_node_label(node);
    return label.len > 0 && label.ptr[0] == '_';
}

/* Bounds the names tried if something may be hidden from the client. A name that needs more is no
 * alias. */
enum { TRIED_MAX = 16 * STORE_READY_MAX };

/* The records at and below a name, as far as a listing shows them. */
struct listing {
    const struct view *view;
    const struct view_node *at;
    unsigned tried, count;
    bool is_bare; /* nothing but host names */
};

static bool lookup_alias_list(struct listing *l, const struct view_node *at);

static bool list_child(void *data, const struct store_node *node)
{
    struct listing *l = data;
    const struct view_node *at = l->at;
    struct view_node child;
    if (has_hidden_label(node) || store_visible_count(node) == 0) {
        return true;
    }
    if (l->tried++ == TRIED_MAX) {
        return l->is_bare = false;
    }
    bool is_bare = !view_below(l->view, at, node, &child) || lookup_alias_list(l, &child);
    l->at = at;
    return is_bare;
}

/* Lists the node and those below it. Returns false when the name is no alias. */
static bool lookup_alias_list(struct listing *l, const struct view_node *at)
{
    const struct store_record *record = view_record(l->view, at);
    l->count += record != NULL;
    l->is_bare = l->is_bare && l->count <= STORE_READY_MAX && (!record || is_bare_name(record));
    l->at = at;
    return l->is_bare && view_each_child(l->view, at, list_child, l);
}

struct first {
    const struct view *view;
    const struct view_node *at;
    const struct store_node *node;
};

static bool has_listed(const struct view *view, const struct view_node *at)
{
    struct listing listing = {.view = view, .is_bare = true};
    (void)lookup_alias_list(&listing, at);
    return listing.count > 0;
}

static bool keep_first(void *data, const struct store_node *node)
{
    struct first *f = data;
    struct view_node child;
    bool is_first =
        !has_hidden_label(node) &&
        (!f->node || slice_compare(store_node_label(node), store_node_label(f->node)) < 0);
    if (is_first && view_below(f->view, f->at, node, &child) && has_listed(f->view, &child)) {
        f->node = node;
    }
    return true;
}

/* Returns the first listed record in key order; the node has one. */
static const struct store_record *first_listed(const struct view *view, struct view_node at)
{
    const struct store_record *record;
    while (!(record = view_record(view, &at))) {
        struct first first = {.view = view, .at = &at};
        struct view_node child;
        (void)view_each_child(view, &at, keep_first, &first);
        if (!first.node || !view_below(view, &at, first.node, &child)) {
            break;
        }
        at = child;
    }
    return record;
}

const struct store_record *lookup_alias(const struct view *view, const struct dname *name)
{
    struct view_node at;
    if (!lookup_find_literal(view, name, &at)) {
        return NULL;
    }
    const struct store_record *own = view_record(view, &at);
    if (own) {
        return own->host == STORE_HOST_NAME ? own : NULL;
    }
    if (at.part == VIEW_WHOLE && store_visible_count(at.node) > STORE_READY_MAX) {
        return NULL;
    }
    struct listing listing = {.view = view, .is_bare = true};
    return lookup_alias_list(&listing, &at) && listing.count > 0 ? first_listed(view, at) : NULL;
}
