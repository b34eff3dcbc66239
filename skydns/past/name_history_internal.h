/* Reads how the records of a name changed, out of etcd's history: each change of the key of the
 * name and of those below it, with the value before and after.
 *
 *     contents at `from` (past_range) -> watches of what came since -> contents at `to` agree
 *
 * etcd tells a watch what it missed, but nothing when it missed nothing, and not when that is all.
 * So the watches end once they have reached `to`, or when nothing has come for a while (which is
 * what etcd_catch_up_internal.h does, too) after a probe: a later watch of a key that is there,
 * from its last change on. etcd brings all old watches up to date in one round, 512 of them. So
 * once it has told the probe's change, or that it is compacted, it has come round to the others.
 * Without any key there, silence alone must do. Then the contents at `from` with the changes must
 * be those at `to`, or there is more to come.
 *
 * Keeps the newest NAME_HISTORY_MAX changes within NAME_HISTORY_BYTES, and counts the others. Main
 * loop. */
#ifndef SKYDNS_PAST_NAME_HISTORY_INTERNAL_H
#define SKYDNS_PAST_NAME_HISTORY_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"

struct err;
struct etcd;
struct name_history;

enum {
    NAME_HISTORY_MAX = 100,       /* shown to people */
    NAME_HISTORY_BYTES = 4 << 20, /* of their keys and values */
    /* Events looked at, and their bytes; beyond, it is too much to read. */
    NAME_HISTORY_EVENTS_MAX = 100 * 1000,
    NAME_HISTORY_EVENT_BYTES_MAX = 32 << 20,
};

struct name_history_config {
    struct ev_loop *loop;
    struct etcd *etcd;
    struct slice prefix; /* of all keys; copied, as the next one */
    struct slice key;    /* of the name */
    int64_t from;        /* changes after this revision */
    /* Called once, from the loop. err NULL: it is there. ERR_COMPACTED: `from` is gone;
     * ERR_TOO_LARGE: over a limit; others: try again. */
    void (*done)(void *data, const struct err *err);
    void *data;
};

struct name_history *name_history_read(const struct name_history_config *config);
void name_history_free(struct name_history *history); /* at any time; NULL is fine */

/* A change; ptr NULL: the key was not there. */
struct name_change {
    struct name_change *older; /* the next one, or NULL */
    int64_t revision;
    struct slice key, before, after;
    char bytes[]; /* theirs */
};

/* Once done: the changes, the newest first, borrowed; how many older ones there are; and the
 * revision up to which they were read. */
const struct name_change *name_history_newest(const struct name_history *history);
uint64_t name_history_left_out(const struct name_history *history);
int64_t name_history_to(const struct name_history *history);

#endif
