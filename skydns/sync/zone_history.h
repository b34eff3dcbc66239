/* Tells when zones last changed before this process looked. etcd's recent history has the last
 * event below each zone, and that of the document of settings. So a reader that has just started
 * gives a zone the serial that the others give it. A value that was rewritten as it was counts
 * here, though not for readers who watched it; either serial stands for the same contents.
 *
 * Watches once from HISTORY_REVISIONS ago; if that is compacted, from nearer. A zone without an
 * event since counts as changed just before. On the main loop. */
#ifndef SKYDNS_SYNC_ZONE_HISTORY_H
#define SKYDNS_SYNC_ZONE_HISTORY_H

#include <ev.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"
#include "common/dns/dname.h"

struct etcd;
struct zone_history;

/* Limits the revisions, all of which may be events of our keys, in full: some megabytes, once. */
enum { HISTORY_REVISIONS = 5000 };

struct zone_history_config {
    struct ev_loop *loop;
    struct etcd *etcd;
    struct slice prefix;        /* "/skydns/"; copied */
    int64_t revision;           /* up to this one; what is later, others note */
    const struct dname *apexes; /* lower case; copied */
    size_t count;               /* at most ZONE_CHANGES_MAX */
    uint32_t timeout_ms; /* from the watch's begin on: then it ends as if nothing were known */
    /* Called once, as the last call, from the loop, with each zone's revision; 0: not known.
     * Borrowed. Free the history then, also from inside. */
    void (*done)(void *data, const struct dname *apexes, const int64_t *revisions, size_t count);
    void *data;
};

struct zone_history *zone_history_start(const struct zone_history_config *config);
void zone_history_free(struct zone_history *history); /* NULL is fine */

#endif
