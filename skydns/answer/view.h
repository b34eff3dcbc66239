/* The records as a client sees them: the tree of the store without the names that are hidden from
 * it. All of skydns/answer that reads the store for an answer reads it through a view; what the
 * fast path reads itself, it judges by view_part_of's rules (fast_names_internal.h). `make lint`
 * knows the files that may call the store's own functions.
 *
 * Hidden are, for a namespace that visibility.h does not show to the client, the names
 * <namespace>.svc.<domain> and <namespace>.pod.<domain> of each domain of ours, and all below them;
 * and the records of reverse names whose host is such a name. Nothing is read below a hidden name,
 * nor counted, so what an answer costs tells nothing about it, either.
 *
 *     VIEW_NONE      hidden
 *     VIEW_SPACES    svc.<domain>, pod.<domain>: what is below is namespaces
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

/* The nodes on the way to the name that was looked up last. Most names that an answer looks up are
 * the same one, or share its end: the next search begins where the two part. Zeroed at first. */
enum { VIEW_TRAIL_LABELS = 16 };
struct view_trail {
    uint64_t store_serial;               /* of the version that the nodes are of; 0: none */
    struct dname name;                   /* lower case */
    const struct store_node *node;       /* its own; NULL: it has none */
    unsigned found;                      /* of its labels, from the end, that have nodes: */
    uint8_t ends[VIEW_TRAIL_LABELS + 1]; /* of none, one, two labels: bytes to the name's end, */
    const struct store_node *nodes[VIEW_TRAIL_LABELS + 1]; /* and their node */
};

struct view {
    const struct store *store;           /* NULL before the first sync */
    struct view_trail *trail;            /* of this thread; NULL: nothing is remembered */
    const struct engine_config *config;  /* the domains */
    const struct visibility *visibility; /* NULL: nothing is hidden */
    const struct client_space *space;
};

/* `trail` is borrowed, for store versions that only grow newer. */
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

/* In this order: of two domains that a name has to do with, the smaller one counts. */
enum view_part { VIEW_NONE, VIEW_SPACES, VIEW_SOME, VIEW_WHOLE };

/* By the lower-cased name alone, whether or not it exists; its labels are as written. */
enum view_part view_part_of(const struct view *view, const struct dname *name);

/* Whether a record that points to this name, in any case, may not be shown at a reverse name. */
bool view_hides_target(const struct view *view, struct slice target);

/* ---- Nodes ---- */

struct view_node {
    const struct store_node *node;
    enum view_part part;
    struct dname name; /* unless VIEW_WHOLE */
};

/* The node of a lower-cased name. False: there is none, or it is hidden. Unless it is VIEW_WHOLE,
 * perhaps all of its records are hidden. */
bool view_find(const struct view *view, const struct dname *name, struct view_node *ret_node);

bool view_below_some(const struct view *view, const struct view_node *parent,
                     const struct store_node *child, struct view_node *ret_child);

/* A child of the parent's node, as the client sees it; false: it does not. */
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

bool view_child(const struct view *view, const struct view_node *parent, struct slice label,
                struct view_node *ret_child);

/* The record of exactly this name, or NULL. */
const struct store_record *view_record(const struct view *view, const struct view_node *node);

/* Whether a reverse name's node has a record, hidden or not; NULL: it has no node. If not, takes as
 * long as view_record does to find that one is hidden: so time tells nothing of what is. */
bool view_has_record(const struct view *view, const struct view_node *node);

/* Whether a lower-cased name has a record that may not be shown. */
bool view_hides_record(const struct view *view, const struct dname *name);

/* As store_each_child and store_each_child_from. */
bool view_each_child(const struct view *view, const struct view_node *node, store_child_fn fn,
                     void *data);
void view_each_child_from(const struct view *view, const struct view_node *node, uint32_t from,
                          store_child_fn fn, void *data);

#endif
