/* Holds a lookup's state, and the subtree scan that collects its records. lookup.c finds the node
 * whose records are listed and selects from them; lookup_scan.c visits the nodes. For these two
 * alone, on the engine's thread. */
#ifndef SKYDNS_ANSWER_LOOKUP_INTERNAL_H
#define SKYDNS_ANSWER_LOOKUP_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/dns/dname.h"
#include "skydns/answer/lookup.h"
#include "skydns/answer/scan_cache_internal.h"
#include "skydns/answer/view.h"
#include "skydns/records/store.h"

/* The scan's position: the siblings still to be visited on each level, on one stack. */
struct node_stack {
    const struct store_node **items;
    size_t count, capacity;
};

struct lookup {
    const struct view *view; /* the view of the current lookup */
    const struct store_record **records;
    size_t count, capacity;
    struct node_stack nodes;
    size_t siblings_base; /* index of the first child that is being pushed */
    uint32_t *slots;      /* for deduplication: an index into records plus one; 0 is free */
    size_t slots_capacity;
    size_t visits_left;
    bool limit_hit;
    bool is_some; /* lookup_allow_some */
    uint32_t from;

    bool is_walker;
    bool is_late;
    bool (*ask_late)(void *data); /* NULL: never */
    void *ask_data;
    struct scan_cache *cached; /* NULL until the first long scan */
};

/* A name, split into the part that is listed and the pattern that selects from the listing. */
struct pattern {
    const struct dname *name;
    struct dname_labels labels;
    int wildcard; /* the rightmost label that is a wildcard; -1: none */
    bool has_dotted_label;
};

/* Counts a visit. Returns false when none is left. */
bool lookup_visit(struct lookup *lookup);

/* Adds a record to the results, which grow when needed. */
void lookup_push_record(struct lookup *lookup, const struct store_record *record);

/* Collects the node's record and the visible ones below. A name's labels bound the recursion. */
void lookup_scan_all(struct lookup *lookup, const struct view_node *at);

/* Collects what matches labels i, i - 1, ... 0 of the pattern below the node. */
void lookup_scan_matching(struct lookup *lookup, const struct view_node *at,
                          const struct pattern *pattern, int i);

/* Descends through hidden children for `levels` levels and lists what is at and below the last. */
void lookup_scan_hidden(struct lookup *lookup, const struct view_node *at, int levels);

/* Returns whether there is a record at or below the node; with is_listing, one that a listing
 * shows. It ends at the first one, after a visit for each name tried. */
bool lookup_has_records(struct lookup *lookup, const struct view_node *at, bool is_listing);

/* Returns whether the node is a leaf. A pattern with wildcards that ends at a leaf gives the leaf
 * itself: etcd had nothing to select from. */
bool lookup_is_leaf(struct lookup *lookup, const struct view_node *at);

#endif
