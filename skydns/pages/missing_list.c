#include "skydns/pages/missing_list_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/xalloc.h"
#include "skydns/pages/metrics_table.h"
#include "skydns/pages/missing_suffixes_internal.h"
#include "skydns/publish/publisher.h"

enum { LOOK_US = 2000 }; /* of a turn */

/* Lists under way. Main thread. */
static unsigned lists_open;

struct missing_list *missing_list_new(const struct metrics_sources *sources,
                                      const struct missing_sketch *sketch)
{
    const struct missing_entry *entries[MISSING_ENTRIES_MAX];
    if (lists_open == MISSING_LISTS_MAX) {
        return NULL;
    }
    const size_t count = missing_sketch_entries(sketch, entries);
    struct missing_list *list = xcalloc(1, sizeof(*list) + count * sizeof(list->rows[0]));
    list->sources = sources;
    list->count = count;
    for (size_t i = 0; i < count; i++) {
        list->rows[i].entry = *entries[i];
    }
    lists_open++;
    return list;
}

void missing_list_free(struct missing_list *list)
{
    if (list) {
        lists_open--;
        free(list);
    }
}

/* ---- Candidates of one name ---- */

static bool has_near(const struct missing_row *row)
{
    return row->hint.why != MISSING_UNEXPLAINED;
}

static const struct missing_row *find_row(const struct missing_list *list, const struct dname *name,
                                          struct slice space)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct missing_row *row = &list->rows[i];
        if (dname_equal(&row->entry.name, name) &&
            slice_equal(missing_entry_space(&row->entry), space)) {
            return row;
        }
    }
    return NULL;
}

/* Returns whether another candidate, which is asked for about as often, stands for this one. */
static bool stands_for(const struct missing_row *other, bool is_before,
                       const struct missing_row *row)
{
    const uint32_t a = other->entry.count, b = row->entry.count;
    const bool is_alike = missing_are_alike(a, b) && missing_are_alike(b, a);
    return is_alike && (has_near(other) == has_near(row) ? is_before : has_near(other));
}

/* Finds the first candidate of a short name, in a namespace that is not known but from the row's
 * own name: as a client without a known namespace asks. */
static bool has_first_candidate(const struct missing_list *list, const struct engine_zone *zone,
                                const struct dname *before, const struct missing_row *row)
{
    const struct slice none = slice_of("", 0);
    for (size_t i = 0; i < list->count; i++) {
        const struct missing_row *other = &list->rows[i];
        struct dname before_other;
        if (other != row && other->entry.space_len == 0 && other->entry.name.len > before->len &&
            memcmp(other->entry.name.wire, before->wire, (size_t)before->len - 1) == 0 &&
            dname_is_within(&other->entry.name, &zone->domain)) {
            const struct missing_suffixes suffixes =
                missing_suffixes_of(zone, &other->entry.name, none);
            if (missing_before_suffix(&other->entry.name, &suffixes.items[0], &before_other) > 0 &&
                dname_equal(&before_other, before) && stands_for(other, true, row)) {
                return true;
            }
        }
    }
    return false;
}

/* Returns whether another row is of the same short name, and a better one. */
static bool has_better(const struct missing_list *list, const struct engine_zone *zone,
                       const struct missing_row *row)
{
    const struct slice space = missing_entry_space(&row->entry);
    const struct missing_suffixes suffixes = missing_suffixes_of(zone, &row->entry.name, space);
    for (unsigned i = 0; i < MISSING_SUFFIXES; i++) {
        struct dname before, candidate;
        if (missing_before_suffix(&row->entry.name, &suffixes.items[i], &before) == 0) {
            continue;
        }
        if (suffixes.items[0].len == 0 && has_first_candidate(list, zone, &before, row)) {
            return true;
        }
        for (unsigned j = 0; j < MISSING_SUFFIXES; j++) {
            const struct missing_row *other =
                j != i && missing_with_suffix(&before, &suffixes.items[j], &candidate)
                    ? find_row(list, &candidate, space)
                    : NULL;
            if (other && stands_for(other, j < i, row)) {
                return true;
            }
        }
    }
    return false;
}

/* ---- Choosing ---- */

static size_t shown_of_space(const struct missing_list *list, const struct missing_row *row)
{
    size_t count = 0;
    for (const struct missing_row *other = list->rows; other < row; other++) {
        count += other->is_shown && !missing_row_is_alias(other) &&
                 slice_equal(missing_entry_space(&other->entry), missing_entry_space(&row->entry));
    }
    return count;
}

static void choose_rows(struct missing_list *list)
{
    const struct engine_config *config = publisher_newest_config(list->sources->publisher);
    size_t shown = 0, aliases = 0;
    for (unsigned pass = 0; pass < 2; pass++) { /* then those of namespaces with many, too */
        for (size_t i = 0; i < list->count; i++) {
            struct missing_row *row = &list->rows[i];
            const struct engine_zone *zone = engine_config_zone(config, &row->entry.name);
            size_t *const of_kind = missing_row_is_alias(row) ? &aliases : &shown;
            if (zone && !row->is_shown && *of_kind < MISSING_SHOWN_MAX &&
                !has_better(list, zone, row) &&
                (pass > 0 || missing_row_is_alias(row) ||
                 shown_of_space(list, row) < MISSING_OF_SPACE_MAX)) {
                row->is_shown = true;
                (*of_kind)++;
            }
        }
    }
}

bool missing_list_look(struct missing_list *list)
{
    const int64_t begun_us = clock_monotonic_us();
    while (list->looked_at < list->count) {
        struct missing_row *row = &list->rows[list->looked_at++];
        missing_hint_find(list->sources, &row->entry.name, missing_entry_space(&row->entry),
                          &row->hint);
        if (clock_monotonic_us() - begun_us >= LOOK_US && list->looked_at < list->count) {
            return false;
        }
    }
    choose_rows(list);
    return true;
}
