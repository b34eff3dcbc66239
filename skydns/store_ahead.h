/* Walks to names that are about to be looked up, so that what the look-ups will read is in the
 * processor's cache by then. A look-up reads three or four blocks, each found through the one
 * before, and with 10,000 services most of them are only in memory, a hundred nanoseconds away.
 * Several walks, each taking one step and asking for what its next step reads, wait for all their
 * memory together. A hint: nothing is found here, nothing changes. Any thread that has the version.
 */
#ifndef SKYDNS_STORE_AHEAD_H
#define SKYDNS_STORE_AHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "skydns/store.h"

enum { STORE_AHEAD_LABELS_MAX = 16 }; /* of longer names the first ones */

struct store_ahead {
    uintptr_t slot; /* of a label map: what the next step reads */
    unsigned level; /* in the map */
    unsigned count; /* of the labels below where it begins */
    unsigned at;    /* the one being looked for; count: the node is found */
    uint32_t hashes[STORE_AHEAD_LABELS_MAX]; /* of the labels, downwards */
};

/* The caller sets count and hashes. */
void store_ahead_begin(struct store_ahead *ahead, const struct store_node *from);

/* One step. False: there is none left. */
bool store_ahead_step(struct store_ahead *ahead);

/* The node that the walk has come to in the end; NULL: there is none, as far as hashes tell. */
const struct store_node *store_ahead_found(const struct store_ahead *ahead);

#endif
