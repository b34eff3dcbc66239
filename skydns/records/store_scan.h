/* Batched lookup: several names at once. A lookup reads three or four blocks, each found through
 * the previous one, and with 10,000 services most of them miss the cache and are a hundred
 * nanoseconds away. Several walks, each taking one step and prefetching what its next step reads,
 * wait for all their memory together. A walk ends where store_find does. Any thread with the
 * version. */
#ifndef SKYDNS_RECORDS_STORE_SCAN_H
#define SKYDNS_RECORDS_STORE_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "skydns/records/store.h"

enum { STORE_SCAN_PASSED_MAX = 8 }; /* a port of a service is the fifth below the domain */

struct store_scan {
    /* Set by the caller, borrowed: the labels below the start of the walk, in lower-case wire form,
     * with their length bytes at these offsets. The last one is looked up first. */
    const uint8_t *name;
    const uint8_t *offsets;
    unsigned count;

    /* The result, when no step is left: the name's node, or NULL. */
    const struct store_node *node;
    unsigned passed_count;                                  /* nodes found, `node` included */
    const struct store_node *passed[STORE_SCAN_PASSED_MAX]; /* the first ones of a long walk */

    uintptr_t slot; /* of a label map: what the next step reads; 0: finished */
    unsigned level; /* in the map */
    uint32_t hash;  /* of the label being looked up */
};

/* The caller has set name, offsets and count. */
void store_scan_begin(struct store_scan *scan, const struct store_node *from);

/* Takes one step. False: none is left. */
bool store_scan_step(struct store_scan *scan);

/* Takes all remaining steps of a single walk. */
void store_scan_finish(struct store_scan *scan);

#endif
