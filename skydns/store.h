/* The records, as a tree of labels from the root: one immutable version per etcd revision
 * published. A query holds a version (snapshot.h) and walks it without locks; the writer makes the
 * next version by copying only the path to what changed.
 *
 *     (root) -- local -- cluster -- svc -- default -- web -- c88f1059   record A 10.0.0.1
 *                                                        `-- _tcp -- _http -- c88f1059   record SRV
 *
 * A node exists exactly when a record is at or below it. Children are found by label in the same
 * time whatever their number (a persistent hash trie), so a change costs the same in a namespace of
 * 100,000 services as in one of ten.
 *
 * Reading: any thread, const only. Writing: the main thread only. */
#ifndef SKYDNS_STORE_H
#define SKYDNS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/attributes.h"
#include "common/dname.h"
#include "common/err.h"
#include "common/record.h"
#include "common/slice.h"

struct store;      /* one version */
struct store_node; /* one name in it */

/* A key's value, shared by all versions in which it did not change. */
struct store_record {
    struct record record;
    struct dname name; /* of the key, the full name */
    int64_t mod_revision;
    bool host_is_name; /* host is set and is no address */
    struct dname
        host_name; /* then: the host as a name, case kept; len 0 when it is no valid name */
};

/* ---- Reading ---- */

int64_t store_revision(const struct store *store);

const struct store_node *store_root(const struct store *store);

/* The child with this label (already lower case), or NULL. */
const struct store_node *store_child(const struct store_node *node, struct slice label);

/* The node of a lower-cased name, or NULL. `ret_closest`, when not NULL, gets the deepest ancestor
 * that exists (the node itself when found). */
const struct store_node *store_find(const struct store *store, const struct dname *name,
                                    const struct store_node **ret_closest);

/* The record at exactly this name, or NULL. */
const struct store_record *store_node_record(const struct store_node *node);

/* The node's own label; empty at the root. Borrowed from the node. */
struct slice store_node_label(const struct store_node *node);

/* How many records are at or below the node, hidden ones (below a child whose label starts with
 * `_`) left out. */
size_t store_visible_count(const struct store_node *node);

bool store_has_children(const struct store_node *node);

/* Calls fn for each direct child, in no particular order, until it returns false. */
typedef bool (*store_child_fn)(void *data, const struct store_node *child);
bool store_each_child(const struct store_node *node, store_child_fn fn, void *data);

/* Calls fn for the records at and below the node, those below children that start with `_` left out
 * (as etcd v2 hid them from listings), until fn returns false. */
typedef bool (*store_record_fn)(void *data, const struct store_record *record);
bool store_each_visible(const struct store_node *node, store_record_fn fn, void *data);

/* ---- Writing ---- */

struct store_writer;

/* The writer holds the newest version and builds the next one. */
struct store_writer *store_writer_new(void);
void store_writer_free(struct store_writer *writer); /* and the version it holds */

/* Sets the record of a name. Takes ownership of the record's strings. */
void store_writer_put(struct store_writer *writer, const struct dname *name, struct record *record,
                      int64_t mod_revision);
void store_writer_del(struct store_writer *writer, const struct dname *name);

/* Everything is gone; puts that follow make the new content. Unchanged records need not be kept
 * apart: readers go on with the old version until the commit. */
void store_writer_clear(struct store_writer *writer);

/* What the commit replaced, to be freed when no reader can hold it any more. Opaque; NULL when
 * nothing was. */
struct store_garbage;
void store_garbage_free(struct store_garbage *garbage);

/* Ends the build: the version to publish (owned by the writer, valid until its garbage is freed)
 * and what it replaced. */
const struct store *store_writer_commit(struct store_writer *writer, int64_t revision,
                                        struct store_garbage **ret_garbage);

#endif
