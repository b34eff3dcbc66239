/* Remembers the latest changes of records, and how long each took to reach all answering threads.
 * They come from etcd's events. For pages: a bounded ring. Main thread.
 *
 *     event handed over by the mirror, decoded     received: `time_ms`
 *     version with it published                    threads that enter from now on see it
 *     no thread is inside an older version         seen by all: `took_us` after it was received
 *
 * A thread that sleeps, or is between two batches, holds no version. It sees the newest one when it
 * takes its next query, so it counts as seeing it at once. While a thread is in the middle of a
 * batch at publication, a timer looks once a millisecond whether it has ended: `took_us` is up to
 * that much too long, never too short.
 *
 * Leaves out what full reads and snapshots bring, whose changes have no time; rewritten values that
 * change nothing; and what a lease has left. */
#ifndef SKYDNS_SYNC_RECENT_CHANGES_H
#define SKYDNS_SYNC_RECENT_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/metrics.h"
#include "common/dns/dname.h"

enum {
    RECENT_CHANGES_MAX = 64,  /* shown to people, who read the last ones: 20 KiB */
    RECENT_VERSIONS_MAX = 16, /* not seen by all yet: one batch of a thread; further ones are not
                               * measured, so that the changes have no `took_us` */
};

struct recent_change {
    bool is_delete; /* also of a record whose new value cannot be used */
    struct dname name;
    int64_t revision;
    int64_t time_ms; /* Unix time */
    int64_t took_us; /* -1: not seen by all threads yet */
};

/* Ring of changes; zero-initialized. */
struct recent_changes {
    uint64_t noted;      /* since the start; the last RECENT_CHANGES_MAX are in `items` */
    uint64_t published;  /* of them */
    int64_t received_us; /* of the first one that is not published; monotonic */
    struct recent_change items[RECENT_CHANGES_MAX];
    size_t waiting; /* versions, the oldest first */
    struct recent_version {
        uint64_t epoch;    /* publisher_epoch */
        uint64_t from, to; /* its changes, by their number in `noted` */
        int64_t received_us;
    } versions[RECENT_VERSIONS_MAX];
    struct histogram seconds; /* of versions, by their first change: received to seen by all */
};

/* Notes that an event changed the record of this name in the version being built. */
void recent_changes_note(struct recent_changes *recent, const struct dname *name, bool is_delete,
                         int64_t revision);

/* Notes that everything noted so far is in the version published with this epoch. */
void recent_changes_publish(struct recent_changes *recent, uint64_t epoch);

/* Notes that all threads see the versions up to this epoch. */
void recent_changes_see(struct recent_changes *recent, uint64_t epoch);

/* Returns how many there are; the latest is number 0. */
size_t recent_changes_count(const struct recent_changes *recent);
const struct recent_change *recent_changes_get(const struct recent_changes *recent, size_t i);

/* Returns the latest change of this name (lower case), or NULL. */
const struct recent_change *recent_changes_find(const struct recent_changes *recent,
                                                const struct dname *name);

#endif
