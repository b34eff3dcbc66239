/* Defines a node of the record store, and what a build may do to it. For store*.c and label_map.c
 * alone.
 *
 * A build makes the next version from the last one. A block that the build itself made carries the
 * build's stamp: no reader can see it yet, so it is changed in place. Any other block belongs to
 * published versions: it is copied, and the old one becomes garbage. A block of the build is
 * reachable only through blocks of the build. */
#ifndef SKYDNS_RECORDS_STORE_NODE_INTERNAL_H
#define SKYDNS_RECORDS_STORE_NODE_INTERNAL_H

#include <string.h>

#include "skydns/records/label_map_internal.h"
#include "skydns/records/store.h"
#include "skydns/records/store_pool_internal.h"

struct store_ready;
struct store_saved;

struct store {
    struct store_node *root;
    int64_t revision;
    uint64_t serial; /* unique to each version */
    size_t rr_count; /* records with `rr` */
    const struct store *overrides;
};

/* The kind of a node's pointer. The end of the build sets the last two (store_ready.h). */
enum store_node_has {
    STORE_NODE_RECORD, /* the node's own, or NULL */
    STORE_NODE_SINGLE, /* the record of a node below, which owns it */
    STORE_NODE_READY,
};

/* A node. Kept small: a service has five or six. */
struct store_node {
    uint64_t stamp : 55; /* at 10,000 builds a second, good for 100,000 years */
    uint64_t label_len : 7;
    uint64_t has : 2; /* enum store_node_has */
    union {
        struct store_record *record;
        struct store_ready *ready;
    };
    struct label_map children;
    uint32_t visible; /* records at or below that a listing from here shows */
    uint32_t hash;    /* of the label */
    char label[];
};

struct store_build {
    struct store_pool *pool; /* of all blocks */
    uint64_t stamp;
    struct store_garbage *garbage;
};

/* Frees a block at once if the build made it; otherwise makes it garbage. */
void store_build_retire(struct store_build *build, uint64_t stamp, void *block);

static inline struct slice store_node_label_slice(const struct store_node *node)
{
    return slice_of(node->label, node->label_len);
}

/* Returns whether listings hide the node. */
static inline bool store_node_is_hidden(const struct store_node *node)
{
    return node->label_len > 0 && node->label[0] == '_';
}

static inline bool store_node_has_label(const struct store_node *node, uint32_t hash,
                                        struct slice label)
{
    return node->hash == hash && node->label_len == label.len &&
           memcmp(node->label, label.ptr, label.len) == 0;
}

static inline struct store_record *store_node_own_record(const struct store_node *node)
{
    return node->has == STORE_NODE_RECORD ? node->record : NULL;
}

/* Makes the block of a record: a copy of everything in `record`. */
struct store_record *store_record_new(struct store_pool *pool, const struct dname *name,
                                      const struct record *record, int64_t mod_revision);

/* Makes the same from its fields, which must be those of a record (store_record_can_be). */
struct store_record *store_record_of(struct store_pool *pool, const struct dname *name,
                                     const struct store_saved *saved);

/* Returns whether a store_record can have these fields: sound host bytes, a TTL in range, no string
 * too long. */
bool store_record_can_be(const struct store_saved *saved);

struct store_record *store_record_copy(struct store_pool *pool, const struct store_record *record);

/* Frees a node that no version holds, and all below it. */
void store_node_free(struct store_node *node);

/* Returns a writer whose next commit publishes this tree, and which takes the build over. The
 * tree's nodes have their answers prepared, and changes until then replace them. */
struct store_writer *store_writer_of(const struct store_build *build, struct store_node *root,
                                     size_t record_count, size_t rr_count);

/* Returns whether the two say the same: all that answers may have. The TTL counts. */
bool store_record_same_content(const struct store_record *a, const struct store_record *b);

/* Returns whether the two say the same and are of the same revision. */
bool store_record_equal(const struct store_record *a, const struct store_record *b);

#endif
