#include "skydns/records/store_loader.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/seeded_hash.h"
#include "common/base/xalloc.h"
#include "skydns/records/store_node_internal.h"
#include "skydns/records/store_ready.h"

/* A label of the last name. Its node is made when a name comes that is not below it. */
struct level {
    struct store_record *record; /* its own, or NULL */
    struct store_record *only;   /* if `visible` is 1: that one */
    size_t first_child;          /* in the loader's children: those from here on are its own */
    struct store_tally tally;    /* of what is visible at and below it so far */
    uint32_t visible;
    uint8_t end_len; /* bytes of the name from this label to its end */
};

struct store_loader {
    struct store_build build;
    struct dname name; /* the last one */
    unsigned depth;
    struct level levels[DNAME_LABELS_MAX + 1]; /* [0] is the root */
    /* Finished nodes whose parents are not: a stack. */
    struct label_child *children;
    size_t child_count;
    size_t child_cap;
    struct label_child *spare; /* room for as many as one node had at most */
    size_t spare_cap;
    size_t record_count;
    size_t rr_count; /* of them, those with `rr` */
    bool is_torn;    /* names below one did not come together */
};

enum { FIRST_CAP = 256 };

struct store_loader *store_loader_new(void)
{
    seeded_hash_init();
    struct store_loader *loader = xcalloc(1, sizeof(*loader));
    loader->build = (struct store_build){.pool = store_pool_new(), .stamp = 1};
    loader->name.len = 1;
    loader->levels[0].end_len = 1;
    loader->depth = 1;
    loader->child_cap = FIRST_CAP;
    loader->children = xrealloc_array(NULL, FIRST_CAP, sizeof(loader->children[0]));
    return loader;
}

void store_loader_expect(struct store_loader *loader, size_t records)
{
    enum { LARGE_STORE = 100000 }; /* 23 MB: beyond what the pool gives small stores */
    if (records >= LARGE_STORE) {
        store_pool_expect_much(loader->build.pool);
    }
}

/* Frees all but what a writer took over. */
static void free_loader(struct store_loader *loader)
{
    free(loader->children);
    free(loader->spare);
    free(loader);
}

void store_loader_free(struct store_loader *loader)
{
    if (!loader) {
        return;
    }
    for (size_t i = 0; i < loader->child_count; i++) {
        store_node_free(loader->children[i].node);
    }
    for (unsigned i = 0; i < loader->depth; i++) {
        store_pool_free(loader->levels[i].record);
    }
    store_pool_close(loader->build.pool);
    free_loader(loader);
}

/* ---- Nodes ---- */

static struct label_child *store_loader_push_child(struct store_loader *loader)
{
    if (loader->child_count == loader->child_cap) {
        loader->child_cap *= 2;
        loader->children =
            xrealloc_array(loader->children, loader->child_cap, sizeof(loader->children[0]));
    }
    return &loader->children[loader->child_count++];
}

/* Takes the children of the level from the stack. */
static struct label_map take_children(struct store_loader *loader, const struct level *level)
{
    struct label_map map;
    size_t count = loader->child_count - level->first_child;
    if (count > loader->spare_cap) {
        loader->spare_cap = loader->child_cap; /* grows as often as the stack */
        free(loader->spare);
        loader->spare = xrealloc_array(NULL, loader->spare_cap, sizeof(loader->spare[0]));
    }
    if (!label_map_build(&map, loader->children + level->first_child, loader->spare, count,
                         &loader->build)) {
        loader->is_torn = true;
    }
    loader->child_count = level->first_child;
    return map;
}

/* Makes the node of the deepest level, and closes that. */
static struct store_node *close_node(struct store_loader *loader, struct slice label, uint32_t hash)
{
    struct level *level = &loader->levels[--loader->depth];
    struct store_node *node = store_pool_alloc(loader->build.pool, sizeof(*node) + label.len);
    *node = (struct store_node){.stamp = loader->build.stamp,
                                .label_len = label.len,
                                .record = level->record,
                                .children = take_children(loader, level),
                                .visible = level->visible,
                                .hash = hash};
    memcpy(node->label, label.ptr, label.len);
    if (!node->record && node->visible == 1) {
        store_ready_make_single(node, level->only);
    } else if (!node->record) {
        store_ready_make(loader->build.pool, node);
    }
    return node;
}

static void close_level(struct store_loader *loader)
{
    const struct level *level = &loader->levels[loader->depth - 1];
    struct level *parent = &loader->levels[loader->depth - 2];
    const uint8_t *at = loader->name.wire + loader->name.len - level->end_len;
    struct slice label = slice_of(at + 1, at[0]);
    uint32_t hash = seeded_hash(label);
    struct store_node *node = close_node(loader, label, hash);
    struct label_child *child = store_loader_push_child(loader);
    *child = (struct label_child){.node = node, .hash = hash};
    if (!store_node_is_hidden(node)) {
        child->tally = level->tally;
        parent->visible += level->visible;
        store_tally_add(&parent->tally, &level->tally);
        if (level->visible > 0) {
            parent->only = level->only;
        }
    }
}

/* ---- Names ---- */

static const uint8_t *store_loader_end_of(const struct dname *name, size_t len)
{
    return name->wire + name->len - len;
}

static bool has_shared_end(const struct store_loader *loader, const struct dname *name,
                           size_t shared)
{
    const struct dname *last = &loader->name;
    bool is_first_root = name->len == 1 && loader->record_count == 0;
    return shared >= 1 && shared <= last->len &&
           (shared < name->len || (is_first_root && shared == 1)) &&
           memcmp(store_loader_end_of(name, shared), store_loader_end_of(last, shared), shared) ==
               0;
}

/* Opens a level for each label before the shared end. */
static bool open_levels(struct store_loader *loader, const struct dname *name, size_t shared)
{
    uint8_t offsets[DNAME_LABELS_MAX];
    unsigned count = 0;
    size_t at = 0, end = name->len - shared;
    while (at < end && name->wire[at] > 0 && name->wire[at] <= DNAME_LABEL_MAX) {
        offsets[count++] = (uint8_t)at;
        at += 1 + (size_t)name->wire[at];
    }
    if (at != end) {
        return false;
    }
    while (count > 0) {
        loader->levels[loader->depth++] = (struct level){
            .first_child = loader->child_count,
            .end_len = (uint8_t)(name->len - offsets[--count]),
        };
    }
    loader->name.len = name->len;
    memcpy(loader->name.wire, name->wire, name->len);
    return true;
}

bool store_loader_put(struct store_loader *loader, const struct dname *name, size_t shared,
                      const struct store_saved *record)
{
    if (!store_record_can_be(record) || !has_shared_end(loader, name, shared)) {
        return false;
    }
    while (loader->levels[loader->depth - 1].end_len > shared) {
        close_level(loader);
    }
    if (loader->levels[loader->depth - 1].end_len != shared || loader->is_torn ||
        !open_levels(loader, name, shared)) {
        return false;
    }
    struct level *level = &loader->levels[loader->depth - 1];
    level->record = level->only = store_record_of(loader->build.pool, name, record);
    level->tally = store_record_tally(level->record);
    level->visible = 1;
    loader->record_count++;
    loader->rr_count += level->record->lens[RECORD_RR] > 0;
    return true;
}

struct store_writer *store_loader_end(struct store_loader *loader)
{
    while (loader->depth > 1) {
        close_level(loader);
    }
    struct store_node *root = close_node(loader, slice_of("", 0), 0);
    if (loader->is_torn) {
        store_node_free(root);
        store_loader_free(loader);
        return NULL;
    }
    struct store_writer *writer =
        store_writer_of(&loader->build, root, loader->record_count, loader->rr_count);
    free_loader(loader);
    return writer;
}
