/* Holds the latest changes that etcd confirmed, with their times since the API's event, for pages.
 * Plain data; on the main loop. */
#ifndef KUBE2SKY_RECONCILE_CHANGE_RING_H
#define KUBE2SKY_RECONCILE_CHANGE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"

/* A page shows 20. The id of a usual Service has some 40 bytes, and longer ones are cut. All
 * entries take 20 KB. */
enum { CHANGES_KEPT = 64, CHANGE_OWNER_MAX = 255 };

struct change {
    char owner[CHANGE_OWNER_MAX + 1]; /* "svc/default/web" */
    int64_t time_ms;                  /* Unix time of etcd's confirmation */
    int64_t revision;                 /* of the transaction; for a large plan, of its last one */
    size_t puts;                      /* in that transaction */
    size_t deletes;
    int64_t api_to_plan_us;  /* from the event to the planned transaction; -1: no object changed,
                              * another writer had changed the keys */
    int64_t plan_to_etcd_us; /* from there to the confirmation */
};

struct change_ring {
    struct change items[CHANGES_KEPT];
    uint64_t count; /* since the process started */
};

/* Returns the next entry with its owner set. It replaces the oldest when the ring is full. */
struct change *change_ring_add(struct change_ring *ring, struct slice owner);

/* Returns the latest change for back 0, the one before for 1, and so on; NULL past the oldest. */
const struct change *change_ring_get(const struct change_ring *ring, size_t back);

#endif
