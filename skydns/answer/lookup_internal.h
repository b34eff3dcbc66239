/* A lookup's state, and the walk that collects its records: lookup.c finds where a name's records
 * are listed and what becomes of them, lookup_scan.c goes there. For these two alone; on the
 * engine's thread. */
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

/* The walk's position: the siblings still to be visited on each level, on one stack. */
struct node_stack {
    const struct store_node **items;
    size_t count, capacity;
};

struct lookup {
    const struct view *view; /* of the lookup being made */
    const struct store_record **records;
    size_t count, capacity;
    struct node_stack nodes;
    size_t siblings_base; /* where the children now being pushed begin */
    uint32_t *slots;      /* of de-duplication: an index into records plus one; 0 is free */
    size_t slots_capacity;
    size_t visits_left;
    bool limit_hit;
    bool is_some; /* lookup_allow_some */
    uint32_t from;

    bool is_walker;
    bool is_late;
    bool (*ask_late)(void *data); /* NULL: never */
    void *ask_data;
    struct scan_cache *cached; /* NULL until the first walk */
};

/* A name split into the part that is listed and the pattern that selects from the listing. */
struct pattern {
    const struct dname *name;
    struct dname_labels labels;
    int wildcard; /* the rightmost label that is a wildcard; -1: none */
    bool has_dotted_label;
};

/* Counts a visit. False: none is left. */
bool lookup_visit(struct lookup *lookup);

void lookup_push_record(struct lookup *lookup, const struct store_record *record);

/* Collects the node's record and the visible ones below. A name's labels bound the recursion. */
void lookup_scan_all(struct lookup *lookup, const struct view_node *at);

/* Collects what matches labels i, i - 1, ... 0 of the pattern below the node. */
void lookup_scan_matching(struct lookup *lookup, const struct view_node *at,
                          const struct pattern *pattern, int i);

/* Descends through hidden children for `levels` levels and lists what is at and below the last. */
void lookup_scan_hidden(struct lookup *lookup, const struct view_node *at, int levels);

/* Whether there is a record at or below; is_listing: one that a listing shows. Ends at the first
 * one: a visit for each name tried until then. */
bool lookup_has_records(struct lookup *lookup, const struct view_node *at, bool is_listing);

/* A path with wildcards to a leaf gives the leaf itself: etcd had nothing to select from. */
bool lookup_is_leaf(struct lookup *lookup, const struct view_node *at);

#endif
