/* Makes the next version. store.c reads. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/cleanup.h"
#include "common/base/seeded_hash.h"
#include "common/base/xalloc.h"
#include "skydns/records/store_garbage.h"
#include "skydns/records/store_node_internal.h"
#include "skydns/records/store_ready.h"

/* The first capacity of the lists of fresh nodes and of records to sweep: a change makes a few. */
enum { FIRST_CAP = 16 };

/* The room that stays for a burst; the first full read's is freed. */
enum { FRESH_KEPT_MAX = 4096 };

void store_build_retire(struct store_build *build, uint64_t stamp, void *block)
{
    if (stamp == build->stamp) {
        store_pool_free(block);
    } else {
        store_garbage_add(&build->garbage, stamp, block);
    }
}

/* ---- Writing ---- */

/* The nodes that a build made, each once: at its end their answers are prepared (store_ready.h). A
 * node removed again stays allocated until then. */
struct fresh_nodes {
    size_t count;
    size_t cap;
    struct store_node **items;
};

struct store_writer {
    struct store_build build;
    struct fresh_nodes fresh;
    struct store_node *root;       /* of the version being built */
    struct store *newest;          /* the last committed version; NULL before the first */
    const struct store *overrides; /* of that one, borrowed */
    size_t record_count;
    size_t rr_count;     /* of them, those with `rr` */
    uint32_t generation; /* of the content; incremented by each store_writer_clear */
    bool is_changed;     /* since the last commit */
    bool has_changed;    /* by the last put or del */
    bool want_sweep;     /* the commit removes records of older generations */
};

/* The nodes from the root to a name; [0] is the root. */
struct path {
    unsigned count;
    struct store_node *nodes[DNAME_LABELS_MAX + 1];
};

static struct store_node *node_new(struct store_writer *writer, struct slice label, uint32_t hash)
{
    struct fresh_nodes *fresh = &writer->fresh;
    struct store_node *node = store_pool_alloc(writer->build.pool, sizeof(*node) + label.len);
    *node = (struct store_node){.stamp = writer->build.stamp, .label_len = label.len, .hash = hash};
    if (label.len > 0) {
        memcpy(node->label, label.ptr, label.len);
    }
    if (fresh->count == fresh->cap) {
        fresh->cap = fresh->cap ? fresh->cap * 2 : FIRST_CAP;
        fresh->items = xrealloc_array(fresh->items, fresh->cap, sizeof(fresh->items[0]));
    }
    fresh->items[fresh->count++] = node;
    return node;
}

/* Returns the node itself when the build made it, else a copy without its outdated prepared answer.
 */
static struct store_node *node_writable(struct store_writer *writer, struct store_node *node)
{
    struct store_build *build = &writer->build;
    if (node->stamp == build->stamp) {
        return node;
    }
    struct store_node *copy = node_new(writer, store_node_label_slice(node), node->hash);
    copy->children = node->children;
    copy->visible = node->visible;
    copy->record = store_node_own_record(node);
    if (node->has == STORE_NODE_READY) {
        store_build_retire(build, node->stamp, node->ready);
    }
    store_build_retire(build, node->stamp, node);
    return copy;
}

static bool free_node(void *data UNUSED, struct store_node *node)
{
    (void)label_map_each(node->children, free_node, NULL); /* never stops early */
    label_map_free(node->children);
    if (node->has != STORE_NODE_SINGLE) {
        store_pool_free(node->record); /* or the prepared answer */
    }
    store_pool_free(node);
    return true;
}

void store_node_free(struct store_node *node)
{
    (void)free_node(NULL, node); /* always true */
}

struct store_writer *store_writer_new(void)
{
    seeded_hash_init();
    struct store_writer *writer = xcalloc(1, sizeof(*writer));
    writer->build = (struct store_build){.pool = store_pool_new(), .stamp = 1};
    writer->root = node_new(writer, slice_of(NULL, 0), 0);
    writer->is_changed = true; /* the first commit publishes even an empty tree */
    return writer;
}

struct store_writer *store_writer_of(const struct store_build *build, struct store_node *root,
                                     size_t record_count, size_t rr_count)
{
    struct store_writer *writer = xcalloc(1, sizeof(*writer));
    writer->build = *build;
    writer->build.stamp++; /* the tree has its answers: it is of a build that has ended */
    writer->root = root;
    writer->record_count = record_count;
    writer->rr_count = rr_count;
    writer->is_changed = true;
    return writer;
}

void store_writer_free(struct store_writer *writer)
{
    if (!writer) {
        return;
    }
    store_node_free(writer->root);
    store_garbage_free(writer->build.garbage);
    store_pool_free(writer->newest);
    store_pool_close(writer->build.pool);
    free(writer->fresh.items);
    free(writer);
}

/* Returns the record of a name in the version being built, or NULL. */
static struct store_record *find_record(const struct store_writer *writer, const struct dname *name)
{
    const struct store building = {.root = writer->root};
    const struct store_node *node = store_find(&building, name);
    return node ? store_node_own_record(node) : NULL;
}

const struct store_record *store_writer_find(const struct store_writer *writer,
                                             const struct dname *name)
{
    return find_record(writer, name);
}

/* Creates all nodes down to the name, or copies them into the build. */
static void make_path(struct store_writer *writer, const struct dname *name, struct path *path)
{
    struct dname_labels labels;
    dname_labels(name, &labels);
    writer->root = node_writable(writer, writer->root);
    path->nodes[0] = writer->root;
    path->count = 1;
    for (unsigned i = labels.count; i > 0; i--) {
        struct store_node *parent = path->nodes[path->count - 1];
        struct slice label = dname_label(name, labels.offsets[i - 1]);
        uint32_t hash = seeded_hash(label);
        struct store_node *old = label_map_find(parent->children, hash, label);
        struct store_node *node = old ? node_writable(writer, old) : node_new(writer, label, hash);
        if (node != old) {
            label_map_put(&parent->children, node, &writer->build);
        }
        path->nodes[path->count++] = node;
    }
}

static bool record_has_rrs(const struct store_record *record)
{
    return record && record->lens[RECORD_RR] > 0;
}

/* Counts the change of the record at the path's end, NULL for none, up to and including the first
 * hidden node. */
static void store_writer_count_change(struct store_writer *writer, const struct path *path,
                                      const struct store_record *old,
                                      const struct store_record *new)
{
    writer->rr_count += (size_t)record_has_rrs(new) - (size_t)record_has_rrs(old);
    struct store_tally change = {0};
    if (new) {
        change = store_record_tally(new);
    }
    if (old) {
        struct store_tally less = store_record_tally(old);
        store_tally_subtract(&change, &less);
    }
    for (unsigned i = path->count; i > 0; i--) {
        struct store_node *node = path->nodes[i - 1];
        node->visible += (uint32_t)(new != NULL) - (uint32_t)(old != NULL);
        if (store_node_is_hidden(node)) {
            break;
        }
        if (i > 1) {
            label_map_count(path->nodes[i - 2]->children, node, &change);
        }
    }
}

static void store_writer_put_record(struct store_writer *writer, const struct dname *name,
                                    struct store_record *record)
{
    struct path path;
    make_path(writer, name, &path);
    struct store_node *node = path.nodes[path.count - 1];
    store_writer_count_change(writer, &path, node->record, record);
    if (node->record) {
        store_garbage_add_record(&writer->build.garbage, node->record);
    } else {
        writer->record_count++;
    }
    node->record = record;
    writer->is_changed = true;
}

bool store_writer_has_changed(const struct store_writer *writer)
{
    return writer->has_changed;
}

/* Compares what was written; the rest of a lease does not count. */
static bool says_the_same(const struct store_record *old, struct store_record *new)
{
    uint32_t ttl_s = new->ttl_s;
    new->ttl_s = old->is_leased &&new->is_leased ? old->ttl_s : ttl_s;
    bool is_same = store_record_same_content(old, new);
    new->ttl_s = ttl_s;
    return is_same;
}

enum store_host store_writer_put_view(struct store_writer *writer, const struct dname *name,
                                      const struct record *record, int64_t mod_revision)
{
    struct store_record *new = store_record_new(writer->build.pool, name, record, mod_revision);
    struct store_record *old = find_record(writer, name);
    enum store_host host = (enum store_host) new->host;
    new->generation = writer->generation;
    writer->has_changed = !old || !says_the_same(old, new);
    if (old && store_record_equal(old, new)) {
        old->generation = new->generation;
        store_pool_free(new);
    } else {
        store_writer_put_record(writer, name, new);
    }
    return host;
}

bool store_writer_set_ttl(struct store_writer *writer, const struct dname *name,
                          int64_t mod_revision, uint32_t ttl_s, bool *is_changed)
{
    struct store_record *old = find_record(writer, name);
    if (!old || old->mod_revision != mod_revision) {
        return false;
    }
    if (old->ttl_s != ttl_s) {
        struct store_record *new = store_record_copy(writer->build.pool, old);
        new->ttl_s = ttl_s;
        store_writer_put_record(writer, name, new);
        *is_changed = true;
    }
    return true;
}

/* Removes the nodes at the end of the path that are empty now. All belong to this build. */
static void store_writer_prune(struct store_writer *writer, const struct path *path)
{
    for (unsigned i = path->count - 1; i > 0; i--) {
        struct store_node *node = path->nodes[i];
        if (node->record || node->children.slot != 0) {
            break;
        }
        label_map_remove(&path->nodes[i - 1]->children, node, &writer->build);
        /* Not freed yet: `fresh` still has it. */
        store_garbage_add(&writer->build.garbage, writer->build.stamp, node);
    }
}

void store_writer_del(struct store_writer *writer, const struct dname *name)
{
    struct store_record *record = find_record(writer, name);
    writer->has_changed = record != NULL;
    if (!record) {
        return;
    }
    struct path path;
    make_path(writer, name, &path);
    path.nodes[path.count - 1]->record = NULL;
    store_garbage_add_record(&writer->build.garbage, record);
    store_writer_count_change(writer, &path, record, NULL);
    writer->record_count--;
    writer->is_changed = true;
    store_writer_prune(writer, &path);
}

void store_writer_clear(struct store_writer *writer)
{
    writer->generation++;
    writer->want_sweep = writer->record_count > 0; /* the first read has nothing to sweep */
}

size_t store_writer_count(const struct store_writer *writer)
{
    return writer->record_count;
}

/* Records of older generations, collected before the first is removed. */
struct sweep {
    uint32_t generation;
    size_t count;
    size_t cap;
    const struct store_record **records;
};

static bool sweep_node(void *data, struct store_node *node)
{
    struct sweep *sweep = data;
    struct store_record *record = store_node_own_record(node);
    if (record && record->generation != sweep->generation) {
        if (sweep->count == sweep->cap) {
            sweep->cap = sweep->cap ? sweep->cap * 2 : FIRST_CAP;
            sweep->records = xrealloc_array(sweep->records, sweep->cap, sizeof(sweep->records[0]));
        }
        sweep->records[sweep->count++] = record;
    }
    return label_map_each(node->children, sweep_node, sweep);
}

static void sweep_old(struct store_writer *writer)
{
    struct sweep sweep = {.generation = writer->generation};
    (void)sweep_node(&sweep, writer->root); /* never stops early */
    for (size_t i = 0; i < sweep.count; i++) {
        struct dname name;
        store_record_name(sweep.records[i], &name);
        store_writer_del(writer, &name);
    }
    free(sweep.records);
}

/* Prepares the answers. Nodes with a record of their own need none. */
static void make_ready(struct store_writer *writer)
{
    for (size_t i = 0; i < writer->fresh.count; i++) {
        struct store_node *node = writer->fresh.items[i];
        if (!node->record) {
            store_ready_make(writer->build.pool, node);
        }
    }
    writer->fresh.count = 0;
    if (writer->fresh.cap > FRESH_KEPT_MAX) {
        free(writer->fresh.items);
        writer->fresh = (struct fresh_nodes){0};
    }
}

void store_writer_touch(struct store_writer *writer)
{
    writer->is_changed = true;
}

void store_writer_set_overrides(struct store_writer *writer, const struct store *overrides)
{
    assert(writer->newest);
    writer->overrides = writer->newest->overrides = overrides;
}

const struct store *store_writer_commit(struct store_writer *writer, int64_t revision,
                                        struct store_garbage **ret_garbage)
{
    if (writer->want_sweep) {
        sweep_old(writer);
        writer->want_sweep = false;
    }
    *ret_garbage = NULL;
    if (!writer->is_changed) {
        return writer->newest;
    }
    if (writer->newest) {
        store_garbage_add(&writer->build.garbage, writer->newest->serial, writer->newest);
    }
    make_ready(writer);
    writer->newest = store_pool_alloc(writer->build.pool, sizeof(*writer->newest));
    *writer->newest = (struct store){.root = writer->root,
                                     .revision = revision,
                                     .serial = writer->build.stamp,
                                     .rr_count = writer->rr_count,
                                     .overrides = writer->overrides};
    store_garbage_end(writer->build.garbage, writer->build.stamp);
    *ret_garbage = STEAL(writer->build.garbage);
    writer->build.stamp++;
    writer->is_changed = false;
    return writer->newest;
}
