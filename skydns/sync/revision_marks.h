/* Maps times to etcd revisions: a mark says which revision this server had reached at a time.
 *
 * There is at most one mark a second, which has the second's last revision, for 24 hours. So an
 * instant within the second of a change may count as before it. While the server did not follow
 * etcd, it reached nothing: an instant there has the mark before it, as its answers had.
 *
 * A clock that was set back drops the marks that are in the future by then. Marks belong to one
 * etcd data set; the owner clears them when another takes its place. Part of store_sync, and saved
 * in snapshots; main thread. */
#ifndef SKYDNS_SYNC_REVISION_MARKS_H
#define SKYDNS_SYNC_REVISION_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/slice.h"

struct buf;
struct revision_marks;

enum {
    REVISION_MARKS_MAX = 24 * 60 * 60, /* one a second: 1.4 MB, which grow as they are needed */
    REVISION_MARKS_AGE_MS = REVISION_MARKS_MAX * 1000,
};

struct revision_mark {
    int64_t time_ms; /* Unix time */
    int64_t revision;
};

struct revision_marks *revision_marks_new(void);
void revision_marks_free(struct revision_marks *marks); /* NULL is fine */

/* Notes that the server has reached a revision; the same one again changes nothing. A lower one is
 * of another data set: it clears the marks before. */
void revision_marks_note(struct revision_marks *marks, int64_t time_ms, int64_t revision);

void revision_marks_clear(struct revision_marks *marks);

size_t revision_marks_count(const struct revision_marks *marks);

/* Return the newest mark that is not after the time; and the oldest that has reached the revision.
 * NULL: there is none. Borrowed until the next note. */
const struct revision_mark *revision_marks_at_time(const struct revision_marks *marks,
                                                   int64_t time_ms);
const struct revision_mark *revision_marks_at_revision(const struct revision_marks *marks,
                                                       int64_t revision);

/* Save and load: appends all marks; fills empty ones. is_saved returns false if the bytes are
 * malformed, and loading requires that they are not. Empty bytes are no marks. */
void revision_marks_save(const struct revision_marks *marks, struct buf *out);
bool revision_marks_is_saved(struct slice saved) MUST_CHECK;
void revision_marks_load(struct revision_marks *marks, struct slice saved);

#endif
