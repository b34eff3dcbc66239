#include "skydns/sync/zone_changes_internal.h"

#include "skydns/records/store_diff.h"

static const struct zone_change *zone_changes_find(const struct zone_change *items, size_t count,
                                                   const struct dname *apex)
{
    for (size_t i = 0; i < count; i++) {
        if (dname_equal(&items[i].apex, apex)) {
            return &items[i];
        }
    }
    return NULL;
}

void zone_changes_set(struct zone_changes *changes, const struct dname *apexes, size_t count,
                      int64_t revision)
{
    const struct zone_changes before = *changes;
    changes->count = count < ZONE_CHANGES_MAX ? count : ZONE_CHANGES_MAX;
    for (size_t i = 0; i < changes->count; i++) {
        const struct zone_change *known = zone_changes_find(before.items, before.count, &apexes[i]);
        changes->items[i] =
            known
                ? *known
                : (struct zone_change){.apex = apexes[i], .revision = revision, .is_by_read = true};
    }
}

static void zone_change_raise(struct zone_change *item, int64_t revision, bool is_by_read)
{
    if (item->revision < revision) {
        item->revision = revision;
        item->is_by_read = is_by_read;
    }
}

static void note_name(struct zone_changes *changes, const struct dname *name, int64_t revision,
                      bool is_by_read)
{
    struct zone_change *longest = NULL;
    for (size_t i = 0; i < changes->count; i++) {
        struct zone_change *item = &changes->items[i];
        if (dname_is_within(name, &item->apex) &&
            (!longest || item->apex.len > longest->apex.len)) {
            longest = item;
        }
    }
    if (longest) {
        zone_change_raise(longest, revision, is_by_read);
    }
}

void zone_changes_note(struct zone_changes *changes, const struct dname *name, int64_t revision)
{
    note_name(changes, name, revision, false);
}

void zone_changes_note_all(struct zone_changes *changes, int64_t revision)
{
    for (size_t i = 0; i < changes->count; i++) {
        zone_change_raise(&changes->items[i], revision, false);
    }
}

void zone_changes_restart(struct zone_changes *changes, int64_t revision)
{
    for (size_t i = 0; i < changes->count; i++) {
        changes->items[i].revision = revision;
        changes->items[i].is_by_read = true;
    }
}

struct comparison {
    struct zone_changes *changes;
    int64_t revision;
};

static bool on_difference(void *data, const struct store_record *old_record,
                          const struct store_record *new_record)
{
    struct comparison *c = data;
    struct dname name;
    store_record_name(new_record ? new_record : old_record, &name);
    note_name(c->changes, &name, c->revision, true);
    size_t left = 0;
    for (size_t i = 0; i < c->changes->count; i++) {
        left += c->changes->items[i].revision < c->revision;
    }
    return left > 0;
}

void zone_changes_compare(struct zone_changes *changes, const struct store *before,
                          const struct store *after, int64_t revision)
{
    struct comparison c = {.changes = changes, .revision = revision};
    if (!before) {
        zone_changes_restart(changes, revision);
    } else if (before != after) {
        (void)store_diff(before, after, on_difference, &c); /* false: all zones differ */
    }
}

int64_t zone_changes_of(const struct zone_changes *changes, const struct dname *apex)
{
    const struct zone_change *found = zone_changes_find(changes->items, changes->count, apex);
    return found ? found->revision : 0;
}

void zone_changes_refine(struct zone_changes *changes, const struct dname *apex, int64_t revision)
{
    for (size_t i = 0; i < changes->count; i++) {
        struct zone_change *item = &changes->items[i];
        if (dname_equal(&item->apex, apex) && item->is_by_read) {
            item->revision = revision;
            item->is_by_read = false;
        }
    }
}
