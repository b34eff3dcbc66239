/* At which revision of etcd each zone that can be transferred last changed: what serials are made
 * of (transfer_feed.h). A record put, removed or with another value changes the zone that its name
 * is in, the longest one; a value rewritten as it was does not, and what a lease has left is none.
 * After a full read, zones that differ from what was known before changed at its revision: they are
 * at that revision what they were at the last change, which is not known. Main thread. */
#ifndef SKYDNS_SYNC_ZONE_CHANGES_INTERNAL_H
#define SKYDNS_SYNC_ZONE_CHANGES_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "common/dns/dname.h"
#include "skydns/publish/engine_config.h"
#include "skydns/records/store.h"

enum { ZONE_CHANGES_MAX = ENGINE_ZONES_MAX + ENGINE_REVERSE_ZONES_MAX };

struct zone_change {
    struct dname apex;
    int64_t revision; /* 0: before anything was read */
};

struct zone_changes {
    size_t count;
    struct zone_change items[ZONE_CHANGES_MAX];
};

/* These zones from now on, given in lower case; a new one changed at this revision. */
void zone_changes_set(struct zone_changes *changes, const struct dname *apexes, size_t count,
                      int64_t revision);

/* The record of this name changed. */
void zone_changes_note(struct zone_changes *changes, const struct dname *name, int64_t revision);

/* What all answers depend on changed. */
void zone_changes_note_all(struct zone_changes *changes, int64_t revision);

/* A full read made this of that; `before` NULL: nothing was known. */
void zone_changes_compare(struct zone_changes *changes, const struct store *before,
                          const struct store *after, int64_t revision);

/* It is known to have changed last at this earlier revision, and not at that one. */
void zone_changes_refine(struct zone_changes *changes, const struct dname *apex, int64_t not_at,
                         int64_t revision);

/* 0: not a zone, or nothing was read. */
int64_t zone_changes_of(const struct zone_changes *changes, const struct dname *apex);

#endif
