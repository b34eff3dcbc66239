/* Look-ups of several names at once. A look-up reads three or four blocks, each found through the
 * one before, and with 10,000 services most of them are only in memory, a hundred nanoseconds away.
 * Several walks, each taking one step and asking for what its next step reads, wait for all their
 * memory together. A walk ends where store_find does. Any thread that has the version. */
#ifndef SKYDNS_STORE_STORE_WALK_H
#define SKYDNS_STORE_STORE_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "skydns/store/store.h"

enum { STORE_WALK_PASSED_MAX = 8 }; /* a port of a service is the fifth below the domain */

struct store_walk {
    /* The caller's: the labels below where the walk begins, in lower case, as a name has them:
     * their length bytes at these offsets, the last one the first to be looked for. Borrowed. */
    const uint8_t *name;
    const uint8_t *offsets;
    unsigned count;

    /* The result, when no step is left: the node of the name; NULL: there is none. */
    const struct store_node *node;
    unsigned passed_count;                                  /* nodes found on the way, with it */
    const struct store_node *passed[STORE_WALK_PASSED_MAX]; /* of longer ways the first ones */

    uintptr_t slot; /* of a label map: what the next step reads; 0: it is over */
    unsigned level; /* in the map */
    uint32_t hash;  /* of the label that is looked for */
};

/* The caller has set name, offsets and count. */
void store_walk_begin(struct store_walk *walk, const struct store_node *from);

/* One step. False: there is none left. */
bool store_walk_step(struct store_walk *walk);

/* All that are left, of a walk by itself. */
void store_walk_finish(struct store_walk *walk);

#endif
