/* Looks up several names at once. Any thread with the version.
 *
 * A lookup reads three or four blocks, each found through the previous one. With 10,000 services
 * most of them miss the cache and are a hundred nanoseconds away. Several scans, each taking one
 * step and prefetching the memory of its next, wait for all of it together. A scan ends at the node
 * that store_find finds. */
#ifndef SKYDNS_RECORDS_STORE_SCAN_H
#define SKYDNS_RECORDS_STORE_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "skydns/records/store.h"

enum { STORE_SCAN_PASSED_MAX = 8 }; /* a port of a service is the fifth below the domain */

struct store_scan {
    /* Set by the caller, borrowed: the labels below the start of the scan, in lower-case wire form,
     * with their length bytes at these offsets. The last one is looked up first. */
    const uint8_t *name;
    const uint8_t *offsets;
    unsigned count;

    /* The result, when no step is left: the name's node, or NULL. */
    const struct store_node *node;
    unsigned passed_count;                                  /* nodes found, `node` included */
    const struct store_node *passed[STORE_SCAN_PASSED_MAX]; /* the first ones of a long scan */

    uintptr_t slot; /* of a label map: the slot that the next step reads; 0: finished */
    unsigned level; /* in the map */
    uint32_t hash;  /* of the label being looked up */
};

/* Begins a scan. The caller has set name, offsets and count. */
void store_scan_begin(struct store_scan *scan, const struct store_node *from);

/* Takes one step. Returns false when none is left. */
bool store_scan_step(struct store_scan *scan);

/* Takes all remaining steps of a single scan. */
void store_scan_finish(struct store_scan *scan);

#endif
