#include "skydns/store.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/xalloc.h"
#include "skydns/store_node.h"

struct store {
    struct store_node *root;
    int64_t revision;
};

/* ---- Reading ---- */

int64_t store_revision(const struct store *store)
{
    return store->revision;
}

const struct store_node *store_root(const struct store *store)
{
    return store->root;
}

const struct store_node *store_child(const struct store_node *node, struct slice label)
{
    return label_map_find(node->children, label_hash(label), label);
}

/* Label by label from the root's end of the name. */
const struct store_node *store_find(const struct store *store, const struct dname *name,
                                    const struct store_node **ret_closest)
{
    const struct store_node *node = store->root, *child = node;
    struct dname_labels labels;
    dname_labels(name, &labels);
    for (unsigned i = labels.count; i > 0 && child; i--) {
        child = store_child(node, dname_label(name, labels.offsets[i - 1]));
        node = child ? child : node;
    }
    if (ret_closest) {
        *ret_closest = node;
    }
    return child;
}

const struct store_record *store_node_record(const struct store_node *node)
{
    return node->record;
}

struct slice store_node_label(const struct store_node *node)
{
    return store_node_label_slice(node);
}

size_t store_visible_count(const struct store_node *node)
{
    return node->visible;
}

bool store_has_children(const struct store_node *node)
{
    return node->children.slot != 0;
}

static bool is_hidden(const struct store_node *node)
{
    return node->label_len > 0 && node->label[0] == '_';
}

struct child_visit {
    store_child_fn fn;
    void *data;
};

static bool visit_child(void *data, struct store_node *node)
{
    const struct child_visit *visit = data;
    return visit->fn(visit->data, node);
}

bool store_each_child(const struct store_node *node, store_child_fn fn, void *data)
{
    struct child_visit visit = {fn, data};
    return label_map_each(node->children, visit_child, &visit);
}

struct record_visit {
    store_record_fn fn;
    void *data;
};

static bool visit_visible(void *data, struct store_node *node)
{
    const struct record_visit *visit = data;
    if (is_hidden(node) || node->visible == 0) {
        return true;
    }
    return store_each_visible(node, visit->fn, visit->data);
}

/* As deep as a name has labels, times the few levels of a label_map. */
bool store_each_visible(const struct store_node *node, store_record_fn fn, void *data)
{
    struct record_visit visit = {fn, data};
    if (node->record && !fn(data, node->record)) {
        return false;
    }
    return label_map_each(node->children, visit_visible, &visit);
}

/* ---- Garbage ---- */

struct store_garbage {
    size_t count;
    size_t cap;
    void **blocks; /* each one allocation */
};

void store_garbage_free(struct store_garbage *garbage)
{
    if (!garbage) {
        return;
    }
    for (size_t i = 0; i < garbage->count; i++) {
        free(garbage->blocks[i]);
    }
    free(garbage->blocks);
    free(garbage);
}

/* 16: the path of one change, its branches and the record. */
enum { GARBAGE_FIRST_CAP = 16 };

static void garbage_add(struct store_garbage **garbage, void *block)
{
    if (!*garbage) {
        *garbage = xcalloc(1, sizeof(**garbage));
    }
    struct store_garbage *g = *garbage;
    if (g->count == g->cap) {
        g->cap = g->cap ? g->cap * 2 : GARBAGE_FIRST_CAP;
        g->blocks = xrealloc_array(g->blocks, g->cap, sizeof(g->blocks[0]));
    }
    g->blocks[g->count++] = block;
}

void store_build_retire(struct store_build *build, uint64_t stamp, void *block)
{
    if (stamp == build->stamp) {
        free(block);
    } else {
        garbage_add(&build->garbage, block);
    }
}

/* ---- Writing ---- */

struct store_writer {
    struct store_build build;
    struct store_node *root; /* of the version being built */
    struct store *newest;    /* the last committed version; NULL before the first */
    size_t record_count;
    uint32_t generation; /* of the content; one more with each store_writer_clear */
    bool is_changed;     /* since the last commit */
    bool want_sweep;     /* records of older generations go at the commit */
};

/* The nodes from the root to a name; [0] is the root. */
struct path {
    unsigned count;
    struct store_node *nodes[DNAME_LABELS_MAX + 1];
};

static struct store_node *node_new(struct slice label, uint32_t hash,
                                   const struct store_build *build)
{
    struct store_node *node = xmalloc(sizeof(*node) + label.len);
    *node = (struct store_node){.stamp = build->stamp, .label_len = label.len, .hash = hash};
    if (label.len > 0) {
        memcpy(node->label, label.ptr, label.len);
    }
    return node;
}

/* The node itself when the build made it, else a copy. */
static struct store_node *node_writable(struct store_node *node, struct store_build *build)
{
    if (node->stamp == build->stamp) {
        return node;
    }
    struct store_node *copy = node_new(store_node_label_slice(node), node->hash, build);
    copy->record = node->record;
    copy->children = node->children;
    copy->visible = node->visible;
    store_build_retire(build, node->stamp, node);
    return copy;
}

static bool free_node(void *data, struct store_node *node)
{
    (void)data;
    (void)label_map_each(node->children, free_node, NULL); /* never stops early */
    label_map_free(node->children);
    free(node->record);
    free(node);
    return true;
}

struct store_writer *store_writer_new(void)
{
    label_hash_init();
    struct store_writer *writer = xcalloc(1, sizeof(*writer));
    writer->build.stamp = 1;
    writer->root = node_new(slice_of(NULL, 0), 0, &writer->build);
    writer->is_changed = true; /* the first commit publishes, be it an empty tree */
    return writer;
}

void store_writer_free(struct store_writer *writer)
{
    if (!writer) {
        return;
    }
    free_node(NULL, writer->root);
    store_garbage_free(writer->build.garbage);
    free(writer->newest);
    free(writer);
}

/* The record of a name in the version being built, or NULL. */
static struct store_record *find_record(const struct store_writer *writer, const struct dname *name)
{
    const struct store building = {.root = writer->root};
    const struct store_node *node = store_find(&building, name, NULL);
    return node ? node->record : NULL;
}

/* Makes all nodes down to the name, or copies them into the build. */
static void make_path(struct store_writer *writer, const struct dname *name, struct path *path)
{
    struct dname_labels labels;
    dname_labels(name, &labels);
    writer->root = node_writable(writer->root, &writer->build);
    path->nodes[0] = writer->root;
    path->count = 1;
    for (unsigned i = labels.count; i > 0; i--) {
        struct store_node *parent = path->nodes[path->count - 1];
        struct slice label = dname_label(name, labels.offsets[i - 1]);
        uint32_t hash = label_hash(label);
        struct store_node *old = label_map_find(parent->children, hash, label);
        struct store_node *node =
            old ? node_writable(old, &writer->build) : node_new(label, hash, &writer->build);
        if (node != old) {
            label_map_put(&parent->children, node, &writer->build);
        }
        path->nodes[path->count++] = node;
    }
}

/* One record more (or less) at the end of the path: for the nodes up to the first hidden one. */
static void count_visible(const struct path *path, int difference)
{
    for (unsigned i = path->count; i > 0; i--) {
        struct store_node *node = path->nodes[i - 1];
        node->visible += (uint32_t)difference;
        if (is_hidden(node)) {
            break;
        }
    }
}

static void put_record(struct store_writer *writer, const struct dname *name,
                       struct store_record *record)
{
    struct path path;
    make_path(writer, name, &path);
    struct store_node *node = path.nodes[path.count - 1];
    if (node->record) {
        garbage_add(&writer->build.garbage, node->record);
    } else {
        count_visible(&path, 1);
        writer->record_count++;
    }
    node->record = record;
    writer->is_changed = true;
}

void store_writer_put(struct store_writer *writer, const struct dname *name, struct record *record,
                      int64_t mod_revision)
{
    struct store_record *new = store_record_new(name, record, mod_revision);
    struct store_record *old = find_record(writer, name);
    record_fini(record);
    new->generation = writer->generation;
    if (old && store_record_equal(old, new)) {
        old->generation = new->generation;
        free(new);
    } else {
        put_record(writer, name, new);
    }
}

bool store_writer_set_ttl(struct store_writer *writer, const struct dname *name,
                          int64_t mod_revision, uint32_t ttl_s, bool *is_changed)
{
    struct store_record *old = find_record(writer, name);
    if (!old || old->mod_revision != mod_revision) {
        return false;
    }
    if (old->ttl_s != ttl_s) {
        struct store_record *new = store_record_copy(old);
        new->ttl_s = ttl_s;
        put_record(writer, name, new);
        *is_changed = true;
    }
    return true;
}

/* Nodes at the end of the path that hold nothing any more. They are all of this build. */
static void prune(struct store_writer *writer, const struct path *path)
{
    for (unsigned i = path->count - 1; i > 0; i--) {
        struct store_node *node = path->nodes[i];
        if (node->record || node->children.slot != 0) {
            break;
        }
        label_map_remove(&path->nodes[i - 1]->children, node, &writer->build);
        store_build_retire(&writer->build, node->stamp, node);
    }
}

void store_writer_del(struct store_writer *writer, const struct dname *name)
{
    struct store_record *record = find_record(writer, name);
    if (!record) {
        return;
    }
    struct path path;
    make_path(writer, name, &path);
    path.nodes[path.count - 1]->record = NULL;
    garbage_add(&writer->build.garbage, record);
    count_visible(&path, -1);
    writer->record_count--;
    writer->is_changed = true;
    prune(writer, &path);
}

void store_writer_clear(struct store_writer *writer)
{
    writer->generation++;
    writer->want_sweep = true;
}

size_t store_writer_count(const struct store_writer *writer)
{
    return writer->record_count;
}

/* Records of older generations, found before the first is removed. */
struct sweep {
    uint32_t generation;
    size_t count;
    size_t cap;
    const struct store_record **records;
};

static bool sweep_node(void *data, struct store_node *node)
{
    struct sweep *sweep = data;
    if (node->record && node->record->generation != sweep->generation) {
        if (sweep->count == sweep->cap) {
            sweep->cap = sweep->cap ? sweep->cap * 2 : GARBAGE_FIRST_CAP;
            sweep->records = xrealloc_array(sweep->records, sweep->cap, sizeof(sweep->records[0]));
        }
        sweep->records[sweep->count++] = node->record;
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
        garbage_add(&writer->build.garbage, writer->newest);
    }
    writer->newest = xmalloc(sizeof(*writer->newest));
    *writer->newest = (struct store){.root = writer->root, .revision = revision};
    *ret_garbage = STEAL(writer->build.garbage);
    writer->build.stamp++;
    writer->is_changed = false;
    return writer->newest;
}
