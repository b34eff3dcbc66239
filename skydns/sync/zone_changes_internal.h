/* Tells at which revision of etcd each zone that can be transferred last changed: serials are made
 * of it (transfer_source.h). A record put, removed or with another value changes the longest zone
 * that its name is in. A value rewritten as it was changes nothing, nor does what a lease has left.
 *
 * A full read does not say when what it found changed. Zones that differ from what was known, all
 * zones of another etcd data set, and new zones count as changed when they were read, until etcd's
 * history (zone_history.h) says better. Main thread. */
#ifndef SKYDNS_SYNC_ZONE_CHANGES_INTERNAL_H
#define SKYDNS_SYNC_ZONE_CHANGES_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/dns/dname.h"
#include "skydns/publish/engine_config.h"
#include "skydns/records/store.h"

enum { ZONE_CHANGES_MAX = ENGINE_ZONES_MAX + ENGINE_REVERSE_ZONES_MAX };

struct zone_change {
    struct dname apex;
    int64_t revision; /* 0: before anything was read */
    bool is_by_read;  /* it changed then or before */
};

struct zone_changes {
    size_t count;
    struct zone_change items[ZONE_CHANGES_MAX];
};

/* Sets the zones, in lower case; a new one changed at this revision. */
void zone_changes_set(struct zone_changes *changes, const struct dname *apexes, size_t count,
                      int64_t revision);

/* Notes that the record of this name changed. */
void zone_changes_note(struct zone_changes *changes, const struct dname *name, int64_t revision);

/* Notes a change of something that all answers depend on. */
void zone_changes_note_all(struct zone_changes *changes, int64_t revision);

/* Compares after a full read of the same etcd data set; `before` NULL: nothing was known. */
void zone_changes_compare(struct zone_changes *changes, const struct store *before,
                          const struct store *after, int64_t revision);

/* Starts over after a full read of what may be another etcd data set: its revisions may be
 * lower. */
void zone_changes_restart(struct zone_changes *changes, int64_t revision);

/* Takes over when history says that the zone changed last: counts if that is known by a read
 * alone. */
void zone_changes_refine(struct zone_changes *changes, const struct dname *apex, int64_t revision);

/* Returns the revision of the zone's last change; 0: not a zone, or nothing was read. */
int64_t zone_changes_of(const struct zone_changes *changes, const struct dname *apex);

#endif
