/* Shows the records as a client sees them: the record store without the names that are hidden from
 * it. All of skydns/answer that reads the store for an answer reads it through a view.
 *
 * The fast path reads the store itself and judges names by view_part_of's rules
 * (fast_names_internal.h). `make lint` knows the files that may call the store's own functions.
 *
 * For a namespace that visibility.h does not show to the client, the hidden names are
 * <namespace>.svc.<domain> and <namespace>.pod.<domain> of each domain of ours, and all below them.
 * In an external zone that is <namespace>.<zone>, unless etcd shows the zone to all. Records of
 * reverse names whose host is such a name are hidden, too. Nothing below a hidden name
 * is read or counted, so an answer's cost reveals nothing about it.
 *
 *     VIEW_NONE      hidden
 *     VIEW_SPACES    svc.<domain>, pod.<domain>, an external zone: namespaces are below
 *     VIEW_SOME      something below may be hidden: above those, and among reverse names
 *     VIEW_WHOLE     all that is below is shown: what the store prepares and counts for the node
 *                    (store_ready.h, store_tally.h) holds for the client
 *
 * Plain data, for one query; any thread. */
#ifndef SKYDNS_ANSWER_VIEW_H
#define SKYDNS_ANSWER_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/slice.h"
#include "common/dns/dname.h"
#include "skydns/clients/client_view.h"
#include "skydns/publish/engine_config.h"
#include "skydns/records/store.h"

/* The nodes on the way to the name that was looked up last. An answer mostly looks up the same
 * name, or names that share its end: the next search begins at the label that differs. Zeroed at
 * first. */
enum { VIEW_TRAIL_LABELS = 16 };
struct view_trail {
    uint64_t store_serial;               /* serial of the nodes' version; 0: none */
    struct dname name;                   /* lower case */
    const struct store_node *node;       /* the name's own node; NULL: it has none */
    unsigned found;                      /* how many of its labels, from the end, have nodes; */
    uint8_t ends[VIEW_TRAIL_LABELS + 1]; /* bytes from 0, 1, 2... labels to the name's end, */
    const struct store_node *nodes[VIEW_TRAIL_LABELS + 1]; /* and the node of each */
};

struct view {
    const struct store *store;           /* NULL before the first sync */
    struct view_trail *trail;            /* the thread's trail; NULL: nothing is remembered */
    const struct engine_config *config;  /* the domains */
    const struct visibility *visibility; /* NULL: nothing is hidden */
    const struct client_space *space;
};

/* Returns a client's view. `trail` is borrowed; its store versions only grow newer. */
static inline struct view view_of(const struct engine_config *config, const struct store *store,
                                  const struct client_view *client, struct view_trail *trail)
{
    bool is_limited = client->visibility && visibility_limits(client->visibility, client->space);
    return (struct view){.store = store,
                         .trail = trail,
                         .config = config,
                         .visibility = is_limited ? client->visibility : NULL,
                         .space = client->space};
}

/* Ordered: if two domains concern a name, the smaller part counts. */
enum view_part { VIEW_NONE, VIEW_SPACES, VIEW_SOME, VIEW_WHOLE };

/* Returns the part of a lower-cased name, by the name alone, whether or not it exists; its labels
 * are literal. */
enum view_part view_part_of(const struct view *view, const struct dname *name);

/* Returns whether a reverse name's record to this target, in any case, is hidden. */
bool view_hides_target(const struct view *view, struct slice target);

/* ---- Nodes ---- */

struct view_node {
    const struct store_node *node;
    enum view_part part;
    struct dname name; /* unless VIEW_WHOLE */
};

/* Finds the node of a lower-cased name. Returns false when there is none, or it is hidden. Unless
 * it is VIEW_WHOLE, all of its records may be hidden. */
bool view_find(const struct view *view, const struct dname *name, struct view_node *ret_node);

/* Does what view_below does for a parent that is not VIEW_WHOLE. */
bool view_below_some(const struct view *view, const struct view_node *parent,
                     const struct store_node *child, struct view_node *ret_child);

/* Finds a child of the parent's node, as the client sees it. Returns false when the child is
 * hidden. */
static inline bool view_below(const struct view *view, const struct view_node *parent,
                              const struct store_node *child, struct view_node *ret_child)
{
    if (parent->part == VIEW_WHOLE) {
        ret_child->node = child;
        ret_child->part = VIEW_WHOLE;
        return true;
    }
    return view_below_some(view, parent, child, ret_child);
}

/* Finds the child with this label. Returns false when there is none, or it is hidden. */
bool view_child(const struct view *view, const struct view_node *parent, struct slice label,
                struct view_node *ret_child);

/* Returns the node's own record, or NULL. */
const struct store_record *view_record(const struct view *view, const struct view_node *node);

/* Returns whether a reverse name's node has a record, hidden or not; NULL: it has no node. Without
 * a record it takes as long as view_record does to find a hidden one, so that time reveals nothing.
 */
bool view_has_record(const struct view *view, const struct view_node *node);

/* Returns whether a lower-cased name has a record that is hidden. */
bool view_hides_record(const struct view *view, const struct dname *name);

/* Call fn for the children that the client sees, like store_each_child and store_each_child_from.
 */
bool view_each_child(const struct view *view, const struct view_node *node, store_child_fn fn,
                     void *data);
void view_each_child_from(const struct view *view, const struct view_node *node, uint32_t from,
                          store_child_fn fn, void *data);

#endif
