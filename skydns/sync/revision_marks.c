#include "skydns/sync/revision_marks.h"

#include <stdlib.h>

#include "common/base/buf.h"
#include "common/base/cursor.h"
#include "common/base/xalloc.h"

enum { ROOM_FIRST = 64, SAVED_BYTES = 16, MS_PER_S = 1000 };

/* A ring; times and revisions ascend from `first` on. */
struct revision_marks {
    size_t first, count, room;
    struct revision_mark *items;
};

struct revision_marks *revision_marks_new(void)
{
    return xcalloc(1, sizeof(struct revision_marks));
}

void revision_marks_free(struct revision_marks *marks)
{
    if (marks) {
        free(marks->items);
        free(marks);
    }
}

void revision_marks_clear(struct revision_marks *marks)
{
    marks->first = marks->count = 0;
}

size_t revision_marks_count(const struct revision_marks *marks)
{
    return marks->count;
}

static struct revision_mark *mark_at(const struct revision_marks *marks, size_t i)
{
    return &marks->items[(marks->first + i) % marks->room];
}

static void drop_oldest_mark(struct revision_marks *marks)
{
    marks->first = (marks->first + 1) % marks->room;
    marks->count--;
}

static void make_mark_room(struct revision_marks *marks)
{
    if (marks->count < marks->room) {
        return;
    }
    if (marks->room == REVISION_MARKS_MAX) {
        drop_oldest_mark(marks);
        return;
    }
    size_t room = marks->room ? 2 * marks->room : ROOM_FIRST;
    room = room < REVISION_MARKS_MAX ? room : REVISION_MARKS_MAX;
    struct revision_mark *items = xcalloc(room, sizeof(*items));
    for (size_t i = 0; i < marks->count; i++) {
        items[i] = *mark_at(marks, i);
    }
    free(marks->items);
    marks->items = items;
    marks->first = 0;
    marks->room = room;
}

/* Drops the marks that are too old, but for the one that still holds at the beginning of that time.
 */
static void drop_old(struct revision_marks *marks, int64_t now_ms)
{
    while (marks->count > 1 && mark_at(marks, 1)->time_ms <= now_ms - REVISION_MARKS_AGE_MS) {
        drop_oldest_mark(marks);
    }
}

static const struct revision_mark *newest_mark(const struct revision_marks *marks)
{
    return marks->count > 0 ? mark_at(marks, marks->count - 1) : NULL;
}

void revision_marks_note(struct revision_marks *marks, int64_t time_ms, int64_t revision)
{
    const struct revision_mark *last = newest_mark(marks);
    if (last && revision == last->revision) {
        return;
    }
    if (last && revision < last->revision) {
        revision_marks_clear(marks);
    }
    while ((last = newest_mark(marks)) &&
           (last->time_ms > time_ms || last->time_ms / MS_PER_S == time_ms / MS_PER_S)) {
        marks->count--;
    }
    make_mark_room(marks);
    marks->count++;
    *mark_at(marks, marks->count - 1) =
        (struct revision_mark){.time_ms = time_ms, .revision = revision};
    drop_old(marks, time_ms);
}

/* Returns how many marks are before both limits. */
static size_t marks_before(const struct revision_marks *marks, int64_t time_ms, int64_t revision)
{
    size_t low = 0, high = marks->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct revision_mark *mark = mark_at(marks, middle);
        if (mark->time_ms < time_ms && mark->revision < revision) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const struct revision_mark *revision_marks_at_time(const struct revision_marks *marks,
                                                   int64_t time_ms)
{
    const size_t count =
        time_ms < INT64_MAX ? marks_before(marks, time_ms + 1, INT64_MAX) : marks->count;
    return count > 0 ? mark_at(marks, count - 1) : NULL;
}

const struct revision_mark *revision_marks_at_revision(const struct revision_marks *marks,
                                                       int64_t revision)
{
    const size_t count = marks_before(marks, INT64_MAX, revision);
    return count < marks->count ? mark_at(marks, count) : NULL;
}

/* ---- Snapshots ---- */

void revision_marks_save(const struct revision_marks *marks, struct buf *out)
{
    for (size_t i = 0; i < marks->count; i++) {
        buf_append_u64(out, (uint64_t)mark_at(marks, i)->time_ms);
        buf_append_u64(out, (uint64_t)mark_at(marks, i)->revision);
    }
}

static struct revision_mark read_mark(struct reader *reader)
{
    struct revision_mark mark;
    mark.time_ms = (int64_t)reader_u64(reader);
    mark.revision = (int64_t)reader_u64(reader);
    return mark;
}

bool revision_marks_is_saved(struct slice saved)
{
    struct reader reader = reader_of(saved.ptr, saved.len);
    struct revision_mark before = {.time_ms = 0, .revision = 0};
    bool is_good = saved.len % SAVED_BYTES == 0 && saved.len / SAVED_BYTES <= REVISION_MARKS_MAX;
    while (is_good && reader_left(&reader) > 0) {
        const struct revision_mark mark = read_mark(&reader);
        is_good =
            mark.time_ms / MS_PER_S > before.time_ms / MS_PER_S && mark.revision > before.revision;
        before = mark;
    }
    return is_good;
}

void revision_marks_load(struct revision_marks *marks, struct slice saved)
{
    struct reader reader = reader_of(saved.ptr, saved.len);
    revision_marks_clear(marks);
    while (reader_left(&reader) >= SAVED_BYTES) {
        const struct revision_mark mark = read_mark(&reader);
        revision_marks_note(marks, mark.time_ms, mark.revision);
    }
}
